//! Differential attention as the coupled query-key paper (arXiv 2604.01683) uses it: queries and keys are split in two
//! halves, and the second half's attention is subtracted from the first's.
//!
//! It is computed as grouped-query attention: the two queries of a head, (q1, 0) and (0, q2), both read its whole key and
//! its value, since (q1, 0) (k1, k2) = q1 k1.

use candle_core::{D, Result, Tensor, bail};

use super::{Attention, Evolution, KeyValueCache, cache, evolution::evolved};
use crate::nn::{
    Params, Tap,
    fused::{
        attention::{self, AttentionSpec, rotate, rotate_from},
        linear::linear,
        norm::rms_norm,
    },
    layers::{EPS, THETA, input_proj, residual_out_proj},
};

/// Sizes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DifferentialSpec {
    pub d_model: usize,
    pub heads: usize,
    /// Place of the layer in the model, from 0; lambda starts at 0.8 - 0.6 exp(-0.3 layer).
    pub layer: usize,
    /// Whether queries and keys are rotated by position.
    pub rotary: bool,
    /// How many times a forward pass adds to the residual stream.
    pub writers: usize,
}

/// (softmax(q1 k1 / sqrt(d/2)) - lambda softmax(q2 k2 / sqrt(d/2))) v, then an RMSNorm a head without
/// weight, times 1 - lambda_0.
#[derive(Debug, Clone)]
pub struct DifferentialAttention {
    wq: Tensor,  // (D, D)
    wk: Tensor,  // (D, D)
    wv: Tensor,  // (D, D)
    wo: Tensor,  // (D, D)
    lam: Tensor, // (H)
    evolution: Option<Evolution>,
    heads: usize,
    head_dim: usize,
    rotary: bool,
    lambda_init: f64,
}

impl DifferentialAttention {
    /// Parameters `<path>.{wq,wk,wv,wo}.weight` and `<path>.lam`, one number a head. Errors name the size that
    /// does not fit.
    pub fn new(params: &mut Params, path: &str, s: &DifferentialSpec) -> Result<Self> {
        let (d, h) = (s.d_model, s.heads);
        if h == 0 || !d.is_multiple_of(2 * h) {
            bail!("d_model {d} must be a multiple of twice the heads {h}: queries and keys are halved");
        }
        let lambda_init = 0.8 - 0.6 * (-0.3 * s.layer as f64).exp();
        Ok(Self {
            wq: input_proj(params, &format!("{path}.wq.weight"), d, d)?,
            wk: input_proj(params, &format!("{path}.wk.weight"), d, d)?,
            wv: input_proj(params, &format!("{path}.wv.weight"), d, d)?,
            wo: residual_out_proj(params, &format!("{path}.wo.weight"), (d, d), s.writers)?,
            lam: params.constant(&format!("{path}.lam"), h, lambda_init)?,
            evolution: None,
            heads: h,
            head_dim: d / h,
            rotary: s.rotary,
            lambda_init,
        })
    }

    /// With queries and keys that evolve before they are rotated, split and scored.
    pub fn with_evolution(self, evolution: Option<Evolution>) -> Self {
        Self { evolution, ..self }
    }

    fn project(&self, x: &Tensor) -> Result<Tensor> {
        linear(x, &Tensor::cat(&[&self.wq, &self.wk, &self.wv], 0)?) // (B,T,3D)
    }

    /// Two query heads a key head.
    fn spec(&self) -> AttentionSpec {
        let (heads, d) = (self.heads, self.head_dim);
        AttentionSpec { heads: 2 * heads, head_dim: d, ..AttentionSpec::plain(heads * d, heads) }
    }

    /// q `(B, T, H, d)` -> `(B, T, 2 H, d)`: (q1, 0), (0, q2), of the next head, and so on, scaled so that a division by
    /// sqrt(d) becomes one by sqrt(d / 2).
    fn halved(&self, q: &Tensor) -> Result<Tensor> {
        let (b, t, h, d) = q.dims4()?;
        let half = (q * 2f64.sqrt())?;
        let none = Tensor::zeros((b, t, h, d / 2), q.dtype(), q.device())?;
        let (first, second) = (half.narrow(D::Minus1, 0, d / 2)?, half.narrow(D::Minus1, d / 2, d / 2)?);
        Tensor::cat(&[&first, &none, &none, &second], D::Minus1)?.reshape((b, t, 2 * h, d))
    }

