//! The effect of actions that change the page, sheet or tile in front.

use super::{
    dispatch as dispatch_any,
    lesson::restrict,
    link::{link_of, open_class_link, open_link, show_page, use_linked_files},
    open_file::open_path,
    open_lab::{open_lab, open_settings},
    open_run::{open_run, show_replay},
};
use crate::ui::{
    app::prelude::*,
    panels::{open_sheet::OpenSheet, palette::Palette},
};

pub(super) fn dispatch(app: &mut App, action: OpenAction, ctx: &Context) {
    match action {
        OpenAction::Home => go_home(app),
        OpenAction::Runs => open_runs(app),
        OpenAction::Claims(filter) => open_claims(app, filter),
        OpenAction::Claim(id) => {
            open_claims(app, format!("id:{id}"));
            app.claims.unfold(id);
        }
        OpenAction::Lab(id) => open_lab(app, id, ctx),
        OpenAction::Preset(lab, preset) => {
            open_lab(app, lab, ctx);
            restrict(app, Restrictions::default());
            dispatch_any(app, SettingAction::Preset(preset.to_owned()), ctx);
        }
        OpenAction::View(lab, view) => {
            open_lab(app, lab, ctx);
            dispatch_any(app, PageAction::ShowView(view), ctx);
        }
        OpenAction::Run(folder) => open_run(app, folder, ctx),
        OpenAction::GoOn(folder) => {
            open_run(app, folder.clone(), ctx);
            app.resuming_run = Some(folder);
        }
        OpenAction::Sweep(folder) => open_sweep(app, folder),
        OpenAction::Path(path) => open_path(app, path, ctx),
        OpenAction::Link(text) => {
            if let Some(link) = link_of(app, &text) {
                open_link(app, link, ctx);
            }
        }
        OpenAction::Sheet => app.overlay = Some(Overlay::Open(OpenSheet::default())),
        OpenAction::Palette => app.overlay = Some(Overlay::Palette(Palette::default())),
        OpenAction::Help => app.overlay = Some(Overlay::Help),
        OpenAction::Back => go_back(app, ctx),
        OpenAction::StopAndGoOn => stop_and_go_on(app, ctx),
        OpenAction::ClassLink => open_class_link(app),
        OpenAction::UseLinkedFiles => use_linked_files(app, ctx),
    }
}

fn go_home(app: &mut App) {
    app.open = None;
    (app.runs.is_open, app.sweep.is_open, app.claims.is_open) = (false, false, false);
    app.host.list_runs();
}

pub(in crate::ui) fn open_sweep(app: &mut App, folder: PathBuf) {
    (app.open, app.overlay) = (None, None);
    app.sweep.open(folder.clone());
    app.host.read_sweep(folder);
}

fn open_runs(app: &mut App) {
    (app.open, app.overlay) = (None, None);
    (app.sweep.is_open, app.claims.is_open) = (false, false);
    app.runs.open();
    app.host.list_run_table();
    app.host.list_sweeps();
}

fn open_claims(app: &mut App, filter: String) {
    if app.open.is_some() || !app.claims.is_open {
        app.claims.opened_from = app.open;
    }
    return_to_claims(app);
    app.claims.set_filter(filter);
    app.host.list_claims();
}

/// Returns to the page of claims, in the state in which it was left.
fn return_to_claims(app: &mut App) {
    (app.open, app.overlay) = (None, None);
    (app.sweep.is_open, app.runs.is_open, app.claims.is_open) = (false, false, true);
}

/// Handles Escape, which closes the innermost open thing.
fn go_back(app: &mut App, ctx: &Context) {
    if app.overlay.take().is_some() {
        (app.waiting, app.resuming_run) = (None, None);
        return;
    }
    if app.open.is_none() {
        if app.sweep.is_open {
            match app.sweep.back() {
                true => {}
                false if app.claims.is_open => return_to_claims(app),
                false => open_runs(app),
            }
        } else if let (true, Some(lab)) = (app.claims.is_open, app.claims.opened_from) {
            app.claims.is_open = false;
            open_lab(app, lab, ctx);
        } else if app.claims.is_open || app.runs.is_open && !app.runs.back() {
            go_home(app);
        }
        return;
    }
    let from_sweep = app.sweep.is_open.then(|| app.sweep.folder.clone());
    match app.page_mut() {
        Some(page) if page.tiling.maximised.is_some() => page.tiling.maximised = None,
        // a run that was opened from a sweep's page leads back to it, a lab that was opened from a claim to the claims
        Some(_) => match from_sweep {
            Some(folder) => open_sweep(app, folder),
            None if app.claims.is_open => return_to_claims(app),
            None => go_home(app),
        },
        None => {}
    }
}

/// Dispatches the pending action, since the user has agreed that the training ends.
fn stop_and_go_on(app: &mut App, ctx: &Context) {
    app.overlay = None;
    let Some(waiting) = app.waiting.take() else { return };
    app.has_stop_consent = true;
    match waiting {
        PendingAction::Action(action) => dispatch_any(app, action, ctx),
        PendingAction::Settings(shared) => _ = open_settings(app, *shared, ctx),
        PendingAction::Replay(run) => show_replay(app, *run),
        PendingAction::Page(link) => show_page(app, *link, ctx),
    }
    app.has_stop_consent = false;
}
