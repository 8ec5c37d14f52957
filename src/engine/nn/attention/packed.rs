//! The attention of GPT-2: one product with biases for queries, keys and values, no norms, no rotation; or
//! the same with scores that fall with distance (ALiBi, arXiv 2108.12409).

use std::sync::Arc;

use candle_core::{Result, Tensor};

use super::{Attention, FusedAttention, KeyValueCache, TINY_WIDTH, TinyAttention, attend, check_window};
use crate::nn::{
    Params, Tap,
    fused::attention::{AttentionSpec, ScoreBias},
    layers::Affine,
};

/// Multi-head attention with biases.
#[derive(Debug, Clone)]
pub struct PackedAttention {
    qkv: Affine,  // (3 D, D)
    proj: Affine, // (D, D)
    spec: AttentionSpec,
}

impl PackedAttention {
    /// Its options at the sizes of tests.
    pub const TINY: &[TinyAttention] = &[
        TinyAttention::new("packed", |p| Ok(Arc::new(Self::tiny(p)?))),
        TinyAttention::new("packed, ALiBi", |p| Ok(Arc::new(Self::tiny(p)?.with_alibi()))),
        TinyAttention::new("packed, window", |p| Ok(Arc::new(Self::tiny(p)?.with_window(Some(4))?))),
    ];

    fn tiny(params: &mut Params) -> Result<Self> {
        Self::new(params, "attn", TINY_WIDTH, 4, 2)
    }

    /// Parameters `<path>.{qkv,proj}.{weight,bias}`. `writers`: how many times a forward pass adds to the
    /// residual stream. Errors name the size that does not fit.
    pub fn new(params: &mut Params, path: &str, d_model: usize, heads: usize, writers: usize) -> Result<Self> {
        let d = d_model;
        ensure!(heads > 0 && d.is_multiple_of(heads), "d_model {d} must be a multiple of heads {heads}");
        Ok(Self {
            qkv: Affine::input_proj(params, &format!("{path}.qkv"), 3 * d, d)?,
            proj: Affine::residual_out_proj(params, &format!("{path}.proj"), (d, d), writers)?,
            spec: AttentionSpec::plain(d, heads),
        })
    }

    /// Adds ALiBi: scores fall with distance, for models without positions.
    pub fn with_alibi(mut self) -> Self {
        self.spec.alibi = true;
        self
    }

    /// Lets a token see the last `window` tokens, itself included; `None` is the whole past. Errors: a window of 0.
    pub fn with_window(mut self, window: Option<usize>) -> Result<Self> {
        check_window(window)?;
        self.spec.window = window;
        Ok(self)
    }
}

impl Attention for PackedAttention {
    fn forward(&self, x: &Tensor, tap: &mut Tap, path: &str) -> Result<Tensor> {
        let qkv = self.qkv.forward(x)?; // (B,T,3D)
        self.proj.forward(&attend(&qkv, None, self.spec, tap, path, Ok)?)
    }

    fn forward_after(&self, x: &Tensor, cache: &mut KeyValueCache, bias: &mut Option<ScoreBias>) -> Result<Tensor> {
        self.proj.forward(&cache.attend(&self.qkv.forward(x)?, self.spec, bias)?)
    }

    fn fused(&self) -> Option<FusedAttention<'_>> {
        Some(FusedAttention {
            spec: self.spec,
            qk_norms: false,
            evolution: None,
            has_biases: true,
            weights: vec![&self.qkv.weight, &self.qkv.bias, &self.proj.weight, &self.proj.bias],
        })
    }
}
