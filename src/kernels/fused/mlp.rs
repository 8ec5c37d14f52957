//! Two-layer MLPs: plain and gated, with GELU (erf) or SiLU.

use super::linear;
use crate::fused::prelude::*;

pub(super) mod activation;
pub(super) mod cpu;

/// The activation function of an MLP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// x Phi(x), with the error function.
    Gelu,
    /// x sigmoid(x).
    Silu,
}

impl Act {
    /// Applies the function to each value, in plain candle.
    pub fn apply(self, x: &Tensor) -> Result<Tensor> {
        match self {
            Act::Gelu => x.gelu_erf(),
            Act::Silu => x.silu(),
        }
    }
}

/// down(act(up(x))). x `(.., D)`, up `(F, D)`, down `(O, F)` -> `(.., O)`.
pub fn mlp(x: &Tensor, up: &Tensor, down: &Tensor, act: Act) -> Result<Tensor> {
    let args = [&x.contiguous()?, up, down];
    let op = cpu::Mlp::new(cpu::MlpForm { act, gated: false }, args);
    apply_fused(args, op, |[x, up, down]| mlp_reference(x, up, down, act))
}

/// The reference form in plain candle, with the arguments of [`mlp`].
pub fn mlp_reference(x: &Tensor, up: &Tensor, down: &Tensor, act: Act) -> Result<Tensor> {
    linear::reference(&act.apply(&linear::reference(x, up)?)?, down)
}

/// down(act(gate(x)) * up(x)). x `(.., D)`, gate above up `(2F, D)`, down `(O, F)` -> `(.., O)`.
pub fn gated_mlp(x: &Tensor, gate_up: &Tensor, down: &Tensor, act: Act) -> Result<Tensor> {
    let args = [&x.contiguous()?, gate_up, down];
    let op = cpu::Mlp::new(cpu::MlpForm { act, gated: true }, args);
    apply_fused(args, op, |[x, gate_up, down]| gated_mlp_reference(x, gate_up, down, act))
}

/// The reference form in plain candle, with the arguments of [`gated_mlp`].
pub fn gated_mlp_reference(x: &Tensor, gate_up: &Tensor, down: &Tensor, act: Act) -> Result<Tensor> {
    let f = gate_up.dim(0)? / 2;
    let gate = linear::reference(x, &gate_up.narrow(0, 0, f)?)?;
    let up = linear::reference(x, &gate_up.narrow(0, f, f)?)?;
    linear::reference(&(act.apply(&gate)? * up)?, down)
}

/// Weights of a two-layer MLP with biases: up `(F, D)`, its bias `(F)`, down `(O, F)`, its bias `(O)`.
#[derive(Debug, Clone)]
pub struct BiasedWeights {
    /// First weight `(F, D)`.
    pub up: Tensor,
    /// First bias `(F)`.
    pub up_bias: Tensor,
    /// Second weight `(O, F)`.
    pub down: Tensor,
    /// Second bias `(O)`.
    pub down_bias: Tensor,
}

/// down(act(up(x) + up_bias)) + down_bias. x `(.., D)` -> `(.., O)`. One operation where no gradient is
/// needed; candle operations have at most three arguments, so a trained layer passes all its weights as one (`layer`).
pub fn biased_mlp(x: &Tensor, w: &BiasedWeights, act: Act) -> Result<Tensor> {
    let x = x.contiguous()?;
    let weights = [&w.up, &w.up_bias, &w.down, &w.down_bias];
    if !storage::readable(&[&[&x], &weights[..]].concat()) || x.track_op() || weights.iter().any(|w| w.track_op()) {
        return biased_mlp_reference(&x, w, act);
    }
    let kernel = cpu::MlpKernel::new(cpu::MlpForm { act, gated: false }, w.up.shape(), w.down.shape())?;
    let [d, f, o] = kernel.sizes;
    if w.up_bias.dims1()? != f || w.down_bias.dims1()? != o {
        bail!("an MLP of {f} units and {o} outputs has biases {:?} and {:?}", w.up_bias.shape(), w.down_bias.shape());
    }
    let shape = linear::with_last_dim(x.shape(), d, o)?;
    let y = storage::read(&x, |x| {
        storage::read_all(&weights, |[up, up_bias, down, down_bias]| {
            let weights = cpu::Weights { up, up_bias: Some(up_bias), down, down_bias: Some(down_bias) };
            let n = x.len() / d;
            Ok(build_vec(n * o, |y| kernel.forward(x, &kernel.maps(weights, n), None, &mut [], y)))
        })
    })?;
    Tensor::from_vec(y, shape, x.device())
}

/// The reference form in plain candle, with the arguments of [`biased_mlp`].
pub fn biased_mlp_reference(x: &Tensor, w: &BiasedWeights, act: Act) -> Result<Tensor> {
    let inner = act.apply(&linear::linear_biased_reference(x, &w.up, &w.up_bias)?)?;
    linear::linear_biased_reference(&inner, &w.down, &w.down_bias)
}
