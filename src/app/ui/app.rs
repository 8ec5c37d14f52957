//! The application: holds the pages, performs actions, draws the panels in order.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::Arc,
    time::Instant,
};

use eframe::egui::{self, Context, Ui};

mod dispatch;
mod prelude;
mod start;
mod window_size;

pub use start::{Opening, Start, run, run_scripted};

use dispatch::{
    deliveries::take_deliveries,
    file::{MatrixExport, draw_pictures, take_picture},
    message::paste_session,
    open_run::pump_opening,
};
use start::open_at_start;

use super::{
    action::{Action, Actions, OpenAction},
    close_request::CloseRequest,
    focus::FocusInSight,
    frames::{FrameStats, FrameTimes, Milestones, WindowContent},
    history::TrashedRun,
    host::Host,
    keys,
    lists::Lists,
    page::{Page, play, training, undo},
    panels::{
        self, Overlay, Shell, claims::ClaimsPage, home::PastRuns, runs::RunsPage, sweep::SweepPage, toasts::Toasts,
    },
    pointer_events::PointerEvents,
    run::{Run, event_pacing},
    session::{Session, SharedSession},
    system_fonts::MissedCharacters,
    theme::{self, Theme},
    tooltips,
};
use crate::{experiments::permalink::Permalink, gpu, labs::lesson::Lesson, telemetry::Level};

/// The action that follows once the training may end.
pub(super) enum PendingAction {
    Action(Action),
    Settings(Box<SharedSession>),
    Replay(Box<Run>),
    /// A link; if it names files of this machine, the user has agreed to them.
    Page(Box<Permalink>),
}

pub struct App {
    pub(super) host: Box<dyn Host>,
    pub(super) lists: Lists,
    pub(super) session: Session,
    pub(super) theme: Theme,
    /// Labs that have been opened, with their runs.
    pub(super) pages: BTreeMap<&'static str, Page>,
    /// The lab in front; none: home.
    pub(super) open: Option<&'static str>,
    /// Run folders that are being opened and whose lab is not known yet.
    pub(super) opening: Vec<Run>,
    /// A run folder that is being opened because a link leads to it.
    pub(super) linked_run: Option<(PathBuf, Permalink)>,
    /// A run folder that is being opened so that its training continues.
    pub(super) resuming_run: Option<PathBuf>,
    /// The action that follows once the user has agreed that a training ends.
    pub(super) waiting: Option<PendingAction>,
    pub(super) has_stop_consent: bool,
    /// A run folder that is being opened in place of a training which the user has agreed to end.
    pub(super) consented_run: Option<PathBuf>,
    pub(super) past_runs: PastRuns,
    pub(super) runs: RunsPage,
    /// The deleted runs that were not restored, the last one last.
    pub(super) trash: Vec<TrashedRun>,
    pub(super) sweep: SweepPage,
    pub(super) claims: ClaimsPage,
    pub(super) overlay: Option<Overlay>,
    /// An overlay was open in the previous frame.
    covered: bool,
    pub(super) toasts: Toasts,
    /// The last pressed key and its time, shown in presenter mode.
    last_key: Option<(String, f64)>,
    pub(super) frames: FrameTimes,
    pub(super) frames_shown: bool,
    pub(super) milestones: Milestones,
    devices: Vec<(String, String, bool)>,
    /// Files to be saved, by suggested name, until the dialog says where.
    pub(super) saving: BTreeMap<String, Vec<u8>>,
    /// A dropped text file waiting for a lab to be chosen.
    pub(super) file_without_lab: Option<PathBuf>,
    pub(super) pictures: panels::picture::Pictures,
    /// Files of a recording that are being written; no message announces them.
    pub(super) recorded: BTreeSet<PathBuf>,
    /// A matrix of transition probabilities that is being written, to be opened as a generator.
    pub(super) transitions: Option<MatrixExport>,
    dragged_over: bool,
    /// A text field had the focus at the end of the last frame.
    was_typing: bool,
    /// The text typed for a sheet before its field has the focus, and whether the sheet has been drawn, which gives it that.
    typed_ahead: Option<(bool, Vec<egui::Event>)>,
    close_request: Arc<CloseRequest>,
    /// Characters that only fonts of the system may have; `None` once these were asked for.
    missed_characters: Option<MissedCharacters>,
}

