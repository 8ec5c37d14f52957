//! Softmax over the last axis, with its gradient y (g - sum(y g)).

use candle_core::{
    CpuStorage, CudaStorage, CustomOp1, CustomOp2, Layout, Result, Shape, Tensor, bail,
    cuda::{WrapErr, cudarc::driver::PushKernelArg},
};

use super::{address, kernel, over_rows, result, rows, stored};

/// Softmax of each row of x `(.., N)`, which lies row-major on a card.
pub(crate) fn softmax(x: &Tensor) -> Result<Tensor> {
    x.apply_op1(Softmax)
}

struct Softmax;

impl CustomOp1 for Softmax {
    fn name(&self) -> &'static str {
        "softmax"
    }

    fn cpu_fwd(&self, _: &CpuStorage, _: &Layout) -> Result<(CpuStorage, Shape)> {
        bail!("the scores are not on a CUDA device")
    }

    fn cuda_fwd(&self, x: &CudaStorage, layout: &Layout) -> Result<(CudaStorage, Shape)> {
        let ((rows, d), input) = (rows(layout)?, address(x, layout)?);
        let kernel = kernel(&x.device, "softmax")?;
        let mut y = result(&x.device, rows * d)?;
        let mut launch = kernel.builder();
        launch.arg(&input).arg(&mut y).arg(&rows).arg(&d);
        // SAFETY: the arguments are those of the kernel, in order; x lives until the launch is queued on its one stream.
        unsafe { launch.launch(over_rows(rows)?) }.w()?;
        Ok(stored(y, &x.device, layout.shape()))
    }

    fn bwd(&self, _: &Tensor, y: &Tensor, grad: &Tensor) -> Result<Option<Tensor>> {
        Ok(Some(y.apply_op2_no_bwd(&grad.contiguous()?, &SoftmaxGradient)?))
    }
}

/// The gradient of x from y and its gradient.
struct SoftmaxGradient;

impl CustomOp2 for SoftmaxGradient {
    fn name(&self) -> &'static str {
        "softmax_gradient"
    }

    fn cpu_fwd(&self, _: &CpuStorage, _: &Layout, _: &CpuStorage, _: &Layout) -> Result<(CpuStorage, Shape)> {
        bail!("the scores are not on a CUDA device")
    }

    fn cuda_fwd(&self, y: &CudaStorage, ly: &Layout, grad: &CudaStorage, lg: &Layout) -> Result<(CudaStorage, Shape)> {
        if ly.dims() != lg.dims() {
            bail!("a gradient {:?} of weights {:?}", lg.shape(), ly.shape());
        }
        let ((rows, d), inputs) = (rows(ly)?, [address(y, ly)?, address(grad, lg)?]);
        let kernel = kernel(&y.device, "softmax_gradient")?;
        let mut dx = result(&y.device, rows * d)?;
        let mut launch = kernel.builder();
        launch.arg(&inputs[0]).arg(&inputs[1]).arg(&mut dx).arg(&rows).arg(&d);
        // SAFETY: as in the forward pass.
        unsafe { launch.launch(over_rows(rows)?) }.w()?;
        Ok(stored(dx, &y.device, ly.shape()))
    }
}
