//! Fast weights that a static predictor learns while it reads (PGHU at inference): W_base h + W_fast h predicts, and
//! the precision-gated error of every token changes W_fast.

use crate::{
    models::{capabilities::FastWeightRule, prelude::*},
    nn::kernels::{
        fast_weights::{FastWeightState, HebbianRule, read},
        threads,
    },
};

/// Share of a new squared error in its running variance, and what is added to it: those of the grammar network.
const FOLLOW: f32 = 0.01;
const MIN_VARIANCE: f32 = 1e-8;

/// The fast weights of one block, for each text that is read at once.
#[derive(Debug, Clone)]
pub(super) struct FastWeights {
    rule: HebbianRule,
    /// W_base `(D, D)`; `None` for zero.
    base: Option<Tensor>,
    texts: Vec<FastWeightState>,
    /// Mean of 1 / pi over channels at every token of the last call, `(B, T)`.
    inverse_precision: Vec<f32>,
}

impl FastWeights {
    /// Fast weights for a predictor with these trained weights `(D, D)`.
    pub fn new(rule: &FastWeightRule, trained: &Tensor) -> Self {
        let rule_of_block = HebbianRule {
            rate: rule.rate as f32,
            max_precision: rule.max_precision as f32,
            variance_rate: FOLLOW,
            min_variance: MIN_VARIANCE,
        };
        let base = rule.has_base.then(|| trained.clone());
        Self { rule: rule_of_block, base, texts: vec![], inverse_precision: vec![] }
    }

    /// The error of the prediction from the slow trace's direction, both `(B, T, D)`; W_fast learns from it.
    pub fn error(&mut self, direction: &Tensor, x: &Tensor) -> Result<Tensor> {
        let (b, t, d) = x.dims3()?;
        self.texts.resize_with(b, || FastWeightState::new(d));
        let left = match &self.base {
            Some(base) => (x - linear(direction, base)?)?,
            None => x.clone(),
        };
        let (inputs, mut errors) = (host::to_f32(direction)?, host::to_f32(&left)?);
        self.inverse_precision = vec![0.0; b * t];
        let rule = self.rule;
        let (of_text, tokens) = ((t * d).max(1), t.max(1));
        let texts = self.texts.iter_mut().zip(inputs.chunks_exact(of_text)).zip(errors.chunks_exact_mut(of_text));
        let texts = texts.zip(self.inverse_precision.chunks_exact_mut(tokens));
        threads::for_each(b, texts, |(((state, inputs), errors), inverse)| read(rule, inputs, errors, inverse, state));
        Tensor::from_vec(errors, (b, t, d), x.device())?.to_dtype(x.dtype())
    }

    pub fn inverse_precision(&self) -> &[f32] {
        &self.inverse_precision
    }
}
