//! The reason why a solve ended early. The message names the reason, the time t, and the attempts made until then.

use std::{error::Error, fmt, sync::Arc};

use super::Trace;

/// The reason of a failed solve.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages name the fields of the variants")]
pub enum SolveFailure {
    /// T <= t0, or one of them is not a number.
    #[error("the end {t1} is not after the start")]
    Span { t1: f64 },
    /// A tolerance that is not above 0.
    #[error("{name} is {value}; it must be above 0 and finite")]
    Tolerance { name: &'static str, value: f64 },
    /// A fixed-step method with no steps.
    #[error("a method of fixed steps needs at least one step")]
    NoSteps,
    /// A first step that is not above 0.
    #[error("the first step is {value}; it must be above 0 and finite")]
    FirstStep { value: f64 },
    /// Output times that do not lie in (t0, T] in rising order; the first that is wrong.
    #[error("output time {value} is not after the one before it")]
    Times { value: f64 },
    /// The state is empty or not of floating-point numbers.
    #[error("the state {0}")]
    State(String),
    /// The start holds a value that is not finite.
    #[error("the start has a value that is not finite")]
    NonFiniteStart,
    /// The field gave a value that is not finite.
    #[error("the field gave a value that is not finite")]
    NonFiniteField,
    /// The field was finite, but the state grew past the largest number.
    #[error("the state grew past the largest number")]
    Overflow,
    /// A step too small to move t.
    #[error("the step {h:e} is too small to move on")]
    Underflow { h: f64 },
    /// The solve reached the largest allowed number of attempts.
    #[error("the end was not reached in {max} attempts")]
    TooManyAttempts { max: usize },
    /// The field gave a tensor unlike the state, or has weights that no gradient can be given to.
    #[error("the field failed: {0}")]
    Field(String),
    /// The field itself failed.
    #[error("the field failed: {0}")]
    Failed(FieldFailure),
}

/// The error of a field. Two are equal if they are the same object.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub struct FieldFailure(Arc<candle_core::Error>);

impl PartialEq for FieldFailure {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl From<candle_core::Error> for SolveFailure {
    fn from(error: candle_core::Error) -> Self {
        SolveFailure::Failed(FieldFailure(Arc::new(error)))
    }
}

/// A solve that did not reach its end.
#[derive(Clone)]
pub struct SolveError {
    /// The reason why the solve ended.
    pub reason: SolveFailure,
    /// The time of the failure: that of a field's value, else the start of the step.
    pub t: f64,
    /// The record until then.
    pub trace: Trace,
}

impl fmt::Display for SolveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (t, attempts, nfe) = (self.t, self.trace.attempts.len(), self.trace.nfe);
        write!(f, "ODE solve at t = {t}: {} (after {attempts} attempts, {nfe} evaluations)", self.reason)
    }
}

/// Prints the message alone, since the trace may have thousands of rows.
impl fmt::Debug for SolveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error for SolveError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.reason {
            SolveFailure::Failed(FieldFailure(error)) => Some(error.as_ref()),
            _ => None,
        }
    }
}

impl From<SolveError> for candle_core::Error {
    fn from(failure: SolveError) -> Self {
        candle_core::Error::Msg(failure.to_string())
    }
}
