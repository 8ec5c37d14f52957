//! What opens a page or changes which one is in front: labs, settings, runs, files. It does not know what a file dialog is.

use std::path::{Path, PathBuf};

use eframe::egui::Context;

use crate::{
    analysis::{generator::MatrixKind, graph_file::Format},
    config::{Config, FileKind, Setting, Value},
    labs::equilibrium::{self, settings::GeneratorSettings},
    telemetry::{Level, RunState},
    ui::{
        action::Action, app::App, mirror::Mirror, page::Page, panels::Overlay, run::Run, session::LabSession,
        tiling::Layout, waiting::Waiting,
    },
};

impl App {
    pub(in crate::ui) fn go_home(&mut self) {
        self.open = None;
        (self.runs.is_open, self.sweep.is_open) = (false, false);
        self.host.list_runs();
    }

    /// The page of a sweep, in front of the table of runs.
    pub(in crate::ui) fn open_sweep(&mut self, folder: PathBuf) {
        self.open = None;
        self.overlay = None;
        self.sweep.open(folder.clone());
        self.host.read_sweep(folder);
    }

    pub(in crate::ui) fn open_runs(&mut self) {
        self.open = None;
        self.overlay = None;
        self.sweep.is_open = false;
        self.runs.open();
        self.host.list_run_table();
        self.host.list_sweeps();
    }

    /// Escape: out of the innermost thing.
    pub(in crate::ui) fn back(&mut self) {
        if self.overlay.take().is_some() {
            self.waiting = None;
            return;
        }
        if self.open.is_none() && self.sweep.is_open {
            if !self.sweep.back() {
                self.open_runs();
            }
            return;
        }
        if self.open.is_none() && self.runs.is_open {
            if !self.runs.back() {
                self.go_home();
            }
            return;
        }
        let presenting = self.presenter;
        let from_sweep = self.sweep.is_open.then(|| self.sweep.folder().clone());
        match self.page_mut() {
            Some(page) if page.tiling.maximised.is_some() => page.tiling.maximised = None,
            Some(page) if page.tiling.selected.is_some() && !presenting => page.tiling.selected = None,
            // a run that was opened from a sweep's page leads back to it
            Some(_) => match from_sweep {
                Some(folder) => self.open_sweep(folder),
                None => self.go_home(),
            },
            None => {}
        }
    }

    pub(in crate::ui) fn open_lab(&mut self, id: &'static str, ctx: &Context) {
        let Some(lab) = self.lists.lab(id) else { return };
        if !self.pages.contains_key(lab.id) {
            let empty = LabSession::default();
            let saved = self.session.labs.get(lab.id).unwrap_or(&empty);
            let (mut page, complaints) = Page::restore(lab, saved);
            for words in complaints {
                self.toasts.push(Level::Warning, format!("A saved setting no longer fits and was left out: {words}"));
            }
            if lab.opens_with_run {
                page.launch(self.host.as_mut(), ctx);
            }
            self.pages.insert(lab.id, page);
        }
        self.open = Some(lab.id);
        self.overlay = None;
        if let Some(file) = self.homeless_file.take() {
            self.set_path(FileKind::Text, &file, ctx);
        }
    }

    /// Opens the config's lab with it.
    pub(in crate::ui) fn open_config(&mut self, config: Config, ctx: &Context) {
        self.open_settings(config, None, ctx);
    }

    /// Opens the config's lab with it, and with a layout where one came along. False: not yet, or not at all.
    pub(in crate::ui) fn open_settings(&mut self, config: Config, layout: Option<Layout>, ctx: &Context) -> bool {
        let Some(lab) = self.lists.lab(&config.lab) else {
            let known = self.lists.labs.iter().map(|l| l.id).collect::<Vec<_>>().join(", ");
            self.toasts
                .push(Level::Error, format!("These settings are of a lab `{}`; the labs are {known}.", config.lab));
            return false;
        };
        if self.waits(lab.id, "open these settings") {
            self.waiting = Some(Waiting::Settings(Box::new(config), layout.map(Box::new)));
            return false;
        }
        let now = ctx.input(|i| i.time);
        if !self.pages.contains_key(lab.id) {
            self.pages.insert(lab.id, Page::new(lab, config.clone()));
        }
        self.open = Some(lab.id);
        self.overlay = None;
        let host = self.host.as_mut();
        if let Some(page) = self.pages.get_mut(lab.id) {
            match layout {
                Some(layout) => page.take_everything(config, Some(layout), "pasted session".into(), now),
                None => page.take_config(config, now),
            }
            page.launch(host, ctx);
        }
        true
    }

