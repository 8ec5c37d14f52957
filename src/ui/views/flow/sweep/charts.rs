//! What can be swept, and the charts of it. It does not ask, and knows no model.

use eframe::egui::Color32;

use super::super::ladder::rung;
use crate::{
    telemetry::{Line as SeriesLine, Series},
    ui::{
        plot::{Axis, Band, Chart, Line, Mark, Reference, Stroke},
        theme::Theme,
    },
};

/// A thing to sweep: its id for the probe, its name, what it asks, in two sentences.
#[derive(Clone, Copy)]
pub struct Kind {
    pub id: &'static str,
    pub name: &'static str,
    pub about: &'static str,
}

pub const KINDS: [Kind; 8] = [
    Kind {
        id: "nfe",
        name: "evaluations",
        about: "NFE against u for solvers and policies. Triangles mark jumps that the first step's ladder explains, \
                not the flow.",
    },
    Kind {
        id: "tolerance",
        name: "tolerance",
        about: "Cost and error against the tolerance. A solver of order p gains p decades of error a decade of step.",
    },
    Kind {
        id: "invariance",
        name: "solvers agree",
        about: "How far Euler with m steps ends from dopri5, relative to the state. The source reports 0.068% of its own, \
                nearly idle flow.",
    },
    Kind {
        id: "class",
        name: "class mass",
        about: "Probability of each class against u. A smooth rise means steering by degrees, a step means a switch.",
    },
    Kind {
        id: "layers",
        name: "readable",
        about: "What a linear probe reads from the state at a depth, cross-validated. Dashed is chance.",
    },
    Kind {
        id: "latency",
        name: "time",
        about: "Milliseconds of a forward pass, hybrid and baseline measured by turns. What the flow costs here.",
    },
    Kind {
        id: "gradient_error",
        name: "gradients",
        about: "How far gradients through m steps are from the flow's own. Backpropagation is exact for the steps it \
                made, the adjoint solves backwards and errs on its own.",
    },
    Kind {
        id: "gradient_memory",
        name: "their memory",
        about: "The most that is held while gradients are taken through m steps. Backpropagation keeps all, checkpoints \
                a state a step, the adjoint one.",
    },
];

/// The main chart of a kind.
pub fn chart<'a>(series: Option<&Series>, kind: usize, theme: &Theme) -> Chart<'a> {
    let (mut x, mut y) = match KINDS[kind].id {
        "nfe" => (Axis::new("u"), Axis::new("evaluations (NFE)").include(&[0.0])),
        "tolerance" => (Axis::new("tolerance").log(), Axis::new("evaluations (NFE)").log()),
        "invariance" => (Axis::new("steps m").log(), Axis::new("relative distance").log()),
        "class" => (Axis::new("u"), Axis::new("probability").fixed(0.0, 1.0)),
        "layers" => (Axis::new("depth \u{3c4}").fixed(0.0, 1.0), Axis::new("accuracy").fixed(0.0, 1.04)),
        "gradient_error" => (Axis::new("steps m").log(), Axis::new("relative distance").log()),
        "gradient_memory" => (Axis::new("steps m").log(), Axis::new("most memory held (MiB)").log()),
        _ => (Axis::new("tokens"), Axis::new("ms a pass").include(&[0.0])),
    };
    if let Some(series) = series {
        let keep = |label: &mut String, told: &str| {
            if !told.is_empty() {
                *label = told.to_owned();
            }
        };
        keep(&mut x.label, &series.x_label);
        keep(&mut y.label, &series.y_label);
    }
    let empty = format!("{} Press Measure; it goes on in the background.", KINDS[kind].about);
    let mut chart = Chart::new(KINDS[kind].name, x, y).empty(empty);
    let Some(series) = series else { return chart };
    for line in series.lines.iter().filter(|l| jumps_of(l).is_some() && KINDS[kind].id == "nfe") {
        let owner = jumps_of(line).unwrap_or_default();
        let Some(of) = series.lines.iter().find(|l| l.name == owner) else { continue };
        let points: Vec<[f64; 2]> =
            points(series, of).into_iter().zip(&line.y).filter(|(_, f)| **f > 0.5).map(|p| p.0).collect();
        if !points.is_empty() {
            let mut marks = Line::new(format!("ladder, {owner}"), theme.accent, points).stroke(Stroke::Marks(Mark::Up));
            marks.short = Some("ladder".to_owned());
            marks.named = !chart.lines.iter().any(|l| l.short.as_deref() == Some("ladder"));
            chart.lines.push(marks);
        }
    }
    for (i, line) in series.lines.iter().filter(|l| is_main(l)).enumerate() {
        let (colour, stroke) = look(&line.name, i, theme);
        chart.lines.push(Line::new(&line.name, colour, points(series, line)).stroke(stroke).dots());
    }
    let edge =
        |suffix: &'static str| series.lines.iter().filter(move |l| l.name.split(' ').next_back() == Some(suffix));
    for (low, high) in edge("low").zip(edge("high")) {
        let (low, high) = (points(series, low).into(), points(series, high).into());
        chart.bands.push(Band { label: "95%".to_owned(), colour: theme.text, low, high });
    }
    chart
}

