//! The effect of each action. Only here does the window change anything but its appearance.

use std::path::{Path, PathBuf};

use eframe::egui::{self, Context};

use super::{
    action::Action,
    app::App,
    figure::Figure,
    host::{Delivery, DialogKind},
    mirror::Mirror,
    page::{Back, Page},
    panels::{
        Overlay,
        picture::{Destination, Picture},
    },
    run::Run,
    session::{LabSession, Shared, adopt},
    theme::Theme,
    tiling::{Layout, Tiling},
    waiting::Waiting,
};
use crate::{
    analysis::graph_file::Format,
    config::{Config, FileKind, Value},
    labs::{self, lesson::LessonLink},
    telemetry::{Command, Level, RunState},
};

/// The scale of the interface in presenter mode.
const PRESENTER_SCALE: f32 = 1.5;
/// Width of a saved picture, points: words are as large beside the lines whatever its pixels are.
const PICTURE_WIDTH: f32 = 960.0;

impl App {
    pub(super) fn dispatch(&mut self, action: Action, ctx: &Context) {
        match action {
            Action::Home => self.go_home(),
            Action::OpenLab(id) => self.open_lab(id, ctx),
            Action::OpenLesson(link) => self.open_lesson(&link, ctx),
            Action::OpenPreset(lab, preset) => {
                self.open_lab(lab, ctx);
                self.dispatch(Action::Preset(preset.to_owned()), ctx);
            }
            Action::OpenRun(folder) => self.open_run(folder, ctx),
            Action::OpenPath(path) => self.open_path(path, ctx),
            Action::Pick(dialog) => self.host.pick(dialog),
            Action::OpenSheet => self.overlay = Some(Overlay::open_sheet()),
            Action::Palette => self.overlay = Some(Overlay::palette()),
            Action::Help => self.overlay = Some(Overlay::Help),
            Action::Back => self.back(),
            Action::CopySession => self.copy_session(ctx),
            Action::PasteSession => ctx.send_viewport_cmd(egui::ViewportCommand::RequestPaste),
            Action::CopyText(text) => ctx.copy_text(text),
            Action::Dismiss(id) => self.toasts.dismiss(id),
            Action::Toast(text) => self.toasts.push(Level::Info, text),
            Action::PictureSheet(sheet) => self.overlay = Some(Overlay::Picture(sheet)),
            Action::SavePicture(sheet) => {
                self.overlay = None;
                self.pictures.order(sheet, ctx);
            }
            Action::Record(rect, name) => self.pictures.ask(rect, name, ctx),
            Action::Save(name, bytes) => self.save(name, bytes),
            Action::SaveInExports(name, bytes) => {
                let path = self.host.export_folder().join(name);
                self.host.write(path, bytes);
            }
            Action::StopAndGoOn => self.stop_and_go_on(ctx),
            Action::Presenter
            | Action::ToggleTheme
            | Action::Zoom(_)
            | Action::ToggleStill
            | Action::FoldControls
            | Action::FoldInspector
            | Action::FrameTimes => self.change_looks(&action, ctx),
            other => self.dispatch_on_page(other, ctx),
        }
    }

    fn change_looks(&mut self, action: &Action, ctx: &Context) {
        match action {
            Action::Presenter => {
                self.presenter = !self.presenter;
                let factor = if self.presenter { PRESENTER_SCALE } else { 1.0 / PRESENTER_SCALE };
                ctx.set_zoom_factor((ctx.zoom_factor() * factor).clamp(0.5, 4.0));
            }
            Action::ToggleTheme => self.set_theme(!self.session.dark, ctx),
            Action::Zoom(factor) => ctx.set_zoom_factor(factor.clamp(0.5, 3.0)),
            Action::ToggleStill => {
                self.session.still = !self.session.still;
                self.set_theme(self.session.dark, ctx);
            }
            Action::FoldControls => self.session.controls_open = !self.session.controls_open,
            Action::FoldInspector => self.session.fold_inspector(ctx.content_rect().width()),
            Action::FrameTimes => self.toggle_frames(),
            _ => {}
        }
        self.session.zoom = ctx.zoom_factor() / if self.presenter { PRESENTER_SCALE } else { 1.0 };
    }

