//! Two-layer MLPs: GELU (erf), and gated with SiLU or GELU.

use candle_core::{Result, Tensor};

use super::linear;

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
    mlp_reference(x, up, down, act)
}

pub fn mlp_reference(x: &Tensor, up: &Tensor, down: &Tensor, act: Act) -> Result<Tensor> {
    linear::reference(&act.apply(&linear::reference(x, up)?)?, down)
}

/// act(a) * b, elementwise: the gate of a GLU.
pub fn glu(a: &Tensor, b: &Tensor, act: Act) -> Result<Tensor> {
    act.apply(a)? * b
}
