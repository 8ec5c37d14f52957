//! y + h k, h a plain number: how a solver's step goes on.

use candle_core::{CpuStorage, CustomOp2, Layout, Result, Shape, Tensor, bail};
use pulp::Arch;

use super::{
    matrix::{self, filled},
    pool::{self, PIECE},
};

/// y, k of one shape -> y + h k.
pub fn advanced(y: &Tensor, k: &Tensor, h: f64) -> Result<Tensor> {
    let (y, k) = (y.contiguous()?, k.contiguous()?);
    if !matrix::readable(&[&y, &k]) {
        return reference(&y, &k, h);
    }
    y.apply_op2(&k, Advance(h as f32))
}

pub fn reference(y: &Tensor, k: &Tensor, h: f64) -> Result<Tensor> {
    y + (k * h)?
}

struct Advance(f32);

impl CustomOp2 for Advance {
    fn name(&self) -> &'static str {
        "advance"
    }

    fn cpu_fwd(&self, y: &CpuStorage, ly: &Layout, k: &CpuStorage, lk: &Layout) -> Result<(CpuStorage, Shape)> {
        if ly.shape() != lk.shape() {
            bail!("a state {:?} and its slope {:?}", ly.shape(), lk.shape());
        }
        let (y, k, h) = (matrix::values(y, ly)?, matrix::values(k, lk)?, self.0);
        let out = filled(y.len(), |out| {
            pool::run_on(out, PIECE, |i, out| {
                let (y, k) = (&y[i * PIECE..], &k[i * PIECE..]);
                Arch::new().dispatch(|| out.iter_mut().zip(y).zip(k).for_each(|((out, y), k)| *out = y + h * k));
            });
        });
        Ok((CpuStorage::F32(out), ly.shape().clone()))
    }

    fn bwd(&self, _: &Tensor, k: &Tensor, _: &Tensor, grad: &Tensor) -> Result<(Option<Tensor>, Option<Tensor>)> {
        let dk = matrix::read(grad, |g| {
            Ok(filled(g.len(), |dk| {
                pool::run_on(dk, PIECE, |i, dk| {
                    let g = &g[i * PIECE..];
                    Arch::new().dispatch(|| dk.iter_mut().zip(g).for_each(|(dk, g)| *dk = self.0 * g));
                });
            }))
        })?;
        Ok((Some(grad.clone()), Some(Tensor::from_vec(dk, k.shape(), k.device())?)))
    }
}
