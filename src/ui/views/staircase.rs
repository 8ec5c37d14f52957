//! The staircase: one component of the fast state and of the upsampled slow signal along a sentence.

use eframe::egui::{Color32, Ui};

use super::{RunTracker, View, ViewCx};
use crate::{
    telemetry::{Payload, Sample, channels},
    ui::{
        plot::{Axis, Chart, ChartState, Line, Span, Stroke},
        widgets::token_strip::{Mark, token_strip_ui},
    },
};

/// View `staircase`.
#[derive(Default)]
pub struct Staircase {
    state: ChartState,
    hovered: Option<usize>,
    run_tracker: RunTracker,
}

/// Tokens a block.
fn pool_of(sample: &Sample) -> usize {
    match sample.payload.part("pool") {
        Some(Payload::Scalar(p)) => (*p as usize).max(1),
        _ => 1,
    }
}

impl Staircase {
    pub fn make() -> Box<dyn View> {
        Box::<Self>::default()
    }

    fn chart<'a>(focus: Option<usize>, cx: &ViewCx<'a>) -> Chart<'a> {
        let sample = cx.sample(channels::STAIRCASE).map(|(_, s)| s);
        let series = sample.and_then(|s| s.payload.part("lines")).and_then(Payload::as_series);
        let x = Axis::new("position (tokens)").whole();
        let y = Axis::new(series.map_or("component", |s| s.y_label.as_str()));
        let mut chart = Chart::new("staircase", x, y)
            .empty("No sentence yet. A fast-slow run measures one at its start: press Space.");
        let (Some(sample), Some(series)) = (sample, series) else { return chart };
        for line in &series.lines {
            let points: Vec<[f64; 2]> = series.x.iter().zip(&line.y).map(|(x, y)| [*x, *y]).collect();
            chart.lines.push(match line.name.as_str() {
                "y_up" => Line::new("slow, y", cx.theme.slow, points).stroke(Stroke::Stairs),
                "x_t" => Line::new("fast, x", cx.theme.fast, points),
                other => Line::new(other, cx.theme.secondary, points),
            });
        }
        if let Some(token) = focus {
            let pool = pool_of(sample);
            let block = token / pool;
            let span = |block: usize, label: String, colour: Color32| Span {
                label,
                colour,
                from: (block * pool) as f64,
                to: ((block + 1) * pool) as f64,
            };
            let words = match block.checked_sub(1) {
                Some(read) => {
                    chart.spans.push(span(read, String::new(), cx.theme.slow));
                    format!("block {block} reads block {read}")
                }
                None => "block 0 reads zero".to_owned(),
            };
            chart.spans.push(span(block, words, cx.theme.fast));
        }
        chart
    }
}

impl View for Staircase {
    fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        self.run_tracker.ask_if_missing(cx, channels::STAIRCASE, "staircase");
        let Some((_, sample)) = cx.sample(channels::STAIRCASE) else {
            Self::chart(None, cx).show(ui, ui.available_size(), cx.theme, &mut self.state);
            return;
        };
        let (pool, tokens) = (pool_of(sample), &sample.tokens);
        let focus = self.hovered.or(cx.selection.token).filter(|t| *t < tokens.len());
        let theme = cx.theme;
        let pointed = token_strip_ui(ui, theme, tokens, |i| {
            let block = focus.map(|t| t / pool);
            let ground = match block {
                Some(b) if i / pool == b => Some(theme.fast.gamma_multiply(0.25)),
                Some(b) if i / pool + 1 == b => Some(theme.slow.gamma_multiply(0.25)),
                _ if (i / pool) % 2 == 1 => Some(theme.line.gamma_multiply(0.5)),
                _ => None,
            };
            Mark { ground, outline: (cx.selection.token == Some(i)).then_some(theme.accent) }
        });
        let chart = Self::chart(focus, cx);
        let shown = chart.show(ui, ui.available_size(), theme, &mut self.state);
        let at = |x: f64| Some(x.floor().max(0.0) as usize).filter(|t| *t < tokens.len());
        let now = pointed.hovered.or(shown.hovered_x.and_then(at));
        if now != self.hovered {
            self.hovered = now;
            ui.ctx().request_repaint();
        }
        if let Some(token) = pointed.clicked.or(shown.clicked_x.and_then(at)) {
            cx.selection.token = if cx.selection.token == Some(token) { None } else { Some(token) };
        }
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        let explained = match cx.sample(channels::STAIRCASE).and_then(|(_, s)| s.payload.part("explained")) {
            Some(Payload::Scalar(e)) => format!("{:.0}% of the variance", e * 100.0),
            _ => "one component along a sentence".to_owned(),
        };
        cx.sample_subtitle(channels::STAIRCASE, &explained)
    }

    fn csv(&self, cx: &ViewCx<'_>) -> Option<String> {
        Self::chart(None, cx).csv(&self.state)
    }

    fn svg(&self, cx: &ViewCx<'_>) -> Option<String> {
        Self::chart(self.hovered.or(cx.selection.token), cx).svg(&self.state, cx.theme)
    }
}
