//! The predictions of a model if it ended at an earlier layer.

use super::LikelyToken;
use crate::telemetry::measurements::prelude::*;

measurement! {
    /// The next token's distribution that the head reads off the state v after each layer, and before the first (the logit
    /// lens). Of a model whose layers share their weights, the row after l layers is what the model of l layers says.
    pub struct LogitLens in "synapses.logit_lens" answers LogitLensArgs {
        /// Somebody typed the text; else it is a held-out passage.
        pub is_typed: bool,
        /// Layers L of the model; rows of the arrays are 0 layers, 1 layer, .., L layers.
        pub layers: usize,
        /// Probability of the likeliest token, `(L + 1, T)`.
        pub top: Array,
        /// Probability of the token that the text has next, `(L + 1, T)`; NaN at the last.
        pub next: Array,
        /// Entropy of the distribution, nats, `(L + 1, T)`.
        pub entropy: Array,
        /// The likeliest tokens, row by row, `(L + 1) T` lists.
        pub likely: Vec<Vec<LikelyToken>>,
        /// Mean of -ln p of the next token by row, nats, `(L + 1)`.
        pub loss: Numbers,
    }
}

impl LogitLens {
    /// The likeliest tokens after `layers` layers at a position; nothing where there is no such place.
    pub fn likely_at(&self, layers: usize, position: usize) -> &[LikelyToken] {
        let tokens = self.likely.len() / (self.layers + 1).max(1);
        if position >= tokens { &[] } else { self.likely.get(layers * tokens + position).map_or(&[], Vec::as_slice) }
    }
}

arguments! {
    /// The next token that each layer's state would give.
    pub struct LogitLensArgs asks "logit_lens" {
        /// The text that is read; empty for a held-out passage.
        text: String = String::new(),
        /// Number of the held-out passage.
        passage: u64 = 0,
        /// Tokens of the text at most.
        #[range(2..=256)]
        longest: usize = 48,
        /// Likely tokens that are listed for each layer and position.
        #[range(1..=32)]
        count: usize = 6,
    }
}
