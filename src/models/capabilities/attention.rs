//! Where a model's attention can be tapped, and what uniform attention would look like there. It
//! does not know how the weights are computed.

/// One attention layer of a forward pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttentionLayer {
    /// Path of the layer (`layers.0`); its weights `(B, H, T', T')` are tapped at [`Self::tap_path`].
    pub path: String,
    /// Tokens that one row or column of the map stands for: T' = ceil(T / this).
    pub tokens_per_position: usize,
    /// Position t sees positions t-window+1..=t; `None` sees the whole past.
    pub window: Option<usize>,
    /// A weight is the difference of two softmax weights: it may be negative, and rows do not sum to 1.
    pub is_differential: bool,
}

impl AttentionLayer {
    /// A layer at token rate.
    pub fn of_tokens(path: impl Into<String>, window: Option<usize>) -> Self {
        Self { path: path.into(), tokens_per_position: 1, window, is_differential: false }
    }

    /// Layers `<name>.0`, `<name>.1`, ... at token rate.
    pub fn stack(name: &str, layers: usize, window: Option<usize>) -> Vec<Self> {
        (0..layers).map(|i| Self::of_tokens(format!("{name}.{i}"), window)).collect()
    }

    /// The layer, said to be differential or not.
    pub fn with_differences(self, is_differential: bool) -> Self {
        Self { is_differential, ..self }
    }

    /// Path under which a [`Tap`](crate::nn::Tap) finds the weights.
    pub fn tap_path(&self) -> String {
        format!("{}.attn.weights", self.path)
    }

    /// Entropy (nats, mean over `rows` queries) of attention spread evenly over the positions that each
    /// query may see.
    pub fn uniform_entropy(&self, rows: usize) -> f64 {
        (0..rows).map(|t| (self.seen(t) as f64).ln()).sum::<f64>() / rows.max(1) as f64
    }

    /// Weights `(rows, rows)` of attention spread so.
    pub fn uniform_weights(&self, rows: usize) -> Vec<f32> {
        let mut weights = vec![0.0; rows * rows];
        for (t, row) in weights.chunks_mut(rows.max(1)).enumerate() {
            let seen = self.seen(t);
            row[t + 1 - seen..=t].fill(1.0 / seen as f32);
        }
        weights
    }

    /// Whether uniform attention is the same in both, along the same text.
    pub fn has_uniform_of(&self, other: &Self) -> bool {
        (self.tokens_per_position, self.window) == (other.tokens_per_position, other.window)
    }

    /// How many positions query `t` may see.
    pub fn seen(&self, t: usize) -> usize {
        (t + 1).min(self.window.unwrap_or(usize::MAX)).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_limits_what_uniform_attention_sees() {
        let layer = |window| AttentionLayer::of_tokens("layers.0", window);
        assert!((layer(Some(2)).uniform_entropy(4) - 3.0 * 2f64.ln() / 4.0).abs() < 1e-12);
        assert!((layer(None).uniform_entropy(3) - 6f64.ln() / 3.0).abs() < 1e-12);
        assert_eq!(layer(None).uniform_entropy(0), 0.0);
        assert_eq!(layer(Some(2)).uniform_weights(3), [1.0, 0.0, 0.0, 0.5, 0.5, 0.0, 0.0, 0.5, 0.5]);
    }
}
