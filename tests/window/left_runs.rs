//! Tests runs that a page leaves or that a crash interrupted, with real run folders and the real host. No key press
//! loses a run, undo brings back a run that was left, and an interrupted run is announced and can be continued.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use eframe::egui::{Key, Modifiers, accesskit::Role};
use egui_kittest::{Harness, kittest::Queryable};
use orrery::{
    cli::{host::DesktopHost, runs::Runs},
    config::Config,
    experiments::permalink::{LinkSelection, Permalink},
    labs::{self, restrictions::Restrictions},
    nn::Device,
    store::{self, Writer, checkpoint},
    telemetry::{Command, Event},
    trainer::{self, DriveOptions},
    ui::{
        app::{App, Opening, Start},
        host::Host,
        session::SharedSession,
    },
};

use crate::{config_with::config_with, wait_for::wait_until, waiting::step_until};

/// The steps of an [`interrupted`] run.
pub const STEPS: u64 = 6;

/// What a run measures as it begins, which takes longer than its steps and is not tested here.
const UNMEASURED: [(&str, &str); 4] = [
    ("run.eval_windows", "1"),
    ("probe.staircase_every", "0"),
    ("probe.residual_every", "0"),
    ("probe.generator_distance_every", "0"),
];

/// The settings of a model that trains a step in milliseconds.
fn small() -> Config {
    let sizes = [("model.d_model", "32"), ("train.window", "64"), ("train.steps", "100000"), ("run.eval_every", "0")];
    config_with("fast_slow", None, &[&sizes[..], &UNMEASURED].concat())
}

/// A run of a few steps with a checkpoint of the last, whose process died before it recorded an end.
pub fn interrupted(out: &Path) -> PathBuf {
    let lab = labs::find("fast_slow").unwrap();
    let writer = Writer::new(out);
    let options = DriveOptions { stay: true, writer: Some(writer.clone()), ..DriveOptions::default() };
    let handle = trainer::spawn((lab.plan)(&small()).unwrap(), options, vec![]).unwrap();
    handle.send(Command::RunTo(STEPS)).unwrap();
    let is_last = |event: &Event| matches!(event, Event::Step(stats) if stats.step >= STEPS);
    wait_until("no steps came", || handle.inbox.take().iter().any(is_last));
    let run = writer.folder().unwrap();
    drop((handle, writer));
    wait_until("the run does not end", || !store::is_being_written(&run));
    assert_eq!(store::interruption(&run), None, "it announced its end");
    let log = run.join("events.jsonl");
    let text = fs::read_to_string(&log).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let end = lines.iter().rposition(|line| line.contains("stopped")).expect("the end is recorded");
    fs::write(&log, lines[..end].iter().map(|line| format!("{line}\n")).collect::<String>()).unwrap();
    run
}

/// The bytes of the run's logs and of its description.
fn record_of(run: &Path) -> Vec<Vec<u8>> {
    ["metrics.jsonl", "events.jsonl", "samples.jsonl", "run.json"]
        .map(|f| fs::read(run.join(f)).unwrap_or_default())
        .into()
}

fn run_folders(out: &Path) -> Vec<PathBuf> {
    store::list(out).unwrap().into_iter().map(|run| run.folder).collect()
}

pub struct TestWindow {
    pub harness: Harness<'static, App>,
}

fn desk(out: &Path) -> TestWindow {
    desk_at(Box::new(DesktopHost::new(out.to_owned(), Runs::new())))
}

/// The window with this host and a new run with [`small`] settings.
pub fn desk_at(host: Box<dyn Host>) -> TestWindow {
    desk_of(host, small())
}

fn desk_of(host: Box<dyn Host>, config: Config) -> TestWindow {
    let start = Start { opening: Some(Opening::Config(config)), ..Start::default() };
    let harness = Harness::builder().with_size([1280.0, 800.0]).build_eframe(move |cc| App::new(cc, host, start));
    let mut desk = TestWindow { harness };
    desk.until("models are ready", |d| d.state() == "ready");
    desk
}

/// The window that looks at a run in `out` that was [`interrupted`] and has recorded this many steps.
fn window_on_run(out: &Path, steps: u64) -> TestWindow {
    let mut desk = desk(out);
    desk.until("the message", |d| d.shows("was interrupted at step"));
    desk.click("Look");
    desk.until("the replay", |d| d.state() == "replay" && d.page().newest() == steps);
    desk
}

