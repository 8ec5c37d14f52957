//! One training batch on the device.

use candle_core::{Device, Result, Tensor};

/// Inputs and next-token targets.
#[derive(Debug, Clone)]
pub struct Batch {
    /// Ids, u32 `(B, T)`.
    pub tokens: Tensor,
    /// Ids or [`IGNORE`](crate::nn::IGNORE), u32 `(B, T)`.
    pub targets: Tensor,
}

impl Batch {
    /// Creates a batch from row-major ids; both slices hold `rows * len` values.
    pub fn from_ids(tokens: &[u32], targets: &[u32], rows: usize, len: usize, device: &Device) -> Result<Self> {
        Ok(Self {
            tokens: Tensor::from_slice(tokens, (rows, len), device)?,
            targets: Tensor::from_slice(targets, (rows, len), device)?,
        })
    }
}
