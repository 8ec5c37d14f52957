//! The charts of a sweep.

use super::super::step_growth_bound::min_first_step;
use crate::{analysis::runge_kutta::Method, ui::views::prelude::*};

/// The name of the axis of the control that most sweeps range over.
pub const CONTROL: &str = "control u\u{2080}";

fn line(name: impl Into<String>, (colour, stroke): (Color32, Stroke), points: Vec<[f64; 2]>) -> Line<'static> {
    Line::new(name.into(), colour, points).stroke(stroke).dots()
}

pub fn nfe(chart: &mut Chart<'static>, sweep: &FlowSweepNfe, theme: &Theme) {
    for curve in &sweep.solvers {
        let jumps = sweep.u0.iter().zip(&curve.nfe).zip(&curve.explained_by_growth_bound);
        let points: Vec<[f64; 2]> =
            jumps.filter(|(_, is_explained)| **is_explained).map(|((x, y), _)| [*x, *y]).collect();
        if !points.is_empty() {
            let name = format!("ladder, {}", solver_name(&curve.method, curve.policy));
            let mut marks = Line::new(name, theme.accent, points).stroke(Stroke::Marks(Mark::Up)).short("ladder");
            marks.named = chart.lines.is_empty();
            chart.add(marks);
        }
    }
    for (place, curve) in sweep.solvers.iter().enumerate() {
        let name = solver_name(&curve.method, curve.policy);
        let look = solver_look(&curve.method, curve.policy, place, theme);
        chart.add(line(name, look, pairs(&sweep.u0, &curve.nfe)));
    }
}

pub fn tolerance(chart: &mut Chart<'static>, sweep: &FlowSweepTolerance, theme: &Theme) {
    for (place, curve) in sweep.solvers.iter().enumerate() {
        let name = solver_name(&curve.method, curve.policy);
        let look = solver_look(&curve.method, curve.policy, place, theme);
        chart.add(line(name, look, pairs(&sweep.tolerance, &curve.nfe)));
    }
}

pub fn invariance(chart: &mut Chart<'static>, sweep: &FlowSweepInvariance, theme: &Theme) {
    let steps = floats(&sweep.steps);
    for (place, curve) in sweep.controls.iter().enumerate() {
        let look = (theme.series(place), Stroke::Solid);
        chart.add(line(format!("u = {}", curve.u0), look, pairs(&steps, &curve.percent)));
    }
    let source = level(&steps, sweep.progress, sweep.source_percent);
    let name = format!("the source: {}%", sweep.source_percent);
    chart.add(line(name, (theme.secondary, Stroke::Dashed), source).short("the source").claim("D11"));
}

