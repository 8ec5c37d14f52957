//! The effect of fast weights that learn while a model reads on its perplexity.

use crate::telemetry::measurements::prelude::*;

measurement! {
    /// A sweep over learning rates and precision limits of fast weights, on the run's own text and on foreign ones.
    pub struct FastWeights in "spen.fast_weights" answers FastWeightsArgs {
        /// The run's own held-out text first; lists by text below are in this order.
        pub texts: Vec<String>,
        /// Texts of each domain that were streamed, each with fast weights of its own.
        pub streams: usize,
        /// Tokens of each stream.
        pub tokens: usize,
        /// Perplexity without fast weights, by text.
        pub baseline: Numbers,
        /// eta, ascending.
        pub rates: Numbers,
        /// pi_max, ascending.
        pub limits: Numbers,
        /// With W_base = W_pred: all limits of the first rate, then of the next.
        pub sweep: Vec<FastWeightSetting>,
        /// With W_base = 0: without learning, and with some.
        pub without_base: Vec<FastWeightSetting>,
        /// Domains that were left out, and why.
        pub notes: Vec<String>,
    }

    /// One setting of the fast weights.
    pub struct FastWeightSetting {
        /// eta.
        pub rate: f64,
        /// pi_max.
        #[serde(rename = "most_precision")]
        pub max_precision: f64,
        /// By text; NaN or infinite where the model has diverged.
        pub perplexity: Numbers,
        /// Change of the perplexity against the baseline, by text; 0.1 for 10% more.
        pub change: Numbers,
        /// Lower end of the change's 95% interval over streams (Student's t, paired, in nats), by text; NaN for one stream.
        pub change_low: Numbers,
        /// Upper end of the same interval.
        pub change_high: Numbers,
    }
}

arguments! {
    /// Fast weights over their learning rate and the limit of precisions. The precision enters the update once, eta (pi e) h^T;
    /// equations 2 and 3 of the paper, for its column networks, have it twice.
    pub struct FastWeightsArgs asks "fast_weights" {
        /// Tokens of each stream.
        #[range(50..=50_000)]
        tokens: usize = 1000,
        /// Streams of each text.
        #[range(1..=64)]
        streams: usize = 8,
        /// Learning rates, up to 8 with commas between them; empty for the usual four.
        rates: String = String::new(),
        /// Limits of precisions, up to 8 with commas between them; empty for 1, 10 and 100.
        limits: String = String::new(),
    }
}
