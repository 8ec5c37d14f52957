//! The kinds of sweep: the name of each, the type of its measurement, and its chart.

use super::charts::{CONTROL, activation, class, difficulty, gradients, invariance, latency, layers, nfe, tolerance};
use crate::ui::views::prelude::*;

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
    pub chart: fn(Option<&Payload>, &Theme) -> Chart<'static>,
}

impl SweepKind {
    /// True for a sweep that measures at values of u0 of its own.
    pub fn varies_u0(&self) -> bool {
        use FlowSweepKind::{Activation, Class, Invariance, Layers, Nfe};
        matches!(self.id, Nfe | Invariance | Class | Activation | Layers)
    }
}

fn newest<'a, M: Measurement>(cx: &ViewCx<'a>, dropped: u64) -> Option<&'a Sample> {
    let all = [cx.answered::<M>(), cx.latest::<M>()];
    all.into_iter().flatten().map(|m| m.sample).find(|s| s.request.is_none_or(|r| r > dropped))
}

/// The properties of a flow without which a sweep has no meaning.
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

/// Makes [`KINDS`]: for each the type of its measurement, what a flow must have, its id, its name, its axes, the
/// function that draws it, and its question.
macro_rules! kinds {
    ($($sweep:ident: $needs:ident, $id:ident, $name:literal, $x:expr, $y:expr, $draw:expr, $about:literal;)+) => {
        pub const KINDS: [SweepKind; [$($name),+].len()] = [$(SweepKind {
            id: FlowSweepKind::$id,
            name: $name,
            about: $about,
            needs: Needs::$needs,
            request: |cx, args| cx.ask_now::<$sweep>(None, args),
            newest: |cx, dropped| newest::<$sweep>(cx, dropped),
            scheduled: |cx| cx.in_focus(|v| cx.scheduled::<$sweep>(v)).map(|(_, m)| m.sample),
            progress: |payload| $sweep::from_payload(payload).map(|sweep| sweep.progress),
            why_nothing: |cx, hint, demand| cx.why_nothing_before_asking::<$sweep>(hint, demand),
            chart: |payload, theme| {
                let draw: fn(&mut Chart<'static>, &$sweep, &Theme) = $draw;
                let mut chart = Chart::new($name, $x, $y);
                if let Some(sweep) = payload.and_then($sweep::from_payload) {
                    draw(&mut chart, sweep, theme);
                }
                chart
            },
        }),+];
    };
}

kinds! {
    FlowSweepNfe: Flow, Nfe, "evaluations",
        Axis::new(CONTROL), Axis::new("evaluations (NFE)").include(&[0.0]), nfe,
        "NFE against u for solvers and policies. Triangles mark jumps that the first step's ladder explains, \
         not the flow.";
    FlowSweepTolerance: Flow, Tolerance, "tolerance",
        Axis::new("tolerance").log(), Axis::new("evaluations (NFE)").log(), tolerance,
        "Evaluations against the tolerance, relative and absolute alike, at the control as it is. The higher a solver's \
         order, the flatter its line.";
    FlowSweepInvariance: Flow, Invariance, "solvers agree",
        Axis::new("Euler steps m").log(), Axis::new("divergence (%)").log(), invariance,
        "How far Euler with m steps ends from dopri5, relative to the state. The source reports 0.068% of its own, \
         nearly idle flow.";
    FlowSweepClass: Steering, Class, "class mass",
        Axis::new(CONTROL), Axis::new("share").fixed(0.0, 1.0), class,
        "Share of the next word's probability on each class of words, against u. A smooth rise means steering by degrees, \
         a step means a switch.";
    FlowSweepActivation: Steering, Activation, "against a vector",
        Axis::new("strength"), Axis::new("share of the class, fluency").fixed(0.0, 1.04), activation,
        "The control beside activation steering: one vector added once, as long as half of what parts u = 1 from \
         u = \u{2212}1. Fluency is the unsteered perplexity over the steered.";
    FlowSweepLayers: Steering, Layers, "readable",
        Axis::new("depth \u{3c4}").fixed(0.0, 1.0), Axis::new("accuracy of a linear cut").fixed(0.0, 1.04), layers,
        "What a linear probe reads from the state at a depth, cross-validated. Dotted is chance.";
    FlowSweepLatency: Words, Latency, "time",
        Axis::new("turn"), Axis::new("ms per pass").include(&[0.0]), latency,
        "Milliseconds of a forward pass, hybrid and baseline measured by turns: what the flow costs here. Each \
         point is the fastest of three passes.";
    FlowSweepDifficulty: Words, Difficulty, "harder input",
        Axis::new("surprise (nats)"), Axis::new("steps of dopri5").include(&[0.0]), difficulty,
        "Steps of dopri5 for a held-out token against its surprise, with rank correlations. Does harder input take \
         more steps?";
    FlowSweepGradientError: Words, GradientError, "gradients",
        Axis::new("steps m").log(), Axis::new("relative distance of the gradients").log(),
        |chart, sweep, theme| gradients(chart, &sweep.steps, &sweep.methods, theme),
        "How far gradients through m steps are from the flow's own. Backpropagation is exact for the steps it \
         made, the adjoint solves backwards and errs on its own.";
    FlowSweepGradientMemory: Words, GradientMemory, "their memory",
        Axis::new("steps m").log(), Axis::new("most memory held (MiB)").log(),
        |chart, sweep, theme| gradients(chart, &sweep.steps, &sweep.methods, theme),
        "The most memory that is held while gradients are taken through m steps. Backpropagation keeps all, \
         checkpoints a state a step, the adjoint one.";
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::telemetry::MEASUREMENTS;

    #[test]
    fn every_sweep_that_is_measured_can_be_chosen() {
        let measured = MEASUREMENTS.iter().filter(|m| m.probe == FlowSweepNfe::PROBE).map(|m| m.channel.to_owned());
        let offered = KINDS.iter().map(|k| format!("flow.sweep.{}", k.id.id()));
        assert_eq!(measured.collect::<BTreeSet<_>>(), offered.collect());
        assert_eq!(format!("flow.sweep.{}", KINDS[NFE].id.id()), FlowSweepNfe::CHANNEL);
    }
}