impl TestWindow {
    pub fn steps(&mut self, n: usize) {
        (0..n).for_each(|_| self.harness.step());
    }

    pub fn until(&mut self, what: &str, holds: impl Fn(&TestWindow) -> bool) {
        self.harness.step();
        step_until(Duration::from_secs(60), self, |d| d.harness.step(), what, holds);
    }

    pub fn page(&self) -> &orrery::ui::page::Page {
        self.harness.state().page().expect("a lab is open")
    }

    pub fn state(&self) -> &'static str {
        self.page().run.as_ref().map_or("none", |run| run.state_label())
    }

    pub fn press(&mut self, key: Key) {
        self.harness.key_press(key);
        self.steps(3);
    }

    pub fn undo(&mut self) {
        self.harness.key_press_modifiers(Modifiers::COMMAND, Key::Z);
        self.steps(3);
    }

    fn click(&mut self, label: &str) {
        self.harness.get_by_label(label).click();
        self.steps(3);
    }

    fn shows(&self, words: &str) -> bool {
        self.harness.query_all_by_label_contains(words).next().is_some()
    }

    /// Trains some steps and pauses; returns the run's folder.
    fn paused_run(&mut self) -> PathBuf {
        self.press(Key::Space);
        self.until("steps", |d| d.page().newest() >= 3);
        self.press(Key::Space);
        self.until("a pause", |d| d.state() == "paused");
        self.page().recorded_folder().expect("a run that trains has a folder")
    }
}

#[test]
fn an_interrupted_run_is_named_looked_at_and_goes_on() {
    let out = tempfile::tempdir().unwrap();
    let run = interrupted(out.path());
    let before = record_of(&run);
    let mut d = desk(out.path());
    let title = format!("was interrupted at step {STEPS} (");
    d.until("the message", |d| d.shows(&title));
    assert!(d.shows(&format!("from its checkpoint of step {STEPS}")));
    assert!(d.shows("memory: about"));
    d.click("Look");
    d.until("the replay", |d| d.state() == "replay" && d.page().newest() == STEPS);
    d.steps(20);
    assert!(!d.shows("memory: about"), "that was the memory of the run before");
    assert!(!d.shows(&title), "nothing is said over the run itself");
    assert!(record_of(&run) == before, "looking changes nothing");
    d.press(Key::R);
    d.until("a new run", |d| d.state() == "ready");
    assert!(d.shows(&title), "it is still interrupted");
    d.click("Go on");
    d.until("steps beyond the checkpoint", |d| d.state() == "running" && d.page().newest() > STEPS + 2);
    assert!(!d.shows(&title));
    d.press(Key::Space);
    d.until("a pause", |d| d.state() == "paused");
    assert_eq!(d.page().recorded_folder(), Some(run), "it goes on in its own folder");
}

#[test]
fn a_message_about_an_interrupted_run_is_dismissed() {
    let out = tempfile::tempdir().unwrap();
    interrupted(out.path());
    let mut d = desk(out.path());
    d.until("the message", |d| d.shows("was interrupted at step"));
    d.press(Key::Escape);
    d.until("the card says it too", |d| d.shows(&format!("a run was interrupted at step {STEPS}")));
    d.click("Open Fast-slow gate");
    d.click("Close this message");
    assert!(!d.shows("was interrupted at step"));
    d.press(Key::Escape);
    d.steps(10);
    assert!(!d.shows("was interrupted at step"), "nor does the card in the gallery say it");
}

#[test]
fn a_run_without_a_checkpoint_can_only_be_looked_at() {
    let out = tempfile::tempdir().unwrap();
    let run = interrupted(out.path());
    fs::remove_dir_all(run.join("checkpoints")).unwrap();
    let mut d = desk(out.path());
    d.until("the message", |d| d.shows("It has no checkpoint, so it cannot continue"));
    assert!(d.shows("`orrery resume` in a terminal begins it again"));
    assert!(d.harness.query_by_label("Go on").is_none());
    d.click("Look");
    d.until("the replay", |d| d.state() == "replay" && d.page().newest() == STEPS);
    d.until("it has ended", |d| d.page().run.as_ref().is_some_and(|run| run.has_ended()));
    d.click("Run");
    assert!(d.page().play.is_on() && !d.shows("this is a replay"), "the button plays, as Space does");
}

