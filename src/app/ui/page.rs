//! The page of a lab holds its settings, its run, its tiles and the step shown. Panels draw it; the modules below
//! change it.

pub mod controls;
pub mod example;
pub(super) mod left_run;
pub mod lesson;
pub(super) mod link;
pub mod play;
mod prelude;
pub mod recorded_views;
pub(super) mod training;
pub mod undo;

pub use controls::ControlsState;
pub use play::Playback;
pub use undo::{ShownRun, Snapshot, UndoKind};

use eframe::egui::Vec2;

use self::{
    controls::by_label,
    play::follow,
    prelude::*,
    recorded_views::RecordedViews,
    training::{
        MemoryConsent, SettingsOwner, adopt_discovered_settings, give_up_late_changes, memory_consent,
        show_config_error, take_changes, take_recorded,
    },
    undo::{note_config, note_everything},
};
use super::{
    action::ExportFormat,
    history::History,
    large_numbers::LargeNumbers,
    lesson::LessonState,
    questions::{Key, Questions},
    run::{EXAMPLE_CANNOT_BE_ASKED, PumpResult},
    session::{LabSession, SharedSession, adopt},
    sweep_draft::SweepDraftState,
};
use crate::{config::file_key, labs::restrictions::Restrictions, telemetry::Level};

/// An open lab.
pub struct Page {
    pub lab: &'static Lab,
    pub knobs: Vec<Knob>,
    /// The settings that the controls are compared with.
    pub preset: Config,
    /// The settings that the controls show.
    pub config: Config,
    /// The settings that the current run was made from, with the live changes sent to it.
    launched: Option<Config>,
    /// The controls are those of a run other than the current one, since every setting was replaced at once (a
    /// preset, a lesson, a link): then no control reaches the run.
    is_detached: bool,
    pub run: Option<Run>,
    pub history: History<Snapshot>,
    pub tiling: Tiling,
    pub lesson: LessonState,
    /// The state that the history saw in the last frame.
    seen: undo::LastFrame,
    /// Tiles to be saved when they are next drawn.
    pub exports: Vec<(TileId, ExportFormat)>,
    pub selection: Selection,
    pub large_numbers: LargeNumbers,
    /// The shown step; `None` follows the run.
    pub scrub: Option<u64>,
    pub play: Playback,
    /// Steps a second; 0: as fast as it goes.
    pub pace: f64,
    pub questions: Questions,
    /// The questions of each tile's view.
    pub asked: HashMap<TileId, Vec<Key>>,
    /// The reason why a tile shows the answer to a question other than that of its controls; tiles that do not are
    /// absent.
    pub notes: HashMap<TileId, String>,
    /// The reason why a control refused its last input, by key.
    pub refused: BTreeMap<String, String>,
    /// The reason why no run could be started with the settings.
    pub problem: Option<String>,
    /// Settings whose run was refused because it would need too much memory; requesting them again overrides the refusal.
    refused_memory: Option<Config>,
    /// Text fields being typed in, by key.
    pub drafts: BTreeMap<String, String>,
    /// The restrictions of the link that the page was opened with.
    pub restrictions: Restrictions,
    pub controls: ControlsState,
    /// Search over the controls.
    pub filter: String,
    /// A control to scroll to and light up.
    pub scroll_to: Option<&'static str>,
    /// The draft of a sweep over these settings, while the user edits it.
    pub sweep: Option<SweepDraftState>,
    /// How many claims of the ledger the lab can decide, once they have been read.
    pub claims: Option<usize>,
    /// The control that a file is being picked for.
    pub picking: Option<&'static str>,
    /// The run that an undone step brings back, until the window opens it.
    wanted: Option<ShownRun>,
    /// The folder of the run that an undone step brought back.
    reopened: Option<PathBuf>,
    /// The folder of such a run that another run has replaced: if it is still being opened, it is no longer shown.
    superseded: Option<PathBuf>,
    dirty_since: Option<f64>,
    shown_notices: usize,
    /// Settings of a replayed run that this version lacks.
    complaints: Vec<String>,
    /// The views that were opened because a run that another program has written has something for them.
    recorded_views: RecordedViews,
}

