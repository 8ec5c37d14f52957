//! Measurements over a range, piece by piece in the background: each answer tells all so far, and
//! the next piece is asked for when it came. Pausing is not asking; going on is asking again.

use std::sync::Arc;

use eframe::egui::{Button, ProgressBar, RichText, Ui, WidgetInfo, accesskit::Role, vec2};

use super::{SWEEP, dials::Dials, ladder::rung};
use crate::{
    config::Value,
    telemetry::{Line as SeriesLine, Payload, Series},
    ui::{
        plot::{Axis, Band, Chart, ChartState, Line, Mark, Reference, Stroke},
        theme::{self, Theme},
        views::{View, ViewCx},
    },
};

/// A thing to sweep: its id for the probe, its name, what it asks, in two sentences.
struct Kind {
    id: &'static str,
    name: &'static str,
    about: &'static str,
}

const KINDS: [Kind; 8] = [
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

/// What was told of a kind.
#[derive(Debug, Clone)]
struct Told {
    payload: Arc<Payload>,
    step: u64,
    about: String,
    request: Option<u64>,
}

/// View `flow_sweep`.
#[derive(Default)]
pub struct Sweep {
    kind: usize,
    /// The request that is waited for while it goes on, and the kind it is of.
    going: Option<(u64, usize)>,
    told: [Option<Told>; 8],
    states: [ChartState; 8],
    below: [ChartState; 2],
}

impl Sweep {
    pub fn make() -> Box<dyn View> {
        Box::<Self>::default()
    }

    /// Asks until so many pieces are measured; those that are, are not measured again.
    fn ask(&mut self, cx: &mut ViewCx<'_>, kind: usize, upto: f64) {
        let mut args = Dials::args(cx);
        args.insert("kind".to_owned(), Value::Text(KINDS[kind].id.to_owned()));
        args.insert("upto".to_owned(), Value::Int(upto as i64));
        self.going = Some((cx.ask("flow_sweep", None, args), kind));
    }

    /// Takes what came, and asks for the next piece.
    fn follow(&mut self, cx: &mut ViewCx<'_>) {
        for (kind, told) in self.told.iter_mut().enumerate() {
            let Some((_, sample)) = cx.answer(&format!("{SWEEP}.{}", KINDS[kind].id)) else { continue };
            if told.as_ref().is_none_or(|t| !Arc::ptr_eq(&t.payload, &sample.payload)) {
                *told = Some(Told {
                    payload: sample.payload.clone(),
                    step: sample.step,
                    about: sample.about.clone(),
                    request: sample.request,
                });
            }
        }
        let Some((request, kind)) = self.going else { return };
        let came = self.told[kind].as_ref().and_then(|t| t.request).is_some_and(|r| r >= request);
        if came {
            self.going = None;
            if let Some((done, total)) = self.progress(kind)
                && done < total
                && cx.can_ask()
            {
                self.ask(cx, kind, done + 1.0);
            }
        }
    }

    /// Pieces done and in all.
    fn progress(&self, kind: usize) -> Option<(f64, f64)> {
        let told = self.told[kind].as_ref()?;
        let series = told.payload.part("progress")?.as_series()?;
        let of = |name: &str| series.lines.iter().find(|l| l.name == name).and_then(|l| l.y.first()).copied();
        Some((of("done")?, of("total")?))
    }

    fn series(&self, kind: usize) -> Option<&Series> {
        let payload = &self.told[kind].as_ref()?.payload;
        payload.part("sweep").and_then(Payload::as_series).or_else(|| payload.as_series())
    }

    fn controls_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        ui.horizontal_wrapped(|ui| {
            ui.spacing_mut().item_spacing.x = 4.0;
            for (i, kind) in KINDS.iter().enumerate() {
                ui.selectable_value(&mut self.kind, i, kind.name).on_hover_text(kind.about);
            }
        });
        let kind = self.kind;
        let progress = self.progress(kind);
        let going = self.going.is_some_and(|(_, k)| k == kind);
        ui.horizontal(|ui| {
            let (done, total) = progress.unwrap_or((0.0, 1.0));
            let begun = done > 0.0 && done < total;
            let words = match (going, begun, done >= total) {
                (true, ..) => "pause",
                (_, true, _) => "go on",
                (.., true) => "measure again",
                _ => "measure",
            };
            let tip = "Pieces are measured between training steps, or while the run stands. What was measured of the \
                       same weights and dials is not measured twice.";
            let button = ui.add_enabled(going || cx.can_ask(), Button::new(words));
            if button.on_hover_text(tip).clicked() {
                match going {
                    true => self.going = None,
                    false => self.ask(cx, kind, if begun { done + 1.0 } else { 1.0 }),
                }
            }
            if let Some((done, total)) = progress.filter(|_| going || begun) {
                let share = (done / total.max(1.0)) as f32;
                let words = format!("{done:.0} of {total:.0}");
                let bar = ui.add(ProgressBar::new(share).desired_width(120.0).desired_height(14.0));
                bar.widget_info(|| WidgetInfo::labeled(Role::ProgressIndicator, true, format!("sweep: {words}")));
                ui.label(RichText::new(words).font(theme::numbers()).color(cx.theme.secondary));
            } else if going {
                ui.label(RichText::new("measuring the first piece").color(cx.theme.secondary));
            }
        });
    }

    /// The main chart of a kind.
    fn chart<'a>(&self, kind: usize, theme: &Theme) -> Chart<'a> {
        let (mut x, mut y) = match KINDS[kind].id {
            "nfe" => (Axis::new("u"), Axis::new("evaluations (NFE)").include(&[0.0])),
            "tolerance" => (Axis::new("tolerance").log(), Axis::new("evaluations (NFE)").log()),
            "invariance" => (Axis::new("steps m").log(), Axis::new("relative distance").log()),
            "class" => (Axis::new("u"), Axis::new("probability").fixed(0.0, 1.0)),
            "layers" => (Axis::new("depth \u{3c4}").fixed(0.0, 1.0), Axis::new("accuracy").fixed(0.0, 1.0)),
            "gradient_error" => (Axis::new("steps m").log(), Axis::new("relative distance").log()),
            "gradient_memory" => (Axis::new("steps m").log(), Axis::new("most memory held (MiB)").log()),
            _ => (Axis::new("tokens"), Axis::new("ms a pass").include(&[0.0])),
        };
        let series = self.series(kind);
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
                let mut marks =
                    Line::new(format!("ladder, {owner}"), theme.accent, points).stroke(Stroke::Marks(Mark::Up));
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
    fn under<'a>(&self, which: usize, theme: &Theme) -> Chart<'a> {
        let x = self.series(0).map_or("u", |s| s.x_label.as_str());
        let (name, y, prefix) = match which {
            0 => ("first step", Axis::new("h_init").log(), "h_init "),
            _ => ("curvature", Axis::new("curvature").include(&[0.0]), "curvature"),
        };
        let mut chart = Chart::new(name, Axis::new(x), y);
        chart.legend = false;
        let Some(series) = self.series(0) else { return chart };
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
    let beside = ["h_init", "ladder", "capped", "curvature"].iter().any(|p| line.name.starts_with(p));
    !beside && !["low", "high"].contains(&line.name.rsplit(' ').next().unwrap_or_default())
}

/// A solver has its colour in every sweep, its second policy is dashed.
fn look(name: &str, place: usize, theme: &Theme) -> (eframe::egui::Color32, Stroke) {
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

impl View for Sweep {
    fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        self.follow(cx);
        if !cx.can_ask() {
            self.going = None;
        }
        ui.spacing_mut().item_spacing.y = 4.0;
        self.controls_ui(ui, cx);
        let room = ui.available_size();
        let theme = cx.theme;
        let mut chart = self.chart(self.kind, theme);
        let under: Vec<usize> = match KINDS[self.kind].id {
            "nfe" if room.y > 260.0 => (0..2).filter(|w| !self.under(*w, theme).is_empty()).collect(),
            _ => vec![],
        };
        if under.is_empty() || chart.is_empty() {
            chart.show(ui, room, theme, &mut self.states[self.kind]);
            return;
        }
        chart.least_left = 60.0;
        let share = 1.0 - 0.24 * under.len() as f32;
        let shown = chart.show(ui, vec2(room.x, (room.y * share).round()), theme, &mut self.states[self.kind]);
        for which in under {
            let mut chart = self.under(which, theme);
            chart.margins = Some(shown.margins);
            self.below[which].share_x(&self.states[self.kind]);
            chart.show(ui, vec2(room.x, (room.y * 0.24 - 6.0).round()), theme, &mut self.below[which]);
            self.states[self.kind].share_x(&self.below[which]);
        }
    }

    fn subtitle(&self, _cx: &ViewCx<'_>) -> String {
        let kind = &KINDS[self.kind];
        match &self.told[self.kind] {
            Some(told) => format!("step {} \u{b7} {} \u{b7} {}", told.step, kind.name, told.about),
            None => format!("{}: not measured yet", kind.name),
        }
    }

    fn csv(&self, cx: &ViewCx<'_>) -> Option<String> {
        let mut chart = self.chart(self.kind, cx.theme);
        if KINDS[self.kind].id == "nfe" {
            for which in 0..2 {
                chart.lines.extend(self.under(which, cx.theme).lines);
            }
        }
        chart.csv(&self.states[self.kind])
    }

    fn svg(&self, cx: &ViewCx<'_>) -> Option<String> {
        self.chart(self.kind, cx.theme).svg(&self.states[self.kind], cx.theme)
    }
}
