//! RMSNorm and LayerNorm over the last axis.

use crate::{
    fused::prelude::*,
    reduce::{TASK_ROWS, sum_rows},
};

mod rows;

/// x / sqrt(mean(x^2) + eps) * weight. x `(.., D)`, weight `(D)`.
pub fn rms_norm(x: &Tensor, weight: &Tensor, eps: f64) -> Result<Tensor> {
    let x = x.contiguous()?;
    #[cfg(feature = "cuda")]
    if crate::cuda::card([&x, weight]).is_some() {
        return crate::cuda::rms_norm::rms_norm(&x, weight, eps);
    }
    let norm = RowNorm { kind: NormKind::Rms, eps: eps as f32 };
    apply_fused([&x, weight], norm, |[x, weight]| rms_norm_reference(x, weight, eps))
}

/// The reference form in plain candle, with the arguments of [`rms_norm`].
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
    let norm = RowNorm { kind: NormKind::Layer, eps: eps as f32 };
    apply_fused([&x, &w, &b], norm, |[x, ..]| layer_norm_reference(x, weight, bias, eps))
}

/// The reference form in plain candle, with the arguments of [`layer_norm`].
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
        candle_core::bail!("a norm over {d} channels is given inputs {x:?}");
    }
    Ok(d)
}

/// The kind of norm of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NormKind {
    /// RMSNorm, with a weight.
    Rms,
    /// LayerNorm, with a weight and a bias.
    Layer,
}

/// Norms of rows over slices.
#[derive(Debug, Clone, Copy)]
pub(super) struct RowNorm {
    pub kind: NormKind,
    pub eps: f32,
}

impl RowNorm {
    /// The norm of x, whose rows are as wide as the weight; RMSNorm reads no bias.
    pub fn forward(self, x: &[f32], [weight, bias]: [&[f32]; 2]) -> Vec<f32> {
        let d = weight.len();
        build_vec(x.len(), |y| {
            threads::run_chunks(y, TASK_ROWS * d, |i, y| {
                let x = &x[i * TASK_ROWS * d..];
                rows::forward(self.kind, y, x, [weight, bias], self.eps);
            });
        })
    }

    /// Given the gradient of the result: dx = the gradient of x [+ residual]; returns those of the weight and of the bias
    /// (zero for RMSNorm). Unless it is empty, y gets the result again.
    pub fn backward(
        self,
        [dx, y]: [&mut [f32]; 2],
        [x, grad]: [&[f32]; 2],
        weights: [&[f32]; 2],
        residual: Option<&[f32]>,
    ) -> [Vec<f32>; 2] {
        let (d, n) = (weights[0].len(), dx.len());
        let size = TASK_ROWS * d;
        let mut dw = vec![0f32; n.div_ceil(size) * d];
        let mut db = dw.clone();
        let mut ys: Vec<&mut [f32]> = y.chunks_mut(size).collect();
        ys.resize_with(n.div_ceil(size), || &mut []);
        let outputs = dx.chunks_mut(size).zip(ys).zip(dw.chunks_mut(d).zip(db.chunks_mut(d)));
        threads::for_each(n.div_ceil(size), outputs.enumerate(), |(i, ((dx, y), (dw, db)))| {
            let at = i * size..i * size + dx.len();
            let residual = residual.map(|r| &r[at.clone()]);
            let inputs = rows::Inputs { x: &x[at.clone()], g: &grad[at], weights, residual };
            rows::backward(self.kind, rows::Outputs { dx, y, dw, db }, inputs, self.eps);
        });
        [sum_rows(&dw, d), sum_rows(&db, d)]
    }

    /// The gradients of x, weight and bias by [`RowNorm::backward`].
    fn gradients(self, inputs: [&[f32]; 2], weight: &[f32]) -> [Vec<f32>; 3] {
        let mut sums = [vec![], vec![]];
        let dx = build_vec(inputs[0].len(), |dx| sums = self.backward([dx, &mut []], inputs, [weight, &[]], None));
        let [dw, db] = sums;
        [dx, dw, db]
    }
}

impl FusedOp<2> for RowNorm {
    const NAME: &'static str = "rms-norm";

    fn forward(&self, [x, w]: [&[f32]; 2], [shape, weight]: [&Shape; 2]) -> Result<(Vec<f32>, Shape)> {
        width(shape, weight)?;
        Ok((RowNorm::forward(*self, x, [w, &[]]), shape.clone()))
    }

    fn backward(&self, [x, w]: [&Tensor; 2], _: &Tensor, grad: &Tensor) -> Result<[Option<Tensor>; 2]> {
        let [dx, dw, _] = storage::read_all(&[x, grad, w], |[x, g, w]| Ok(self.gradients([x, g], w)))?;
        gradients_like([dx, dw], [x, w])
    }
}

impl FusedOp<3> for RowNorm {
    const NAME: &'static str = "layer-norm";

    fn forward(&self, [x, w, b]: [&[f32]; 3], [shape, weight, bias]: [&Shape; 3]) -> Result<(Vec<f32>, Shape)> {
        width(shape, weight)?;
        width(shape, bias)?;
        Ok((RowNorm::forward(*self, x, [w, b]), shape.clone()))
    }

    fn backward(&self, [x, w, b]: [&Tensor; 3], _: &Tensor, grad: &Tensor) -> Result<[Option<Tensor>; 3]> {
        gradients_like(storage::read_all(&[x, grad, w], |[x, g, w]| Ok(self.gradients([x, g], w)))?, [x, w, b])
    }
}
