//! Linear maps: y = x W^T, y = x W^T + b, and y = x W.

use crate::{fused::prelude::*, matmul, matrix::View, reduce};

/// x `(.., I)`, w `(O, I)` -> `(.., O)`.
pub fn linear(x: &Tensor, w: &Tensor) -> Result<Tensor> {
    apply_fused([&x.contiguous()?, w], Linear { transposed: false }, |[x, w]| reference(x, w))
}

/// The reference form in plain candle, with the arguments of [`linear`].
pub fn reference(x: &Tensor, w: &Tensor) -> Result<Tensor> {
    let (out, _) = w.dims2()?;
    let mut dims = x.dims().to_vec();
    let width = dims.pop().unwrap_or_default();
    let rows = x.elem_count() / width.max(1);
    dims.push(out);
    x.reshape((rows, width))?.matmul(&w.t()?)?.reshape(dims)
}

/// x `(.., I)`, w `(O, I)`, b `(O)` -> `(.., O)`.
pub fn linear_biased(x: &Tensor, w: &Tensor, b: &Tensor) -> Result<Tensor> {
    let args = [&x.contiguous()?, w, b];
    apply_fused(args, Linear { transposed: false }, |[x, w, b]| linear_biased_reference(x, w, b))
}

/// The reference form in plain candle, with the arguments of [`linear_biased`].
pub fn linear_biased_reference(x: &Tensor, w: &Tensor, b: &Tensor) -> Result<Tensor> {
    reference(x, w)?.broadcast_add(b)
}

/// x `(.., I)`, w `(I, O)` -> `(.., O)`: a weight stored transposed.
pub fn linear_transposed(x: &Tensor, w: &Tensor) -> Result<Tensor> {
    apply_fused([&x.contiguous()?, w], Linear { transposed: true }, |[x, w]| reference(x, &w.t()?))
}

/// The shape of x with its last dimension, which must be `inputs`, replaced by `outputs`.
pub(super) fn with_last_dim(x: &Shape, inputs: usize, outputs: usize) -> Result<Shape> {
    let mut dims = x.dims().to_vec();
    match dims.last_mut() {
        Some(last) if *last == inputs => *last = outputs,
        _ => candle_core::bail!("a weight with {inputs} inputs is given {x:?}"),
    }
    Ok(dims.into())
}

struct Linear {
    /// True if the weight is stored as `(I, O)`.
    transposed: bool,
}

impl Linear {
    /// The outputs and inputs of a weight.
    fn sizes(&self, weight: &Shape) -> Result<(usize, usize)> {
        let (rows, cols) = weight.dims2()?;
        Ok(if self.transposed { (cols, rows) } else { (rows, cols) })
    }

    /// The weight as `(O, I)`.
    fn view<'a>(&self, w: &'a [f32], (o, i): (usize, usize)) -> View<'a> {
        if self.transposed { View::new(w, i, o).t() } else { View::new(w, o, i) }
    }

    fn forward(&self, [x, w]: [&[f32]; 2], b: Option<&[f32]>, shapes: [&Shape; 2]) -> Result<(Vec<f32>, Shape)> {
        let (o, i) = self.sizes(shapes[1])?;
        let shape = with_last_dim(shapes[0], i, o)?;
        Ok((matmul::matmul_rows(x, self.view(w, (o, i)).t(), b), shape))
    }
}

impl FusedOp<2> for Linear {
    const NAME: &'static str = "linear";

    fn forward(&self, values: [&[f32]; 2], shapes: [&Shape; 2]) -> Result<(Vec<f32>, Shape)> {
        Linear::forward(self, values, None, shapes)
    }

    fn backward(&self, [x, w]: [&Tensor; 2], _: &Tensor, grad: &Tensor) -> Result<[Option<Tensor>; 2]> {
        let (o, i) = self.sizes(w.shape())?;
        storage::read(grad, |g| {
            let dx = gradient_if_tracked(x, || {
                storage::read(w, |w| Ok(matmul::matmul_rows(g, self.view(w, (o, i)), None)))
            })?;
            let weight_grad = |x: &[f32]| match self.transposed {
                true => matmul::weight_grad(x, i, g, o),
                false => matmul::weight_grad(g, o, x, i),
            };
            let dw = gradient_if_tracked(w, || storage::read(x, |x| Ok(weight_grad(x))))?;
            Ok([dx, dw])
        })
    }
}

impl FusedOp<3> for Linear {
    const NAME: &'static str = "linear with bias";

    fn forward(&self, [x, w, b]: [&[f32]; 3], [shape, weight, bias]: [&Shape; 3]) -> Result<(Vec<f32>, Shape)> {
        let (o, _) = self.sizes(weight)?;
        if bias.dims1()? != o {
            bail!("a bias of shape {bias:?} does not fit {o} outputs");
        }
        Linear::forward(self, [x, w], Some(b), [shape, weight])
    }

    fn backward(&self, [x, w, b]: [&Tensor; 3], y: &Tensor, grad: &Tensor) -> Result<[Option<Tensor>; 3]> {
        let [dx, dw] = FusedOp::<2>::backward(self, [x, w], y, grad)?;
        let o = b.dims1()?;
        let db = gradient_if_tracked(b, || storage::read(grad, |g| Ok(reduce::column_sums(g, o))))?;
        Ok([dx, dw, db])
    }
}
