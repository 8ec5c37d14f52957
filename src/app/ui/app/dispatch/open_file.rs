//! Opens a file or a folder that the user dropped, picked or named, by its kind.

use super::{
    file::MatrixExport,
    link::{link_of, open_link},
    open_lab::{choose, open_lab, open_settings, set_path, states_setting},
    open_run::open_run,
};
use crate::{
    analysis::{generator::MatrixKind, graph_file::Format},
    config::{ConfigError, Setting},
    labs::{
        self,
        equilibrium::{self, settings::GeneratorSettings},
    },
    ui::app::prelude::*,
};

/// Opens a path that the user dropped or typed: the host finds out if it is a folder, or a file by its name.
pub(in crate::ui) fn open_path(app: &mut App, path: PathBuf, ctx: &Context) {
    match path.to_str().and_then(|text| link_of(app, text)) {
        Some(link) => open_link(app, link, ctx),
        None => app.host.identify(path),
    }
}

pub(in crate::ui) fn open_file(app: &mut App, path: PathBuf, ctx: &Context) {
    let name = path.file_name().map(|n| n.to_string_lossy().to_lowercase()).unwrap_or_default();
    if name.ends_with(".toml") {
        app.host.read_text(path);
    } else if [".pkl", ".pickle"].iter().any(|e| name.ends_with(e)) {
        set_path(app, FileKind::Vocabulary, &path, ctx);
    } else if [".safetensors", ".pt", ".pth"].iter().any(|e| name.ends_with(e)) {
        open_checkpoint(app, &path, ctx);
    } else if !name.contains('.') || name == "events.jsonl" || Format::from_name(&name).is_some() {
        open_run(app, path, ctx);
    } else if FileKind::is_treebank(&path) {
        open_lab_taking(app, FileKind::Treebank, ctx);
        set_path(app, FileKind::Treebank, &path, ctx);
    } else {
        set_path(app, FileKind::Text, &path, ctx);
    }
}

pub(in crate::ui) fn open_config_text(app: &mut App, path: &Path, content: &str, ctx: &Context) {
    let lab = Config::lab_id(content).and_then(|id| labs::find_in(app.lists.labs, &id));
    open_config(app, path, lab.and_then(|lab| Config::from_toml(content, lab.id, &(lab.knobs)())), ctx);
}

/// Opens the settings that were read of a file, or says why there are none.
fn open_config(app: &mut App, path: &Path, read: Result<Config, ConfigError>, ctx: &Context) {
    match read {
        Ok(config) => _ = open_settings(app, config.into(), ctx),
        Err(e) => app.toasts.push(Level::Error, format!("{} was not opened: {e}", path.display())),
    }
}

/// Opens a file of transition probabilities in the generator lab, with its number of states.
pub(in crate::ui) fn open_transitions(app: &mut App, matrix: &MatrixExport, ctx: &Context) {
    let path = &matrix.path;
    let (lab, knobs) = (&equilibrium::LAB, (equilibrium::LAB.knobs)());
    let config = lab.config(None).and_then(|mut config| {
        config.set(&knobs, GeneratorSettings::file.name, Value::Text(path.display().to_string()))?;
        config.set(&knobs, GeneratorSettings::file_holds.name, MatrixKind::Transitions.to_value())?;
        let (states, count) = states_setting(matrix.states);
        config.set(&knobs, states, count)?;
        Ok(config)
    });
    open_config(app, path, config, ctx);
}

/// Opens the first lab that takes files of a kind, unless the lab on screen does; false if none does.
fn open_lab_taking(app: &mut App, kind: FileKind, ctx: &Context) -> bool {
    let takes = |page: &Page| page.file_key(kind).is_some();
    if app.open.and_then(|id| app.pages.get(id)).is_some_and(takes) {
        return true;
    }
    let Some(lab) = app.lists.labs.iter().find(|lab| lab.file_key(kind).is_some()) else { return false };
    open_lab(app, lab.id, ctx);
    true
}

/// Opens trained weights in the lab on screen, or in the first that takes any: paused, to be asked or trained on.
fn open_checkpoint(app: &mut App, path: &Path, ctx: &Context) {
    if !open_lab_taking(app, FileKind::Checkpoint, ctx) {
        let words = format!("{} was not opened: no lab of this build takes trained weights.", path.display());
        return app.toasts.push(Level::Warning, words);
    }
    if let Some(lab) = app.open
        && app.must_wait(lab, "open these weights")
    {
        app.waiting = Some(PendingAction::Action(OpenAction::Path(path.to_owned()).into()));
        return;
    }
    set_path(app, FileKind::Checkpoint, path, ctx);
}

/// Gives a picked path to the control beside whose button it was picked; otherwise as a dropped one.
pub(in crate::ui) fn set_picked(app: &mut App, kind: FileKind, path: &Path, ctx: &Context) {
    let page = app.open.and_then(|id| app.pages.get_mut(id));
    let beside = page.and_then(|page| {
        let key = page.picking.take()?;
        let fits = page.knobs.iter().any(|k| k.key == key && k.file_kind() == Some(kind));
        let is_other = fits && page.file_key(kind) != Some(key);
        let path = path.to_owned();
        is_other.then_some(ChosenFile { path, kind, lab: page.lab.id, key, is_opened: false })
    });
    match beside {
        Some(file) => choose(app, file, ctx),
        None if kind == FileKind::Checkpoint => open_checkpoint(app, path, ctx),
        None => set_path(app, kind, path, ctx),
    }
}
