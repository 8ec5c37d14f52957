//! Queries and keys that evolve as a coupled system before scoring (arXiv 2604.01683): dq/dt = k, dk/dt = f(q), with f
//! an MLP d -> d -> d (SiLU) that all heads share and a step size for each head.

use self::rows::Kernel;
use super::mlp::{self, Act};
use crate::fused::prelude::*;

pub(super) mod rows;

/// The integration scheme; dt = exp(tau) of the head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// q' = q + dt k, k' = k + dt f(q), both from the old values.
    Euler,
    /// k += dt/2 f(q), q += dt k, k += dt/2 f(q).
    Leapfrog,
}

/// Sizes of an evolution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EvolutionSizes {
    /// Number of heads H.
    pub heads: usize,
    /// Channels d of a head.
    pub head_dim: usize,
    /// The integrator of dq/dt = k, dk/dt = f(q).
    pub scheme: Scheme,
    /// Number of integration steps; with 0 nothing changes.
    pub steps: usize,
}

/// qkv `(B, T, 3 H d)`: queries, keys, values side by side; f `(2 d, d)`: its first weight above its
/// second, each (outputs, inputs); tau `(H)`. Returns the same with queries and keys evolved.
pub fn evolve(qkv: &Tensor, f: &Tensor, tau: &Tensor, spec: EvolutionSizes) -> Result<Tensor> {
    let (h, d) = (spec.heads, spec.head_dim);
    if qkv.dim(D::Minus1)? != 3 * h * d || f.dims() != [2 * d, d] || tau.dims() != [h] {
        bail!("{h} heads of {d} cannot evolve: {:?}, f {:?}, tau {:?}", qkv.shape(), f.shape(), tau.shape());
    }
    if spec.steps == 0 {
        return Ok(qkv.clone());
    }
    let args = [&qkv.contiguous()?, &f.contiguous()?, tau];
    apply_fused(args, spec, |[qkv, f, tau]| reference(qkv, f, tau, spec))
}

/// The reference form in plain candle, with the arguments of [`evolve`].
pub fn reference(qkv: &Tensor, f: &Tensor, tau: &Tensor, s: EvolutionSizes) -> Result<Tensor> {
    let (b, t, _) = qkv.dims3()?;
    let (h, d) = (s.heads, s.head_dim);
    let part = |i: usize| qkv.narrow(2, i * h * d, h * d)?.reshape((b, t, h, d));
    let (first, second) = (f.narrow(0, 0, d)?, f.narrow(0, d, d)?);
    let f = |q: &Tensor| mlp::mlp_reference(q, &first, &second, Act::Silu);
    let dt = tau.exp()?.reshape((1, 1, h, 1))?;
    let half = (&dt * 0.5)?;
    let (mut q, mut k) = (part(0)?, part(1)?); // (B,T,H,d)
    for _ in 0..s.steps {
        match s.scheme {
            Scheme::Euler => {
                let force = f(&q)?;
                q = (&q + k.broadcast_mul(&dt)?)?;
                k = (k + force.broadcast_mul(&dt)?)?;
            }
            Scheme::Leapfrog => {
                k = (k + f(&q)?.broadcast_mul(&half)?)?;
                q = (&q + k.broadcast_mul(&dt)?)?;
                k = (k + f(&q)?.broadcast_mul(&half)?)?;
            }
        }
    }
    Tensor::cat(&[&q, &k, &part(2)?], 2)?.reshape((b, t, 3 * h * d))
}

impl FusedOp<3> for EvolutionSizes {
    const NAME: &'static str = "coupled";

    fn forward(&self, [x, f, tau]: [&[f32]; 3], [shape, ..]: [&Shape; 3]) -> Result<(Vec<f32>, Shape)> {
        let mut out = x.to_vec();
        Kernel::new(*self, f, tau, false).evolve(&mut out);
        Ok((out, shape.clone()))
    }

    fn backward(&self, [x, f, tau]: [&Tensor; 3], _: &Tensor, grad: &Tensor) -> Result<[Option<Tensor>; 3]> {
        let (dx, mut df) = storage::read_all(&[x, f, tau, grad], |[x, f, tau, grad]| {
            let kernel = Kernel::new(*self, f, tau, true);
            let positions = x.len() / (3 * self.heads * self.head_dim);
            let starts = build_vec(kernel.saved_len(positions), |starts| kernel.save(x, starts));
            let mut dx = grad.to_vec();
            let df = kernel.backward(&mut dx, &starts);
            Ok((dx, df))
        })?;
        let dtau = df.split_off(f.elem_count());
        gradients_like([dx, df, dtau], [x, f, tau])
    }
}