impl Page {
    pub fn new(lab: &'static Lab, config: Config) -> Self {
        let knobs = (lab.knobs)();
        let preset = preset_of(lab, &knobs, &config);
        let mut tiling = Tiling::new(lab.id, lab.panes);
        if let Some(view) = lab.front_view(&config.preset) {
            tiling.bring_forward(view);
        }
        Self {
            tiling,
            lab,
            knobs,
            preset,
            config,
            launched: None,
            is_detached: false,
            run: None,
            history: History::default(),
            seen: undo::LastFrame::default(),
            lesson: LessonState::new(lab),
            exports: vec![],
            selection: Selection::default(),
            large_numbers: LargeNumbers::default(),
            scrub: None,
            play: Playback::default(),
            pace: 0.0,
            questions: Questions::default(),
            asked: HashMap::new(),
            notes: HashMap::new(),
            refused: BTreeMap::new(),
            problem: None,
            refused_memory: None,
            drafts: BTreeMap::new(),
            restrictions: Restrictions::default(),
            controls: ControlsState::new(lab),
            filter: String::new(),
            scroll_to: None,
            sweep: None,
            claims: None,
            picking: None,
            wanted: None,
            reopened: None,
            superseded: None,
            dirty_since: None,
            shown_notices: 0,
            complaints: vec![],
            recorded_views: RecordedViews::default(),
        }
    }

    /// The page as it was left; the second value names settings that no longer fit.
    pub fn restore(lab: &'static Lab, saved: &LabSession) -> (Self, Vec<String>) {
        let knobs = (lab.knobs)();
        let (config, complaints) = match saved.config.as_ref().filter(|_| lab.makes_runs()) {
            Some(c) => adopt(lab, &knobs, c),
            None => (lab.opening_config().unwrap_or_else(|_| Config::defaults(lab.id, &knobs)), vec![]),
        };
        let mut page = Self::new(lab, config);
        page.restrictions.clone_from(&saved.restrictions);
        // without its settings a step would judge another run
        if saved.config.is_some() && lab.makes_runs() {
            lesson::resume(&mut page, &saved.lesson);
        }
        if let Some(layout) = &saved.layout {
            page.tiling.replace(layout.clone());
        }
        (page, complaints)
    }

    /// Arranges the lab's tiles for an area of this size, points, and for the current step of the lesson
    /// ([`Tiling::fit`]), which is not a step to undo.
    pub fn fit_tiles(&mut self, room: Vec2) {
        self.tiling.step_view = self.lesson.step().and_then(|step| step.does.view.clone());
        if self.tiling.fit(self.lab.id, room) {
            undo::remember(self);
        }
    }

    pub fn to_session(&self) -> LabSession {
        let (config, layout) = (Some(self.config.clone()), Some(self.tiling.tree.clone()));
        LabSession { config, layout, restrictions: self.restrictions.clone(), lesson: self.lesson.progress() }
    }

    pub fn shared(&self) -> SharedSession {
        let (config, layout) = (self.config.clone(), Some(self.tiling.tree.clone()));
        SharedSession { config, layout, restrictions: self.restrictions.clone() }
    }

    /// Makes a new, paused run of the settings. The reports of an earlier run stay in view until the new run reports,
    /// and for good if no new run can be made; an example is gone at once.
    pub fn launch(&mut self, host: &mut dyn Host, ctx: &Context) {
        self.begin(host, ctx, left_run::note_left_run);
    }

    /// Makes a run like [`Page::launch`]; `leave` is called before the current run is closed.
    pub fn begin(&mut self, host: &mut dyn Host, ctx: &Context, leave: fn(&mut Self)) {
        self.dirty_since = None;
        if let Err(e) = (self.lab.plan)(&self.config) {
            show_config_error(self, &e);
            return;
        }
        self.refused.clear();
        let Some(MemoryConsent { size, insists }) = memory_consent(self, host) else { return };
        match host.launch(&self.config, insists) {
            Ok(handle) => {
                leave(self);
                self.superseded = self.reopened.take();
                let mirror = self.run.take().map(Run::into_next_mirror).unwrap_or_default();
                let mut run = Run::new(handle, mirror, RunOrigin::Own, ctx);
                run.memory = size;
                if self.pace > 0.0 {
                    let _ = run.handle.send(Command::Pace(self.pace));
                }
                self.run = Some(run);
                self.launched = Some(self.config.clone());
                self.is_detached = false;
                self.problem = None;
                self.lesson.note_other_run();
                follow(self);
            }
            Err(words) => self.problem = Some(by_label(self, &words)),
        }
    }

