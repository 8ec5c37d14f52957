//! The link of a page: copied, opened, and led to its step, in a run on the disk or in one yet to be trained.

use super::{lesson::open_lesson, open_lab::open_settings, open_run::open_run};
use crate::{
    experiments::permalink::{Link, Permalink},
    labs::TrainSettings,
    ui::{
        app::prelude::*,
        panels::{class_link::ClassLinkSheet, consent_sheets::LinkedFilesSheet},
    },
};

const NO_PAGE: &str = "Open a lab first: a link leads to the page of a lab.";

pub(super) fn open_class_link(app: &mut App) {
    if app.page().is_some_and(|page| page.lab.makes_runs()) {
        app.overlay = Some(Overlay::ClassLink(ClassLinkSheet::default()));
    } else {
        app.toasts.push(Level::Info, "Open a lab that trains first: its page can be restricted.".into());
    }
}

pub(in crate::ui) fn copy_link(app: &mut App, ctx: &Context) {
    let Some(page) = app.page() else {
        return app.toasts.push(Level::Info, NO_PAGE.into());
    };
    let link = link::link(page);
    let more = link::link_text(page, &link);
    ctx.copy_text(link.to_string());
    let what =
        if link.step.is_some() { "settings, seed, step, selection and views" } else { "settings, seed and views" };
    let words = format!(
        "Copied a link to this page: {what}. The command orrery open LINK opens it, and so does Ctrl V here. {more}"
    );
    app.toasts.push(Level::Info, words.trim_end().to_owned());
}

/// Opens what a link leads to, or says what is wrong with it.
pub(in crate::ui) fn open_link(app: &mut App, link: Result<Link, String>, ctx: &Context) {
    match link {
        Ok(Link::Lesson(link)) => open_lesson(app, &link, ctx),
        Ok(Link::Page(link)) => open_page(app, *link, ctx),
        Err(words) => app.toasts.push(Level::Error, words),
    }
}

pub(in crate::ui) fn link_of(app: &App, text: &str) -> Option<Result<Link, String>> {
    Link::parse(text, app.lists.labs)
}

/// Opens a link's page, once the user has agreed to the files that it names, because the link's author chose them.
pub(in crate::ui) fn open_page(app: &mut App, link: Permalink, ctx: &Context) {
    if let Some(view) = link.views.iter().find(|id| !app.lists.views.iter().any(|v| v.id == **id)) {
        let words = format!(
            "The link names a view \u{201c}{view}\u{201d}, which this build does not have; the page was not opened."
        );
        return app.toasts.push(Level::Error, words);
    }
    let Some(lab) = app.lists.lab(&link.config.lab) else { return };
    let files = link.files(lab);
    if files.is_empty() {
        return show_page(app, link, ctx);
    }
    app.waiting = Some(PendingAction::Page(Box::new(link)));
    app.overlay = Some(Overlay::LinkedFiles(LinkedFilesSheet { lab: lab.title, files }));
}

/// The user has agreed to the files that the waiting link names.
pub(super) fn use_linked_files(app: &mut App, ctx: &Context) {
    app.overlay = None;
    if let Some(PendingAction::Page(link)) = app.waiting.take() {
        show_page(app, *link, ctx);
    }
}

/// Opens a lab with a link's settings and views. Nothing is trained.
pub(super) fn show_page(app: &mut App, link: Permalink, ctx: &Context) {
    let Some(lab) = app.lists.lab(&link.config.lab) else { return };
    if app.must_wait(lab.id, "open this link") {
        app.waiting = Some(PendingAction::Page(Box::new(link)));
        return;
    }
    let layout = (!link.views.is_empty()).then(|| {
        let mut tiling = Tiling::new(lab.id, lab.panes);
        tiling.bring_in_front(&link.views);
        tiling.tree
    });
    let (config, restrictions) = (link.config.clone(), link.restrictions.clone());
    if !open_settings(app, SharedSession { config, layout, restrictions }, ctx) {
        return;
    }
    if let Some(page) = app.page_mut() {
        link::select(page, &link);
    }
    match link.step {
        Some(step) if step > 0 => {
            if !app.host.find_run(&link) {
                offer_to_run(app, &link, step);
            }
        }
        _ => app.toasts.push(Level::Info, "The lab is open with these settings. Space runs it.".into()),
    }
}

/// The host has looked for a run of the link's settings.
pub(in crate::ui) fn found_run(app: &mut App, link: Permalink, run: Option<PathBuf>, ctx: &Context) {
    // another page may have been opened in the meantime
    let is_here = app.page().is_some_and(|page| page.config == link.config && page.newest() == 0);
    let Some(step) = link.step.filter(|_| is_here) else { return };
    match run {
        None => offer_to_run(app, &link, step),
        Some(folder) => {
            app.linked_run = Some((folder.clone(), link));
            open_run(app, folder, ctx);
        }
    }
}

fn offer_to_run(app: &mut App, link: &Permalink, step: u64) {
    let total = link.config.get(TrainSettings::steps.name).and_then(|v| v.as_f64()).unwrap_or(f64::INFINITY);
    if step as f64 > total {
        let words = format!("The link is of step {step}, but its settings end at step {total}. Space runs it.");
        return app.toasts.push(Level::Warning, words);
    }
    let shown = grouped(step);
    let words = format!("The link is of step {shown}, which is {shown} steps away: no run of these settings is here.");
    app.toasts.push_with(words, (format!("Run to step {shown}"), RunAction::RunTo(step).into()));
}
