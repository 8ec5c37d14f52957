//! The evolution of queries and keys between their projection and their scores (arXiv 2604.01683): none, a residual MLP
//! on the queries alone, n steps of the coupled system dq/dt = k, dk/dt = f(q), or a simpler coupling.

use candle_core::{D, Result, Tensor, bail};

use super::{
    coupling::{InvertibleCoupling, LinearMixing},
    head_mlp::HeadMlp,
};
use crate::nn::{
    Params,
    fused::evolution::{EvolutionSizes, Scheme, evolve},
};

/// The evolution of queries and keys before they are scored.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum EvolutionSpec {
    /// q + f(q); keys stay: the same parameters without coupling.
    QueryMlp,
    /// q + A k and k + B q, both from the old values.
    LinearMixing,
    /// q + f(k) and k + f(q), both from the old values: one network for both, with as many parameters as an MLP on
    /// queries.
    SharedMlp,
    /// Affine couplings of q by k and of k by q in turn, which are invertible. Without steps it is the
    /// identity.
    Invertible {
        /// Number of steps, all with the same maps.
        steps: usize,
    },
    /// Coupled steps of the length exp(tau), which each head learns from `dt` on. Without steps it is the identity.
    Coupled {
        /// The integrator.
        scheme: Scheme,
        /// Number of steps.
        steps: usize,
        /// Initial length of a step.
        dt: f64,
    },
}

impl EvolutionSpec {
    /// True if queries and keys stay as they are projected, so that there are no parameters either.
    pub fn is_identity(self) -> bool {
        matches!(self, Self::Coupled { steps: 0, .. } | Self::Invertible { steps: 0 })
    }

    /// The number of parameters at these sizes.
    pub fn parameters(self, heads: usize, head_dim: usize) -> usize {
        let map = head_dim * head_dim;
        match self {
            _ if self.is_identity() => 0,
            Self::QueryMlp | Self::LinearMixing | Self::SharedMlp => 2 * map,
            Self::Invertible { .. } => 4 * map,
            Self::Coupled { .. } => 2 * map + heads,
        }
    }
}

/// An evolution with its parameters, which all heads of a layer share.
#[derive(Debug, Clone)]
pub struct Evolution {
    dynamics: Dynamics,
    heads: usize,
}

#[derive(Debug, Clone)]
enum Dynamics {
    QueryMlp(HeadMlp),
    LinearMixing(LinearMixing),
    SharedMlp(HeadMlp),
    Invertible(InvertibleCoupling),
    Coupled { f: HeadMlp, tau: Tensor, spec: EvolutionSizes }, // tau (H)
}

impl Evolution {
    /// Parameters `<path>.{f1,f2}.weight` of an MLP, `<path>.tau` of coupled steps, `<path>.{a,b}.weight` of linear mixing,
    /// `<path>.{s,t,u,w}.weight` of the invertible coupling. `None` where nothing would change.
    pub fn new(
        params: &mut Params,
        path: &str,
        (heads, head_dim): (usize, usize),
        spec: EvolutionSpec,
    ) -> Result<Option<Self>> {
        if spec.is_identity() {
            return Ok(None);
        }
        let dynamics = match spec {
            EvolutionSpec::QueryMlp => Dynamics::QueryMlp(HeadMlp::new(params, path, head_dim)?),
            EvolutionSpec::LinearMixing => Dynamics::LinearMixing(LinearMixing::new(params, path, head_dim)?),
            EvolutionSpec::SharedMlp => Dynamics::SharedMlp(HeadMlp::new(params, path, head_dim)?),
            EvolutionSpec::Invertible { steps } => {
                Dynamics::Invertible(InvertibleCoupling::new(params, path, head_dim, steps)?)
            }
            EvolutionSpec::Coupled { scheme, steps, dt } => Dynamics::Coupled {
                f: HeadMlp::new(params, path, head_dim)?,
                tau: params.constant(&format!("{path}.tau"), heads, dt.ln())?,
                spec: EvolutionSizes { heads, head_dim, scheme, steps },
            },
        };
        Ok(Some(Self { dynamics, heads }))
    }

    /// qkv `(B, T, 3 H d)`: queries, keys and values side by side -> the same, evolved. Every position evolves by itself.
    pub fn evolve(&self, qkv: &Tensor) -> Result<Tensor> {
        match &self.dynamics {
            Dynamics::Coupled { f, tau, spec } => evolve(qkv, &Tensor::cat(&[&f.f1, &f.f2], 0)?, tau, *spec),
            Dynamics::QueryMlp(f) => self.by_head(qkv, |[q, k]| Ok([(&q + f.forward(&q)?)?, k])),
            Dynamics::LinearMixing(mixing) => self.by_head(qkv, |pair| mixing.forward(&pair)),
            Dynamics::SharedMlp(f) => self.by_head(qkv, |[q, k]| Ok([(&q + f.forward(&k)?)?, (&k + f.forward(&q)?)?])),
            Dynamics::Invertible(coupling) => self.by_head(qkv, |pair| coupling.forward(pair)),
        }
    }

    /// The inverse of [`Evolution::evolve`]. Errors: an evolution that is not an invertible coupling.
    pub fn invert(&self, qkv: &Tensor) -> Result<Tensor> {
        match &self.dynamics {
            Dynamics::Invertible(coupling) => self.by_head(qkv, |pair| coupling.inverse(pair)),
            _ => bail!("only the invertible coupling has an inverse in closed form"),
        }
    }

    /// qkv `(B, T, 3 H d)` -> the same, with `map` on the queries and keys of each head, each `(B, T H, d)`.
    fn by_head(&self, qkv: &Tensor, map: impl Fn([Tensor; 2]) -> Result<[Tensor; 2]>) -> Result<Tensor> {
        let (b, t, wide) = qkv.dims3()?;
        let (d, h) = (wide / 3, self.heads);
        let part = |i: usize| qkv.narrow(D::Minus1, i * d, d)?.contiguous();
        let [q, k] = map([part(0)?.reshape((b, t * h, d / h))?, part(1)?.reshape((b, t * h, d / h))?])?;
        Tensor::cat(&[&q.reshape((b, t, d))?, &k.reshape((b, t, d))?, &part(2)?], D::Minus1)
    }

    /// The parameters of coupled steps: their sizes, f's two weights `(d, d)`, and the logarithm of each head's step,
    /// tau `(H)`.
    pub fn coupled(&self) -> Option<(EvolutionSizes, [&Tensor; 3])> {
        match &self.dynamics {
            Dynamics::Coupled { f, tau, spec } => Some((*spec, [&f.f1, &f.f2, tau])),
            _ => None,
        }
    }
}
