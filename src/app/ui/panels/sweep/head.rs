//! The head of a sweep's page: the shown number, the progress of the runs, and the command that completes them.

use super::{SweepPage, table};
use crate::{
    experiments::sweep::results::BEST_RULE,
    ui::{
        panels::{
            prelude::*,
            sweep_process::{end_ui, stop_ui},
        },
        widgets::choice_menu::controls_menu,
    },
};

pub fn head_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: &mut SweepPage) {
    let results = page.results.clone();
    ui.horizontal(|ui| {
        let runs = ui.button("‹ Runs").on_hover_text("The table of runs, with every sweep (Esc)");
        shell.on_click(runs, OpenAction::Runs);
        if let Some(results) = &results {
            ui.label(RichText::new(&results.name).strong().color(shell.theme.text))
                .on_hover_text(results.folder.display().to_string());
            number_ui(ui, shell, page, results);
            others_ui(ui, shell, page, results);
            if !page.brush.ranges.is_empty()
                && ui.button("Clear the brush").on_hover_text("All points are shown again.").clicked()
            {
                page.brush.ranges.clear();
            }
        }
        let words = if page.is_reading { "Reading…" } else { "Refresh" };
        if ui.button(words).on_hover_text("Reads what the runs have recorded since.").clicked() {
            page.is_reading = true;
            shell.act(RunsAction::ReadSweep(page.folder.clone()));
        }
    });
    if let Some(words) = &page.error_message {
        ui.label(small_text(words, shell.theme.error));
    }
    if let Some(results) = &results {
        state_ui(ui, shell, page, results);
    }
}

fn number_ui(ui: &mut Ui, shell: &Shell<'_>, page: &mut SweepPage, results: &SweepResults) {
    let label = note_ui(ui, shell.theme, "number");
    let shown = page.number.as_ref().and_then(|id| results.number(id));
    let words = shown.map_or("none yet", |i| results.numbers[i].heading.as_str());
    let choices = results.numbers.iter().enumerate().map(|(i, number)| {
        let mark = if results.objective == Some(i) { " (objective)" } else { "" };
        (&number.id, format!("{}{mark}", number.heading), shown == Some(i))
    });
    let (chosen, list) = list_box(ui, ("number", label.id), 232.0, words, choices);
    list.on_hover_text("What all pictures show: a headline number, or anything that the runs recorded as a scalar.");
    if let Some(id) = chosen {
        page.choose(id.clone());
    }
}

/// Numbers beside the shown one.
fn others_ui(ui: &mut Ui, shell: &Shell<'_>, page: &mut SweepPage, results: &SweepResults) {
    let words = match page.others.len() {
        0 => "more numbers".to_owned(),
        1 => "and 1 other".to_owned(),
        n => format!("and {n} others"),
    };
    let mut toggled: Option<NumberId> = None;
    let button = controls_menu(ui, words, |ui| {
        note_ui(ui, shell.theme, "also in parallel coordinates and the table");
        ScrollArea::vertical().max_height(320.0).show(ui, |ui| {
            for number in results.numbers.iter().filter(|n| page.number.as_ref() != Some(&n.id)) {
                let mut is_on = page.others.contains(&number.id);
                if ui.checkbox(&mut is_on, &number.heading).changed() {
                    toggled = Some(number.id.clone());
                }
            }
        });
    });
    button.on_hover_text("Numbers that parallel coordinates and the table show besides this one.");
    if let Some(id) = toggled {
        match page.others.iter().position(|other| *other == id) {
            Some(place) => _ = page.others.remove(place),
            None => page.others.push(id),
        }
    }
}

/// Shows the state of the runs, and the command that completes them.
fn state_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: &SweepPage, results: &SweepResults) {
    let progress = results.progress();
    ui.horizontal(|ui| {
        let selected = page.selected.map(|p| format!("selected: point {}, {}", p + 1, results.point_name(p)));
        let every = results.every;
        let thinned = (every > 1).then(|| format!("of long runs one recorded step in {every} is read"));
        let view = page.prepared.as_ref().map(|prepared| prepared.view(page.selected, Scale::Linear, shell.theme));
        let mark = view.as_ref().and_then(table::mark_legend).map(str::to_owned);
        let spread = view.as_ref().and_then(table::spread_legend);
        let is_marked = mark.is_some();
        let parts = [Some(results.progress_label()), thinned, mark, selected, spread];
        let words = parts.into_iter().flatten().collect::<Vec<_>>().join(" · ");
        let note = truncated_ui(ui, words, shell.theme.secondary);
        if is_marked {
            note.on_hover_text(BEST_RULE);
        }
    });
    if let Some(why) = results.failures().first() {
        truncated_ui(ui, format!("failed: {why}"), shell.theme.error);
    }
    let (process, make) = (&results.process, format!("Make {} here", counted(progress.to_make(), "run")));
    end_ui(ui, shell.theme, process, &make, progress.finished, results.runs.len());
    if progress.to_make() == 0 && !process.is_alive() {
        return;
    }
    ui.horizontal(|ui| {
        let words = match process {
            SweepProcess::Running => {
                "Being made by this window; it goes on when the window closes, and this completes it later:"
            }
            SweepProcess::Stopping => "This completes it later:",
            _ if progress.running > 0 => "Others are running; this completes the rest:",
            _ => "This completes it:",
        };
        note_ui(ui, shell.theme, words);
        if ui.button("Copy the command").clicked() {
            shell.act(MessageAction::CopyText(results.command.clone()));
            shell.act(MessageAction::Toast("Copied: run it in a terminal, where this window was started.".to_owned()));
        }
        if process.is_alive() {
            stop_ui(ui, shell, process, &page.folder, "Stop");
        } else {
            let about = "Begins this command in the background, as many runs at once as there are cores.";
            let make = ui.add(Button::new(make)).on_hover_text(about);
            shell.on_click(make, RunsAction::CompleteSweep(page.folder.clone()));
        }
        let command = RichText::new(&results.command).font(crate::ui::theme::numbers()).color(shell.theme.text);
        ui.add(Label::new(command).truncate());
    });
}