impl App {
    pub fn new(cc: &eframe::CreationContext<'_>, host: Box<dyn Host>, start: Start) -> Self {
        Self::with_lists(cc, host, start, Lists::default())
    }

    /// Makes the application like [`App::new`], with other labs and views.
    pub fn with_lists(cc: &eframe::CreationContext<'_>, mut host: Box<dyn Host>, start: Start, lists: Lists) -> Self {
        let ctx = &cc.egui_ctx;
        if let Some(graphics) = &cc.wgpu_render_state {
            gpu::install(ctx, graphics);
        }
        let session = cc.storage.map(Session::load).unwrap_or_default();
        let theme = Theme::new(session.dark);
        theme::apply(&theme, session.still, ctx);
        ctx.add_plugin(PointerEvents::default());
        ctx.add_plugin(FocusInSight::default());
        ctx.set_zoom_factor(session.scale());
        let waker = ctx.clone();
        host.set_wake(Arc::new(move || waker.request_repaint()));
        host.list_runs();
        let devices = host.devices();
        let mut app = Self {
            host,
            lists,
            session,
            theme,
            pages: BTreeMap::new(),
            open: None,
            opening: vec![],
            linked_run: None,
            resuming_run: None,
            waiting: None,
            has_stop_consent: false,
            consented_run: None,
            past_runs: PastRuns::default(),
            runs: RunsPage::default(),
            trash: vec![],
            sweep: SweepPage::default(),
            claims: ClaimsPage::default(),
            overlay: None,
            covered: false,
            toasts: Toasts::default(),
            last_key: None,
            frames: FrameTimes::default(),
            frames_shown: false,
            milestones: Milestones::new(start.started, start.timings),
            devices,
            saving: BTreeMap::new(),
            file_without_lab: None,
            pictures: panels::picture::Pictures::default(),
            recorded: BTreeSet::new(),
            transitions: None,
            dragged_over: false,
            was_typing: false,
            typed_ahead: None,
            close_request: Arc::clone(&start.close_request),
            missed_characters: Some(MissedCharacters::watch(ctx)),
        };
        for lab in app.lists.labs {
            if let Err(e) = Lesson::parse(lab.id, lab.lesson) {
                app.toasts.push(Level::Error, e.to_string());
            }
        }
        open_at_start(&mut app, start.opening, ctx);
        app
    }

    pub fn page(&self) -> Option<&Page> {
        self.pages.get(self.open?)
    }

    pub(super) fn page_mut(&mut self) -> Option<&mut Page> {
        self.pages.get_mut(self.open?)
    }

    /// The page in front, and what launches its runs.
    pub(super) fn page_and_host(&mut self) -> Option<(&mut Page, &mut dyn Host)> {
        Some((self.pages.get_mut(self.open?)?, self.host.as_mut()))
    }

    pub(super) fn warn_on_error(&mut self, outcome: Result<(), String>) {
        if let Err(words) = outcome {
            self.toasts.push(Level::Warning, words);
        }
    }

    /// Frame times of the last minute or so.
    pub fn frame_stats(&self) -> FrameStats {
        self.frames.stats()
    }

    pub fn theme(&self) -> &Theme {
        &self.theme
    }

