//! The recurrent state of a text: it has a fixed size, so that there is no limit to its past.

use candle_core::{Device, Result, Tensor};

use super::SynapseShape;

/// The state after the tokens that were read, and their number.
#[derive(Debug, Clone)]
pub struct State {
    /// The state of each layer.
    pub layers: Vec<Tensor>, // (B, nh, N, D)
    /// The number of tokens read.
    pub at: usize,
    /// The values of changed synapses and of their partners under rotation, by synapse and row. Empty until a text is
    /// read under such a change.
    pub traces: Vec<[f64; 2]>,
}

impl State {
    /// The state before the first token, for this many rows.
    pub fn empty(shape: &SynapseShape, rows: usize, device: &Device) -> Result<Self> {
        let sizes = (rows, shape.heads, shape.per_head(), shape.d_model);
        let zeros = || Tensor::zeros(sizes, candle_core::DType::F32, device);
        Ok(Self { layers: (0..shape.layers).map(|_| zeros()).collect::<Result<_>>()?, at: 0, traces: vec![] })
    }
}
