//! The evolution of queries and keys between their projection and their scores (arXiv 2604.01683): none, a residual MLP
//! on the queries alone, or n steps of the coupled system dq/dt = k, dk/dt = f(q).

use candle_core::{D, Result, Tensor};

use crate::nn::{
    Params,
    fused::{
        evolution::{EvolutionSizes, Scheme, evolve},
        mlp::{Act, mlp},
    },
    layers::input_proj,
};

/// The evolution of queries and keys before they are scored.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum EvolutionSpec {
    /// q + f(q); keys stay: the same parameters without coupling.
    QueryMlp,
    /// Coupled steps, their length exp(tau) of each head beginning at `dt`. None at all is the identity.
    Coupled {
        /// The integrator.
        scheme: Scheme,
        /// Number of steps.
        steps: usize,
        /// Initial length of a step.
        dt: f64,
    },
}

/// An evolution with its parameters. f is an MLP d -> d -> d with SiLU and no biases, d being a head's width, and all
/// heads share it.
#[derive(Debug, Clone)]
pub struct Evolution {
    f1: Tensor, // (d, d)
    f2: Tensor, // (d, d)
    dynamics: Dynamics,
    heads: usize,
}

#[derive(Debug, Clone)]
enum Dynamics {
    QueryMlp,
    Coupled { tau: Tensor, spec: EvolutionSizes }, // tau (H)
}

impl Evolution {
    /// Parameters `<path>.{f1,f2}.weight` and, of coupled steps, `<path>.tau`. `None` where nothing would change.
    pub fn new(
        params: &mut Params,
        path: &str,
        (heads, head_dim): (usize, usize),
        spec: EvolutionSpec,
    ) -> Result<Option<Self>> {
        if matches!(spec, EvolutionSpec::Coupled { steps: 0, .. }) {
            return Ok(None);
        }
        let f1 = input_proj(params, &format!("{path}.f1.weight"), head_dim, head_dim)?;
        let f2 = input_proj(params, &format!("{path}.f2.weight"), head_dim, head_dim)?;
        let dynamics = match spec {
            EvolutionSpec::QueryMlp => Dynamics::QueryMlp,
            EvolutionSpec::Coupled { scheme, steps, dt } => Dynamics::Coupled {
                tau: params.constant(&format!("{path}.tau"), heads, dt.ln())?,
                spec: EvolutionSizes { heads, head_dim, scheme, steps },
            },
        };
        Ok(Some(Self { f1, f2, dynamics, heads }))
    }

    /// qkv `(B, T, 3 H d)`: queries, keys and values side by side -> the same, evolved. Every position evolves by itself.
    pub fn evolve(&self, qkv: &Tensor) -> Result<Tensor> {
        match &self.dynamics {
            Dynamics::QueryMlp => {
                let (b, t, wide) = qkv.dims3()?;
                let q = qkv.narrow(D::Minus1, 0, wide / 3)?.contiguous()?;
                let by_head = q.reshape((b, t * self.heads, wide / 3 / self.heads))?; // (B, T H, d)
                let moved = (&by_head + mlp(&by_head, &self.f1, &self.f2, Act::Silu)?)?;
                let rest = qkv.narrow(D::Minus1, wide / 3, 2 * wide / 3)?;
                Tensor::cat(&[&moved.reshape((b, t, wide / 3))?, &rest], D::Minus1)
            }
            Dynamics::Coupled { tau, spec } => evolve(qkv, &Tensor::cat(&[&self.f1, &self.f2], 0)?, tau, *spec),
        }
    }

    /// The parameters of coupled steps: their sizes, f's two weights `(d, d)`, and the logarithm of each head's step,
    /// tau `(H)`.
    pub fn coupled(&self) -> Option<(EvolutionSizes, [&Tensor; 3])> {
        match &self.dynamics {
            Dynamics::QueryMlp => None,
            Dynamics::Coupled { tau, spec } => Some((*spec, [&self.f1, &self.f2, tau])),
        }
    }
}
