//! A sentence settled word by word: the levels' states after each sweep as pictures of their units, what was wrong with
//! the prediction from above, how much each unit's error counts, the feedback weights, and the traces that grow under
//! the sentence.

mod drawing;

use crate::{labs::grammar_roles::settings::GrammarSettings, ui::views::prelude::*};
use drawing::{ReadingPosition, Stage, draw_headings, draw_level, draw_traces, draw_words, explain, headings};

/// Seconds a sweep while it plays.
const SWEEP_TIME: f64 = 0.35;
/// Steps after which a running network is asked again.
const ASK_INTERVAL: u64 = 10;
const MIN_SIZE: eframe::egui::Vec2 = vec2(300.0, 220.0);

/// Sentences that can be browsed, by name.
const SETS: [(SettlingSet, &str); 4] = [
    (SettlingSet::Within, "held-out"),
    (SettlingSet::Transfer, "other words"),
    (SettlingSet::Train, "training"),
    (SettlingSet::Own, "own file"),
];

#[derive(Default)]
pub struct SettlingView {
    playhead: Playhead,
    /// A sentence of a set, or a typed one.
    asked: SettlingArgs,
    /// Place in (word, sweep) order of reading; the end while `None`.
    cursor: Option<usize>,
}

/// True if the setting names a file.
fn is_named(cx: &ViewCx<'_>, key: &str) -> bool {
    cx.setting(key).is_some_and(|file| !file.to_string().is_empty())
}

impl SettlingView {
    fn args(&self) -> SettlingArgs {
        SettlingArgs { text: self.asked.text.trim().to_owned(), ..self.asked.clone() }
    }

    fn position(&self, found: &Settling, words: usize) -> ReadingPosition {
        let frames = (words * found.sweeps).max(1);
        let at = self.cursor.unwrap_or(frames - 1).min(frames - 1);
        let (read, sweep) = (at / found.sweeps.max(1), at % found.sweeps.max(1));
        let word = if found.from_right { words.saturating_sub(1 + read) } else { read };
        ReadingPosition { word, read: read + 1, sweep }
    }

    /// Chooses the sentence and the direction of reading.
    fn sentence_ui(&mut self, ui: &mut Ui, sets: &[(SettlingSet, &str)]) {
        ui.horizontal(|ui| {
            let browsing = self.asked.text.trim().is_empty();
            ui.add_enabled_ui(browsing, |ui| {
                let shown = SETS.iter().find(|(set, _)| *set == self.asked.set).map_or("", |(_, name)| name);
                let sets = sets.iter().copied();
                choice_menu(ui, shown, &mut self.asked.set, sets, "Which sentences are browsed.");
                if ui.button("\u{2039}").on_hover_text("The previous sentence.").clicked() {
                    (self.asked.sentence, self.cursor) = (self.asked.sentence.saturating_sub(1), None);
                }
                if ui.button("\u{203a}").on_hover_text("The next sentence.").clicked() {
                    (self.asked.sentence, self.cursor) = (self.asked.sentence + 1, None);
                }
            });
            let tip = "The other of the two hierarchies, which reads from right to left.";
            ui.toggle_value(&mut self.asked.from_right, "read from the right").on_hover_text(tip);
        });
        let hint = "the big cat chases a dog";
        if text_line(ui, &mut self.asked.text, "sentence", hint).changed() {
            self.cursor = None;
        }
    }

