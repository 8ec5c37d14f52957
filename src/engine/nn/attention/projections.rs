//! Queries, keys and values of a state: its three projections side by side, and what happens to queries and keys before
//! they are scored.

use candle_core::{D, Result, Tensor};

use super::Evolution;
use crate::nn::{Params, Tap, fused::linear::linear, layers::input_proj};

/// The three projections of an attention, and how its queries and keys evolve, if they do.
#[derive(Debug, Clone)]
pub(super) struct Projections {
    maps: [Tensor; 3], // wq (H d, D), wk and wv (Hkv d, D)
    heads: usize,
    kv_heads: usize,
    pub evolution: Option<Evolution>,
}

impl Projections {
    /// Parameters `<path>.{wq,wk,wv}.weight`; a head is `d_model / heads` wide.
    pub fn new(params: &mut Params, path: &str, d_model: usize, [heads, kv_heads]: [usize; 2]) -> Result<Self> {
        let kv = kv_heads * (d_model / heads);
        let mut map = |name: &str, wide| input_proj(params, &format!("{path}.{name}.weight"), wide, d_model);
        let maps = [map("wq", d_model)?, map("wk", kv)?, map("wv", kv)?];
        Ok(Self { maps, heads, kv_heads, evolution: None })
    }

    /// The same attention with queries and keys that evolve. Errors: fewer key heads than query heads, since each query
    /// evolves with its own key.
    pub fn with_evolution(self, evolution: Option<Evolution>) -> Result<Self> {
        let pairs = evolution.is_none() || self.kv_heads == self.heads;
        ensure!(pairs, "{} query heads and {} key heads cannot evolve in pairs", self.heads, self.kv_heads);
        Ok(Self { evolution, ..self })
    }

    /// wq, wk and wv.
    pub fn weights(&self) -> [&Tensor; 3] {
        self.maps.each_ref()
    }

    /// x `(B, T, D)` -> queries, keys and values side by side, evolved: `(B, T, (H + 2 Hkv) d)`.
    pub fn forward(&self, x: &Tensor) -> Result<Tensor> {
        self.forward_offering(x, &mut Tap::off(), "")
    }

    /// Same as [`Projections::forward`]; offers queries and keys `(B, H, T, d)` before the evolution as
    /// `<path>.{q0,k0}` and after it as `<path>.{q,k}`, where the weights are offered as `<path>.weights`.
    pub fn forward_offering(&self, x: &Tensor, tap: &mut Tap, weights: &str) -> Result<Tensor> {
        let path = weights.strip_suffix(".weights").unwrap_or(weights);
        let qkv = linear(x, &Tensor::cat(&self.weights(), 0)?)?;
        self.offer(&qkv, tap, [format!("{path}.q0"), format!("{path}.k0")])?;
        let qkv = match &self.evolution {
            Some(evolution) => evolution.evolve(&qkv)?,
            None => qkv,
        };
        self.offer(&qkv, tap, [format!("{path}.q"), format!("{path}.k")])?;
        Ok(qkv)
    }

    fn offer(&self, qkv: &Tensor, tap: &mut Tap, paths: [String; 2]) -> Result<()> {
        let (b, t, wide) = qkv.dims3()?;
        let d = wide / (self.heads + 2 * self.kv_heads);
        for (path, (from, n)) in paths.iter().zip([(0, self.heads), (self.heads, self.kv_heads)]) {
            tap.offer(path, || qkv.narrow(D::Minus1, from * d, n * d)?.reshape((b, t, n, d))?.transpose(1, 2))?;
        }
        Ok(())
    }
}
