//! The sizes of a model with synapses, its recurrent state, and facts that its weights do not show.

use std::path::PathBuf;

use candle_core::{Device, Result, Tensor};

use crate::{nn::fused::linear_attention::LinearAttentionSpec, telemetry::measurements::Evidence};

/// Sizes of a model with synapses, and the effect of time on them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SynapseShape {
    /// The width D of the residual stream.
    pub d_model: usize,
    /// The number of heads, nh.
    pub heads: usize,
    /// The number of neurons of all heads together, n = nh N.
    pub neurons: usize,
    /// The number of layers, L.
    pub layers: usize,
    /// The rotation and damping of what attention wrote before.
    pub attention: LinearAttentionSpec,
    /// The id of the effect of time on a synapse: `rope`, `alibi`, `both` or `nothing`.
    pub position: &'static str,
    /// The id of the form of the residuals: `code`, `paper`, `both`, `final_norm` or `normfree`.
    pub form: &'static str,
    /// True if the logits are a learned mean over all layers, so that no single layer is the last.
    pub gated: bool,
    /// The neurons of each head of a merged model, by the model that they come from, in order.
    pub provenance: Vec<usize>,
}

impl SynapseShape {
    /// The number of neurons of a head, N.
    pub fn per_head(&self) -> usize {
        self.neurons / self.heads.max(1)
    }

    /// 3 n D + 2 V D, and the parameters of the gates.
    pub fn parameters(&self, vocab: usize) -> usize {
        let gates = if self.gated { self.heads * (self.d_model + 1) + self.layers } else { 0 };
        3 * self.neurons * self.d_model + 2 * vocab * self.d_model + gates
    }

    /// The turns (of 2π) by which each pair of a head's neurons rotates per token, `(N / 2)`.
    pub fn turns_per_token(&self) -> Vec<f32> {
        self.attention.pair_frequencies(self.per_head())
    }

    /// The merged model that a neuron comes from, counted from 0, if this is a merged one.
    pub fn parent(&self, neuron: usize) -> Option<usize> {
        let mut left = neuron % self.per_head().max(1);
        self.provenance.iter().position(|n| {
            let within = left < *n;
            left = left.saturating_sub(*n);
            within
        })
    }
}

/// The state after the tokens that were read, and their number. It has a fixed size, so that there is no limit to its past.
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

/// A number and its source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownNumber {
    /// The number.
    pub value: usize,
    /// The source of the number.
    pub from: Evidence,
}

/// The facts about a checkpoint.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CheckpointFacts {
    /// The path of the file of weights.
    pub path: PathBuf,
    /// L, which cannot be read from weights that all layers share.
    pub layers: Option<KnownNumber>,
    /// Tokens of the windows that the model was trained on.
    pub window: Option<KnownNumber>,
}
