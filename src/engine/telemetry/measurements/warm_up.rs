//! How much better a model reads once its traces hold the text.

use crate::telemetry::measurements::prelude::*;

measurement! {
    /// Perplexity along texts that are streamed with frozen weights, beside that of the same tokens read with empty traces.
    pub struct WarmUp in "spen.warm_up" answers WarmUpArgs {
        /// Tokens of a window.
        pub window: usize,
        /// Texts of each domain that were streamed; everything below is a mean over them.
        pub streams: usize,
        /// The run's own held-out text first, then foreign domains.
        pub texts: Vec<WarmUpText>,
        /// The share that the slowest trace still holds after some tokens; empty if its coefficient is learned.
        pub retention: Vec<Retention>,
        /// Domains that were left out, and why.
        pub notes: Vec<String>,
    }

    /// One domain.
    pub struct WarmUpText {
        /// The name of the text.
        pub name: String,
        /// Perplexity of each window while the text is streamed.
        pub streamed: Numbers,
        /// Perplexity of the same windows, each read with empty traces.
        pub reset: Numbers,
        /// Nats a token by position within a window that is read with empty traces; over all windows but the first.
        pub reset_by_position: Numbers,
        /// Nats a token of the same tokens while the text is streamed.
        pub streamed_by_position: Numbers,
        /// Nats a token that streaming saves, over all windows but the first; NaN where there is one window only.
        pub saved: f64,
        /// Lower end of its 95% interval over streams (Student's t); NaN for one stream.
        pub saved_low: f64,
        /// Upper end of the same interval.
        pub saved_high: f64,
    }

    /// (1 - a)^k.
    #[derive(Copy)]
    pub struct Retention {
        /// k, tokens.
        pub tokens: usize,
        /// The share of a token that is left.
        pub share: f64,
    }
}

arguments! {
    /// How much better a model reads once its traces hold the text.
    pub struct WarmUpArgs asks "warm_up" {
        /// Tokens of each stream: at least two windows, and at most 50,000, or 1,000 of a model that keeps every token.
        tokens: usize = 4000,
        /// Tokens of a window.
        #[range(10..=2000)]
        window: usize = 200,
        /// Streams of each text.
        #[range(1..=64)]
        streams: usize = 8,
    }
}
