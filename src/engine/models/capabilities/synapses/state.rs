//! What is kept of all that was read: a state of fixed size, so that there is no limit to its past.

use candle_core::{Device, Result, Tensor};

use super::SynapseShape;

/// What has been read, and how much of it.
#[derive(Debug, Clone)]
pub struct State {
    /// By layer.
    pub layers: Vec<Tensor>, // (B, nh, N, D)
    /// Tokens read.
    pub at: usize,
    /// Of synapses that are changed, by synapse and row: what the synapse holds, and what the one that turns with it
    /// does. Empty until such a change is read under.
    pub traces: Vec<[f64; 2]>,
}

impl State {
    /// Nothing read yet, for this many rows.
    pub fn empty(shape: &SynapseShape, rows: usize, device: &Device) -> Result<Self> {
        let sizes = (rows, shape.heads, shape.per_head(), shape.d_model);
        let zeros = || Tensor::zeros(sizes, candle_core::DType::F32, device);
        Ok(Self { layers: (0..shape.layers).map(|_| zeros()).collect::<Result<_>>()?, at: 0, traces: vec![] })
    }
}
