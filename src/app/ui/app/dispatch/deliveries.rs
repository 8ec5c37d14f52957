//! Deliveries of the host: picked paths, read files, saved ones, runs.

use super::{
    file::save_dialog_ended,
    link::found_run,
    open::open_sweep,
    open_file::{open_config_text, open_file, open_transitions, set_picked},
    open_lab::{set_path, take_checked},
    open_run::open_run,
};
use crate::ui::{
    app::prelude::*,
    history::TrashedRun,
    host::{Delivery, FileContent},
    system_fonts, theme,
};

pub(in crate::ui) fn take_deliveries(app: &mut App, ctx: &Context) {
    for delivery in app.host.deliveries() {
        match delivery {
            Delivery::Picked { dialog: DialogKind::SaveAs { suggested }, path } => {
                save_dialog_ended(app, &suggested, path)
            }
            Delivery::Picked { dialog, path: Some(path) } => match dialog {
                DialogKind::Open(kind) => set_picked(app, kind, &path, ctx),
                DialogKind::OpenConfig => app.host.read_text(path),
                DialogKind::OpenRun | DialogKind::OpenGraph => open_run(app, path, ctx),
                DialogKind::SaveAs { .. } => {}
            },
            Delivery::Picked { path: None, .. } => app.toasts.push(
                Level::Info,
                "Nothing was chosen. If no dialog appeared, type the path: Ctrl O, or the field beside Browse.".into(),
            ),
            Delivery::Text { path, content } => open_config_text(app, &path, &content, ctx),
            Delivery::Identified { path, content } => match content {
                FileContent::Folder | FileContent::Graph | FileContent::Log => open_run(app, path, ctx),
                FileContent::Named => open_file(app, path, ctx),
                FileContent::Tokenizer => set_path(app, FileKind::Tokenizer, &path, ctx),
                FileContent::Characters => set_path(app, FileKind::Vocabulary, &path, ctx),
            },
            Delivery::Checked { file, read } => take_checked(app, &file, read, ctx),
            Delivery::Saved { path } => {
                if !app.recorded.remove(&path) {
                    app.toasts.push(Level::Info, format!("Saved {}", path.display()));
                }
                if let Some(matrix) = app.transitions.take_if(|waiting| waiting.path == path) {
                    open_transitions(app, &matrix, ctx);
                }
            }
            Delivery::Runs(runs) => app.past_runs.runs = runs,
            Delivery::RunTable { rows, is_complete } => app.runs.set(rows, is_complete),
            Delivery::Discarded { run, place } => {
                let name = app.runs.remove_discarded(&run);
                app.trash.push(TrashedRun::new(place.clone(), name.clone()));
                let back = ("Undo".to_owned(), RunsAction::TakeBack(place).into());
                app.toasts.push_with(format!("{name} is in the trash."), back);
            }
            Delivery::Compared(runs) => {
                let runs = runs.map_err(|words| app.toasts.push(Level::Error, words));
                app.runs.show_comparison(runs.ok().map(|runs| *runs));
            }
            Delivery::Replayed(runs) => {
                if let Some(words) = app.runs.show_replayed(runs) {
                    app.toasts.push(Level::Error, words);
                }
            }
            Delivery::Found { link, run } => found_run(app, *link, run, ctx),
            Delivery::Sweeps(sweeps) => app.runs.sweeps = sweeps,
            Delivery::Sweep { folder, read } => app.sweep.set(&folder, read),
            Delivery::SweepMade(Ok(folder)) => {
                if let Some(page) = app.page_mut() {
                    page.sweep = None;
                }
                open_sweep(app, folder);
            }
            Delivery::SweepMade(Err(words)) => match app.page_mut().and_then(|page| page.sweep.as_mut()) {
                Some(draft) => draft.refuse(words),
                None => app.toasts.push(Level::Error, words),
            },
            Delivery::Claims(read) => {
                app.claims.set(read);
                let claims = &app.claims;
                app.pages.values_mut().for_each(|page| page.claims = claims.count_for_lab(page.lab.id));
            }
            Delivery::ClaimRuns { claim, read } => app.claims.set_runs(claim, read),
            Delivery::SweepFolder(folder) => {
                app.opening.retain(|run| run.replayed_folder() != Some(folder.as_path()));
                open_sweep(app, folder);
            }
            Delivery::Restored => {
                app.host.list_run_table();
                app.host.list_runs();
            }
            Delivery::Fonts(files) => {
                system_fonts::take(files);
                ctx.set_fonts(theme::fonts());
                ctx.request_repaint();
            }
            Delivery::Failed { what } => app.toasts.push(Level::Error, what),
        }
    }
}
