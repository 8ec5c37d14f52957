//! The kinds of sweep: the name of each, the type of its measurement, and its charts.

use crate::{
    analysis::{runge_kutta::Method, step_growth_bound::min_first_step},
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
    pub empty_reason: fn(&ViewCx<'_>, &str, &str) -> String,
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
            empty_reason: |cx, hint, demand| cx.empty_reason_before_asking::<$sweep>(hint, demand),
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
        "Milliseconds of a forward pass, hybrid and baseline measured in turn: what the flow costs here. Each \
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

/// The name of the axis of the control that most sweeps range over.
pub const CONTROL: &str = "control u\u{2080}";

fn line(name: impl Into<String>, colour: Color32, points: Vec<[f64; 2]>) -> Line<'static> {
    Line::new(name, colour, points).dots()
}

fn nfe(chart: &mut Chart<'static>, sweep: &FlowSweepNfe, theme: &Theme) {
    for curve in &sweep.solvers {
        let jumps = sweep.u0.iter().zip(&curve.nfe).zip(&curve.explained_by_growth_bound);
        let points: Vec<[f64; 2]> =
            jumps.filter(|(_, is_explained)| **is_explained).map(|((x, y), _)| [*x, *y]).collect();
        if !points.is_empty() {
            let name = format!("ladder, {} {}", curve.method, curve.policy.id());
            let mut marks = Line::new(name, theme.accent, points).stroke(Stroke::Marks(Mark::Up)).short("ladder");
            marks.named = chart.lines.is_empty();
            chart.add(marks);
        }
    }
    for (place, NfeCurve { method, policy, nfe, .. }) in sweep.solvers.iter().enumerate() {
        chart.add(solver_line("", method, *policy, place, pairs(&sweep.u0, nfe), theme));
    }
}

fn tolerance(chart: &mut Chart<'static>, sweep: &FlowSweepTolerance, theme: &Theme) {
    for (place, ToleranceCurve { method, policy, nfe, .. }) in sweep.solvers.iter().enumerate() {
        chart.add(solver_line("", method, *policy, place, pairs(&sweep.tolerance, nfe), theme));
    }
}

fn invariance(chart: &mut Chart<'static>, sweep: &FlowSweepInvariance, theme: &Theme) {
    let steps = to_f64(&sweep.steps);
    for (place, curve) in sweep.controls.iter().enumerate() {
        chart.add(line(format!("u = {}", curve.u0), theme.series(place), pairs(&steps, &curve.percent)));
    }
    let source = level_line(&steps, sweep.progress, sweep.source_percent);
    let name = format!("the source: {}%", sweep.source_percent);
    chart.add(line(name, theme.secondary, source).dashed().short("the source").claim("D11"));
}

/// Dashed: after nouns that steering was trained on. One name in the legend stands for both.
fn class(chart: &mut Chart<'static>, sweep: &FlowSweepClass, theme: &Theme) {
    let curve = |name: &str, colour: Color32, y: &[f64]| line(name, colour, pairs(&sweep.u0, y));
    let steered = |name: &str, colour: Color32, y: &[f64]| curve(name, colour, y).dashed().short("steered nouns");
    chart.lines.extend([
        curve("class +", theme.warm, &sweep.held_out.plus),
        curve("class \u{2212}", theme.cool, &sweep.held_out.minus),
        curve("neutral", theme.secondary, &sweep.neutral),
        steered("class +, steered nouns", theme.warm, &sweep.trained.plus),
        steered("class \u{2212}, steered nouns", theme.cool, &sweep.trained.minus).unnamed(),
    ]);
}

/// Solid: the control; dashed: the vector. Fluency is 1 where steering costs text nothing.
fn activation(chart: &mut Chart<'static>, sweep: &FlowSweepActivation, theme: &Theme) {
    let unsteered = sweep.strength.iter().position(|x| *x == 0.0);
    let ways = [("control", &sweep.control, Stroke::Solid), ("vector", &sweep.vector, Stroke::Dashed)];
    for (name, curves, stroke) in ways {
        let SteeringCurves { plus, minus, perplexity, largest_bend } = curves;
        let bend = if largest_bend.is_finite() { format!(", bend {largest_bend:.3}") } else { String::new() };
        let usual = unsteered.and_then(|i| perplexity.get(i)).copied().unwrap_or(f64::NAN);
        let fluency: Vec<f64> = perplexity.iter().map(|p| usual / p).collect();
        let curves = [
            (format!("plus, {name}{bend}"), theme.warm, &plus[..]),
            (format!("minus, {name}"), theme.cool, &minus[..]),
            (format!("fluency, {name}"), theme.secondary, &fluency[..]),
        ];
        for (name, colour, y) in curves {
            chart.add(line(name, colour, pairs(&sweep.strength, y)).stroke(stroke));
        }
    }
}

fn layers(chart: &mut Chart<'static>, sweep: &FlowSweepLayers, theme: &Theme) {
    let accuracy = pairs(&sweep.taus, &sweep.accuracy);
    chart.add(line("accuracy", theme.series(0), accuracy));
    let chance = level_line(&sweep.taus, sweep.progress, sweep.chance);
    chart.add(line("chance", theme.secondary, chance).null_baseline());
    chart.band("95%", theme.text, pairs(&sweep.taus, &sweep.low), pairs(&sweep.taus, &sweep.high));
}

/// Adds one mark per token and per prompt; the series' names state the rank correlations.
fn difficulty(chart: &mut Chart<'static>, sweep: &FlowSweepDifficulty, theme: &Theme) {
    let name = |of: &str, c: RankCorrelation| match c.rho.is_finite() {
        true => format!("{of}, ranks {} (p {})", number::signed(c.rho, 2), number::p_label(c.p)),
        false => of.to_owned(),
    };
    let kinds = [
        (name("token", sweep.token_with_surprise), Mark::Dot, &sweep.surprise, &sweep.token_steps),
        (name("its next", sweep.token_with_next), Mark::Up, &sweep.next, &sweep.token_steps),
        (name("prompt", sweep.prompt_with_surprise), Mark::Ring, &sweep.prompt, &sweep.prompt_steps),
    ];
    for (place, (name, mark, x, y)) in kinds.into_iter().enumerate() {
        chart.add(Line::new(name, theme.series(place), pairs(x, y)).stroke(Stroke::Marks(mark)));
    }
}

fn latency(chart: &mut Chart<'static>, sweep: &FlowSweepLatency, theme: &Theme) {
    let turns = to_f64(&sweep.turns);
    for (place, (name, y)) in [("hybrid", &sweep.hybrid), ("baseline", &sweep.baseline)].into_iter().enumerate() {
        chart.add(line(name, theme.series(place), pairs(&turns, y)));
    }
}

fn gradients(chart: &mut Chart<'static>, steps: &[usize], curves: &[GradientCurve], theme: &Theme) {
    let steps = to_f64(steps);
    for (place, curve) in curves.iter().enumerate() {
        chart.add(line(curve.method.id(), theme.series(place), pairs(&steps, &curve.values)));
    }
}

/// The three charts below that of the evaluations: the first step with the lengths above which this many steps suffice,
/// the mean curvature of the path, and the number of steps whose length the error estimate chose.
pub fn lower_charts(sweep: &FlowSweepNfe, theme: &Theme) -> [Chart<'static>; 3] {
    let chart = |name: &str, y: Axis, lines: Vec<Line<'static>>| Chart {
        lines,
        legend: false,
        ..Chart::new(name, Axis::new(CONTROL), y)
    };
    let solvers = |prefix: &str, y: fn(&NfeCurve) -> &[f64]| -> Vec<Line<'static>> {
        let solver = |(place, curve): (usize, &NfeCurve)| {
            solver_line(prefix, &curve.method, curve.policy, place, pairs(&sweep.u0, y(curve)), theme)
        };
        sweep.solvers.iter().enumerate().map(solver).collect()
    };
    let bend = line("bend", theme.series(0), pairs(&sweep.u0, &sweep.curvature));
    let mut first_step = chart("first step", Axis::new("h_init").log(), solvers("h_init ", |c| &c.h_init));
    for steps in near_step_counts(sweep) {
        first_step.horizontal_line(format!("{steps} steps suffice above"), min_first_step(steps));
    }
    [
        first_step,
        chart("bend", Axis::new("mean |d\u{b2}H/d\u{3c4}\u{b2}|").include(&[0.0]), vec![bend]),
        chart("free steps", Axis::new("uncapped steps").include(&[0.0]), solvers("free ", |c| &c.free)),
    ]
}