    fn dispatch_on_page(&mut self, action: Action, ctx: &Context) {
        if self.action_waits(&action) {
            return;
        }
        let now = ctx.input(|i| i.time);
        let Some(page) = self.open.and_then(|id| self.pages.get_mut(id)) else { return };
        let action = match action {
            Action::Space if page.space_plays() => Action::Play,
            Action::Space => Action::RunPause,
            other => other,
        };
        let host = self.host.as_mut();
        let mut outcome = Ok(());
        if matches!(action, Action::RunPause | Action::StepOnce) {
            self.milestones.run_asked();
        }
        match action {
            Action::Play => outcome = page.play_or_pause(now),
            Action::PlaySpeed(seconds) => page.play.seconds = seconds,
            Action::PlayLoops(loops) => page.play.loops = loops,
            Action::RunPause => outcome = page.run_or_pause(host, ctx),
            Action::StepOnce => outcome = page.step_once(host, ctx),
            Action::Reset => page.launch(host, ctx),
            Action::Follow => page.follow(),
            Action::Scrub(step) => page.scrub_to(step),
            Action::LessonStep(i) => outcome = page.take_step(i, host, ctx),
            Action::Pace(pace) => {
                page.pace = pace;
                outcome = page.tell(Command::Pace(pace));
            }
            Action::Checkpoint => outcome = page.tell(Command::Checkpoint),
            Action::Change(key, value) => page.change(&key, value, now),
            Action::Refused(key, words) => {
                page.refused.insert(key, words);
            }
            Action::Seed(seed) => page.set_seed(seed, now),
            Action::Preset(id) => match page.lab.config(Some(&id)) {
                Ok(config) => {
                    page.take_config(config, now);
                    page.launch(host, ctx);
                }
                Err(e) => outcome = Err(e.to_string()),
            },
            Action::Restore(key) => {
                if let Some(value) = page.preset_value(&key).cloned() {
                    page.drafts.remove(&key);
                    page.change(&key, value, now);
                }
            }
            Action::Undo | Action::UndoSettings | Action::Redo => {
                let (back, nothing) = match action {
                    Action::Undo => (Back::Undo, "There is nothing to undo."),
                    Action::Redo => (Back::Redo, "There is nothing to redo."),
                    _ => (Back::UndoSettings, "There is no setting to undo."),
                };
                let words = page.step_back(back, now).unwrap_or_else(|| nothing.to_owned());
                self.toasts.push(Level::Info, words);
            }
            Action::Focus(variant) => page.selection.variant = variant,
            Action::SelectTile(number) => page.tiling.select(number),
            Action::Export(tile, format) => page.export(tile, format),
            Action::Maximise => page.tiling.toggle_maximised(),
            Action::ShowView(id) => page.tiling.show(id),
            Action::ResetLayout => {
                page.tiling.replace(Tiling::new(page.lab.id, page.lab.panes).tree);
                page.tiling.forget_numbers();
            }
            Action::FindControl(key) => {
                page.sought = Some(key);
                page.filter.clear();
                self.session.controls_open = true;
            }
            _ => {}
        }
        if let Err(words) = outcome {
            self.toasts.push(Level::Warning, words);
        }
    }

    // ---- pages ----

    fn go_home(&mut self) {
        self.open = None;
        self.host.list_runs();
    }

    /// Escape: out of the innermost thing.
    fn back(&mut self) {
        if self.overlay.take().is_some() {
            self.waiting = None;
            return;
        }
        let presenting = self.presenter;
        match self.page_mut() {
            Some(page) if page.tiling.maximised.is_some() => page.tiling.maximised = None,
            Some(page) if page.tiling.selected.is_some() && !presenting => page.tiling.selected = None,
            Some(_) => self.go_home(),
            None => {}
        }
    }

