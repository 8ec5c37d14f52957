//! Couplings of queries and keys that are simpler than the paper's, to tell what of it is active: linear mixing, which
//! arXiv 2604.01683 leaves for later, and an invertible coupling, which is our reading of the second version of the
//! paper. Each maps the queries and keys of all heads, `(.., d)` each, where they are.

use candle_core::{Result, Tensor};

use crate::nn::{Params, fused::linear::linear};

/// A map d -> d without biases that is zero before training: parameter `<path>.<name>.weight`.
fn zero_map(params: &mut Params, path: &str, name: &str, head_dim: usize) -> Result<Tensor> {
    params.zeros(&format!("{path}.{name}.weight"), (head_dim, head_dim))
}

/// q + A k and k + B q, both from the old values; the identity before training.
#[derive(Debug, Clone)]
pub(super) struct LinearMixing {
    a: Tensor, // (d, d)
    b: Tensor, // (d, d)
}

impl LinearMixing {
    /// Parameters `<path>.{a,b}.weight`.
    pub fn new(params: &mut Params, path: &str, head_dim: usize) -> Result<Self> {
        Ok(Self { a: zero_map(params, path, "a", head_dim)?, b: zero_map(params, path, "b", head_dim)? })
    }

    pub fn forward(&self, [q, k]: &[Tensor; 2]) -> Result<[Tensor; 2]> {
        Ok([(q + linear(k, &self.a)?)?, (k + linear(q, &self.b)?)?])
    }
}

/// n times q' = q exp(s(k)) + t(k), k' = k exp(u(q')) + w(q'), with the linear maps s, t, u, w; the identity before training.
#[derive(Debug, Clone)]
pub(super) struct InvertibleCoupling {
    s: Tensor, // (d, d), as are all
    t: Tensor,
    u: Tensor,
    w: Tensor,
    steps: usize,
}

impl InvertibleCoupling {
    /// Parameters `<path>.{s,t,u,w}.weight`, which all steps share.
    pub fn new(params: &mut Params, path: &str, head_dim: usize, steps: usize) -> Result<Self> {
        let mut map = |name| zero_map(params, path, name, head_dim);
        Ok(Self { s: map("s")?, t: map("t")?, u: map("u")?, w: map("w")?, steps })
    }

    pub fn forward(&self, pair: [Tensor; 2]) -> Result<[Tensor; 2]> {
        let affine = |x: &Tensor, by: &Tensor, scale: &Tensor, shift: &Tensor| -> Result<Tensor> {
            (x * linear(by, scale)?.exp()?)? + linear(by, shift)?
        };
        (0..self.steps).try_fold(pair, |[q, k], _| {
            let q = affine(&q, &k, &self.s, &self.t)?;
            let k = affine(&k, &q, &self.u, &self.w)?;
            Ok([q, k])
        })
    }

    /// The queries and keys of which [`InvertibleCoupling::forward`] makes these.
    pub fn inverse(&self, pair: [Tensor; 2]) -> Result<[Tensor; 2]> {
        let affine = |x: &Tensor, by: &Tensor, scale: &Tensor, shift: &Tensor| -> Result<Tensor> {
            (x - linear(by, shift)?)? * linear(by, scale)?.neg()?.exp()?
        };
        (0..self.steps).try_fold(pair, |[q, k], _| {
            let k = affine(&k, &q, &self.u, &self.w)?;
            let q = affine(&q, &k, &self.s, &self.t)?;
            Ok([q, k])
        })
    }
}
