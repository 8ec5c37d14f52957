//! How sparse the neurons of a BDH are, layer by layer.

use crate::telemetry::measurements::prelude::*;

measurement! {
    /// Shares of neurons above zero on held-out text, beside the same model with random weights, and the sizes of their values.
    pub struct Activity in "synapses.activity" answers ActivityArgs {
        /// One per layer, from the first.
        pub layers: Vec<LayerActivity>,
    }

    /// One layer.
    pub struct LayerActivity {
        /// Activity of the model at this step.
        pub trained: FiringShare,
        /// Activity of a model of the same sizes with random weights.
        pub random_weights: FiringShare,
        /// Sizes of the values of the model at this step; records of earlier versions lack them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub size: Option<ActivitySize>,
    }

    /// Root mean square over neurons and tokens. 0 is a layer whose values are all zero, NaN one that is no number.
    #[derive(Copy)]
    pub struct ActivitySize {
        /// Root mean square of x.
        pub x: f64,
        /// Root mean square of y.
        pub y: f64,
    }

    /// Mean share of neurons above zero, 0 to 1.
    #[derive(Copy)]
    pub struct FiringShare {
        /// Share of x, the first sparse vector of a layer.
        pub x: f64,
        /// Share of y, the second sparse vector of a layer.
        pub y: f64,
    }
}

arguments! {
    /// Which share of the neurons fires.
    pub struct ActivityArgs asks "activity" {
        /// Held-out windows that are read.
        #[range(2..=4096)]
        windows: usize = 4,
        /// Tokens of a window.
        #[range(2..=4096)]
        window: usize = 128,
    }
}
