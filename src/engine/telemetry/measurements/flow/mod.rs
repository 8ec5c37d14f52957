//! What is measured of a flow over depth: answers at a control, fields, sweeps, claims.

use super::measurement;

mod along;
mod answer;
mod claims;
mod field;
mod solver;
mod sweep;

pub use along::{FlowAlong, FlowMotion};
pub use answer::{
    FlowAnswer, FlowControl, FlowOutcome, FlowPaths, LanguageOutcome, NextToken, PlanarOutcome, SteeringClass,
    SteeringClasses,
};
pub use claims::{ClaimedContinuations, ClassShares, ClassTokens, FlowClaims};
pub use field::{FieldExtent, FlowField};
pub use solver::{SolverAttempt, SolverTrace, SolverUse, StepPolicy};
pub use sweep::{
    ClassCurves, ControlCurve, FlowSweepClass, FlowSweepGradientError, FlowSweepGradientMemory, FlowSweepInvariance,
    FlowSweepLatency, FlowSweepLayers, FlowSweepNfe, FlowSweepTolerance, GradientCurve, GradientMethod, NfeCurve,
    SweepProgress, ToleranceCurve,
};
