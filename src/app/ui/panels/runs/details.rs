//! The panel about one run: its name and note, its result, what differs, and what can be done with it.

use super::{RunsPage, table};
use crate::ui::panels::prelude::*;

pub fn details_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: &mut RunsPage) {
    let Some(row) = page.selected().cloned() else { return };
    page.draft.follow(&row);
    ScrollArea::vertical().auto_shrink([false, false]).show(ui, |ui| {
        name_and_note_ui(ui, shell, page, &row);
        buttons_ui(ui, shell, page, &row);
        facts_ui(ui, shell, &row);
        result_ui(ui, shell, &row);
        changed_ui(ui, shell, &row);
    });
}

/// Name, note and tags, kept when one leaves the field.
fn name_and_note_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: &mut RunsPage, row: &RunRow) {
    let theme = shell.theme;
    let mut field_ui = |name: &str, field: TextEdit<'_>| {
        let label = note_ui(ui, theme, name);
        ui.add(field.desired_width(f32::INFINITY)).labelled_by(label.id)
    };
    let draft = &mut page.draft;
    let name = field_ui("name", TextEdit::singleline(&mut draft.note.name).hint_text(row.folder.as_str()));
    let note = TextEdit::multiline(&mut draft.note.note).hint_text("What it was for, what came of it");
    let note = field_ui("note", note.desired_rows(3));
    let tags = field_ui("tags", TextEdit::singleline(&mut draft.tags).hint_text("separated by commas"));
    if tags.lost_focus() {
        draft.note.tags = parse_tags(&draft.tags);
        draft.tags = draft.note.tags.join(", ");
    }
    if (name.lost_focus() || note.lost_focus() || tags.lost_focus()) && draft.note != row.note {
        shell.act(RunsAction::Note(row.path.clone(), draft.note.clone()));
    }
}

fn buttons_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: &mut RunsPage, row: &RunRow) {
    ui.add_space(8.0);
    let note = &mut page.draft.note;
    ui.horizontal_wrapped(|ui| {
        let replay = Button::new("Replay");
        let replay = ui.add_enabled(row.state != RowState::Unreadable, replay);
        let replay = replay.on_hover_text("Opens it in its lab (double click on its row).");
        shell.on_click(replay, OpenAction::Run(row.path.clone()));
        let mut keep = |note: &RunNote| shell.act(RunsAction::Note(row.path.clone(), note.clone()));
        if ui.toggle_value(&mut note.pinned, "Pin").on_hover_text("Keeps it above all others.").changed() {
            keep(note);
        }
        let words = "It is listed only with the filter is:archived.";
        if ui.toggle_value(&mut note.archived, "Archive").on_hover_text(words).changed() {
            keep(note);
        }
        let words = "Moves the folder to the trash beside the runs (.trash); it can be restored.";
        let delete = ui.add_enabled(!row.state.is_in_use(), Button::new("Delete")).on_hover_text(words);
        shell.on_click(delete, RunsAction::Discard(row.path.clone()));
    });
}

fn facts_ui(ui: &mut Ui, shell: &Shell<'_>, row: &RunRow) {
    let theme = shell.theme;
    ui.add_space(8.0);
    let lab = shell.lists.lab(&row.lab).map_or(row.lab.as_str(), |l| l.title);
    let mut facts = vec![];
    if row.state != RowState::Unreadable {
        let of_total = match row.total_steps {
            0 => String::new(),
            total => format!(" of {}", number::grouped(total)),
        };
        let steps = format!("{}{of_total} steps", number::grouped(row.steps));
        let preset = shell.lists.preset_title(&row.lab, &row.preset);
        facts.push(format!("{lab}, preset \u{201c}{preset}\u{201d}, seed {}", row.seed));
        facts.push(format!("{steps}, {}", row.state_label()));
    }
    if !row.sweep.is_empty() {
        facts.push(format!("of the sweep {}", row.sweep));
    }
    facts.push(format!("{}, {} on disk", row.when, table::size(row.bytes)));
    facts.into_iter().for_each(|fact| _ = ui.label(RichText::new(fact).color(theme.text)));
    if let RowState::Failed(why) = &row.state {
        ui.label(RichText::new(why).color(theme.error));
    }
    row.problems.iter().for_each(|problem| _ = ui.label(RichText::new(problem).color(theme.error)));
    note_ui(ui, theme, row.path.display().to_string());
}

fn result_ui(ui: &mut Ui, shell: &Shell<'_>, row: &RunRow) {
    let theme = shell.theme;
    if row.headlines.values.is_empty() && row.headlines.missing.is_empty() {
        return;
    }
    section_ui(ui, theme, "Headline numbers");
    let terms = row.terms();
    for key in row.headlines.keys() {
        let Some(headline) = row.headline_of(key) else { continue };
        let about = format!("{} {}.", terms.about(headline), capitalised(headline.better.label()));
        ui.label(terms.heading(headline, key)).on_hover_text(about);
        for loss in &row.losses {
            let Some(value) = row.headlines.group(key, &loss.group) else { continue };
            let step = row.step_label(row.headlines.step(key, &loss.group));
            pair_ui(ui, shell, &loss.label, &format!("{}{step}", headline.digits.format(value.mean)));
        }
    }
    for missing in &row.headlines.missing {
        let Some(headline) = row.headline_of(&missing.id) else { continue };
        let words = format!("no {}: {}", headline.name, missing.why);
        note_ui(ui, theme, words);
    }
}

fn changed_ui(ui: &mut Ui, shell: &Shell<'_>, row: &RunRow) {
    let theme = shell.theme;
    if row.settings.is_empty() {
        return;
    }
    section_ui(ui, theme, "Differs from the preset");
    if row.changed.is_empty() {
        quiet_ui(ui, theme, "nothing");
    }
    row.changed.iter().for_each(|(key, value)| pair_ui(ui, shell, key, &value.to_string()));
    if !row.changed_in_training.is_empty() {
        note_ui(ui, theme, row.changed_in_training_label());
    }
}

/// Draws a label at the left and its value at the right; the label is cut if both have no room.
fn pair_ui(ui: &mut Ui, shell: &Shell<'_>, word: &str, value: &str) {
    ui.horizontal(|ui| {
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            ui.add(Label::new(RichText::new(value).font(theme::numbers())).truncate());
            let left = Layout::left_to_right(Align::Center);
            ui.with_layout(left, |ui| truncated_ui(ui, word, shell.theme.secondary));
        });
    });
}
