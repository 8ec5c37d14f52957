//! The kinds of sweep: the name of each, and the type of its measurement.

use super::charts::SweepChart;
use crate::{
    telemetry::measurements::{
        FlowSweepActivation, FlowSweepArgs, FlowSweepClass, FlowSweepDifficulty, FlowSweepGradientError,
        FlowSweepGradientMemory, FlowSweepInvariance, FlowSweepKind, FlowSweepLatency, FlowSweepLayers, FlowSweepNfe,
        FlowSweepTolerance, SweepProgress,
    },
    ui::views::prelude::*,
};

/// A kind of sweep: its texts, and the functions that handle its type of measurement.
#[derive(Clone, Copy)]
pub struct SweepKind {
    /// The probe's argument `kind`.
    pub id: FlowSweepKind,
    pub name: &'static str,
    /// The question of the sweep, in two sentences.
    pub about: &'static str,
    pub needs: Needs,
    /// Puts the question; returns its number.
    pub request: fn(&mut ViewCx<'_>, &FlowSweepArgs) -> u64,
    /// The latest measurement, ignoring answers to requests up to the given one.
    pub newest: for<'a> fn(&ViewCx<'a>, u64) -> Option<&'a Sample>,
    /// The latest measurement by the run's schedule at or before the shown step.
    pub scheduled: for<'a> fn(&ViewCx<'a>) -> Option<&'a Sample>,
    /// The progress of the sweep that a payload holds, if it belongs to this kind.
    pub progress: fn(&Payload) -> Option<SweepProgress>,
    /// The reason why nothing was measured: the first words where no run has begun, the second where a button asks.
    pub why_nothing: fn(&ViewCx<'_>, &str, &str) -> String,
    /// The main chart of a payload.
    pub chart: fn(&Self, Option<&Payload>, &Theme) -> Chart<'static>,
}

impl SweepKind {
    /// True for a sweep that measures at values of u0 of its own.
    pub fn is_over_u0(&self) -> bool {
        use FlowSweepKind::{Activation, Class, Invariance, Layers, Nfe};
        matches!(self.id, Nfe | Invariance | Class | Activation | Layers)
    }

    const fn new<M: SweepChart>(needs: Needs, id: FlowSweepKind, name: &'static str, about: &'static str) -> Self {
        Self {
            id,
            name,
            about,
            needs,
            request: |cx, args| cx.ask_now::<M>(None, args),
            newest: |cx, dropped| newest::<M>(cx, dropped),
            scheduled: |cx| cx.in_focus(|v| cx.scheduled::<M>(v)).map(|(_, m)| m.sample),
            progress: |payload| M::from_payload(payload).map(M::progress),
            why_nothing: |cx, hint, demand| cx.why_nothing_before_asking::<M>(hint, demand),
            chart: |kind, payload, theme| {
                let (x, y) = M::axes();
                let mut chart = Chart::new(kind.name, x, y);
                if let Some(sweep) = payload.and_then(M::from_payload) {
                    sweep.draw(&mut chart, theme);
                }
                chart
            },
        }
    }
}

fn newest<'a, M: SweepChart>(cx: &ViewCx<'a>, dropped: u64) -> Option<&'a Sample> {
    let all = [cx.answered::<M>(), cx.latest::<M>()];
    all.into_iter().flatten().map(|m| m.sample).find(|s| s.request.is_none_or(|r| r > dropped))
}

/// What a flow must have for a sweep to be meaningful.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    Flow,
    /// The flow must end in a distribution over tokens.
    Words,
    /// The flow must have a trained control.
    Steering,
}

/// The index of the evaluations in [`KINDS`]: beneath their chart are others of the same sweep.
pub const NFE: usize = 0;

pub const KINDS: [SweepKind; 10] = [
    SweepKind::new::<FlowSweepNfe>(
        Needs::Flow,
        FlowSweepKind::Nfe,
        "evaluations",
        "NFE against u for solvers and policies. Triangles mark jumps that the first step's ladder explains, \
                not the flow.",
    ),
    SweepKind::new::<FlowSweepTolerance>(
        Needs::Flow,
        FlowSweepKind::Tolerance,
        "tolerance",
        "Evaluations against the tolerance, relative and absolute alike, at the control as it is. The higher a solver's \
                order, the flatter its line.",
    ),
    SweepKind::new::<FlowSweepInvariance>(
        Needs::Flow,
        FlowSweepKind::Invariance,
        "solvers agree",
        "How far Euler with m steps ends from dopri5, relative to the state. The source reports 0.068% of its own, \
                nearly idle flow.",
    ),
    SweepKind::new::<FlowSweepClass>(
        Needs::Steering,
        FlowSweepKind::Class,
        "class mass",
        "Probability of each class against u. A smooth rise means steering by degrees, a step means a switch.",
    ),
    SweepKind::new::<FlowSweepActivation>(
        Needs::Steering,
        FlowSweepKind::Activation,
        "against a vector",
        "The control beside activation steering: one vector added once, as long as half of what parts u = 1 from \
                u = \u{2212}1. \
                Fluency is the unsteered perplexity over the steered.",
    ),
    SweepKind::new::<FlowSweepLayers>(
        Needs::Steering,
        FlowSweepKind::Layers,
        "readable",
        "What a linear probe reads from the state at a depth, cross-validated. Dotted is chance.",
    ),
    SweepKind::new::<FlowSweepLatency>(
        Needs::Words,
        FlowSweepKind::Latency,
        "time",
        "Milliseconds of a forward pass, hybrid and baseline measured by turns: what the flow costs here. Each \
                point is the fastest of three passes.",
    ),
    SweepKind::new::<FlowSweepDifficulty>(
        Needs::Words,
        FlowSweepKind::Difficulty,
        "harder input",
        "Steps of dopri5 for a held-out token against its surprise, with rank correlations. Does harder input take \
                more steps?",
    ),
    SweepKind::new::<FlowSweepGradientError>(
        Needs::Words,
        FlowSweepKind::GradientError,
        "gradients",
        "How far gradients through m steps are from the flow's own. Backpropagation is exact for the steps it \
                made, the adjoint solves backwards and errs on its own.",
    ),
    SweepKind::new::<FlowSweepGradientMemory>(
        Needs::Words,
        FlowSweepKind::GradientMemory,
        "their memory",
        "The most memory that is held while gradients are taken through m steps. Backpropagation keeps all, \
                checkpoints a state a step, the adjoint one.",
    ),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::telemetry::{MEASUREMENTS, Measurement};

    #[test]
    fn every_sweep_that_is_measured_can_be_chosen() {
        let measured = MEASUREMENTS.iter().filter(|m| m.probe == FlowSweepNfe::PROBE).map(|m| m.channel.to_owned());
        let offered = KINDS.iter().map(|k| format!("flow.sweep.{}", k.id.id()));
        assert_eq!(measured.collect::<BTreeSet<_>>(), offered.collect());
        assert_eq!(format!("flow.sweep.{}", KINDS[NFE].id.id()), FlowSweepNfe::CHANNEL);
    }
}
