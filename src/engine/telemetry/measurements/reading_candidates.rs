//! The loss of a text under each number of layers and each kind of tokens that a model may have been trained with.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::measurement;
use crate::config::arguments;
use crate::telemetry::number::Float;

/// Every candidate read on the same held-out text. Layers that share their weights do not tell how many there were, and a
/// number of tokens does not tell which they are: the least loss does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReadingCandidates {
    /// By tokens, then by layers.
    pub candidates: Vec<ReadingCandidate>,
    /// The file says its number of layers, so that no other was tried.
    pub layers_known: bool,
}

/// A number of layers and a kind of tokens.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReadingCandidate {
    /// `corpus.tokenizer`: `byte`, `sorted_char`; empty for the run's own, whatever it is.
    pub tokenizer: String,
    /// The tokens in words.
    pub tokens: String,
    /// L.
    pub layers: usize,
    /// Mean loss, nats a token.
    #[serde(with = "Float")]
    pub loss: f64,
    /// The same for each byte of the text, bits: comparable between tokens.
    #[serde(with = "Float")]
    pub bits_per_byte: f64,
    /// The run reads so.
    pub is_used: bool,
}

impl ReadingCandidates {
    /// The candidate with the fewest bits a byte.
    pub fn best(&self) -> Option<&ReadingCandidate> {
        let finite = self.candidates.iter().filter(|c| c.bits_per_byte.is_finite());
        finite.min_by(|a, b| a.bits_per_byte.total_cmp(&b.bits_per_byte))
    }
}

arguments! {
    /// The loss of a model with other numbers of layers and in other tokens.
    pub struct ReadingCandidatesArgs asks "candidates" {
        /// Held-out windows that are read.
        #[range(1..=4096)]
        windows: usize = 4,
        /// Tokens of a window.
        #[range(2..=4096)]
        window: usize = 128,
    }
}

measurement!(ReadingCandidates, channel: "synapses.candidates", asked: ReadingCandidatesArgs);
