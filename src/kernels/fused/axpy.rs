//! y + h k with a constant h, as in BLAS: the step of an ODE solver.

use candle_core::{CpuStorage, CustomOp2, Layout, Result, Shape, Tensor, bail};

use super::storage;
use crate::{
    arch::arch,
    buffers::build_vec,
    threads::{self, CHUNK},
};

/// y, k of one shape -> y + h k; h gets no gradient.
pub fn axpy(y: &Tensor, k: &Tensor, h: f64) -> Result<Tensor> {
    let (y, k) = (y.contiguous()?, k.contiguous()?);
    if !storage::readable(&[&y, &k]) {
        return reference(&y, &k, h);
    }
    y.apply_op2(&k, Axpy(h as f32))
}

/// The reference form in plain candle, with the arguments of [`axpy`].
pub fn reference(y: &Tensor, k: &Tensor, h: f64) -> Result<Tensor> {
    y + (k * h)?
}

struct Axpy(f32);

impl CustomOp2 for Axpy {
    fn name(&self) -> &'static str {
        "axpy"
    }

    fn cpu_fwd(&self, y: &CpuStorage, ly: &Layout, k: &CpuStorage, lk: &Layout) -> Result<(CpuStorage, Shape)> {
        if ly.shape() != lk.shape() {
            bail!("a state of shape {:?} cannot move along a slope of shape {:?}", ly.shape(), lk.shape());
        }
        let (y, k, h) = (storage::values(y, ly)?, storage::values(k, lk)?, self.0);
        let out = build_vec(y.len(), |out| {
            threads::run_chunks(out, CHUNK, |i, out| {
                let (y, k) = (&y[i * CHUNK..], &k[i * CHUNK..]);
                arch().dispatch(|| out.iter_mut().zip(y).zip(k).for_each(|((out, y), k)| *out = y + h * k));
            });
        });
        Ok((CpuStorage::F32(out), ly.shape().clone()))
    }

    fn bwd(&self, _: &Tensor, k: &Tensor, _: &Tensor, grad: &Tensor) -> Result<(Option<Tensor>, Option<Tensor>)> {
        let dk = storage::read(grad, |g| {
            Ok(build_vec(g.len(), |dk| {
                threads::run_chunks(dk, CHUNK, |i, dk| {
                    let g = &g[i * CHUNK..];
                    arch().dispatch(|| dk.iter_mut().zip(g).for_each(|(dk, g)| *dk = self.0 * g));
                });
            }))
        })?;
        Ok((Some(grad.clone()), Some(Tensor::from_vec(dk, k.shape(), k.device())?)))
    }
}
