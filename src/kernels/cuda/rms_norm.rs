//! RMSNorm over the last axis: with r = 1 / sqrt(mean(x^2) + eps), y = x r w, and
//! dx = r (g w - x r^2 mean(x g w)), dw = the sum over rows of g x r.

use candle_core::{
    CpuStorage, CudaStorage, CustomOp2, CustomOp3, Layout, Result, Shape, Tensor, bail,
    cuda::{WrapErr, cudarc::driver::PushKernelArg},
};

use super::{address, kernel, over_rows, result, rows, stored};

/// The norm of x `(.., D)` with weight `(D)`, which lie row-major on a card.
pub(crate) fn rms_norm(x: &Tensor, weight: &Tensor, eps: f64) -> Result<Tensor> {
    x.apply_op2(weight, RmsNorm { eps: eps as f32 })
}

struct RmsNorm {
    eps: f32,
}

fn sizes(x: &Layout, weight: &Layout) -> Result<(usize, usize)> {
    let (rows, d) = rows(x)?;
    if weight.dims() != [d] {
        bail!("a norm over {:?} is given inputs {:?}", weight.shape(), x.shape());
    }
    Ok((rows, d))
}

impl CustomOp2 for RmsNorm {
    fn name(&self) -> &'static str {
        "rms-norm"
    }

    fn cpu_fwd(&self, _: &CpuStorage, _: &Layout, _: &CpuStorage, _: &Layout) -> Result<(CpuStorage, Shape)> {
        bail!("the inputs are not on a CUDA device")
    }

    fn cuda_fwd(&self, x: &CudaStorage, lx: &Layout, w: &CudaStorage, lw: &Layout) -> Result<(CudaStorage, Shape)> {
        let ((rows, d), inputs) = (sizes(lx, lw)?, [address(x, lx)?, address(w, lw)?]);
        let kernel = kernel(&x.device, "rms_norm")?;
        let mut y = result(&x.device, rows * d)?;
        let mut launch = kernel.builder();
        launch.arg(&inputs[0]).arg(&inputs[1]).arg(&mut y).arg(&rows).arg(&d).arg(&self.eps);
        // SAFETY: the arguments are those of the kernel, in order; x and w live until the launch is queued on their one
        // stream.
        unsafe { launch.launch(over_rows(rows)?) }.w()?;
        Ok(stored(y, &x.device, lx.shape()))
    }

    fn bwd(&self, x: &Tensor, w: &Tensor, _: &Tensor, grad: &Tensor) -> Result<(Option<Tensor>, Option<Tensor>)> {
        let gradients = x.apply_op3_no_bwd(w, &grad.contiguous()?, &Gradients { eps: self.eps })?; // (2,N,D)
        let part = |i: usize| gradients.narrow(0, i, 1)?.squeeze(0);
        let dw = w.track_op().then(|| part(1)?.sum(0)).transpose()?;
        Ok((Some(part(0)?.reshape(x.shape())?), dw))
    }
}

/// The gradients `(2, N, D)`: first that of x, then the contribution of each of the N rows to that of the weight.
struct Gradients {
    eps: f32,
}

impl CustomOp3 for Gradients {
    fn name(&self) -> &'static str {
        "rms-norm-gradients"
    }

    fn cpu_fwd(
        &self,
        _: &CpuStorage,
        _: &Layout,
        _: &CpuStorage,
        _: &Layout,
        _: &CpuStorage,
        _: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        bail!("the inputs are not on a CUDA device")
    }

    fn cuda_fwd(
        &self,
        x: &CudaStorage,
        lx: &Layout,
        w: &CudaStorage,
        lw: &Layout,
        grad: &CudaStorage,
        lg: &Layout,
    ) -> Result<(CudaStorage, Shape)> {
        if lx.dims() != lg.dims() {
            bail!("a gradient {:?} of a norm of {:?}", lg.shape(), lx.shape());
        }
        let ((rows, d), inputs) = (sizes(lx, lw)?, [address(x, lx)?, address(w, lw)?, address(grad, lg)?]);
        let kernel = kernel(&x.device, "rms_norm_gradients")?;
        let mut gradients = result(&x.device, 2 * rows * d)?;
        let mut launch = kernel.builder();
        for input in &inputs {
            launch.arg(input);
        }
        launch.arg(&mut gradients).arg(&rows).arg(&d).arg(&self.eps);
        // SAFETY: as in the forward pass.
        unsafe { launch.launch(over_rows(rows)?) }.w()?;
        Ok(stored(gradients, &x.device, (2, rows, d)))
    }
}
