//! The row above the maps: text, scale, whose small maps, which difference, which seed.

use super::{
    SideBySide, is_differential,
    source::{Column, PromptChoice, members},
};
use crate::ui::views::{attention::colours::SCALES, prelude::*};

/// Lengths of a held-out passage that may be asked for, tokens.
const PASSAGE_LENGTHS: [usize; 3] = [128, 256, 512];

impl SideBySide {
    pub(super) fn controls_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>, columns: &[Column<'_>]) {
        ui.horizontal_wrapped(|ui| {
            self.text_ui(ui, cx);
            self.scale_ui(ui, columns);
            Self::focus_ui(ui, cx);
            self.difference_ui(ui, cx);
            Self::seed_ui(ui, cx);
        });
    }

    fn text_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let length_label = |length: Option<usize>| length.map_or("as measured".to_owned(), |n| format!("{n} tokens"));
        let before = self.prompt.clone();
        let shown = if before.own.is_empty() { length_label(before.length) } else { "own text".to_owned() };
        let response = controls_menu(ui, shown, |ui| {
            ui.label("held-out passage");
            for length in std::iter::once(None).chain(PASSAGE_LENGTHS.map(Some)) {
                if ui.selectable_label(before.own.is_empty() && before.length == length, length_label(length)).clicked()
                {
                    self.prompt = PromptChoice::with_length(length);
                    ui.close();
                }
            }
            ui.label("or a text of your own");
            text_field(ui, TextEdit::singleline(&mut self.prompt.own).desired_width(240.0), "text to attend in");
        });
        response.on_hover_text(
            "The text that every variant reads: as much of a held-out passage as the run measures by itself, more of it, or a \
             text of your own.",
        );
        if (&before.own, before.length) != (&self.prompt.own, self.prompt.length) {
            // another text has other positions
            (cx.selection.token, self.pinned) = (None, None);
        }
    }

    fn scale_ui(&mut self, ui: &mut Ui, columns: &[Column<'_>]) {
        // negative weights have no logarithm, so that only the linear scale is left
        ui.add_enabled_ui(!is_differential(columns), |ui| {
            let why = "Differential weights may be negative, so that the scale of all maps is linear around 0.";
            for (is_linear, words, tip) in SCALES {
                let button = ui.selectable_value(&mut self.is_linear, is_linear, words);
                button.on_hover_text(tip).on_disabled_hover_text(why);
            }
        });
    }

    /// Chooses the variant whose small maps are shown.
    fn focus_ui(ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let all = members(cx);
        if all.len() < 2 {
            return;
        }
        let label = all.iter().find(|(_, v)| *v == cx.selection.variant).map_or("heads", |(g, _)| g.label.as_str());
        let tip = "The variant whose heads are shown small. Other views show this variant too.";
        let choices = all.iter().map(|(group, variant)| (*variant, group.label.as_str()));
        choice_menu(ui, &format!("heads of {label}"), &mut cx.selection.variant, choices, tip);
    }

    fn difference_ui(&mut self, ui: &mut Ui, cx: &ViewCx<'_>) {
        let all: Vec<SeedGroup> = groups(cx.mirror);
        if all.len() < 2 {
            return;
        }
        let words = self.difference(cx).map_or("no difference".to_owned(), |(.., words)| words);
        let response = controls_menu(ui, words, |ui| {
            let mut is_shown = !self.minuend.is_hidden;
            ui.checkbox(&mut is_shown, "difference map");
            self.minuend.is_hidden = !is_shown;
            ui.horizontal_top(|ui| {
                let choice = |ui: &mut Ui, words: &str, chosen: &mut Option<String>, otherwise: &SeedGroup| {
                    ui.vertical(|ui| {
                        ui.label(words);
                        for group in &all {
                            let is_it = chosen.as_ref().unwrap_or(&otherwise.id) == &group.id;
                            if ui.selectable_label(is_it, &group.label).clicked() {
                                *chosen = Some(group.id.clone());
                            }
                        }
                    });
                };
                let (Some(first), Some(last)) = (all.first(), all.last()) else { return };
                choice(ui, "weights of", &mut self.minuend.from, last);
                choice(ui, "less those of", &mut self.minuend.less, first);
            });
        });
        response.on_hover_text("Which variant's weights are subtracted from which. Warm: the first attends more.");
    }

    fn seed_ui(ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let all = groups(cx.mirror);
        let Some(group) = all.iter().find(|g| g.members.contains(&cx.selection.variant)) else { return };
        if group.members.len() < 2 {
            return;
        }
        let variants = cx.mirror.variants();
        let variant_label = |v: usize| variants.get(v).map_or(String::new(), |v| format!("seed {}", v.seed));
        let (words, choices) =
            (variant_label(cx.selection.variant), group.members.iter().map(|v| (*v, variant_label(*v))));
        choice_menu(ui, &words, &mut cx.selection.variant, choices, "The seed that all maps are of.");
    }
}
