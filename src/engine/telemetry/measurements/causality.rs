//! How far the logits move at each position when one token of a text is changed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::measurement;
use crate::telemetry::number::{Float, Numbers};

/// A causality test: before the changed token no logit may move.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Causality {
    /// The text as it was.
    pub original: String,
    /// The text with one token changed.
    pub edited: String,
    /// Position of the changed token, from 0.
    pub position: usize,
    /// max |delta logits| over the vocabulary, one a position.
    pub delta: Numbers,
    /// The largest of `delta` before `position`; 0 in a causal model.
    #[serde(with = "Float")]
    pub before_max: f64,
    /// s tanh(gamma), or the gate that the question set in its place.
    #[serde(with = "Float")]
    pub effective_gate: f64,
    /// The same with the upsampling that lets a token read its own unfinished block, where asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leaky_upsample: Option<LeakyUpsample>,
    pub predictions: Predictions,
}

/// What the upsampling floor(t/P) does, which leaks the future on purpose.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LeakyUpsample {
    /// max |delta logits|, one a position.
    pub delta: Numbers,
    /// The largest of `delta` before the changed token.
    #[serde(with = "Float")]
    pub before_max: f64,
    /// The gate it was measured through: an open one where the model's is shut.
    #[serde(default, with = "Float")]
    pub gate: f64,
    /// Tokens of a block, P: those before the change in its own block are where it leaks to.
    #[serde(default)]
    pub pool: usize,
}

/// The likeliest next tokens after the text, likeliest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Predictions {
    /// After the text as it was.
    pub original: Vec<LikelyToken>,
    /// After the changed text.
    pub edited: Vec<LikelyToken>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LikelyToken {
    /// The token as text.
    pub token: String,
    /// 0 to 1.
    #[serde(with = "Float")]
    pub probability: f64,
}

measurement!(Causality, channel: "fast_slow.causality", probe: "causality");
