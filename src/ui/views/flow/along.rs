//! What the flow is like along its depth: speed, curvature of the path, stretch of the Jacobian.

use eframe::egui::{Ui, vec2};

use super::{
    ALONG, EMPTY,
    answer::Answer,
    dials::{Dials, REST},
};
use crate::{
    telemetry::{Args, Payload},
    ui::{
        plot::{Axis, Chart, ChartState, Line},
        views::{View, ViewCx},
    },
};

/// A line of the part `along`: its name there, its axis' words, what it is called.
const LINES: [(&str, &str, &str); 3] = [
    ("velocity", "speed, rms |dH/d\u{3c4}|", "speed"),
    ("curvature", "curvature, |d\u{b2}H/d\u{3c4}\u{b2}| / |dH/d\u{3c4}|\u{b2}", "curvature"),
    ("sigma", "largest singular value of dF/dH", "stretch"),
];

/// View `flow_along`.
#[derive(Default)]
pub struct Along {
    states: [ChartState; 3],
    /// What the stretch was asked with, after which answer, and the request.
    asked: Option<(Args, Option<u64>, u64)>,
}

impl Along {
    pub fn make() -> Box<dyn View> {
        Box::<Self>::default()
    }

    /// The stretch takes longer than a frame: it is asked for once the dials rest.
    fn ask_stretch(&mut self, ui: &Ui, cx: &mut ViewCx<'_>) {
        let Some(answer) = Answer::of(cx).filter(|a| a.sample.request.is_some()) else { return };
        let (args, request) = (Dials::args(cx), answer.sample.request);
        if !cx.can_ask() || self.asked.as_ref().is_some_and(|(a, r, _)| *a == args && *r == request) {
            return;
        }
        let now = ui.input(|i| i.time);
        if !(cx.selection.flow.rest(now) && Dials::is_answered(cx)) {
            ui.ctx().request_repaint_after(std::time::Duration::from_secs_f64(REST));
            return;
        }
        let asked = cx.ask("flow_along", Some(answer.variant), args.clone());
        self.asked = Some((args, request, asked));
    }

    /// Whether the stretch that is there is of another answer than the one shown.
    fn is_stale(&self, cx: &ViewCx<'_>) -> bool {
        let told = cx.answer(ALONG).and_then(|(_, s)| s.request);
        let shown = Answer::of(cx).and_then(|a| a.sample.request);
        match (&self.asked, told) {
            (Some((args, after, asked)), Some(told)) => told < *asked || *after != shown || *args != Dials::args(cx),
            _ => false,
        }
    }

    fn chart<'a>(&self, cx: &ViewCx<'a>, k: usize) -> Chart<'a> {
        let (name, words, short) = LINES[k];
        let y = Axis::new(words).include(&[0.0]);
        let mut chart = Chart::new(short, Axis::new("depth \u{3c4}").fixed(0.0, 1.0), y).empty(EMPTY);
        if let Some(answer) = Answer::of(cx) {
            let mut points = answer.points("along", name);
            if points.is_empty() {
                points = told_apart(cx, name);
            }
            if points.iter().any(|p| p[1].is_finite()) {
                let colour = if k == 2 && self.is_stale(cx) { cx.theme.faint(cx.theme.text) } else { cx.theme.text };
                chart.lines.push(Line::new(short, colour, points).dots());
            }
        }
        chart.least_left = 60.0;
        chart
    }

    /// All lines in one table.
    fn all<'a>(&self, cx: &ViewCx<'a>) -> Chart<'a> {
        let mut chart = self.chart(cx, 0);
        for k in 1..LINES.len() {
            chart.lines.extend(self.chart(cx, k).lines);
        }
        chart
    }
}

/// A line of the answer that comes by itself.
fn told_apart(cx: &ViewCx<'_>, name: &str) -> Vec<[f64; 2]> {
    let series = cx.answer(ALONG).and_then(|(_, s)| Payload::as_series(&s.payload));
    let Some(series) = series else { return vec![] };
    let line = series.lines.iter().find(|l| l.name == name);
    line.map_or(vec![], |l| series.x.iter().zip(&l.y).map(|(x, y)| [*x, *y]).collect())
}

impl View for Along {
    fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        Dials::keep_fresh(cx);
        self.ask_stretch(ui, cx);
        let room = ui.available_size();
        let there: Vec<usize> = (0..LINES.len()).filter(|k| !self.chart(cx, *k).is_empty()).collect();
        let Some(&last) = there.last() else {
            let chart = self.chart(cx, 0);
            chart.show(ui, room, cx.theme, &mut self.states[0]);
            return;
        };
        ui.spacing_mut().item_spacing.y = 2.0;
        let high = (room.y / there.len() as f32).floor() - 2.0;
        for k in there {
            let mut chart = self.chart(cx, k);
            if k != last {
                // The axis is named once, under the last.
                chart.x.label.clear();
            }
            chart.show(ui, vec2(room.x, high), cx.theme, &mut self.states[k]);
        }
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        match Answer::of(cx) {
            Some(a) => format!("step {} \u{b7} along the solved path \u{b7} {}", a.sample.step, a.sample.about),
            None => "speed, curvature and stretch over depth".to_owned(),
        }
    }

    fn csv(&self, cx: &ViewCx<'_>) -> Option<String> {
        self.all(cx).csv(&ChartState::default())
    }

    fn svg(&self, cx: &ViewCx<'_>) -> Option<String> {
        self.chart(cx, 0).svg(&self.states[0], cx.theme)
    }
}
