//! The sizes of a model with synapses, as values.

use crate::nn::fused::linear_attention::LinearAttentionSpec;

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
    /// The id of the form of the residuals: `code`, `paper` or `both`.
    pub form: &'static str,
    /// The logits are a learned mean over all layers, of which no single one is the last.
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
