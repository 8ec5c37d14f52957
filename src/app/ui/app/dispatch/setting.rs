//! The effect of actions on the settings.

use super::open_lab::choose;
use crate::ui::{app::prelude::*, page::controls};

pub(super) fn dispatch(app: &mut App, action: SettingAction, ctx: &Context) {
    let now = ctx.input(|i| i.time);
    let Some(page) = app.page_mut() else { return };
    match action {
        SettingAction::Change(key, value) => match typed_file(page, &key, &value) {
            Some(file) => choose(app, file, ctx),
            None => page.change(&key, value, now),
        },
        SettingAction::Seed(seed) => page.set_seed(seed, now),
        SettingAction::Preset(id) => take_preset(app, id, ctx),
        SettingAction::Restore(key) => {
            if let Some(value) = page.preset.get(&key).cloned() {
                page.drafts.remove(&key);
                page.change(&key, value, now);
            }
        }
        SettingAction::RestoreAll(keys) => controls::restore(page, &keys, now),
        SettingAction::Unlock => controls::unlock(page),
        SettingAction::Find(key) => {
            page.scroll_to = Some(key);
            page.lesson.is_focused &= page.lesson.shows(key);
            page.filter.clear();
            app.session.show_controls();
        }
    }
}

/// The file whose path was typed into its control.
fn typed_file(page: &Page, key: &str, value: &Value) -> Option<ChosenFile> {
    let knob = page.knobs.iter().find(|knob| knob.key == key && page.config.get(key) != Some(value))?;
    let (kind, Value::Text(path)) = (knob.file_kind()?, value) else { return None };
    let chosen = || ChosenFile { path: path.into(), kind, lab: page.lab.id, key: knob.key, is_opened: false };
    (!path.is_empty()).then(chosen)
}

/// Begins a preset, once the user has agreed that a training ends by it.
fn take_preset(app: &mut App, id: String, ctx: &Context) {
    let Some(lab) = app.page().map(|page| page.lab) else { return };
    let title = lab.preset(&id).map_or(id.as_str(), |p| p.title);
    if app.must_wait(lab.id, &format!("begin the preset \u{201c}{title}\u{201d}")) {
        app.waiting = Some(PendingAction::Action(SettingAction::Preset(id).into()));
        return;
    }
    let Some((page, host)) = app.page_and_host() else { return };
    let before = page.config.clone();
    let outcome = lab.config(Some(&id)).map(|config| {
        page.take_config(config, ctx.input(|i| i.time));
        page.launch(host, ctx);
    });
    let closed = closed_files(page, &before);
    app.warn_on_error(outcome.map_err(|e| e.to_string()));
    if !closed.is_empty() {
        let (closed, them) = (closed.join(", "), if closed.len() > 1 { "them" } else { "it" });
        let words = format!("The preset \u{201c}{title}\u{201d} has closed {closed}. Ctrl Z opens {them} again.");
        app.toasts.push(Level::Info, words);
    }
}

/// The files that were named `before` and are no longer, each with its control: "Treebank (own.conllu)".
fn closed_files(page: &Page, before: &Config) -> Vec<String> {
    let files = page.knobs.iter().filter(|knob| knob.file_kind().is_some());
    let closed = files.filter_map(|knob| {
        let path = before.get(knob.key).filter(|path| page.config.get(knob.key) != Some(*path))?.to_string();
        let name = Path::new(path.trim()).file_name()?.to_string_lossy();
        Some(format!("{} ({name})", knob.label))
    });
    closed.collect()
}
