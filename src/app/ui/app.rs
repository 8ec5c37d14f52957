//! The application: holds the pages, performs actions, draws the panels in order.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::{Arc, atomic::Ordering},
    time::Instant,
};

use eframe::{
    egui::{self, Context, Ui},
    egui_wgpu,
};

use super::{
    NAME,
    action::Action,
    close_request::CloseRequest,
    frames::{FrameStats, FrameTimes, Milestones, Patience},
    host::Host,
    keys,
    lists::Lists,
    page::Page,
    panels::{self, Overlay, Shell, home::PastRuns, runs::RunsPage, sweep::SweepPage, toasts::Toasts},
    run::{Run, patience_id},
    session::Session,
    theme::{self, Theme},
    waiting::Waiting,
};
use crate::{
    config::Config,
    gpu::{self, png},
    labs::{
        lesson::{Lesson, LessonLink},
        permalink::Permalink,
    },
    telemetry::Level,
};

/// What to open with; without it the last session is restored.
#[derive(Debug, Clone)]
pub enum Opening {
    /// A lab, by id.
    Lab(String),
    /// A lab at a step of its lesson.
    Lesson(LessonLink),
    /// A page by its link.
    Page(Box<Permalink>),
    /// Settings; their lab opens.
    Config(Config),
    /// A text file, or anything else that could be dropped on the window.
    Text(PathBuf),
    /// A run folder to replay.
    Run(PathBuf),
    /// The folder of a sweep.
    Sweep(PathBuf),
}

/// What to open with, and how.
#[derive(Debug, Clone)]
pub struct Start {
    pub opening: Option<Opening>,
    /// Say on standard error when the first frame and the first training step came, and at the end
    /// how long frames took.
    pub timings: bool,
    /// When the process began.
    pub started: Instant,
    /// Through which others may ask the window to close.
    pub close_request: Arc<CloseRequest>,
}

impl Default for Start {
    fn default() -> Self {
        Self { opening: None, timings: false, started: Instant::now(), close_request: Arc::default() }
    }
}

/// The application.
pub struct App {
    pub(super) host: Box<dyn Host>,
    pub(super) lists: Lists,
    pub(super) session: Session,
    pub(super) theme: Theme,
    /// Labs that have been opened, with their runs.
    pub(super) pages: BTreeMap<&'static str, Page>,
    /// The lab in front; none: home.
    pub(super) open: Option<&'static str>,
    /// Run folders being opened, until they say which lab they are of.
    pub(super) opening: Vec<Run>,
    /// A run folder that is being opened because a link leads to it.
    pub(super) sought: Option<(PathBuf, Permalink)>,
    /// What is done once a person has agreed that a training ends.
    pub(super) waiting: Option<Waiting>,
    /// A person has agreed.
    pub(super) has_agreed: bool,
    pub(super) past_runs: PastRuns,
    pub(super) runs: RunsPage,
    pub(super) sweep: SweepPage,
    pub(super) overlay: Option<Overlay>,
    /// Whether an overlay was open in the previous frame.
    covered: bool,
    pub(super) toasts: Toasts,
    pub(super) presenter: bool,
    /// For presenter mode: the last key and when.
    last_key: Option<(String, f64)>,
    frames: FrameTimes,
    frames_shown: bool,
    pub(super) milestones: Milestones,
    devices: Vec<(String, String, bool)>,
    /// Files to be saved, by suggested name, until the dialog says where.
    pub(super) saving: BTreeMap<String, Vec<u8>>,
    /// A dropped text file waiting for a lab to be chosen.
    pub(super) homeless_file: Option<PathBuf>,
    pub(super) pictures: panels::picture::Pictures,
    /// Files of a recording that are being written; no message announces them.
    pub(super) recorded: BTreeSet<PathBuf>,
    /// A matrix of transition probabilities that is being written, to be opened as a generator.
    pub(super) transitions: Option<PathBuf>,
    dragged_over: bool,
    /// A text field had the focus at the end of the last frame.
    was_typing: bool,
    close_request: Arc<CloseRequest>,
}

impl App {
    pub fn new(cc: &eframe::CreationContext<'_>, host: Box<dyn Host>, start: Start) -> Self {
        Self::with_lists(cc, host, start, Lists::default())
    }

