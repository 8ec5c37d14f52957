//! The control panel, generated from the lab's knobs: at first the settings that the lab is about, all others a click
//! away, and what was changed from the preset. What acts now is apart from what waits for the next run.

use eframe::egui::CollapsingHeader;

use super::{knob_row, sweep_draft};
use crate::{
    labs::restrictions::VIEW_CONTROLS,
    ui::{
        page::controls::{acts_now, is_in_panel, restrictions_sentence},
        panels::prelude::*,
        view::is_without_model,
    },
};

mod changed;

pub fn controls_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: &mut Page) {
    if !page.lab.makes_runs() {
        return recorded_ui(ui, shell.theme, page);
    }
    search_ui(ui, shell.theme, page);
    match page.sweep.is_some() {
        true => sweep_draft::footer_ui(ui, shell, page),
        false => {
            footer_ui(ui, shell, page);
            changed::changed_ui(ui, shell, page);
        }
    }
    restrictions_ui(ui, shell, page);
    focus_ui(ui, shell.theme, page);
    page.controls.in_tiles = match page.restrictions.hides(VIEW_CONTROLS) || holds_no_model(page) {
        // controls that the tiles do not show stay in the panel
        true => HashMap::default(),
        false => page.tiling.controls(),
    };
    // An id of its own, since what appears above the controls must not give them other ids while one is held.
    let place = UiBuilder::new().scope_id(Id::unique(("controls", page.lab.id)));
    ui.scope_builder(place, |ui| settings_ui(ui, shell, page));
}

fn settings_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: &mut Page) {
    let filter = page.filter.trim().to_lowercase();
    let knobs = page.knobs.clone();
    let in_panel: Vec<&Knob> = knobs.iter().filter(|k| is_in_panel(page, k) && page.lesson.shows(k.key)).collect();
    ScrollArea::vertical().auto_shrink([false, false]).show(ui, |ui| {
        Frame::NONE.inner_margin(Margin { left: 16, right: 16, top: 0, bottom: 16 }).show(ui, |ui| {
            let matching: Vec<&Knob> = in_panel.iter().copied().filter(|k| matches_filter(k, page, &filter)).collect();
            if matching.is_empty() {
                nothing_ui(ui, shell.theme, page);
            } else if !filter.is_empty() || page.sweep.is_some() || is_focused(page) {
                groups_ui(ui, shell, page, &matching, !filter.is_empty());
            } else {
                first_sight_ui(ui, shell, page, &in_panel);
            }
        });
    });
}

/// The maximum number of another program's settings shown at once; the others can be found by search.
const MAX_RECORDED: usize = 500;
/// Characters of such a setting that are shown.
const MAX_RECORDED_LENGTH: usize = 2000;

/// The settings that another program has written down with its run; nothing here changes them.
fn recorded_ui(ui: &mut Ui, theme: &Theme, page: &mut Page) {
    search_ui(ui, theme, page);
    let filter = page.filter.trim().to_lowercase();
    ScrollArea::vertical().auto_shrink([false, false]).show(ui, |ui| {
        Frame::NONE.inner_margin(Margin { left: 16, right: 16, top: 0, bottom: 16 }).show(ui, |ui| {
            let about = "The program that wrote the run recorded these; nothing here changes them.";
            note_ui(ui, theme, "Settings of the run").on_hover_text(about);
            let found = page.config.iter().filter(|(key, _)| key.to_lowercase().contains(&filter));
            let shown_value = |value: &Value| match value {
                Value::Text(text) => cut(text, MAX_RECORDED_LENGTH),
                value => value.to_string(),
            };
            let found = found.take(MAX_RECORDED + 1);
            let shown: Vec<(String, String)> =
                found.map(|(key, value)| (cut(key, MAX_RECORDED_LENGTH), shown_value(value))).collect();
            if shown.is_empty() {
                let words = if filter.is_empty() { "None were recorded." } else { "No setting matches." };
                quiet_ui(ui, theme, words);
            }
            if shown.len() > MAX_RECORDED {
                note_ui(ui, theme, format!("the first {MAX_RECORDED}; a search finds others"));
            }
            let column = (ui.available_width() - 12.0) / 2.0;
            Grid::new("recorded settings").num_columns(2).min_col_width(column).spacing([12.0, 4.0]).show(ui, |ui| {
                for (key, value) in shown.iter().take(MAX_RECORDED) {
                    // a config given by a script is shown without its prefix
                    let key = key.strip_prefix("config.").unwrap_or(key);
                    truncated_ui(ui, key, theme.secondary);
                    wrapped_ui(ui, value, theme.text);
                    ui.end_row();
                }
            });
        });
    });
}

