//! Sweeps of a flow: one quantity varied over a range, measured point by point while a run goes on.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{StepPolicy, measurement};

mod class;
mod gradient_error;
mod gradient_memory;
mod invariance;
mod latency;
mod layers;
mod nfe;
mod tolerance;

pub use class::{ClassCurves, FlowSweepClass};
pub use gradient_error::{FlowSweepGradientError, GradientCurve, GradientMethod};
pub use gradient_memory::FlowSweepGradientMemory;
pub use invariance::{ControlCurve, FlowSweepInvariance};
pub use latency::FlowSweepLatency;
pub use layers::FlowSweepLayers;
pub use nfe::{FlowSweepNfe, NfeCurve};
pub use tolerance::{FlowSweepTolerance, ToleranceCurve};

/// How much of a sweep is measured. The lists of a sweep are as long as its range; from point `done` on
/// they are NaN.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SweepProgress {
    /// Points measured, from the first.
    pub done: usize,
    /// Points of the whole range.
    pub total: usize,
}