#[test]
fn an_undone_reset_opens_the_record_again() {
    let out = tempfile::tempdir().unwrap();
    let mut d = desk(out.path());
    let run = d.paused_run();
    let steps = d.page().newest();
    d.click("Reset");
    d.until("a new run", |d| d.state() == "ready" && d.page().newest() == 0);
    d.undo();
    d.until("the record", |d| d.state() == "replay" && d.page().newest() == steps);
    assert_eq!(d.page().recorded_folder(), Some(run));
    assert!(d.page().pending().is_empty());
    d.harness.key_press_modifiers(Modifiers { shift: true, ..Modifiers::COMMAND }, Key::Z);
    d.steps(3);
    d.until("a new run again", |d| d.state() == "ready" && d.page().newest() == 0);
    assert_eq!(run_folders(out.path()).len(), 1);
}

/// After a preset, pasted settings or a link, undo replaces the run by one with the previous settings, and redo brings
/// its record back.
#[test]
fn other_settings_over_an_untouched_run_are_undone_with_their_run() {
    let out = tempfile::tempdir().unwrap();
    let mut d = desk(out.path());
    let config = d.page().config.clone();
    let mut other = small();
    other.seed = config.seed + 1;
    let pasted = SharedSession::from(other.clone()).to_text().unwrap();
    let (restrictions, selection) = (Restrictions::default(), LinkSelection::default());
    let link = Permalink { config: other.clone(), restrictions, step: None, views: vec![], selection }.to_string();
    for text in [pasted, link] {
        d.harness.event(eframe::egui::Event::Paste(text));
        d.until("the other settings", |d| d.state() == "ready" && d.page().config == other);
        let run = d.paused_run();
        d.undo();
        d.until("a new run", |d| d.state() == "ready" && d.page().newest() == 0 && d.page().reaches_run());
        assert!(d.page().config == config && d.page().pending().is_empty());
        d.harness.key_press_modifiers(Modifiers { shift: true, ..Modifiers::COMMAND }, Key::Z);
        d.until("the record", |d| d.state() == "replay" && d.page().recorded_folder().as_ref() == Some(&run));
        assert!(d.page().config == other);
        d.undo();
        d.until("a new run again", |d| d.state() == "ready" && d.page().newest() == 0 && d.page().reaches_run());
    }
}

#[test]
fn an_undone_lesson_step_leaves_nothing_of_it() {
    let out = tempfile::tempdir().unwrap();
    let mut d = desk(out.path());
    let run = d.paused_run();
    let (steps, config) = (d.page().newest(), d.page().config.clone());
    let undone_next = d.page().history.next_undo().map(str::to_owned);
    d.harness.event(eframe::egui::Event::Paste("orrery:fast_slow?lesson=5".into()));
    d.steps(3);
    d.until("the run of the step", |d| d.state() == "ready" && d.page().lesson.current == Some(4));
    assert!(d.page().lesson.is_focused && d.page().selection.token == Some(15));
    d.undo();
    d.until("the record", |d| d.state() == "replay" && d.page().newest() == steps);
    let page = d.page();
    assert_eq!(page.recorded_folder(), Some(run));
    assert!(page.lesson.current.is_none() && !page.lesson.is_focused && page.selection.token.is_none());
    assert!(page.config == config);
    assert_eq!(page.history.next_undo().map(str::to_owned), undone_next);
}

/// The click may have been a mistake.
#[test]
fn a_repeated_lesson_step_tells_how_to_restore_the_run() {
    let out = tempfile::tempdir().unwrap();
    let mut d = desk(out.path());
    d.harness.event(eframe::egui::Event::Paste("orrery:fast_slow?lesson=2".into()));
    d.until("the run of the step", |d| d.state() == "ready" && d.page().lesson.current == Some(1));
    let mut other = d.page().config.clone();
    other.seed += 1;
    UNMEASURED.iter().for_each(|(key, value)| other.set_text(&d.page().knobs, key, value).unwrap());
    let pasted = SharedSession::from(other.clone()).to_text().unwrap();
    d.harness.event(eframe::egui::Event::Paste(pasted));
    d.until("a run of another seed", |d| d.state() == "ready" && d.page().config == other);
    let run = d.paused_run();
    d.click("Step 2: A fact told too early");
    assert!(d.shows("Ctrl Z opens the previous run again"));
    d.until("a new run", |d| d.state() == "ready" && d.page().newest() == 0);
    d.undo();
    d.until("the record", |d| d.state() == "replay" && d.page().recorded_folder().as_ref() == Some(&run));
    assert!(d.page().config == other);
}

