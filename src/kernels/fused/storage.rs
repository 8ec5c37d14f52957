//! The slices that candle's tensors hold: what a fused operation reads.

use candle_core::{CpuStorage, DType, Layout, Result, Storage, Tensor, WithDType, bail};

/// Returns true if a fused CPU form can read all of these: f32, in host memory, row-major, not empty.
pub fn readable(tensors: &[&Tensor]) -> bool {
    tensors
        .iter()
        .all(|t| t.device().is_cpu() && t.dtype() == DType::F32 && t.layout().is_contiguous() && t.elem_count() > 0)
}

/// The values of a row-major argument of an operation.
///
/// # Errors
/// If it is not row-major or of another type.
pub fn values<'a, T: WithDType>(storage: &'a CpuStorage, layout: &Layout) -> Result<&'a [T]> {
    match layout.contiguous_offsets() {
        Some((from, to)) => Ok(&storage.as_slice::<T>()?[from..to]),
        None => bail!("a fused operation was given a tensor that is not row-major: call contiguous() first"),
    }
}

/// The values of a row-major tensor in host memory.
///
/// # Errors
/// If it is elsewhere, not row-major or of another type.
pub fn cpu_values<'a, T: WithDType>(storage: &'a Storage, layout: &Layout) -> Result<&'a [T]> {
    match storage {
        Storage::Cpu(storage) => values(storage, layout),
        _ => bail!("a fused operation was given a tensor that is not in host memory"),
    }
}

/// Calls `f` with the values of an f32 tensor in host memory, row-major.
///
/// # Errors
/// Those of `f`, and when the tensor is not f32 or not in host memory.
pub fn read<R>(t: &Tensor, f: impl FnOnce(&[f32]) -> Result<R>) -> Result<R> {
    read_all(&[t], |[values]| f(values))
}

/// Same as [`read`], for several tensors.
///
/// # Errors
/// Those of [`read`].
pub fn read_all<R, const N: usize>(tensors: &[&Tensor; N], f: impl FnOnce([&[f32]; N]) -> Result<R>) -> Result<R> {
    let tensors = tensors.iter().map(|t| t.contiguous()).collect::<Result<Vec<_>>>()?;
    let guards: Vec<_> = tensors.iter().map(Tensor::storage_and_layout).collect();
    let mut slices = [&[] as &[f32]; N];
    for (slice, (storage, layout)) in slices.iter_mut().zip(&guards) {
        *slice = cpu_values(storage, layout)?;
    }
    f(slices)
}
