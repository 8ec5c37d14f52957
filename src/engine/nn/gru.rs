//! A bidirectional gated recurrent unit (Cho et al. 2014) with PyTorch's equations and names of weights.

use candle_core::{Result, Tensor};

use super::{Params, fused::linear::linear_biased};

/// A direction; the rows of each weight hold the gates r, z and n in this order.
#[derive(Debug, Clone)]
struct Direction {
    weight_ih: Tensor, // (3H, E)
    weight_hh: Tensor, // (3H, H)
    bias_ih: Tensor,   // (3H)
    bias_hh: Tensor,   // (3H)
}

/// A layer that reads from left to right and from right to left.
#[derive(Debug, Clone)]
pub struct BiGru {
    hidden: usize,
    directions: [Direction; 2],
}

impl BiGru {
    /// Weights are normal with the variance of PyTorch's uniform ones, 1 / (3 H).
    pub fn new(params: &mut Params, path: &str, inputs: usize, hidden: usize) -> Result<Self> {
        let std = 1.0 / (3.0 * hidden as f64).sqrt();
        let mut direction = |suffix: &str| {
            let mut weight =
                |name: &str, shape: &[usize]| params.normal(&format!("{path}.{name}_l0{suffix}"), shape, std);
            Ok::<_, candle_core::Error>(Direction {
                weight_ih: weight("weight_ih", &[3 * hidden, inputs])?,
                weight_hh: weight("weight_hh", &[3 * hidden, hidden])?,
                bias_ih: weight("bias_ih", &[3 * hidden])?,
                bias_hh: weight("bias_hh", &[3 * hidden])?,
            })
        };
        Ok(Self { hidden, directions: [direction("")?, direction("_reverse")?] })
    }

    /// x `(B, T, E)` -> `(B, T, 2H)`. Where `counts` `(B, T, 1)` is 0 the state stays as it was, so that what fills a row
    /// up does not count; elsewhere it is 1.
    pub fn forward(&self, x: &Tensor, counts: &Tensor) -> Result<Tensor> {
        let [forward, backward] = &self.directions;
        let read = |d: &Direction, from_right: bool| d.read(x, counts, self.hidden, from_right);
        Tensor::cat(&[read(forward, false)?, read(backward, true)?], 2)
    }
}

impl Direction {
    /// The state after each position, `(B, T, H)`.
    fn read(&self, x: &Tensor, counts: &Tensor, hidden: usize, from_right: bool) -> Result<Tensor> {
        let (b, t, _) = x.dims3()?;
        let inputs = linear_biased(x, &self.weight_ih, &self.bias_ih)?; // (B, T, 3H)
        let mut h = Tensor::zeros((b, hidden), x.dtype(), x.device())?;
        let mut states = Vec::with_capacity(t);
        for step in 0..t {
            let at = if from_right { t - 1 - step } else { step };
            let new = self.cell(&inputs.narrow(1, at, 1)?.squeeze(1)?, &h, hidden)?;
            let counted = counts.narrow(1, at, 1)?.squeeze(1)?; // (B, 1)
            h = (&h + (new - &h)?.broadcast_mul(&counted)?)?;
            states.push(h.unsqueeze(1)?);
        }
        if from_right {
            states.reverse();
        }
        Tensor::cat(&states, 1)
    }

    /// h' = (1 - z) n + z h, with n = tanh(W_in x + b_in + r (W_hn h + b_hn)).
    fn cell(&self, input: &Tensor, h: &Tensor, hidden: usize) -> Result<Tensor> {
        let recurrent = linear_biased(h, &self.weight_hh, &self.bias_hh)?; // (B, 3H)
        let gates = (input.narrow(1, 0, 2 * hidden)? + recurrent.narrow(1, 0, 2 * hidden)?)?;
        // the logistic function: candle's tanh has a gradient and keeps large arguments finite
        let gates = (gates * 0.5)?.tanh()?.affine(0.5, 0.5)?; // (B, 2H)
        let (r, z) = (gates.narrow(1, 0, hidden)?, gates.narrow(1, hidden, hidden)?);
        let n = (input.narrow(1, 2 * hidden, hidden)? + (r * recurrent.narrow(1, 2 * hidden, hidden)?)?)?.tanh()?;
        &n + (z * (h - &n)?)?
    }
}
