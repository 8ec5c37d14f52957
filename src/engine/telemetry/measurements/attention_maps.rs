//! Attention weights of every layer and head along a text.

use crate::telemetry::measurements::prelude::*;

measurement! {
    /// Attention maps with their entropies.
    pub struct AttentionMaps in "attention.maps" answers AttentionMapsArgs {
        /// In the order of the forward pass.
        pub layers: Vec<AttentionLayer>,
    }

    /// The heads of one layer.
    pub struct AttentionLayer {
        /// The layer's path among the model's parameters: `post.0`.
        pub path: String,
        /// Tokens in one row or column: 1, or the pooling factor of a slow path.
        pub tokens_per_position: usize,
        /// Weights are differences of two softmaxes: they may be negative, and rows do not sum to 1.
        #[serde(default)]
        pub is_differential: bool,
        /// `(H, T, T)`: head, query, key; each row sums to 1 (but see `is_differential`). A masked key is exactly 0.
        pub weights: Array,
        /// Mean over queries of -sum w ln w, nats; one per head. Of differential attention that of |w| / sum |w|.
        pub entropy: Numbers,
        /// The same of attention spread evenly over the keys that each query may see, nats; one per head.
        pub uniform_entropy: Numbers,
    }
}

impl AttentionLayer {
    /// Returns the number of heads of the layer.
    pub fn heads(&self) -> usize {
        self.weights.rows()
    }

    /// T: positions of the layer's text.
    pub fn positions(&self) -> usize {
        self.weights.cols()
    }

    /// The layer's entry without its weights.
    pub fn without_weights(&self) -> Self {
        Self {
            path: self.path.clone(),
            weights: Array::default(),
            entropy: self.entropy.clone(),
            uniform_entropy: self.uniform_entropy.clone(),
            ..*self
        }
    }

    /// A description of the rows and columns.
    pub fn axis(&self) -> String {
        match self.tokens_per_position {
            1 => "tokens".to_owned(),
            n => format!("blocks of {n} tokens"),
        }
    }
}

measurement! {
    /// Attention along a text that may be long: all maps small, and those of some layers whole.
    pub struct LongAttentionMaps in "attention.long_maps" answers LongAttentionMapsArgs {
        /// Every layer, its weights averaged over blocks of queries and keys; one such block is a position here.
        pub thumbnails: Vec<AttentionLayer>,
        /// Every layer where that is not too much, else the one that was asked for.
        pub layers: Vec<AttentionLayer>,
    }
}

arguments! {
    /// Read the attention maps along a sentence.
    pub struct AttentionMapsArgs asks "attention_maps" {
        /// The sentence that is read, at most 96 tokens; empty for a held-out passage.
        text: String = String::new(),
        /// Number of the held-out passage.
        passage: u64 = 0,
        /// Only layers whose path begins so are read; empty for all.
        layer: String = String::new(),
    }
}

arguments! {
    /// Read the attention maps along a long text.
    pub struct LongAttentionMapsArgs asks "long_attention_maps" {
        /// The text that is read; empty for a held-out passage.
        text: String = String::new(),
        /// Number of the held-out passage.
        passage: u64 = 0,
        /// Tokens that are read at most.
        #[range(1..=1024)]
        length: usize = 128,
        /// Path of the layer whose maps are whole where those of all would be too much; empty for the first.
        layer: String = String::new(),
    }
}
