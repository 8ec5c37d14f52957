//! The memory of gradients through a solve.

use super::{FlowSweepArgs, GradientCurve, SweepProgress};
use crate::telemetry::measurements::prelude::*;

measurement! {
    /// Most memory held between the start of a solve and the end of its backward pass, against its steps.
    pub struct FlowSweepGradientMemory in "flow.sweep.gradient_memory" answers FlowSweepArgs {
        /// The points of the sweep that are done so far.
        pub progress: SweepProgress,
        /// m: steps of the solve; one per point of the lists below.
        pub steps: Vec<usize>,
        /// MiB; NaN where memory is not counted; one a method.
        pub methods: Vec<GradientCurve>,
    }
}
