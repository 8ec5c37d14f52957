//! Two-layer MLPs: GELU (erf), and gated with SiLU or GELU.

use candle_core::{Result, Tensor, bail};

use super::{linear, matrix};

pub(super) mod activation;
pub(super) mod fused;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// x Phi(x), with the error function.
    Gelu,
    Silu,
}

impl Act {
    pub fn apply(self, x: &Tensor) -> Result<Tensor> {
        match self {
            Act::Gelu => x.gelu_erf(),
            Act::Silu => x.silu(),
        }
    }
}

/// down(act(up(x))). x `(.., D)`, up `(F, D)`, down `(O, F)` -> `(.., O)`.
pub fn mlp(x: &Tensor, up: &Tensor, down: &Tensor, act: Act) -> Result<Tensor> {
    let x = x.contiguous()?;
    if !matrix::readable(&[&x, up, down]) {
        return mlp_reference(&x, up, down, act);
    }
    fused::apply(&x, up, down, fused::Kind { act, gated: false })
}

pub fn mlp_reference(x: &Tensor, up: &Tensor, down: &Tensor, act: Act) -> Result<Tensor> {
    linear::reference(&act.apply(&linear::reference(x, up)?)?, down)
}

/// down(act(gate(x)) * up(x)). x `(.., D)`, gate above up `(2F, D)`, down `(O, F)` -> `(.., O)`.
pub fn gated(x: &Tensor, gate_up: &Tensor, down: &Tensor, act: Act) -> Result<Tensor> {
    let x = x.contiguous()?;
    if !matrix::readable(&[&x, gate_up, down]) {
        return gated_reference(&x, gate_up, down, act);
    }
    fused::apply(&x, gate_up, down, fused::Kind { act, gated: true })
}

pub fn gated_reference(x: &Tensor, gate_up: &Tensor, down: &Tensor, act: Act) -> Result<Tensor> {
    let f = gate_up.dim(0)? / 2;
    let gate = linear::reference(x, &gate_up.narrow(0, 0, f)?)?;
    let up = linear::reference(x, &gate_up.narrow(0, f, f)?)?;
    linear::reference(&glu(&gate, &up, act)?, down)
}

/// Weights of a two-layer MLP with biases: up `(F, D)`, its bias `(F)`, down `(O, F)`, its bias `(O)`.
#[derive(Debug, Clone)]
pub struct Biased {
    pub up: Tensor,
    pub up_bias: Tensor,
    pub down: Tensor,
    pub down_bias: Tensor,
}

/// down(act(up(x) + up_bias)) + down_bias. x `(.., D)` -> `(.., O)`. In one operation where nothing asks for
/// gradients: a way back takes at most three tensors (`layer` takes all of its weights as one).
pub fn biased(x: &Tensor, w: &Biased, act: Act) -> Result<Tensor> {
    let x = x.contiguous()?;
    let weights = [&w.up, &w.up_bias, &w.down, &w.down_bias];
    if !matrix::readable(&[&[&x], &weights[..]].concat()) || x.track_op() || weights.iter().any(|w| w.track_op()) {
        return biased_reference(&x, w, act);
    }
    let pass = fused::Pass::new(fused::Kind { act, gated: false }, w.up.shape(), w.down.shape())?;
    let [d, f, o] = pass.sizes;
    if w.up_bias.dims1()? != f || w.down_bias.dims1()? != o {
        bail!("an MLP of {f} units and {o} outputs has biases {:?} and {:?}", w.up_bias.shape(), w.down_bias.shape());
    }
    let shape = linear::widened(x.shape(), d, o)?;
    let y = matrix::read(&x, |x| {
        matrix::read_all(&weights, |[up, up_bias, down, down_bias]| {
            let weights = fused::Weights { up, up_bias: Some(up_bias), down, down_bias: Some(down_bias) };
            let n = x.len() / d;
            Ok(matrix::filled(n * o, |y| pass.forward(x, &pass.maps(weights, n), None, &mut [], y)))
        })
    })?;
    Tensor::from_vec(y, shape, x.device())
}

pub fn biased_reference(x: &Tensor, w: &Biased, act: Act) -> Result<Tensor> {
    let inner = act.apply(&linear::biased_reference(x, &w.up, &w.up_bias)?)?;
    linear::biased_reference(&inner, &w.down, &w.down_bias)
}

/// act(a) * b, elementwise: the gate of a GLU.
pub fn glu(a: &Tensor, b: &Tensor, act: Act) -> Result<Tensor> {
    act.apply(a)? * b
}
