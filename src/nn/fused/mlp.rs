//! Two-layer MLPs: GELU (erf), and gated with SiLU or GELU.

use candle_core::{Result, Tensor};

use super::{linear, matrix};

pub(super) mod activation;
mod fused;

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
    fused::apply(&x, up, down, fused::Kind { act, gated: false, biased: false })
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
    fused::apply(&x, gate_up, down, fused::Kind { act, gated: true, biased: false })
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

/// down(act(up(x) + up_bias)) + down_bias. x `(.., D)` -> `(.., O)`.
pub fn biased(x: &Tensor, w: &Biased, act: Act) -> Result<Tensor> {
    let x = x.contiguous()?;
    if !matrix::readable(&[&x, &w.up, &w.up_bias, &w.down, &w.down_bias]) {
        return biased_reference(&x, w, act);
    }
    let beside = |w: &Tensor, bias: &Tensor| Tensor::cat(&[w, &bias.unsqueeze(1)?], 1);
    let kind = fused::Kind { act, gated: false, biased: true };
    fused::apply(&x, &beside(&w.up, &w.up_bias)?, &beside(&w.down, &w.down_bias)?, kind)
}

pub fn biased_reference(x: &Tensor, w: &Biased, act: Act) -> Result<Tensor> {
    let inner = act.apply(&linear::biased_reference(x, &w.up, &w.up_bias)?)?;
    linear::biased_reference(&inner, &w.down, &w.down_bias)
}

/// act(a) * b, elementwise: the gate of a GLU.
pub fn glu(a: &Tensor, b: &Tensor, act: Act) -> Result<Tensor> {
    act.apply(a)? * b
}