    /// What both maps read `(B, T, 2 H, d)`, one after the other of each head -> `(B, T, D)`.
    fn combined(&self, y: &Tensor) -> Result<Tensor> {
        let (b, t, _, d) = y.dims4()?;
        let y = y.reshape((b, t, self.heads, 2, d))?;
        let of = |i: usize| y.narrow(3, i, 1)?.squeeze(3);
        let difference = (of(0)? - of(1)?.broadcast_mul(&self.lam.reshape((self.heads, 1))?)?)?; // (B,T,H,d)
        let ones = Tensor::ones(d, y.dtype(), y.device())?;
        let y = (rms_norm(&difference.contiguous()?, &ones, EPS)? * (1.0 - self.lambda_init))?;
        linear(&y.reshape((b, t, self.heads * d))?, &self.wo)
    }

    /// The weights of both maps `(B, 2 H, ..)`, one after the other of each head -> their difference `(B, H, ..)`.
    fn difference(&self, weights: &Tensor) -> Result<Tensor> {
        let (b, h, t, n) = weights.dims4()?;
        let weights = weights.reshape((b, h / 2, 2, t, n))?;
        let of = |i: usize| weights.narrow(2, i, 1)?.squeeze(2);
        of(0)? - of(1)?.broadcast_mul(&self.lam.reshape((1, h / 2, 1, 1))?)?
    }

    /// Queries, keys or values of qkv `(B, T, 3 D)`: `(B, T, H, d)`.
    fn part(&self, qkv: &Tensor, which: usize) -> Result<Tensor> {
        let (b, t, wide) = qkv.dims3()?;
        qkv.narrow(D::Minus1, which * wide / 3, wide / 3)?.reshape((b, t, self.heads, self.head_dim))
    }
}

impl Attention for DifferentialAttention {
    fn forward(&self, x: &Tensor, tap: &mut Tap, path: &str) -> Result<Tensor> {
        let (b, t, _) = x.dims3()?;
        let qkv = self.project(x)?;
        let qkv = evolved(self.evolution.as_ref(), qkv, [self.heads; 2], (tap, path))?;
        let (mut q, mut k, v) = (self.part(&qkv, 0)?, self.part(&qkv, 1)?, self.part(&qkv, 2)?);
        if self.rotary {
            let turned = |x: &Tensor| rotate(&x.transpose(1, 2)?.contiguous()?, THETA)?.transpose(1, 2);
            (q, k) = (turned(&q)?, turned(&k)?);
        }
        let qkv = Tensor::cat(&[&self.halved(&q)?, &k.contiguous()?, &v.contiguous()?], 2)?; // (B,T,4H,d)
        let qkv = qkv.reshape((b, t, 4 * self.heads * self.head_dim))?;
        let y = if tap.wants(path) {
            let (y, weights) = attention::reference_without_norms(&qkv, self.spec())?;
            tap.offer(path, || self.difference(&weights))?;
            y
        } else {
            attention::without_norms(&qkv, self.spec())?
        };
        self.combined(&y.reshape((b, t, 2 * self.heads, self.head_dim))?)
    }

    fn read_next(&self, x: &Tensor, cache: &mut KeyValueCache) -> Result<Tensor> {
        let t = cache.len();
        let qkv = self.project(x)?;
        let qkv = self.evolution.as_ref().map_or(Ok(qkv.clone()), |e| e.evolve(&qkv))?;
        let part = |i: usize| self.part(&qkv, i)?.transpose(1, 2)?.contiguous(); // (B,H,1,d)
        let turned = |x: Tensor| if self.rotary { rotate_from(&x, t, THETA) } else { Ok(x) };
        let (q, k) = (turned(part(0)?)?, turned(part(1)?)?);
        let [k, v] = cache.push(&k, &part(2)?)?;
        let q = self.halved(&q.transpose(1, 2)?)?.transpose(1, 2)?; // (B,2H,1,d)
        let y = cache::read(&cache::weights(&q, &k, None)?, &v)?; // (B,2H,1,d)
        self.combined(&y.transpose(1, 2)?.contiguous()?)
    }
}