    /// Opens a file of transition probabilities in the lab of generators, with that lab's usual settings.
    pub(in crate::ui) fn open_transitions(&mut self, path: &Path, ctx: &Context) {
        let (lab, knobs) = (&equilibrium::LAB, (equilibrium::LAB.knobs)());
        let config = lab.config(None).and_then(|mut config| {
            config.set(&knobs, GeneratorSettings::file.name, Value::Text(path.display().to_string()))?;
            config.set(&knobs, GeneratorSettings::file_holds.name, MatrixKind::Transitions.to_value())?;
            Ok(config)
        });
        match config {
            Ok(config) => self.open_config(config, ctx),
            Err(e) => self.toasts.push(Level::Error, format!("{} was not opened: {e}", path.display())),
        }
    }

    /// Begins to open a run folder; its page opens once it is known of which lab it is.
    pub(in crate::ui) fn open_run(&mut self, folder: PathBuf, ctx: &Context) {
        let handle = self.host.open_run(folder.clone());
        self.opening.push(Run::new(handle, Mirror::default(), Some(folder), ctx));
        self.overlay = None;
    }

    pub(in crate::ui) fn pump_opening(&mut self, _ctx: &Context) {
        let mut waiting = vec![];
        for mut run in std::mem::take(&mut self.opening) {
            run.pump();
            let lab = run.mirror.info.as_ref().map(|i| i.lab.clone());
            let failed = match &run.mirror.state {
                Some(RunState::Failed { message }) => Some(message.clone()),
                _ => None,
            };
            match (lab, failed) {
                (Some(id), _) => match self.lists.lab(&id) {
                    Some(lab) => {
                        if self.waits(lab.id, "open the replay") {
                            self.waiting = Some(Waiting::Replay(Box::new(run)));
                        } else {
                            self.show_replay(run);
                        }
                    }
                    None => self
                        .toasts
                        .push(Level::Error, format!("This run is of a lab `{id}` that this build does not have.")),
                },
                (None, Some(message)) => self.toasts.push(Level::Error, message),
                (None, None) => waiting.push(run),
            }
        }
        self.opening = waiting;
    }

    /// Shows a run that was opened from its folder, in its lab.
    pub(in crate::ui) fn show_replay(&mut self, run: Run) {
        let id = run.mirror.info.as_ref().map(|i| i.lab.clone()).unwrap_or_default();
        let Some(lab) = self.lists.lab(&id) else { return };
        let page = self.pages.entry(lab.id).or_insert_with(|| Page::restore(lab, &LabSession::default()).0);
        page.replay(run);
        self.open = Some(lab.id);
        self.lead_to_step();
    }

    /// Opens what a person dropped or typed: a folder, or a file by its name. Which of them it is the host finds out.
    pub(in crate::ui) fn open_path(&mut self, path: PathBuf, ctx: &Context) {
        match path.to_str().and_then(|text| self.link_of(text)) {
            Some(link) => self.open_link(link, ctx),
            None => self.host.identify(path),
        }
    }

