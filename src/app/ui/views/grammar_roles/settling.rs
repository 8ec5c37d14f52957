//! A sentence settled word by word: the levels' states after each sweep as pictures of their units, what was wrong with
//! the prediction from above, how much each unit's error counts, the feedback weights, and the traces that grow under
//! the sentence.

mod drawing;

use crate::{labs::grammar_roles::settings::GrammarSettings, ui::views::prelude::*};
use drawing::{CanvasLayout, ReadingPosition, Scene};

/// Seconds a sweep while it plays.
const SWEEP_TIME: f64 = 0.35;
/// Steps after which a running network is asked again.
const ASK_INTERVAL: u64 = 10;
const MIN_SIZE: Vec2 = vec2(300.0, 220.0);
const CANVAS_ID: &str = "settling of a sentence";

/// Sentences that can be browsed, by name.
const SENTENCE_SETS: [(SettlingSet, &str); 4] = [
    (SettlingSet::Within, "held-out"),
    (SettlingSet::Transfer, "other words"),
    (SettlingSet::Train, "training"),
    (SettlingSet::Own, "own file"),
];

#[derive(Default)]
pub struct SettlingView {
    playhead: Playhead,
    /// A sentence of a set, or a typed one.
    raw_args: SettlingArgs,
    /// Place in (word, sweep) order of reading; the end while `None`.
    cursor: Option<usize>,
}

/// True if the setting names a file.
fn is_named(cx: &ViewCx<'_>, key: &str) -> bool {
    cx.setting(key).is_some_and(|file| !file.to_string().is_empty())
}

impl SettlingView {
    fn args(&self) -> SettlingArgs {
        SettlingArgs { text: self.raw_args.text.trim().to_owned(), ..self.raw_args.clone() }
    }

    /// The last place in the order of reading.
    fn last_position(found: &Measured<'_, Settling>) -> usize {
        (found.sample.tokens.len() * found.value.sweeps).max(1) - 1
    }

    fn position(&self, found: &Measured<'_, Settling>) -> ReadingPosition {
        let (last, sweeps) = (Self::last_position(found), found.value.sweeps.max(1));
        let at = self.cursor.unwrap_or(last).min(last);
        let (read, sweep) = (at / sweeps, at % sweeps);
        let word = if found.value.from_right { found.sample.tokens.len().saturating_sub(1 + read) } else { read };
        ReadingPosition { word, read: read + 1, sweep }
    }

    /// Chooses the sentence and the direction of reading.
    fn sentence_ui(&mut self, ui: &mut Ui, sets: &[(SettlingSet, &str)]) {
        ui.horizontal(|ui| {
            let browsing = self.raw_args.text.trim().is_empty();
            ui.add_enabled_ui(browsing, |ui| {
                let chosen = SENTENCE_SETS.iter().find(|(set, _)| *set == self.raw_args.set);
                let shown = chosen.map_or("", |(_, name)| name);
                let sets = sets.iter().copied();
                choice_menu(ui, shown, &mut self.raw_args.set, sets, "Which sentences are browsed.");
                if ui.button("\u{2039}").on_hover_text("The previous sentence.").clicked() {
                    (self.raw_args.sentence, self.cursor) = (self.raw_args.sentence.saturating_sub(1), None);
                }
                if ui.button("\u{203a}").on_hover_text("The next sentence.").clicked() {
                    (self.raw_args.sentence, self.cursor) = (self.raw_args.sentence + 1, None);
                }
            });
            let tip = "The other of the two hierarchies, which reads from right to left.";
            ui.toggle_value(&mut self.raw_args.from_right, "read from the right").on_hover_text(tip);
        });
        let hint = "a sentence of your own: the big cat chases a dog";
        if text_line(ui, &mut self.raw_args.text, "sentence", hint).changed() {
            self.cursor = None;
        }
    }
}

impl PanelView for SettlingView {
    fn needs(&mut self, cx: &mut ViewCx<'_>) {
        cx.ask::<Settling>(None, &self.args(), Freshness::Steps(ASK_INTERVAL));
    }

    fn panels<'a>(&'a self, cx: &ViewCx<'a>) -> Vec<Panel<'a>> {
        let Some(found) = cx.answered::<Settling>() else { return vec![] };
        let (theme, position) = (cx.theme, self.position(&found));
        let of_treebank = is_named(cx, GrammarSettings::treebank.name);
        vec![Panel::canvas(CANVAS_ID, move |ui, size| {
            let (rect, response, painter) = canvas_ui(ui, size.max(MIN_SIZE), Sense::click_and_drag(), CANVAS_ID);
            let stage = CanvasLayout::new(rect, found.value, found.sample.tokens.len());
            Scene { painter, theme, stage, found, position, of_treebank }.show(response)
        })]
    }

    fn empty_reason(&self, cx: &ViewCx<'_>) -> String {
        cx.empty_reason::<Settling>("A sentence settles here word by word, as soon as there is a network: press Space.")
    }

    fn controls_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let asked = self.args();
        let has = |key| is_named(cx, key);
        let is_there = |set: &SettlingSet| match set {
            SettlingSet::Own => has("sentences.file"),
            SettlingSet::Transfer => !has(GrammarSettings::treebank.name),
            SettlingSet::Within | SettlingSet::Train => true,
        };
        let sets: Vec<_> = SENTENCE_SETS.into_iter().filter(|(set, _)| is_there(set)).collect();
        self.sentence_ui(ui, &sets);
        if self.args() != asked {
            // another question is put in the next frame
            ui.ctx().request_repaint();
        }
        let Some(found) = cx.answered::<Settling>() else { return };
        let sweeps = found.value.sweeps.max(1);
        let name = |at: usize| format!("word {}, sweep {}", at / sweeps + 1, at % sweeps + 1);
        self.playhead.ui(ui, "sweep", SWEEP_TIME, &mut self.cursor, Self::last_position(&found), Some(&name));
    }

    fn canvas_pointed(&mut self, cx: &mut ViewCx<'_>, on: &Response) {
        let Some(Measured { sample, value, .. }) = cx.answered::<Settling>() else { return };
        let (words, pointer) = (sample.tokens.len(), on.interact_pointer_pos());
        let pointer = pointer.filter(|_| on.clicked() || on.dragged());
        if let Some(word) = pointer.and_then(|p| CanvasLayout::new(on.rect, value, words).word_at(p, words)) {
            let read = if value.from_right { words - 1 - word } else { word };
            self.cursor = Some((read + 1) * value.sweeps.max(1) - 1);
            self.playhead.stop();
        }
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        let Some(found) = cx.answered::<Settling>() else { return cx.subtitle("a sentence, settled word by word") };
        let label = cx.mirror.variant_label(found.variant);
        let way = if found.value.from_right { ", read from the right" } else { "" };
        format!("step {} \u{b7} {label} \u{b7} {}{way}", found.sample.step, found.sample.about)
    }

    fn table(&self, cx: &ViewCx<'_>) -> Option<Table> {
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
        Some(table)
    }
}
