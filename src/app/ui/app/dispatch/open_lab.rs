//! Opens a lab: as it was left, or with settings; and gives its page a file.

use std::path::Path;

use eframe::egui::Context;

use super::stop_first::{Waiting, waits};
use crate::{
    config::{Config, FileKind, Value},
    labs::Lab,
    telemetry::Level,
    ui::{
        app::App,
        page::{Page, example, tokens},
        panels::Overlay,
        run::Run,
        session::LabSession,
        tiling::Layout,
    },
};

/// Opens the lab of these settings on its example; false, and nothing is done, unless they are those of its first preset
/// and it has one.
pub(in crate::ui) fn open_on_example(app: &mut App, config: &Config, ctx: &Context) -> bool {
    let is_first = |lab: &&'static Lab| lab.config(None).is_ok_and(|first| first == *config);
    let Some(lab) = app.lists.lab(&config.lab).filter(is_first) else { return false };
    let mut page = Page::new(lab, config.clone());
    let is_shown = example::show(&mut page, app.host.as_mut(), ctx);
    if is_shown {
        app.pages.insert(lab.id, page);
        app.open = Some(lab.id);
    }
    is_shown
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
        if !example::show(&mut page, app.host.as_mut(), ctx) && lab.opens_with_run {
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

/// Gives a path to the open lab's text or tokenizer control.
pub(in crate::ui) fn set_path(app: &mut App, kind: FileKind, path: &Path, ctx: &Context) {
    let now = ctx.input(|i| i.time);
    let what = match kind {
        FileKind::Tokenizer => "tokenizer file",
        FileKind::Checkpoint => "checkpoint",
        FileKind::Text => "text file of your own",
        FileKind::TextFolder => "folder of texts",
        FileKind::Matrix => "matrix of numbers",
        FileKind::Vocabulary => "list of characters",
        FileKind::Sentences => "file of labelled sentences",
    };
    match app.open.and_then(|id| app.pages.get_mut(id)) {
        None => {
            app.homeless_file = Some(path.to_owned());
            app.overlay = Some(Overlay::choose_lab(path));
        }
        Some(page) => match page.file_key(kind) {
            Some(key) => {
                page.drafts.remove(key);
                page.change(key, Value::Text(path.display().to_string()), now);
                if let Some(words) = page.refused.get(key) {
                    let words = format!("{} was not opened: {words}", path.display());
                    return app.toasts.push(Level::Warning, words);
                }
                tokens::choose_tokens_of(page, kind, now);
                // what could not be opened before is tried with the new file
                let is_example = page.run.as_ref().is_some_and(Run::is_example);
                // whoever opens trained weights begins their run
                let is_begun = is_example && kind != FileKind::Checkpoint;
                let is_tried_again = page.lab.opens_with_run && (is_begun || tokens::has_failed(page));
                if is_tried_again {
                    page.launch(app.host.as_mut(), ctx);
                }
                let waits = !is_tried_again && page.run.as_ref().is_some_and(|r| !r.is_untouched());
                let then = if waits { " It is used after a reset (R)." } else { "" };
                app.toasts.push(Level::Info, format!("{} is set.{then}", path.display()));
                app.overlay = None;
            }
            None => {
                let lab = page.lab.title;
                app.toasts.push(Level::Warning, format!("The lab {lab} takes no {what}."));
            }
        },
    }
}
