//! Two streams of different speed, the gate between them, and the map that refines the fast one.

use candle_core::{Result, Tensor};

use super::{super::Model, layers::AttentionLayer};
use crate::nn::pooling::Upsample;

/// A fast stream of one state per token and a slow one of one state per block, coupled in rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TwoTimescales {
    /// Tokens of a block.
    pub pool: usize,
    /// The number of injections of the slow stream into the fast one.
    pub rounds: usize,
    /// Channels of both streams.
    pub width: usize,
}

impl TwoTimescales {
    /// The tap path of the fast stream `(B, T, D)` before a round's coupling.
    pub fn fast_tap(&self, round: usize) -> String {
        format!("x.r{round}")
    }

    /// The tap path of a round's slow stream, brought back to token rate `(B, T, D)`.
    pub fn slow_tap(&self, round: usize) -> String {
        format!("y_up.r{round}")
    }

    /// True for an attention layer of the fast stream that follows the injection of this round.
    pub fn follows_injection(&self, layer: &AttentionLayer, round: usize) -> bool {
        layer.path.starts_with("post.") && layer.path.ends_with(&format!(".r{round}"))
    }
}

/// The coupling of the slow stream into the fast one. A probe that changes it restores it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CouplingSettings {
    /// s in s tanh(gamma).
    pub coupling_scale: f64,
    /// An absolute gate in place of s tanh(gamma).
    pub gate: Option<f64>,
    /// The method that brings the slow stream to the rate of the fast one.
    pub upsample: Upsample,
}

/// A model whose streams are coupled through one gate.
pub trait CouplingModel: Model {
    /// Returns the coupling that is in force.
    fn coupling_settings(&self) -> CouplingSettings;
    /// Changes the coupling; the weights do not change.
    fn set_coupling_settings(&mut self, settings: CouplingSettings);
    /// s tanh(gamma), or the absolute gate where one is set.
    fn effective_gate(&self) -> Result<f64>;
}

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