    /// As [`App::new`], with other labs and views.
    pub fn with_lists(cc: &eframe::CreationContext<'_>, mut host: Box<dyn Host>, start: Start, lists: Lists) -> Self {
        let ctx = &cc.egui_ctx;
        if let Some(graphics) = &cc.wgpu_render_state {
            gpu::install(ctx, graphics);
        }
        let session = cc.storage.map(Session::load).unwrap_or_default();
        let theme = Theme::of(session.dark);
        theme::apply(&theme, session.still, ctx);
        ctx.set_zoom_factor(session.zoom.clamp(0.5, 3.0));
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
            sought: None,
            waiting: None,
            has_agreed: false,
            past_runs: PastRuns::default(),
            runs: RunsPage::default(),
            sweep: SweepPage::default(),
            overlay: None,
            covered: false,
            toasts: Toasts::default(),
            presenter: false,
            last_key: None,
            frames: FrameTimes::default(),
            frames_shown: false,
            milestones: Milestones::new(start.started, start.timings),
            devices,
            saving: BTreeMap::new(),
            homeless_file: None,
            pictures: panels::picture::Pictures::default(),
            recorded: BTreeSet::new(),
            transitions: None,
            dragged_over: false,
            was_typing: false,
            close_request: Arc::clone(&start.close_request),
        };
        for lab in app.lists.labs {
            if let Err(e) = Lesson::parse(lab.id, lab.lesson) {
                app.toasts.push(Level::Error, e.to_string());
            }
        }
        app.open_at_start(start, ctx);
        app
    }

    fn open_at_start(&mut self, start: Start, ctx: &Context) {
        let opening = start.opening.or_else(|| self.session.lab.clone().map(Opening::Lab));
        match opening {
            None => {}
            Some(Opening::Lab(id)) => match self.lists.lab(&id) {
                Some(lab) => self.open_lab(lab.id, ctx),
                None => self.toasts.push(Level::Error, format!("There is no lab `{id}`. The labs are on this page.")),
            },
            Some(Opening::Lesson(link)) => self.open_lesson(&link, ctx),
            Some(Opening::Page(link)) => self.open_page(*link, ctx),
            Some(Opening::Config(config)) => self.open_config(config, ctx),
            Some(Opening::Run(folder)) => self.open_run(folder, ctx),
            Some(Opening::Sweep(folder)) => self.open_sweep(folder),
            Some(Opening::Text(path)) => {
                if let Some(lab) = self.lists.labs.iter().find(|l| panels::open_sheet::takes_files(l)) {
                    self.open_lab(lab.id, ctx);
                }
                self.open_path(path, ctx);
            }
        }
    }

    /// The page in front.
    pub fn page(&self) -> Option<&Page> {
        self.pages.get(self.open?)
    }

    pub(super) fn page_mut(&mut self) -> Option<&mut Page> {
        self.pages.get_mut(self.open?)
    }

    /// Frame times of the last minute or so.
    pub fn frame_stats(&self) -> FrameStats {
        self.frames.stats()
    }

    pub fn milestones(&self) -> &Milestones {
        &self.milestones
    }

    /// The theme in use.
    pub fn theme(&self) -> &Theme {
        &self.theme
    }

    pub(super) fn set_theme(&mut self, dark: bool, ctx: &Context) {
        self.session.dark = dark;
        self.theme = Theme::of(dark);
        theme::apply(&self.theme, self.session.still, ctx);
    }

    fn listen(&mut self, ctx: &Context) {
        let now = ctx.input(|i| i.time);
        for page in self.pages.values_mut() {
            let news = page.pump();
            if news.stepped {
                self.milestones.step_seen();
            }
            for (level, text) in page.new_notices() {
                self.toasts.push(level, text);
            }
            if let Some(wait) = page.settle(self.host.as_mut(), ctx, now) {
                ctx.request_repaint_after_secs(wait as f32);
            }
        }
        self.play(ctx, now);
        self.pump_opening(ctx);
        self.take_deliveries(ctx);
        self.pictures.begin(ctx);
        self.draw_pictures(ctx);
        for done in self.pictures.take_done() {
            match done {
                Ok(picture) => self.take_picture(picture),
                Err(words) => self.toasts.push(Level::Error, words),
            }
        }
        self.toasts.age(ctx, now);
    }

    /// Moves the page in front on, if it plays, and asks for the frame in which it moves again.
    fn play(&mut self, ctx: &Context, now: f64) {
        let is_held = ctx.input(|i| i.pointer.any_down());
        if let Some(wait) = self.page_mut().and_then(|page| page.advance_play(now, is_held)) {
            ctx.request_repaint_after_secs(wait as f32);
        }
    }

    fn keys(&mut self, ctx: &Context) -> Vec<Action> {
        let pressed = keys::pressed(ctx, self.overlay.is_some(), self.was_typing);
        let now = ctx.input(|i| i.time);
        if let (true, Some(shown)) = (self.presenter, pressed.shown) {
            self.last_key = Some((shown, now));
        }
        if let Some(text) = pressed.pasted {
            self.paste_session(&text, ctx);
        }
        let dropped: Vec<PathBuf> = ctx.input(|i| i.raw.dropped_files.iter().map(|f| f.path().to_owned()).collect());
        self.dragged_over = ctx.input(|i| !i.raw.hovered_files.is_empty());
        let mut actions = pressed.actions;
        actions.extend(dropped.into_iter().map(Action::OpenPath));
        actions
    }

    fn draw(&mut self, ui: &mut Ui, actions: &mut Vec<Action>) {
        let now = ui.input(|i| i.time);
        let mut shell = Shell {
            theme: &self.theme,
            session: &mut self.session,
            lists: self.lists,
            actions,
            devices: &self.devices,
            now,
            presenter: self.presenter,
        };
        let page = self.open.and_then(|id| self.pages.get_mut(id));
        match page {
            None if self.sweep.is_open => panels::sweep::sweep_ui(ui, &mut shell, &mut self.sweep),
            None if self.runs.is_open => panels::runs::runs_ui(ui, &mut shell, &mut self.runs),
            None => panels::home::home_ui(ui, &mut shell, &self.pages, &mut self.past_runs),
            Some(page) => panels::lab_page_ui(ui, &mut shell, page),
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
            if self.presenter && left > 0.0 {
                panels::frame_times::key_ui(ui.ctx(), &self.theme, key);
                ui.ctx().request_repaint_after_secs(left as f32);
            } else {
                self.last_key = None;
            }
        }
    }

    pub(super) fn toggle_frames(&mut self) {
        self.frames_shown = !self.frames_shown;
        self.frames = FrameTimes::default();
    }
}

