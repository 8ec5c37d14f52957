//! The loss of a predictor that has only the frequencies of tokens.

use crate::telemetry::measurements::prelude::*;

measurement! {
    /// Cross-entropies of predictors without a memory, nats per token, on the held-out text that models are measured
    /// on.
    pub struct TokenBaselines in "text.baselines" answers TokenBaselinesArgs {
        /// ln V: every token of the vocabulary is equally likely.
        pub uniform: f64,
        /// Every token as often as it came in the training text.
        pub unigram: f64,
        /// Every token as often as it followed the current one: a model that sees no earlier token.
        pub bigram: f64,
        /// Tokens of the training text that were counted.
        pub counted: usize,
        /// Held-out tokens that the means are over.
        pub targets: usize,
    }
}

arguments! {
    /// Measure the loss of predictors that only count tokens and pairs.
    pub struct TokenBaselinesArgs asks "token_baselines" {
        /// Tokens of a held-out window.
        window: usize = 128 => range(1..=8192);
        /// Held-out windows that the loss is measured on.
        windows: usize = 16 => range(1..=4096);
    }
}