    pub fn replay(&mut self, mut run: Run) {
        if let Some(earlier) = &mut self.run {
            run.mirror.follow_pinned(&mut earlier.mirror);
        }
        let owner = self.owner(&run);
        if let Some(info) = &run.mirror.info {
            take_recorded(self, &info.config, owner);
        }
        if owner == SettingsOwner::Run {
            self.reopened = None;
            self.lesson.note_other_run();
            if self.recorded_folder().as_deref() != run.replayed_folder() {
                left_run::note_left_run(self);
            }
            follow(self);
        }
        self.shown_notices = run.mirror.notices.len();
        self.is_detached = false;
        self.run = Some(run);
        take_changes(self, owner);
        self.recorded_views = RecordedViews::default();
        recorded_views::open(self);
        self.problem = None;
    }

    fn owner(&self, run: &Run) -> SettingsOwner {
        if left_run::is_reopened(self, run) { SettingsOwner::Page } else { SettingsOwner::Run }
    }

    pub fn send(&self, command: Command) -> Result<(), String> {
        match &self.run {
            Some(run) if run.refuses(&command) => Err(EXAMPLE_CANNOT_BE_ASKED.to_owned()),
            Some(run) => run.handle.send(command).map_err(Into::into),
            None => Ok(()),
        }
    }

    /// Applies the events of the run that have arrived.
    pub fn pump(&mut self) -> PumpResult {
        let Some(run) = &mut self.run else { return PumpResult::default() };
        let was_replayed = run.replayed_folder().is_some();
        let news = run.pump();
        if news.started && self.selection.variant >= run.mirror.variants().len() {
            self.selection.variant = 0;
        }
        if was_replayed && let Some(info) = run.mirror.info.clone() {
            let owner = self.run.as_ref().map_or(SettingsOwner::Run, |run| self.owner(run));
            if news.described {
                take_recorded(self, &info.config, owner);
            }
            take_changes(self, owner);
        }
        if news.started {
            adopt_discovered_settings(self);
        }
        give_up_late_changes(self);
        if news.has_news {
            recorded_views::open(self);
        }
        news
    }

    pub fn new_notices(&mut self) -> Vec<(Level, String)> {
        let complaints = std::mem::take(&mut self.complaints).into_iter().map(|words| (Level::Warning, words));
        let mut fresh: Vec<(Level, String)> = complaints.collect();
        if let Some(run) = &self.run {
            fresh.extend(run.mirror.notices.iter().skip(self.shown_notices).cloned());
            self.shown_notices = run.mirror.notices.len();
        }
        fresh
    }

    /// Changes one setting, as its control does. A live one reaches the run at once.
    pub fn change(&mut self, key: &str, value: Value, now: f64) {
        if self.config.get(key) == Some(&value) {
            self.refused.remove(key);
            return;
        }
        if self.restrictions.locks(key) {
            self.refused.insert(key.to_owned(), LOCKED.to_owned());
            return;
        }
        let before = self.config.clone();
        match self.config.set(&self.knobs, key, value) {
            Ok(()) => {
                self.refused.remove(key);
                let name = self.knobs.iter().find(|k| k.key == key).map_or(key, |k| k.label).to_owned();
                self.after_change(&before, now);
                note_config(self, before, key, name, now);
            }
            Err(e) => _ = self.refused.insert(key.to_owned(), by_label(self, &e.to_string())),
        }
    }

    pub fn set_seed(&mut self, seed: u64, now: f64) {
        if self.config.seed != seed && !self.restrictions.locks(SEED) {
            let before = self.config.clone();
            self.config.seed = seed;
            self.after_change(&before, now);
            note_config(self, before, SEED, "Seed".into(), now);
        }
    }

    /// Replaces every setting by those of a preset or a config file.
    pub fn take_config(&mut self, config: Config, now: f64) {
        let preset = self.lab.preset(&config.preset);
        let is_preset = preset.is_some() && preset_of(self.lab, &self.knobs, &config) == config;
        let name = preset.filter(|_| is_preset).map_or("opened settings".into(), |p| format!("preset {}", p.title));
        self.take_everything(config, None, name, now);
    }

    /// Takes a configuration like [`Page::take_config`], with a layout where there is one; `name` is the name of the
    /// undo step. None of it reaches the current run, which was made from other settings. Locked settings stay.
    pub fn take_everything(&mut self, config: Config, layout: Option<Layout>, name: String, now: f64) {
        let layout = layout.map(|layout| self.tiling.replace(layout));
        let before = std::mem::replace(&mut self.config, config);
        self.restrictions.keep_locked(&self.knobs, &mut self.config, &before);
        let is_other_preset = before.preset != self.config.preset;
        self.preset = preset_of(self.lab, &self.knobs, &self.config);
        if let Some(view) = self.lab.front_view(&self.config.preset).filter(|_| is_other_preset && layout.is_none()) {
            self.tiling.bring_forward(view);
        }
        self.drafts.clear();
        self.refused.clear();
        self.is_detached = true;
        self.after_change(&before, now);
        if layout.is_some() || before != self.config {
            note_everything(self, before, layout, name);
        }
    }

