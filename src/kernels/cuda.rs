//! Kernels for NVIDIA cards, for operations that would otherwise be many small launches: a step of a small model is mostly
//! the latency of its launches. Each also has a form in plain candle.

pub(crate) mod adamw;
pub(crate) mod rms_norm;
pub(crate) mod softmax;

use std::sync::{Arc, OnceLock};

use candle_core::{
    CudaDevice, CudaStorage, DType, Device, Layout, Result, Shape, Tensor,
    cuda::{
        CudaStorageSlice,
        cudarc::{
            driver::{CudaFunction, CudaSlice, CudaStream, DevicePtr, LaunchArgs, LaunchConfig},
            nvrtc::compile_ptx,
        },
    },
};

/// Threads of a block, eight warps.
const THREADS: u32 = 256;
/// The number of threads of a warp; each warp processes one row.
const WARP_THREADS: usize = 32;

/// A kernel and the one stream of its card.
struct Kernel {
    function: CudaFunction,
    stream: Arc<CudaStream>,
}

impl Kernel {
    fn builder(&self) -> LaunchArgs<'_> {
        self.stream.launch_builder(&self.function)
    }
}

/// A kernel by its name in kernels.cu, which is compiled once.
fn kernel(device: &CudaDevice, name: &str) -> Result<Kernel> {
    static PTX: OnceLock<std::result::Result<String, String>> = OnceLock::new();
    let compiled = PTX.get_or_init(|| {
        let ptx = compile_ptx(include_str!("cuda/kernels.cu"));
        ptx.map(|ptx| ptx.to_src()).map_err(|e| format!("the kernels of the card cannot be compiled: {e}"))
    });
    let ptx = compiled.as_ref().map_err(|e| candle_core::Error::Msg(e.clone()))?;
    let function = device.get_or_load_custom_func(name, "orrery", ptx)?.into_cuda_function();
    Ok(Kernel { function, stream: device.cuda_stream() })
}

/// The card of these tensors, where all are on one, in f32, row-major and not empty.
pub(crate) fn card<'a>(tensors: impl IntoIterator<Item = &'a Tensor>) -> Option<CudaDevice> {
    let mut found: Option<CudaDevice> = None;
    for t in tensors {
        let Device::Cuda(device) = t.device() else { return None };
        let same = found.get_or_insert_with(|| device.clone()).id() == device.id();
        if !same || t.dtype() != DType::F32 || !t.layout().is_contiguous() || t.elem_count() == 0 {
            return None;
        }
    }
    found
}

/// The address on the card of the first value of a row-major storage of f32.
fn address(storage: &CudaStorage, layout: &Layout) -> Result<u64> {
    if !layout.is_contiguous() {
        candle_core::bail!("a kernel needs row-major values");
    }
    let stream = storage.device.cuda_stream();
    let (start, _recorded) = storage.as_cuda_slice::<f32>()?.device_ptr(&stream);
    Ok(start + (layout.start_offset() * size_of::<f32>()) as u64)
}

/// Memory of a result whose values a kernel writes.
fn result(device: &CudaDevice, n: usize) -> Result<CudaSlice<f32>> {
    // SAFETY: the caller's kernel writes all n values before any is read.
    unsafe { device.alloc::<f32>(n) }
}

/// A result on the card, of this shape.
fn stored(values: CudaSlice<f32>, device: &CudaDevice, shape: impl Into<Shape>) -> (CudaStorage, Shape) {
    (CudaStorage { slice: CudaStorageSlice::F32(values), device: device.clone() }, shape.into())
}

/// A launch over n values of at most `max_blocks` blocks; a thread takes further values in a grid-stride loop.
fn over_values(n: usize, max_blocks: u32) -> LaunchConfig {
    let blocks = u32::try_from(n.div_ceil(THREADS as usize)).unwrap_or(max_blocks).min(max_blocks);
    LaunchConfig { grid_dim: (blocks, 1, 1), block_dim: (THREADS, 1, 1), shared_mem_bytes: 0 }
}

/// The launch of a kernel over rows.
fn over_rows(rows: usize) -> Result<LaunchConfig> {
    let blocks = u32::try_from((rows * WARP_THREADS).div_ceil(THREADS as usize))?;
    Ok(LaunchConfig { grid_dim: (blocks, 1, 1), block_dim: (THREADS, 1, 1), shared_mem_bytes: 0 })
}

/// The number of rows and their length.
fn rows(layout: &Layout) -> Result<(usize, usize)> {
    let n = layout.shape().elem_count();
    match layout.dims().last() {
        Some(&d) if d > 0 => Ok((n / d, d)),
        _ => candle_core::bail!("{:?} has no rows", layout.shape()),
    }
}

