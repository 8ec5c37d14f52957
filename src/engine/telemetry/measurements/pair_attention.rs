//! How much a model attends, where a pair's value is asked for, to the place where the pair was given.

use crate::telemetry::measurements::prelude::*;

measurement! {
    /// Attention from the questions of held-out examples to the pairs that answer them.
    pub struct PairAttention in "attention.pairs" answers PairAttentionArgs {
        /// Questions that the means are over.
        pub questions: usize,
        /// In the order of a forward pass; only layers whose attention has a weight for each token.
        pub layers: Vec<LayerPairAttention>,
    }

    /// The weights in one layer.
    pub struct LayerPairAttention {
        /// Path of the layer, such as `layers.0`.
        pub path: String,
        /// By head: mean attention weight from the question, which is the key's second place, to the pair's value.
        pub to_value: Numbers,
        /// By head: the same to the pair's key.
        pub to_key: Numbers,
        /// The weight of one position under attention that is spread evenly over the positions a question sees: the mean of
        /// 1/(t + 1).
        pub uniform: f64,
    }
}

arguments! {
    /// Measure the attention from questions to the pairs that answer them.
    pub struct PairAttentionArgs asks "pair_attention" {
        /// Tokens of an example; a run asks for those of its training window.
        #[range(1..=8192)]
        window: usize = 64,
        /// Held-out examples that are read.
        #[range(1..=1024)]
        examples: usize = 16,
    }
}
