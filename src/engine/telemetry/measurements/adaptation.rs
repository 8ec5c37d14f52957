//! Gain on a foreign text that a model learns from while it reads, and the cost on its own text afterwards.

use crate::telemetry::measurements::prelude::*;

measurement! {
    /// Own text, foreign text, own text again: read with fast weights that learn, or by a copy that is fine-tuned on the foreign
    /// one. Everything is compared with the same model on the same tokens without learning.
    pub struct Adaptation in "spen.adaptation" answers AdaptationArgs {
        /// "fast weights" or "fine-tuning".
        pub method: String,
        /// The run's own held-out text.
        pub own: String,
        /// The text that is learned from.
        pub foreign: String,
        /// Texts of each domain, read side by side. A fine-tuned copy learns from all of them together.
        pub streams: usize,
        /// Tokens of each stream before and after.
        pub own_tokens: usize,
        /// Tokens of each foreign stream.
        pub foreign_tokens: usize,
        /// Perplexity of the last quarter of the foreign text without learning.
        pub foreign_perplexity: f64,
        /// Perplexity of the own text after the foreign one without learning.
        pub own_perplexity: f64,
        /// One entry a rate, ascending.
        pub settings: Vec<AdaptationSetting>,
        /// Domains that were left out, and why.
        pub notes: Vec<String>,
    }

    /// One rate of learning.
    pub struct AdaptationSetting {
        /// eta of fast weights, whose precision is at most 1, or the learning rate.
        pub rate: f64,
        /// Share of the perplexity of the foreign text's last quarter that learning saves; 0.45 for 45%.
        pub adaptation: ShareWithInterval,
        /// Share by which the perplexity of the own text is higher afterwards.
        pub forgetting: ShareWithInterval,
    }

    /// A share with its 95% interval over streams (Student's t, paired, in nats); the ends are NaN for one stream.
    #[derive(Copy)]
    pub struct ShareWithInterval {
        /// The share; NaN or infinite where the model has diverged.
        pub mean: f64,
        /// Lower end.
        pub low: f64,
        /// Upper end.
        pub high: f64,
    }
}

arguments! {
    /// Gain on a foreign text by learning from it, and loss on the model's own.
    pub struct AdaptationArgs asks "adaptation" {
        /// Tokens of each stream of the own text before and after; the foreign one has two and a half times as many.
        #[range(100..=20_000)]
        tokens: usize = 2000,
        /// Streams of each text.
        #[range(1..=64)]
        streams: usize = 4,
        /// Tokens of a window, of a model that is fine-tuned.
        #[range(8..=1024)]
        window: usize = 64,
        /// Rates, up to 8 with commas between them; empty for three usual ones.
        rates: String = String::new(),
    }
}
