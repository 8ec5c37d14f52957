//! Modularity against the number of edges, beside graphs of chance; and over training, at one number
//! of edges.

use eframe::egui::{Color32, RichText, Ui, vec2};

use super::{EMPTY, args, points};
use crate::{
    telemetry::{Payload, Sample, Series, channels},
    ui::{
        plot::{Axis, Chart, ChartState, Line, Reference, Stroke},
        theme,
        views::{View, ViewCx},
    },
};

/// Name of a line in the measurement, what it is called, and what a narrow legend calls it.
const NULLS: [(&str, &str, &str, Option<usize>); 4] = [
    ("degree-preserving", "same degrees", "same degrees", Some(0)),
    ("low rank, same norms", "random product, same norms", "same norms", Some(2)),
    ("low rank", "random product", "low rank", None),
    ("G(n, m)", "G(n, m)", "G(n, m)", Some(4)),
];

/// View `graph_modularity`.
#[derive(Default)]
pub struct Modularity {
    states: [ChartState; 2],
    /// The request that is waited for.
    asked: Option<u64>,
}

fn of_model(cx: &ViewCx<'_>) -> Color32 {
    cx.theme.accent
}

impl Modularity {
    pub fn make() -> Box<dyn View> {
        Box::<Self>::default()
    }

    /// The newest there is: an answer to the button, or the schedule's.
    fn shown<'a>(cx: &ViewCx<'a>) -> Option<&'a Sample> {
        let told = cx.sample(channels::GRAPH_MODULARITY).map(|(_, s)| s);
        let answer = cx.mirror.answer(cx.selection.variant, channels::GRAPH_MODULARITY).filter(|_| cx.follow);
        match (answer, told) {
            (Some(a), Some(t)) if t.step > a.step => Some(t),
            (a, t) => a.or(t),
        }
    }

    fn against_edges(cx: &ViewCx<'_>) -> Chart<'static> {
        let y = Axis::new("modularity Q").include(&[0.0]);
        let mut chart = Chart::new("modularity against edges", Axis::new("edges").log(), y).empty(EMPTY);
        let Some(sample) = Self::shown(cx) else { return chart };
        let Some(series) = sample.payload.as_series() else { return chart };
        chart.lines.push(Line { width: 2.5, ..Line::new("this model", of_model(cx), points(series, "model")).dots() });
        for (name, label, short, colour) in NULLS {
            let colour = colour.map_or(cx.theme.secondary, |c| cx.theme.variant(c));
            let line = Line { short: Some(short.to_owned()), ..Line::new(label, colour, points(series, name)) };
            chart.lines.push(line.dots());
        }
        let first = cx.mirror.samples(cx.selection.variant, channels::GRAPH_MODULARITY).first();
        if let Some(first) = first.filter(|f| f.step < sample.step).and_then(|f| f.payload.as_series()) {
            let before = Line::new("this model before training", cx.theme.text, points(first, "model"));
            let mut before = before.stroke(Stroke::Dashed);
            before.short = Some("before training".to_owned());
            chart.lines.push(before);
        }
        chart
    }

    fn over_training(cx: &ViewCx<'_>) -> Chart<'static> {
        let samples = cx.mirror.samples(cx.selection.variant, channels::GRAPH_CURVE);
        let edges = samples.last().and_then(|s| s.payload.as_series()).and_then(|s| s.x.first().copied());
        let y = Axis::new(edges.map_or("modularity Q".to_owned(), |m| format!("Q at {} edges", super::grouped(m))));
        let mut chart = Chart::new("modularity over training", Axis::new("step"), y.include(&[0.0])).empty(EMPTY);
        let line = |name: &str| -> Vec<[f64; 2]> {
            let value = |s: &Series| s.lines.iter().find(|l| l.name == name)?.y.first().copied();
            samples.iter().filter_map(|s| Some([s.step as f64, value(Payload::as_series(&s.payload)?)?])).collect()
        };
        let model = Line { width: 2.5, ..Line::new("this model", of_model(cx), line("model")) };
        let null = Line::new("same degrees", cx.theme.variant(0), line("degree-preserving"));
        chart.lines.extend([model, null].into_iter().filter(|l| !l.data.is_empty()));
        // these two know nothing of the model, so they stand still
        let measured = Self::shown(cx).and_then(|s| s.payload.as_series());
        for (name, label) in [("G(n, m)", "G(n, m)"), ("low rank", "random product")] {
            let same = |p: &[f64; 2]| edges.is_some_and(|m| (p[0] - m).abs() < 0.5);
            if let Some(at) = measured.and_then(|s| points(s, name).into_iter().find(same)) {
                let label = format!("{label}: {:.3}", at[1]);
                chart.references.push(Reference { label, at: at[1], vertical: false });
            }
        }
        chart.marker = cx.marker();
        chart
    }

    fn controls_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let answered = cx.mirror.answer(cx.selection.variant, channels::GRAPH_MODULARITY).and_then(|s| s.request);
        if self.asked.is_some_and(|a| answered.is_some_and(|r| r >= a)) || !cx.can_ask() {
            self.asked = None;
        }
        ui.horizontal_wrapped(|ui| {
            let tip = "Cuts the model's graph and four kinds of random graph at the same numbers of edges, and looks for \
                       communities in each. Takes seconds; training waits.";
            let button = ui.add_enabled(self.asked.is_none() && cx.can_ask(), eframe::egui::Button::new("Measure now"));
            if button.on_hover_text(tip).clicked() {
                self.asked = Some(cx.ask("graph_modularity", Some(cx.selection.variant), args(cx.config)));
            }
            let words = match (self.asked, Self::verdict(cx)) {
                (Some(_), _) => "measuring".to_owned(),
                (_, Some(verdict)) => verdict,
                _ => String::new(),
            };
            ui.label(RichText::new(words).size(theme::SMALL).color(cx.theme.secondary));
        });
    }

    /// From which number of edges on the model is above every graph of chance.
    fn verdict(cx: &ViewCx<'_>) -> Option<String> {
        let sample = Self::shown(cx)?;
        let series = sample.payload.as_series()?;
        let model = points(series, "model");
        let nulls: Vec<Vec<[f64; 2]>> = NULLS.iter().map(|(name, ..)| points(series, name)).collect();
        let above = |i: usize| nulls.iter().all(|n| n.get(i).is_none_or(|p| p[1] < model[i][1]));
        let from = (0..model.len()).rev().take_while(|i| above(*i)).last();
        let in_use = points(series, "carrying")
            .last()
            .map(|p| format!("; {} edges lie on {:.0}% of the neurons", super::grouped(p[0]), 100.0 * p[1]));
        let verdict = match from {
            Some(0) => "above every random graph at every number of edges".to_owned(),
            Some(i) => format!("above every random graph from {} edges on", super::grouped(model[i][0])),
            None => "not above every random graph".to_owned(),
        };
        Some(verdict + &in_use.unwrap_or_default())
    }
}