#[test]
fn an_undo_asks_before_it_ends_a_training() {
    let out = tempfile::tempdir().unwrap();
    let mut d = desk(out.path());
    let run = d.paused_run();
    d.press(Key::R);
    d.until("a new run", |d| d.state() == "ready" && d.page().newest() == 0);
    d.press(Key::Space);
    d.until("steps", |d| d.state() == "running" && d.page().newest() >= 3);
    let trained = d.page().recorded_folder();
    d.undo();
    assert!(d.shows("A run is training") && d.shows("To undo \u{201c}left the run"));
    d.press(Key::Escape);
    d.steps(20);
    assert!(!d.shows("A run is training") && !d.shows("Undid"), "nothing was undone");
    assert_eq!((d.state(), d.page().recorded_folder()), ("running", trained));
    d.undo();
    d.click("Stop it and go on");
    d.until("the record", |d| d.state() == "replay" && d.page().recorded_folder().as_ref() == Some(&run));
    assert!(!d.shows("A run is training"), "it asks once");
}

/// Its last checkpoint may be older than its record, which is then made again from there.
#[test]
fn a_run_that_goes_on_shows_the_steps_that_it_has_made() {
    let out = tempfile::tempdir().unwrap();
    let run = interrupted(out.path());
    // the record as if the process had died some steps after its last checkpoint
    let log = run.join("metrics.jsonl");
    let mut text = fs::read_to_string(&log).unwrap();
    let column = |step: u64| format!("\"step\":{step},");
    let last: Vec<String> = text.lines().filter(|line| line.contains(&column(STEPS))).map(str::to_owned).collect();
    assert!(!last.is_empty(), "{text}");
    for step in STEPS + 1..STEPS + 60 {
        for line in &last {
            text += &line.replacen(&column(STEPS), &column(step), 1);
            text.push('\n');
        }
    }
    fs::write(&log, text).unwrap();
    let mut d = window_on_run(out.path(), STEPS + 59);
    d.harness.get_by_role_and_label(Role::Button, "Step").click();
    d.until("a step", |d| d.state() == "paused" && d.page().newest() == STEPS + 1);
    let mirror = d.page().mirror().unwrap();
    for channel in mirror.scalar_channels().keys() {
        let last = mirror.curve(0, channel.as_str()).and_then(|curve| curve.last_step());
        assert!(last.is_none_or(|last| last <= STEPS + 1), "{channel}: {last:?}");
    }
}

/// The record of a run that has made all its steps stays as it is, whatever is moved, undone or begun in its place.
#[test]
fn a_finished_run_keeps_its_record() {
    let out = tempfile::tempdir().unwrap();
    let mut config = small();
    config.set_text(&(labs::find("fast_slow").unwrap().knobs)(), "train.steps", "4").unwrap();
    let mut d = desk_of(Box::new(DesktopHost::new(out.path().to_owned(), Runs::new())), config);
    d.press(Key::Space);
    d.until("the end", |d| d.state() == "finished");
    let run = d.page().recorded_folder().expect("a run that trained has a folder");
    let log = run.join("events.jsonl");
    let events = || fs::read_to_string(&log).unwrap();
    d.until("its record", |_| events().contains("finished"));
    let before = events();
    let set_rate = |d: &mut TestWindow, rate: f64| {
        d.harness.get_by_role_and_label(Role::SpinButton, "Learning rate").set_value_accesskit(rate);
        d.steps(3);
    };
    let moved = |d: &mut TestWindow| {
        for rate in [0.01, 0.02, 0.03] {
            set_rate(d, rate);
        }
        d.steps(20);
        assert!(d.shows("1 change applies at reset") && d.page().mirror().unwrap().changes.is_empty());
        d.undo();
        d.steps(20);
        assert!(d.page().mirror().unwrap().changes.is_empty() && events() == before);
    };
    moved(&mut d);
    d.press(Key::R);
    d.until("a new run", |d| d.state() == "ready" && d.page().newest() == 0);
    d.until("the end of its worker", |_| !store::is_being_written(&run));
    assert_eq!(events(), before, "nothing is recorded as it ends");
    d.undo();
    d.until("the replay", |d| d.state() == "replay" && d.page().newest() == 4);
    moved(&mut d);
    drop(d);
    assert_eq!(events(), before);
}

