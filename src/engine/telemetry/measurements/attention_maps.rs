//! Attention weights of every layer and head along a text.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::measurement;
use crate::telemetry::{Array, number::Numbers};

/// Attention maps with their entropies.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AttentionMaps {
    /// In the order of the forward pass.
    pub layers: Vec<AttentionLayer>,
}

/// The heads of one layer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    /// Mean over queries of -sum w ln w, nats; one a head. Of differential attention that of |w| / sum |w|.
    pub entropy: Numbers,
    /// The same of attention spread evenly over the keys that each query may see, nats; one a head.
    pub uniform_entropy: Numbers,
}

impl AttentionLayer {
    pub fn heads(&self) -> usize {
        self.weights.rows()
    }

    /// T: positions of the layer's text.
    pub fn positions(&self) -> usize {
        self.weights.cols()
    }

    /// What is known of the layer beside its weights.
    pub fn without_weights(&self) -> Self {
        Self {
            path: self.path.clone(),
            weights: Array::default(),
            entropy: self.entropy.clone(),
            uniform_entropy: self.uniform_entropy.clone(),
            ..*self
        }
    }

    /// What a row and a column is, in words.
    pub fn axis(&self) -> String {
        match self.tokens_per_position {
            1 => "tokens".to_owned(),
            n => format!("blocks of {n} tokens"),
        }
    }
}

/// Attention along a text that may be long: all maps small, and those of some layers whole.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LongAttentionMaps {
    /// Every layer, its weights averaged over blocks of queries and keys; one such block is a position here.
    pub thumbnails: Vec<AttentionLayer>,
    /// Every layer where that is not too much, else the one that was asked for.
    pub layers: Vec<AttentionLayer>,
}

measurement!(LongAttentionMaps, channel: "attention.long_maps", probe: "long_attention_maps");
measurement!(AttentionMaps, channel: "attention.maps", probe: "attention_maps");
