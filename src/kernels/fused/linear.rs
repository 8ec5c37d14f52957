//! Linear maps: y = x W^T, y = x W^T + b, and y = x W.

use candle_core::{CpuStorage, CustomOp2, CustomOp3, Layout, Result, Shape, Tensor, bail};

use super::storage;
use crate::{matmul, matrix::View, reduce};

/// x `(.., I)`, w `(O, I)` -> `(.., O)`.
pub fn linear(x: &Tensor, w: &Tensor) -> Result<Tensor> {
    let x = x.contiguous()?;
    if !storage::readable(&[&x, w]) {
        return reference(&x, w);
    }
    x.apply_op2(w, Linear)
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
    x.apply_op3(w, b, LinearBiased)
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
    x.apply_op2(w, LinearTransposed)
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

impl CustomOp2 for Linear {
    fn name(&self) -> &'static str {
        "linear"
    }

    fn cpu_fwd(&self, x: &CpuStorage, lx: &Layout, w: &CpuStorage, lw: &Layout) -> Result<(CpuStorage, Shape)> {
        let (o, i) = lw.shape().dims2()?;
        let shape = with_last_dim(lx.shape(), i, o)?;
        let (x, w) = (storage::values(x, lx)?, storage::values(w, lw)?);
        Ok((CpuStorage::F32(matmul::matmul_rows(x, View::new(w, o, i).t(), None)), shape))
    }

    fn bwd(&self, x: &Tensor, w: &Tensor, _: &Tensor, grad: &Tensor) -> Result<(Option<Tensor>, Option<Tensor>)> {
        let (o, i) = w.dims2()?;
        storage::read(grad, |g| {
            let dx = if x.track_op() {
                let dx = storage::read(w, |w| Ok(matmul::matmul_rows(g, View::new(w, o, i), None)))?;
                Some(Tensor::from_vec(dx, x.shape(), x.device())?)
            } else {
                None
            };
            let dw = if w.track_op() {
                let dw = storage::read(x, |x| Ok(matmul::weight_grad(g, o, x, i)))?;
                Some(Tensor::from_vec(dw, (o, i), w.device())?)
            } else {
                None
            };
            Ok((dx, dw))
        })
    }
}

struct LinearTransposed;

impl CustomOp2 for LinearTransposed {
    fn name(&self) -> &'static str {
        "linear, weight (inputs, outputs)"
    }

    fn cpu_fwd(&self, x: &CpuStorage, lx: &Layout, w: &CpuStorage, lw: &Layout) -> Result<(CpuStorage, Shape)> {
        let (i, o) = lw.shape().dims2()?;
        let shape = with_last_dim(lx.shape(), i, o)?;
        let (x, w) = (storage::values(x, lx)?, storage::values(w, lw)?);
        Ok((CpuStorage::F32(matmul::matmul_rows(x, View::new(w, i, o), None)), shape))
    }

    fn bwd(&self, x: &Tensor, w: &Tensor, _: &Tensor, grad: &Tensor) -> Result<(Option<Tensor>, Option<Tensor>)> {
        let (i, o) = w.dims2()?;
        storage::read(grad, |g| {
            let dx = storage::read(w, |w| Ok(matmul::matmul_rows(g, View::new(w, i, o).t(), None)))?;
            let dw = if w.track_op() {
                let dw = storage::read(x, |x| Ok(matmul::weight_grad(x, i, g, o)))?;
                Some(Tensor::from_vec(dw, (i, o), w.device())?)
            } else {
                None
            };
            Ok((Some(Tensor::from_vec(dx, x.shape(), x.device())?), dw))
        })
    }
}

struct LinearBiased;

impl CustomOp3 for LinearBiased {
    fn name(&self) -> &'static str {
        "linear with bias"
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
        let (o, i) = lw.shape().dims2()?;
        if lb.shape().dims1()? != o {
            bail!("a bias of shape {:?} does not fit {o} outputs", lb.shape());
        }
        let shape = with_last_dim(lx.shape(), i, o)?;
        let (x, w, b) = (storage::values(x, lx)?, storage::values(w, lw)?, storage::values(b, lb)?);
        let y = matmul::matmul_rows(x, View::new(w, o, i).t(), Some(b));
        Ok((CpuStorage::F32(y), shape))
    }

    fn bwd(
        &self,
        x: &Tensor,
        w: &Tensor,
        b: &Tensor,
        y: &Tensor,
        grad: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>, Option<Tensor>)> {
        let (dx, dw) = Linear.bwd(x, w, y, grad)?;
        let db = if b.track_op() {
            let o = b.dims1()?;
            Some(Tensor::from_vec(storage::read(grad, |g| Ok(reduce::column_sums(g, o)))?, o, b.device())?)
        } else {
            None
        };
        Ok((dx, dw, db))
    }
}
