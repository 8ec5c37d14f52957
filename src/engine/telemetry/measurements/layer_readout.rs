//! The trace of a layer in the states that later layers read.

use crate::telemetry::measurements::prelude::*;

measurement! {
    /// R^2, on held-out tokens, of a linear map from the state that a layer reads to what one earlier layer had added: 1 where that
    /// can be read out whole, 0 where nothing is left of it.
    pub struct LayerReadout in "layers.readout" answers LayerReadoutArgs {
        /// The layer whose contribution is read out, from 1.
        pub layer: usize,
        /// The layers that read from it, counted from 1: those after it, then one more for the last norm.
        pub readers: Vec<usize>,
        /// R^2, one entry per reader.
        pub explained: Numbers,
        /// The same where what the layer added is exchanged between tokens: at most about 0. Mean over permutations.
        pub permuted: Numbers,
        /// Tokens that the map is fitted to; as many others judge it.
        pub tokens: usize,
    }
}

arguments! {
    /// Measure what the later layers can still read, by a linear map, of what one layer added.
    pub struct LayerReadoutArgs asks "layer_readout" {
        /// The layer whose contribution is read out, from 1.
        #[range(1..=1024)]
        layer: usize = 1,
        /// Held-out windows that are read; the map is fitted to half of them.
        #[range(2..=1024)]
        windows: usize = 32,
        /// Tokens of a window.
        #[range(2..=1024)]
        window: usize = 64,
    }
}
