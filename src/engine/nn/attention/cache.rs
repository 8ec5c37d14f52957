//! The keys and values of the tokens that were read, so that the next token costs one row of attention.

use candle_core::{D, Result, Tensor};

use crate::nn::fused::attention::repeat_heads;

/// The keys and values of one layer; empty before the first token.
#[derive(Debug, Clone, Default)]
pub struct KeyValueCache {
    kept: Option<[Tensor; 2]>, // (B, Hkv, T, d) each
}

impl KeyValueCache {
    /// Tokens that were read.
    pub fn len(&self) -> usize {
        self.kept.as_ref().map_or(0, |[k, _]| k.dims().get(2).copied().unwrap_or(0))
    }

    /// Returns true before the first token.
    pub fn is_empty(&self) -> bool {
        self.kept.is_none()
    }

    /// Appends the present token's key and value `(B, Hkv, 1, d)`; returns all of them.
    pub(super) fn push(&mut self, k: &Tensor, v: &Tensor) -> Result<[Tensor; 2]> {
        let all = match &self.kept {
            None => [k.clone(), v.clone()],
            Some([ks, vs]) => [Tensor::cat(&[ks, k], 2)?, Tensor::cat(&[vs, v], 2)?],
        };
        self.kept = Some(all.clone());
        Ok(all)
    }
}

/// The row of weights `(B, H, 1, T)` with which the present query `(B, H, 1, d)` sees keys `(B, Hkv, T, d)`, the last
/// `window` of them, if there is one.
pub(super) fn weights(q: &Tensor, k: &Tensor, window: Option<usize>) -> Result<Tensor> {
    let (_, heads, _, d) = q.dims4()?;
    let (_, kv_heads, t, _) = k.dims4()?;
    let k = repeat_heads(k, heads / kv_heads)?.contiguous()?;
    let scores = (q.contiguous()?.matmul(&k.t()?)? / (d as f64).sqrt())?;
    let hidden = t.saturating_sub(window.unwrap_or(t));
    let seen = candle_nn::ops::softmax(&scores.narrow(D::Minus1, hidden, t - hidden)?.contiguous()?, D::Minus1)?;
    seen.pad_with_zeros(D::Minus1, hidden, 0)
}

/// weights `(B, H, 1, T)`, values `(B, Hkv, T, d)` -> `(B, H, 1, d)`
pub(super) fn read(weights: &Tensor, v: &Tensor) -> Result<Tensor> {
    let groups = weights.dim(1)? / v.dim(1)?;
    weights.contiguous()?.matmul(&repeat_heads(v, groups)?.contiguous()?)
}
