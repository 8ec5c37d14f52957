//! The loss of a model against how much it has read before.

use crate::telemetry::measurements::prelude::*;

measurement! {
    /// Over held-out texts that are longer than those of training. Places are gathered into bins that widen.
    pub struct PositionLosses in "text.position_losses" answers PositionLossesArgs {
        /// Tokens of a training window.
        pub window: usize,
        /// Texts that the means are over.
        pub texts: usize,
        /// First place of every bin, from 0, and after the last bin its end.
        pub edges: Vec<usize>,
        /// By bin: mean cross-entropy, nats per token.
        pub loss: Numbers,
        /// By bin: standard error of that mean over the texts; not a number of a single text.
        pub error: Numbers,
    }
}

arguments! {
    /// Measure the loss by how much was read before.
    pub struct PositionLossesArgs asks "position_losses" {
        /// Tokens of a training window.
        #[range(1..=8192)]
        window: usize = 128,
        /// Texts are so many training windows long, but at most `longest` tokens or one window.
        #[range(1..=512)]
        times: usize = 4,
        /// Tokens of a text at most. A model with attention over pairs needs memory for the square of it.
        #[range(2..=32768)]
        longest: usize = 1024,
        /// Held-out texts that are read at most.
        #[range(1..=256)]
        texts: usize = 16,
    }
}
