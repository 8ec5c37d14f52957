//! The evolution of queries and keys between their projection and their scores (arXiv 2604.01683): none, a residual MLP
//! on the queries alone, n steps of the coupled system dq/dt = k, dk/dt = f(q), or one of two couplings that are simpler
//! than the paper's, to tell what of it is active: linear mixing, which it leaves for later, and an invertible coupling,
//! which is our reading of its second version.

use candle_core::{D, Result, Tensor, bail};

use crate::nn::{
    Params,
    fused::{
        evolution::{EvolutionSizes, Scheme, evolve},
        linear::linear,
        mlp::{Act, mlp},
    },
    layers::input_proj,
};

/// The evolution of queries and keys before they are scored.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs, reason = "the docs of the variants name their fields")]
pub enum EvolutionSpec {
    /// q + f(q); keys stay: the same parameters without coupling.
    QueryMlp,
    /// q + A k and k + B q, both from the old values.
    LinearMixing,
    /// q + f(k) and k + f(q), both from the old values: one network for both, with as many parameters as an MLP on
    /// queries.
    SharedMlp,
    /// Affine couplings of q by k and of k by q in turn, which are invertible, in `steps` steps with the same maps. Without
    /// steps it is the identity.
    Invertible { steps: usize },
    /// Coupled steps of the length exp(tau), which each head learns from `dt` on. Without steps it is the identity.
    Coupled { scheme: Scheme, steps: usize, dt: f64 },
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

/// The maps of a form, each `(d, d)` for heads of width d, which all heads of a layer share; f is an MLP d -> d -> d with SiLU
/// and no biases.
#[derive(Debug, Clone)]
enum Dynamics {
    QueryMlp([Tensor; 2]),
    LinearMixing {
        a: Tensor,
        b: Tensor,
    },
    SharedMlp([Tensor; 2]),
    /// The linear maps s, t, u, w of q' = q exp(s(k)) + t(k), k' = k exp(u(q')) + w(q'), `steps` times.
    Invertible {
        maps: [Tensor; 4],
        steps: usize,
    },
    Coupled {
        f: [Tensor; 2],
        tau: Tensor, // (H)
        spec: EvolutionSizes,
    },
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
        let draw =
            |params: &mut Params, name: &str| input_proj(params, &format!("{path}.{name}.weight"), head_dim, head_dim);
        let f = |params: &mut Params| -> Result<[Tensor; 2]> { Ok([draw(params, "f1")?, draw(params, "f2")?]) };
        // the couplings are the identity before training
        let zero =
            |params: &mut Params, name: &str| params.zeros(&format!("{path}.{name}.weight"), (head_dim, head_dim));
        let dynamics = match spec {
            EvolutionSpec::QueryMlp => Dynamics::QueryMlp(f(params)?),
            EvolutionSpec::LinearMixing => Dynamics::LinearMixing { a: zero(params, "a")?, b: zero(params, "b")? },
            EvolutionSpec::SharedMlp => Dynamics::SharedMlp(f(params)?),
            EvolutionSpec::Invertible { steps } => {
                let maps = [zero(params, "s")?, zero(params, "t")?, zero(params, "u")?, zero(params, "w")?];
                Dynamics::Invertible { maps, steps }
            }
            EvolutionSpec::Coupled { scheme, steps, dt } => Dynamics::Coupled {
                f: f(params)?,
                tau: params.constant(&format!("{path}.tau"), heads, dt.ln())?,
                spec: EvolutionSizes { heads, head_dim, scheme, steps },
            },
        };
        Ok(Some(Self { dynamics, heads }))
    }

    /// qkv `(B, T, 3 H d)`: queries, keys and values side by side -> the same, evolved. Every position evolves by itself.
    pub fn evolve(&self, qkv: &Tensor) -> Result<Tensor> {
        let through = |[f1, f2]: &[Tensor; 2], x: &Tensor| mlp(x, f1, f2, Act::Silu);
        match &self.dynamics {
            Dynamics::Coupled { f: [f1, f2], tau, spec } => evolve(qkv, &Tensor::cat(&[f1, f2], 0)?, tau, *spec),
            Dynamics::QueryMlp(f) => self.by_head(qkv, |[q, k]| Ok([(&q + through(f, &q)?)?, k])),
            Dynamics::LinearMixing { a, b } => {
                self.by_head(qkv, |[q, k]| Ok([(&q + linear(&k, a)?)?, (&k + linear(&q, b)?)?]))
            }
            Dynamics::SharedMlp(f) => {
                self.by_head(qkv, |[q, k]| Ok([(&q + through(f, &k)?)?, (&k + through(f, &q)?)?]))
            }
            Dynamics::Invertible { maps: [s, t, u, w], steps } => {
                let affine = |x: &Tensor, by: &Tensor, scale: &Tensor, shift: &Tensor| -> Result<Tensor> {
                    (x * linear(by, scale)?.exp()?)? + linear(by, shift)?
                };
                let step = |[q, k]: [Tensor; 2]| -> Result<[Tensor; 2]> {
                    let q = affine(&q, &k, s, t)?;
                    let k = affine(&k, &q, u, w)?;
                    Ok([q, k])
                };
                self.by_head(qkv, |pair| (0..*steps).try_fold(pair, |pair, _| step(pair)))
            }
        }
    }

    /// The inverse of [`Evolution::evolve`]. Errors: an evolution that is not an invertible coupling.
    pub fn invert(&self, qkv: &Tensor) -> Result<Tensor> {
        let Dynamics::Invertible { maps: [s, t, u, w], steps } = &self.dynamics else {
            bail!("only the invertible coupling has an inverse in closed form")
        };
        let affine = |x: &Tensor, by: &Tensor, scale: &Tensor, shift: &Tensor| -> Result<Tensor> {
            (x - linear(by, shift)?)? * linear(by, scale)?.neg()?.exp()?
        };
        let step = |[q, k]: [Tensor; 2]| -> Result<[Tensor; 2]> {
            let k = affine(&k, &q, u, w)?;
            let q = affine(&q, &k, s, t)?;
            Ok([q, k])
        };
        self.by_head(qkv, |pair| (0..*steps).try_fold(pair, |pair, _| step(pair)))
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
            Dynamics::Coupled { f: [f1, f2], tau, spec } => Some((*spec, [f1, f2, tau])),
            _ => None,
        }
    }
}
