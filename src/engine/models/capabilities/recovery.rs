//! Readers that name the token k steps back.

use candle_core::{Result, Tensor};

/// A model that answers which token was read k steps ago, for all its distances at once.
pub trait RecoveryModel {
    /// Distances k that are asked, in tokens, ascending; K of them.
    fn distances(&self) -> &[usize];

    /// Positions of a window of `len` tokens that have a token at every distance, every `stride`th of
    /// them; P of them. An error where the window is too short.
    fn positions(&self, len: usize, stride: usize) -> Result<Vec<usize>>;

    /// Tokens u32 `(B, T)` -> logits `(P, B, K, V)` at these positions.
    fn answers(&self, tokens: &Tensor, positions: &[usize]) -> Result<Tensor>;

    /// The tokens that should be named: u32 `(P, B, K)`.
    fn target_ids(&self, tokens: &Tensor, positions: &[usize]) -> Result<Tensor>;
}
