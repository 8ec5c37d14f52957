//! Batches of held-out windows on the device, for probes.

use super::ProbeInputs;
use crate::{
    corpus::Windows,
    nn::{Result, Tensor},
};

pub(super) struct WindowBatch<'w> {
    /// Ids, `(B, T)`.
    pub tokens: Tensor,
    /// The id after each of them, `(B T)`; [`IGNORE`](crate::nn::IGNORE) where none is asked for.
    pub targets: &'w [u32],
}

impl<'a> ProbeInputs<'a> {
    /// The windows in order, `rows` in a batch; the last batch may have fewer.
    pub(super) fn batches<'w>(
        &self,
        windows: &'w Windows,
        rows: usize,
    ) -> impl Iterator<Item = Result<WindowBatch<'w>>> + use<'a, 'w> {
        let (len, device) = (windows.len.max(1), self.device);
        let batch = move |(inputs, targets): (&'w [u32], &'w [u32])| -> Result<WindowBatch<'w>> {
            Ok(WindowBatch { tokens: Tensor::from_slice(inputs, (inputs.len() / len, len), device)?, targets })
        };
        windows.inputs.chunks(rows * len).zip(windows.targets.chunks(rows * len)).map(batch)
    }
}