/// True if no setting acts on what the page shows.
fn holds_no_model(page: &Page) -> bool {
    page.mirror().is_some_and(is_without_model)
}

/// True where the panel shows the controls of a step of the lesson alone.
fn is_focused(page: &Page) -> bool {
    page.lesson.is_focused && page.lesson.step().is_some()
}

fn matches_filter(knob: &Knob, page: &Page, filter: &str) -> bool {
    let heading = page.lab.groups.iter().find(|(group, _)| *group == knob.group()).map_or("", |(_, heading)| *heading);
    filter.is_empty()
        || [knob.key, knob.label, knob.symbol, heading].iter().any(|text| text.to_lowercase().contains(filter))
}

/// Offers to clear a search that no control matches; a lesson or a link that hides controls is named above.
fn nothing_ui(ui: &mut Ui, theme: &Theme, page: &mut Page) {
    if page.filter.trim().is_empty() {
        return;
    }
    ui.add_space(8.0);
    quiet_ui(ui, theme, "No control matches.");
    if ui.button("Show all").clicked() {
        page.filter.clear();
    }
}

/// Draws the essential settings, and all others in a collapsed section. Where none acts on what the page shows, all are there.
fn first_sight_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: &mut Page, knobs: &[&Knob]) {
    let is_without_model = holds_no_model(page);
    if is_without_model {
        wrapped_ui(ui, WITHOUT_MODEL, shell.theme.secondary);
        ui.add_space(8.0);
    }
    let first: &[&str] = if is_without_model { &[] } else { page.lab.essentials };
    let is_essential = |knob: &Knob| first.contains(&knob.key);
    let by_key = |key: &&str| knobs.iter().copied().find(|knob| knob.key == *key);
    let essentials: Vec<&Knob> = first.iter().filter_map(by_key).collect();
    let others: Vec<&Knob> = knobs.iter().copied().filter(|knob| !is_essential(knob)).collect();
    times_ui(ui, shell, page, &essentials);
    if others.is_empty() {
        return;
    }
    page.controls.is_unfolded |= others.iter().any(|knob| page.scroll_to == Some(knob.key));
    let is_open = shell.session.all_settings || page.controls.is_unfolded;
    let text = RichText::new(format!("All settings ({})", knobs.len())).color(shell.theme.text);
    let header = CollapsingHeader::new(text)
        .id_salt(("all settings", page.lab.id))
        .default_open(is_open)
        .open(Some(is_open))
        .show_unindented(ui, |ui| groups_ui(ui, shell, page, &others, false));
    let words = "Shows the settings that are not above, by groups, or folds them.";
    if header.header_response.on_hover_text(words).on_hover_cursor(CursorIcon::PointingHand).clicked() {
        shell.session.all_settings = !is_open;
        page.controls.is_unfolded = false;
    }
}

const WITHOUT_MODEL: &str = "What is shown was recorded without a model, so that no setting acts on it. A reset (R) begins a \
                             run with those below.";

/// These settings by the lab's groups.
fn groups_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: &mut Page, knobs: &[&Knob], searching: bool) {
    for (prefix, heading) in page.lab.groups {
        let here: Vec<&Knob> = knobs.iter().copied().filter(|knob| knob.group() == *prefix).collect();
        if !here.is_empty() {
            group_ui(ui, shell, page, heading, &here, searching);
        }
    }
}

fn group_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: &mut Page, heading: &str, knobs: &[&Knob], searching: bool) {
    let changed = knobs.iter().filter(|k| page.controls.changed.contains(&k.key)).count();
    let sought = knobs.iter().any(|k| page.scroll_to == Some(k.key));
    let text = if changed > 0 { format!("{heading}  ·  {changed} changed") } else { heading.to_owned() };
    let header = CollapsingHeader::new(RichText::new(text).strong().color(shell.theme.text))
        .id_salt(("group", page.lab.id, heading))
        .default_open(true)
        .open((searching || sought).then_some(true));
    let header = header.show_unindented(ui, |ui| times_ui(ui, shell, page, knobs));
    header.header_response.on_hover_cursor(CursorIcon::PointingHand);
}

