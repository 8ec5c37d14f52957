//! y = x W^T, y = x W^T + b, and y = x W.

use candle_core::{CpuStorage, CustomOp2, CustomOp3, Layout, Result, Shape, Tensor, bail};

use super::matrix::{self, View};

/// x `(.., I)`, w `(O, I)` -> `(.., O)`.
pub fn linear(x: &Tensor, w: &Tensor) -> Result<Tensor> {
    let x = x.contiguous()?;
    if !matrix::readable(&[&x, w]) {
        return reference(&x, w);
    }
    x.apply_op2(w, Linear)
}

pub fn reference(x: &Tensor, w: &Tensor) -> Result<Tensor> {
    let (out, _) = w.dims2()?;
    let mut dims = x.dims().to_vec();
    let width = dims.pop().unwrap_or_default();
    let rows = x.elem_count() / width.max(1);
    dims.push(out);
    x.reshape((rows, width))?.matmul(&w.t()?)?.reshape(dims)
}

/// x `(.., I)`, w `(O, I)`, b `(O)` -> `(.., O)`.
pub fn biased(x: &Tensor, w: &Tensor, b: &Tensor) -> Result<Tensor> {
    let x = x.contiguous()?;
    if !matrix::readable(&[&x, w, b]) {
        return biased_reference(&x, w, b);
    }
    x.apply_op3(w, b, Biased)
}

pub fn biased_reference(x: &Tensor, w: &Tensor, b: &Tensor) -> Result<Tensor> {
    reference(x, w)?.broadcast_add(b)
}

/// x `(.., I)`, w `(I, O)` -> `(.., O)`: a weight stored the other way round.
pub fn mapped(x: &Tensor, w: &Tensor) -> Result<Tensor> {
    let x = x.contiguous()?;
    if !matrix::readable(&[&x, w]) {
        return reference(&x, &w.t()?);
    }
    x.apply_op2(w, Mapped)
}

/// The shape of x with its last size, which must be `inputs`, replaced.
pub(super) fn widened(x: &Shape, inputs: usize, outputs: usize) -> Result<Shape> {
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
        let shape = widened(lx.shape(), i, o)?;
        let (x, w) = (matrix::values(x, lx)?, matrix::values(w, lw)?);
        Ok((CpuStorage::F32(matrix::by_rows(x, View::new(w, o, i).t(), None)), shape))
    }

    fn bwd(&self, x: &Tensor, w: &Tensor, _: &Tensor, grad: &Tensor) -> Result<(Option<Tensor>, Option<Tensor>)> {
        let (o, i) = w.dims2()?;
        matrix::read(grad, |g| {
            let dx = if x.track_op() {
                let dx = matrix::read(w, |w| Ok(matrix::by_rows(g, View::new(w, o, i), None)))?;
                Some(Tensor::from_vec(dx, x.shape(), x.device())?)
            } else {
                None
            };
            let dw = if w.track_op() {
                let dw = matrix::read(x, |x| Ok(matrix::over_rows(g, o, x, i)))?;
                Some(Tensor::from_vec(dw, (o, i), w.device())?)
            } else {
                None
            };
            Ok((dx, dw))
        })
    }
}

struct Mapped;

impl CustomOp2 for Mapped {
    fn name(&self) -> &'static str {
        "linear, weight (inputs, outputs)"
    }

    fn cpu_fwd(&self, x: &CpuStorage, lx: &Layout, w: &CpuStorage, lw: &Layout) -> Result<(CpuStorage, Shape)> {
        let (i, o) = lw.shape().dims2()?;
        let shape = widened(lx.shape(), i, o)?;
        let (x, w) = (matrix::values(x, lx)?, matrix::values(w, lw)?);
        Ok((CpuStorage::F32(matrix::by_rows(x, View::new(w, i, o), None)), shape))
    }

    fn bwd(&self, x: &Tensor, w: &Tensor, _: &Tensor, grad: &Tensor) -> Result<(Option<Tensor>, Option<Tensor>)> {
        let (i, o) = w.dims2()?;
        matrix::read(grad, |g| {
            let dx = matrix::read(w, |w| Ok(matrix::by_rows(g, View::new(w, i, o).t(), None)))?;
            let dw = if w.track_op() {
                let dw = matrix::read(x, |x| Ok(matrix::over_rows(x, i, g, o)))?;
                Some(Tensor::from_vec(dw, (i, o), w.device())?)
            } else {
                None
            };
            Ok((Some(Tensor::from_vec(dx, x.shape(), x.device())?), dw))
        })
    }
}

struct Biased;

impl CustomOp3 for Biased {
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
            bail!("a bias {:?} is given to {o} outputs", lb.shape());
        }
        let shape = widened(lx.shape(), i, o)?;
        let (x, w, b) = (matrix::values(x, lx)?, matrix::values(w, lw)?, matrix::values(b, lb)?);
        let y = matrix::by_rows(x, View::new(w, o, i).t(), Some(b));
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
            Some(Tensor::from_vec(matrix::read(grad, |g| Ok(matrix::column_sums(g, o)))?, o, b.device())?)
        } else {
            None
        };
        Ok((dx, dw, db))
    }
}
