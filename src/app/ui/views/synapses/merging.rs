//! This model, another, and both side by side: the held-out loss of each on every text.

use super::stages;
use crate::{labs::merging::MergingSettings, ui::views::prelude::*};

/// Number of updates of the children in a question of this view.
const TUNED_UPDATES: i64 = 300;
/// The text shown while nothing has been merged.
const EMPTY: &str = "Two models with the same width, heads and layers become one with the neurons of both. Nothing has been \
                     merged yet.";
/// Marks before the three models.
const MODEL_MARKS: [&str; 3] = ["\u{25cb}", "\u{25cb}", "\u{25cf}"];

/// The number of each bar.
const LOSS: &str = "held-out loss (nats per token)";

#[derive(Default)]
pub struct Merging;

/// The labels of the three models, each with its losses, one per text.
fn models(merging: &measurements::Merging) -> [(String, &[f32]); 3] {
    merging.models().map(|m| (format!("{}, {} neurons", m.name, m.neurons), m.losses.data()))
}

impl Merging {
    /// The question of the button: what merging with the file does that is named on the control panel.
    fn question(cx: &ViewCx<'_>) -> Option<MergingArgs> {
        let file = cx.config.value(MergingSettings::checkpoint).ok()?;
        let with = file.path()?.display().to_string();
        Some(MergingArgs { with, ..MergingArgs::default() })
    }

    fn ask_ui(ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let Some(args) = Self::question(cx) else {
            if cx.answered::<measurements::Merging>().is_some() {
                return;
            }
            let words =
                "Name a second trained BDH under Merging \u{2192} Merge with, or let this one have two children:";
            ui.label(RichText::new(words).color(cx.theme.secondary));
            let tune = MergingSettings::tune.name;
            let knows = cx.knobs.iter().any(|k| k.key == tune) && !cx.is_restricted(&[tune]);
            let tip = "Sets Merging \u{2192} Tune two children; choose their texts here.";
            if knows && ui.button("Tune two children and merge them").on_hover_text(tip).clicked() {
                cx.set(tune, Value::Int(TUNED_UPDATES));
            }
            return;
        };
        let variant = Some(cx.selection.variant);
        let again = cx.questions.args((measurements::Merging::PROBE, variant)) == Some(&args.to_args());
        let words = if again { "Merge again" } else { "Merge and compare" };
        if ui.add_enabled(cx.can_ask(), Button::new(words)).on_hover_text(&args.with).clicked() {
            cx.ask_now::<measurements::Merging>(variant, &args);
        }
    }
}

impl View for Merging {
    fn needs(&mut self, cx: &mut ViewCx<'_>) {
        if let Some(args) = Self::question(cx).filter(|_| !stages::are_shown(cx)) {
            let shown = cx.answered::<measurements::Merging>().map(|m| m.sample);
            cx.shows_question::<measurements::Merging>(Some(cx.selection.variant), &args, shown);
        }
    }

    fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        if stages::are_shown(cx) {
            plot::rows_ui(ui, ScrollArea::vertical().auto_shrink([false, false]), |ui| stages::stages_ui(ui, cx));
            return;
        }
        let (measured, theme) = (cx.answered::<measurements::Merging>(), cx.theme);
        if measured.is_some() || cx.has_controls {
            cx.dials_ui(ui, Self::ask_ui);
        }
        let Some(measured) = measured else {
            let words = cx.empty_reason_before_asking::<measurements::Merging>(EMPTY, EMPTY);
            return match cx.has_controls {
                true => _ = ui.label(RichText::new(words).color(theme.secondary)),
                false => cx.nothing_ui(ui, &words),
            };
        };
        let models = models(measured.value);
        let losses = models.iter().flat_map(|(_, losses)| losses.iter().copied());
        let max = losses.filter(|v| v.is_finite()).fold(0.0, f32::max);
        plot::rows_ui(ui, ScrollArea::vertical().auto_shrink([false, true]), |ui| {
            note_ui(ui, theme, format!("{LOSS} of {}", models.each_ref().map(|(label, _)| label.as_str()).join("; ")));
            for (t, text) in measured.texts.iter().enumerate() {
                ui.add_space(6.0);
                ui.label(RichText::new(text).strong());
                let bars = measured.value.models().into_iter().enumerate().map(|(m, model)| {
                    let loss = model.losses.data().get(t).copied().map_or(f64::NAN, f64::from);
                    Bar::new(&model.name, theme.series(m), loss).sign(MODEL_MARKS[m])
                });
                bars_ui(ui, theme, &format!("held-out loss on {text}"), bars, f64::from(max));
            }
            ui.add_space(8.0);
            measured.notes.iter().for_each(|line| _ = note_ui(ui, theme, line));
        });
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        if stages::are_shown(cx) {
            return stages::subtitle(cx);
        }
        let otherwise = "held-out loss of two models and of both as one";
        cx.answered_subtitle::<measurements::Merging>(LOSS, otherwise)
    }

    fn csv(&self, cx: &ViewCx<'_>) -> Option<String> {
        if stages::are_shown(cx) {
            return stages::csv(cx);
        }
        let measured = cx.answered::<measurements::Merging>()?;
        let mut table = Table::new(["text", "model", "loss"]);
        for (t, text) in measured.texts.iter().enumerate() {
            for (model, losses) in models(measured.value) {
                let loss = losses.get(t).copied().unwrap_or(f32::NAN);
                table.cells(&[text, &model, &loss]);
            }
        }
        Some(table.finish())
    }
}