/// The settings that act now, then those that the next run begins with. While a sweep is made, all in their order.
fn times_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: &mut Page, knobs: &[&Knob]) {
    ui.spacing_mut().item_spacing.y = 4.0;
    if let Some(draft) = &mut page.sweep {
        for knob in knobs {
            sweep_draft::knob_ui(ui, shell.theme, (draft, &page.config), knob);
        }
        ui.add_space(8.0);
        return;
    }
    let (now, next): (Vec<&Knob>, Vec<&Knob>) = knobs.iter().copied().partition(|knob| acts_now(page, knob));
    time_ui(ui, shell, page, ("Acts now", LIVE_TOOLTIP), &now);
    time_ui(ui, shell, page, ("At the next run", RESET_TOOLTIP), &next);
}

const LIVE_TOOLTIP: &str = "A change reaches the running model, or the views that show it, at once.";
const RESET_TOOLTIP: &str =
    "A change waits for a reset (R). A run that has begun keeps the settings that it was begun with.";

/// Draws a group of settings whose changes take effect at the same time, under a heading that names this time.
fn time_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: &mut Page, (title, about): (&str, &str), knobs: &[&Knob]) {
    if knobs.is_empty() {
        return;
    }
    note_ui(ui, shell.theme, title).on_hover_text(about);
    for knob in knobs {
        knob_row::knob_ui(ui, shell, page, knob);
    }
    ui.add_space(8.0);
}

fn search_ui(ui: &mut Ui, theme: &Theme, page: &mut Page) {
    Frame::NONE.inner_margin(Margin { left: 16, right: 16, top: 8, bottom: 8 }).show(ui, |ui| {
        let hint = RichText::new("Find a control").color(theme.secondary);
        text_field_ui(ui, &mut page.filter, "Find a control", Some(hint), f32::INFINITY);
    });
}

/// States what the page's link locks and hides, with a button that removes these restrictions.
fn restrictions_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: &Page) {
    let Some(words) = restrictions_sentence(page) else { return };
    Frame::NONE.inner_margin(Margin { left: 16, right: 16, top: 0, bottom: 8 }).show(ui, |ui| {
        wrapped_ui(ui, words, shell.theme.secondary);
        let about = "Every control is shown and can be moved. The link still opens the page as it was made.";
        shell.on_click(ui.button("Unlock").on_hover_text(about), SettingAction::Unlock);
    });
}

/// Says that a lesson hides controls, and shows all.
fn focus_ui(ui: &mut Ui, theme: &Theme, page: &mut Page) {
    let Some(i) = page.lesson.current.filter(|_| page.lesson.is_focused) else { return };
    let all = page.knobs.iter().filter(|k| is_in_panel(page, k)).count();
    let shown = page.knobs.iter().filter(|k| is_in_panel(page, k) && page.lesson.shows(k.key)).count();
    Frame::NONE.inner_margin(Margin { left: 16, right: 16, top: 0, bottom: 8 }).show(ui, |ui| {
        let words = format!("Step {} of the lesson shows {shown} of {all} controls.", i + 1);
        wrapped_ui(ui, words, theme.secondary);
        if ui.button("Show all controls").clicked() {
            page.lesson.is_focused = false;
        }
    });
}

/// Height of what waits for a reset.
const APPLY_HEIGHT: f32 = 80.0;

/// The changes that wait for a reset, below the controls. They appear and go only while no button of the pointer is down.
fn footer_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: &mut Page) {
    let pending = if page.run.as_ref().is_none_or(Run::is_untouched) { vec![] } else { page.pending() };
    if !ui.input(|i| i.pointer.any_down()) {
        page.controls.has_pending = !pending.is_empty();
    }
    if !page.controls.has_pending {
        return;
    }
    let margin = Frame::NONE.inner_margin(Margin::symmetric(16, 8));
    borderless(Panel::bottom("apply").exact_size(APPLY_HEIGHT), margin).show(ui, |ui| {
        if !pending.is_empty() {
            pending_ui(ui, shell, page, &pending);
        }
    });
}

fn pending_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: &Page, pending: &[String]) {
    hairline(ui, shell.theme);
    let n = pending.len();
    let words = if n == 1 { "1 change applies at reset".to_owned() } else { format!("{n} changes apply at reset") };
    note_ui(ui, shell.theme, words).on_hover_text(pending.join("\n"));
    ui.horizontal(|ui| {
        let apply = main_button(shell.theme, "Apply & reset");
        let tip = "Begin a new run with these settings. The present one stays in its folder.";
        shell.on_click(ui.add(apply).on_hover_text(tip), RunAction::Reset);
        if let Some(step) = undo::last_settings_step(page) {
            let undo = ui.button("Undo").on_hover_text(format!("Undo: {step}"));
            shell.on_click(undo, PageAction::UndoSettings);
        }
    });
}
