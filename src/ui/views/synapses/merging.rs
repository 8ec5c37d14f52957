//! This model, another, and both side by side: the held-out loss of each on every text.

use eframe::egui::{RichText, ScrollArea, Ui};

use super::stages;
use crate::{
    labs::merging::MergingSettings,
    telemetry::{Args, Matrix, Payload, Sample, channels},
    ui::{
        views::{View, ViewCx},
        widgets::bars::{Bar, bars_ui},
    },
};

/// Updates of the children if this view asks for them.
const TUNED: i64 = 300;
/// What stands before the three models.
const SIGNS: [&str; 3] = ["\u{25cb}", "\u{25cb}", "\u{25cf}"];

/// View `merging`.
#[derive(Default)]
pub struct Merging {
    /// What the present answer was asked with.
    asked: Option<String>,
}

/// An answer's parts.
struct Told<'a> {
    losses: &'a Matrix,
    models: &'a [String],
    texts: &'a [String],
    told: &'a [String],
}

impl<'a> Told<'a> {
    fn of(sample: &'a Sample) -> Option<Self> {
        let words = |name: &str| match sample.payload.part(name) {
            Some(Payload::Text(all)) => Some(all.as_slice()),
            _ => None,
        };
        let losses = sample.payload.part("losses").and_then(Payload::as_matrix)?;
        Some(Self { losses, models: words("models")?, texts: words("texts")?, told: words("told")? })
    }
}

impl Merging {
    pub fn make() -> Box<dyn View> {
        Box::<Self>::default()
    }

    /// The file named on the control panel, where the lab has that setting.
    fn named(cx: &ViewCx<'_>) -> Option<String> {
        let file = cx.config.value(MergingSettings::checkpoint).ok()?;
        file.path().map(|path| path.display().to_string())
    }

    /// Turns the settings into those of a run of stages.
    fn begin_ui(ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let knows = cx.knobs.iter().any(|k| k.key == MergingSettings::tune.name);
        let button = eframe::egui::Button::new("Tune two children and merge them");
        if knows
            && ui
                .add(button)
                .on_hover_text("Sets Merging \u{2192} Tune two children; choose their texts here.")
                .clicked()
        {
            cx.settings.push((MergingSettings::tune.name.to_owned(), crate::config::Value::Int(TUNED)));
        }
    }

    fn ask_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let Some(path) = Self::named(cx) else {
            if cx.answer(channels::MERGING).is_some() {
                return;
            }
            ui.label(
                RichText::new(
                    "Name a second trained BDH under Merging \u{2192} Merge with, or let this one have two children:",
                )
                .color(cx.theme.secondary),
            );
            Self::begin_ui(ui, cx);
            return;
        };
        let again = self.asked.as_ref() == Some(&path);
        let words = if again { "Merge again" } else { "Merge and compare" };
        if ui.add_enabled(cx.can_ask(), eframe::egui::Button::new(words)).on_hover_text(&path).clicked() {
            let args = Args::from([("with".to_owned(), crate::config::Value::Text(path.clone()))]);
            cx.ask("merging", Some(cx.selection.variant), args);
            self.asked = Some(path);
        }
    }
}

impl View for Merging {
    fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        if stages::are_shown(cx) {
            ScrollArea::vertical().auto_shrink([false, false]).show(ui, |ui| stages::stages_ui(ui, cx));
            return;
        }
        self.ask_ui(ui, cx);
        let Some(found) = cx.answer(channels::MERGING).and_then(|(_, s)| Told::of(s)) else {
            let words = "Two models with the same width, heads and layers become one with the neurons of both. Nothing has been merged yet.";
            ui.label(RichText::new(words).color(cx.theme.secondary));
            return;
        };
        let theme = cx.theme;
        let most = found.losses.data.iter().copied().filter(|v| v.is_finite()).fold(0.0, f32::max);
        ScrollArea::vertical().auto_shrink([false, true]).show(ui, |ui| {
            for (col, text) in found.texts.iter().enumerate() {
                ui.add_space(6.0);
                ui.label(RichText::new(text).strong());
                let bars: Vec<Bar> = found
                    .models
                    .iter()
                    .enumerate()
                    .map(|(row, name)| Bar {
                        name: name.clone(),
                        sign: SIGNS.get(row).copied().unwrap_or_default(),
                        colour: theme.variant(row),
                        value: found.losses.at(row, col).map_or(f64::NAN, f64::from),
                        before: None,
                    })
                    .collect();
                bars_ui(ui, theme, &format!("held-out loss on {text}"), &bars, f64::from(most));
            }
            ui.add_space(8.0);
            for line in found.told {
                ui.label(RichText::new(line).small().color(theme.secondary));
            }
        });
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        if stages::are_shown(cx) {
            return stages::subtitle(cx);
        }
        match cx.answer(channels::MERGING) {
            Some((_, s)) => format!("step {} \u{b7} held-out loss (nats a token) \u{b7} {}", s.step, s.about),
            None => "held-out loss of two models and of both as one".to_owned(),
        }
    }

    fn csv(&self, cx: &ViewCx<'_>) -> Option<String> {
        if stages::are_shown(cx) {
            return stages::csv(cx);
        }
        let found = cx.answer(channels::MERGING).and_then(|(_, s)| Told::of(s))?;
        let mut csv = "text,model,loss\n".to_owned();
        for (col, text) in found.texts.iter().enumerate() {
            for (row, model) in found.models.iter().enumerate() {
                let loss = found.losses.at(row, col).unwrap_or(f32::NAN);
                csv.push_str(&format!("{text},\"{}\",{loss}\n", model.replace('"', "\"\"")));
            }
        }
        Some(csv)
    }
}
