//! Two sentences that differ in one word, and how far apart their traces are after every word, computed without a run.

use super::sentence::{Sentence, TRACE_NAMES};
use crate::{analysis::ema, labs::traces::TraceSettings, ui::views::prelude::*};

#[derive(Default)]
pub struct WordSwap {
    relative: bool,
}

impl WordSwap {
    fn swap_to_ui(ui: &mut Ui, cx: &mut ViewCx<'_>, now: &str) {
        let mut to = now.to_owned();
        // the words around it have no padding, and the field keeps its own
        let margin = egui::Margin::symmetric(6, 1);
        let edit = TextEdit::singleline(&mut to).desired_width(64.0).font(theme::small());
        let edit = edit.margin(margin).align(Align2::LEFT_CENTER);
        let response = text_field(ui, edit, "word to swap in").on_hover_text("The word that takes its place.");
        if response.changed() && !to.trim().is_empty() {
            cx.set(TraceSettings::swap_to.name, Value::Text(to.trim().to_owned()));
        }
    }

    /// The sentence as words to click, and the word that takes the place of the chosen one.
    fn words_ui(ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let s = Sentence::from_settings(cx);
        ui.horizontal_wrapped(|ui| {
            ui.spacing_mut().item_spacing = vec2(5.0, 2.0);
            ui.spacing_mut().button_padding = vec2(0.0, 0.0);
            ui.spacing_mut().interact_size.y = 18.0;
            for (i, word) in s.words.iter().enumerate() {
                let chosen = i == s.swap_word;
                let text = RichText::new(word).size(theme::SMALL);
                let text = if chosen { text.strikethrough().color(cx.theme.accent) } else { text.color(cx.theme.text) };
                let response = match cx.is_restricted(&[TraceSettings::swap_word.name]) {
                    true => ui.label(text),
                    false => {
                        let tip = format!("Swap word {}, \u{201c}{word}\u{201d}.", i + 1);
                        ui.add(Button::new(text).frame(false)).on_hover_text(tip)
                    }
                };
                if response.clicked() && !chosen {
                    cx.set(TraceSettings::swap_word.name, Value::Int(i as i64 + 1));
                }
                if chosen {
                    cx.setting_ui(ui, &[TraceSettings::swap_to.name], |ui, cx| Self::swap_to_ui(ui, cx, &s.swap_to));
                }
            }
        });
    }
}

impl PanelView for WordSwap {
    const FOOTER_HEIGHT: f32 = 32.0;

    fn controls(&self) -> &'static [&'static str] {
        const { &[TraceSettings::swap_word.name, TraceSettings::swap_to.name] }
    }

    fn panels<'a>(&'a self, cx: &ViewCx<'a>) -> Vec<Panel<'a>> {
        let s = Sentence::from_settings(cx);
        let y = if self.relative { "distance / mean norm" } else { "distance |h \u{2212} h'|" };
        let mut chart = Chart::new("distance of the traces", Axis::new("word").integer_ticks(), Axis::new(y).log())
            .empty("The two sentences have the same codes: choose another word to swap in.");
        let swapped = s.words.iter().enumerate().map(|(i, w)| if i == s.swap_word { s.swap_to.as_str() } else { w });
        let (first, second) = (s.codes(s.words.iter().map(String::as_str)), s.codes(swapped));
        let width = s.code_dim;
        for (i, &a) in s.alphas.iter().enumerate() {
            let (p, q) = (ema::trace(&first, width, a), ema::trace(&second, width, a));
            let far = if self.relative { ema::relative_distance(&p, &q, width) } else { ema::distance(&p, &q, width) };
            // Before the swap the traces are the same: nothing to draw on a logarithmic axis.
            let points: Vec<[f64; 2]> =
                far.iter().enumerate().filter(|(_, d)| **d > 0.0).map(|(t, d)| [t as f64 + 1.0, *d]).collect();
            chart.add(Line::new(format!("{}, \u{3b1} {a}", TRACE_NAMES[i]), cx.theme.trace_colour(i), points).dots());
        }
        chart.lines.retain(|line| !line.data.is_empty());
        if !chart.lines.is_empty() {
            chart.x.include = vec![1.0, s.words.len() as f64];
            let label = format!("{} / {}", s.words.get(s.swap_word).map_or("", String::as_str), s.swap_to);
            chart.vertical_line(label, s.swap_word as f64 + 1.0);
        }
        Panel::single(chart)
    }

    fn above_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        cx.dials_ui(ui, Self::words_ui);
    }

    fn footer_ui(&mut self, ui: &mut Ui, _cx: &mut ViewCx<'_>) {
        ui.selectable_value(&mut self.relative, false, "distance").on_hover_text(
            "Euclidean distance of the two traces. It is \u{3b1} times the distance of the two words, and shrinks by 1 \u{2212} \u{3b1} with every word: a straight line here.",
        );
        ui.selectable_value(&mut self.relative, true, "relative to the trace").on_hover_text(
            "The distance over the mean norm of the two traces: how much of what the trace holds is different.",
        );
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        let s = Sentence::from_settings(cx);
        format!("word {} of {} is another one", s.swap_word + 1, s.words.len())
    }
}
