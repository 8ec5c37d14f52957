//! Evaluations of adaptive solvers against the control.

use super::{FlowSweepArgs, StepPolicy, SweepProgress};
use crate::telemetry::measurements::prelude::*;

measurement! {
    /// Evaluations against u0, with what explains them.
    pub struct FlowSweepNfe in "flow.sweep.nfe" answers FlowSweepArgs {
        /// The points of the sweep that are done so far.
        pub progress: SweepProgress,
        /// u0: the first control; one per point of the lists below.
        pub u0: Numbers,
        /// One a solver.
        pub solvers: Vec<NfeCurve>,
        /// Mean |d²H/dtau²| over the fine path, units of the state: what bends, whatever a solver makes of it.
        pub curvature: Numbers,
    }

    /// One solver along the sweep. NaN where its solve failed.
    pub struct NfeCurve {
        /// Id of the method: "dopri5".
        pub method: String,
        /// The method's rule for the end of the span.
        pub policy: StepPolicy,
        /// NFE: evaluations of the field.
        pub nfe: Numbers,
        /// Length of the first step, in depth.
        pub h_init: Numbers,
        /// Accepted steps whose successor was not allowed to grow as it would.
        pub capped: Numbers,
        /// Accepted steps without those.
        pub free: Numbers,
        /// True if the bound on the growth of steps alone explains the difference to the point before.
        pub explained_by_growth_bound: Vec<bool>,
    }
}
