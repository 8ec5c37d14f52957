//! How far Euler's steps end from the flow itself.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{FlowSweepArgs, SweepProgress, measurement};
use crate::telemetry::number::{Float, Numbers};

/// Divergence of Euler's method from a fine adaptive solve, against its steps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FlowSweepInvariance {
    /// The points of the sweep that are done so far.
    pub progress: SweepProgress,
    /// m: Euler steps; one a point of the lists below.
    pub steps: Vec<usize>,
    /// One a control.
    pub controls: Vec<ControlCurve>,
    /// The value that the source reports of its own flow, percent.
    #[serde(with = "Float")]
    pub source_percent: f64,
}

/// The divergence of Euler's method at one control.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ControlCurve {
    /// u0: the first control.
    #[serde(with = "Float")]
    pub u0: f64,
    /// |H_euler - H| / |H| at depth 1, percent; NaN where either solve failed.
    pub percent: Numbers,
}

measurement!(FlowSweepInvariance, channel: "flow.sweep.invariance", asked: FlowSweepArgs);
