//! The state that a layer reads, mixed from what the layers before it gave: added with the same weight (the residual stream),
//! with learned weights, or by attention over layers (Kimi Team 2026, Attention Residuals).

use candle_core::{D, Result, Tensor};
use serde::{Deserialize, Serialize};

use super::{Params, layers::EPS};

/// The weights of the sum v_0 + v_1 + .. that a layer reads, v_0 the embedding, v_i what layer i added to its own input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResidualMixing {
    /// All weights are 1: the residual stream.
    #[default]
    Fixed,
    /// One trained number for each layer that reads and each that is read, 1 at the start.
    Learned,
    /// softmax over i of q . v_i / rms(v_i), token by token, with one trained query q for each layer that reads, 0 at the start:
    /// the mean of all before.
    Attention,
}

impl ResidualMixing {
    /// Weights that the layer reading v_0 .. v_(sources - 1) trains. There is nothing to mix of one.
    pub fn parameters(self, sources: usize, d_model: usize) -> usize {
        match self {
            _ if sources < 2 => 0,
            Self::Fixed => 0,
            Self::Learned => sources,
            Self::Attention => d_model,
        }
    }
}

/// The trained weights of one layer that reads.
#[derive(Debug, Clone)]
pub enum Mixer {
    /// One weight for each of the N sources, `(N)`.
    Learned(Tensor),
    /// The query of attention over the sources, `(D)`.
    Attention(Tensor),
}

impl Mixer {
    /// Parameter `<path>.weight` or `<path>.query`; `None` where nothing is trained.
    pub fn new(
        p: &mut Params,
        path: &str,
        kind: ResidualMixing,
        sources: usize,
        d_model: usize,
    ) -> Result<Option<Self>> {
        Ok(match kind {
            _ if kind.parameters(sources, d_model) == 0 => None,
            ResidualMixing::Attention => Some(Self::Attention(p.zeros(&format!("{path}.query"), d_model)?)),
            _ => Some(Self::Learned(p.ones(&format!("{path}.weight"), sources)?)),
        })
    }

    /// The mixed state `(B, T, D)` of N such sources.
    pub fn mix(&self, sources: &[Tensor]) -> Result<Tensor> {
        let all = Tensor::stack(sources, 0)?; // (N, B, T, D)
        all.broadcast_mul(&self.weights(&all)?)?.sum(0)
    }

    /// The weights of the N sources `all` `(N, B, T, D)`: `(N, 1, 1, 1)`, or `(N, B, T, 1)` if tokens differ.
    fn weights(&self, all: &Tensor) -> Result<Tensor> {
        match self {
            Self::Learned(weight) => weight.reshape((weight.dim(0)?, 1, 1, 1)),
            Self::Attention(query) => {
                let rms = (all.sqr()?.mean_keepdim(D::Minus1)? + EPS)?.sqrt()?; // (N, B, T, 1)
                let scores = (all.broadcast_mul(query)?.sum_keepdim(D::Minus1)? / rms)?;
                let weights = scores.broadcast_sub(&scores.max_keepdim(0)?.detach())?.exp()?;
                weights.broadcast_div(&weights.sum_keepdim(0)?)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use candle_core::{DType, Device};

    use super::*;
    use crate::nn::host;

    fn sources() -> Result<Vec<Tensor>> {
        let draw = |i: u64| Params::new(i, &Device::Cpu, DType::F64).normal("v", (2, 3, 4), 1.0);
        (1..=3).map(draw).collect()
    }

    fn mixer(kind: ResidualMixing) -> Result<Mixer> {
        let mut params = Params::new(1, &Device::Cpu, DType::F64);
        Ok(Mixer::new(&mut params, "residual.0", kind, 3, 4)?.expect("something to train"))
    }

    fn off(a: &Tensor, b: &Tensor) -> Result<f64> {
        Ok(host::to_f64(&(a - b)?.abs()?)?.into_iter().fold(0.0, f64::max))
    }

    #[test]
    fn at_the_start_learned_weights_add_and_attention_averages() -> Result<()> {
        let all = sources()?;
        let sum = ((&all[0] + &all[1])? + &all[2])?;
        assert!(off(&mixer(ResidualMixing::Learned)?.mix(&all)?, &sum)? < 1e-12);
        assert!(off(&mixer(ResidualMixing::Attention)?.mix(&all)?, &(sum / 3.0)?)? < 1e-12);
        Ok(())
    }
}
