//! How often a reader names the token k steps back.

use crate::telemetry::measurements::prelude::*;

measurement! {
    /// Accuracy of one trained reader against distance, with what needs no reading.
    pub struct Recoverability in "traces.recoverability" answers RecoverabilityArgs {
        /// k, tokens back; one per point of the lists below.
        pub distances: Vec<usize>,
        /// Share of right answers, 0 to 1.
        pub accuracy: Numbers,
        /// Lower end of the 95% Wilson interval.
        pub low: Numbers,
        /// Upper end of the 95% Wilson interval.
        pub high: Numbers,
        /// Entropy of the tokens less the reader's cross-entropy, nats an answer: a lower bound of the mutual information of the token
        /// with what is read (Barber and Agakov, 2003), below 0 where a reader is worse than the tokens' frequencies. Empty in
        /// records of versions that did not measure it.
        #[serde(default)]
        pub information: Numbers,
        /// Accuracy of always naming the most common token.
        pub most_common: f64,
        /// One over the number of tokens that occur.
        pub uniform: f64,
    }
}

arguments! {
    /// Measure how often past tokens are named.
    pub struct RecoverabilityArgs asks "recoverability" {
        /// Held-out windows that are read.
        #[range(1..=65536)]
        windows: usize = 24,
        /// Tokens of a held-out window.
        #[range(1..=65536)]
        window: usize = 128,
    }
}
