//! The lengths of the steps in which queries and keys of a coupled model evolve before they are scored.

use crate::telemetry::measurements::prelude::*;

measurement! {
    /// dt = exp(tau) of every head.
    pub struct StepLengths in "coupled_qk.step_lengths" answers StepLengthsArgs {
        /// In the order of a forward pass; only layers whose queries and keys evolve.
        pub layers: Vec<LayerStepLengths>,
        /// Steps n of the evolution.
        pub steps: usize,
    }

    /// Those of one layer.
    pub struct LayerStepLengths {
        /// Place of the layer in the model, from 0.
        pub layer: usize,
        /// dt by head, without unit.
        pub dt: Numbers,
    }
}

arguments! {
    /// Read the step lengths that a coupled model has learned.
    pub struct StepLengthsArgs asks "step_lengths" {}
}
