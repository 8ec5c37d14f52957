//! The effect of actions on the settings.

use std::path::PathBuf;

use eframe::egui::Context;

use super::stop_first::{Waiting, waits};
use crate::{
    config::{FileKind, Value},
    ui::{
        action::SettingAction,
        app::App,
        page::{Page, controls},
    },
};

pub(super) fn dispatch(app: &mut App, action: SettingAction, ctx: &Context) {
    let now = ctx.input(|i| i.time);
    let Some(page) = app.page_mut() else { return };
    match action {
        SettingAction::Change(key, value) => {
            let typed = typed_matrix(page, &key, &value);
            page.change(&key, value, now);
            if let Some(path) = typed {
                // it is set already; what is read of it follows
                app.host.check_file(FileKind::Matrix, &path);
            }
        }
        SettingAction::Seed(seed) => page.set_seed(seed, now),
        SettingAction::Preset(id) => take_preset(app, id, ctx),
        SettingAction::Restore(key) => {
            if let Some(value) = page.preset_value(&key).cloned() {
                page.drafts.remove(&key);
                page.change(&key, value, now);
            }
        }
        SettingAction::RestoreAll(keys) => controls::restore(page, &keys, now),
        SettingAction::Unlock => controls::unlock(page),
        SettingAction::Find(key) => {
            page.sought = Some(key);
            page.lesson.is_focused &= page.lesson.shows(key);
            page.filter.clear();
            app.session.controls_open = true;
        }
    }
}

/// The path of a matrix that was typed into its control.
fn typed_matrix(page: &Page, key: &str, value: &Value) -> Option<PathBuf> {
    let is_matrix = page.file_key(FileKind::Matrix) == Some(key) && page.config.get(key) != Some(value);
    match value {
        Value::Text(path) if is_matrix && !path.is_empty() => Some(path.into()),
        _ => None,
    }
}

/// Begins a preset, once no training would end by it.
fn take_preset(app: &mut App, id: String, ctx: &Context) {
    let Some(lab) = app.page().map(|page| page.lab) else { return };
    let title = lab.presets.iter().find(|p| p.id == id).map_or(id.as_str(), |p| p.title);
    if waits(app, lab.id, &format!("begin the preset \u{201c}{title}\u{201d}")) {
        app.waiting = Some(Waiting::Action(SettingAction::Preset(id).into()));
        return;
    }
    let Some((page, host)) = app.page_and_host() else { return };
    let outcome = lab.config(Some(&id)).map(|config| {
        page.take_config(config, ctx.input(|i| i.time));
        page.launch(host, ctx);
    });
    app.warn_of(outcome.map_err(|e| e.to_string()));
}
