//! Measurements of a flow over depth: answers at a control, fields, sweeps, claims.

use super::measurement;

mod along;
mod answer;
mod arguments;
mod claims;
mod field;
mod solver;
mod sweep;

pub use along::{FlowAlong, FlowAlongArgs, FlowMotion};
pub use answer::{
    FlowAnswer, FlowControl, FlowOutcome, FlowPaths, LanguageOutcome, NextToken, PlanarOutcome, SteeringClass,
    SteeringClasses,
};
pub use arguments::FlowArgs;
pub use claims::{ClaimedContinuations, ClassShares, ClassTokens, FlowClaims, FlowClaimsArgs};
pub use field::{FieldExtent, FlowField, FlowFieldArgs};
pub use solver::{SolverAttempt, SolverTrace, SolverUse, StepPolicy};
pub use sweep::{
    ClassCurves, ControlCurve, FlowSweepActivation, FlowSweepArgs, FlowSweepClass, FlowSweepDifficulty,
    FlowSweepGradientError, FlowSweepGradientMemory, FlowSweepInvariance, FlowSweepKind, FlowSweepLatency,
    FlowSweepLayers, FlowSweepNfe, FlowSweepTolerance, GradientCurve, GradientMethod, NfeCurve, SteeringCurves,
    SweepProgress, ToleranceCurve,
};
