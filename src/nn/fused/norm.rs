//! Root-mean-square and layer normalisation over the last axis.

use candle_core::{CpuStorage, CustomOp2, CustomOp3, D, Layout, Result, Shape, Tensor};

use super::{
    matrix::{self, ROWS, filled, total},
    pool,
};

pub(super) mod rows;

/// x / sqrt(mean(x^2) + eps) * weight. x `(.., D)`, weight `(D)`.
pub fn rms_norm(x: &Tensor, weight: &Tensor, eps: f64) -> Result<Tensor> {
    let x = x.contiguous()?;
    if !matrix::readable(&[&x, weight]) {
        return rms_norm_reference(&x, weight, eps);
    }
    x.apply_op2(weight, RmsNorm { eps: eps as f32 })
}

pub fn rms_norm_reference(x: &Tensor, weight: &Tensor, eps: f64) -> Result<Tensor> {
    let ms = x.sqr()?.mean_keepdim(D::Minus1)?;
    x.broadcast_div(&(ms + eps)?.sqrt()?)?.broadcast_mul(weight)
}

/// (x - mean) / sqrt(var + eps) [* weight + bias], biased variance. x `(.., D)`.
pub fn layer_norm(x: &Tensor, weight: Option<&Tensor>, bias: Option<&Tensor>, eps: f64) -> Result<Tensor> {
    let x = x.contiguous()?;
    let d = x.dim(D::Minus1)?;
    let constant = |t: Option<&Tensor>, value: f32| match t {
        Some(t) => Ok(t.clone()),
        None => Tensor::full(value, d, x.device())?.contiguous(),
    };
    let (w, b) = (constant(weight, 1.0)?, constant(bias, 0.0)?);
    if !matrix::readable(&[&x, &w, &b]) {
        return layer_norm_reference(&x, weight, bias, eps);
    }
    x.apply_op3(&w, &b, LayerNorm { eps: eps as f32 })
}

pub fn layer_norm_reference(x: &Tensor, weight: Option<&Tensor>, bias: Option<&Tensor>, eps: f64) -> Result<Tensor> {
    let centred = x.broadcast_sub(&x.mean_keepdim(D::Minus1)?)?;
    let var = centred.sqr()?.mean_keepdim(D::Minus1)?;
    let mut y = centred.broadcast_div(&(var + eps)?.sqrt()?)?;
    if let Some(w) = weight {
        y = y.broadcast_mul(w)?;
    }
    if let Some(b) = bias {
        y = y.broadcast_add(b)?;
    }
    Ok(y)
}

fn width(x: &Shape, w: &Shape) -> Result<usize> {
    let d = w.dims1()?;
    if x.dims().last() != Some(&d) {
        candle_core::bail!("a norm over {d} channels is given {x:?}");
    }
    Ok(d)
}

struct RmsNorm {
    eps: f32,
}

impl CustomOp2 for RmsNorm {
    fn name(&self) -> &'static str {
        "rms-norm"
    }

    fn cpu_fwd(&self, x: &CpuStorage, lx: &Layout, w: &CpuStorage, lw: &Layout) -> Result<(CpuStorage, Shape)> {
        let d = width(lx.shape(), lw.shape())?;
        let (x, w) = (matrix::values(x, lx)?, matrix::values(w, lw)?);
        let y = filled(x.len(), |y| {
            pool::run_on(y, ROWS * d, |i, y| rows::rms_norm(y, &x[i * ROWS * d..], w, self.eps));
        });
        Ok((CpuStorage::F32(y), lx.shape().clone()))
    }

    fn bwd(&self, x: &Tensor, w: &Tensor, _: &Tensor, grad: &Tensor) -> Result<(Option<Tensor>, Option<Tensor>)> {
        let d = w.dims1()?;
        let (dx, dw) = matrix::read(grad, |g| {
            matrix::read(x, |x| {
                matrix::read(w, |w| {
                    let mut partial = vec![0f32; x.len().div_ceil(ROWS * d) * d];
                    let dx = filled(x.len(), |dx| {
                        pool::run_on2((dx, ROWS * d), (&mut partial, d), |i, [dx, dw]| {
                            let at = i * ROWS * d;
                            rows::rms_norm_back([dx, dw], [&x[at..], &g[at..], w], self.eps);
                        });
                    });
                    Ok((dx, total(&partial, d)))
                })
            })
        })?;
        Ok((Some(Tensor::from_vec(dx, x.shape(), x.device())?), Some(Tensor::from_vec(dw, d, w.device())?)))
    }
}

struct LayerNorm {
    eps: f32,
}

impl CustomOp3 for LayerNorm {
    fn name(&self) -> &'static str {
        "layer-norm"
    }

    fn cpu_fwd(
        &self,
        x: &CpuStorage,
        lx: &Layout,
        w: &CpuStorage,
        lw: &Layout,
        b: &CpuStorage,
        lb: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let d = width(lx.shape(), lw.shape())?;
        width(lx.shape(), lb.shape())?;
        let (x, w, b) = (matrix::values(x, lx)?, matrix::values(w, lw)?, matrix::values(b, lb)?);
        let y = filled(x.len(), |y| {
            pool::run_on(y, ROWS * d, |i, y| rows::layer_norm(y, [&x[i * ROWS * d..], w, b], self.eps));
        });
        Ok((CpuStorage::F32(y), lx.shape().clone()))
    }

    fn bwd(
        &self,
        x: &Tensor,
        w: &Tensor,
        b: &Tensor,
        _: &Tensor,
        grad: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>, Option<Tensor>)> {
        let d = w.dims1()?;
        let (dx, dw, db) = matrix::read(grad, |g| {
            matrix::read(x, |x| {
                matrix::read(w, |w| {
                    let mut dw = vec![0f32; x.len().div_ceil(ROWS * d) * d];
                    let mut db = dw.clone();
                    let dx = filled(x.len(), |dx| {
                        pool::run_on3((dx, ROWS * d), (&mut dw, d), (&mut db, d), |i, out| {
                            let at = i * ROWS * d;
                            rows::layer_norm_back(out, [&x[at..], &g[at..], w], self.eps);
                        });
                    });
                    Ok((dx, total(&dw, d), total(&db, d)))
                })
            })
        })?;
        let made = |v: Vec<f32>, like: &Tensor| Tensor::from_vec(v, like.shape(), like.device());
        Ok((Some(made(dx, x)?), Some(made(dw, w)?), Some(made(db, b)?)))
    }
}
