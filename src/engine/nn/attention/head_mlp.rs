//! The MLP through which the queries and keys of each head evolve (arXiv 2604.01683).

use candle_core::{Result, Tensor};

use crate::nn::{
    Params,
    fused::mlp::{Act, mlp},
    layers::input_proj,
};

/// f, an MLP d -> d -> d with SiLU and no biases, d being a head's width. All heads of a layer share it.
#[derive(Debug, Clone)]
pub(super) struct HeadMlp {
    pub f1: Tensor, // (d, d)
    pub f2: Tensor, // (d, d)
}

impl HeadMlp {
    /// Parameters `<path>.{f1,f2}.weight`.
    pub fn new(params: &mut Params, path: &str, head_dim: usize) -> Result<Self> {
        let f1 = input_proj(params, &format!("{path}.f1.weight"), head_dim, head_dim)?;
        Ok(Self { f1, f2: input_proj(params, &format!("{path}.f2.weight"), head_dim, head_dim)? })
    }

    /// `(.., d)` -> `(.., d)`
    pub fn forward(&self, x: &Tensor) -> Result<Tensor> {
        mlp(x, &self.f1, &self.f2, Act::Silu)
    }
}
