//! AdamW with global-norm clipping.

use candle_core::{Result, Tensor, backprop::GradStore};

use super::Params;

/// Settings of [`AdamW`]; the learning rate comes with each step.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct AdamWSpec {
    pub beta1: f64,
    pub beta2: f64,
    pub eps: f64,
    /// Decoupled, applied to every weight.
    pub weight_decay: f64,
    /// Global gradient norm is clipped to this; 0 for none.
    pub clip: f64,
}

impl Default for AdamWSpec {
    fn default() -> Self {
        Self { beta1: 0.9, beta2: 0.95, eps: 1e-8, weight_decay: 0.1, clip: 1.0 }
    }
}

/// Decoupled weight decay (Loshchilov & Hutter 2019, algorithm 2) with bias correction.
pub struct AdamW {
    pub spec: AdamWSpec,
    pub step: u64,
}

impl AdamW {
    pub fn new(_params: &Params, spec: AdamWSpec) -> Result<Self> {
        Ok(Self { spec, step: 0 })
    }

    /// One update; returns the global gradient norm before clipping.
    pub fn step(&mut self, _params: &Params, _grads: &GradStore, _lr: f64) -> Result<f64> {
        candle_core::bail!("unwritten")
    }

    /// Moments by name (`m.<param>`, `v.<param>`), for a checkpoint.
    pub fn state(&self, _params: &Params) -> Vec<(String, Tensor)> {
        vec![]
    }

    /// Restores what [`AdamW::state`] gave.
    pub fn load_state(&mut self, _params: &Params, _step: u64, _get: &dyn Fn(&str) -> Option<Tensor>) -> Result<()> {
        candle_core::bail!("unwritten")
    }
}
