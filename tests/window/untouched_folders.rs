//! Tests with random actions that using the interface writes into no run folder: after settings, lesson steps, links,
//! undo, redo and moved controls, the folders of the opened runs have the same bytes, whether these were interrupted, have
//! finished, or are paused or running in another process. Only a run that trains may write, and only into its own folder.
//! The folders and the host are real; a run that the test starts is ready but never trains.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    path::{Path, PathBuf},
    sync::Arc,
};

use crossbeam::channel::{Receiver, bounded};
use eframe::egui::{Event as Input, Key, Modifiers, accesskit::Role};
use egui_kittest::kittest::Queryable;
use orrery::{
    cli::{host::DesktopHost, runs::Runs},
    config::{Config, Value},
    experiments::permalink::{LinkSelection, Permalink},
    labs::{self, lesson::LessonLink, restrictions::Restrictions},
    store,
    telemetry::{Command, Event, Inbox, RunHandle, RunInfo, RunState},
    ui::{
        host::{Delivery, Host, Wake},
        session::SharedSession,
    },
};

use crate::{
    copy_folder::{contents, copy_folder},
    left_runs::{STEPS, TestWindow, desk_at, interrupted},
    multiples, recorded,
    ui::Dropped,
};

const LR: &str = "train.lr";

/// The real host, except that the runs that it starts never train.
struct Opener {
    desktop: DesktopHost,
    /// The command receivers of the runs that were started.
    begun: Vec<Receiver<Command>>,
}

impl Host for Opener {
    fn set_wake(&mut self, wake: Wake) {
        self.desktop.set_wake(wake);
    }

    fn launch(&mut self, config: &Config, _insist_memory: bool) -> Result<RunHandle, String> {
        let (commands, receiver) = bounded(64);
        self.begun.push(receiver);
        let inbox = Arc::new(Inbox::default());
        let info = RunInfo { lab: config.lab.clone(), config: config.clone(), ..recorded::twins_info() };
        inbox.deliver(Event::Started(info.into()));
        inbox.deliver(Event::State(RunState::Paused));
        Ok(RunHandle { commands, inbox })
    }

    fn open_run(&mut self, folder: PathBuf) -> RunHandle {
        self.desktop.open_run(folder)
    }

    fn identify(&mut self, path: PathBuf) {
        self.desktop.identify(path);
    }

    fn export_folder(&self) -> PathBuf {
        self.desktop.export_folder()
    }

    fn deliveries(&mut self) -> Vec<Delivery> {
        self.desktop.deliveries()
    }
}

/// The files that differ between two states of a folder.
fn changed(before: &BTreeMap<PathBuf, Vec<u8>>, now: &BTreeMap<PathBuf, Vec<u8>>) -> Vec<PathBuf> {
    let all = before.keys().chain(now.keys()).filter(|path| before.get(*path) != now.get(*path));
    all.cloned().collect()
}

/// Writes two runs into `out` and opens a window whose host can open them.
fn two_runs(out: &Path) -> ([PathBuf; 2], TestWindow) {
    let runs = [interrupted(out), interrupted(out)];
    let desktop = DesktopHost::new(out.to_owned(), Runs::new());
    (runs, desk_at(Box::new(Opener { desktop, begun: vec![] })))
}

/// A run of this many steps in `out` that has finished.
fn finished(out: &Path) -> (PathBuf, u64) {
    let known: Vec<PathBuf> = contents(out).into_keys().collect();
    let config = multiples::small("0.02");
    multiples::record(out, &config);
    let is_new = |path: &PathBuf| path.ends_with("run.json") && !known.contains(path);
    let described = contents(out).into_keys().find(is_new).expect("a run was recorded");
    (described.parent().unwrap().to_owned(), config.get("train.steps").and_then(Value::as_f64).unwrap() as u64)
}

/// A copy of a run that another process seems to have in hand, since its lock is held: paused as the run was, or running.
fn held(run: &Path, is_running: bool) -> (PathBuf, File) {
    let copy = run.with_file_name(if is_running { "running" } else { "paused" });
    copy_folder(run, &copy);
    if is_running {
        let log = copy.join("events.jsonl");
        let text = fs::read_to_string(&log).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let end = lines.iter().rposition(|line| line.contains("paused")).unwrap_or(lines.len());
        fs::write(&log, lines[..end].iter().map(|line| format!("{line}\n")).collect::<String>()).unwrap();
    }
    let lock = File::options().write(true).open(copy.join(".lock")).unwrap();
    lock.lock().unwrap();
    (copy, lock)
}

/// Opens a run of this many steps, which is followed if another process has it in hand.
fn open(desk: &mut TestWindow, run: &Path, steps: u64) {
    let states: &[&str] = if store::is_being_written(run) { &["followed", "paused"] } else { &["replay"] };
    desk.harness.input_mut().dropped_files.push(Arc::new(Dropped(run.to_owned())));
    desk.until("the replay", |d| {
        let is_it = d.page().recorded_folder().as_deref() == Some(run);
        is_it && states.contains(&d.state()) && d.page().newest() == steps
    });
}

