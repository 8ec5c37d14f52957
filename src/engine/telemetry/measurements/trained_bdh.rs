//! Describes an opened BDH and how well it reads the run's text.

use crate::telemetry::measurements::prelude::*;

measurement! {
    /// Sizes of the model as it is in memory, whatever any setting says, and its loss on the text.
    pub struct TrainedBdh in "synapses.trained_bdh" answers TrainedBdhArgs {
        /// Neurons n of all heads.
        pub neurons: usize,
        /// Heads, each with as many neurons.
        pub heads: usize,
        /// Width D.
        pub d_model: usize,
        /// Layers L; all share one set of weights.
        pub layers: usize,
        /// The file does not say how many layers there are: `layers` is what somebody chose, or as many as the public model has.
        #[serde(default)]
        pub layers_unsaid: bool,
        /// Rows V of the embedding.
        pub vocab: usize,
        /// Weights of the model, gates included.
        pub parameters: usize,
        /// The effect of time on a synapse: `rope`, `alibi`, `both` or `nothing`.
        pub position: String,
        /// Which residuals it has: `code`, `paper` or `both`.
        pub form: String,
        /// Notes in words on choices that the file does not tell, or that are different here.
        pub notes: Vec<String>,
        /// The tokens that the text is read in, in words.
        pub tokens: String,
        /// Mean loss on held-out windows of the text, nats per token.
        pub loss: f64,
        /// The loss of a predictor that knows only the frequencies of the tokens in these very windows, nats per token.
        /// A model that reads the text in the tokens that it was trained on stays below it.
        pub frequency_loss: f64,
        /// Tokens that were read for it.
        pub read: usize,
    }
}

arguments! {
    /// The sizes of a model and its loss on the text.
    pub struct TrainedBdhArgs asks "trained_bdh" {
        /// Held-out windows that are read.
        #[range(1..=4096)]
        windows: usize = 4,
        /// Tokens of a window.
        #[range(2..=4096)]
        window: usize = 128,
    }
}
