//! Layers whose activations can be tapped: of attention, with uniform attention to compare with; of a residual stream,
//! which read a mix of the outputs of earlier layers; and blocks of moving averages.

/// One attention layer of a forward pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttentionLayer {
    /// Path of the layer (`layers.0`); its weights `(B, H, T', T')` are tapped at [`Self::tap_path`].
    pub path: String,
    /// Tokens that one row or column of the map stands for: T' = ceil(T / this).
    pub tokens_per_position: usize,
    /// Position t sees positions t-window+1..=t; `None` sees the whole past.
    pub window: Option<usize>,
    /// Position t sees t. Where it does not, attention is strictly causal: the first position sees nothing, and its row
    /// is 0.
    pub attends_to_self: bool,
    /// A weight is the difference of two softmax weights: it may be negative, and rows do not sum to 1.
    pub is_differential: bool,
}

impl AttentionLayer {
    /// A layer at token rate.
    pub fn at_token_rate(path: impl Into<String>, window: Option<usize>) -> Self {
        Self { path: path.into(), tokens_per_position: 1, window, attends_to_self: true, is_differential: false }
    }

    /// Returns layers named `<name>.0`, `<name>.1`, .., which attend at token rate.
    pub fn stack(name: &str, layers: usize, window: Option<usize>) -> Vec<Self> {
        (0..layers).map(|i| Self::at_token_rate(format!("{name}.{i}"), window)).collect()
    }

    /// Path under which a [`Tap`](crate::nn::Tap) finds the weights.
    pub fn tap_path(&self) -> String {
        format!("{}.attn.weights", self.path)
    }

    /// Entropy (nats, mean over `rows` queries) of attention spread evenly over the positions that each
    /// query may see.
    pub fn uniform_entropy(&self, rows: usize) -> f64 {
        (0..rows).map(|t| self.uniform_row_entropy(t)).sum::<f64>() / rows.max(1) as f64
    }

    /// The entropy (nats) of query `t`'s attention if it is uniform; 0 if the query sees no position.
    pub fn uniform_row_entropy(&self, t: usize) -> f64 {
        (self.seen(t).max(1) as f64).ln()
    }

    /// The weights `(rows, rows)` of uniform attention.
    pub fn uniform_weights(&self, rows: usize) -> Vec<f32> {
        let mut weights = vec![0.0; rows * rows];
        for (t, row) in weights.chunks_mut(rows.max(1)).enumerate() {
            let (seen, end) = (self.seen(t), self.visible_end(t));
            row[end - seen..end].fill(1.0 / seen as f32);
        }
        weights
    }

    /// True if uniform attention is the same in both layers along the same text.
    pub fn shares_uniform_attention(&self, other: &Self) -> bool {
        let seen = |layer: &Self| (layer.tokens_per_position, layer.window, layer.attends_to_self);
        seen(self) == seen(other)
    }

    /// The number of positions that query `t` may see.
    pub fn seen(&self, t: usize) -> usize {
        self.visible_end(t).min(self.window.unwrap_or(usize::MAX).max(1))
    }

    /// The first position that query `t` does not see.
    fn visible_end(&self, t: usize) -> usize {
        t + usize::from(self.attends_to_self)
    }
}

/// Layers one after another; what the last norm reads is tapped at `final`, `(B, T, D)` as all of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResidualLayers {
    /// The number of layers.
    pub layers: usize,
}

impl ResidualLayers {
    /// The tap path of what a layer reads.
    pub fn input_tap(layer: usize) -> String {
        format!("layers.{layer}.input")
    }

    /// The tap path of what a layer adds to it.
    pub fn added_tap(layer: usize) -> String {
        format!("layers.{layer}.added")
    }

    /// The tap paths of what each layer reads, and of what the last norm reads.
    pub fn input_taps(&self) -> Vec<String> {
        (0..self.layers).map(Self::input_tap).chain(["final".to_owned()]).collect()
    }
}

/// A stack of blocks whose only view of the past are exponential moving averages of their input: three traces, a prediction
/// from them, and a sparse feed-forward layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceBlocks {
    /// The number of blocks.
    pub blocks: usize,
    /// The channels of a token's state and of each trace.
    pub channels: usize,
    /// The units of the feed-forward layer.
    pub units: usize,
    /// Units that are kept for a token.
    pub kept: usize,
}

impl TraceBlocks {
    /// The traces, fast to slow, as taps and legends call them.
    pub const TRACES: [&str; 3] = ["fast", "medium", "slow"];

    /// The tap path of a block's part of this name: `input`, `fast`, `medium`, `slow`, `error` `(B, T, D)`; `units`
    /// `(B, T, F)`, zero except for the kept ones; `rate_fast`, `rate_medium`, `rate_slow`, the coefficients `(D)`
    /// or `(B, T, D)`.
    pub fn tap_path(&self, block: usize, part: &str) -> String {
        format!("{}.{part}", Self::path(block))
    }

    /// The tap path of a block.
    pub fn path(block: usize) -> String {
        format!("blocks.{block}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_limits_what_uniform_attention_sees() {
        let layer = |window| AttentionLayer::at_token_rate("layers.0", window);
        assert!((layer(Some(2)).uniform_entropy(4) - 3.0 * 2f64.ln() / 4.0).abs() < 1e-12);
        assert!((layer(None).uniform_entropy(3) - 6f64.ln() / 3.0).abs() < 1e-12);
        assert_eq!(layer(None).uniform_entropy(0), 0.0);
        assert_eq!(layer(Some(2)).uniform_weights(3), [1.0, 0.0, 0.0, 0.5, 0.5, 0.0, 0.0, 0.5, 0.5]);
    }

    #[test]
    fn strictly_causal_attention_sees_the_past_alone() {
        let layer = AttentionLayer { attends_to_self: false, ..AttentionLayer::at_token_rate("blocks.0", None) };
        assert_eq!((layer.seen(0), layer.seen(3)), (0, 3));
        assert_eq!(layer.uniform_weights(3), [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.5, 0.5, 0.0]);
        assert!((layer.uniform_entropy(3) - 2f64.ln() / 3.0).abs() < 1e-12);
        assert!(!layer.shares_uniform_attention(&AttentionLayer::at_token_rate("blocks.0", None)));
    }
}
