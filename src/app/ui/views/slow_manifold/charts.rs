//! The distance of the true motion to the manifold against eps, and the facts beside the picture in words.

use super::field::{Field, Run};
use crate::{
    analysis::fast_slow_plane::{
        LongTermBehaviour, ManifoldDistance, MultiscaleErrors, SPLITTING_STEPS, StopReason, canard_value,
    },
    labs::equilibrium::slow_manifold::PlanarSystem,
    ui::{views::prelude::*, widgets::number::rounded},
};

/// A canard stays on the repelling branch for at least this share of the time.
const MIN_CANARD_SHARE: f64 = 0.15;
/// More folds than these are not listed.
const MAX_NAMED: usize = 4;

/// Distances on log axes with the theorem's slopes, and the current eps.
pub fn distance_chart(field: &Field, epsilon: f64, theme: &Theme) -> Chart<'static> {
    let mut chart =
        Chart::new("distance to the slow manifold", Axis::new("\u{3b5}").log(), Axis::new("distance in x").log())
            .empty("No attracting branch is long enough here to measure along: change a, or the formulas.");
    let Some(distances) = &field.distances else { return chart };
    let [to_critical, to_first_order] = distances.slopes;
    let points = |of: fn(&ManifoldDistance) -> f64| -> Vec<[f64; 2]> {
        distances.points.iter().map(|p| [p.epsilon, of(p)]).filter(|p| p[1] > 0.0).collect()
    };
    let measured = [
        ("to f = 0", to_critical, theme.text, 1.0, points(|p| p.to_critical)),
        ("to h\u{2080} + \u{3b5}h\u{2081}", to_first_order, theme.series(2), 2.0, points(|p| p.to_first_order)),
    ];
    for (label, slope, colour, theorem, points) in measured {
        if let Some([from, foot]) = points.first().copied() {
            let line = points.iter().map(|[e, _]| [*e, foot * (e / from).powf(theorem)]).collect::<Vec<_>>();
            let name = format!("{label}: slope {theorem:.0} is the theorem");
            chart.add(Line::new(name, theme.grey(), line).dashed().unnamed());
        }
        chart.add(Line::new(format!("{label}: slope {}", rounded(slope, 2)), colour, points).dots());
    }
    chart.vertical_line("now", epsilon);
    chart
}

/// Errors of averaging and of splitting on log axes, with the theorem's slope and the current eps.
pub fn multiscale_chart(errors: Option<&MultiscaleErrors>, epsilon: f64, theme: &Theme) -> Chart<'static> {
    let (x, y) = (Axis::new("\u{3b5}").log(), Axis::new("distance from the solution").log());
    let mut chart = Chart::new("averaging against splitting", x, y)
        .empty("Nothing to compare: no attracting branch is long enough here. Change a, or the formulas.");
    let Some(errors) = errors else { return chart };
    // a logarithmic axis has no place for 0
    let line = |of: &dyn Fn(usize) -> f64| -> Vec<[f64; 2]> {
        let points = errors.points.iter().enumerate().map(|(i, p)| [p.epsilon, of(i)]);
        points.filter(|p| p[1] > 0.0).collect()
    };
    let averaged = line(&|i| errors.points[i].averaged);
    if let Some([from, foot]) = averaged.first().copied() {
        let theorem = averaged.iter().map(|[e, _]| [*e, foot * e / from]).collect::<Vec<_>>();
        chart.add(Line::new("averaged: slope 1 is the theorem", theme.grey(), theorem).dashed().unnamed());
    }
    let fitted = |what: &str, value: f64| {
        if value.is_finite() { format!(": {what} {}", rounded(value, 2)) } else { String::new() }
    };
    let name = format!("averaged{}", fitted("slope", errors.averaged_slope));
    chart.add(Line::new(name, theme.text, averaged).dots());
    for (k, steps) in SPLITTING_STEPS.into_iter().enumerate() {
        let name = match k {
            0 => format!("Lie splitting, {steps} steps"),
            _ => format!("{steps} steps{}", fitted("order", errors.splitting_order)),
        };
        chart.add(Line::new(name, theme.series(k + 2), line(&|i| errors.points[i].splitting[k])).dots());
    }
    chart.vertical_line("now", epsilon);
    chart
}

pub fn facts(field: &Field, run: &Run) -> Vec<String> {
    let mut facts = vec![];
    facts.push(match run.long_term {
        LongTermBehaviour::Rest([x, y]) => {
            format!("In the long run it rests at ({}, {}).", rounded(x, 3), rounded(y, 3))
        }
        LongTermBehaviour::Cycle { period, amplitude } => {
            format!("In the long run a cycle: period {} in slow time, x over {}.", short(period), short(amplitude))
        }
        LongTermBehaviour::Leaves => "In the long run it leaves the plane that is shown.".to_owned(),
        LongTermBehaviour::Undecided => "No whole cycle in the time that was solved.".to_owned(),
    });
    let folds: Vec<String> =
        field.manifold.folds.iter().map(|[x, y]| format!("({}, {})", rounded(*x, 2), rounded(*y, 2))).collect();
    if !folds.is_empty() && folds.len() <= MAX_NAMED {
        facts.push(format!("Folds at {}.", folds.join(" and ")));
    }
    if run.trajectory.end == StopReason::StepLimit {
        facts
            .push("The trajectory ends where its steps became too short: the field may be unbounded there.".to_owned());
    }
    let share = 100.0 * run.repelling_share;
    if run.repelling_share > MIN_CANARD_SHARE {
        facts.push(format!("A canard: {share:.0}% of the time is spent along the repelling branch."));
    }
    if field.source.system == PlanarSystem::VanDerPol {
        facts.push(format!(
            "Canards near a = 1 \u{2212} \u{3b5}/8 \u{2212} 3\u{3b5}\u{b2}/32 = {:.5}; the Hopf point is a = 1.",
            canard_value(run.epsilon)
        ));
    }
    facts
}
