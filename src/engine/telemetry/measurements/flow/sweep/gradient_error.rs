//! How far gradients through a solve are from the flow's own.

use super::{FlowSweepArgs, SweepProgress};
use crate::telemetry::measurements::prelude::*;

measurement! {
    /// |g - g_fine| / |g_fine| over all weights of the field, against the steps of the solve.
    pub struct FlowSweepGradientError in "flow.sweep.gradient_error" answers FlowSweepArgs {
        /// The points of the sweep that are done so far.
        pub progress: SweepProgress,
        /// m: steps of the solve; one per point of the lists below.
        pub steps: Vec<usize>,
        /// Relative distance, without unit; one a method.
        pub methods: Vec<GradientCurve>,
    }

    /// One way of taking gradients along a sweep.
    pub struct GradientCurve {
        /// The method by which gradients are taken.
        pub method: GradientMethod,
        /// One per point of the sweep.
        pub values: Numbers,
    }
}

choices! {
    /// How gradients get from the end of a solve to the weights of its field.
    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum GradientMethod {
        /// Through every operation of every step.
        Backprop = "backprop",
        /// The same, each step computed again.
        Checkpointed = "checkpointed",
        /// The adjoint equation, solved backwards.
        Adjoint = "adjoint",
    }
}
