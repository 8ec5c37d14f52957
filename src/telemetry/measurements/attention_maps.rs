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
    /// `(H, T, T)`: head, query, key; each row sums to 1. A masked key is exactly 0.
    pub weights: Array,
    /// Mean over queries of -sum w ln w, nats; one a head.
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

    /// What a row and a column is, in words.
    pub fn axis(&self) -> String {
        match self.tokens_per_position {
            1 => "tokens".to_owned(),
            n => format!("blocks of {n} tokens"),
        }
    }
}

measurement!(AttentionMaps, channel: "attention.maps", probe: "attention_maps");
