//! How much the domain of a passage tells about its tokens.

use crate::telemetry::measurements::prelude::*;

measurement! {
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
    /// The loss that the best mixture saves beside one distribution, nats per token: about 0 for a coherent text.
    pub fn gain(&self) -> f64 {
        Self::saved(&self.loss)
    }

    /// The same of exchanged tokens.
    pub fn exchanged_gain(&self) -> f64 {
        Self::saved(&self.exchanged)
    }

    fn saved(losses: &[f64]) -> f64 {
        losses.first().map_or(f64::NAN, |one| one - losses.iter().copied().fold(f64::INFINITY, f64::min))
    }
}

arguments! {
    /// Measure how coherent a text is: what a mixture of unigrams saves beside one, across halves of the text.
    pub struct DomainCoherenceArgs asks "domain_coherence" {
        /// Tokens of a window.
        #[range(8..=4096)]
        window: usize = 128,
        /// Windows of the training text, in both halves together.
        #[range(8..=4096)]
        windows: usize = 400,
    }
}
