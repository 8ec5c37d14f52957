//! The keys and values of the tokens that were read, so that the next token costs one row of attention, and a text that is
//! read part by part is read as a whole.

use candle_core::{D, Result, Tensor};

use crate::nn::fused::attention::{AttentionSpec, ScoreBias, reference_of_last, repeat_heads, split_heads};

/// The keys and values of one layer; empty before the first token.
#[derive(Debug, Clone, Default)]
pub struct KeyValueCache {
    cached: Option<[Tensor; 2]>, // (B, Hkv, T, d) each
}

impl KeyValueCache {
    /// The number of tokens whose keys and values are cached.
    pub fn len(&self) -> usize {
        self.cached.as_ref().map_or(0, |[k, _]| k.dims().get(2).copied().unwrap_or(0))
    }

    /// Returns true before the first token.
    pub fn is_empty(&self) -> bool {
        self.cached.is_none()
    }

    /// The last `len` of keys and values `(B, Hkv, C, d)`.
    pub fn from_last([k, v]: [&Tensor; 2], len: usize) -> Result<Self> {
        let last = |x: &Tensor| x.detach().narrow(2, x.dim(2)? - len, len);
        Ok(Self { cached: if len == 0 { None } else { Some([last(k)?, last(v)?]) } })
    }

    /// The last C = `capacity` keys and values as buffers `(B, Hkv, C, d)`, which begin with zeros where there are fewer; `None`
    /// before the first token.
    pub fn to_buffers(&self, capacity: usize) -> Result<Option<[Tensor; 2]>> {
        let len = self.len().min(capacity);
        let buffer = |x: &Tensor| x.narrow(2, x.dim(2)? - len, len)?.pad_with_zeros(2, capacity - len, 0);
        self.cached.as_ref().map(|[k, v]| Ok([buffer(k)?, buffer(v)?])).transpose()
    }

    /// Causal attention of tokens that follow those of the cache, which takes their keys and values in; gradients end at
    /// what it held. qkv `(B, T, (H + 2 Hkv) d)` without norms and rotation -> `(B, T, H d)`. The bias is made where there is
    /// none yet: that of a layer serves all others that read the same tokens.
    pub(super) fn attend(&mut self, qkv: &Tensor, spec: AttentionSpec, bias: &mut Option<ScoreBias>) -> Result<Tensor> {
        let [q, k, v] = split_heads(qkv, spec)?;
        let past = self.len();
        let [k, v] = self.push(&k, &v)?;
        self.cached = Some([k.detach(), v.detach()]);
        let bias = match bias {
            Some(bias) => bias,
            None => bias.insert(ScoreBias::new(spec, past, q.dim(2)?, &q)?),
        };
        Ok(reference_of_last(&q, &k, &v, spec, bias)?.0)
    }

    /// Appends the current tokens' keys and values `(B, Hkv, T, d)`; returns all of them.
    pub(super) fn push(&mut self, k: &Tensor, v: &Tensor) -> Result<[Tensor; 2]> {
        let all = match &self.cached {
            None => [k.clone(), v.clone()],
            Some([ks, vs]) => [Tensor::cat(&[ks, k], 2)?, Tensor::cat(&[vs, v], 2)?],
        };
        self.cached = Some(all.clone());
        Ok(all)
    }
}

/// The row of weights `(B, H, 1, T)` with which the current query `(B, H, 1, d)` sees keys `(B, Hkv, T, d)`, the last
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