/// When the process is asked to end (SIGTERM), every run of the window writes a checkpoint, also those whose labs are
/// not in view.
#[test]
fn a_paused_run_out_of_view_ends_with_a_checkpoint() {
    let out = tempfile::tempdir().unwrap();
    let runs = Runs::new();
    let mut d = desk_at(Box::new(DesktopHost::new(out.path().to_owned(), Arc::clone(&runs))));
    let run = d.paused_run();
    let step = d.page().newest();
    d.press(Key::Escape);
    assert!(d.harness.state().page().is_none() && store::is_being_written(&run), "the gallery is in view");
    runs.end();
    let kept = checkpoint::load(&run, &Device::Cpu).unwrap().expect("a checkpoint").checkpoint;
    assert_eq!((kept.step, store::interruption(&run)), (step, None));
}

#[test]
fn other_settings_undone_bring_back_the_replay_and_its_own() {
    let out = tempfile::tempdir().unwrap();
    let run = interrupted(out.path());
    let mut d = window_on_run(out.path(), STEPS);
    let config = d.page().config.clone();
    let mut other = small();
    other.seed = config.seed + 1;
    let pasted = SharedSession::from(other.clone()).to_text().unwrap();
    d.harness.event(eframe::egui::Event::Paste(pasted));
    d.until("the other settings", |d| d.state() == "ready" && d.page().config.seed == other.seed);
    d.undo();
    d.until("the replay again", |d| d.state() == "replay" && d.page().newest() == STEPS);
    assert_eq!(d.page().config, config, "one step back");
    assert_eq!(d.page().recorded_folder(), Some(run));
}

/// Presses every letter key; each may ask for confirmation, or leave a run that undo brings back.
fn press_letters(d: &mut TestWindow, out: &Path) {
    let (mut state, run) = (d.state(), d.page().recorded_folder().expect("the run has a record"));
    let (folders, mut record) = (run_folders(out), record_of(&run));
    for letter in 'A'..='Z' {
        let key = Key::from_name(&letter.to_string()).unwrap();
        d.press(key);
        d.until("the run that the letter began", |d| d.state() != "preparing");
        if d.shows("A run is training") {
            assert_eq!(state, "running", "{key:?} asks where nothing trains");
            d.click("Keep training");
        }
        if d.page().recorded_folder().as_ref() != Some(&run) {
            assert_ne!(state, "running", "{key:?} ended a training without a question");
            d.undo();
            d.until("the record", |d| d.page().recorded_folder().as_ref() == Some(&run));
            d.until("its end", |_| !store::is_being_written(&run));
            (state, record) = (d.state(), record_of(&run));
        } else {
            assert_eq!(d.state(), state, "{key:?} changed the run's state");
        }
        assert_eq!(run_folders(out), folders, "{key:?} made or took away a folder");
        assert!(!out.join(".trash").exists(), "{key:?} deleted a run");
        if state == "replay" {
            assert!(record_of(&run) == record, "{key:?} wrote into a run that is looked at");
        }
    }
}

#[test]
fn pressing_letter_keys_loses_no_run() {
    let out = tempfile::tempdir().unwrap();
    interrupted(out.path());
    let mut d = window_on_run(out.path(), STEPS);
    press_letters(&mut d, out.path());

    let out = tempfile::tempdir().unwrap();
    let mut d = desk(out.path());
    d.paused_run();
    press_letters(&mut d, out.path());

    let out = tempfile::tempdir().unwrap();
    let mut d = desk(out.path());
    d.press(Key::Space);
    d.until("steps", |d| d.state() == "running" && d.page().newest() >= 3);
    press_letters(&mut d, out.path());
    d.press(Key::R);
    d.click("Stop it and go on");
    d.until("a new run", |d| d.state() == "ready" && d.page().newest() == 0);
}

#[test]
fn the_right_arrow_trains_no_replay() {
    let out = tempfile::tempdir().unwrap();
    let run = interrupted(out.path());
    let before = record_of(&run);
    let mut d = window_on_run(out.path(), STEPS);
    d.press(Key::ArrowRight);
    assert!(d.shows("the newest recorded step"));
    d.press(Key::Space);
    d.press(Key::ArrowRight);
    assert!(!d.page().play.is_on(), "a step at a time");
    let shown = d.page().shown_step();
    d.press(Key::ArrowRight);
    assert_eq!(d.page().shown_step(), (shown + 1).min(STEPS));
    d.steps(20);
    assert!(d.state() == "replay" && record_of(&run) == before);
}
