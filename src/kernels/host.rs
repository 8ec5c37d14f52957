//! Copies numbers from a device to the host. All such copies are made here, because each one waits for the device.

use candle_core::{D, DType, Device, Result, Tensor};

/// All values, row-major, as f32.
pub fn to_f32(t: &Tensor) -> Result<Vec<f32>> {
    t.to_dtype(DType::F32)?.contiguous()?.flatten_all()?.to_vec1()
}

/// All values, row-major, as f64. Widened after the copy: not every device has f64.
pub fn to_f64(t: &Tensor) -> Result<Vec<f64>> {
    t.contiguous()?.flatten_all()?.to_device(&Device::Cpu)?.to_dtype(DType::F64)?.to_vec1()
}

/// The rows of the last dimension, as f64.
pub fn rows_f64(t: &Tensor) -> Result<Vec<Vec<f64>>> {
    let width = t.dim(D::Minus1)?.max(1);
    Ok(to_f64(t)?.chunks(width).map(<[f64]>::to_vec).collect())
}

/// All values, row-major, as u32.
pub fn to_u32(t: &Tensor) -> Result<Vec<u32>> {
    t.to_dtype(DType::U32)?.contiguous()?.flatten_all()?.to_vec1()
}

/// The sum of all values. A graphics card sums to one number with one block of its threads, so there each row is summed first.
pub fn total(t: &Tensor) -> Result<Tensor> {
    if t.device().is_cpu() || t.rank() < 2 { t.sum_all() } else { t.sum(D::Minus1)?.sum_all() }
}

/// The value of a one-element tensor.
pub fn scalar(t: &Tensor) -> Result<f64> {
    t.flatten_all()?.get(0)?.to_device(&Device::Cpu)?.to_dtype(DType::F64)?.to_scalar()
}

/// Copies a tensor to host memory, row-major, with its type and exact bits, for a file writer.
pub fn to_cpu(t: &Tensor) -> Result<Tensor> {
    t.detach().to_device(&Device::Cpu)?.contiguous()
}
