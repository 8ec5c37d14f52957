//! The three exponential moving averages of a block's input.

use super::spec::{COEFFICIENTS, TraceGate};
use crate::{
    models::{capabilities::TraceBlocks, prelude::*},
    nn::fused::{ema::ema, linear::linear_biased},
};

/// h_t = (1 - a) h_{t-1} + a x_t, once for each coefficient, fast to slow.
#[derive(Debug, Clone)]
pub(super) struct Traces {
    rates: [Rate; 3],
}

#[derive(Debug, Clone)]
enum Rate {
    Fixed(Tensor),   // (D)
    Learned(Tensor), // logit (D)
    InputDependent { weight: Tensor, bias: Tensor },
}

impl Traces {
    /// Learned ones begin at the fixed coefficients. Parameters `<path>.rate_{fast,medium,slow}.{weight,bias}`, as far as
    /// the gate has them.
    pub fn new(params: &mut Params, path: &str, d_model: usize, gate: TraceGate) -> Result<Self> {
        let mut rate = |name: &str, a: f64| -> Result<Rate> {
            let logit = (a / (1.0 - a)).ln();
            let bias = format!("{path}.rate_{name}.bias");
            Ok(match gate {
                TraceGate::Fixed => Rate::Fixed(Tensor::full(a, d_model, params.device())?.to_dtype(params.dtype())?),
                TraceGate::Learned => Rate::Learned(params.constant(&bias, d_model, logit)?),
                TraceGate::InputDependent => Rate::InputDependent {
                    weight: params.zeros(&format!("{path}.rate_{name}.weight"), (d_model, d_model))?,
                    bias: params.constant(&bias, d_model, logit)?,
                },
            })
        };
        let [fast, medium, slow] = COEFFICIENTS;
        Ok(Self { rates: [rate("fast", fast)?, rate("medium", medium)?, rate("slow", slow)?] })
    }

    /// x `(B, T, D)`, after what was read before: the last row of each trace `(B, D)`, if there is one -> the traces
    /// `(B, T, D)`. Offers the coefficients.
    pub fn forward(&self, x: &Tensor, before: Option<&[Tensor; 3]>, path: &str, tap: &mut Tap) -> Result<[Tensor; 3]> {
        let mut trace = |i: usize| {
            let a = match &self.rates[i] {
                Rate::Fixed(a) => a.clone(),
                Rate::Learned(logit) => candle_nn::ops::sigmoid(logit)?,
                Rate::InputDependent { weight, bias } => candle_nn::ops::sigmoid(&linear_biased(x, weight, bias)?)?,
            };
            tap.offer(&format!("{path}.rate_{}", TraceBlocks::TRACES[i]), || Ok(a.clone()))?;
            ema(x, &a, before.map(|before| &before[i]))
        };
        Ok([trace(0)?, trace(1)?, trace(2)?])
    }
}