impl eframe::App for App {
    /// What the pointer rested on lies behind a sheet that opens; egui would keep its tooltip in front of it.
    fn raw_input_hook(&mut self, _: &Context, raw: &mut egui::RawInput) {
        let covered = self.overlay.is_some();
        if covered && !self.covered {
            raw.events.push(egui::Event::PointerGone);
        }
        self.covered = covered;
    }

    fn logic(&mut self, ctx: &Context, frame: &mut eframe::Frame) {
        self.frames.begin(Instant::now(), frame.info().cpu_usage);
        if self.frames.frames == 2 {
            self.milestones.frame_shown();
        }
        let patience = ctx.data_mut(|d| d.get_temp_mut_or_default::<Patience>(patience_id()).clone());
        patience.store(self.frames.patience_ms(), Ordering::Relaxed);
        self.close_request.obey(ctx);
        self.listen(ctx);
    }

    fn ui(&mut self, ui: &mut Ui, _frame: &mut eframe::Frame) {
        let ctx = ui.ctx().clone();
        let mut actions = self.keys(&ctx);
        self.draw(ui, &mut actions);
        self.was_typing = ctx.text_edit_focused();
        // A click is performed after the frame that shows it, and its effect is drawn in the next.
        if !actions.is_empty() {
            ctx.request_repaint();
        }
        for action in actions {
            self.dispatch(action, &ctx);
        }
        let lists = self.lists;
        if let Some(page) = self.page_mut() {
            page.watch(lists, &ctx);
        }
        let training = self.pages.values().any(|p| p.run.as_ref().is_some_and(Run::is_running));
        // While frames are being timed they follow one another without pause: the time between two
        // then says what a frame takes, not when something happened.
        if self.milestones.wants_second_frame() || self.frames_shown || self.milestones.are_told() && training {
            ctx.request_repaint();
        }
    }

    fn clear_color(&self, _visuals: &egui::Visuals) -> [f32; 4] {
        self.theme.page.to_normalized_gamma_f32()
    }

    fn save(&mut self, storage: &mut dyn eframe::Storage) {
        self.session.lab = self.open.map(str::to_owned);
        for (id, page) in &self.pages {
            if page.run.as_ref().is_none_or(|r| r.replayed.is_none()) {
                self.session.labs.insert((*id).to_owned(), page.saved());
            }
        }
        self.session.save(storage);
    }

    fn on_exit(&mut self) {
        self.milestones.finished(self.frames.stats());
    }
}

/// Opens the window and stays until it closes. The error says what is missing and what to do.
pub fn run(host: Box<dyn Host>, start: Start) -> Result<(), String> {
    let mut viewport = egui::ViewportBuilder::default()
        .with_title(NAME)
        .with_app_id("orrery")
        .with_inner_size([1280.0, 800.0])
        .with_min_inner_size([960.0, 600.0])
        .with_drag_and_drop(true);
    if let Some((rgba, [width, height])) = png::decode(include_bytes!("../../../assets/icon.png")) {
        viewport = viewport.with_icon(egui::IconData { rgba, width, height });
    }
    let options = eframe::NativeOptions {
        viewport,
        renderer: eframe::Renderer::Wgpu,
        wgpu_options: egui_wgpu::WgpuConfiguration { wgpu_setup: graphics_setup(), ..Default::default() },
        persist_window: true,
        dithering: false,
        ..Default::default()
    };
    eframe::run_native(NAME, options, Box::new(move |cc| Ok(Box::new(App::new(cc, host, start)))))
        .map_err(|e| format!("the window could not be opened: {e}"))
}

/// Asks every adapter for what it has: egui's own request is so low on OpenGL that compute
/// shaders would be lost, and wgpu then stops the program.
fn graphics_setup() -> egui_wgpu::WgpuSetup {
    let mut setup = egui_wgpu::WgpuSetupCreateNew::without_display_handle();
    setup.device_descriptor = Arc::new(|adapter| egui_wgpu::wgpu::DeviceDescriptor {
        label: Some("orrery"),
        required_limits: adapter.limits(),
        ..Default::default()
    });
    egui_wgpu::WgpuSetup::CreateNew(setup)
}