    fn canvas_ui(&mut self, ui: &mut Ui, cx: &ViewCx<'_>, found: &Measured<'_, Settling>) {
        let (rect, response, _) =
            canvas_ui(ui, ui.available_size().max(MIN_SIZE), Sense::click_and_drag(), "settling of a sentence");
        let words = &found.sample.tokens;
        let stage = Stage::new(rect, found.value, words.len());
        if (response.clicked() || response.dragged())
            && let Some(word) = response.interact_pointer_pos().and_then(|p| stage.word_at(p, words.len()))
        {
            let read = if found.value.from_right { words.len() - 1 - word } else { word };
            self.cursor = Some((read + 1) * found.value.sweeps.max(1) - 1);
            self.playhead.stop();
        }
        let position = self.position(found.value, words.len());
        let painter = ui.painter_at(rect);
        let of_treebank = is_named(cx, GrammarSettings::treebank.name);
        draw_words(&painter, cx.theme, &stage, found, position, of_treebank);
        draw_traces(&painter, cx.theme, &stage, found.value, words.len(), position);
        for (place, level) in found.value.levels.iter().enumerate().rev() {
            draw_level(&painter, cx.theme, &stage, place, level, found.value.sweeps, position);
        }
        let headings = headings(&painter, cx.theme, &stage);
        draw_headings(&painter, cx.theme, &stage, &headings);
        explain(response, &stage, &headings, found, position);
    }
}

impl View for SettlingView {
    fn needs(&mut self, cx: &mut ViewCx<'_>) {
        cx.ask::<Settling>(None, &self.args(), Freshness::Steps(ASK_INTERVAL));
    }

    fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let asked = self.args();
        cx.controls_ui(ui, |ui, cx| {
            let has = |key| is_named(cx, key);
            let is_there = |set: &SettlingSet| match set {
                SettlingSet::Own => has("sentences.file"),
                SettlingSet::Transfer => !has(GrammarSettings::treebank.name),
                SettlingSet::Within | SettlingSet::Train => true,
            };
            let sets: Vec<_> = SETS.into_iter().filter(|(set, _)| is_there(set)).collect();
            self.sentence_ui(ui, &sets);
        });
        if self.args() != asked {
            // another question is put in the next frame
            ui.ctx().request_repaint();
        }
        let Some(found) = cx.answered::<Settling>() else {
            let words = "A sentence settles here word by word, as soon as there is a network: press Space.";
            return cx.unmeasured_ui::<Settling>(ui, words);
        };
        cx.controls_ui(ui, |ui, _| {
            let sweeps = found.value.sweeps;
            let frames = (found.sample.tokens.len() * sweeps).max(1);
            let cursor = self.cursor.unwrap_or(frames - 1).min(frames - 1);
            let name = |at: usize| format!("word {}, sweep {}", at / sweeps.max(1) + 1, at % sweeps.max(1) + 1);
            let now = self.playhead.ui(ui, "sweep", SWEEP_TIME, cursor, frames - 1, Some(&name));
            if now != cursor {
                self.cursor = Some(now);
            }
        });
        self.canvas_ui(ui, cx, &found);
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        let Some(found) = cx.answered::<Settling>() else { return cx.subtitle("a sentence, settled word by word") };
        let label = cx.mirror.variant_label(found.variant);
        let way = if found.value.from_right { ", read from the right" } else { "" };
        format!("step {} \u{b7} {label} \u{b7} {}{way}", found.sample.step, found.sample.about)
    }

    fn csv(&self, cx: &ViewCx<'_>) -> Option<String> {
        let found = cx.answered::<Settling>()?;
        let mut table = Table::new("place,word,role,level,sweep,units_on,changed,squared_error".split(','));
        for (place, word) in found.sample.tokens.iter().enumerate() {
            let role = found.value.roles.get(place).map_or("", String::as_str);
            for (l, level) in found.value.levels.iter().enumerate() {
                let error: f32 = level.errors.row(place)?.iter().map(|e| e * e).sum();
                let mut before: Option<&[f32]> = None;
                for sweep in 0..found.value.sweeps {
                    let state = level.states.row(place * found.value.sweeps + sweep)?;
                    let on = state.iter().filter(|v| **v > 0.0).count();
                    let is_other = |(a, b): (&f32, &f32)| (*a > 0.0) != (*b > 0.0);
                    let changed = before.map(|b| b.iter().zip(state).filter(|p| is_other(*p)).count());
                    table.cells(&[&place, word, &role, &l, &(sweep + 1), &on, &optional_field(changed), &error]);
                    before = Some(state);
                }
            }
        }
        Some(table.finish())
    }
}