/// Dashed: after nouns that steering was trained on. One name in the legend stands for both.
pub fn class(chart: &mut Chart<'static>, sweep: &FlowSweepClass, theme: &Theme) {
    let curve = |name: &str, colour: Color32, y: &[f64]| line(name, (colour, Stroke::Solid), pairs(&sweep.u0, y));
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
pub fn activation(chart: &mut Chart<'static>, sweep: &FlowSweepActivation, theme: &Theme) {
    let unsteered = sweep.strength.iter().position(|x| *x == 0.0);
    let ways = [("control", &sweep.control, Stroke::Solid), ("vector", &sweep.vector, Stroke::Dashed)];
    for (name, curves, stroke) in ways {
        let SteeringCurves { plus, minus, perplexity, largest_bend } = curves;
        let bend = if largest_bend.is_finite() { format!(", bend {largest_bend:.3}") } else { String::new() };
        chart.add(line(format!("plus, {name}{bend}"), (theme.warm, stroke), pairs(&sweep.strength, plus)));
        chart.add(line(format!("minus, {name}"), (theme.cool, stroke), pairs(&sweep.strength, minus)));
        let usual = unsteered.and_then(|i| perplexity.get(i)).copied().unwrap_or(f64::NAN);
        let fluency: Vec<f64> = perplexity.iter().map(|p| usual / p).collect();
        let look = (theme.secondary, stroke);
        chart.add(line(format!("fluency, {name}"), look, pairs(&sweep.strength, &fluency)));
    }
}

pub fn layers(chart: &mut Chart<'static>, sweep: &FlowSweepLayers, theme: &Theme) {
    let accuracy = pairs(&sweep.taus, &sweep.accuracy);
    chart.add(line("accuracy", (theme.series(0), Stroke::Solid), accuracy));
    let chance = level(&sweep.taus, sweep.progress, sweep.chance);
    chart.add(line("chance", (theme.secondary, NULL_BASELINE), chance));
    chart.band("95%", theme.text, pairs(&sweep.taus, &sweep.low), pairs(&sweep.taus, &sweep.high));
}

/// Adds one mark per token and per prompt; the series' names state the rank correlations.
pub fn difficulty(chart: &mut Chart<'static>, sweep: &FlowSweepDifficulty, theme: &Theme) {
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

pub fn latency(chart: &mut Chart<'static>, sweep: &FlowSweepLatency, theme: &Theme) {
    let turns = floats(&sweep.turns);
    for (place, (name, y)) in [("hybrid", &sweep.hybrid), ("baseline", &sweep.baseline)].into_iter().enumerate() {
        chart.add(line(name, (theme.series(place), Stroke::Solid), pairs(&turns, y)));
    }
}

pub fn gradients(chart: &mut Chart<'static>, steps: &[usize], curves: &[GradientCurve], theme: &Theme) {
    let steps = floats(steps);
    for (place, curve) in curves.iter().enumerate() {
        let look = (theme.series(place), Stroke::Solid);
        chart.add(line(curve.method.id(), look, pairs(&steps, &curve.values)));
    }
}

/// The charts below that of the evaluations: the first step, with the lengths at which one step fewer suffices; a measure that
/// is not a count; and the steps whose length the error chose.
pub fn lower_charts(sweep: &FlowSweepNfe, theme: &Theme) -> [Chart<'static>; 3] {
    let chart = |name: &str, y: Axis, lines: Vec<Line<'static>>| Chart {
        lines,
        legend: false,
        ..Chart::new(name, Axis::new(CONTROL), y)
    };
    let solvers = |prefix: &str, y: fn(&NfeCurve) -> &[f64]| -> Vec<Line<'static>> {
        let solver = |(place, curve): (usize, &NfeCurve)| {
            let name = format!("{prefix} {}", solver_name(&curve.method, curve.policy));
            let look = solver_look(&curve.method, curve.policy, place, theme);
            line(name, look, pairs(&sweep.u0, y(curve)))
        };
        sweep.solvers.iter().enumerate().map(solver).collect()
    };
    let bend = line("bend", (theme.series(0), Stroke::Solid), pairs(&sweep.u0, &sweep.curvature));
    let mut first_step = chart("first step", Axis::new("h_init").log(), solvers("h_init", |c| &c.h_init));
    for steps in near_step_counts(sweep) {
        first_step.horizontal_line(format!("{steps} steps suffice above"), min_first_step(steps));
    }
    [
        first_step,
        chart("bend", Axis::new("mean |d\u{b2}H/d\u{3c4}\u{b2}|").include(&[0.0]), vec![bend]),
        chart("free steps", Axis::new("uncapped steps").include(&[0.0]), solvers("free", |c| &c.free)),
    ]
}

/// The numbers of steps whose shortest sufficient first step ([`min_first_step`]) is near the measured first steps.
fn near_step_counts(sweep: &FlowSweepNfe) -> impl Iterator<Item = u32> {
    let met = sweep.solvers.iter().flat_map(|c| &c.h_init).filter(|h| h.is_finite());
    let (low, high) = met.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), h| (low.min(*h), high.max(*h)));
    (1..=8).filter(move |k| min_first_step(*k) > low * 0.5 && min_first_step(*k) < high * 2.0)
}

fn floats(x: &[usize]) -> Vec<f64> {
    x.iter().map(|v| *v as f64).collect()
}

/// The same value at every point that is measured.
fn level(x: &[f64], progress: SweepProgress, value: f64) -> Vec<[f64; 2]> {
    x.iter().enumerate().map(|(i, x)| [*x, if i < progress.done { value } else { f64::NAN }]).collect()
}

fn solver_name(method: &str, policy: StepPolicy) -> String {
    format!("{method} {}", policy.id())
}

/// The colour of a solver, the same in every sweep, and its stroke, dashed for the second step policy.
fn solver_look(method: &str, policy: StepPolicy, place: usize, theme: &Theme) -> (Color32, Stroke) {
    let known = Method::ALL.iter().position(|m| m.id() == method);
    let stroke = if policy == StepPolicy::Clip { Stroke::Dashed } else { Stroke::Solid };
    (theme.series(known.unwrap_or(place)), stroke)
}
