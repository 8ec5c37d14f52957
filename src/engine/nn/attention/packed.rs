//! The attention of GPT-2: one product with biases for queries, keys and values, no norms, no rotation; or
//! the same with scores that fall with distance (ALiBi, arXiv 2108.12409).

use candle_core::{Result, Tensor, bail};

use super::{Attention, FusedAttention};
use crate::nn::{
    Params, Tap,
    fused::attention::{AttentionSpec, plain, plain_alibi, plain_alibi_reference, plain_reference},
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
    /// Parameters `<path>.{qkv,proj}.{weight,bias}`. `writers`: how many times a forward pass adds to the
    /// residual stream. Errors name the size that does not fit.
    pub fn new(params: &mut Params, path: &str, d_model: usize, heads: usize, writers: usize) -> Result<Self> {
        let d = d_model;
        if heads == 0 || !d.is_multiple_of(heads) {
            bail!("d_model {d} must be a multiple of heads {heads}");
        }
        Ok(Self {
            qkv: Affine::input_proj(params, &format!("{path}.qkv"), 3 * d, d)?,
            proj: Affine::residual_out_proj(params, &format!("{path}.proj"), (d, d), writers)?,
            spec: AttentionSpec::plain(d, heads),
        })
    }

    /// The same with scores that fall with distance, for models without positions.
    pub fn with_alibi(mut self) -> Self {
        self.spec.alibi = true;
        self
    }
}

impl Attention for PackedAttention {
    fn forward(&self, x: &Tensor, tap: &mut Tap, path: &str) -> Result<Tensor> {
        let qkv = self.qkv.forward(x)?; // (B,T,3D)
        let heads = self.spec.heads;
        let y = if tap.wants(path) {
            let reference = if self.spec.alibi { plain_alibi_reference } else { plain_reference };
            let (y, weights) = reference(&qkv, heads)?;
            tap.offer(path, || Ok(weights))?;
            y
        } else if self.spec.alibi {
            plain_alibi(&qkv, heads)?
        } else {
            plain(&qkv, heads)?
        };
        self.proj.forward(&y)
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
