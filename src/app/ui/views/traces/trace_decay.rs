//! The decay of a trace for the three coefficients: a word's share, its weight, and the step response, without a run.

use super::sentence::{Sentence, TRACE_NAMES};
use crate::{analysis::ema, ui::views::prelude::*};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum DecayCurve {
    #[default]
    Left,
    Impulse,
    Step,
}

/// Steps drawn: the paper's furthest mark is at 200.
const MAX_STEP: usize = 220;
/// Height of the controls, and of the table, points.
const CONTROLS_HEIGHT: f32 = 32.0;
const TABLE_HEIGHT: f32 = 4.0 * 20.0 + 8.0;

#[derive(Default)]
pub struct TraceDecay {
    shown: DecayCurve,
}

impl TraceDecay {
    fn choice_ui(&mut self, ui: &mut Ui) {
        ui.horizontal(|ui| {
            for (choice, words, tip) in [
                (
                    DecayCurve::Left,
                    "left of a word",
                    "What is left of a word k words later, as a share of what was there when it was read.",
                ),
                (
                    DecayCurve::Impulse,
                    "impulse",
                    "The weight of the word k steps back in the trace. All weights of an endless past sum to 1.",
                ),
                (
                    DecayCurve::Step,
                    "step",
                    "The trace when the same input comes again and again: how long it takes to notice.",
                ),
            ] {
                ui.selectable_value(&mut self.shown, choice, words).on_hover_text(tip);
            }
        });
    }
}

/// A table with one row for each trace: half-life, window (1/α) and the share left after 50 and 200 words.
fn table_ui(ui: &mut Ui, cx: &ViewCx<'_>) {
    let sentence = Sentence::from_settings(cx);
    ui.spacing_mut().interact_size.y = 16.0;
    Grid::new("half-lives").num_columns(6).min_row_height(16.0).spacing(vec2(8.0, 2.0)).show(ui, |ui| {
        let heads = ["in words", "\u{3b1}", "half-life", "window", "after 50", "after 200"];
        heads.into_iter().for_each(|head| _ = note_ui(ui, cx.theme, head));
        ui.end_row();
        for (i, &a) in sentence.alphas.iter().enumerate() {
            ui.label(small_text(TRACE_NAMES[i], cx.theme.trace_colour(i)));
            for cell in [
                format!("{a}"),
                format!("{:.1}", ema::half_life(a)),
                format!("{:.1}", ema::effective_window(a)),
                format!("{:.2}", ema::retention(a, 50.0)),
                format!("{:.2}", ema::retention(a, 200.0)),
            ] {
                ui.label(RichText::new(cell).font(theme::numbers()).color(cx.theme.text));
            }
            ui.end_row();
        }
    });
}

impl PanelView for TraceDecay {
    fn panels<'a>(&'a self, cx: &ViewCx<'a>) -> Vec<Panel<'a>> {
        let (y, value): (_, fn(f64, f64) -> f64) = match self.shown {
            DecayCurve::Left => ("share left, (1 \u{2212} \u{3b1})^k", ema::retention),
            DecayCurve::Impulse => ("weight, \u{3b1} (1 \u{2212} \u{3b1})^k", ema::impulse),
            DecayCurve::Step => ("trace of a constant 1", ema::step_response),
        };
        let x = Axis::new("words since, k").integer_ticks();
        let mut chart = Chart::new("decay of the traces", x, Axis::new(y).include(&[0.0]));
        let sentence = Sentence::from_settings(cx);
        for (i, &a) in sentence.alphas.iter().enumerate() {
            let points: Vec<[f64; 2]> = (0..=MAX_STEP).map(|k| [k as f64, value(a, k as f64)]).collect();
            chart.add(Line::new(format!("{}, \u{3b1} {a}", TRACE_NAMES[i]), cx.theme.trace_colour(i), points));
        }
        if self.shown == DecayCurve::Left {
            for (k, words) in [(50.0, "paper: 0.36 left after 50"), (200.0, "paper: 0.02 left after 200")] {
                chart.vertical_line(words, k).claim = Some("B21");
            }
        }
        Panel::single(chart)
    }

    /// A low tile has no table: it would be cut between its rows.
    fn height_below(&self, ui: &Ui, _cx: &ViewCx<'_>, room: Vec2, _is_empty: bool) -> f32 {
        let least = plot::min_chart_height(ui.ctx()) + CONTROLS_HEIGHT + TABLE_HEIGHT;
        if room.y > least.max(260.0) { CONTROLS_HEIGHT + TABLE_HEIGHT } else { CONTROLS_HEIGHT }
    }

    fn below_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>, height: f32) {
        cx.controls_ui(ui, |ui, _| self.choice_ui(ui));
        if height > CONTROLS_HEIGHT {
            table_ui(ui, cx);
        }
    }

    fn subtitle(&self, _cx: &ViewCx<'_>) -> String {
        "closed form of the current settings".to_owned()
    }
}
