//! Predictions of a language model on a text, and the information that the domain of a passage gives about its tokens.

use super::LikelyToken;
use crate::telemetry::measurements::prelude::*;

measurement! {
    /// The likeliest next tokens after a prompt and a short greedy continuation.
    pub struct NextTokens in "text.next_tokens" answers NextTokensArgs {
        /// The text that was read; its tokens are the sample's.
        pub prompt: String,
        /// True if the text was typed; otherwise it is a held-out passage.
        pub is_typed: bool,
        /// The token that follows in the held-out text, where the prompt comes from it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub truth: Option<String>,
        /// The likeliest first.
        pub likely: Vec<LikelyToken>,
        /// The continuation of the text, always with the likeliest token.
        pub continuation: String,
    }

    /// Over held-out texts that are longer than those of training. Places are gathered into bins that widen.
    pub struct PositionLosses in "text.position_losses" answers PositionLossesArgs {
        /// Tokens of a training window.
        pub window: usize,
        /// Texts that the means are over.
        pub texts: usize,
        /// First place of every bin, from 0, and after the last bin its end.
        pub edges: Vec<usize>,
        /// By bin: mean cross-entropy, nats per token.
        pub loss: Numbers,
        /// By bin: standard error of that mean over the texts; not a number of a single text.
        pub error: Numbers,
    }

    /// Losses of mixtures of unigrams, each window drawn from one of K distributions of tokens: fitted to one half of the windows
    /// and judged on the other, both ways. A text of one domain gains nothing from more than one distribution.
    pub struct DomainCoherence in "text.domains" answers DomainCoherenceArgs {
        /// Numbers of distributions K.
        pub components: Vec<usize>,
        /// Loss with each number of distributions, nats per token.
        pub loss: Numbers,
        /// The same where tokens are exchanged between windows, so that no window has a domain.
        pub exchanged: Numbers,
        /// Windows in both halves.
        pub windows: usize,
    }
}

impl DomainCoherence {
    /// The loss that the best mixture saves compared with one distribution, nats per token: about 0 for a coherent
    /// text.
    pub fn gain(&self) -> f64 {
        let best = self.loss.iter().copied().fold(f64::INFINITY, f64::min);
        self.loss.first().map_or(f64::NAN, |one| one - best)
    }
}

arguments! {
    /// How a text continues.
    pub struct NextTokensArgs asks "next_tokens" {
        /// The text that is read; empty for a held-out passage, of a task one that ends where an answer is asked for.
        text: String = String::new();
        /// Number of the held-out passage.
        passage: u64 = 0;
        /// How many likely tokens are listed.
        count: usize = 8 => range(1..=32);
        /// Tokens of the continuation.
        length: usize = 24 => range(1..=128);
    }

    /// Measure the loss by how much was read before.
    pub struct PositionLossesArgs asks "position_losses" {
        /// Tokens of a training window.
        window: usize = 128 => range(1..=8192);
        /// The length of texts in training windows, but at most `longest` tokens or one window.
        times: usize = 4 => range(1..=512);
        /// Tokens of a text at most. A model with attention over pairs needs memory for the square of it.
        longest: usize = 1024 => range(2..=32768);
        /// Held-out texts that are read at most.
        texts: usize = 16 => range(1..=256);
    }

    /// Measure how coherent a text is: what a mixture of unigrams saves beside one, across halves of the text.
    pub struct DomainCoherenceArgs asks "domain_coherence" {
        /// Tokens of a window.
        window: usize = 128 => range(8..=4096);
        /// Windows of the training text, in both halves together.
        windows: usize = 400 => range(8..=4096);
    }
}
