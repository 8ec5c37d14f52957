//! Sweeps of a flow: one quantity varied over a range, measured point by point while a run continues.

use super::{FlowArgs, StepPolicy};
use crate::telemetry::measurements::prelude::*;

mod activation;
mod class;
mod difficulty;
mod gradient_error;
mod gradient_memory;
mod invariance;
mod latency;
mod layers;
mod nfe;
mod tolerance;

pub use self::{
    activation::*, class::*, difficulty::*, gradient_error::*, gradient_memory::*, invariance::*, latency::*,
    layers::*, nfe::*, tolerance::*,
};

measurement! {
    /// How much of a sweep is measured. The lists of a sweep are as long as its range; from point `done` on
    /// they are NaN.
    #[derive(Copy, Eq)]
    pub struct SweepProgress {
        /// Points measured, from the first.
        pub done: usize,
        /// Points of the whole range.
        pub total: usize,
    }
}

choices! {
    /// The quantity that is varied, and the one that is measured of it. Each has a measurement of its own.
    pub enum FlowSweepKind {
        /// Evaluations against the control ([`FlowSweepNfe`]).
        Nfe = "nfe",
        /// Evaluations against the tolerance ([`FlowSweepTolerance`]).
        Tolerance = "tolerance",
        /// Divergence of Euler's method against its steps ([`FlowSweepInvariance`]).
        Invariance = "invariance",
        /// Probabilities of classes of words against the control ([`FlowSweepClass`]).
        Class = "class",
        /// The control compared with activation steering ([`FlowSweepActivation`]).
        Activation = "activation",
        /// Steps of the solver against the surprise of what is read ([`FlowSweepDifficulty`]).
        Difficulty = "difficulty",
        /// Accuracy of a linear probe against depth ([`FlowSweepLayers`]).
        Layers = "layers",
        /// Time of a forward pass ([`FlowSweepLatency`]).
        Latency = "latency",
        /// Errors of gradients against the steps of the solve ([`FlowSweepGradientError`]).
        GradientError = "gradient_error",
        /// Memory of gradients against the steps of the solve ([`FlowSweepGradientMemory`]).
        GradientMemory = "gradient_memory",
    }
}

arguments! {
    /// One quantity of a flow over a range.
    pub struct FlowSweepArgs asks "flow_sweep" with flow: FlowArgs {
        /// The quantities that are varied and measured.
        kind: FlowSweepKind = FlowSweepKind::Nfe,
        /// Points that are wanted, from the first; otherwise all of them.
        upto: Option<usize> = None,
        /// True takes the model as it is now; otherwise a sweep that was begun goes on with the model of then.
        begin: Option<bool> = None,
    }
}
