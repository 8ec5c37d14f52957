//! Chips above the table, which choose runs by their tags.

use std::collections::{BTreeMap, BTreeSet};

use crate::ui::{
    panels::{prelude::*, toggle},
    widgets::choice_menu::controls_menu,
};

/// The number of tags that have chips above the table even if they are not chosen; the other tags are in a menu.
const MAX_CHIPS: usize = 12;

/// A tag with the number of its runs.
#[derive(Debug, PartialEq, Eq)]
struct TagCount {
    tag: String,
    runs: usize,
}

/// The tags of the listed runs, and those that are chosen.
#[derive(Debug, Default)]
pub(super) struct TagChips {
    chosen: BTreeSet<String>,
    shown: Vec<TagCount>,
    others: Vec<TagCount>,
}

impl TagChips {
    /// True if some tag is chosen.
    pub fn has_choice(&self) -> bool {
        !self.chosen.is_empty()
    }

    /// True if the run has one of the chosen tags, or none is chosen.
    pub fn matches(&self, row: &RunRow) -> bool {
        self.chosen.is_empty() || row.note.tags.iter().any(|tag| self.chosen.contains(tag))
    }

    /// Counts the runs of each tag. A chosen tag keeps its chip, even without a run.
    pub fn count<'r>(&mut self, rows: impl Iterator<Item = &'r RunRow>) {
        let mut counts: BTreeMap<&str, usize> = self.chosen.iter().map(|tag| (tag.as_str(), 0)).collect();
        rows.flat_map(|row| &row.note.tags).for_each(|tag| *counts.entry(tag).or_default() += 1);
        let chips = counts.into_iter().map(|(tag, runs)| TagCount { tag: tag.to_owned(), runs });
        let is_shown = |(place, chip): &(usize, TagCount)| *place < MAX_CHIPS || self.chosen.contains(&chip.tag);
        let (shown, others): (Vec<_>, Vec<_>) = chips.enumerate().partition(is_shown);
        let without_places = |chips: Vec<(usize, TagCount)>| chips.into_iter().map(|(_, chip)| chip).collect();
        (self.shown, self.others) = (without_places(shown), without_places(others));
    }

    /// Draws the chips; true if the choice has changed.
    pub fn ui(&mut self, ui: &mut Ui, theme: &Theme) -> bool {
        if self.shown.is_empty() {
            return false;
        }
        let mut clicked = None;
        ui.horizontal_wrapped(|ui| {
            note_ui(ui, theme, "tags");
            for chip in &self.shown {
                if self.chip_ui(ui, chip) {
                    clicked = Some(chip.tag.clone());
                }
            }
            if self.others.is_empty() {
                return;
            }
            let words = format!("{} more tags", self.others.len());
            controls_menu(ui, words, |ui| {
                let height = ui.spacing().interact_size.y;
                ScrollArea::vertical().max_height(360.0).show_rows(ui, height, self.others.len(), |ui, rows| {
                    for chip in &self.others[rows] {
                        if self.chip_ui(ui, chip) {
                            clicked = Some(chip.tag.clone());
                        }
                    }
                });
            });
        });
        let Some(tag) = clicked else { return false };
        toggle(&mut self.chosen, tag);
        true
    }

    /// Draws a chip; true if it was clicked.
    fn chip_ui(&self, ui: &mut Ui, chip: &TagCount) -> bool {
        let words = format!("{} {}", chip.tag, chip.runs);
        let button = ui.add(Button::selectable(self.chosen.contains(&chip.tag), words).truncate());
        button.on_hover_text("Only runs with this tag. With several chips on, runs with any of their tags.").clicked()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::RunNote;

    #[test]
    fn many_tags_are_in_a_menu_and_a_chosen_one_is_in_sight() {
        let tags = |tags: Vec<String>| RunRow { note: RunNote { tags, ..RunNote::default() }, ..RunRow::default() };
        let rows = [tags((10..40).map(|i| format!("t{i}")).collect()), tags(vec!["t10".to_owned()]), tags(vec![])];
        let mut chips = TagChips::default();
        chips.count(rows.iter());
        assert_eq!((chips.shown.len(), chips.others.len()), (MAX_CHIPS, 30 - MAX_CHIPS));
        assert_eq!(chips.shown[0], TagCount { tag: "t10".to_owned(), runs: 2 });
        assert!(rows.iter().all(|row| chips.matches(row)), "without a choice all runs are shown");
        chips.chosen.extend(["t39".to_owned(), "gone".to_owned()]);
        chips.count(rows.iter());
        let shown: Vec<&str> = chips.shown.iter().map(|chip| chip.tag.as_str()).collect();
        assert!(shown.contains(&"t39") && shown.contains(&"gone"), "{shown:?}");
        assert_eq!(rows.iter().map(|row| chips.matches(row)).collect::<Vec<_>>(), [true, false, false]);
    }
}
