//! What can be swept: names for a person, channels for the measurements. It draws nothing.

use crate::telemetry::{
    Measurement, Payload,
    measurements::{
        FlowSweepClass, FlowSweepGradientError, FlowSweepGradientMemory, FlowSweepInvariance, FlowSweepLatency,
        FlowSweepLayers, FlowSweepNfe, FlowSweepTolerance, SweepProgress,
    },
};

/// A thing to sweep.
#[derive(Clone, Copy)]
pub struct SweepKind {
    /// Value of the probe's argument `kind`.
    pub id: &'static str,
    pub channel: &'static str,
    pub name: &'static str,
    /// What it asks, in two sentences.
    pub about: &'static str,
    pub needs: Needs,
}

/// What a flow must have for a sweep of it to mean something.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    Flow,
    /// Words at its end.
    Words,
    /// A trained control.
    Steering,
}

/// Place of the evaluations in [`KINDS`]: beneath their chart are others of the same sweep.
pub const NFE: usize = 0;

pub const KINDS: [SweepKind; 8] = [
    SweepKind {
        id: "nfe",
        channel: FlowSweepNfe::CHANNEL,
        name: "evaluations",
        about: "NFE against u for solvers and policies. Triangles mark jumps that the first step's ladder explains, \
                not the flow.",
        needs: Needs::Flow,
    },
    SweepKind {
        id: "tolerance",
        channel: FlowSweepTolerance::CHANNEL,
        name: "tolerance",
        about: "Cost and error against the tolerance. A solver of order p gains p decades of error a decade of step.",
        needs: Needs::Flow,
    },
    SweepKind {
        id: "invariance",
        channel: FlowSweepInvariance::CHANNEL,
        name: "solvers agree",
        about: "How far Euler with m steps ends from dopri5, relative to the state. The source reports 0.068% of its own, \
                nearly idle flow.",
        needs: Needs::Flow,
    },
    SweepKind {
        id: "class",
        channel: FlowSweepClass::CHANNEL,
        name: "class mass",
        about: "Probability of each class against u. A smooth rise means steering by degrees, a step means a switch.",
        needs: Needs::Steering,
    },
    SweepKind {
        id: "layers",
        channel: FlowSweepLayers::CHANNEL,
        name: "readable",
        about: "What a linear probe reads from the state at a depth, cross-validated. Dashed is chance.",
        needs: Needs::Steering,
    },
    SweepKind {
        id: "latency",
        channel: FlowSweepLatency::CHANNEL,
        name: "time",
        about: "Milliseconds of a forward pass, hybrid and baseline measured by turns. What the flow costs here.",
        needs: Needs::Words,
    },
    SweepKind {
        id: "gradient_error",
        channel: FlowSweepGradientError::CHANNEL,
        name: "gradients",
        about: "How far gradients through m steps are from the flow's own. Backpropagation is exact for the steps it \
                made, the adjoint solves backwards and errs on its own.",
        needs: Needs::Words,
    },
    SweepKind {
        id: "gradient_memory",
        channel: FlowSweepGradientMemory::CHANNEL,
        name: "their memory",
        about: "The most that is held while gradients are taken through m steps. Backpropagation keeps all, checkpoints \
                a state a step, the adjoint one.",
        needs: Needs::Words,
    },
];

/// How much of a sweep is there; `None` of what is no sweep.
pub fn progress(payload: &Payload) -> Option<SweepProgress> {
    Some(match payload {
        Payload::FlowSweepNfe(s) => s.progress,
        Payload::FlowSweepTolerance(s) => s.progress,
        Payload::FlowSweepInvariance(s) => s.progress,
        Payload::FlowSweepClass(s) => s.progress,
        Payload::FlowSweepLayers(s) => s.progress,
        Payload::FlowSweepLatency(s) => s.progress,
        Payload::FlowSweepGradientError(s) => s.progress,
        Payload::FlowSweepGradientMemory(s) => s.progress,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::MEASUREMENTS;

    #[test]
    fn every_sweep_that_is_measured_can_be_chosen() {
        let measured = MEASUREMENTS.iter().filter(|m| m.probe == FlowSweepNfe::PROBE).map(|m| m.channel);
        let mut offered: Vec<&str> = KINDS.iter().map(|k| k.channel).collect();
        for channel in measured {
            let at = offered.iter().position(|c| *c == channel);
            offered.remove(at.unwrap_or_else(|| panic!("{channel} cannot be chosen")));
        }
        assert!(offered.is_empty(), "{offered:?}");
        assert_eq!(KINDS[NFE].channel, FlowSweepNfe::CHANNEL);
    }
}