/// These tests need a card: `cargo test --release --features cuda -p orrery-kernels cuda`.
#[cfg(test)]
mod tests {
    use candle_core::{D, Var};

    use super::*;
    use crate::{
        fused::{
            adamw::{self, Coefficients, Slot},
            norm,
        },
        host,
    };

    /// Values between -2 and 2 that follow no pattern.
    fn values(n: usize, seed: u32) -> Vec<f32> {
        let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(1);
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 22) as f32 - 2.0
        };
        (0..n).map(|_| next()).collect()
    }

    fn var(shape: &[usize], seed: u32, device: &Device) -> Result<Var> {
        Var::from_vec(values(shape.iter().product(), seed), shape, device)
    }

    /// The largest absolute difference, relative to the largest value.
    fn relative_error(a: &Tensor, b: &Tensor) -> Result<f32> {
        let (a, b) = (host::to_f32(a)?, host::to_f32(b)?);
        assert_eq!(a.len(), b.len());
        let largest = b.iter().fold(1e-6f32, |m, v| m.max(v.abs()));
        Ok(a.iter().zip(&b).fold(0f32, |m, (a, b)| m.max((a - b).abs())) / largest)
    }

    #[test]
    fn norms_and_softmax_are_their_reference_forms() -> Result<()> {
        let device = Device::new_cuda_with_stream(0)?;
        for shape in [[1, 1, 3], [2, 3, 5], [3, 7, 32], [2, 65, 257], [1, 4, 1_024]] {
            let (x, w) = (var(&shape, 1, &device)?, var(&shape[2..], 2, &device)?);
            let weights = Tensor::from_vec(values(shape.iter().product(), 3), &shape[..], &device)?;
            assert!(card([x.as_tensor(), &w]).is_some());
            let forms: [(Tensor, Tensor); 2] = [
                (norm::rms_norm(&x, &w, 1e-5)?, norm::rms_norm_reference(&x, &w, 1e-5)?),
                (softmax::softmax(&(&*x * &weights)?)?, candle_nn::ops::softmax(&(&*x * &weights)?, D::Minus1)?),
            ];
            for (i, (kernel, reference)) in forms.iter().enumerate() {
                assert!(relative_error(kernel, reference)? < 2e-6, "{i} of {shape:?}");
                let [a, b] = [kernel, reference].map(|y| (y * &weights)?.sum_all()?.backward());
                let (a, b) = (a?, b?);
                for v in [&x, &w] {
                    match (a.get(v), b.get(v)) {
                        (Some(a), Some(b)) => {
                            assert!(relative_error(a, b)? < 2e-5, "{i} of {shape:?}: {}", relative_error(a, b)?)
                        }
                        (a, b) => assert!(a.is_none() && b.is_none(), "{i}: one form alone has a gradient"),
                    }
                }
            }
        }
        Ok(())
    }

    #[test]
    fn updates_are_their_reference_form() -> Result<()> {
        let device = Device::new_cuda_with_stream(0)?;
        let coefficients =
            Coefficients { beta1: 0.9, beta2: 0.95, eps: 1e-8, decay_factor: 0.999, rate: 3e-3, root: 0.3, scale: 0.7 };
        for n in [1, 31, 257, 600_000] {
            let [kernel, reference] = [(); 2].map(|()| -> Result<[Var; 3]> {
                let square = Var::from_tensor(&var(&[n], 6, &device)?.sqr()?)?;
                Ok([var(&[n], 4, &device)?, var(&[n], 5, &device)?, square])
            });
            let (kernel, reference) = (kernel?, reference?);
            let grad = Tensor::from_vec(values(n, 7), n, &device)?;
            let slot = |v: &[Var; 3]| -> Vec<Tensor> { v.iter().map(|v| v.as_tensor().clone()).collect() };
            for _ in 0..3 {
                for (v, form) in [
                    (&kernel, adamw::update as fn(&[Slot], &Coefficients) -> Result<()>),
                    (&reference, adamw::reference),
                ] {
                    let [weights, mean, square] = v;
                    form(&[Slot { weights, mean, square, grad: grad.clone() }], &coefficients)?;
                }
            }
            for (a, b) in slot(&kernel).iter().zip(slot(&reference)) {
                assert!(relative_error(a, &b)? < 2e-6, "{n} values");
            }
            let exact = values(n, 7).iter().map(|v| f64::from(*v).powi(2)).sum::<f64>().sqrt();
            assert!((adamw::global_norm(&[&grad])? - exact).abs() < 1e-10 * exact, "{n} values");
        }
        Ok(())
    }
}
