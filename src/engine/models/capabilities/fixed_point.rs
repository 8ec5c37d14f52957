//! A map that refines a state and may be applied again and again.

use candle_core::{Result, Tensor};

/// A model whose forward pass refines a state by a map G.
pub trait FixedPointModel {
    /// The tap prefix of the states `(B, T, D)` that the map starts from: one path per round, each beginning with it.
    fn start_tap(&self) -> &'static str;

    /// G(x) without gradients: `(B, T, D)` -> `(B, T, D)`.
    fn refine(&self, x: &Tensor) -> Result<Tensor>;

    /// True if a learned projection replaces the iterations, so that the state before any iteration matters too.
    fn has_learned_projector(&self) -> bool;

    /// The tap prefix of the states before the injection, as [`FixedPointModel::start_tap`].
    fn before_tap(&self) -> &'static str;

    /// The equation that the forward pass solves, if it solves one instead of applying G a given number of times.
    fn equation(&self) -> Option<SolvedEquation>;
}

/// An equation for a refined state x. x0 is the state after the injection, u what was injected, R(x) = G(x) - x.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SolvedEquation {
    /// x = x0 + R(x).
    BackwardEuler,
    /// R(x) + u = 0.
    Forced,
}
