//! How far Euler's steps end from the flow itself.

use super::{FlowSweepArgs, SweepProgress};
use crate::telemetry::measurements::prelude::*;

measurement! {
    /// Divergence of Euler's method from a fine adaptive solve, against its steps.
    pub struct FlowSweepInvariance in "flow.sweep.invariance" answers FlowSweepArgs {
        /// The points of the sweep that are done so far.
        pub progress: SweepProgress,
        /// m: Euler steps; one per point of the lists below.
        pub steps: Vec<usize>,
        /// One a control.
        pub controls: Vec<ControlCurve>,
        /// The value that the source reports of its own flow, percent.
        pub source_percent: f64,
    }

    /// The divergence of Euler's method at one control.
    pub struct ControlCurve {
        /// u0: the first control.
        pub u0: f64,
        /// |H_euler - H| / |H| at depth 1, percent; NaN where either solve failed.
        pub percent: Numbers,
    }
}
