//! Tests the window through user input (labels, clicks, drags, keys) with a fake host, whose runs train no model.

use std::{
    collections::{HashMap, HashSet},
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use crossbeam::channel::{Receiver, Sender, TryRecvError, bounded, unbounded};
use eframe::egui::{
    self, Key, Modifiers,
    accesskit::{Action as Asks, Role, Toggled},
};
use egui_kittest::{
    Harness,
    kittest::{NodeT, Queryable},
};
use egui_tiles::TileId;
use orrery::{
    config::{Applies, Config, ConfigError, FileKind, Knob, Range, SettingKey, Value},
    labs::{LABS, Lab, Pane, Preset},
    telemetry::{
        Channel, Command, Event, Inbox, Level, Question, QuestionState, RunHandle, RunInfo, RunState, StepStats,
        VariantInfo,
    },
    trainer::Plan,
    ui::{
        App, Start,
        action::ExportFormat,
        app::Opening,
        dialog::DialogKind,
        host::{CheckedFile, ChosenFile, Delivery, FileContent, Host, MemoryNeed, PastRun},
        lists::Lists,
        plot::svg::Svg,
        session::Session,
        views::{VIEWS, View, ViewCx, ViewEntry},
        widgets::number::grouped,
    },
};

use crate::waiting::step_until;

// ---- a lab and a view for these tests ----

const LR: &SettingKey<f64> = &SettingKey::new("train.lr");
const WIDTH: &SettingKey<usize> = &SettingKey::new("model.width");
const FROZEN: &SettingKey<bool> = &SettingKey::new("model.frozen");
const CHECKPOINT: &SettingKey<String> = &SettingKey::new("model.checkpoint");
const FILE: &SettingKey<String> = &SettingKey::new("corpus.file");

fn knobs() -> Vec<Knob> {
    let file = |key, label, kind| Knob::new(key, label, Range::File(kind), Value::Text(String::new()));
    let (rates, sources) = (Range::Float { min: 1e-6, max: 1.0, log: true }, Range::Choice(vec!["mixture", "facts"]));
    vec![
        Knob {
            applies: Applies::Live,
            symbol: "η",
            tip: "How far. And how fast.",
            ..Knob::new("train.lr", "Learning rate", rates, Value::Float(1e-3))
        },
        Knob { unit: "channels", ..Knob::new("model.width", "Width", Range::Int { min: 8, max: 512 }, Value::Int(64)) },
        Knob::new("model.frozen", "Frozen", Range::Switch, Value::Switch(false)),
        Knob::new("corpus.source", "Corpus", sources, Value::Text("mixture".into())),
        file("model.checkpoint", "Checkpoint", FileKind::Checkpoint),
        file("corpus.file", "Text file", FileKind::Text),
    ]
}

fn plan(config: &Config) -> Result<Plan, ConfigError> {
    if !config.value(WIDTH)?.is_multiple_of(8) {
        return Err(ConfigError::inconsistent(WIDTH.name, "`model.width` must be a multiple of 8"));
    }
    // the fake host never trains this plan, so any valid plan will do
    (LABS[0].plan)(&LABS[0].config(None)?)
}

static LAB: Lab = Lab {
    id: "pretend",
    title: "Pretend lab",
    question: "Does the window do what it is told?",
    source: "nowhere",
    lesson: "# A lesson\n\nWith a paragraph.",
    groups: &[("model", "Model"), ("train", "Training"), ("corpus", "Text")],
    // every setting is essential, so that tests find each control without unfolding *All settings*
    essentials: &["train.lr", "model.width", "model.frozen", "corpus.source", "model.checkpoint", "corpus.file"],
    knobs,
    presets: &[
        Preset { id: "pretend", title: "First", about: "The first.", toml: "lab = \"pretend\"\n", front: None },
        Preset {
            id: "wide",
            title: "Wide",
            about: "Wider.",
            toml: "lab = \"pretend\"\n[model]\nwidth = 128\n",
            front: None,
        },
    ],
    plan,
    drawing: |_, _| (),
    panes: &[Pane::tile("teller", 0), Pane::tile("other", 0)],
    headlines: &[],
    large_numbers: &[],
    opens_with_run: true,
};

/// Prints the context that it is drawn with.
struct Teller;

impl View for Teller {
    fn ui(&mut self, ui: &mut egui::Ui, cx: &mut ViewCx<'_>) {
        let loss = cx.mirror.curve(0, "loss/train").and_then(|c| c.value_at(cx.step));
        ui.label(format!("shows {} of {}", cx.step, cx.mirror.step));
        ui.label(format!("loss {loss:?}, follows {}", cx.follow));
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        format!("at step {}", cx.step)
    }

    fn csv(&self, cx: &ViewCx<'_>) -> Option<String> {
        Some(format!("step\n{}\n", cx.step))
    }
}

static PRETEND_VIEWS: [ViewEntry; 2] = [
    ViewEntry { id: "teller", title: "Teller", about: "Tells. What it is shown.", make: || Box::new(Teller) },
    ViewEntry { id: "other", title: "Other", about: "Another. Of the same.", make: || Box::new(Teller) },
];

static PRETEND: [&Lab; 1] = [&LAB];

// ---- a fake host ----

#[derive(Clone, Copy, PartialEq)]
pub enum Worker {
    /// Makes a step every 2 ms while the run is not paused.
    Steps,
    /// Like `Steps`, and the host has a recorded example of the lab.
    StepsAfterExample,
    /// Handles no command and sends no event, as if stuck in a step.
    Stalled,
    /// Fails at its third step.
    Fails,
    /// Has made all its steps after the third.
    Finishes,
}

/// The requests to the host, shared with the test.
#[derive(Default)]
pub struct Asked {
    commands: Mutex<Vec<Command>>,
    launched: Mutex<Vec<Config>>,
    picked: Mutex<Vec<DialogKind>>,
    written: Mutex<Vec<(PathBuf, Vec<u8>)>>,
    opened: Mutex<Vec<PathBuf>>,
    steps: AtomicU64,
}

pub struct Pretender {
    asked: Arc<Asked>,
    worker: Worker,
    has_example: bool,
    sender: Sender<Delivery>,
    arrived: Receiver<Delivery>,
}

impl Pretender {
    pub fn with(worker: Worker) -> (Box<dyn Host>, Arc<Asked>, Sender<Delivery>) {
        let asked = Arc::<Asked>::default();
        let (sender, arrived) = unbounded();
        let has_example = worker == Worker::StepsAfterExample;
        (Box::new(Self { asked: asked.clone(), worker, has_example, sender: sender.clone(), arrived }), asked, sender)
    }
}

fn info(config: &Config) -> RunInfo {
    let variant = |id: &str| VariantInfo {
        id: id.into(),
        label: format!("{id} twin"),
        group: id.into(),
        seed: config.seed,
        params: 780_801,
    };
    RunInfo {
        lab: config.lab.clone(),
        config: config.clone(),
        variants: vec![variant("coupled"), variant("frozen")],
        total_steps: 650,
        device: "cpu".into(),
        threads: 1,
        corpus: "mixture (generated), 1.2 MB, bytes".into(),
        vocab: 320,
        tokens_per_step: 1024,
        ..RunInfo::default()
    }
}

fn one_step(inbox: &Inbox, step: u64) {
    for variant in 0..2 {
        let loss = 5.8 / (1.0 + step as f64 / 100.0) + 0.01 * variant as f64;
        let gate = if variant == 0 { (step as f64 * 1e-4).tanh() } else { 0.0 };
        inbox.deliver(Event::Step(StepStats {
            step,
            variant,
            scalars: vec![
                (Channel::new("loss/train"), loss),
                (Channel::new("gate/tanh"), gate),
                (Channel::new("time/step_ms"), 2.0),
            ],
            wall_secs: step as f64 * 0.004,
        }));
    }
}

fn work(worker: Worker, config: Config, inbox: Arc<Inbox>, commands: Receiver<Command>, asked: Arc<Asked>) {
    inbox.deliver(Event::Started(Arc::new(info(&config))));
    inbox.deliver(Event::State(RunState::Paused));
    if worker == Worker::Stalled {
        std::thread::sleep(Duration::from_secs(30));
        return;
    }
    let (mut step, mut running) = (0, false);
    loop {
        let told = if running { commands.try_recv() } else { commands.recv().map_err(TryRecvError::from) };
        let command = match told {
            Ok(command) => Some(command),
            Err(TryRecvError::Empty) => None,
            // the window has dropped the run
            Err(TryRecvError::Disconnected) => return,
        };
        let mut once = false;
        if let Some(c) = command {
            asked.commands.lock().unwrap().push(c.clone());
            match c {
                Command::Run => running = true,
                Command::Pause => running = false,
                Command::StepOnce => (running, once) = (false, true),
                Command::Stop => return,
                Command::Set { key, value } => inbox.deliver(Event::Changed { step, key, value }),
                Command::Checkpoint => {
                    inbox.deliver(Event::Notice { level: Level::Info, text: format!("step {step} is written") });
                }
                // the question ends without a sample, as if the probe did not apply to the models
                Command::Measure(Question { request, .. }) => {
                    inbox.deliver(Event::Question { request, state: QuestionState::Answered });
                }
                _ => {}
            }
            inbox.deliver(Event::State(if running { RunState::Running } else { RunState::Paused }));
        }
        if running || once {
            step += 1;
            one_step(&inbox, step);
            asked.steps.store(step, Ordering::SeqCst);
            if step.is_multiple_of(25) {
                inbox.deliver(Event::Checkpoint { step });
            }
            if worker == Worker::Fails && step == 3 {
                inbox.deliver(Event::State(RunState::Failed {
                    message: "the loss is not a number at step 3; lower train.lr and reset".into(),
                }));
                return;
            }
            if worker == Worker::Finishes && step == 3 {
                inbox.deliver(Event::State(RunState::Finished));
                return;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

/// True for a width above 400, for which the host reports that the memory does not suffice.
fn is_large(config: &Config) -> bool {
    config.value(WIDTH).is_ok_and(|width| width > 400)
}

/// A run of 40 steps whose worker has ended, so that no command reaches it.
fn recorded_run(state: RunState) -> RunHandle {
    let (commands, _) = bounded(1);
    let inbox = Arc::new(Inbox::default());
    inbox.deliver(Event::Started(Arc::new(info(&LAB.config(None).unwrap()))));
    for step in 1..=40 {
        one_step(&inbox, step);
    }
    inbox.deliver(Event::State(state));
    RunHandle { commands, inbox }
}

impl Host for Pretender {
    fn memory(&self, config: &Config) -> Option<MemoryNeed> {
        let refusal = "this run would hold about 9.0 GB of memory, and 2.0 GB are free here: lower `train.batch`";
        let is_large = is_large(config);
        is_large.then(|| MemoryNeed { size: "9.0 GB".into(), refusal: Some(refusal.into()) })
    }

    fn launch(&mut self, config: &Config, insist_memory: bool) -> Result<RunHandle, String> {
        assert_eq!(insist_memory, is_large(config), "only what was refused is insisted on");
        if config.iter().any(|(k, v)| k == "corpus.file" && v.to_string().contains("missing")) {
            return Err("missing.txt cannot be read: no such file. Choose another text file.".into());
        }
        self.asked.launched.lock().unwrap().push(config.clone());
        let (commands, receiver) = bounded(1024);
        let inbox = Arc::new(Inbox::default());
        let (told, config, asked, worker) = (inbox.clone(), config.clone(), self.asked.clone(), self.worker);
        std::thread::spawn(move || work(worker, config, told, receiver, asked));
        Ok(RunHandle { commands, inbox })
    }

    fn open_run(&mut self, folder: PathBuf) -> RunHandle {
        self.asked.opened.lock().unwrap().push(folder);
        recorded_run(RunState::Finished)
    }

    fn example(&mut self, _lab: &str) -> Option<RunHandle> {
        self.has_example.then(|| recorded_run(RunState::Stopped))
    }

    fn pick(&mut self, dialog: DialogKind) {
        self.asked.picked.lock().unwrap().push(dialog);
    }

    fn identify(&mut self, path: PathBuf) {
        let is_folder =
            path.to_str().is_some_and(|p| ["runs-", "checkpoints."].iter().any(|start| p.starts_with(start)));
        let content = if is_folder { FileContent::Folder } else { FileContent::Named };
        self.sender.send(Delivery::Identified { path, content }).unwrap();
    }

    fn read_text(&mut self, path: PathBuf) {
        let content = "lab = \"pretend\"\n[model]\nwidht = 3\n".to_owned();
        self.sender.send(Delivery::Text { path, content }).unwrap();
    }

    fn write(&mut self, path: PathBuf, bytes: Vec<u8>) {
        self.asked.written.lock().unwrap().push((path.clone(), bytes));
        self.sender.send(Delivery::Saved { path }).unwrap();
    }

    fn export_folder(&self) -> PathBuf {
        "exports".into()
    }

    fn list_runs(&mut self) {
        let run = |n: u64| PastRun {
            folder: format!("runs/{n}").into(),
            lab: "pretend".into(),
            preset: "pretend".into(),
            steps: 650 * n,
            when: "20 Nov 14:02".into(),
            interruption: None,
        };
        self.sender.send(Delivery::Runs(vec![run(1), run(2)])).unwrap();
    }

    fn deliveries(&mut self) -> Vec<Delivery> {
        self.arrived.try_iter().collect()
    }

    fn devices(&self) -> Vec<(String, String, bool)> {
        vec![("cpu".into(), "cpu".into(), true), ("cuda:0".into(), "cuda:0: not in this build".into(), false)]
    }
}

// ---- user input ----

pub struct Desktop {
    pub harness: Harness<'static, App>,
    pub asked: Arc<Asked>,
    pub deliver: Sender<Delivery>,
}

/// Replaces the text of a field.
pub fn retype(harness: &mut Harness<'_, App>, field: &str, text: &str) {
    harness.get_by_role_and_label(Role::TextInput, field).focus();
    harness.run_steps(2);
    harness.key_press_modifiers(Modifiers::COMMAND, Key::A);
    harness.step();
    harness.get_by_role_and_label(Role::TextInput, field).type_text(text);
    harness.run_steps(3);
}

/// The window at rest, without a pointer; it was opened in the dark theme.
pub fn rendered(harness: &mut Harness<'_, App>, dark: bool) -> image::RgbaImage {
    if !dark {
        harness.key_press(Key::D);
    }
    harness.remove_cursor();
    harness.run_steps(30);
    harness.render().expect("rendered")
}

/// The application with the fake host, the real labs and these views. Without an `opening` it shows the gallery.
pub fn open_labs(
    opening: impl Into<Option<Opening>>,
    worker: Worker,
    views: &'static [ViewEntry],
    size: [f32; 2],
) -> Desktop {
    open_sized(worker, Lists { labs: LABS, views }, opening.into(), size)
}

/// The application of the fake host and the real labs, opened again as `left` was left.
pub fn reopen_labs(left: &mut Desktop, worker: Worker, views: &'static [ViewEntry]) -> Desktop {
    reopened(left, worker, Lists { labs: LABS, views })
}

fn reopened(left: &mut Desktop, worker: Worker, lists: Lists) -> Desktop {
    let mut kept = MemoryStorage::default();
    eframe::App::save(left.harness.state_mut(), &mut kept);
    let kept: &'static MemoryStorage = Box::leak(Box::new(kept));
    let (host, asked, deliver) = Pretender::with(worker);
    let builder = Harness::builder().with_size([1280.0, 800.0]).with_step_dt(1.0 / 60.0);
    let harness = builder.build_eframe(move |cc| {
        cc.storage = Some(kept);
        App::with_lists(cc, host, Start::default(), lists)
    });
    Desktop { harness, asked, deliver }
}

fn desk_of(worker: Worker, lists: Lists, opening: Option<Opening>) -> Desktop {
    open_sized(worker, lists, opening, [1280.0, 800.0])
}

fn open_sized(worker: Worker, lists: Lists, opening: Option<Opening>, size: [f32; 2]) -> Desktop {
    let (host, asked, deliver) = Pretender::with(worker);
    let start = Start { opening, ..Start::default() };
    let harness = Harness::builder()
        .with_size(size)
        .with_step_dt(1.0 / 60.0)
        .build_eframe(move |cc| App::with_lists(cc, host, start, lists));
    Desktop { harness, asked, deliver }
}

const LISTS: Lists = Lists { labs: &PRETEND, views: &PRETEND_VIEWS };

pub fn desk(worker: Worker) -> Desktop {
    let mut d = desk_of(worker, LISTS, Some(Opening::Lab("pretend".into())));
    d.until("ready", |d| ["ready", "example"].contains(&d.state()) || worker == Worker::Stalled);
    d
}

impl Desktop {
    pub fn steps(&mut self, n: usize) {
        for _ in 0..n {
            self.harness.step();
        }
    }

    /// Draws frames until `holds` is true.
    ///
    /// # Panics
    /// After ten seconds.
    pub fn until(&mut self, what: &str, holds: impl Fn(&Desktop) -> bool) {
        self.harness.step();
        step_until(Duration::from_secs(10), self, |d| d.harness.step(), what, holds);
    }

    pub fn page(&self) -> &orrery::ui::page::Page {
        self.harness.state().page().expect("a lab is open")
    }

    pub fn state(&self) -> &'static str {
        self.page().run.as_ref().map_or("none", |r| r.state_label())
    }

    /// Runs the command that the palette finds by this text.
    pub fn run_command(&mut self, typed: &str) {
        self.command(Key::P);
        self.harness.event(egui::Event::Text(typed.into()));
        self.steps(2);
        self.press(Key::Enter);
    }

    /// The settings of the runs that were started, in order.
    pub fn launched(&self) -> Vec<Config> {
        self.asked.launched.lock().unwrap().clone()
    }

    pub fn click(&mut self, label: &str) {
        self.harness.get_by_label(label).click();
        self.steps(3);
    }

    pub fn press(&mut self, key: Key) {
        self.harness.key_press(key);
        self.steps(3);
    }

    pub fn command(&mut self, key: Key) {
        self.harness.key_press_modifiers(Modifiers::COMMAND, key);
        self.steps(3);
    }

    fn drag(&mut self, from: egui::Pos2, to: egui::Pos2) {
        self.harness.hover_at(from);
        self.harness.drag_at(from);
        self.harness.step();
        for share in [0.1, 0.4, 0.8, 1.0] {
            self.harness.hover_at(from + share * (to - from));
            self.steps(2);
        }
        self.harness.drop_at(to);
        self.steps(3);
    }

    /// Unfolds *All settings*, below which the settings that are not essential are.
    pub fn unfold_settings(&mut self) {
        self.harness.get_by_label_contains("All settings").click();
        self.steps(20);
    }

    /// The part in sight of the widget that has the focus, and its whole place.
    pub fn focused(&self) -> Option<[egui::Rect; 2]> {
        let ctx = &self.harness.ctx;
        let widget = ctx.memory(|m| m.focused()).and_then(|id| ctx.read_response(id))?;
        Some([widget.interact_rect, widget.rect])
    }

    /// Turns the wheel with the pointer here, and waits until nothing scrolls.
    fn wheel(&mut self, at: egui::Pos2, down: f32) {
        self.harness.hover_at(at);
        self.harness.event(egui::Event::MouseWheel {
            unit: egui::MouseWheelUnit::Point,
            source: egui::MouseWheelSource::Unknown,
            delta: egui::vec2(0.0, -down),
            phase: egui::TouchPhase::Move,
            modifiers: Modifiers::NONE,
        });
        self.steps(30);
    }

    pub fn shows(&self, label: &str) -> bool {
        self.harness.query_all_by_label_contains(label).next().is_some()
    }

    pub fn sent(&self, wanted: impl Fn(&Command) -> bool) -> bool {
        self.asked.commands.lock().unwrap().iter().any(wanted)
    }

    fn lr(&self) -> f64 {
        self.page().config.value(LR).unwrap()
    }
}

// ---- the tests ----

#[test]
fn home_shows_every_lab_and_opens_one() {
    let mut d = desk_of(Worker::Steps, LISTS, None);
    d.steps(3);
    assert!(d.harness.state().page().is_none());
    assert!(d.shows("Does the window do what it is told?"));
    assert!(d.shows("Replay run 1"), "past runs are listed");
    d.click("Open Pretend lab");
    assert_eq!(d.page().lab.id, "pretend");
    d.until("ready", |d| d.state() == "ready");
    assert_eq!(d.asked.steps.load(Ordering::SeqCst), 0, "opening a lab trains nothing");
    d.press(Key::Escape);
    assert!(d.harness.state().page().is_none(), "Escape backs out to home");
}

#[test]
fn the_words_and_the_buttons_of_home_stand_apart_at_any_width() {
    for width in [480.0, 640.0, 700.0, 770.0, 850.0, 1024.0, 1280.0] {
        let mut d = open_sized(Worker::Steps, LISTS, None, [width, 800.0]);
        d.steps(3);
        let words = ["What moves inside", "Open a lab, press Space"];
        let words = words.map(|words| d.harness.get_by_label_contains(words).rect());
        for label in ["Runs", "Claims", "Open\u{2026}"] {
            let button = d.harness.get_by_role_and_label(Role::Button, label).rect();
            assert!(words.iter().all(|words| !words.intersects(button)), "{width}: {label} at {button:?}, {words:?}");
            assert!(button.left() >= 0.0 && button.right() <= width, "{width}: {label} at {button:?}");
        }
    }
}

#[test]
fn home_scrolls_by_keys_and_its_focus_stays_in_sight() {
    let mut d = desk_of(Worker::Steps, Lists { labs: LABS, views: VIEWS }, None);
    d.steps(3);
    let top = |d: &Desktop| d.harness.get_by_label_contains("What moves inside").rect().top();
    let before = top(&d);
    for (key, least) in [(Key::PageDown, 300.0), (Key::ArrowDown, 20.0), (Key::End, 500.0)] {
        d.press(key);
        d.steps(30);
        assert!(top(&d) < before - least, "{key:?}: {} from {before}", top(&d));
        d.press(Key::Home);
        d.steps(30);
        assert!((top(&d) - before).abs() < 1.0, "Home, after {key:?}");
    }
    let in_sight = |d: &Desktop, key: Key| {
        let [sight, place] = d.focused().unwrap_or_else(|| panic!("{key:?} leads to nothing"));
        assert!(sight.expand(1.0).contains_rect(place), "{key:?} leads to {place:?}, of which {sight:?} is in sight");
    };
    for _ in 0..LABS.len() + 4 {
        d.press(Key::Tab);
        d.steps(3);
        in_sight(&d, Key::Tab);
    }
    for key in [Key::ArrowUp, Key::ArrowUp, Key::ArrowUp, Key::ArrowDown, Key::ArrowDown] {
        d.press(key);
        d.steps(3);
        in_sight(&d, key);
    }
}

#[test]
fn a_sheet_hides_the_tooltip_of_what_it_covers() {
    let mut d = desk(Worker::Steps);
    let place = d.harness.get_by_role_and_label(Role::Label, "Learning rate").rect().center();
    d.harness.hover_at(place);
    d.steps(90);
    assert!(d.shows("How far. And how fast."), "a tooltip");
    d.press(Key::Questionmark);
    // the harness does not call this hook, which takes the pointer away when a sheet opens
    let (ctx, mut raw) = (d.harness.ctx.clone(), egui::RawInput::default());
    eframe::App::raw_input_hook(d.harness.state_mut(), &ctx, &mut raw);
    d.harness.input_mut().events.extend(raw.events);
    d.steps(3);
    assert!(d.shows("Keys and gestures") && !d.shows("How far. And how fast."));
}

#[test]
fn space_runs_and_pauses_and_the_arrow_steps() {
    let mut d = desk(Worker::Steps);
    d.press(Key::Space);
    d.until("running", |d| d.state() == "running" && d.page().newest() > 5);
    d.click("Pause");
    d.until("paused", |d| d.state() == "paused");
    d.steps(5);
    let at = d.page().newest();
    d.press(Key::ArrowRight);
    d.until("one step", |d| d.page().newest() == at + 1);
    d.click("Step");
    d.until("another step", |d| d.page().newest() == at + 2);
    assert!(d.shows(&format!("shows {} of {}", at + 2, at + 2)));
}

#[test]
fn a_pinned_run_is_named_until_it_is_unpinned() {
    let mut d = desk(Worker::Steps);
    d.press(Key::ArrowRight);
    d.until("a step", |d| d.page().newest() == 1);
    d.click("Menu");
    d.harness.get_by_label_contains("Pin this run").click();
    d.steps(3);
    assert!(d.page().mirror().unwrap().is_pinned);
    d.press(Key::R);
    d.until("another run", |d| d.page().mirror().unwrap().pinned().is_some());
    d.steps(2);
    d.harness.get_by_label_contains("Unpin, pinned: seed").click();
    d.steps(3);
    assert!(d.page().mirror().unwrap().pinned().is_none() && !d.shows("Unpin, pinned"));
}

#[test]
fn a_dragged_slider_reaches_the_running_model() {
    let mut d = desk(Worker::Steps);
    d.press(Key::Space);
    d.until("running", |d| d.page().newest() > 2);
    let slider = d.harness.get_by_role_and_label(Role::Slider, "Learning rate").rect();
    d.harness.drag_at(slider.center());
    d.harness.step();
    d.harness.hover_at(slider.right_center() - egui::vec2(12.0, 0.0));
    d.steps(2);
    d.harness.drop_at(slider.right_center() - egui::vec2(12.0, 0.0));
    d.steps(3);
    assert!(d.lr() > 0.1, "the slider moved: {}", d.lr());
    let lr = d.lr();
    let arrived =
        move |c: &Command| matches!(c, Command::Set { key, value: Value::Float(v) } if key == "train.lr" && *v == lr);
    d.until("the command arrives", |d| d.sent(arrived));
    d.command(Key::Z);
    assert_eq!(d.lr(), 1e-3, "one undo takes back the whole drag");
    d.until("the old value arrives", |d| {
        d.asked.commands.lock().unwrap().iter().rev().find_map(|c| match c {
            Command::Set { value, .. } => value.as_f64(),
            _ => None,
        }) == Some(1e-3)
    });
    d.harness.key_press_modifiers(Modifiers { shift: true, ..Modifiers::COMMAND }, Key::Z);
    d.steps(3);
    assert_eq!(d.lr(), lr, "and redo brings it back");
}

#[test]
fn each_step_is_undone_by_its_name() {
    let mut d = desk(Worker::Steps);
    d.press(Key::Space);
    d.until("running", |d| d.page().newest() > 2);
    d.click("Menu of Other");
    d.click("Close");
    d.click("Frozen");
    d.click("Inspector");
    d.click("frozen twin");
    assert_eq!(d.page().selection.variant, 1);
    d.click("Menu");
    assert!(d.shows("Undo: selected variant frozen twin"), "the menu says what would be undone");
    d.press(Key::Escape);
    let launched = d.asked.launched.lock().unwrap().len();
    d.command(Key::Z);
    assert!(d.shows("Undid: selected variant frozen twin"));
    assert_eq!((d.page().selection.variant, d.page().config.value(FROZEN).unwrap()), (0, true));
    d.command(Key::Z);
    assert!(d.shows("Undid: Frozen"));
    assert_eq!((d.page().config.value(FROZEN).unwrap(), d.page().tiling.in_order().len()), (false, 1));
    d.command(Key::Z);
    assert!(d.shows("Undid: closed tile Other"));
    assert_eq!(d.page().tiling.in_order().len(), 2);
    d.command(Key::Z);
    assert!(d.shows("There is nothing to undo"));
    assert_eq!((d.state(), d.asked.launched.lock().unwrap().len()), ("running", launched), "the run goes on");
    for _ in 0..3 {
        d.harness.key_press_modifiers(Modifiers { shift: true, ..Modifiers::COMMAND }, Key::Z);
        d.steps(3);
    }
    let page = d.page();
    assert_eq!(
        (page.selection.variant, page.config.value(FROZEN).unwrap(), page.tiling.in_order().len()),
        (1, true, 1)
    );
}

#[test]
fn a_preset_is_undone_with_the_run_that_it_began() {
    let mut d = desk(Worker::Steps);
    d.run_command("wide");
    d.press(Key::Space);
    d.until("running", |d| d.state() == "running" && d.page().newest() > 2);
    let launched = d.asked.launched.lock().unwrap().len();
    d.command(Key::Z);
    assert!(d.shows("A run is training") && d.shows("To undo \u{201c}preset Wide"));
    assert_eq!((d.state(), d.asked.launched.lock().unwrap().len()), ("running", launched), "nothing has ended");
    d.click("Stop it and go on");
    d.until("a new run", |d| d.state() == "ready" && d.page().newest() == 0);
    assert!(d.shows("Undid: preset Wide. A new run of these settings is ready."));
    assert_eq!(d.asked.launched.lock().unwrap().len(), launched + 1);
    assert_eq!(d.page().config.value(WIDTH).unwrap(), 64);
    assert!(d.page().reaches_run() && d.page().pending().is_empty(), "a live setting reaches it");
}

#[test]
fn a_long_name_of_a_step_leaves_the_menu_narrow() {
    let mut d = desk(Worker::Steps);
    let name = format!("runs-2026-11-20-{}", "x".repeat(90));
    drop_file(&mut d, &name);
    d.until("the replay", |d| d.state() == "replay");
    d.press(Key::R);
    d.until("a new run", |d| d.state() == "ready");
    d.click("Menu");
    let entry = d.harness.get_by_label(&format!("Undo: left the replay of {name}")).rect();
    assert!(entry.width() < 480.0, "{entry}");
}

#[test]
fn the_menu_of_a_small_presentation_scrolls_in_the_window() {
    let mut d = open_sized(Worker::Steps, LISTS, Some(Opening::Lab("pretend".into())), [640.0, 400.0]);
    d.until("ready", |d| d.state() == "ready");
    d.press(Key::P);
    d.click("Menu");
    let window = d.harness.ctx.content_rect();
    let entry = |d: &Desktop, label: &str| d.harness.get_by_label_contains(label).rect();
    let last = entry(&d, "Frame times");
    assert!(!window.contains_rect(last), "it does not fit, or the test tells nothing: {last} in {window}");
    d.wheel(window.center(), 1000.0);
    let last = entry(&d, "Frame times");
    assert!(window.contains_rect(last), "{last} in {window}");
}

#[test]
fn a_layout_that_a_hand_changed_is_undone() {
    let mut d = desk(Worker::Steps);
    let before = d.page().tiling.tree.clone();
    let first = d.page().tiling.in_order()[0].0;
    let tile = d.page().tiling.tree.tiles.rect(first).unwrap();
    let edge = egui::pos2(tile.right() + 4.0, tile.center().y);
    d.harness.drag_at(edge);
    d.steps(2);
    for k in 1..=4 {
        d.harness.hover_at(edge - egui::vec2(20.0 * k as f32, 0.0));
        d.steps(30);
    }
    d.harness.drop_at(edge - egui::vec2(80.0, 0.0));
    d.steps(3);
    assert!(d.page().tiling.tree != before, "the tiles were resized");
    assert_eq!(d.page().history.next_undo(), Some("resized tiles"));
    d.command(Key::Z);
    assert!(d.shows("Undid: resized tiles"));
    assert!(d.page().tiling.tree == before, "a slow drag is one step");
}

/// Dragging works as the tour (docs/tour.md) describes it, and each drag is one step of undo.
#[test]
fn tiles_are_dragged_split_and_stacked_by_their_titles() {
    let mut d = desk(Worker::Steps);
    let before = d.page().tiling.tree.clone();
    let [teller, other] = [0, 1].map(|i| d.page().tiling.in_order()[i].0);
    let place = |d: &Desktop, tile: TileId| d.page().tiling.tree.tiles.rect(tile).expect("the tile is in sight");
    let take = |d: &mut Desktop, to: egui::Pos2| {
        let title = d.harness.get_by_label("Tile 1: Teller").rect();
        d.drag(title.left_center() + egui::vec2(60.0, 0.0), to);
        assert_eq!(d.page().history.next_undo(), Some("moved tile Teller"));
    };
    let undo = |d: &mut Desktop| {
        d.command(Key::Z);
        assert!(d.page().tiling.tree == before, "one step takes the tile back");
    };
    let onto = place(&d, other);
    assert!(place(&d, teller).right() <= onto.left());

    // dropped on the right half of the other tile, the dragged tile goes to its right
    take(&mut d, onto.lerp_inside(egui::vec2(0.75, 0.5)));
    assert!(place(&d, teller).left() >= place(&d, other).right());
    undo(&mut d);

    // dropped on its lower half, the tile goes below it
    take(&mut d, onto.lerp_inside(egui::vec2(0.5, 0.75)));
    assert!(place(&d, teller).top() >= place(&d, other).bottom());
    undo(&mut d);

    // dropped on the middle below a tab bar, the tile becomes the front tab
    let below_bar = onto.with_min_y(onto.top() + 28.0);
    take(&mut d, below_bar.center());
    let tiling = &d.page().tiling;
    assert_eq!((tiling.tabbed(), tiling.in_front()), (HashSet::from([teller, other]), vec!["teller".to_owned()]));
    undo(&mut d);

    // dragged out of the stack again, the tile splits the rectangle that both occupied
    d.harness.key_press_modifiers(Modifiers { shift: true, ..Modifiers::COMMAND }, Key::Z);
    d.steps(3);
    assert!(d.page().tiling.tabbed().contains(&teller), "redone");
    let stack = d.page().tiling.tree.root.expect("a stack");
    let stack = place(&d, stack);
    take(&mut d, stack.lerp_inside(egui::vec2(0.75, 0.5)));
    assert!(d.page().tiling.tabbed().is_empty());
    assert!(place(&d, teller).left() >= place(&d, other).right());
    d.command(Key::Z);
    assert!(d.page().tiling.tabbed().contains(&teller) && d.shows("Undid: moved tile Teller"));
}

#[test]
fn a_value_can_be_typed_and_keys_stay_quiet_meanwhile() {
    let mut d = desk(Worker::Steps);
    let field = d.harness.get_by_role_and_label(Role::SpinButton, "Width");
    field.click();
    d.steps(2);
    d.harness.key_press_modifiers(Modifiers::COMMAND, Key::A);
    d.harness.event(egui::Event::Text("96".into()));
    d.harness.key_press(Key::R);
    d.harness.key_press(Key::P);
    d.steps(2);
    let launches = d.asked.launched.lock().unwrap().len();
    assert_eq!(launches, 1, "R typed into a field resets nothing");
    d.press(Key::Enter);
    assert_eq!(d.page().config.value(WIDTH).unwrap(), 96);
    // before the first step, a change starts a new paused run without a reset
    d.until("the settled change", |d| d.asked.launched.lock().unwrap().len() == 2);
    assert_eq!(d.asked.launched.lock().unwrap()[1].value(WIDTH).unwrap(), 96);
}

#[test]
fn a_run_too_large_for_the_memory_begins_only_when_asked_for_again() {
    let mut d = desk(Worker::Steps);
    d.harness.get_by_role_and_label(Role::SpinButton, "Width").click();
    d.steps(2);
    d.harness.key_press_modifiers(Modifiers::COMMAND, Key::A);
    d.harness.event(egui::Event::Text("480".into()));
    d.press(Key::Enter);
    d.until("the refusal", |d| d.shows("would hold about 9.0 GB"));
    assert!(d.shows("lower `train.batch`") && d.shows("Ask again to start it anyway"));
    assert_eq!(d.asked.launched.lock().unwrap().len(), 1, "nothing was begun");
    d.click("Run");
    d.until("the run that was insisted on", |d| d.asked.launched.lock().unwrap().len() == 2);
    assert_eq!(d.asked.launched.lock().unwrap()[1].value(WIDTH).unwrap(), 480);
    assert!(d.shows("memory: about 9.0 GB"), "it is said beside Run");
}

#[test]
fn a_change_while_running_waits_for_a_reset() {
    let mut d = desk(Worker::Steps);
    d.press(Key::Space);
    d.until("running", |d| d.page().newest() > 2);
    d.click("Frozen");
    assert!(d.page().config.value(FROZEN).unwrap());
    assert!(d.shows("1 change applies at reset"));
    std::thread::sleep(Duration::from_millis(400));
    d.steps(3);
    assert_eq!(d.asked.launched.lock().unwrap().len(), 1, "a run that trains is never taken away unasked");
    d.click("Apply & reset");
    d.until("a new run", |d| d.state() == "ready");
    assert!(d.asked.launched.lock().unwrap()[1].value(FROZEN).unwrap());
    assert_eq!(d.page().newest(), 0);
}

#[test]
fn double_click_on_the_name_restores_the_preset() {
    let mut d = desk(Worker::Steps);
    d.click("Frozen");
    assert!(d.page().config.value(FROZEN).unwrap());
    for _ in 0..2 {
        d.harness.get_by_role_and_label(Role::Label, "Frozen").click();
        d.harness.step();
    }
    d.steps(3);
    assert!(!d.page().config.value(FROZEN).unwrap());
}

#[test]
fn the_scrubber_moves_every_view_back_while_training_goes_on() {
    let mut d = desk(Worker::Steps);
    d.press(Key::Space);
    d.until("some steps", |d| d.page().newest() > 60);
    for key in [Key::F, Key::End] {
        d.harness.get_by_role_and_label(Role::Slider, "Step shown").set_value_accesskit(20.0);
        d.steps(3);
        assert_eq!(d.page().shown_step(), 20);
        assert_eq!(d.harness.query_all_by_label_contains("shows 20 of").count(), 2, "both views show step 20");
        let newest = d.page().newest();
        d.until("training goes on", |d| d.page().newest() > newest + 5);
        assert_eq!(d.page().shown_step(), 20);
        d.press(key);
        assert!(d.page().scrub.is_none());
        assert!(d.page().shown_step() > newest);
    }
}

#[test]
fn reset_begins_again_and_keeps_the_layout() {
    let mut d = desk(Worker::Steps);
    d.press(Key::Space);
    d.until("running", |d| d.page().newest() > 5);
    d.click("Reset");
    d.until("a new run", |d| d.state() == "ready" && d.page().newest() == 0);
    assert_eq!(d.page().tiling.in_order().len(), 2);
}

#[test]
fn the_palette_finds_and_runs_an_action() {
    let mut d = desk(Worker::Steps);
    d.command(Key::P);
    d.harness.event(egui::Event::Text("dark or".into()));
    d.steps(2);
    let dark = d.harness.state().theme().dark;
    d.press(Key::Enter);
    assert_ne!(d.harness.state().theme().dark, dark);
    assert!(!d.shows("Dark or light"), "the palette closes");
    d.run_command("wide");
    assert_eq!(d.page().config.value(WIDTH).unwrap(), 128, "a preset is found too");
    assert_eq!(d.page().config.preset, "wide");
}

#[test]
fn the_first_frame_of_a_theme_has_no_colour_of_the_other() {
    fn read(shape: &egui::Shape, into: &mut HashSet<egui::Color32>) {
        match shape {
            egui::Shape::Vec(all) => all.iter().for_each(|s| read(s, into)),
            egui::Shape::Rect(rect) => _ = into.insert(rect.fill),
            egui::Shape::Text(text) => {
                into.extend(text.galley.job.sections.iter().map(|s| s.format.color).chain([text.fallback_color]));
            }
            _ => {}
        }
    }
    let mut d = desk(Worker::Steps);
    for _ in 0..2 {
        let old = d.harness.state().theme().clone();
        d.harness.key_down(Key::D);
        d.steps(1);
        d.harness.key_up(Key::D);
        d.steps(1);
        assert_ne!(d.harness.state().theme().dark, old.dark, "it changes in the frame after the key's");
        let mut colours = HashSet::new();
        d.harness.output().shapes.iter().for_each(|s| read(&s.shape, &mut colours));
        assert!(!colours.contains(&old.raised) && !colours.contains(&old.text), "{colours:?}");
        d.steps(2);
    }
}

/// A window in which the sheet of keys is scrolled.
const LOW: [f32; 2] = [1280.0, 560.0];

/// The line of the palette that Enter runs, and whether it is in sight.
fn chosen_line(d: &Desktop) -> (String, bool) {
    let is_chosen = |node: &egui_kittest::Node<'_>| node.accesskit_node().toggled() == Some(Toggled::True);
    let line = d.harness.query_all_by_role(Role::MenuItem).find(is_chosen).expect("a chosen line");
    // the list has twelve lines
    let (field, place) = (d.harness.get_by_label("Command").rect(), line.rect());
    let list = field.bottom()..=field.bottom() + 12.0 * 28.0 + 24.0;
    let is_in_sight = list.contains(&place.top()) && list.contains(&place.bottom());
    (line.accesskit_node().label().unwrap_or_default(), is_in_sight)
}

#[test]
fn the_palette_runs_a_line_that_is_in_sight() {
    let mut d = open_labs(Opening::Lab("fast_slow".into()), Worker::Steps, VIEWS, LOW);
    d.until("ready", |d| d.state() == "ready");
    let middle = egui::pos2(LOW[0] / 2.0, LOW[1] / 2.0);
    let type_text = |d: &mut Desktop, text: &str| {
        d.harness.event(egui::Event::Text(text.into()));
        d.steps(3);
    };
    // another sheet was scrolled
    d.press(Key::Questionmark);
    d.wheel(middle, 300.0);
    d.press(Key::Escape);
    d.command(Key::P);
    let (line, is_in_sight) = chosen_line(&d);
    assert!(is_in_sight && line.starts_with("Run or pause"), "{line}");
    type_text(&mut d, "equil");
    assert!(chosen_line(&d).1, "{:?}", chosen_line(&d));

    // the list itself was scrolled
    d.press(Key::Escape);
    d.command(Key::P);
    d.wheel(middle, 600.0);
    assert!(!chosen_line(&d).1, "the wheel scrolls it");
    type_text(&mut d, "loss");
    assert!(chosen_line(&d).1, "{:?}", chosen_line(&d));
    for _ in 0..20 {
        d.press(Key::ArrowDown);
        assert!(chosen_line(&d).1, "{:?}", chosen_line(&d));
    }
    d.wheel(middle, -600.0);
    d.press(Key::ArrowUp);
    assert!(chosen_line(&d).1, "{:?}", chosen_line(&d));
    // the arrows choose, and leave the cursor behind what was typed
    type_text(&mut d, "x");
    let typed = d.harness.get_by_label("Command").accesskit_node().value();
    assert_eq!(typed.as_deref(), Some("lossx"));
}

#[test]
fn the_sheet_of_keys_begins_at_its_top() {
    let mut d = open_sized(Worker::Steps, LISTS, Some(Opening::Lab("pretend".into())), LOW);
    d.until("ready", |d| d.state() == "ready");
    let top = |d: &Desktop| d.harness.get_by_label_contains("plain keys do nothing").rect().top();
    d.press(Key::Questionmark);
    let before = top(&d);
    d.wheel(egui::pos2(LOW[0] / 2.0, LOW[1] / 2.0), 150.0);
    assert!(top(&d) < before - 50.0, "the wheel scrolls it");
    d.press(Key::Home);
    d.steps(30);
    assert!((top(&d) - before).abs() < 1.0, "and so do keys");
    d.press(Key::PageDown);
    d.steps(30);
    assert!(top(&d) < before - 50.0);
    d.press(Key::Escape);
    d.press(Key::Questionmark);
    assert!((top(&d) - before).abs() < 1.0);
}

#[test]
fn the_run_button_of_a_finished_run_plays_as_space_does() {
    let mut d = desk(Worker::Finishes);
    d.press(Key::Space);
    d.until("the end", |d| d.state() == "finished");
    d.steps(3);
    d.click("Run");
    assert!(d.page().play.is_on());
    d.click("Pause");
    assert!(!d.page().play.is_on() && d.page().scrub.is_some());
    assert_eq!(d.launched().len(), 1, "no run was begun");
    d.steps(30);
    let scrubber = d.harness.get_by_role_and_label(Role::Slider, "Step shown").rect();
    d.harness.hover_at(scrubber.center());
    d.until("its tooltip", |d| d.shows("Drag to see every view"));
    assert!(!d.shows("training goes on"), "nothing trains any more");
}

#[test]
fn a_theme_change_begins_with_the_next_frame() {
    let mut d = desk(Worker::Steps);
    let ground = |d: &Desktop| {
        let app = d.harness.state();
        assert_eq!(app.theme().page, d.harness.ctx.global_style().visuals.panel_fill);
        app.theme().dark
    };
    let before = ground(&d);
    let (key, modifiers) = (Key::D, egui::Modifiers::NONE);
    d.harness.input_mut().events.push(egui::Event::Key {
        key,
        physical_key: None,
        pressed: true,
        repeat: false,
        modifiers,
    });
    d.harness.step();
    assert_eq!(ground(&d), before, "the shapes of the frame that takes the key are drawn already");
    d.harness.step();
    assert_ne!(ground(&d), before);
}

#[test]
fn the_palette_stands_still_and_finds_exports_presets_and_views() {
    let lists = Lists { labs: LABS, views: VIEWS };
    let mut d = desk_of(Worker::Steps, lists, Some(Opening::Lab("fast_slow".into())));
    d.until("ready", |d| d.state() == "ready");
    d.command(Key::P);
    let place = |d: &Desktop| d.harness.get_by_label("Command").rect();
    let before = place(&d);
    for typed in ["gate", " pictu", " xyz"] {
        d.harness.event(egui::Event::Text(typed.into()));
        d.steps(3);
        assert_eq!(place(&d), before, "{typed}");
    }
    d.press(Key::Escape);
    let finds = |d: &mut Desktop, typed: &str, wanted: &str| {
        d.command(Key::P);
        d.harness.event(egui::Event::Text(typed.into()));
        d.steps(2);
        assert!(d.shows(wanted), "{typed}: {wanted}");
    };
    finds(&mut d, "loss drawing svg", ", Loss: drawing (SVG)");
    d.press(Key::Escape);
    finds(&mut d, "causality view", "Causality");
    d.press(Key::Escape);
    finds(&mut d, "fact told too early", "A fact told too early  \u{b7}  Fast-slow gate, step 2");
    d.press(Key::Escape);
    finds(&mut d, "recover", "Recoverability  \u{b7}  Traces");
    d.press(Key::Escape);
    finds(&mut d, "by token", "By token");
    d.press(Key::Enter);
    assert_eq!(d.page().lab.id, "fast_slow", "the view of this lab, and no lesson of another");
    finds(&mut d, "the trap", "The trap  ·  Synapses");
    d.press(Key::Enter);
    assert_eq!((d.page().lab.id, d.page().config.preset.as_str()), ("synapses", "synapses_naive"));
}

#[test]
fn an_export_is_found_by_the_palette_and_made() {
    let mut d = desk(Worker::Steps);
    d.run_command("other numbers csv");
    let suggested = "pretend-other-step0.csv".to_owned();
    d.until("the dialog", |d| !d.asked.picked.lock().unwrap().is_empty());
    assert_eq!(d.asked.picked.lock().unwrap()[..], [DialogKind::SaveAs { suggested }]);
}

#[test]
fn a_tile_keeps_its_number() {
    let mut d = desk(Worker::Steps);
    assert!(d.shows("Tile 1: Teller") && d.shows("Tile 2: Other"));
    d.click("Menu of Teller");
    d.click("Close");
    assert!(d.shows("Tile 2: Other"), "a tile keeps its number");
    d.command(Key::Z);
    assert!(d.shows("Tile 1: Teller") && d.shows("Tile 2: Other"));
}

#[test]
fn the_top_bar_says_which_preset_the_run_is_of() {
    let mut d = desk(Worker::Steps);
    let shown = |d: &Desktop| {
        let preset = d.harness.get_by_role_and_label(Role::ComboBox, "preset");
        preset.accesskit_node().value().unwrap_or_default()
    };
    assert_eq!(shown(&d), "First");
    d.run_command("wide");
    d.until("the new run", |d| d.page().mirror().and_then(|m| m.info.as_ref()).unwrap().config.preset == "wide");
    d.press(Key::ArrowRight);
    d.until("a step", |d| d.page().newest() > 0);
    assert_eq!(shown(&d), "Wide");
    d.command(Key::Z);
    d.until("a new run of the first", |d| d.page().newest() == 0);
    assert_eq!(shown(&d), "First", "the preset's run left with it");
}

#[test]
fn the_help_sheet_prints_every_key_and_escape_closes_it() {
    let mut d = desk(Worker::Steps);
    d.press(Key::Questionmark);
    assert!(d.shows("Keys and gestures"));
    for key in orrery::ui::action::KEYS {
        assert!(d.shows(key.description), "{}", key.description);
    }
    d.press(Key::Escape);
    assert!(!d.shows("Keys and gestures"));
    d.command(Key::P);
    d.press(Key::Escape);
    assert!(d.harness.query_by_label("Command").is_none(), "Escape closes the palette");
    assert_eq!(d.page().lab.id, "pretend", "Escape closed the sheet only");
}

#[test]
fn a_tile_is_selected_maximised_closed_and_opened_again() {
    let mut d = desk(Worker::Steps);
    d.press(Key::Num2);
    let second = d.page().tiling.in_order()[1].0;
    assert_eq!(d.page().tiling.selected, Some(second));
    d.press(Key::Enter);
    assert_eq!(d.page().tiling.maximised, Some(second));
    assert!(!d.shows("Tile 1:"), "only the maximised tile is drawn");
    d.press(Key::Escape);
    assert_eq!(d.page().tiling.maximised, None);
    d.click("Menu of Other");
    d.click("Close");
    assert_eq!(d.page().tiling.in_order().len(), 1);
    d.run_command("other view");
    assert_eq!(d.page().tiling.in_order().len(), 2);
}

/// The help sheet promises this for a tile's title.
#[test]
fn a_double_click_on_a_title_maximises_the_tile_and_another_puts_it_back() {
    let mut d = desk(Worker::Steps);
    let second = d.page().tiling.in_order()[1].0;
    for maximised in [Some(second), None] {
        for _ in 0..2 {
            d.harness.get_by_label("Tile 2: Other").click();
            d.harness.step();
        }
        d.steps(40); // lets enough time pass that the next click does not count as the third of a triple click
        assert_eq!(d.page().tiling.maximised, maximised);
    }
}

#[test]
fn numbers_are_exported_through_the_dialog_or_into_the_export_folder() {
    let mut d = desk(Worker::Steps);
    d.click("Menu of Teller");
    d.click("Save the numbers (CSV)…");
    let suggested = "pretend-teller-step0.csv".to_owned();
    assert_eq!(d.asked.picked.lock().unwrap()[..], [DialogKind::SaveAs { suggested: suggested.clone() }]);
    d.deliver
        .send(Delivery::Picked { dialog: DialogKind::SaveAs { suggested: suggested.clone() }, path: None })
        .unwrap();
    d.steps(3);
    assert!(d.shows("no file was chosen, or no file dialog opens here"), "the system does not tell which");
    d.click("Save into exports");
    let written = d.asked.written.lock().unwrap().clone();
    assert_eq!(written, [(PathBuf::from("exports").join(suggested), b"step\n0\n".to_vec())]);
}

#[test]
fn a_picture_is_drawn_anew_at_the_chosen_size() {
    if !crate::adapter::exists() {
        return;
    }
    let mut d = desk(Worker::Steps);
    d.click("Menu of Teller");
    d.click("Save the picture (PNG)…");
    d.steps(5);
    assert!(d.shows("Picture of Teller") && d.shows("SVG"));
    d.click("1200 × 1200");
    d.click("Save pretend-teller-step0.png…");
    d.until("a place is asked for", |d| !d.asked.picked.lock().unwrap().is_empty());
    let dialog = DialogKind::SaveAs { suggested: "pretend-teller-step0.png".to_owned() };
    assert_eq!(&d.asked.picked.lock().unwrap()[..], std::slice::from_ref(&dialog));
    d.deliver.send(Delivery::Picked { dialog, path: Some("here.png".into()) }).unwrap();
    d.steps(3);
    let written = d.asked.written.lock().unwrap().clone();
    let picture = image::load_from_memory(&written[0].1).unwrap().to_rgba8();
    assert_eq!(picture.dimensions(), (1200, 1200));
    let colours: std::collections::BTreeSet<_> = picture.pixels().map(|p| p.0).collect();
    assert!(colours.len() > 8, "words on the ground");
}

#[test]
fn a_copied_session_reproduces_the_page() {
    let mut d = desk(Worker::Steps);
    d.click("Frozen");
    d.harness.event(egui::Event::Copy);
    d.harness.step();
    let copied = d.harness.output().platform_output.commands.iter().find_map(|c| match c {
        egui::OutputCommand::CopyText(text) => Some(text.clone()),
        _ => None,
    });
    let text = copied.expect("something is copied");
    assert!(text.starts_with("orrery1:"));
    let mut other = desk_of(Worker::Steps, LISTS, None);
    other.steps(2);
    other.harness.event(egui::Event::Paste(text));
    other.steps(3);
    assert_eq!(other.page().config, d.page().config);
    other.harness.event(egui::Event::Paste("orrery1:broken".into()));
    other.steps(3);
    assert!(other.shows("the pasted session is damaged"));
}

#[test]
fn a_broken_config_says_what_is_wrong() {
    let mut d = desk(Worker::Steps);
    d.deliver.send(Delivery::Picked { dialog: DialogKind::OpenConfig, path: Some("mine.toml".into()) }).unwrap();
    d.until("the complaint", |d| d.shows("did you mean `model.width`"));
    assert!(d.shows("mine.toml"));
}

#[test]
fn settings_that_do_not_fit_are_reported_beside_the_control() {
    let mut d = desk(Worker::Steps);
    d.press(Key::Space);
    d.until("running", |d| d.page().newest() > 5);
    d.harness.get_by_role_and_label(Role::SpinButton, "Width").set_value_accesskit(65.0);
    d.steps(3);
    d.press(Key::R);
    assert!(d.shows("\u{201c}Width\u{201d} must be a multiple of 8"), "as the control is called");
    assert!(d.page().newest() > 5, "the old run's data stays");
    d.click("Undo the change");
    assert_eq!(d.page().config.value(WIDTH).unwrap(), 64);
}

#[test]
fn a_dropped_file_goes_where_it_belongs() {
    let mut d = desk(Worker::Steps);
    drop_file(&mut d, "book.txt");
    assert_eq!(d.page().config.value(FILE).unwrap(), "book.txt");
    d.until("the settled change", |d| d.asked.launched.lock().unwrap().len() == 2);
    drop_file(&mut d, "missing.txt");
    d.until("the complaint", |d| d.shows("no such file"));
    drop_file(&mut d, "runs-2026-11-20");
    d.until("the replay", |d| d.state() == "replay");
    assert_eq!(d.page().newest(), 40);
    d.harness.get_by_role_and_label(Role::Slider, "Step shown").set_value_accesskit(7.0);
    d.steps(3);
    assert_eq!(d.page().shown_step(), 7, "a replay can be scrubbed");
}

#[test]
fn a_dropped_folder_is_opened_whatever_its_name_ends_in() {
    let mut d = desk(Worker::Steps);
    for (i, name) in ["checkpoints.v2", "checkpoints.pt", "runs-2026.11.20"].into_iter().enumerate() {
        drop_file(&mut d, name);
        d.until("the folder", |d| d.asked.opened.lock().unwrap().len() == i + 1);
        assert_eq!(d.asked.opened.lock().unwrap()[i], PathBuf::from(name));
    }
    assert_eq!(d.asked.launched.lock().unwrap().len(), 1, "none was taken for weights");
}

#[test]
fn trained_weights_are_opened_ready_to_be_asked() {
    let mut d = desk(Worker::Steps);
    for (i, name) in ["one.pt", "two.pth", "three.safetensors"].into_iter().enumerate() {
        drop_file(&mut d, name);
        assert_eq!(d.page().config.value(CHECKPOINT).unwrap(), name);
        assert_eq!(d.page().config.value(FILE).unwrap(), "");
        assert_eq!(d.asked.launched.lock().unwrap().len(), 2 + i, "opened at once, paused");
    }
    let picked = Delivery::Picked { dialog: DialogKind::Open(FileKind::Checkpoint), path: Some("four".into()) };
    d.deliver.send(picked).unwrap();
    d.until("the picked one", |d| d.page().config.value(CHECKPOINT).unwrap() == "four");
    d.press(Key::Escape);
    d.press(Key::Escape);
    drop_file(&mut d, "five.pt");
    assert_eq!(d.page().config.value(CHECKPOINT).unwrap(), "five.pt", "from the gallery too");
}

/// These labs open on a preset that cannot use a file: its task has its own symbols, or it trains a new model.
#[test]
fn a_file_of_ones_own_is_read_with_the_first_preset() {
    for (id, file, key) in [("fast_slow", "book.txt", "corpus.file"), ("trained_bdh", "one.pt", "model.checkpoint")] {
        let lists = Lists { labs: LABS, views: VIEWS };
        let mut d = desk_of(Worker::Steps, lists, Some(Opening::Lab(id.into())));
        d.until("ready", |d| d.state() == "ready");
        let first = d.page().lab.config(None).unwrap();
        assert_ne!(d.page().config.preset, first.preset, "{id}");
        drop_file(&mut d, file);
        d.until("the file", |d| d.page().config.get(key) == Some(&Value::Text(file.into())));
        assert_eq!(d.page().config.preset, first.preset, "{id}");
        assert_eq!(d.page().config.changed_keys(&first), [key], "{id}");
    }
}

#[test]
fn a_checkpoint_that_a_preset_drops_comes_back_by_an_undo() {
    let mut d = desk(Worker::Steps);
    drop_file(&mut d, "one.pt");
    assert_eq!(d.page().config.value(CHECKPOINT).unwrap(), "one.pt");
    d.run_command("wide");
    d.until("the preset", |d| d.page().config.value(WIDTH).unwrap() == 128);
    assert_eq!(d.page().config.value(CHECKPOINT).unwrap(), "");
    d.steps(2);
    assert!(d.shows("has closed Checkpoint (one.pt). Ctrl Z opens it again."));
    d.command(Key::Z);
    assert_eq!(d.page().config.value(CHECKPOINT).unwrap(), "one.pt");
    let opened = |d: &Desktop| d.asked.launched.lock().unwrap().last().map(|c| c.value(CHECKPOINT).unwrap());
    d.until("the weights are opened again", |d| opened(d).as_deref() == Some("one.pt"));
}

/// Undo and redo happen in one frame, when the replay that the undo requested is not open yet. It must not displace the
/// new run afterwards.
#[test]
fn a_redo_at_once_after_an_undo_keeps_the_run_that_it_brings() {
    let mut d = desk(Worker::Steps);
    drop_file(&mut d, "runs-2026-11-20");
    d.until("the replay", |d| d.state() == "replay");
    d.harness.get_by_role_and_label(Role::Slider, "Step shown").set_value_accesskit(7.0);
    d.steps(3);
    d.press(Key::R);
    d.until("a new run", |d| d.state() == "ready");
    let shift = Modifiers { shift: true, ..Modifiers::COMMAND };
    let key = |modifiers| egui::Event::Key { key: Key::Z, physical_key: None, pressed: true, repeat: false, modifiers };
    let launched = d.launched().len();
    d.harness.input_mut().events.extend([key(Modifiers::COMMAND), key(shift)]);
    for _ in 0..20 {
        d.steps(1);
        assert_eq!((d.state(), d.launched().len()), ("ready", launched), "the run is on the page still");
    }
    d.command(Key::Z);
    d.until("the replay again", |d| d.state() == "replay" && d.page().newest() == 40);
    assert_eq!(d.page().scrub, Some(7), "at the step at which it was left");
    d.command(Key::Y);
    d.until("the new run once more", |d| d.state() == "ready" && d.page().newest() == 0);
    assert_eq!(d.page().scrub, None);
}

/// A thread opens the run that an undo restores. A run that starts in the meantime must not be displaced by it.
#[test]
fn a_run_begun_while_an_undone_one_opens_stays() {
    let mut d = desk(Worker::Steps);
    drop_file(&mut d, "runs-2026-11-20");
    d.until("the replay", |d| d.state() == "replay");
    d.press(Key::R);
    d.until("a new run", |d| d.state() == "ready");
    let key = |key, modifiers| egui::Event::Key { key, physical_key: None, pressed: true, repeat: false, modifiers };
    d.harness.input_mut().events.extend([key(Key::Z, Modifiers::COMMAND), key(Key::R, Modifiers::NONE)]);
    for _ in 0..60 {
        d.steps(1);
        assert_ne!(d.state(), "replay", "the undone step is behind another");
    }
    assert_eq!(d.state(), "ready");
}

/// A view that shows the answer to an earlier question than the one that its controls describe.
struct Outdated;

const OUTDATED: &str = "Shown is the answer to an earlier question: step 12";

impl View for Outdated {
    fn ui(&mut self, ui: &mut egui::Ui, cx: &mut ViewCx<'_>) {
        cx.questions.note_outdated(OUTDATED.to_owned());
        ui.with_layout(egui::Layout::bottom_up(egui::Align::Min), |ui| ui.label("the last row"));
    }

    fn subtitle(&self, _cx: &ViewCx<'_>) -> String {
        "of this question".to_owned()
    }

    fn csv(&self, _cx: &ViewCx<'_>) -> Option<String> {
        Some("step\n12\n".to_owned())
    }

    fn svg(&self, cx: &ViewCx<'_>) -> Option<String> {
        Some(Svg::new("outdated", egui::vec2(300.0, 200.0), cx.theme.panel).finish())
    }
}

static OUTDATED_VIEWS: [ViewEntry; 1] =
    [ViewEntry { id: "teller", title: "Teller", about: "Tells. An earlier answer.", make: || Box::new(Outdated) }];

#[test]
fn an_earlier_answer_is_called_so_in_what_is_saved_of_it() {
    let lists = Lists { labs: &PRETEND, views: &OUTDATED_VIEWS };
    let mut d = desk_of(Worker::Steps, lists, Some(Opening::Lab("pretend".into())));
    d.until("ready", |d| d.state() == "ready");
    d.until("the note", |d| d.shows(OUTDATED));
    d.steps(2);
    let [row, note] = ["the last row", OUTDATED].map(|label| d.harness.get_by_label(label).rect());
    assert!(row.bottom() <= note.top(), "the note covers nothing: {row:?} {note:?}");
    for (save, ending) in [(ExportFormat::Csv, "csv"), (ExportFormat::Svg, "svg")] {
        d.click("Menu of Teller");
        d.click(&format!("Save the {}\u{2026}", save.label()));
        let suggested = format!("pretend-teller-step0.{ending}");
        if save == ExportFormat::Svg {
            d.until("the sheet", |d| d.shows("Picture of Teller"));
            d.click(&format!("Save {suggested}\u{2026}"));
        }
        let dialogs = if save == ExportFormat::Svg { 2 } else { 1 };
        d.until("the dialog", |d| d.asked.picked.lock().unwrap().len() == dialogs);
        let path = Some(PathBuf::from(format!("saved.{ending}")));
        d.deliver.send(Delivery::Picked { dialog: DialogKind::SaveAs { suggested }, path }).unwrap();
        d.steps(3);
    }
    let written = d.asked.written.lock().unwrap().clone();
    let texts: Vec<String> = written.into_iter().map(|(_, bytes)| String::from_utf8(bytes).unwrap()).collect();
    assert_eq!(texts.len(), 2);
    assert_eq!(texts[0], format!("# {OUTDATED}\nstep\n12\n"));
    assert!(texts[1].contains(OUTDATED) && !texts[1].contains("of this question"), "{}", texts[1]);
}

#[test]
fn a_file_of_other_content_is_refused_and_not_set() {
    let mut d = desk(Worker::Steps);
    let chosen = |path: &str| ChosenFile {
        path: path.into(),
        kind: FileKind::Text,
        lab: LAB.id,
        key: "corpus.file",
        is_opened: true,
    };
    let checked = |path: &str, read| Delivery::Checked { file: chosen(path), read };
    d.deliver.send(checked("bad.txt", Err("line 1 is not a sentence".into()))).unwrap();
    d.until("the refusal", |d| d.shows("bad.txt was not opened: line 1 is not a sentence"));
    assert!(!d.shows("is set") && d.page().config.value(FILE).unwrap().is_empty());
    assert!(d.page().refused.contains_key("corpus.file"), "the control says it as well");
    d.deliver.send(checked("good.txt", Ok(CheckedFile::default()))).unwrap();
    d.until("the message", |d| d.shows("good.txt is set"));
    assert_eq!(d.page().config.value(FILE).unwrap(), "good.txt");
}

#[test]
fn a_matrix_that_is_picked_brings_its_number_of_states() {
    let lists = Lists { labs: LABS, views: VIEWS };
    let mut d = desk_of(Worker::Steps, lists, Some(Opening::Lab("equilibrium".into())));
    d.until("ready", |d| d.state() == "ready");
    let states = |d: &Desktop| d.page().config.get("generator.states").map(ToString::to_string);
    assert_ne!(states(&d).as_deref(), Some("3"));
    let (kind, lab, key) = (FileKind::Matrix, "equilibrium", "generator.file");
    let send = |d: &Desktop, path: &str, read| {
        let file = ChosenFile { path: path.into(), kind, lab, key, is_opened: true };
        d.deliver.send(Delivery::Checked { file, read }).unwrap();
    };
    send(&d, "three.csv", Ok(CheckedFile { states: Some(3) }));
    d.until("the message", |d| d.shows("three.csv is set"));
    assert_eq!(states(&d).as_deref(), Some("3"));
    assert!(d.page().refused.is_empty());
    // what the command says of a larger one
    let why = "76 states; a generator here has 2 to 64";
    send(&d, "large.csv", Err(why.to_owned()));
    d.until("the refusal", |d| d.shows(&format!("large.csv was not opened: {why}")));
    assert_eq!(states(&d).as_deref(), Some("3"), "the matrix before stays");
    assert_eq!(d.page().config.get(key).map(ToString::to_string).as_deref(), Some("three.csv"));
    assert_eq!(d.page().refused.get(key).map(String::as_str), Some(why));
}

#[derive(Debug)]
pub struct Dropped(pub PathBuf);

impl egui::DroppedFile for Dropped {
    fn path(&self) -> &std::path::Path {
        &self.0
    }

    fn bytes(&self) -> Result<Vec<u8>, String> {
        Err("the window never reads files".into())
    }
}

fn drop_file(d: &mut Desktop, name: &str) {
    d.harness.input_mut().dropped_files.push(Arc::new(Dropped(name.into())));
    d.steps(4);
}

#[test]
fn a_replay_plays_and_stands_still_when_paused() {
    let mut d = desk(Worker::Steps);
    drop_file(&mut d, "runs-2026-11-20");
    d.until("the replay", |d| d.state() == "replay");
    d.press(Key::Space);
    assert!(d.page().play.is_on() && d.page().shown_step() < 5, "from the beginning");
    d.until("half of it", |d| d.page().shown_step() >= 20);
    let shown = d.page().shown_step();
    assert!(d.shows(&format!("shows {shown} of 40")), "every view goes along");
    d.press(Key::Space);
    d.steps(90);
    let paused = d.page().shown_step();
    assert!(!d.page().play.is_on() && paused < 40, "{paused}");
    assert!(d.harness.run() <= 8, "nothing is drawn while nothing plays");
    assert_eq!(d.page().shown_step(), paused);
    d.press(Key::Space);
    d.until("the end", |d| !d.page().play.is_on());
    assert_eq!((d.page().shown_step(), d.page().scrub), (40, None));
    d.click("Play again at the end");
    d.click("Speed of playing");
    d.click("the whole run in 5 s");
    d.click("Play what was recorded");
    d.until("the end", |d| d.page().shown_step() >= 38);
    d.until("again", |d| d.page().shown_step() < 5);
    assert!(d.page().play.is_on());
}

#[test]
fn space_plays_the_scrubbed_steps_and_then_resumes_training() {
    let mut d = desk(Worker::Steps);
    d.press(Key::Space);
    d.until("some steps", |d| d.page().newest() > 60);
    d.harness.get_by_role_and_label(Role::Slider, "Step shown").set_value_accesskit(20.0);
    d.steps(3);
    d.press(Key::Space);
    d.until("paused", |d| d.state() == "paused");
    assert_eq!(d.page().shown_step(), 20, "on a run that trains Space pauses the training");
    let newest = d.page().newest();
    d.press(Key::Space);
    d.until("the end", |d| d.page().scrub.is_none());
    assert_eq!((d.page().newest(), d.state()), (newest, "paused"));
    d.press(Key::Space);
    d.until("training", |d| d.state() == "running");
}

#[test]
fn nothing_ends_a_training_without_asking() {
    let mut d = desk(Worker::Steps);
    d.press(Key::Space);
    d.until("running", |d| d.page().newest() > 5);
    let copied = d.page().shared().to_text().unwrap();
    let preset = |d: &mut Desktop| {
        d.run_command("wide");
    };
    let replay = |d: &mut Desktop| drop_file(d, "runs-2026-11-20");
    let weights = |d: &mut Desktop| drop_file(d, "one.pt");
    let letter = |d: &mut Desktop| d.press(Key::R);
    let paste = |d: &mut Desktop| {
        d.harness.event(egui::Event::Paste(copied.clone()));
        d.steps(3);
    };
    let all = [&preset as &dyn Fn(&mut Desktop), &replay, &weights, &letter, &paste];
    for (i, ends) in all.into_iter().enumerate() {
        ends(&mut d);
        d.until("the question", |d| d.shows("A run is training"));
        let asked_at = d.page().newest();
        let is_said = |d: &Desktop, step| d.shows(&format!("at step {} of", grouped(step)));
        d.until("the sheet follows the run", |d| d.page().newest() > asked_at && is_said(d, d.page().newest()));
        d.click("Keep training");
        assert!(!d.shows("A run is training"));
        assert_eq!((d.state(), d.asked.launched.lock().unwrap().len()), ("running", 1), "{i}");
        assert_eq!(d.page().config.value(WIDTH).unwrap(), 64);
    }
    preset(&mut d);
    d.click("Stop it and go on");
    d.until("the new run", |d| d.state() == "ready");
    assert_eq!(d.page().config.value(WIDTH).unwrap(), 128);
    d.press(Key::Space);
    d.until("running", |d| d.page().newest() > 5);
    replay(&mut d);
    d.until("the question", |d| d.shows("A run is training"));
    d.click("Stop it and go on");
    d.until("the replay", |d| d.state() == "replay");
    d.press(Key::R);
    d.until("a reset of a replay asks nothing", |d| d.state() == "ready");
    d.command(Key::Z);
    d.until("the replay again", |d| d.state() == "replay");
    assert_eq!(d.asked.opened.lock().unwrap().len(), 3, "opened by its folder");
}

#[test]
fn a_reset_that_waits_for_a_training_happens_when_it_ends() {
    let mut d = desk(Worker::Steps);
    d.press(Key::Space);
    d.until("running", |d| d.page().newest() > 5);
    d.press(Key::R);
    d.until("the question", |d| d.shows("A run is training"));
    d.page().send(Command::Pause).unwrap();
    d.until("the reset", |d| d.state() == "ready" && d.launched().len() == 2);
    assert!(!d.shows("A run is training"));
}

#[test]
fn live_changes_are_marked_on_charts_and_on_the_scrubber() {
    let lists = Lists { labs: LABS, views: VIEWS };
    let mut d = desk_of(Worker::Steps, lists, Some(Opening::Lab("fast_slow".into())));
    d.until("ready", |d| d.state() == "ready");
    d.press(Key::Space);
    d.until("running", |d| d.page().newest() > 5);
    let slider = d.harness.get_by_role_and_label(Role::SpinButton, "Coupling scale");
    slider.set_value_accesskit(2.0);
    d.until("the change", |d| !d.page().mirror().unwrap().changes.is_empty());
    d.press(Key::Space);
    d.until("paused", |d| d.state() == "paused");
    let step = d.page().mirror().unwrap().changes[0].0;
    let scrubber = d.harness.get_by_role_and_label(Role::Slider, "Step shown").rect();
    let track = scrubber.shrink2(egui::vec2(scrubber.height() / 2.5, 0.0));
    let x = track.left() + track.width() * step as f32 / 650.0;
    d.harness.hover_at(egui::pos2(x, track.center().y));
    d.steps(60);
    assert!(d.shows(&format!("step {step}: Coupling scale 2")));
}

#[test]
fn a_failed_run_says_so_on_the_page_and_keeps_its_data() {
    let mut d = desk(Worker::Fails);
    d.press(Key::Space);
    d.until("the failure", |d| d.state() == "failed");
    d.steps(2);
    assert!(d.shows("the loss is not a number at step 3"));
    assert!(d.shows("The run stopped at step 3"));
    for name in ["Run", "Step"] {
        let button = d.harness.get_by_role_and_label(Role::Button, name);
        assert!(button.accesskit_node().is_disabled(), "{name} could do nothing");
    }
    d.harness.get_by_role_and_label(Role::Slider, "Step shown").set_value_accesskit(2.0);
    d.steps(3);
    assert_eq!(d.page().shown_step(), 2);
}

#[test]
fn frames_are_drawn_while_the_worker_is_stalled() {
    let mut d = desk(Worker::Stalled);
    d.press(Key::Space);
    let begun = Instant::now();
    let before = d.harness.state().frame_stats().frames;
    for i in 0..60 {
        d.harness.hover_at(egui::pos2(300.0 + i as f32, 300.0));
        d.harness.step();
    }
    assert!(begun.elapsed() < Duration::from_secs(10), "the window waits for nobody: {:?}", begun.elapsed());
    assert!(d.harness.state().frame_stats().frames >= before + 60);
    d.press(Key::Questionmark);
    assert!(d.shows("Keys and gestures"), "and it still answers");
}

#[test]
fn no_frames_are_requested_at_rest() {
    let mut d = desk(Worker::Steps);
    d.steps(20);
    // `run` panics if the application never stops requesting frames
    let frames = d.harness.run();
    assert!(frames <= 4, "{frames} frames were asked for at rest");
    let again = d.harness.run();
    assert!(again <= 1, "{again} frames were asked for at rest");
}

#[test]
fn a_text_dropped_on_the_gallery_asks_in_which_lab() {
    let mut d = desk_of(Worker::Steps, LISTS, None);
    d.steps(2);
    drop_file(&mut d, "book.txt");
    assert!(d.shows("In which lab?"));
    d.harness.get_by_role_and_label(Role::Button, "Pretend lab").click();
    d.steps(3);
    assert_eq!(d.page().config.value(FILE).unwrap(), "book.txt");
}

#[test]
fn a_treebank_dropped_on_the_gallery_opens_in_the_lab_that_reads_it() {
    let mut d = desk_of(Worker::Steps, Lists { labs: LABS, views: VIEWS }, None);
    d.steps(2);
    drop_file(&mut d, "own.conllu");
    assert_eq!(d.page().config.get("grammar.treebank"), Some(&Value::Text("own.conllu".into())));
    d.harness.get_by_role_and_label(Role::ComboBox, "preset").click();
    d.steps(3);
    d.click("Supervised taggers");
    assert!(d.shows("The preset \u{201c}Supervised taggers\u{201d} has closed Treebank (own.conllu)."));
}

#[test]
fn an_unavailable_device_is_shown_with_words_and_cannot_be_chosen() {
    let mut d = desk_of(Worker::Steps, Lists { labs: LABS, views: VIEWS }, Some(Opening::Lab(LABS[0].id.into())));
    d.until("ready", |d| d.state() == "ready");
    d.harness.get_by_role_and_label(Role::ComboBox, "on").click();
    d.steps(3);
    let entry = d.harness.get_by_label("cuda:0: not in this build");
    assert!(entry.accesskit_node().is_disabled());
}

#[test]
fn presenter_mode_folds_the_panels_and_shows_keys() {
    let mut d = desk(Worker::Steps);
    assert!(d.harness.query_by_label("Find a control").is_some());
    let zoom = d.harness.ctx.zoom_factor();
    d.press(Key::P);
    assert!(d.harness.query_by_label("Find a control").is_none());
    assert!((d.harness.ctx.zoom_factor() / zoom - 1.5).abs() < 1e-3);
    assert!(d.harness.query_by_label("F").is_none());
    d.press(Key::F);
    assert!(d.harness.query_by_label("F").is_some(), "the key that was pressed");
    d.press(Key::P);
    assert!((d.harness.ctx.zoom_factor() / zoom - 1.0).abs() < 1e-3);
}

#[test]
fn brackets_fold_nothing_that_presenter_mode_has_not() {
    let mut d = desk(Worker::Steps);
    d.press(Key::P);
    d.press(Key::OpenBracket);
    assert!(d.shows("Presenter mode has no controls") && d.harness.query_by_label("[").is_some());
    d.command(Key::P);
    d.harness.event(egui::Event::Text("fold or open".into()));
    d.steps(2);
    assert!(!d.shows("Fold or open the right panel"), "nor does the palette offer it");
    d.press(Key::Escape);
    d.press(Key::P);
    assert!(d.harness.query_by_label("Find a control").is_some(), "the panels are as they were");
}

/// After a slow frame, all of this input arrives in the next frame at once.
#[test]
fn what_is_typed_right_after_the_key_of_the_palette_is_for_the_palette() {
    let mut d = desk(Worker::Steps);
    let dark = d.harness.state().theme().dark;
    let key = |key, modifiers| egui::Event::Key { key, physical_key: None, pressed: true, repeat: false, modifiers };
    let typed = [key(Key::D, Modifiers::NONE), egui::Event::Text("wide".into())];
    d.harness.input_mut().events.push(key(Key::P, Modifiers::COMMAND));
    d.harness.input_mut().events.extend(typed);
    d.steps(4);
    assert_eq!(d.harness.state().theme().dark, dark);
    d.press(Key::Enter);
    d.until("the preset", |d| d.page().config.value(WIDTH).unwrap() == 128);
}

#[test]
fn brackets_fold_the_panels_and_a_letter_shows_the_frame_times() {
    let mut d = desk(Worker::Steps);
    let parts = [
        (Key::OpenBracket, "Find a control", [false, true]),
        (Key::CloseBracket, "Inspector", [false, true]),
        (Key::T, "frames: busy p50", [true, false]),
    ];
    for (key, part, after) in parts {
        for is_shown in after {
            assert_ne!(d.shows(part), is_shown);
            d.press(key);
            assert_eq!(d.shows(part), is_shown, "{part}");
        }
    }
}

#[test]
fn a_pace_reaches_the_run_and_the_one_after_it() {
    let mut d = desk(Worker::Steps);
    let paces = |d: &Desktop| -> Vec<f64> {
        let told = d.asked.commands.lock().unwrap();
        let pace = |c: &Command| if let Command::Pace(pace) = c { Some(*pace) } else { None };
        told.iter().filter_map(pace).collect()
    };
    for name in ["Pace x1", "Pace max", "Pace x4"] {
        d.click(name);
    }
    d.until("the paces arrive", |d| paces(d) == [4.0, 0.0, 16.0]);
    d.press(Key::R);
    d.until("the next run is told", |d| paces(d) == [4.0, 0.0, 16.0, 16.0]);
}

/// The storage that persists after the window is closed.
#[derive(Default)]
struct MemoryStorage(HashMap<String, String>);

impl eframe::Storage for MemoryStorage {
    fn get_string(&self, key: &str) -> Option<String> {
        self.0.get(key).cloned()
    }

    fn set_string(&mut self, key: &str, value: String) {
        self.0.insert(key.to_owned(), value);
    }

    fn remove_string(&mut self, key: &str) {
        self.0.remove(key);
    }

    fn flush(&mut self) {}
}

#[test]
fn reduced_motion_is_chosen_in_the_menu_or_the_palette_and_kept() {
    let mut d = desk(Worker::Steps);
    let is_kept = |d: &mut Desktop| {
        let mut kept = MemoryStorage::default();
        eframe::App::save(d.harness.state_mut(), &mut kept);
        Session::load(&kept).still
    };
    assert!(!is_kept(&mut d));
    d.click("Menu");
    d.harness.get_by_label_contains("Reduced motion").click();
    d.steps(3);
    assert!(is_kept(&mut d));
    assert_eq!(d.harness.ctx.global_style().animation_time, 0.0);
    d.run_command("reduced motion");
    assert!(!is_kept(&mut d));
    assert!(d.harness.ctx.global_style().animation_time > 0.0);
}

#[test]
fn presenter_mode_outlives_the_window() {
    let mut d = desk(Worker::Steps);
    d.press(Key::P);
    let zoom = d.harness.ctx.zoom_factor();
    let mut d = reopened(&mut d, Worker::Steps, LISTS);
    d.steps(3);
    assert_eq!((d.harness.ctx.zoom_factor(), d.page().lab.id), (zoom, "pretend"));
    assert!(!d.shows("Find a control"), "the panels are folded");
    d.press(Key::P);
    assert!((zoom / d.harness.ctx.zoom_factor() - 1.5).abs() < 1e-3 && d.shows("Find a control"));
}

#[test]
fn messages_of_a_run_become_notes_and_errors_stay() {
    let mut d = desk(Worker::Steps);
    d.press(Key::ArrowRight);
    d.until("a step", |d| d.page().newest() == 1);
    d.click("Menu");
    d.harness.get_by_label_contains("Write a checkpoint now").click();
    d.until("the run's message", |d| d.shows("step 1 is written"));
    d.deliver.send(Delivery::Failed { what: "the disk is full; free some space".into() }).unwrap();
    d.steps(3);
    assert!(d.shows("the disk is full"));
    for _ in 0..80 {
        d.harness.input_mut().time = Some(d.harness.ctx.input(|i| i.time) + 1.0);
        d.harness.step();
    }
    assert!(!d.shows("step 1 is written"), "a note goes by itself");
    assert!(d.shows("the disk is full"), "an error stays until it is dismissed");
    d.click("Dismiss");
    assert!(!d.shows("the disk is full"));
}

/// The roles of the controls that a user can change.
pub const CONTROLS: [Role; 8] = [
    Role::Button,
    Role::Link,
    Role::Slider,
    Role::SpinButton,
    Role::ComboBox,
    Role::TextInput,
    Role::Switch,
    Role::CheckBox,
];

/// The controls without a name for screen readers, or without keyboard focus.
fn inaccessible_controls(d: &Desktop) -> Vec<String> {
    let controls = d.harness.query_all_by(|node| CONTROLS.contains(&node.role()));
    let is_lost = |node: &egui_kittest::Node<'_>| {
        let node = node.accesskit_node();
        let can_focus = node.is_disabled() || node.data().supports_action(Asks::Focus);
        !can_focus || node.label().is_none_or(|name| name.trim().is_empty())
    };
    let words = |node: egui_kittest::Node<'_>| {
        let at = node.rect();
        let node = node.accesskit_node();
        format!("{:?} {:?} at {at:?}", node.role(), node.label())
    };
    controls.filter(is_lost).map(words).collect()
}

/// Every real lab opens with its real views and runs with the fake host, and each of its controls has a name and can
/// receive keyboard focus.
#[test]
fn every_lab_opens_and_draws() {
    for lab in LABS {
        let mut d = desk_of(Worker::Steps, Lists { labs: LABS, views: VIEWS }, Some(Opening::Lab(lab.id.into())));
        d.steps(3);
        assert_eq!(d.page().lab.id, lab.id);
        d.press(Key::Space);
        d.until("steps", |d| d.page().newest() > 3);
        if let Some(all) = d.harness.query_by_label_contains("All settings") {
            all.click();
        }
        d.steps(20);
        assert!(inaccessible_controls(&d).is_empty(), "{}: {:?}", lab.id, inaccessible_controls(&d));
    }
}

/// Renders the application with the real labs and the fake host: the gallery, or a lab's page before its first step,
/// after pressing `key`.
pub fn picture_of(lab: Option<&str>, size: [f32; 2], key: Option<Key>) -> image::RgbaImage {
    let (host, asked, deliver) = Pretender::with(Worker::Steps);
    let lists = Lists { labs: LABS, views: VIEWS };
    let start = Start { opening: lab.map(|id| Opening::Lab(id.into())), ..Start::default() };
    let harness = Harness::builder()
        .with_size(size)
        .with_step_dt(1.0 / 60.0)
        .wgpu()
        .build_eframe(move |cc| App::with_lists(cc, host, start, lists));
    let mut d = Desktop { harness, asked, deliver };
    d.steps(3);
    if lab.is_some() && d.page().lab.opens_with_run {
        d.until("ready", |d| d.state() == "ready");
    }
    if let Some(key) = key {
        d.press(key);
    }
    d.steps(90); // waits until animations have ended
    d.harness.render().expect("rendered")
}
