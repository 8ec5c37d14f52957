//! Models that read a text part by part, with weights that stay as they are or with fast weights that a text changes.

use candle_core::{Result, Tensor};

/// A model that reads texts part by part.
pub trait StreamingModel {
    /// A stream of texts that are read from their beginnings.
    fn stream(&self) -> Box<dyn TextStream + '_>;

    /// True if it keeps every token that was read, so that later tokens cost more.
    fn keeps_all_tokens(&self) -> bool;

    /// The coefficient of the slowest moving average, if it is the same for every channel and token and never trained.
    fn slowest_rate(&self) -> Option<f64>;
}

/// A model whose predictors can continue learning while it reads.
pub trait FastWeightModel {
    /// A stream of texts that are read from their beginnings, each with fast weights of its own.
    fn stream_with_fast_weights(&self, rule: &FastWeightRule) -> Box<dyn TextStream + '_>;
}

/// Texts that are being read, side by side.
pub trait TextStream {
    /// The next tokens of each text, u32 `(B, T)` -> logits `(B, T, V)`.
    fn read(&mut self, tokens: &Tensor) -> Result<Tensor>;

    /// Mean over channels and blocks of 1 / pi at every token that was read last, `(B, T)`; empty without fast weights.
    fn uncertainty(&self) -> Vec<f32> {
        vec![]
    }
}

/// The learning rule of fast weights on the tokens of a text: W <- W + eta pi e h^T.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FastWeightRule {
    /// eta.
    pub rate: f64,
    /// pi_max, the largest precision 1 / v of the error.
    pub max_precision: f64,
    /// True if they add to the trained weights; else they replace them.
    pub has_base: bool,
}
