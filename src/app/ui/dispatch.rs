//! The effect of each action. Only here does the window change anything but its appearance.

mod deliveries;
mod opening;

use eframe::egui::{self, Context};

use super::{
    action::Action,
    app::App,
    page::Back,
    panels::Overlay,
    session::{Shared, adopt},
    sweep_draft::SweepDraftState,
    tiling::Tiling,
};
use crate::telemetry::{Command, Level};

/// The scale of the interface in presenter mode.
const PRESENTER_SCALE: f32 = 1.5;

impl App {
    pub(super) fn dispatch(&mut self, action: Action, ctx: &Context) {
        match action {
            Action::Home => self.go_home(),
            Action::Runs => self.open_runs(),
            Action::Note(run, note) => {
                self.runs.noted(&run, &note);
                self.host.write_note(run, note);
            }
            Action::CompareRuns(runs) => self.host.compare_runs(runs),
            Action::ReplayRuns(runs) => self.host.replay_runs(runs),
            Action::MakeSweep(file, is_begun) => self.host.make_sweep(*file, is_begun),
            Action::OpenSweep(folder) => self.open_sweep(folder),
            Action::ReadSweep(folder) => self.host.read_sweep(folder),
            Action::CompleteSweep(folder) => self.host.complete_sweep(folder),
            Action::StopSweep(folder) => self.host.stop_sweep(folder),
            Action::Discard(run) => self.host.discard_run(run),
            Action::TakeBack(place) => self.host.restore_run(place),
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
            Action::CopyLink => self.copy_link(ctx),
            Action::OpenLink(text) => {
                if let Some(link) = self.link_of(&text) {
                    self.open_link(link, ctx);
                }
            }
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
            Action::OpenTransitions(name, bytes) => {
                let path = self.host.export_folder().join(name);
                self.transitions = Some(path.clone());
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
        if matches!(action, Action::RunPause | Action::TrainOn | Action::StepOnce | Action::RunTo(_)) {
            self.milestones.run_asked();
        }
        match action {
            Action::Play => outcome = page.play_or_pause(now),
            Action::PlaySpeed(seconds) => page.play.seconds = seconds,
            Action::PlayLoops(loops) => page.play.loops = loops,
            Action::RunPause => outcome = page.run_or_pause(host, ctx),
            Action::TrainOn => outcome = page.train_on(host, ctx),
            Action::StepOnce => outcome = page.train(Command::StepOnce, host, ctx),
            Action::RunTo(step) => outcome = page.train(Command::RunTo(step), host, ctx),
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
            Action::DraftSweep => {
                page.sweep = match page.sweep {
                    Some(_) => None,
                    None => Some(SweepDraftState::new(page.lab, &page.config)),
                };
                self.session.controls_open = true;
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
        if let Some(link) = self.link_of(text) {
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
