//! Linear maps: y = x W^T, y = x W^T + b, and y = x W.

use crate::{fused::prelude::*, matmul, matrix::View, reduce};

/// x `(.., I)`, w `(O, I)` -> `(.., O)`.
pub fn linear(x: &Tensor, w: &Tensor) -> Result<Tensor> {
    let x = x.contiguous()?;
    if !storage::readable(&[&x, w]) {
        return reference(&x, w);
    }
    x.apply_op2(w, Op(Linear))
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
    let x = x.contiguous()?;
    if !storage::readable(&[&x, w, b]) {
        return linear_biased_reference(&x, w, b);
    }
    x.apply_op3(w, b, Op(Linear))
}

/// The reference form in plain candle, with the arguments of [`linear_biased`].
pub fn linear_biased_reference(x: &Tensor, w: &Tensor, b: &Tensor) -> Result<Tensor> {
    reference(x, w)?.broadcast_add(b)
}

/// x `(.., I)`, w `(I, O)` -> `(.., O)`: a weight stored transposed.
pub fn linear_transposed(x: &Tensor, w: &Tensor) -> Result<Tensor> {
    let x = x.contiguous()?;
    if !storage::readable(&[&x, w]) {
        return reference(&x, &w.t()?);
    }
    x.apply_op2(w, Op(LinearTransposed))
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

struct Linear;

impl FusedOp<2> for Linear {
    const NAME: &'static str = "linear";

    fn forward(&self, [x, w]: [&[f32]; 2], [shape, weight]: [&Shape; 2]) -> Result<(Vec<f32>, Shape)> {
        let (o, i) = weight.dims2()?;
        let shape = with_last_dim(shape, i, o)?;
        Ok((matmul::matmul_rows(x, View::new(w, o, i).t(), None), shape))
    }

    fn backward(&self, [x, w]: [&Tensor; 2], _: &Tensor, grad: &Tensor) -> Result<[Option<Tensor>; 2]> {
        let (o, i) = w.dims2()?;
        storage::read(grad, |g| {
            let dx =
                gradient_if_tracked(x, || storage::read(w, |w| Ok(matmul::matmul_rows(g, View::new(w, o, i), None))))?;
            let dw = gradient_if_tracked(w, || storage::read(x, |x| Ok(matmul::weight_grad(g, o, x, i))))?;
            Ok([dx, dw])
        })
    }
}

struct LinearTransposed;

impl FusedOp<2> for LinearTransposed {
    const NAME: &'static str = "linear, weight (inputs, outputs)";

    fn forward(&self, [x, w]: [&[f32]; 2], [shape, weight]: [&Shape; 2]) -> Result<(Vec<f32>, Shape)> {
        let (i, o) = weight.dims2()?;
        let shape = with_last_dim(shape, i, o)?;
        Ok((matmul::matmul_rows(x, View::new(w, i, o), None), shape))
    }

    fn backward(&self, [x, w]: [&Tensor; 2], _: &Tensor, grad: &Tensor) -> Result<[Option<Tensor>; 2]> {
        let (i, o) = w.dims2()?;
        storage::read(grad, |g| {
            let dx = gradient_if_tracked(x, || {
                storage::read(w, |w| Ok(matmul::matmul_rows(g, View::new(w, i, o).t(), None)))
            })?;
            let dw = gradient_if_tracked(w, || storage::read(x, |x| Ok(matmul::weight_grad(x, i, g, o))))?;
            Ok([dx, dw])
        })
    }
}

/// The linear map with a bias.
impl FusedOp<3> for Linear {
    const NAME: &'static str = "linear with bias";

    fn forward(&self, [x, w, b]: [&[f32]; 3], [shape, weight, bias]: [&Shape; 3]) -> Result<(Vec<f32>, Shape)> {
        let (o, i) = weight.dims2()?;
        if bias.dims1()? != o {
            bail!("a bias of shape {bias:?} does not fit {o} outputs");
        }
        let shape = with_last_dim(shape, i, o)?;
        Ok((matmul::matmul_rows(x, View::new(w, o, i).t(), Some(b)), shape))
    }

    fn backward(&self, [x, w, b]: [&Tensor; 3], y: &Tensor, grad: &Tensor) -> Result<[Option<Tensor>; 3]> {
        let [dx, dw] = FusedOp::<2>::backward(self, [x, w], y, grad)?;
        let o = b.dims1()?;
        let db = gradient_if_tracked(b, || storage::read(grad, |g| Ok(reduce::column_sums(g, o))))?;
        Ok([dx, dw, db])
    }
}