    /// Handles what runs and the host have delivered. While the window is hidden, playback and messages pause, because
    /// egui's clock stands still then.
    fn listen(&mut self, ctx: &Context, is_hidden: bool) {
        let now = ctx.input(|i| i.time);
        for page in self.pages.values_mut() {
            let news = page.pump();
            if news.stepped && !page.run.as_ref().is_some_and(Run::is_example) {
                self.milestones.step_seen();
            }
            for (level, text) in page.new_notices() {
                self.toasts.push(level, text);
            }
            if let Some(wait) = training::settle(page, self.host.as_mut(), ctx, now) {
                ctx.request_repaint_after_secs(wait as f32);
            }
        }
        let is_held = ctx.input(|i| i.pointer.any_down());
        if !is_hidden && let Some(wait) = self.page_mut().and_then(|page| play::advance_play(page, now, is_held)) {
            ctx.request_repaint_after_secs(wait as f32);
        }
        pump_opening(self);
        if self.may_proceed() {
            dispatch::dispatch(self, OpenAction::StopAndGoOn, ctx);
        }
        take_deliveries(self, ctx);
        self.pictures.begin(ctx);
        draw_pictures(self, ctx);
        for done in self.pictures.take_done() {
            match done {
                Ok(picture) => take_picture(self, picture),
                Err(words) => self.toasts.push(Level::Error, words),
            }
        }
        if !is_hidden {
            self.toasts.age(ctx, now);
        }
    }

    /// Passes keys that were typed before a dialog was drawn to that dialog.
    fn hand_over_typed(&mut self, ctx: &Context) {
        let Some((is_drawn, mut typed)) = self.typed_ahead.take() else { return };
        if is_drawn {
            return ctx.input_mut(|i| drop(i.events.splice(0..0, typed)));
        }
        typed.extend(ctx.input_mut(|i| keys::take_typed(&mut i.events, 0)));
        self.typed_ahead = Some((true, typed));
        ctx.request_repaint();
    }

    fn keys(&mut self, ctx: &Context) -> Actions {
        self.hand_over_typed(ctx);
        let pressed = keys::pressed(ctx, self.overlay.is_some(), self.was_typing);
        if let Some(typed) = pressed.typed_ahead {
            self.typed_ahead = Some((false, typed));
        }
        let now = ctx.input(|i| i.time);
        if let (true, Some(shown)) = (self.session.is_presenting, pressed.shown) {
            self.last_key = Some((shown, now));
        }
        if let Some(text) = pressed.pasted {
            paste_session(self, &text, ctx);
        }
        let dropped: Vec<PathBuf> = ctx.input(|i| i.raw.dropped_files.iter().map(|f| f.path().to_owned()).collect());
        self.dragged_over = ctx.input(|i| !i.raw.hovered_files.is_empty());
        let mut actions = pressed.actions;
        dropped.into_iter().for_each(|path| actions.push(OpenAction::Path(path)));
        actions
    }

    fn draw(&mut self, ui: &mut Ui, actions: &mut Actions) {
        let now = ui.input(|i| i.time);
        let mut shell = Shell {
            theme: &self.theme,
            session: &mut self.session,
            lists: self.lists,
            actions,
            devices: &self.devices,
            trash: &self.trash,
            now,
        };
        let page = self.open.and_then(|id| self.pages.get_mut(id));
        match page {
            None if self.sweep.is_open => panels::sweep::sweep_ui(ui, &mut shell, &mut self.sweep),
            None if self.claims.is_open => panels::claims::claims_ui(ui, &mut shell, &mut self.claims),
            None if self.runs.is_open => panels::runs::runs_ui(ui, &mut shell, &mut self.runs),
            None => panels::home::home_ui(ui, &mut shell, &self.pages, &mut self.past_runs),
            Some(page) => {
                let interrupted = self.past_runs.interrupted(page.lab.id, shell.session);
                panels::lab_page_ui(ui, &mut shell, page, interrupted);
            }
        }
        if let Some(Overlay::StopFirst(sheet)) = &mut self.overlay {
            // the training continues behind the sheet
            sheet.step = self.pages.get(sheet.id).map_or(sheet.step, Page::newest);
        }
        if let Some(overlay) = &mut self.overlay {
            let page = self.open.and_then(|id| self.pages.get(id));
            overlay.ui(ui.ctx(), &mut shell, page);
        }
        self.toasts.ui(ui.ctx(), &mut shell);
        if self.dragged_over {
            panels::open_sheet::drop_hint_ui(ui.ctx(), &self.theme, self.open.is_some());
        }
        if self.frames_shown {
            panels::frame_times::frame_times_ui(ui.ctx(), &self.theme, self.frames.stats());
        }
        if let Some((key, when)) = &self.last_key {
            let left = 1.2 - (now - when);
            if shell.session.is_presenting && left > 0.0 {
                panels::frame_times::key_ui(ui.ctx(), &self.theme, key);
                ui.ctx().request_repaint_after_secs(left as f32);
            } else {
                self.last_key = None;
            }
        }
        if self.missed_characters.take_if(|missed| missed.any()).is_some() {
            self.host.read_fonts();
        }
    }
}

