//! Where a model's softmax attention can be tapped, and what uniform attention would look like there. It
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
}

impl AttentionLayer {
    /// A layer at token rate.
    pub fn of_tokens(path: impl Into<String>, window: Option<usize>) -> Self {
        Self { path: path.into(), tokens_per_position: 1, window }
    }

    /// Layers `<name>.0`, `<name>.1`, ... at token rate.
    pub fn stack(name: &str, layers: usize, window: Option<usize>) -> Vec<Self> {
        (0..layers).map(|i| Self::of_tokens(format!("{name}.{i}"), window)).collect()
    }

    /// Path under which a [`Tap`](crate::nn::Tap) finds the weights.
    pub fn tap_path(&self) -> String {
        format!("{}.attn.weights", self.path)
    }

    /// Entropy (nats, mean over `rows` queries) of attention spread evenly over the positions that each
    /// query may see.
    pub fn uniform_entropy(&self, rows: usize) -> f64 {
        let seen = |t: usize| (t + 1).min(self.window.unwrap_or(usize::MAX)) as f64;
        (0..rows).map(|t| seen(t).ln()).sum::<f64>() / rows.max(1) as f64
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
    }
}
