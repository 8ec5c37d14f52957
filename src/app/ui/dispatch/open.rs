//! The effect of actions that change what is in front, and the opening of labs.

use std::path::PathBuf;

use eframe::egui::Context;

use super::{
    dispatch as dispatch_any,
    link::{link_of, open_link},
    open_file::{open_path, set_path},
    open_run::open_run,
    stop_first::{Waiting, stop_and_go_on, waits},
};
use crate::{
    config::{Config, FileKind},
    telemetry::Level,
    ui::{
        action::{OpenAction, SettingAction},
        app::App,
        page::Page,
        panels::Overlay,
        session::LabSession,
        tiling::Layout,
    },
};

pub(super) fn dispatch(app: &mut App, action: OpenAction, ctx: &Context) {
    match action {
        OpenAction::Home => go_home(app),
        OpenAction::Runs => open_runs(app),
        OpenAction::Lab(id) => open_lab(app, id, ctx),
        OpenAction::Preset(lab, preset) => {
            open_lab(app, lab, ctx);
            dispatch_any(app, SettingAction::Preset(preset.to_owned()), ctx);
        }
        OpenAction::Run(folder) => open_run(app, folder, ctx),
        OpenAction::Sweep(folder) => open_sweep(app, folder),
        OpenAction::Path(path) => open_path(app, path, ctx),
        OpenAction::Link(text) => {
            if let Some(link) = link_of(app, &text) {
                open_link(app, link, ctx);
            }
        }
        OpenAction::Sheet => app.overlay = Some(Overlay::open_sheet()),
        OpenAction::Palette => app.overlay = Some(Overlay::palette()),
        OpenAction::Help => app.overlay = Some(Overlay::Help),
        OpenAction::Back => back(app),
        OpenAction::StopAndGoOn => stop_and_go_on(app, ctx),
    }
}

fn go_home(app: &mut App) {
    app.open = None;
    (app.runs.is_open, app.sweep.is_open) = (false, false);
    app.host.list_runs();
}

/// The page of a sweep, in front of the table of runs.
pub(in crate::ui) fn open_sweep(app: &mut App, folder: PathBuf) {
    app.open = None;
    app.overlay = None;
    app.sweep.open(folder.clone());
    app.host.read_sweep(folder);
}

fn open_runs(app: &mut App) {
    app.open = None;
    app.overlay = None;
    app.sweep.is_open = false;
    app.runs.open();
    app.host.list_run_table();
    app.host.list_sweeps();
}

/// Escape: out of the innermost thing.
fn back(app: &mut App) {
    if app.overlay.take().is_some() {
        app.waiting = None;
        return;
    }
    if app.open.is_none() && app.sweep.is_open {
        if !app.sweep.back() {
            open_runs(app);
        }
        return;
    }
    if app.open.is_none() && app.runs.is_open {
        if !app.runs.back() {
            go_home(app);
        }
        return;
    }
    let presenting = app.presenter;
    let from_sweep = app.sweep.is_open.then(|| app.sweep.folder().clone());
    match app.page_mut() {
        Some(page) if page.tiling.maximised.is_some() => page.tiling.maximised = None,
        Some(page) if page.tiling.selected.is_some() && !presenting => page.tiling.selected = None,
        // a run that was opened from a sweep's page leads back to it
        Some(_) => match from_sweep {
            Some(folder) => open_sweep(app, folder),
            None => go_home(app),
        },
        None => {}
    }
}

pub(in crate::ui) fn open_lab(app: &mut App, id: &'static str, ctx: &Context) {
    let Some(lab) = app.lists.lab(id) else { return };
    if !app.pages.contains_key(lab.id) {
        let empty = LabSession::default();
        let saved = app.session.labs.get(lab.id).unwrap_or(&empty);
        let (mut page, complaints) = Page::restore(lab, saved);
        for words in complaints {
            app.toasts.push(Level::Warning, format!("A saved setting no longer fits and was left out: {words}"));
        }
        if lab.opens_with_run {
            page.launch(app.host.as_mut(), ctx);
        }
        app.pages.insert(lab.id, page);
    }
    app.open = Some(lab.id);
    app.overlay = None;
    if let Some(file) = app.homeless_file.take() {
        set_path(app, FileKind::Text, &file, ctx);
    }
}

/// Opens the config's lab with it.
pub(in crate::ui) fn open_config(app: &mut App, config: Config, ctx: &Context) {
    open_settings(app, config, None, ctx);
}

/// Opens the config's lab with it, and with a layout where one came along. False: not yet, or not at all.
pub(in crate::ui) fn open_settings(app: &mut App, config: Config, layout: Option<Layout>, ctx: &Context) -> bool {
    let Some(lab) = app.lists.lab(&config.lab) else {
        let known = app.lists.labs.iter().map(|l| l.id).collect::<Vec<_>>().join(", ");
        app.toasts.push(Level::Error, format!("These settings are of a lab `{}`; the labs are {known}.", config.lab));
        return false;
    };
    if waits(app, lab.id, "open these settings") {
        app.waiting = Some(Waiting::Settings(Box::new(config), layout.map(Box::new)));
        return false;
    }
    let now = ctx.input(|i| i.time);
    if !app.pages.contains_key(lab.id) {
        app.pages.insert(lab.id, Page::new(lab, config.clone()));
    }
    app.open = Some(lab.id);
    app.overlay = None;
    let host = app.host.as_mut();
    if let Some(page) = app.pages.get_mut(lab.id) {
        match layout {
            Some(layout) => page.take_everything(config, Some(layout), "pasted session".into(), now),
            None => page.take_config(config, now),
        }
        page.launch(host, ctx);
    }
    true
}