    /// Called when the settings have changed from those `before`. A live one reaches the run whose control it is.
    fn after_change(&mut self, before: &Config, now: f64) {
        self.refused_memory = None;
        self.dirty_since = Some(now);
        self.problem = None;
        self.is_detached &= !self.has_settings_of_run();
        if !self.reaches_run() {
            return;
        }
        let (Some(run), Some(launched)) = (&mut self.run, &mut self.launched) else { return };
        let is_live = |key: &String| self.knobs.iter().any(|knob| knob.key == key && knob.applies == Applies::Live);
        for key in self.config.changed_keys(before).into_iter().filter(is_live) {
            let Some(value) = self.config.get(&key).filter(|v| launched.get(&key) != Some(v)) else { continue };
            run.changed_here.insert(key.clone());
            if run.handle.send(Command::Set { key: key.clone(), value: value.clone() }).is_ok() {
                let _ = launched.set(&self.knobs, &key, value.clone());
            }
        }
    }

    /// True if the settings are those of the run, except for settings that only views read.
    fn has_settings_of_run(&self) -> bool {
        let is_of_preset = |launched: &Config| launched.preset == self.config.preset;
        self.launched.as_ref().is_none_or(is_of_preset) && self.pending().is_empty()
    }

    /// True if a live setting reaches the run when its control is moved. A run that has ended takes none, unless it made no
    /// step: then it holds a model that was opened to be asked.
    pub fn reaches_run(&self) -> bool {
        let takes_changes = |run: &Run| !run.has_ended() || run.is_untouched();
        self.run.as_ref().is_some_and(takes_changes) && self.launched.is_some() && !self.is_detached
    }

    /// Keys whose values wait for a reset ("seed" among them).
    pub fn pending(&self) -> Vec<String> {
        let Some(launched) = &self.launched else { return vec![] };
        let of_a_view = |key: &str| self.knobs.iter().any(|k| k.key == key && controls::acts_in_views(self, k));
        let mut keys = self.config.changed_keys(launched);
        keys.retain(|key| !of_a_view(key));
        if self.config.seed != launched.seed {
            keys.push(SEED.into());
        }
        keys
    }

    /// True if this setting differs from the one that the run was made from.
    pub fn waits_for_reset(&self, key: &str) -> bool {
        self.launched.as_ref().is_some_and(|launched| launched.get(key) != self.config.get(key))
    }

    pub fn differs(&self, key: &str) -> bool {
        self.config.get(key) != self.preset.get(key)
    }

    /// The control that takes the path of such a file.
    pub fn file_key(&self, kind: FileKind) -> Option<&'static str> {
        file_key(&self.knobs, kind)
    }

    /// Saves what a tile shows, once it is visible.
    pub fn export(&mut self, tile: TileId, format: ExportFormat) {
        self.tiling.bring_tile_forward(tile);
        self.exports.push((tile, format));
    }

    /// The newest step known.
    pub fn newest(&self) -> u64 {
        self.run.as_ref().map_or(0, |r| r.mirror.step)
    }

    /// The step every view shows.
    pub fn shown_step(&self) -> u64 {
        self.scrub.map_or(self.newest(), |s| s.min(self.newest()))
    }

    /// Steps the run will make, as far as known.
    pub fn total(&self) -> u64 {
        self.run.as_ref().and_then(|r| r.mirror.info.as_ref()).map_or(0, |i| i.total_steps)
    }

    pub fn mirror(&self) -> Option<&Mirror> {
        self.run.as_ref().map(|r| &r.mirror)
    }

    /// The folder of the run, once it exists.
    pub fn folder(&self) -> Option<PathBuf> {
        self.mirror().and_then(|m| m.info.as_ref()).and_then(|i| i.folder.as_ref()).map(PathBuf::from)
    }

    /// The folder of the run on the page; `None` where nothing of it is recorded.
    pub fn recorded_folder(&self) -> Option<PathBuf> {
        let run = self.run.as_ref()?;
        run.replayed_folder().map(ToOwned::to_owned).or_else(|| self.folder().filter(|_| !run.is_untouched()))
    }
}
