//! What the flow is like along its depth: speed, curvature of the path, stretch of the Jacobian.

use eframe::egui::{Ui, vec2};

use super::{EMPTY, answer::Answer, dials::Dials};
use crate::ui::{
    plot::{Axis, Chart, ChartState, Line},
    views::{View, ViewCx},
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
}

impl Along {
    pub fn make() -> Box<dyn View> {
        Box::<Self>::default()
    }

    fn chart<'a>(cx: &ViewCx<'a>, k: usize) -> Chart<'a> {
        let (name, words, short) = LINES[k];
        let y = Axis::new(words).include(&[0.0]);
        let mut chart = Chart::new(short, Axis::new("depth \u{3c4}").fixed(0.0, 1.0), y).empty(EMPTY);
        if let Some(answer) = Answer::of(cx) {
            let points = answer.points("along", name);
            if points.iter().any(|p| p[1].is_finite()) {
                chart.lines.push(Line::new(short, cx.theme.text, points).dots());
            }
        }
        chart.least_left = 60.0;
        chart
    }

    /// All lines in one table.
    fn all<'a>(cx: &ViewCx<'a>) -> Chart<'a> {
        let mut chart = Self::chart(cx, 0);
        for k in 1..LINES.len() {
            chart.lines.extend(Self::chart(cx, k).lines);
        }
        chart
    }
}

impl View for Along {
    fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        Dials::keep_fresh(cx);
        let room = ui.available_size();
        let there: Vec<usize> = (0..LINES.len()).filter(|k| !Self::chart(cx, *k).is_empty()).collect();
        let Some(&last) = there.last() else {
            Self::chart(cx, 0).show(ui, room, cx.theme, &mut self.states[0]);
            return;
        };
        ui.spacing_mut().item_spacing.y = 2.0;
        let high = (room.y / there.len() as f32).floor() - 2.0;
        for k in there {
            let mut chart = Self::chart(cx, k);
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
        Self::all(cx).csv(&ChartState::default())
    }

    fn svg(&self, cx: &ViewCx<'_>) -> Option<String> {
        Self::chart(cx, 0).svg(&self.states[0], cx.theme)
    }
}
