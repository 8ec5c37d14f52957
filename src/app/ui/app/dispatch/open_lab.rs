//! Opens a lab, as it was left or with settings, and hands files to its page.

use crate::{
    config::Setting,
    labs::{
        corpus::{CorpusSettings, TokenKind},
        equilibrium::settings::GeneratorSettings,
    },
    ui::{
        app::prelude::*,
        host::CheckedFile,
        page::{example, lesson},
    },
};

/// Opens the lab of these settings on its example; false, and nothing is done, unless they are those of the example.
pub(in crate::ui) fn open_on_example(app: &mut App, config: &Config, ctx: &Context) -> bool {
    let is_opening = |lab: &&'static Lab| lab.opening_config().is_ok_and(|opening| opening == *config);
    let Some(lab) = app.lists.lab(&config.lab).filter(is_opening) else { return false };
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
        // the example would answer the step of the lesson that the reader still follows
        let begins_step = page.lesson.current.is_some_and(|i| lesson::step_begins_run(&page, i));
        if begins_step || !example::show(&mut page, app.host.as_mut(), ctx) && lab.opens_with_run {
            page.launch(app.host.as_mut(), ctx);
        }
        app.pages.insert(lab.id, page);
    }
    app.open = Some(lab.id);
    app.overlay = None;
    if let Some(file) = app.file_without_lab.take() {
        set_path(app, FileKind::Text, &file, ctx);
    }
}

/// Opens the lab of these settings with them, with a layout where one came along, and as restricted as they say. False: not
/// yet, or not at all.
pub(in crate::ui) fn open_settings(app: &mut App, shared: SharedSession, ctx: &Context) -> bool {
    let config = &shared.config;
    let Some(lab) = app.lists.lab(&config.lab) else {
        let known = app.lists.labs.iter().map(|l| l.id).collect::<Vec<_>>().join(", ");
        let words = format!("These settings are of a lab \u{201c}{}\u{201d}; the labs are {known}.", config.lab);
        app.toasts.push(Level::Error, words);
        return false;
    };
    if app.must_wait(lab.id, "open these settings") {
        app.waiting = Some(PendingAction::Settings(Box::new(shared)));
        return false;
    }
    let SharedSession { config, layout, restrictions } = shared;
    let now = ctx.input(|i| i.time);
    app.open = Some(lab.id);
    app.overlay = None;
    let page = app.pages.entry(lab.id).or_insert_with(|| Page::new(lab, config.clone()));
    // the restrictions of a link end with the page that it opened; locked settings could not be changed
    page.restrictions = Restrictions::default();
    match layout {
        Some(layout) => page.take_everything(config, Some(layout), "opened page".into(), now),
        None => page.take_config(config, now),
    }
    page.restrictions = restrictions;
    page.launch(app.host.as_mut(), ctx);
    true
}

/// Opens a file by the open lab's control of such files, once the file was found to hold what it is taken for.
pub(in crate::ui) fn set_path(app: &mut App, kind: FileKind, path: &Path, ctx: &Context) {
    let Some(page) = app.page() else {
        app.file_without_lab = Some(path.to_owned());
        app.overlay = Some(Overlay::ChooseLab(path.display().to_string()));
        return;
    };
    let what = match kind {
        FileKind::Tokenizer => "tokenizer file",
        FileKind::Checkpoint => "checkpoint",
        FileKind::Text => "text file of your own",
        FileKind::TextFolder => "folder of texts",
        FileKind::Matrix => "matrix of numbers",
        FileKind::Vocabulary => "list of characters",
        FileKind::Sentences => "file of labelled sentences",
        FileKind::Treebank => "treebank",
    };
    let lab = page.lab;
    match page.file_key(kind) {
        Some(key) => choose(app, ChosenFile { path: path.to_owned(), kind, lab: lab.id, key, is_opened: true }, ctx),
        None => app.toasts.push(Level::Warning, format!("The lab {} takes no {what}.", lab.title)),
    }
}

/// The settings of the lab's first preset, for a file that the user opens; `None` if the page has them already or the
/// user has changed its settings. Those of the example may not fit: its task may have its own symbols, and its model may
/// only have been opened.
fn settings_for_own_file(page: &Page) -> Option<Config> {
    let is_as_opened = page.lab.opening_config().is_ok_and(|opening| opening == page.config);
    page.lab.config(None).ok().filter(|first| is_as_opened && *first != page.config)
}

