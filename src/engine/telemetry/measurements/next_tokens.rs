//! A language model's distribution of the next token after a text, and its continuation.

use super::LikelyToken;
use crate::telemetry::measurements::prelude::*;

measurement! {
    /// The likeliest next tokens after a prompt and a short greedy continuation.
    pub struct NextTokens in "text.next_tokens" answers NextTokensArgs {
        /// The text that was read; its tokens are the sample's.
        pub prompt: String,
        /// Somebody typed it; else it is a held-out passage.
        pub is_typed: bool,
        /// The token that follows in the held-out text, where the prompt comes from it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub truth: Option<String>,
        /// The likeliest first.
        pub likely: Vec<LikelyToken>,
        /// How the text continues, each token the likeliest.
        pub continuation: String,
    }
}

arguments! {
    /// How a text continues.
    pub struct NextTokensArgs asks "next_tokens" {
        /// The text that is read; empty for a held-out passage, of a task one that ends where an answer is asked for.
        text: String = String::new(),
        /// Number of the held-out passage.
        passage: u64 = 0,
        /// How many likely tokens are listed.
        #[range(1..=32)]
        count: usize = 8,
        /// Tokens of the continuation.
        #[range(1..=128)]
        length: usize = 24,
    }
}