    /// Opens a file by its name.
    pub(in crate::ui) fn open_file(&mut self, path: PathBuf, ctx: &Context) {
        let name = path.file_name().map(|n| n.to_string_lossy().to_lowercase()).unwrap_or_default();
        if name.ends_with(".toml") {
            self.host.read_text(path);
        } else if [".pkl", ".pickle"].iter().any(|e| name.ends_with(e)) {
            self.set_path(FileKind::Vocabulary, &path, ctx);
        } else if [".safetensors", ".pt", ".pth"].iter().any(|e| name.ends_with(e)) {
            self.open_checkpoint(&path, ctx);
        } else if !name.contains('.') || name == "events.jsonl" || Format::of(&name).is_some() {
            self.open_run(path, ctx);
        } else {
            self.set_path(FileKind::Text, &path, ctx);
        }
    }

    /// Opens trained weights in the lab on screen, or in the first one that takes any: a paused run, its
    /// model ready to be asked and to be trained on.
    pub(in crate::ui) fn open_checkpoint(&mut self, path: &Path, ctx: &Context) {
        let takes = |page: &Page| page.file_key(FileKind::Checkpoint).is_some();
        if !self.open.and_then(|id| self.pages.get(id)).is_some_and(takes) {
            let lab = self.lists.labs.iter().find(|l| l.file_key(FileKind::Checkpoint).is_some());
            match lab.map(|l| l.id) {
                Some(id) => self.open_lab(id, ctx),
                None => {
                    let words =
                        format!("{} was not opened: no lab of this build takes trained weights.", path.display());
                    return self.toasts.push(Level::Warning, words);
                }
            }
        }
        if let Some(lab) = self.open
            && self.waits(lab, "open these weights")
        {
            self.waiting = Some(Waiting::Action(Action::OpenPath(path.to_owned())));
            return;
        }
        let now = ctx.input(|i| i.time);
        if let Some(page) = self.open.and_then(|id| self.pages.get_mut(id)) {
            page.forget_tokens(now);
        }
        self.set_path(FileKind::Checkpoint, path, ctx);
        let host = self.host.as_mut();
        if let Some(page) = self.open.and_then(|id| self.pages.get_mut(id)) {
            page.launch(host, ctx);
        }
    }

    /// Gives a picked path to the control beside whose button it was picked; otherwise as a dropped one.
    pub(in crate::ui) fn set_picked(&mut self, kind: FileKind, path: &Path, ctx: &Context) {
        let now = ctx.input(|i| i.time);
        let page = self.open.and_then(|id| self.pages.get_mut(id));
        let beside = page.and_then(|page| {
            let key = page.picking.take()?;
            let fits = page.knobs.iter().any(|k| k.key == key && k.file_kind() == Some(kind));
            fits.then_some((page, key))
        });
        match beside {
            Some((page, key)) if page.file_key(kind) != Some(key) => {
                page.drafts.remove(key);
                page.change(key, Value::Text(path.display().to_string()), now);
            }
            _ if kind == FileKind::Checkpoint => self.open_checkpoint(path, ctx),
            _ => self.set_path(kind, path, ctx),
        }
    }

    /// Gives a path to the open lab's text or tokenizer control.
    pub(in crate::ui) fn set_path(&mut self, kind: FileKind, path: &Path, ctx: &Context) {
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
        match self.open.and_then(|id| self.pages.get_mut(id)) {
            None => {
                self.homeless_file = Some(path.to_owned());
                self.overlay = Some(Overlay::choose_lab(path));
            }
            Some(page) => match page.file_key(kind) {
                Some(key) => {
                    page.drafts.remove(key);
                    page.change(key, Value::Text(path.display().to_string()), now);
                    page.choose_tokens_of(kind, now);
                    // what could not be opened before is tried with the new file
                    let is_tried_again = page.lab.opens_with_run && page.has_failed();
                    if is_tried_again {
                        page.launch(self.host.as_mut(), ctx);
                    }
                    let waits = !is_tried_again && page.run.as_ref().is_some_and(|r| !r.is_untouched());
                    let then = if waits { " It is used after a reset (R)." } else { "" };
                    self.toasts.push(Level::Info, format!("{} is set.{then}", path.display()));
                    self.overlay = None;
                }
                None => {
                    let lab = page.lab.title;
                    self.toasts.push(Level::Warning, format!("The lab {lab} takes no {what}."));
                }
            },
        }
    }
}
