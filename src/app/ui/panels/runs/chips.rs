//! Chips above the table, which choose runs by their tags and sweeps.

use crate::ui::{panels::prelude::*, widgets::choice_menu::controls_menu};

/// The number of chips above the table even if they are not chosen; the others are in a menu.
const MAX_CHIPS: usize = 12;

/// What runs of a chip have in common.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum RunGroup {
    Tag(String),
    Sweep(String),
}

impl RunGroup {
    fn all_with(row: &RunRow) -> impl Iterator<Item = Self> {
        let sweep = Some(&row.sweep).filter(|name| !name.is_empty()).map(|name| Self::Sweep(name.clone()));
        row.note.tags.iter().map(|tag| Self::Tag(tag.clone())).chain(sweep)
    }

    fn label(&self) -> String {
        match self {
            Self::Tag(tag) => tag.clone(),
            Self::Sweep(name) => format!("sweep {name}"),
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Chip {
    group: RunGroup,
    runs: usize,
}

/// The tags and sweeps of the listed runs, and those that are chosen.
#[derive(Debug, Default)]
pub(super) struct Chips {
    chosen: BTreeSet<RunGroup>,
    shown: Vec<Chip>,
    others: Vec<Chip>,
}

impl Chips {
    pub fn has_choice(&self) -> bool {
        !self.chosen.is_empty()
    }

    /// True if a chip of the run is chosen, or none is chosen.
    pub fn matches(&self, row: &RunRow) -> bool {
        self.chosen.is_empty() || RunGroup::all_with(row).any(|group| self.chosen.contains(&group))
    }

    /// Counts the runs of each chip. A chosen one stays, even without a run.
    pub fn count<'r>(&mut self, rows: impl Iterator<Item = &'r RunRow>) {
        let mut counts: BTreeMap<RunGroup, usize> = self.chosen.iter().map(|group| (group.clone(), 0)).collect();
        rows.flat_map(RunGroup::all_with).for_each(|group| *counts.entry(group).or_default() += 1);
        let chips = counts.into_iter().map(|(group, runs)| Chip { group, runs });
        let is_shown = |(place, chip): &(usize, Chip)| *place < MAX_CHIPS || self.chosen.contains(&chip.group);
        let (shown, others): (Vec<_>, Vec<_>) = chips.enumerate().partition(is_shown);
        let without_places = |chips: Vec<(usize, Chip)>| chips.into_iter().map(|(_, chip)| chip).collect();
        (self.shown, self.others) = (without_places(shown), without_places(others));
    }

    /// Draws the chips; true if the choice has changed.
    pub fn ui(&mut self, ui: &mut Ui, theme: &Theme) -> bool {
        if self.shown.is_empty() {
            return false;
        }
        let mut clicked = None;
        ui.horizontal_wrapped(|ui| {
            note_ui(ui, theme, "only");
            for chip in &self.shown {
                clicked = self.chip_ui(ui, chip).or(clicked.take());
            }
            if self.others.is_empty() {
                return;
            }
            let words = format!("{} more tags and sweeps", self.others.len());
            controls_menu(ui, words, |ui| {
                let height = ui.spacing().interact_size.y;
                ScrollArea::vertical().max_height(360.0).show_rows(ui, height, self.others.len(), |ui, rows| {
                    for chip in &self.others[rows] {
                        clicked = self.chip_ui(ui, chip).or(clicked.take());
                    }
                });
            });
        });
        let Some(group) = clicked else { return false };
        toggle(&mut self.chosen, group);
        true
    }

    /// Draws a chip; returns its group if it was clicked.
    fn chip_ui(&self, ui: &mut Ui, chip: &Chip) -> Option<RunGroup> {
        let words = format!("{} {}", chip.group.label(), chip.runs);
        let button = ui.add(Button::selectable(self.chosen.contains(&chip.group), words).truncate());
        let what = match chip.group {
            RunGroup::Tag(_) => "with this tag",
            RunGroup::Sweep(_) => "of this sweep",
        };
        let button = button.on_hover_text(format!("Only runs {what}. With several chips on, runs of any of them."));
        button.clicked().then(|| chip.group.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_tags_are_in_a_menu_and_a_chosen_one_is_in_sight() {
        let tags = |tags: Vec<String>| RunRow { note: RunNote { tags, ..RunNote::default() }, ..RunRow::default() };
        let rows = [tags((10..40).map(|i| format!("t{i}")).collect()), tags(vec!["t10".to_owned()]), tags(vec![])];
        let mut chips = Chips::default();
        chips.count(rows.iter());
        assert_eq!((chips.shown.len(), chips.others.len()), (MAX_CHIPS, 30 - MAX_CHIPS));
        assert_eq!(chips.shown[0], Chip { group: RunGroup::Tag("t10".to_owned()), runs: 2 });
        assert!(rows.iter().all(|row| chips.matches(row)), "without a choice all runs are shown");
        chips.chosen.extend(["t39", "gone"].map(|tag| RunGroup::Tag(tag.to_owned())));
        chips.count(rows.iter());
        let shown: Vec<String> = chips.shown.iter().map(|chip| chip.group.label()).collect();
        assert!(["t39", "gone"].iter().all(|tag| shown.iter().any(|label| label == tag)), "{shown:?}");
        assert_eq!(rows.iter().map(|row| chips.matches(row)).collect::<Vec<_>>(), [true, false, false]);
    }
}