/// Moves the control of the learning rate, if it is shown.
fn set_rate(desk: &mut TestWindow, rate: f64) {
    if let Some(field) = desk.harness.query_by_role_and_label(Role::SpinButton, "Learning rate") {
        field.set_value_accesskit(rate);
    }
    desk.steps(3);
}

struct Wanderer {
    desk: TestWindow,
    /// The folders of runs, each with its number of steps.
    runs: Vec<(PathBuf, u64)>,
    chance: u64,
}

impl Wanderer {
    fn below(&mut self, n: usize) -> usize {
        self.chance = self.chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.chance >> 33) as usize % n
    }

    /// The settings of a random preset with a random learning rate.
    fn settings(&mut self) -> Config {
        let lab = labs::find("fast_slow").unwrap();
        let preset = lab.presets[self.below(lab.presets.len())].id;
        let mut config = lab.config(Some(preset)).unwrap();
        config.set(&(lab.knobs)(), LR, Value::Float(1e-3 * (1 + self.below(9)) as f64)).unwrap();
        config
    }

    fn paste(&mut self, text: String) {
        self.desk.harness.event(Input::Paste(text));
        self.desk.steps(3);
    }

    /// Performs a random action that must not write into a folder, and returns its description.
    fn act(&mut self) -> String {
        let shift = Modifiers { shift: true, ..Modifiers::COMMAND };
        match self.below(9) {
            0 => {
                let config = self.settings();
                let words = format!("settings of {}", config.preset);
                self.paste(SharedSession::from(config).to_text().unwrap());
                words
            }
            1 => {
                let config = self.settings();
                let words = format!("link to {}", config.preset);
                let (restrictions, selection) = (Restrictions::default(), LinkSelection::default());
                self.paste(Permalink { config, restrictions, step: None, views: vec![], selection }.to_string());
                words
            }
            2 => {
                let step = 1 + self.below(5);
                self.paste(LessonLink::new("fast_slow", step).to_string());
                format!("lesson step {step}")
            }
            3 | 4 => {
                self.desk.undo();
                "undo".into()
            }
            5 => {
                self.desk.harness.key_press_modifiers(shift, Key::Z);
                self.desk.steps(3);
                "redo".into()
            }
            6 => {
                let n = self.below(self.runs.len());
                let (run, steps) = self.runs[n].clone();
                open(&mut self.desk, &run, steps);
                format!("opened {}", run.display())
            }
            7 => {
                self.desk.press(Key::R);
                "reset".into()
            }
            _ => {
                let rate = 1e-3 * (1 + self.below(9)) as f64;
                set_rate(&mut self.desk, rate);
                format!("learning rate {rate}")
            }
        }
    }
}

/// The environment variable `ORRERY_ACTIONS` sets the number of random actions.
#[test]
fn only_folders_named_by_actions_change() {
    let actions: usize = std::env::var("ORRERY_ACTIONS").ok().and_then(|n| n.parse().ok()).unwrap_or(100);
    let out = tempfile::tempdir().unwrap();
    let (interrupted, desk) = two_runs(out.path());
    let [(paused, _lock), (running, _other_lock)] = [false, true].map(|is_running| held(&interrupted[0], is_running));
    let of_steps = interrupted.into_iter().chain([paused, running]).map(|run| (run, STEPS));
    let runs: Vec<(PathBuf, u64)> = of_steps.chain([finished(out.path())]).collect();
    let before = contents(out.path());
    let mut wanderer = Wanderer { desk, runs, chance: 5 };
    let mut done = vec![];
    for _ in 0..actions.div_ceil(10) {
        let acts: Vec<String> = (0..10).map(|_| wanderer.act()).collect();
        let changed = changed(&before, &contents(out.path()));
        assert!(changed.is_empty(), "{changed:?} after {done:?}, then {acts:?}");
        done.extend(acts);
    }
    assert!(done.iter().any(|words| words.starts_with("opened")), "no run was opened: {done:?}");
}

#[test]
fn a_run_that_goes_on_records_the_change_made_before() {
    let out = tempfile::tempdir().unwrap();
    let ([run, other], mut desk) = two_runs(out.path());
    let (before, of_other) = (contents(&run), contents(&other));
    open(&mut desk, &run, STEPS);
    set_rate(&mut desk, 0.002);
    assert_eq!(desk.page().config.get(LR), Some(&Value::Float(0.002)));
    assert!(changed(&before, &contents(&run)).is_empty(), "it is only looked at");
    desk.harness.get_by_role_and_label(Role::Button, "Run").click();
    desk.until("steps", |d| d.state() == "running" && d.page().newest() > STEPS + 2);
    desk.press(Key::Space);
    desk.until("a pause", |d| d.state() == "paused");
    let events = fs::read_to_string(run.join("events.jsonl")).unwrap();
    let is_change = |line: &&str| line.contains("changed") && line.contains(LR) && line.contains("0.002");
    assert_eq!(events.lines().filter(is_change).count(), 1, "{events}");
    assert!(changed(&of_other, &contents(&other)).is_empty());
}