/// Gives a setting a file, once the host has read it; at once where the host reads none.
pub(in crate::ui) fn choose(app: &mut App, file: ChosenFile, ctx: &Context) {
    let Some(page) = app.pages.get(file.lab) else { return };
    let own = settings_for_own_file(page).filter(|_| file.is_opened);
    if !app.host.check_file(&file, own.as_ref().unwrap_or(&page.config)) {
        set_checked_path(app, &file, CheckedFile::default(), ctx);
    }
}

/// Takes a file that was read: it is set, or refused as the command would refuse it.
pub(in crate::ui) fn take_checked(app: &mut App, file: &ChosenFile, read: Result<CheckedFile, String>, ctx: &Context) {
    match read {
        Ok(checked) => set_checked_path(app, file, checked, ctx),
        Err(why) => {
            app.toasts.push(Level::Warning, format!("{} was not opened: {why}", file.path.display()));
            if let Some(page) = app.pages.get_mut(file.lab) {
                page.refused.insert(file.key.to_owned(), why);
            }
        }
    }
}

/// The setting of the number of states of a matrix with this many rows.
pub(in crate::ui) fn states_setting(rows: usize) -> (&'static str, Value) {
    (GeneratorSettings::states.name, Value::Int(rows as i64))
}

fn set_checked_path(app: &mut App, file: &ChosenFile, checked: CheckedFile, ctx: &Context) {
    let now = ctx.input(|i| i.time);
    let Some(page) = app.pages.get_mut(file.lab) else { return };
    let (key, path) = (file.key, file.path.display());
    // opening trained weights starts their run
    let begins_run = file.is_opened && file.kind == FileKind::Checkpoint;
    if file.is_opened
        && let Some(own) = settings_for_own_file(page)
    {
        page.take_config(own, now);
    }
    page.drafts.remove(key);
    if begins_run && !page.restrictions.locks(key) {
        forget_tokens(page, now);
    }
    page.change(key, Value::Text(path.to_string()), now);
    if let Some(words) = page.refused.get(key) {
        return app.toasts.push(Level::Warning, format!("{path} was not opened: {words}"));
    }
    set_states(page, checked, now);
    if !file.is_opened {
        return;
    }
    choose_tokens_of(page, file.kind, now);
    // a run that could not be opened before is tried with the new file
    let is_example = page.run.as_ref().is_some_and(Run::is_example);
    let has_failed = matches!(page.mirror().and_then(|mirror| mirror.state.as_ref()), Some(RunState::Failed { .. }));
    let is_tried_again = page.lab.opens_with_run && (is_example || has_failed);
    if begins_run || is_tried_again {
        page.launch(app.host.as_mut(), ctx);
    }
    // if a run starts now, it reports the file itself
    if !begins_run {
        let waits = !is_tried_again && page.run.as_ref().is_some_and(|r| !r.is_untouched());
        let then = if waits { " It is used after a reset (R)." } else { "" };
        app.toasts.push(Level::Info, format!("{path} is set.{then}"));
    }
    app.overlay = None;
}

/// A matrix brings its number of states; one with too many was refused when it was read.
fn set_states(page: &mut Page, checked: CheckedFile, now: f64) {
    let Some((key, value)) = checked.states.map(states_setting) else { return };
    if page.config.get(key).is_some() && !page.restrictions.locks(key) {
        page.change(key, value, now);
    }
}

/// The tokens that a file of this kind is for.
fn choose_tokens_of(page: &mut Page, kind: FileKind, now: f64) {
    let tokens = match kind {
        FileKind::Tokenizer => TokenKind::HuggingFace,
        FileKind::Vocabulary => TokenKind::SortedChar,
        _ => return,
    };
    if page.config.get(CorpusSettings::tokenizer.name).is_some() {
        page.change(CorpusSettings::tokenizer.name, tokens.to_value(), now);
    }
}

/// Finds the tokens again, since another model is opened, whose vocabulary may differ from that of the one before.
fn forget_tokens(page: &mut Page, now: f64) {
    let defaults = [
        (CorpusSettings::tokenizer.name, TokenKind::Byte.to_value()),
        (CorpusSettings::vocabulary_file.name, Value::Text(String::new())),
        (CorpusSettings::tokenizer_file.name, Value::Text(String::new())),
    ];
    for (key, value) in defaults {
        if page.config.get(key).is_some() {
            page.drafts.remove(key);
            page.change(key, value, now);
        }
    }
}
