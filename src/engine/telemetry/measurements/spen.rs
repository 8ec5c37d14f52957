//! Texts that are streamed through a model: what its traces and its fast weights gain from what was read before.

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
        /// The lower end of the interval.
        pub low: f64,
        /// The upper end of the interval.
        pub high: f64,
    }

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
        /// The learning rate eta.
        pub rate: f64,
        /// The largest precision, pi_max.
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
        /// The largest precision, pi_max.
        #[serde(rename = "most_precision")]
        pub max_precision: f64,
        /// The run's own held-out text first, then foreign domains.
        pub texts: Vec<UncertaintyText>,
        /// Domains that were left out, and why.
        pub notes: Vec<String>,
    }

    /// The results for one text.
    pub struct UncertaintyText {
        /// The name of the text.
        pub name: String,
        /// Mean U of each window, stream by stream.
        pub uncertainty: Numbers,
        /// Mean cross-entropy of the same windows, nats per token.
        pub surprise: Numbers,
        /// How well U distinguishes its windows from those of the run's own text; of the own text, the later streams
        /// from the earlier ones, which nothing should distinguish.
        pub by_uncertainty: Auroc,
        /// The same by the model's own surprise.
        pub by_surprise: Auroc,
    }

    /// Area under the ROC curve, with its 95% interval; NaN if any value is not a number.
    #[derive(Copy)]
    pub struct Auroc {
        /// The chance that a foreign window has the larger value; 0.5 is no better than guessing.
        pub value: f64,
        /// Lower end of the interval.
        pub low: f64,
        /// Upper end of the interval.
        pub high: f64,
    }

    /// Perplexity along texts that are streamed with frozen weights, compared with that of the same tokens read with
    /// empty traces.
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

    /// The results for one text.
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
    /// Gain on a foreign text by learning from it, and loss on the model's own.
    pub struct AdaptationArgs asks "adaptation" {
        /// Tokens of each stream of the own text before and after; the foreign one has two and a half times as many.
        tokens: usize = 2000 => range(100..=20_000);
        /// Streams of each text.
        streams: usize = 4 => range(1..=64);
        /// Tokens of a window, of a model that is fine-tuned.
        window: usize = 64 => range(8..=1024);
        /// Rates, up to 8 with commas between them; empty for three usual ones.
        rates: String = String::new();
    }

    /// Fast weights over their learning rate and the limit of precisions. The precision enters the update once, eta (pi e) h^T;
    /// equations 2 and 3 of the paper, for its column networks, have it twice.
    pub struct FastWeightsArgs asks "fast_weights" {
        /// Tokens of each stream.
        tokens: usize = 1000 => range(50..=50_000);
        /// Streams of each text.
        streams: usize = 8 => range(1..=64);
        /// Learning rates, up to 8 with commas between them; empty for the usual four.
        rates: String = String::new();
        /// Limits of precisions, up to 8 with commas between them; empty for 1, 10 and 100.
        limits: String = String::new();
    }

    /// How well the variance of a prediction's error tells foreign text from the run's own.
    pub struct UncertaintyArgs asks "uncertainty" {
        /// Tokens of a window.
        window: usize = 50 => range(5..=1000);
        /// Streams of each text.
        streams: usize = 16 => range(2..=64);
        /// Tokens of each stream, at most 20,000; the first 300 are not counted.
        tokens: usize = 800;
        /// Learning rate of the fast weights; 0 freezes them.
        rate: f64 = 0.0 => range(0.0..=f64::MAX);
        /// Limit of precisions; a million is practically no limit.
        most_precision: f64 = 1e6 => range(0.0..=f64::MAX);
    }

    /// How much better a model reads once its traces hold the text.
    pub struct WarmUpArgs asks "warm_up" {
        /// Tokens of each stream: at least two windows, and at most 50,000, or 1,000 of a model that keeps every token.
        tokens: usize = 4000;
        /// Tokens of a window.
        window: usize = 200 => range(10..=2000);
        /// Streams of each text.
        streams: usize = 8 => range(1..=64);
    }
}