/// The numbers of steps whose shortest sufficient first step ([`min_first_step`]) is near the measured first steps.
fn near_step_counts(sweep: &FlowSweepNfe) -> impl Iterator<Item = u32> {
    let met = sweep.solvers.iter().flat_map(|c| &c.h_init).filter(|h| h.is_finite());
    let (low, high) = met.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), h| (low.min(*h), high.max(*h)));
    (1..=8).filter(move |k| min_first_step(*k) > low * 0.5 && min_first_step(*k) < high * 2.0)
}

fn to_f64(x: &[usize]) -> Vec<f64> {
    x.iter().map(|v| *v as f64).collect()
}

/// The same value at every point that is measured.
fn level_line(x: &[f64], progress: SweepProgress, value: f64) -> Vec<[f64; 2]> {
    x.iter().enumerate().map(|(i, x)| [*x, if i < progress.done { value } else { f64::NAN }]).collect()
}

/// The line of a solver, in the same colour in every sweep, and dashed for the second step policy.
fn solver_line(
    prefix: &str,
    method: &str,
    policy: StepPolicy,
    place: usize,
    points: Vec<[f64; 2]>,
    theme: &Theme,
) -> Line<'static> {
    let known = Method::ALL.iter().position(|m| m.id() == method);
    let stroke = if policy == StepPolicy::Clip { Stroke::Dashed } else { Stroke::Solid };
    let name = format!("{prefix}{method} {}", policy.id());
    line(name, theme.series(known.unwrap_or(place)), points).stroke(stroke)
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