impl View for Modularity {
    fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let (edges, training) = (Self::against_edges(cx), Self::over_training(cx));
        if edges.is_empty() && training.is_empty() {
            edges.show(ui, ui.available_size(), cx.theme, &mut self.states[0]);
            return;
        }
        ui.spacing_mut().item_spacing.y = 4.0;
        self.controls_ui(ui, cx);
        let room = ui.available_size();
        if room.x > 1.2 * room.y {
            ui.horizontal(|ui| {
                let wide = ((room.x - 12.0) / 2.0).floor();
                edges.show(ui, vec2(wide, room.y), cx.theme, &mut self.states[0]);
                ui.add_space(4.0);
                training.show(ui, vec2(wide, room.y), cx.theme, &mut self.states[1]);
            });
        } else {
            let high = ((room.y - 6.0) / 2.0).floor();
            edges.show(ui, vec2(room.x, high), cx.theme, &mut self.states[0]);
            training.show(ui, vec2(room.x, high), cx.theme, &mut self.states[1]);
        }
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        match Self::shown(cx) {
            Some(s) => format!("step {} \u{b7} {}", s.step, s.about),
            None => "how far the graph falls into communities, against chance".to_owned(),
        }
    }

    fn csv(&self, cx: &ViewCx<'_>) -> Option<String> {
        super::table(&[Self::against_edges(cx), Self::over_training(cx)])
    }

    fn svg(&self, cx: &ViewCx<'_>) -> Option<String> {
        Self::against_edges(cx).svg(&self.states[0], cx.theme)
    }
}
