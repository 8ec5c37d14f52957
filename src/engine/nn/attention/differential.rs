//! Differential attention as the coupled query-key paper (arXiv 2604.01683) uses it: queries and keys are split in two
//! halves, and the second half's attention is subtracted from the first's.
//!
//! It is computed as grouped-query attention: the two queries of a head, (q1, 0) and (0, q2), both read its whole key and
//! its value, since (q1, 0) (k1, k2) = q1 k1.

use std::sync::Arc;

use candle_core::{D, Result, Tensor};

use super::{Attention, Evolution, KeyValueCache, TINY_WIDTH, TinyAttention, attend, cache, projections::Projections};
use crate::nn::{
    Params, Tap,
    fused::{
        attention::{AttentionSpec, rotate_from},
        differential::{halve_queries, normalised_difference},
        linear::linear,
    },
    layers::{EPS, THETA, residual_out_proj},
};

/// Sizes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DifferentialSpec {
    /// Width D of the states.
    pub d_model: usize,
    /// Number of query heads.
    pub heads: usize,
    /// The index of the layer in the model, from 0; lambda starts at 0.8 - 0.6 exp(-0.3 layer).
    pub layer: usize,
    /// True if queries and keys are rotated by position.
    pub rotary: bool,
    /// The number of additions to the residual stream in a forward pass.
    pub writers: usize,
}

/// (softmax(q1 k1 / sqrt(d/2)) - lambda softmax(q2 k2 / sqrt(d/2))) v, then an RMSNorm a head without
/// weight, times 1 - lambda_0.
#[derive(Debug, Clone)]
pub struct DifferentialAttention {
    projections: Projections,
    wo: Tensor,  // (D, D)
    lam: Tensor, // (H)
    heads: usize,
    head_dim: usize,
    rotary: bool,
    lambda_init: f64,
}

impl DifferentialAttention {
    /// Its options at the sizes of tests; evolutions of queries and keys are tested as variants of the family `coupled_qk`.
    pub const TINY: &[TinyAttention] = &[
        TinyAttention::new("differential", |p| Self::tiny(p, false)),
        TinyAttention::new("differential, rotary", |p| Self::tiny(p, true)),
    ];

    fn tiny(params: &mut Params, rotary: bool) -> Result<Arc<dyn Attention>> {
        let spec = DifferentialSpec { d_model: TINY_WIDTH, heads: 4, layer: 1, rotary, writers: 2 };
        Ok(Arc::new(Self::new(params, "attn", &spec)?))
    }

    /// Parameters `<path>.{wq,wk,wv,wo}.weight` and `<path>.lam`, one number per head. Errors name the size that
    /// does not fit.
    pub fn new(params: &mut Params, path: &str, s: &DifferentialSpec) -> Result<Self> {
        let (d, h) = (s.d_model, s.heads);
        let halves = h > 0 && d.is_multiple_of(2 * h);
        ensure!(halves, "d_model {d} must be a multiple of twice the heads {h}: queries and keys are halved");
        let turns = !s.rotary || d.is_multiple_of(4 * h);
        let why = "rotary embedding turns pairs of each half";
        ensure!(turns, "d_model {d} must be a multiple of four times the heads {h}: {why}");
        let lambda_init = 0.8 - 0.6 * (-0.3 * s.layer as f64).exp();
        Ok(Self {
            projections: Projections::new(params, path, d, [h, h])?,
            wo: residual_out_proj(params, &format!("{path}.wo.weight"), (d, d), s.writers)?,
            lam: params.constant(&format!("{path}.lam"), h, lambda_init)?,
            heads: h,
            head_dim: d / h,
            rotary: s.rotary,
            lambda_init,
        })
    }

    /// The same attention with queries and keys that evolve before they are rotated, split and scored.
    pub fn with_evolution(self, evolution: Option<Evolution>) -> Result<Self> {
        Ok(Self { projections: self.projections.with_evolution(evolution)?, ..self })
    }

    /// Two query heads a key head.
    fn spec(&self) -> AttentionSpec {
        let (heads, d) = (self.heads, self.head_dim);
        AttentionSpec { heads: 2 * heads, head_dim: d, ..AttentionSpec::plain(heads * d, heads) }
    }

    /// Maps the outputs of both maps `(B, T, 2 D)`, one after the other of each head -> `(B, T, D)`.
    fn combined(&self, y: &Tensor) -> Result<Tensor> {
        let difference = normalised_difference(y, &self.lam, EPS)?;
        linear(&(difference * (1.0 - self.lambda_init))?, &self.wo)
    }

    /// The weights of both maps `(B, 2 H, ..)`, one after the other of each head -> their difference `(B, H, ..)`.
    fn difference(&self, weights: &Tensor) -> Result<Tensor> {
        let (b, h, t, n) = weights.dims4()?;
        let weights = weights.reshape((b, h / 2, 2, t, n))?;
        let of = |i: usize| weights.narrow(2, i, 1)?.squeeze(2);
        of(0)? - of(1)?.broadcast_mul(&self.lam.reshape((1, h / 2, 1, 1))?)?
    }

    /// qkv `(B, T, 3 D)` with its queries and keys turned, those of the positions from `first` on, where they are. Each half
    /// of a head is turned by itself: a product of halves then depends on the distance of its positions alone.
    fn rotated(&self, qkv: Tensor, first: usize) -> Result<Tensor> {
        if !self.rotary {
            return Ok(qkv);
        }
        let (b, t, wide) = qkv.dims3()?;
        let of = |which: usize| qkv.narrow(D::Minus1, which * wide / 3, wide / 3);
        let turned = |x: Tensor| -> Result<Tensor> {
            let halves = x.reshape((b, t, 2 * self.heads, self.head_dim / 2))?.transpose(1, 2)?.contiguous()?; // (B,2H,T,d/2)
            rotate_from(&halves, first, THETA)?.transpose(1, 2)?.reshape((b, t, wide / 3))
        };
        Tensor::cat(&[&turned(of(0)?)?, &turned(of(1)?)?, &of(2)?], D::Minus1)
    }
}

impl Attention for DifferentialAttention {
    fn forward(&self, x: &Tensor, tap: &mut Tap, path: &str) -> Result<Tensor> {
        let qkv = self.rotated(self.projections.forward_offering(x, tap, path)?, 0)?; // (B,T,3D)
        let qkv = halve_queries(&qkv, self.heads)?; // (B,T,4D)
        self.combined(&attend(&qkv, None, self.spec(), tap, path, |weights| self.difference(&weights))?)
    }

    fn read_next(&self, x: &Tensor, cache: &mut KeyValueCache) -> Result<Tensor> {
        let (b, h, d) = (x.dim(0)?, self.heads, self.head_dim);
        let qkv = self.rotated(self.projections.forward(x)?, cache.len())?;
        let qkv = halve_queries(&qkv, h)?; // (B,1,4D)
        let part = |from: usize, n: usize| qkv.narrow(D::Minus1, from * d, n * d)?.reshape((b, n, 1, d));
        let [k, v] = cache.push(&part(2 * h, h)?, &part(3 * h, h)?)?;
        let q = part(0, 2 * h)?;
        let y = cache::read(&cache::weights(&q, &k, None)?, &v)?; // (B,2H,1,d)
        self.combined(&y.reshape((b, 1, 2 * h * d))?)
    }

    fn evolution(&self) -> Option<&Evolution> {
        self.projections.evolution.as_ref()
    }
}
