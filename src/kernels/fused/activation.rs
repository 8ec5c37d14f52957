//! GELU and SiLU as separate operations, for use without a linear map to fuse them with.

use std::sync::OnceLock;

use super::mlp::{Act, activation::activate};
use crate::{fused::prelude::*, threads::CHUNK};

/// Applies `act` to each value of x.
pub fn activation(x: &Tensor, act: Act) -> Result<Tensor> {
    apply_fused([&x.contiguous()?], Activate { act, slope: OnceLock::new() }, |[x]| reference(x, act))
}

/// The reference form in plain candle, with the arguments of [`activation`].
pub fn reference(x: &Tensor, act: Act) -> Result<Tensor> {
    act.apply(x)
}

struct Activate {
    act: Act,
    /// The derivative at every value, which comes with the value.
    slope: OnceLock<Vec<f32>>,
}

impl FusedOp<1> for Activate {
    const NAME: &'static str = "activation";

    fn forward(&self, [x]: [&[f32]; 1], [shape]: [&Shape; 1]) -> Result<(Vec<f32>, Shape)> {
        let mut y = x.to_vec();
        let slope = build_vec(y.len(), |slope| {
            threads::run_all_chunks([&mut y, slope], [CHUNK; 2], |_, [y, slope]| activate(self.act, y, slope));
        });
        let _ = self.slope.set(slope); // an operation's forward runs only once
        Ok((y, shape.clone()))
    }

    fn backward(&self, [x]: [&Tensor; 1], _: &Tensor, grad: &Tensor) -> Result<[Option<Tensor>; 1]> {
        let Some(slope) = self.slope.get() else { bail!("an activation's gradient was asked for before its value") };
        let dx = storage::read(grad, |grad| {
            Ok(threads::build_chunks(grad.len(), CHUNK, |i, dx| {
                let (slope, grad) = (&slope[i * CHUNK..], &grad[i * CHUNK..]);
                arch().dispatch(|| dx.iter_mut().zip(slope).zip(grad).for_each(|((dx, slope), g)| *dx = slope * g));
            }))
        })?;
        gradients_like([dx], [x])
    }
}
