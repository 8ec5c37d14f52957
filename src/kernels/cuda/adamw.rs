//! AdamW: one launch for each parameter.

use candle_core::{
    CpuStorage, CudaDevice, CudaStorage, CustomOp1, Layout, Result, Shape, Storage, Tensor, bail,
    cuda::{CudaStorageSlice, WrapErr, cudarc::driver::PushKernelArg},
};

use super::{address, kernel, over_values};

/// Blocks of an update.
const MAX_BLOCKS: u32 = 2_048;
/// Blocks of a sum of squares.
const MAX_SUMS: u32 = 64;

/// The device pointer of a tensor's first value.
fn pointer(t: &Tensor) -> Result<u64> {
    let (storage, layout) = t.storage_and_layout();
    let Storage::Cuda(storage) = &*storage else { bail!("a tensor of the optimiser is not on a CUDA device") };
    address(storage, layout)
}

/// An update of parameters on this card. A slot is weights, mean, square and gradient; the coefficients are those of the kernel
/// `adamw_step`, in its order.
pub(crate) fn update<'a>(
    device: &CudaDevice,
    slots: impl IntoIterator<Item = [&'a Tensor; 4]>,
    coefficients: [f64; 9],
) -> Result<()> {
    let kernel = kernel(device, "adamw_step")?;
    let coefficients = coefficients.map(|v| v as f32);
    for slot in slots {
        let n = slot[0].elem_count();
        if slot.iter().any(|t| t.elem_count() != n) {
            bail!("a gradient's shape must be that of its parameter");
        }
        let [weights, mean, square, grad] = slot.map(pointer);
        let pointers = [weights?, mean?, square?, grad?];
        let mut launch = kernel.builder();
        for pointer in &pointers {
            launch.arg(pointer);
        }
        launch.arg(&n);
        for coefficient in &coefficients {
            launch.arg(coefficient);
        }
        // SAFETY: the arguments are those of the kernel, in order. Each address leads to n values of f32 of a tensor that
        // lives until the launch is queued; the one stream of the card orders the kernel before whatever frees or uses
        // them, and no slot shares a variable with another.
        unsafe { launch.launch(over_values(n, MAX_BLOCKS)) }.w()?;
    }
    Ok(())
}

/// The sums of squares of the blocks of a kernel, `(S)`, in f64.
struct SumsOfSquares;

impl CustomOp1 for SumsOfSquares {
    fn name(&self) -> &'static str {
        "sums_of_squares"
    }

    fn cpu_fwd(&self, _: &CpuStorage, _: &Layout) -> Result<(CpuStorage, Shape)> {
        bail!("the gradient is not on a CUDA device")
    }

    fn cuda_fwd(&self, storage: &CudaStorage, layout: &Layout) -> Result<(CudaStorage, Shape)> {
        let (device, n) = (storage.device.clone(), layout.shape().elem_count());
        let config = over_values(n, MAX_SUMS);
        let blocks = config.grid_dim.0 as usize;
        let values = address(storage, layout)?;
        let kernel = kernel(&device, "sums_of_squares")?;
        // SAFETY: each block of the kernel writes its sum.
        let mut sums = unsafe { device.alloc::<f64>(blocks) }?;
        let mut launch = kernel.builder();
        launch.arg(&values).arg(&mut sums).arg(&n);
        // SAFETY: the arguments are those of the kernel, in order; the values live until the launch is queued, and the one
        // stream of the card orders it before whatever frees or uses them.
        unsafe { launch.launch(config) }.w()?;
        Ok((CudaStorage { slice: CudaStorageSlice::F64(sums), device }, Shape::from(blocks)))
    }
}

/// The square root of the sum of squares over gradients on one card, summed in f64; it waits for them once.
pub(crate) fn global_norm(grads: &[&Tensor]) -> Result<f64> {
    let sums = grads.iter().map(|g| g.apply_op1_no_bwd(&SumsOfSquares)).collect::<Result<Vec<_>>>()?;
    Ok(crate::host::to_f64(&Tensor::cat(&sums, 0)?)?.iter().sum::<f64>().sqrt())
}
