//! y + h k with a constant h, as in BLAS: the step of an ODE solver.

use crate::{fused::prelude::*, threads::CHUNK};

/// y, k of one shape -> y + h k; h gets no gradient.
pub fn axpy(y: &Tensor, k: &Tensor, h: f64) -> Result<Tensor> {
    apply_fused([&y.contiguous()?, &k.contiguous()?], Axpy(h as f32), |[y, k]| reference(y, k, h))
}

/// The reference form in plain candle, with the arguments of [`axpy`].
pub fn reference(y: &Tensor, k: &Tensor, h: f64) -> Result<Tensor> {
    y + (k * h)?
}

struct Axpy(f32);

impl FusedOp<2> for Axpy {
    const NAME: &'static str = "axpy";

    fn forward(&self, [y, k]: [&[f32]; 2], [state, slope]: [&Shape; 2]) -> Result<(Vec<f32>, Shape)> {
        if state != slope {
            bail!("a state of shape {state:?} cannot move along a slope of shape {slope:?}");
        }
        let h = self.0;
        let out = threads::build_chunks(y.len(), CHUNK, |i, out| {
            let (y, k) = (&y[i * CHUNK..], &k[i * CHUNK..]);
            arch().dispatch(|| out.iter_mut().zip(y).zip(k).for_each(|((out, y), k)| *out = y + h * k));
        });
        Ok((out, state.clone()))
    }

    fn backward(&self, [_, k]: [&Tensor; 2], _: &Tensor, grad: &Tensor) -> Result<[Option<Tensor>; 2]> {
        let dk = storage::read(grad, |g| {
            Ok(threads::build_chunks(g.len(), CHUNK, |i, dk| {
                let g = &g[i * CHUNK..];
                arch().dispatch(|| dk.iter_mut().zip(g).for_each(|(dk, g)| *dk = self.0 * g));
            }))
        })?;
        Ok([Some(grad.clone()), Some(tensor_like(k, dk)?)])
    }
}
