//! The memory of a training step, computed from sizes alone, so that a run too large for its machine is refused before
//! anything is allocated. Each family counts its own weights and activations ([`FamilySpec`](super::FamilySpec)); here
//! is what they have in common. Counts are of 32-bit numbers, and floats: a product of settings may be larger than any
//! integer. It builds and measures nothing.

use crate::nn::fused::attention::AttentionSpec;

/// Sizes of a step's batch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepSizes {
    /// The number of ids of the vocabulary.
    pub vocab: f64,
    /// Windows of a batch.
    pub rows: f64,
    /// Tokens of a window.
    pub tokens: f64,
}

impl StepSizes {
    /// Positions of a batch.
    pub fn positions(&self) -> f64 {
        self.rows * self.tokens
    }
}

/// The counts of a step of one model at its peak.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepMemory {
    /// The number of weights.
    pub weights: f64,
    /// The number of those weights that several uses of a block share in a step, which adds flattened and packed
    /// copies.
    pub shared: f64,
    /// Everything that scales with the batch.
    pub activations: f64,
}

/// Bytes of a number.
const BYTES_PER_NUMBER: f64 = 4.0;
/// Weights, their gradients, and the two moments of AdamW.
const NUMBERS_PER_WEIGHT: f64 = 4.0;
/// Copies of a shared weight: flat, packed for forward and for backward, and the gradient of the flat form.
const NUMBERS_PER_SHARED_WEIGHT: f64 = 4.0;
/// Bytes that a process holds besides: tables, the graph's small values, the allocator's own.
const OVERHEAD_BYTES: f64 = 1e6;

impl StepMemory {
    /// Bytes that stay between two steps: weights and moments.
    pub fn resting_bytes(&self) -> f64 {
        BYTES_PER_NUMBER * 3.0 * self.weights
    }

    /// Bytes of a model that only answers questions: its weights.
    pub fn weights_bytes(&self) -> f64 {
        BYTES_PER_NUMBER * self.weights
    }

    /// The largest number of bytes that one forward pass takes.
    pub fn forward_bytes(&self) -> f64 {
        BYTES_PER_NUMBER * (self.shared + self.activations)
    }

    /// Bytes at the peak of a step, those that stay included.
    pub fn peak_bytes(&self) -> f64 {
        let of_weights = NUMBERS_PER_WEIGHT * self.weights + NUMBERS_PER_SHARED_WEIGHT * self.shared;
        OVERHEAD_BYTES + BYTES_PER_NUMBER * (of_weights + self.activations)
    }
}

/// Sizes of a pre-norm block ([`crate::nn::block`]).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BlockSizes {
    /// The width of the residual stream.
    pub d_model: usize,
    /// The number of query heads.
    pub heads: usize,
    /// The number of key and value heads.
    pub kv_heads: usize,
    /// The width of the MLP.
    pub hidden: usize,
    /// True if the MLP has a gate in addition to its input projection.
    pub gated: bool,
    /// Biases and LayerNorm as in GPT-2; else RMSNorm, and norms of queries and keys.
    pub has_biases: bool,
}

impl BlockSizes {
    /// The sizes of GPT-2: four times as many hidden units as channels.
    pub fn gpt2(d_model: usize, heads: usize) -> Self {
        Self { d_model, heads, kv_heads: heads, hidden: 4 * d_model, gated: false, has_biases: true }
    }

    /// Those of a block without biases whose MLP has a gate.
    pub fn llama(d_model: usize, heads: usize, kv_heads: usize, hidden: usize) -> Self {
        Self { d_model, heads, kv_heads, hidden, gated: true, has_biases: false }
    }

    fn kv(&self) -> f64 {
        self.kv_heads as f64 * (self.d_model as f64 / self.heads.max(1) as f64).floor()
    }

    /// Width of the MLP's input projection.
    fn mlp_width(&self) -> f64 {
        self.hidden as f64 * if self.gated { 2.0 } else { 1.0 }
    }

    /// Returns the number of weights of the block.
    pub fn weights(&self) -> f64 {
        let (d, kv, hidden) = (self.d_model as f64, self.kv(), self.hidden as f64);
        let maps = 2.0 * d * d + 2.0 * d * kv + d * self.mlp_width() + d * hidden;
        let head = (d / self.heads.max(1) as f64).floor();
        match self.has_biases {
            true => maps + 2.0 * d + 2.0 * d + (d + 2.0 * kv) + self.mlp_width() + 2.0 * d,
            false => maps + 2.0 * d + 2.0 * head,
        }
    }

    /// The numbers that a block saves for backward over this many positions in texts of `tokens`: queries, keys and values,
    /// attention's result, the state between both sublayers, the MLP's hidden units, the block's own result, and of short
    /// texts the attention weights.
    pub fn saved(&self, positions: f64, tokens: f64) -> f64 {
        let (d, heads) = (self.d_model as f64, self.heads as f64);
        let attention = AttentionSpec::plain(self.d_model, self.heads.max(1));
        // up to the diagonal, and half of each block of rows beyond it
        let weights = match attention.saves_weights(tokens as usize) {
            true => (tokens + tokens.min(ATTENTION_BLOCK)) / 2.0,
            false => 0.0,
        };
        positions * (4.0 * d + 2.0 * self.kv() + self.mlp_width() + heads * (2.0 + weights))
    }

    /// The numbers that the backward pass of one block needs in addition: the inputs of each projection again, and
    /// their gradients.
    pub fn backward(&self, positions: f64) -> f64 {
        let d = self.d_model as f64;
        positions * (6.0 * d + 2.0 * self.kv() + self.mlp_width() + self.hidden as f64)
    }
}

/// Rows of a block of attention weights.
const ATTENTION_BLOCK: f64 = 64.0;
/// Largest number of groups of rows whose gradients of the head are summed apart, and rows of a block of logits.
const HEAD_GROUPS: f64 = 8.0;
const HEAD_ROWS: f64 = 128.0;

/// The numbers that the head and its loss hold: the gradient of its input, a sum of its own gradient for each group of
/// rows, and a block of logits.
pub fn head(d_model: usize, step: &StepSizes) -> f64 {
    let (d, n) = (d_model as f64, step.positions());
    let groups = (n / HEAD_ROWS).ceil().clamp(1.0, HEAD_GROUPS);
    2.0 * n * d + (groups + 1.0) * step.vocab * d + 2.0 * HEAD_ROWS * step.vocab
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attention_weights_of_short_texts_are_counted() {
        // heads of 8 channels save the weights of up to 64 tokens
        let block = BlockSizes::gpt2(32, 4);
        let of_position = |tokens: f64| block.saved(tokens, tokens) / tokens;
        let beside = 4.0 * 32.0 + 2.0 * 32.0 + 128.0 + 2.0 * 4.0;
        assert_eq!(of_position(65.0), beside);
        assert_eq!(of_position(64.0), beside + 4.0 * 64.0);
        assert_eq!(of_position(10.0), beside + 4.0 * 10.0);
        // wider heads save those of longer texts, half of them beyond the diagonal
        let wide = BlockSizes::gpt2(128, 4);
        assert_eq!(wide.saved(256.0, 256.0) / 256.0, 4.0 * 128.0 + 2.0 * 128.0 + 512.0 + 4.0 * (2.0 + 160.0));
    }
}
