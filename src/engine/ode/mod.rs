//! Ordinary differential equations dy/dt = f(t, y) on tensors: explicit Runge-Kutta methods of fixed and adaptive
//! steps, written once for all, with a full trace of what was tried, and three ways to gradients. Time and step control
//! are f64, the state is of any floating type and shape.

use std::sync::Arc;

use candle_core::{Result, Tensor};
use serde::{Deserialize, Serialize};

mod error;
mod gradients;
mod solve;
mod state;
mod step;

pub use crate::analysis::runge_kutta::{Method, Policy, Tableau};
pub use error::{SolveError, SolveFailure};
pub use solve::{solve, solve_at, solve_for};

/// The times of a solve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Span {
    /// t0, of the start.
    pub start: f64,
    /// The end time t1, after the start.
    pub end: f64,
}

impl Span {
    /// The span from 0 to 1: the depth of a flow.
    pub const UNIT: Self = Self { start: 0.0, end: 1.0 };
}

/// The right-hand side. Closures of `(t, &y)` are fields.
pub trait Field {
    /// dy/dt at time t, of y's shape and type.
    fn at(&self, t: f64, y: &Tensor) -> Result<Tensor>;

    /// y + h f(t, y), of a field that has it cheaper than the slope and the sum; `None` of one that does not.
    fn euler_step(&self, _t: f64, _y: &Tensor, _h: f64) -> Result<Option<Tensor>> {
        Ok(None)
    }
}

impl<F: Fn(f64, &Tensor) -> Result<Tensor>> Field for F {
    fn at(&self, t: f64, y: &Tensor) -> Result<Tensor> {
        self(t, y)
    }
}

/// A field that a backward pass shares with the forward one.
pub type SharedField = Arc<dyn Field + Send + Sync>;

/// The way that gradients take from the end of a solve to its start and to the field's weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gradient {
    /// Backpropagates through every operation of every step: exact for the computed numbers, but every intermediate value is
    /// kept. Steps that an adaptive method chose count as constants. candle walks a graph by recursion, so thousands of
    /// steps need a thread with a large stack, or another method.
    Backprop,
    /// Gives the same gradients, but recomputes each step during backward, so that only one or two states per step are
    /// kept.
    Checkpointed,
    /// Solves the adjoint equation backwards (Chen et al. 2018); only the end state is kept, and the gradients are as exact
    /// as both solves.
    Adjoint,
}

/// Same as [`solve()`], with an end state through which gradients flow, by the given method. `weights` are the variables
/// of the field that get gradients.
///
/// # Errors
/// Those of [`solve()`]; a weight that is not a variable is an error of the field.
pub fn solve_with(
    gradient: Gradient,
    field: &SharedField,
    weights: &[Tensor],
    y0: &Tensor,
    span: Span,
    options: &SolverOptions,
) -> std::result::Result<Solution, SolveError> {
    match gradient {
        Gradient::Backprop => solve(field.as_ref(), y0, span, options),
        Gradient::Checkpointed => gradients::checkpointed(field, weights, y0, span, options),
        Gradient::Adjoint => gradients::adjoint(field, weights, y0, span, options),
    }
}

/// The options of a solve.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SolverOptions {
    /// The Runge-Kutta method.
    pub method: Method,
    /// The rule by which an adaptive method ends the span.
    pub policy: Policy,
    /// Relative tolerance of adaptive methods.
    pub rtol: f64,
    /// Absolute tolerance of adaptive methods, in units of the state.
    pub atol: f64,
    /// Equal steps of a fixed-step method.
    pub steps: usize,
    /// The first step in units of t; `None` lets an adaptive method choose, which costs one evaluation.
    pub first_step: Option<f64>,
    /// The limit of attempts of an adaptive method, rejected ones included.
    pub max_attempts: usize,
    /// Keep the state at the start, at the end of each accepted step, and at the end.
    pub keep_states: bool,
}

impl Default for SolverOptions {
    fn default() -> Self {
        Self {
            method: Method::DOPRI5,
            policy: Policy::Interpolate,
            rtol: 1e-3,
            atol: 1e-3,
            steps: 4,
            first_step: None,
            max_attempts: 10_000,
            keep_states: false,
        }
    }
}

impl SolverOptions {
    /// `steps` equal steps of a fixed-step method.
    pub fn fixed(method: Method, steps: usize) -> Self {
        Self { method, steps, ..Self::default() }
    }

    /// An adaptive method with one number for both tolerances.
    pub fn adaptive(method: Method, policy: Policy, tolerance: f64) -> Self {
        Self { method, policy, rtol: tolerance, atol: tolerance, ..Self::default() }
    }
}

/// One try at a step.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Attempt {
    /// The time at its start.
    pub t: f64,
    /// Its length.
    pub h: f64,
    /// E: the estimated error over the tolerated one; 0 for methods of fixed steps.
    pub error: f64,
    /// True if the step was taken.
    pub accepted: bool,
    /// True if the next step was capped at ten times this one, so that its length says nothing about the curvature of
    /// the path.
    pub growth_capped: bool,
}

/// The record of a solve as plain data.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Trace {
    /// The first step tried.
    pub h_init: f64,
    /// Size of the start over the tolerance; with `d1`, `d2` what `h_init` was chosen by (0 if given).
    pub d0: f64,
    /// Size of the first slope over the tolerance.
    pub d1: f64,
    /// Size of the slope's change over the tolerance.
    pub d2: f64,
    /// All attempts in order.
    pub attempts: Vec<Attempt>,
    /// Evaluations of the field.
    pub nfe: usize,
}

impl Trace {
    /// The number of accepted attempts.
    pub fn accepted(&self) -> usize {
        self.attempts.iter().filter(|a| a.accepted).count()
    }

    /// The number of rejected attempts.
    pub fn rejected(&self) -> usize {
        self.attempts.len() - self.accepted()
    }
}

/// A solve that reached its end.
#[derive(Debug, Clone)]
pub struct Solution {
    /// y(t1); carries gradients if the start or the field's weights do.
    pub end: Tensor,
    /// The record of the solve.
    pub trace: Trace,
    /// (t, y) at the requested times, detached from the graph.
    pub states: Vec<(f64, Tensor)>,
}
