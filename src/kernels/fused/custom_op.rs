//! Fused operations as candle takes them: each is written once on slices, whatever the number of its arguments.

use candle_core::{CpuStorage, CustomOp1, CustomOp2, CustomOp3, Layout, Result, Shape, Tensor};

use super::storage::values;

/// An operation on N f32 tensors in host memory, row-major.
pub trait FusedOp<const N: usize> {
    /// The name in candle's errors.
    const NAME: &'static str;

    /// The values and the shape of the result, from the values and the shapes of the arguments.
    fn forward(&self, values: [&[f32]; N], shapes: [&Shape; N]) -> Result<(Vec<f32>, Shape)>;

    /// The gradients of the arguments, given the result and its gradient.
    fn backward(&self, inputs: [&Tensor; N], result: &Tensor, grad: &Tensor) -> Result<[Option<Tensor>; N]>;
}

/// A fused operation in the form that `Tensor::apply_op1`, `apply_op2` and `apply_op3` take.
pub struct Op<O>(pub O);

/// A tensor of these values, shaped as another and on its device.
pub fn tensor_like(t: &Tensor, values: Vec<f32>) -> Result<Tensor> {
    Tensor::from_vec(values, t.shape(), t.device())
}

/// Gradients of these values, each shaped as its tensor; none of a tensor that is not tracked.
pub fn gradients_like<const N: usize>(values: [Vec<f32>; N], tensors: [&Tensor; N]) -> Result<[Option<Tensor>; N]> {
    let mut made = [const { None }; N];
    for ((made, values), t) in made.iter_mut().zip(values).zip(tensors) {
        *made = gradient_if_tracked(t, || Ok(values))?;
    }
    Ok(made)
}

/// The gradient of a tensor, computed if it is tracked.
pub fn gradient_if_tracked(t: &Tensor, values: impl FnOnce() -> Result<Vec<f32>>) -> Result<Option<Tensor>> {
    t.track_op().then(|| tensor_like(t, values()?)).transpose()
}

fn on_cpu((y, shape): (Vec<f32>, Shape)) -> (CpuStorage, Shape) {
    (CpuStorage::F32(y), shape)
}

impl<O: FusedOp<1>> CustomOp1 for Op<O> {
    fn name(&self) -> &'static str {
        O::NAME
    }

    fn cpu_fwd(&self, x: &CpuStorage, lx: &Layout) -> Result<(CpuStorage, Shape)> {
        self.0.forward([values(x, lx)?], [lx.shape()]).map(on_cpu)
    }

    fn bwd(&self, x: &Tensor, result: &Tensor, grad: &Tensor) -> Result<Option<Tensor>> {
        let [dx] = self.0.backward([x], result, grad)?;
        Ok(dx)
    }
}

impl<O: FusedOp<2>> CustomOp2 for Op<O> {
    fn name(&self) -> &'static str {
        O::NAME
    }

    fn cpu_fwd(&self, a: &CpuStorage, la: &Layout, b: &CpuStorage, lb: &Layout) -> Result<(CpuStorage, Shape)> {
        self.0.forward([values(a, la)?, values(b, lb)?], [la.shape(), lb.shape()]).map(on_cpu)
    }

    fn bwd(&self, a: &Tensor, b: &Tensor, result: &Tensor, grad: &Tensor) -> Result<(Option<Tensor>, Option<Tensor>)> {
        Ok(self.0.backward([a, b], result, grad)?.into())
    }
}

impl<O: FusedOp<3>> CustomOp3 for Op<O> {
    fn name(&self) -> &'static str {
        O::NAME
    }

    fn cpu_fwd(
        &self,
        a: &CpuStorage,
        la: &Layout,
        b: &CpuStorage,
        lb: &Layout,
        c: &CpuStorage,
        lc: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let args = [values(a, la)?, values(b, lb)?, values(c, lc)?];
        self.0.forward(args, [la.shape(), lb.shape(), lc.shape()]).map(on_cpu)
    }

    fn bwd(
        &self,
        a: &Tensor,
        b: &Tensor,
        c: &Tensor,
        result: &Tensor,
        grad: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>, Option<Tensor>)> {
        Ok(self.0.backward([a, b, c], result, grad)?.into())
    }
}