impl eframe::App for App {
    /// A sheet that opens covers the widget under the pointer; egui would keep its tooltip in front of the sheet.
    fn raw_input_hook(&mut self, _: &Context, raw: &mut egui::RawInput) {
        let covered = self.overlay.is_some();
        if covered && !self.covered {
            raw.events.push(egui::Event::PointerGone);
        }
        self.covered = covered;
    }

    fn logic(&mut self, ctx: &Context, frame: &mut eframe::Frame) {
        let now = Instant::now();
        let is_hidden = ctx.input(|i| i.viewport().visible()) == Some(false);
        event_pacing(ctx).frame_begins(now, is_hidden, gpu::canvas::changed_share(ctx));
        if !is_hidden {
            self.frames.begin(now, frame.info().cpu_usage);
        }
        if self.frames.frames == 2 {
            self.milestones.frame_shown();
        }
        // The theme changes between two frames, so that a frame and the background behind it have one theme.
        if self.theme.dark != self.session.dark {
            self.theme = Theme::new(self.session.dark);
            theme::apply(&self.theme, self.session.still, ctx);
        }
        self.close_request.close_if_asked(ctx);
        window_size::fit_to_monitor(ctx);
        self.listen(ctx, is_hidden);
    }

    fn ui(&mut self, ui: &mut Ui, _frame: &mut eframe::Frame) {
        let ctx = ui.ctx().clone();
        // `ui` was made before `logic`, which may have changed the theme
        ui.reset_style();
        self.session.record_scale(ctx.zoom_factor());
        tooltips::suppress_while_held(&ctx);
        let mut actions = self.keys(&ctx);
        self.draw(ui, &mut actions);
        tooltips::clear(&ctx);
        self.was_typing = ctx.text_edit_focused();
        // A click is performed after the frame that shows it, and its effect is drawn in the next.
        let (questions, others) = actions.split();
        if !others.is_empty() {
            ctx.request_repaint();
        }
        for action in questions.into_iter().chain(others) {
            dispatch::dispatch(self, action, &ctx);
        }
        let lists = self.lists;
        if let Some(page) = self.page_mut() {
            undo::watch(page, lists, &ctx);
        }
        self.frames.frame_shows(WindowContent {
            lab: self.open,
            runs: self.runs.stages(),
            is_sweep_open: self.sweep.is_open,
            is_claims_open: self.claims.is_open,
            size: ctx.content_rect().size(),
        });
        let training = self.pages.values().any(|p| p.run.as_ref().is_some_and(Run::is_running));
        // While frames are being timed they follow one another without pause: the time between two
        // then says what a frame takes, not when something happened.
        if self.milestones.wants_second_frame() || self.frames_shown || self.milestones.is_printed && training {
            ctx.request_repaint();
        }
    }

    fn clear_color(&self, _visuals: &egui::Visuals) -> [f32; 4] {
        self.theme.page.to_normalized_gamma_f32()
    }

    fn save(&mut self, storage: &mut dyn eframe::Storage) {
        self.session.lab = self.open.map(str::to_owned);
        for (id, page) in &self.pages {
            // a replay has the settings of its record, which are not the user's; an example keeps the user's
            if page.run.as_ref().is_none_or(|r| r.replayed_folder().is_none()) {
                self.session.labs.insert((*id).to_owned(), page.to_session());
            }
        }
        self.session.save(storage);
    }

    fn on_exit(&mut self) {
        self.milestones.finished(self.frames.stats());
    }
}
