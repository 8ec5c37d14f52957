//! Evaluations of adaptive solvers against the tolerance.

use super::{FlowSweepArgs, StepPolicy, SweepProgress};
use crate::telemetry::measurements::prelude::*;

measurement! {
    /// Evaluations against the tolerance at one control.
    pub struct FlowSweepTolerance in "flow.sweep.tolerance" answers FlowSweepArgs {
        /// The points of the sweep that are done so far.
        pub progress: SweepProgress,
        /// Relative and absolute tolerance alike; one per point of the lists below.
        pub tolerance: Numbers,
        /// One a solver.
        pub solvers: Vec<ToleranceCurve>,
    }

    /// The evaluations of one method at every tolerance.
    pub struct ToleranceCurve {
        /// Id of the method: "dopri5".
        pub method: String,
        /// The method's rule for the end of the span.
        pub policy: StepPolicy,
        /// NFE: evaluations of the field; NaN where the solve failed.
        pub nfe: Numbers,
    }
}
