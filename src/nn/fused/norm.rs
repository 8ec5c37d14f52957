//! Root-mean-square and layer normalisation over the last axis.

use candle_core::{CpuStorage, CustomOp2, CustomOp3, D, Layout, Result, Shape, Tensor};

use super::{
    matrix::{self, ROWS, filled, total},
    pool,
};

mod rows;

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

/// Which norm of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// With a weight.
    Rms,
    /// With a weight and a bias.
    Layer,
}

/// Norms of rows over slices.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rows {
    pub kind: Kind,
    pub eps: f32,
}

impl Rows {
    /// x, rows as wide as the weight, normalised; RMSNorm reads no bias.
    pub fn forward(self, x: &[f32], [weight, bias]: [&[f32]; 2]) -> Vec<f32> {
        let d = weight.len();
        filled(x.len(), |y| {
            pool::run_on(y, ROWS * d, |i, y| {
                let x = &x[i * ROWS * d..];
                rows::forward(self.kind, y, x, [weight, bias], self.eps);
            });
        })
    }

    /// dx <- the gradient of x, plus `rest`, from that of the result; returns those of the weight and of the bias (zero
    /// for RMSNorm). If there is room for it, y <- the result again.
    pub fn back(
        self,
        [dx, y]: [&mut [f32]; 2],
        [x, grad]: [&[f32]; 2],
        weights: [&[f32]; 2],
        rest: Option<&[f32]>,
    ) -> [Vec<f32>; 2] {
        let (d, n) = (weights[0].len(), dx.len());
        let size = ROWS * d;
        let mut dw = vec![0f32; n.div_ceil(size) * d];
        let mut db = dw.clone();
        let mut ys: Vec<&mut [f32]> = y.chunks_mut(size).collect();
        ys.resize_with(n.div_ceil(size), || &mut []);
        let places = dx.chunks_mut(size).zip(ys).zip(dw.chunks_mut(d).zip(db.chunks_mut(d)));
        pool::share(n.div_ceil(size), places.enumerate(), |(i, ((dx, y), (dw, db)))| {
            let at = i * size..i * size + dx.len();
            let rest = rest.map(|r| &r[at.clone()]);
            let given = rows::Given { x: &x[at.clone()], g: &grad[at], weights, rest };
            rows::back(self.kind, rows::Found { dx, y, dw, db }, given, self.eps);
        });
        [total(&dw, d), total(&db, d)]
    }

    /// As [`Rows::back`], dx first.
    fn gradients(self, given: [&[f32]; 2], weight: &[f32]) -> [Vec<f32>; 3] {
        let mut sums = [vec![], vec![]];
        let dx = filled(given[0].len(), |dx| sums = self.back([dx, &mut []], given, [weight, &[]], None));
        let [dw, db] = sums;
        [dx, dw, db]
    }
}

struct RmsNorm {
    eps: f32,
}

impl RmsNorm {
    fn rows(&self) -> Rows {
        Rows { kind: Kind::Rms, eps: self.eps }
    }
}

impl CustomOp2 for RmsNorm {
    fn name(&self) -> &'static str {
        "rms-norm"
    }

    fn cpu_fwd(&self, x: &CpuStorage, lx: &Layout, w: &CpuStorage, lw: &Layout) -> Result<(CpuStorage, Shape)> {
        width(lx.shape(), lw.shape())?;
        let y = self.rows().forward(matrix::values(x, lx)?, [matrix::values(w, lw)?, &[]]);
        Ok((CpuStorage::F32(y), lx.shape().clone()))
    }

    fn bwd(&self, x: &Tensor, w: &Tensor, _: &Tensor, grad: &Tensor) -> Result<(Option<Tensor>, Option<Tensor>)> {
        let [dx, dw, _] = matrix::read_all(&[x, grad, w], |[x, g, w]| Ok(self.rows().gradients([x, g], w)))?;
        let made = |v: Vec<f32>, like: &Tensor| Tensor::from_vec(v, like.shape(), like.device());
        Ok((Some(made(dx, x)?), Some(made(dw, w)?)))
    }
}

struct LayerNorm {
    eps: f32,
}

impl LayerNorm {
    fn rows(&self) -> Rows {
        Rows { kind: Kind::Layer, eps: self.eps }
    }
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
        width(lx.shape(), lw.shape())?;
        width(lx.shape(), lb.shape())?;
        let y = self.rows().forward(matrix::values(x, lx)?, [matrix::values(w, lw)?, matrix::values(b, lb)?]);
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
        let [dx, dw, db] = matrix::read_all(&[x, grad, w], |[x, g, w]| Ok(self.rows().gradients([x, g], w)))?;
        let made = |v: Vec<f32>, like: &Tensor| Tensor::from_vec(v, like.shape(), like.device());
        Ok((Some(made(dx, x)?), Some(made(dw, w)?), Some(made(db, b)?)))
    }
}
