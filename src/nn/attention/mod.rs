//! Attention as a part of a block: what every variant offers, one variant a file. A new variant is one
//! file with an [`Attention`] in it; the block that it is plugged into does not change.

mod differential;
mod grouped_query;
mod packed;

use candle_core::{Result, Tensor};

pub use differential::{DifferentialAttention, DifferentialSpec};
pub use grouped_query::{GroupedQueryAttention, GroupedQuerySpec};
pub use packed::PackedAttention;

use super::{Tap, fused::attention::AttentionSpec};

/// Causal attention from a normalised state to what is added to the residual stream.
pub trait Attention: std::fmt::Debug + Send + Sync {
    /// x `(B, T, D)` -> `(B, T, D)`. Offers the weights `(B, H, T, T)` to the tap at `path`; where the tap
    /// wants them, they are computed even if the output does not need them as a tensor.
    fn forward(&self, x: &Tensor, tap: &mut Tap, path: &str) -> Result<Tensor>;

    /// What a block in one operation needs to compute this attention; `None` of a variant that the operation
    /// does not know, whose block then is several operations.
    fn fused(&self) -> Option<FusedAttention<'_>> {
        None
    }
}

/// An attention as [`fused::layer`](super::fused::layer) computes it.
pub struct FusedAttention<'a> {
    pub spec: AttentionSpec,
    /// Whether queries and keys are normalised.
    pub qk_norms: bool,
    /// Whether the linear maps have biases.
    pub has_biases: bool,
    /// In the order of [`LayerSpec`](super::fused::layer::LayerSpec).
    pub weights: Vec<&'a Tensor>,
}