    pub(super) fn open_lab(&mut self, id: &'static str, ctx: &Context) {
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
    pub(super) fn open_config(&mut self, config: Config, ctx: &Context) {
        self.open_settings(config, None, ctx);
    }

    /// Opens the config's lab with it, and with a layout where one came along. False: not yet, or not at all.
    pub(super) fn open_settings(&mut self, config: Config, layout: Option<Layout>, ctx: &Context) -> bool {
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

    /// Begins to open a run folder; its page opens once it is known of which lab it is.
    pub(super) fn open_run(&mut self, folder: PathBuf, ctx: &Context) {
        let handle = self.host.open_run(folder.clone());
        self.opening.push(Run::new(handle, Mirror::default(), Some(folder), ctx));
        self.overlay = None;
    }

    pub(super) fn pump_opening(&mut self, _ctx: &Context) {
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
    pub(super) fn show_replay(&mut self, run: Run) {
        let id = run.mirror.info.as_ref().map(|i| i.lab.clone()).unwrap_or_default();
        let Some(lab) = self.lists.lab(&id) else { return };
        let page = self.pages.entry(lab.id).or_insert_with(|| Page::restore(lab, &LabSession::default()).0);
        page.replay(run);
        self.open = Some(lab.id);
    }

    /// Opens what a person dropped, picked or typed, by its name.
    pub(super) fn open_path(&mut self, path: PathBuf, ctx: &Context) {
        if let Some(link) = path.to_str().and_then(LessonLink::parse) {
            return self.open_link(link, ctx);
        }
        let name = path.file_name().map(|n| n.to_string_lossy().to_lowercase()).unwrap_or_default();
        if name.ends_with(".toml") {
            self.host.read_text(path);
        } else if name.ends_with(".json") {
            self.set_path(FileKind::Tokenizer, &path, ctx);
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
    pub(super) fn open_checkpoint(&mut self, path: &Path, ctx: &Context) {
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
        self.set_path(FileKind::Checkpoint, path, ctx);
        let host = self.host.as_mut();
        if let Some(page) = self.open.and_then(|id| self.pages.get_mut(id)) {
            page.launch(host, ctx);
        }
    }

    /// Gives a picked path to the control beside whose button it was picked; otherwise as a dropped one.
    fn set_picked(&mut self, kind: FileKind, path: &Path, ctx: &Context) {
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
    pub(super) fn set_path(&mut self, kind: FileKind, path: &Path, ctx: &Context) {
        let now = ctx.input(|i| i.time);
        let what = match kind {
            FileKind::Tokenizer => "tokenizer file",
            FileKind::Checkpoint => "checkpoint",
            FileKind::Text => "text file of your own",
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
                    let waits = page.run.as_ref().is_some_and(|r| !r.is_untouched());
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

    // ---- what the host brings ----

    pub(super) fn take_deliveries(&mut self, ctx: &Context) {
        for delivery in self.host.deliveries() {
            match delivery {
                Delivery::Picked { dialog: DialogKind::SaveAs { suggested }, path } => {
                    self.save_dialog_ended(&suggested, path)
                }
                Delivery::Picked { dialog, path: Some(path) } => match dialog {
                    DialogKind::OpenText => self.set_picked(FileKind::Text, &path, ctx),
                    DialogKind::OpenTokenizer => self.set_picked(FileKind::Tokenizer, &path, ctx),
                    DialogKind::OpenCheckpoint => self.set_picked(FileKind::Checkpoint, &path, ctx),
                    DialogKind::OpenConfig => self.host.read_text(path),
                    DialogKind::OpenRun | DialogKind::OpenGraph => self.open_run(path, ctx),
                    DialogKind::SaveAs { .. } => {}
                },
                Delivery::Picked { path: None, .. } => self.toasts.push(
                    Level::Info,
                    "Nothing was chosen. If no dialog appeared, type the path: Ctrl O, or the field beside Browse."
                        .into(),
                ),
                Delivery::Text { path, content } => self.open_config_text(&path, &content, ctx),
                Delivery::Saved { path } => {
                    if !self.recorded.remove(&path) {
                        self.toasts.push(Level::Info, format!("Saved {}", path.display()));
                    }
                }
                Delivery::Runs(runs) => self.past_runs.set(runs),
                Delivery::Failed { what } => self.toasts.push(Level::Error, what),
            }
        }
    }

    fn open_config_text(&mut self, path: &Path, content: &str, ctx: &Context) {
        let lab = Config::lab_of(content).and_then(|id| labs::known(self.lists.labs, &id));
        let read = lab.and_then(|lab| Config::from_toml(content, lab.id, &(lab.knobs)()));
        match read {
            Ok(config) => self.open_config(config, ctx),
            Err(e) => self.toasts.push(Level::Error, format!("{} was not opened: {e}", path.display())),
        }
    }

    /// Draws the pictures that were ordered as soon as there is what paints them; drawings in lines need nothing.
    pub(super) fn draw_pictures(&mut self, ctx: &Context) {
        for sheet in self.pictures.take_ready() {
            let Some(page) = self.open.and_then(|id| self.pages.get_mut(id)) else { continue };
            let nothing = Mirror::default();
            let (step, mut selection) = (page.shown_step(), page.selection.clone());
            let [width, height] = sheet.size.map(|side| side as f32);
            let scale = width / PICTURE_WIDTH;
            let theme = Theme::of(sheet.dark);
            let figure = Figure {
                view: sheet.view,
                mirror: page.run.as_ref().map_or(&nothing, |r| &r.mirror),
                step,
                config: &page.config,
                knobs: &page.knobs,
                theme: &theme,
                size: [width / scale, height / scale],
                pixels_per_point: scale,
            };
            let Some(view) = page.tiling.views.get_mut(&sheet.tile) else { continue };
            if !sheet.is_svg {
                self.pictures.paint(&sheet, ctx, |target| figure.lay_out(view.as_mut(), &mut selection, target));
            } else if let Some(text) = figure.svg_of(view.as_mut(), &mut selection) {
                self.save(sheet.file(), text.into_bytes());
            }
        }
    }

    /// A tile's picture is ready.
    pub(super) fn take_picture(&mut self, picture: Picture) {
        match picture.destination {
            Destination::Dialog => self.save(picture.name, picture.png),
            Destination::Recorded => {
                let path = self.host.export_folder().join(picture.name);
                self.recorded.insert(path.clone());
                self.host.write(path, picture.png);
            }
        }
    }

    pub(super) fn save(&mut self, name: String, bytes: Vec<u8>) {
        self.saving.insert(name.clone(), bytes);
        self.host.pick(DialogKind::SaveAs { suggested: name });
    }

    fn save_dialog_ended(&mut self, suggested: &str, path: Option<PathBuf>) {
        let Some(bytes) = self.saving.remove(suggested) else { return };
        match path {
            Some(path) => self.host.write(path, bytes),
            None => {
                let folder = self.host.export_folder();
                self.toasts.push_with(
                    Level::Info,
                    format!("{suggested} was not saved: no place was chosen."),
                    (format!("Save into {}", folder.display()), Action::SaveInExports(suggested.to_owned(), bytes)),
                );
            }
        }
    }

    // ---- sessions ----

    fn copy_session(&mut self, ctx: &Context) {
        let Some(page) = self.page() else {
            self.toasts
                .push(Level::Info, "Open a lab first: a session is the settings, seed and layout of one.".into());
            return;
        };
        match page.shared().to_text() {
            Ok(text) => {
                ctx.copy_text(text);
                self.toasts.push(
                    Level::Info,
                    "Copied: settings, seed and layout. Paste with Ctrl V, here or elsewhere.".into(),
                );
            }
            Err(words) => self.toasts.push(Level::Error, words),
        }
    }

    pub(super) fn paste_session(&mut self, text: &str, ctx: &Context) {
        if let Some(link) = LessonLink::parse(text) {
            return self.open_link(link, ctx);
        }
        let shared = match Shared::from_text(text) {
            Ok(shared) => shared,
            Err(words) => return self.toasts.push(Level::Error, words),
        };
        let Some(lab) = self.lists.lab(&shared.config.lab) else {
            return self.toasts.push(Level::Error, format!("This build has no lab `{}`.", shared.config.lab));
        };
        let (config, complaints) = adopt(lab, &(lab.knobs)(), &shared.config);
        let is_open = self.open_settings(config, shared.layout, ctx);
        for words in complaints {
            self.toasts.push(Level::Warning, words);
        }
        if !is_open {
            return;
        }
        self.toasts.push(Level::Info, "The pasted session is open. Space runs it.".into());
    }
}