/// Under the evaluations: the first step with its rungs, and a measure that is not a count.
pub fn under<'a>(series: Option<&Series>, which: usize, theme: &Theme) -> Chart<'a> {
    let x = series.map_or("u", |s| s.x_label.as_str());
    let (name, y, prefix) = match which {
        0 => ("first step", Axis::new("h_init").log(), "h_init "),
        2 => ("free steps", Axis::new("uncapped steps").include(&[0.0]), "free "),
        _ => ("curvature", Axis::new("curvature").include(&[0.0]), "curvature"),
    };
    let mut chart = Chart::new(name, Axis::new(x), y);
    chart.legend = false;
    let Some(series) = series else { return chart };
    let those = series.lines.iter().filter(|l| l.name.starts_with(prefix));
    let mut ends = [f64::INFINITY, f64::NEG_INFINITY];
    for line in those {
        let owner = line.name.trim_start_matches(prefix).trim();
        let place = series.lines.iter().filter(|l| is_main(l)).position(|l| l.name == owner).unwrap_or(0);
        let (colour, stroke) = look(owner, place, theme);
        for v in line.y.iter().filter(|v| v.is_finite()) {
            ends = [ends[0].min(*v), ends[1].max(*v)];
        }
        chart.lines.push(Line::new(&line.name, colour, points(series, line)).stroke(stroke).dots());
    }
    if which == 0 {
        for k in 1..=8 {
            if rung(k) > ends[0] * 0.5 && rung(k) < ends[1] * 2.0 {
                chart.references.push(Reference {
                    label: format!("{k} steps suffice above"),
                    at: rung(k),
                    vertical: false,
                });
            }
        }
    }
    chart
}

fn points(series: &Series, line: &SeriesLine) -> Vec<[f64; 2]> {
    series.x.iter().zip(&line.y).map(|(x, y)| [*x, *y]).collect()
}

/// The line whose jumps this one marks.
fn jumps_of(line: &SeriesLine) -> Option<&str> {
    line.name.strip_prefix("ladder ")
}

/// Whether a line belongs into the main chart.
fn is_main(line: &SeriesLine) -> bool {
    let beside = ["h_init", "ladder", "capped", "free ", "curvature"].iter().any(|p| line.name.starts_with(p));
    !beside && !["low", "high"].contains(&line.name.rsplit(' ').next().unwrap_or_default())
}

/// A solver has its colour in every sweep, its second policy is dashed.
fn look(name: &str, place: usize, theme: &Theme) -> (Color32, Stroke) {
    let dashed = |on: bool| if on { Stroke::Dashed } else { Stroke::Solid };
    match name {
        // Dashed: on prompts that steering was trained on.
        n if n.starts_with("plus") => (theme.warm, dashed(n != "plus")),
        n if n.starts_with("minus") => (theme.cool, dashed(n != "minus")),
        "neutral" => (theme.secondary, Stroke::Solid),
        n if n.ends_with("chance") || n.ends_with("majority") || n.starts_with("source") => {
            (theme.secondary, Stroke::Dashed)
        }
        n => {
            const ORDER: [&str; 6] = ["dopri5", "tsit5", "bosh3", "rk4", "adaptive_heun", "euler"];
            let known = ORDER.iter().position(|m| n.starts_with(m));
            (theme.variant(known.unwrap_or(place)), dashed(n.ends_with("clip")))
        }
    }
}
