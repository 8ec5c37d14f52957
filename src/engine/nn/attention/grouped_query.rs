//! Grouped-query attention without biases, with QK-RMSNorm and rotary embedding or without either. With
//! as many key heads as query heads it is the standard one, and may have queries and keys that evolve before they meet.

use std::sync::Arc;

use candle_core::{D, Result, Tensor};

use super::{
    Attention, Evolution, FusedAttention, KeyValueCache, TINY_WIDTH, TinyAttention, attend, cache, check_window,
    projections::Projections,
};
use crate::nn::{
    Params, Tap,
    fused::{
        attention::{AttentionSpec, rotate_from},
        linear::linear,
        norm::rms_norm,
    },
    layers::{EPS, THETA, residual_out_proj},
};

/// Sizes and switches.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GroupedQuerySpec {
    /// Width D of the states.
    pub d_model: usize,
    /// Number of query heads.
    pub heads: usize,
    /// Number of key and value heads.
    pub kv_heads: usize,
    /// Query t sees keys t-window+1..=t; `None` sees the whole past.
    pub window: Option<usize>,
    /// True if queries and keys are normalised by an RMSNorm a head.
    pub qk_norms: bool,
    /// True if queries and keys are rotated by position.
    pub rotary: bool,
    /// The number of times a forward pass adds to the residual stream.
    pub writers: usize,
}

impl GroupedQuerySpec {
    const TINY: Self =
        Self { d_model: TINY_WIDTH, heads: 4, kv_heads: 2, window: None, qk_norms: false, rotary: false, writers: 2 };

    /// Errors name the size that does not fit.
    fn check(&self) -> Result<AttentionSpec> {
        let (d, h, kv) = (self.d_model, self.heads, self.kv_heads);
        let fits = h > 0 && kv > 0 && d.is_multiple_of(h) && h.is_multiple_of(kv);
        ensure!(fits, "d_model {d} must be a multiple of heads {h}, and heads of kv_heads {kv}");
        let turns = !self.rotary || (d / h).is_multiple_of(2);
        ensure!(turns, "d_model / heads = {} must be even: rotary embedding turns pairs of channels", d / h);
        check_window(self.window)?;
        Ok(AttentionSpec {
            heads: h,
            kv_heads: kv,
            head_dim: d / h,
            theta: self.rotary.then_some(THETA),
            window: self.window,
            eps: EPS,
            alibi: false,
        })
    }
}

/// softmax(q k / sqrt(d)) v, each key head read by several query heads.
#[derive(Debug, Clone)]
pub struct GroupedQueryAttention {
    projections: Projections,
    wo: Tensor, // (D, H d)
    qk_norms: Option<[Tensor; 2]>,
    spec: AttentionSpec,
}

impl GroupedQueryAttention {
    /// Its options at the sizes of tests; evolutions of queries and keys are tested as variants of the family `coupled_qk`.
    pub const TINY: &[TinyAttention] = &[
        TinyAttention::new("grouped_query", |p| Self::tiny(p, GroupedQuerySpec::TINY)),
        TinyAttention::new("grouped_query, rotary", |p| {
            Self::tiny(p, GroupedQuerySpec { rotary: true, ..GroupedQuerySpec::TINY })
        }),
        TinyAttention::new("grouped_query, norms, rotary, window", |p| {
            let spec = GroupedQuerySpec { qk_norms: true, rotary: true, window: Some(4), ..GroupedQuerySpec::TINY };
            Self::tiny(p, spec)
        }),
    ];

    fn tiny(params: &mut Params, spec: GroupedQuerySpec) -> Result<Arc<dyn Attention>> {
        Ok(Arc::new(Self::new(params, "attn", &spec)?))
    }

    /// Parameters `<path>.{wq,wk,wv,wo}.weight` and, with norms, `<path>.{q_norm,k_norm}.weight`. Errors name
    /// the size that does not fit.
    pub fn new(params: &mut Params, path: &str, s: &GroupedQuerySpec) -> Result<Self> {
        let spec = s.check()?;
        let d = s.d_model;
        Ok(Self {
            projections: Projections::new(params, path, d, [spec.heads, spec.kv_heads])?,
            wo: residual_out_proj(params, &format!("{path}.wo.weight"), (d, d), s.writers)?,
            qk_norms: match s.qk_norms {
                true => Some([
                    params.ones(&format!("{path}.q_norm.weight"), spec.head_dim)?,
                    params.ones(&format!("{path}.k_norm.weight"), spec.head_dim)?,
                ]),
                false => None,
            },
            spec,
        })
    }

    /// The same attention with queries and keys that evolve before they are normalised, rotated and scored. Errors:
    /// fewer key heads than query heads, since each query evolves with its own key.
    pub fn with_evolution(self, evolution: Option<Evolution>) -> Result<Self> {
        Ok(Self { projections: self.projections.with_evolution(evolution)?, ..self })
    }

    fn qk_norms(&self) -> Option<[&Tensor; 2]> {
        self.qk_norms.as_ref().map(<[Tensor; 2]>::each_ref)
    }
}

impl Attention for GroupedQueryAttention {
    fn forward(&self, x: &Tensor, tap: &mut Tap, path: &str) -> Result<Tensor> {
        let qkv = self.projections.forward_offering(x, tap, path)?;
        linear(&attend(&qkv, self.qk_norms(), self.spec, tap, path, Ok)?, &self.wo)
    }

    fn read_next(&self, x: &Tensor, cache: &mut KeyValueCache) -> Result<Tensor> {
        let s = self.spec;
        let (b, t, d) = (x.dim(0)?, cache.len(), s.head_dim);
        let qkv = self.projections.forward(x)?;
        let part = |from: usize, n: usize| qkv.narrow(D::Minus1, from * d, n * d)?.reshape((b, n, 1, d));
        let prepared = |x: Tensor, norm: Option<&Tensor>| -> Result<Tensor> {
            let x = norm.map_or(Ok(x.clone()), |norm| rms_norm(&x, norm, s.eps))?;
            s.theta.map_or(Ok(x.clone()), |theta| rotate_from(&x, t, theta))
        };
        let norms = self.qk_norms();
        let q = prepared(part(0, s.heads)?, norms.map(|n| n[0]))?;
        let k = prepared(part(s.heads, s.kv_heads)?, norms.map(|n| n[1]))?;
        let [k, v] = cache.push(&k, &part(s.heads + s.kv_heads, s.kv_heads)?)?;
        let y = cache::read(&cache::weights(&q, &k, s.window)?, &v)?; // (B,H,1,d)
        linear(&y.reshape((b, 1, s.heads * d))?, &self.wo)
    }

    fn evolution(&self) -> Option<&Evolution> {
        self.projections.evolution.as_ref()
    }

    fn fused(&self) -> Option<FusedAttention<'_>> {
        let evolution = match self.evolution() {
            None => None,
            Some(evolution) => Some(evolution.coupled()?),
        };
        let projections = self.projections.weights().into_iter().chain(self.qk_norms.iter().flatten());
        let of_evolution = evolution.iter().flat_map(|(_, weights)| *weights);
        Some(FusedAttention {
            spec: self.spec,
            qk_norms: self.qk_norms.is_some(),
            evolution: evolution.as_ref().map(|(spec, _)| *spec),
            has_biases: false,
            weights: projections.chain(of_evolution).chain([&self.wo]).collect(),
        })
    }
}
