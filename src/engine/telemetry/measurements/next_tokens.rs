//! What a language model takes to be the next token after a text, and how it goes on.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{LikelyToken, measurement};

/// The likeliest next tokens after a prompt and a short greedy continuation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NextTokens {
    /// The text that was read; its tokens are the sample's.
    pub prompt: String,
    /// Somebody typed it; else it is a held-out passage.
    pub is_typed: bool,
    /// The token that the held-out text has next, where the prompt is of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truth: Option<String>,
    /// The likeliest first.
    pub likely: Vec<LikelyToken>,
    /// How the text goes on, each token the likeliest.
    pub continuation: String,
}

measurement!(NextTokens, channel: "text.next_tokens", probe: "next_tokens");
