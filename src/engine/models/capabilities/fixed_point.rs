//! A map that refines a state and may be applied again and again.

use candle_core::{Result, Tensor};

/// A model whose forward pass refines a state by a map G.
pub trait FixedPointModel {
    /// The tap prefix of the states `(B, T, D)` that the map starts from: one path a round, each beginning with it.
    fn start_tap(&self) -> &'static str;

    /// G(x) without gradients: `(B, T, D)` -> `(B, T, D)`.
    fn refine(&self, x: &Tensor) -> Result<Tensor>;

    /// True if a learned projection replaces the iterations, so that the state before any is of interest.
    fn has_learned_projector(&self) -> bool;

    /// True if the forward pass solves x = x0 + G(x) - x instead of applying G a given number of times.
    fn solves_anchored_equation(&self) -> bool;
}
