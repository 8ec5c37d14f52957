//! The sizes of the SPEN family, and the forms of its gates and predictors.

use crate::config::defaults;
use serde::{Deserialize, Serialize};

/// Coefficients a of the three traces, fast to slow: the paper's, and the initial values of learned ones.
pub const COEFFICIENTS: [f64; 3] = [0.5, 0.1, 0.02];

/// The gate that determines how much of a trace a token replaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TraceGate {
    /// The same number for every channel and token, never trained.
    #[default]
    Fixed,
    /// A trained number for each channel.
    Learned,
    /// The sigmoid of a linear map of the token's state.
    InputDependent,
}

/// The form of a block's prediction of its input from earlier tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Predictor {
    /// A linear map of the slow trace's direction.
    #[default]
    Static,
    /// Strictly causal linear attention whose past decays; queries and keys from the slow trace.
    LinearAttention,
    /// Strictly causal softmax attention; queries and keys from the slow trace.
    SoftmaxAttention,
    /// The same, where the present token is looked up too.
    FullSoftmaxAttention,
}

impl Predictor {
    /// True of softmax attention, whether or not the present token is looked up.
    pub fn is_softmax(self) -> bool {
        matches!(self, Self::SoftmaxAttention | Self::FullSoftmaxAttention)
    }
}

/// The values that an attention predictor reads at the tokens that it finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PredictorValues {
    /// The slow trace, as it was at that token.
    #[default]
    Traces,
    /// The token's own state.
    Input,
}

defaults! {
    /// Sizes. At width 768, 3,072 units of which 184 are kept, 12 layers and 50,257 tokens: 130,629,888 parameters.
    pub struct SpenSpec {
        /// The width of the residual stream.
        pub d_model: usize = 128,
        /// The number of units of the feed-forward layer.
        pub hidden: usize = 512,
        /// The number of units that are kept for a token.
        pub kept: usize = 31,
        /// The number of blocks.
        pub layers: usize = 2,
        /// The gate of the traces.
        pub gate: TraceGate = TraceGate::Fixed,
        /// The predictor of the next input.
        pub predictor: Predictor = Predictor::Static,
        /// The values that the predictor reads.
        pub values: PredictorValues = PredictorValues::Traces,
        /// Heads of softmax attention.
        pub heads: usize = 4,
    }
}

impl SpenSpec {
    /// The paper's language model.
    pub fn paper() -> Self {
        Self { d_model: 768, hidden: 3072, kept: 184, layers: 12, heads: 12, ..Self::default() }
    }

    /// Squares of the width that a block's maps hold: four that read the traces and the error, the predictor's, the
    /// gates'.
    fn square_maps(&self) -> usize {
        let predictor = if self.predictor == Predictor::Static { 1 } else { 3 };
        let gates = if self.gate == TraceGate::InputDependent { 3 } else { 0 };
        4 + predictor + gates
    }

    /// Weights of all blocks.
    pub fn block_weights(&self) -> usize {
        let (d, hidden) = (self.d_model, self.hidden);
        let rates = if self.gate == TraceGate::Fixed { 0 } else { 3 * d };
        self.layers * (self.square_maps() * d * d + rates + 2 * d + 2 * d * hidden)
    }

    /// Weights of the whole model, whose head is its embedding.
    pub fn parameters(&self, vocab: usize) -> usize {
        vocab * self.d_model + self.block_weights() + 2 * self.d_model
    }

    /// Floating-point operations of a training step for each token: three times those of the forward pass. An attention
    /// predictor reads half of a window on average.
    pub fn training_flops(&self, vocab: usize, window: usize) -> f64 {
        let (d, hidden) = (self.d_model as f64, self.hidden as f64);
        let maps = self.square_maps() as f64 * d * d + 2.0 * d * hidden;
        let attention = if self.predictor == Predictor::Static { 0.0 } else { d * window as f64 };
        6.0 * (self.layers as f64 * (maps + attention) + vocab as f64 * d)
    }
}
