//! Change one token and see how far the logits move at every position: none before it, at any scale
//! of the coupling. The model answers while its weights stand still for the moment.

use eframe::egui::{self, FontId, Ui, vec2};

use super::{RunTracker, View, ViewCx};
use crate::{
    config::Value,
    telemetry::{Args, Payload, Sample, channels},
    ui::{
        plot::{Axis, Chart, ChartState, Line, Reference, Span, Stroke, value_words},
        seed_series::group_index,
        widgets::token_strip::{Mark, token_strip_ui},
    },
};

/// View `causality`.
pub struct Causality {
    state: ChartState,
    run_tracker: RunTracker,
    /// A sentence of one's own; empty asks about a held-out passage.
    text: String,
    /// The changed token; `None` lets the probe choose.
    position: Option<usize>,
    replacement: String,
    coupling_scale: f64,
    show_wrong: bool,
    /// Request last sent, and the model's step when it was.
    asked: Option<(u64, u64)>,
}

/// Training steps after which an answer is stale and asked anew.
const STALE: u64 = 25;

impl Causality {
    pub fn make() -> Box<dyn View> {
        Box::new(Self {
            state: ChartState::default(),
            run_tracker: RunTracker::default(),
            text: String::new(),
            position: None,
            replacement: String::new(),
            coupling_scale: 1.0,
            show_wrong: false,
            asked: None,
        })
    }

    fn ask(&mut self, cx: &mut ViewCx<'_>) {
        let mut args = Args::new();
        if !self.text.trim().is_empty() {
            args.insert("text".to_owned(), Value::Text(self.text.clone()));
        }
        if let Some(p) = self.position {
            args.insert("position".to_owned(), Value::Int(p as i64));
        }
        if !self.replacement.is_empty() {
            args.insert("replacement".to_owned(), Value::Text(self.replacement.clone()));
        }
        args.insert("coupling_scale".to_owned(), Value::Float(self.coupling_scale));
        args.insert("show_wrong".to_owned(), Value::Switch(self.show_wrong));
        let request = cx.ask("causality", Some(cx.selection.variant), args);
        self.asked = Some((request, cx.mirror.step));
    }

    fn chart<'a>(cx: &ViewCx<'a>) -> Chart<'a> {
        let sample = cx.answer(channels::CAUSALITY);
        let part = |name: &str| sample.and_then(|(_, s)| s.payload.part(name)).and_then(Payload::as_series);
        let x = Axis::new("position (tokens)").whole();
        let y = Axis::new("max |\u{394} logits|").log();
        let mut chart = Chart::new("causality", x, y)
            .empty("No answer yet. Open a fast-slow run and the question is asked at once, of the model as it stands.");
        let Some((variant, sample)) = sample else { return chart };
        let Some(delta) = part("delta") else { return chart };
        let points = |s: &crate::telemetry::Series| -> Vec<[f64; 2]> {
            s.lines.first().map_or(vec![], |l| s.x.iter().zip(&l.y).map(|(x, y)| [*x, *y]).collect())
        };
        let at = changed_at(sample) as f64;
        let ends = [delta.x.first().copied().unwrap_or(0.0) - 0.5, delta.x.last().copied().unwrap_or(1.0) + 0.5];
        chart.x = chart.x.include(&ends);
        if let Some(wrong) = part("wrong_upsample") {
            let line = Line::new("wrong upsample, floor(t/P)", cx.theme.warm, points(wrong));
            chart.lines.push(line.stroke(Stroke::Stems));
        }
        let colour = cx.theme.variant(group_index(cx.mirror, variant));
        chart.lines.push(Line::new("this model", colour, points(delta)).stroke(Stroke::Stems));
        if at > 0.0 {
            let label = match before_max(sample) {
                Some(0.0) => "0 exactly".to_owned(),
                Some(most) => format!("at most {}", value_words(most)),
                None => String::new(),
            };
            chart.spans.push(Span { label, colour: cx.theme.secondary, from: ends[0], to: at - 0.5 });
        }
        chart.references.push(Reference { label: "changed".to_owned(), at, vertical: true });
        chart
    }

    fn sentence_ui(&mut self, ui: &mut Ui) -> bool {
        let hint = "a held-out passage; type a sentence of your own";
        let edit = egui::TextEdit::singleline(&mut self.text).desired_width(f32::INFINITY).hint_text(hint);
        let response = ui.add(edit).on_hover_text(
            "The sentence that is read. Empty takes the first passage of the held-out text, which the model has never \
             been trained on.",
        );
        response.widget_info(|| egui::WidgetInfo::labeled(egui::accesskit::Role::TextInput, true, "sentence to read"));
        if response.changed() {
            // Another sentence has other positions.
            self.position = None;
        }
        response.changed()
    }

    fn controls_ui(&mut self, ui: &mut Ui, sample: &Sample) -> bool {
        let mut changed = false;
        ui.horizontal_wrapped(|ui| {
            let at = self.position.unwrap_or(changed_at(sample));
            let here = sample.tokens.get(at).map_or("", String::as_str);
            let label = ui
                .label(format!("\u{201c}{here}\u{201d} becomes"))
                .on_hover_text(format!("Token {at}. Click another one above."))
                .id;
            let edit = egui::TextEdit::singleline(&mut self.replacement).desired_width(56.0).hint_text("type");
            changed |= ui.add(edit).labelled_by(label).changed();
            let label = ui.label("s").on_hover_text("Coupling scale, for this question only.").id;
            ui.spacing_mut().slider_width = 64.0;
            changed |= ui
                .add(egui::Slider::new(&mut self.coupling_scale, 0.0..=10.0).max_decimals(1))
                .labelled_by(label)
                .on_hover_text(
                    "Multiplies the gate for this question only. The paper turns it to 10: nothing before the change \
                     may move even then.",
                )
                .changed();
            changed |= ui
                .checkbox(&mut self.show_wrong, "wrong upsample")
                .on_hover_text(
                    "Also asks the model with floor(t/P) in place of floor(t/P) \u{2212} 1: a token then reads its own \
                     unfinished block, and the future leaks into it.",
                )
                .changed();
        });
        changed
    }
}

