//! The MLP as a part of a block: what every variant offers, and the two variants there are.

use candle_core::{Result, Tensor};

use super::{
    Params,
    fused::mlp::{self, Act, BiasedWeights},
    layers::{Affine, input_proj, residual_out_proj},
};

/// A map of each position's normalised state to what is added to the residual stream.
pub trait Mlp: std::fmt::Debug + Send + Sync {
    /// x `(.., D)` -> `(.., D)`
    fn forward(&self, x: &Tensor) -> Result<Tensor>;

    /// The inputs of a block in one operation for this MLP; `None` for a variant without such an operation.
    fn fused(&self) -> Option<FusedMlp<'_>> {
        None
    }
}

/// The MLP weights and activation in the form that [`fused::layer`](super::fused::layer) takes.
pub struct FusedMlp<'a> {
    /// The activation function.
    pub act: Act,
    /// True if the MLP is gated (GLU).
    pub gated: bool,
    /// Width of the hidden layer.
    pub hidden: usize,
    /// True if the linear maps have biases.
    pub has_biases: bool,
    /// Weights in the order of [`LayerSpec`](super::fused::layer::LayerSpec).
    pub weights: Vec<&'a Tensor>,
}

/// The kind of MLP without biases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MlpKind {
    /// down(act(up(x)))
    Plain(Act),
    /// down(act(gate(x)) * up(x))
    Gated(Act),
}

/// A two-layer MLP, plain or gated, no bias.
#[derive(Debug, Clone)]
pub struct UnbiasedMlp {
    gate: Option<Tensor>, // (F, D)
    up: Tensor,           // (F, D)
    down: Tensor,         // (D, F)
    act: Act,
    hidden: usize,
}

impl UnbiasedMlp {
    /// Parameters `<path>.{gate,up,down}.weight`; only a gated MLP has a gate. `writers`: the number of times that a
    /// forward pass adds to the residual stream.
    pub fn new(
        params: &mut Params,
        path: &str,
        (d, hidden): (usize, usize),
        kind: MlpKind,
        writers: usize,
    ) -> Result<Self> {
        let (act, gated) = match kind {
            MlpKind::Plain(act) => (act, false),
            MlpKind::Gated(act) => (act, true),
        };
        let gate = if gated { Some(input_proj(params, &format!("{path}.gate.weight"), hidden, d)?) } else { None };
        Ok(Self {
            gate,
            up: input_proj(params, &format!("{path}.up.weight"), hidden, d)?,
            down: residual_out_proj(params, &format!("{path}.down.weight"), (d, hidden), writers)?,
            act,
            hidden,
        })
    }
}

impl Mlp for UnbiasedMlp {
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        match &self.gate {
            None => mlp::mlp(x, &self.up, &self.down, self.act),
            Some(gate) => mlp::gated_mlp(x, &Tensor::cat(&[gate, &self.up], 0)?, &self.down, self.act),
        }
    }

    fn fused(&self) -> Option<FusedMlp<'_>> {
        Some(FusedMlp {
            act: self.act,
            gated: self.gate.is_some(),
            hidden: self.hidden,
            has_biases: false,
            weights: self.gate.iter().chain([&self.up, &self.down]).collect(),
        })
    }
}

/// down(gelu(up(x))) with biases, four times as wide inside.
#[derive(Debug, Clone)]
pub struct BiasedMlp {
    weights: BiasedWeights,
    hidden: usize,
}

impl BiasedMlp {
    /// Parameters `<path>.{up,down}.{weight,bias}`. `writers` as of [`UnbiasedMlp::new`].
    pub fn new(params: &mut Params, path: &str, d: usize, writers: usize) -> Result<Self> {
        let hidden = 4 * d;
        let up = Affine::input_proj(params, &format!("{path}.up"), hidden, d)?;
        let down = Affine::residual_out_proj(params, &format!("{path}.down"), (d, hidden), writers)?;
        let weights = BiasedWeights { up: up.weight, up_bias: up.bias, down: down.weight, down_bias: down.bias };
        Ok(Self { weights, hidden })
    }
}

impl Mlp for BiasedMlp {
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        mlp::biased_mlp(x, &self.weights, Act::Gelu)
    }

    fn fused(&self) -> Option<FusedMlp<'_>> {
        let BiasedWeights { up, up_bias, down, down_bias } = &self.weights;
        Some(FusedMlp {
            act: Act::Gelu,
            gated: false,
            hidden: self.hidden,
            has_biases: true,
            weights: vec![up, up_bias, down, down_bias],
        })
    }
}
