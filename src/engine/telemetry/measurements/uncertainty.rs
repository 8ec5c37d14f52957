//! The power of the running variance of a prediction's error to tell foreign text from a run's own.

use crate::telemetry::measurements::prelude::*;

measurement! {
    /// U = mean over channels and blocks of 1 / pi, in windows of the run's own text and of foreign ones.
    pub struct Uncertainty in "spen.uncertainty" answers UncertaintyArgs {
        /// Tokens of a window, over which U and surprise are averaged.
        pub window: usize,
        /// Texts of each domain that were streamed; windows of one stream are not independent.
        pub streams: usize,
        /// Tokens at the beginning of each stream that are not counted: the variance has not forgotten where it began.
        pub skipped: usize,
        /// eta of the fast weights; 0 for frozen ones.
        pub rate: f64,
        /// pi_max.
        #[serde(rename = "most_precision")]
        pub max_precision: f64,
        /// The run's own held-out text first, then foreign domains.
        pub texts: Vec<UncertaintyText>,
        /// Domains that were left out, and why.
        pub notes: Vec<String>,
    }

    /// One domain.
    pub struct UncertaintyText {
        /// The name of the text.
        pub name: String,
        /// Mean U of each window, stream by stream.
        pub uncertainty: Numbers,
        /// Mean cross-entropy of the same windows, nats per token.
        pub surprise: Numbers,
        /// How well U tells its windows from those of the run's own text; of the own text, the later streams from the
        /// earlier ones, which nothing should tell apart.
        pub by_uncertainty: Auroc,
        /// The same by the model's own surprise.
        pub by_surprise: Auroc,
    }

    /// Area under the ROC curve, with its 95% interval; NaN where values are no numbers.
    #[derive(Copy)]
    pub struct Auroc {
        /// The chance that a foreign window has the larger value; 0.5 tells nothing.
        pub value: f64,
        /// Lower end of the interval.
        pub low: f64,
        /// Upper end of the interval.
        pub high: f64,
    }
}

arguments! {
    /// How well the variance of a prediction's error tells foreign text from the run's own.
    pub struct UncertaintyArgs asks "uncertainty" {
        /// Tokens of a window.
        #[range(5..=1000)]
        window: usize = 50,
        /// Streams of each text.
        #[range(2..=64)]
        streams: usize = 16,
        /// Tokens of each stream, at most 20,000, of which the first 300 are not counted.
        tokens: usize = 800,
        /// Learning rate of the fast weights; 0 freezes them.
        #[range(0.0..=f64::MAX)]
        rate: f64 = 0.0,
        /// Limit of precisions; a million is none in practice.
        #[range(0.0..=f64::MAX)]
        most_precision: f64 = 1e6,
    }
}