/// Where the change is: told by the probe, else where the two texts part.
fn changed_at(sample: &Sample) -> usize {
    if let Some(Payload::Scalar(p)) = sample.payload.part("position") {
        return *p as usize;
    }
    match (sample.payload.part("original"), sample.payload.part("edited")) {
        (Some(Payload::Text(a)), Some(Payload::Text(b))) => {
            a.concat().chars().zip(b.concat().chars()).position(|(a, b)| a != b).unwrap_or(0)
        }
        _ => 0,
    }
}

fn before_max(sample: &Sample) -> Option<f64> {
    match sample.payload.part("before_max") {
        Some(Payload::Scalar(v)) => Some(*v),
        _ => None,
    }
}

/// The model's answer in words: the likeliest tokens before and after.
fn prediction(sample: &Sample) -> &[String] {
    match sample.payload.part("prediction") {
        Some(Payload::Text(lines)) => lines,
        _ => &[],
    }
}

impl View for Causality {
    fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        if self.run_tracker.new_run(cx.mirror) {
            (self.asked, self.position) = (None, None);
            self.replacement.clear();
        }
        let stale = self.asked.is_none_or(|(_, step)| cx.follow && cx.mirror.step >= step + STALE);
        if stale && cx.can_ask() {
            self.ask(cx);
        }
        let Some((_, sample)) = cx.answer(channels::CAUSALITY) else {
            Self::chart(cx).show(ui, ui.available_size(), cx.theme, &mut self.state);
            return;
        };
        ui.spacing_mut().item_spacing.y = 4.0;
        let theme = cx.theme;
        let mut changed = self.sentence_ui(ui);
        let at = self.position.unwrap_or(changed_at(sample));
        let pointed = token_strip_ui(ui, theme, &sample.tokens, |i| Mark {
            ground: (i == at).then_some(theme.accent.gamma_multiply(0.3)),
            outline: (cx.selection.token == Some(i)).then_some(theme.accent),
        });
        changed |= self.controls_ui(ui, sample);
        if let Some(token) = pointed.clicked {
            self.position = Some(token);
            cx.selection.token = Some(token);
            changed = true;
        }
        let words = prediction(sample);
        let room = ui.available_size();
        let lines = if room.y > 170.0 { words.len() as f32 } else { 0.0 };
        Self::chart(cx).show(ui, room - vec2(0.0, lines * 18.0 + 4.0), theme, &mut self.state);
        if lines > 0.0 {
            for line in words {
                let text = egui::RichText::new(format!("next, {line}")).font(FontId::monospace(12.0));
                ui.add(egui::Label::new(text.color(theme.secondary)).truncate());
            }
        }
        if changed && cx.can_ask() {
            self.ask(cx);
        }
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        let Some((_, sample)) = cx.answer(channels::CAUSALITY) else {
            return "change one token, watch every logit".to_owned();
        };
        let gate = match sample.payload.part("effective_gate") {
            Some(Payload::Scalar(g)) => format!(" \u{b7} s tanh(\u{3b3}) = {}", value_words(*g)),
            _ => String::new(),
        };
        format!("step {}{gate} \u{b7} {}", sample.step, sample.about)
    }

    fn csv(&self, cx: &ViewCx<'_>) -> Option<String> {
        Self::chart(cx).csv(&self.state)
    }

    fn svg(&self, cx: &ViewCx<'_>) -> Option<String> {
        Self::chart(cx).svg(&self.state, cx.theme)
    }
}
