//! Tests that a lab opens on its recorded example, which a run of the user replaces and which is never treated as the
//! user's run.

use std::{path::Path, time::Duration};

use eframe::egui::{Key, Modifiers, Role};
use egui_kittest::{Harness, kittest::Queryable};
use orrery::{
    cli::{host::DesktopHost, runs::Runs},
    labs::{LABS, lesson::LessonLink},
    telemetry::{Command, Measurement, measurements::GeneratorState},
    ui::{
        App, Start,
        app::Opening,
        page::{example, lesson},
    },
};

use crate::{
    ui::{Desktop, Worker, desk},
    waiting::until_within,
    walk::window,
};

const LABEL: &str = "example, seed";

fn words(d: &Desktop) -> String {
    example::label(d.page()).map_or(String::new(), |label| label.text)
}

#[test]
fn a_lab_opens_on_its_example() {
    let d = desk(Worker::StepsAfterExample);
    let seed = d.page().config.seed;
    assert_eq!(words(&d), format!("example, seed {seed}, recorded"));
    assert!(d.shows(&words(&d)) && d.shows("Space starts your own run."));
    assert!(d.shows("shows 40 of 40"), "its last step is shown");
    assert!(d.launched().is_empty(), "nothing is computed");
    assert!(d.page().pending().is_empty() && d.page().folder().is_none());
}

#[test]
fn an_example_is_scrubbed_and_played() {
    let mut d = desk(Worker::StepsAfterExample);
    d.harness.get_by_role_and_label(Role::Slider, "Step shown").set_value_accesskit(20.0);
    d.steps(3);
    assert!(d.shows("shows 20 of 40"));
    d.click("Play what was recorded");
    d.until("the end", |d| !d.page().play.is_on());
    assert_eq!((d.state(), d.page().shown_step()), ("example", 40));
    assert!(d.launched().is_empty());
}

#[test]
fn a_run_of_ones_own_takes_the_place_of_the_example() {
    type Begin = fn(&mut Desktop);
    let begin: [(&str, Begin); 4] = [
        ("Space", |d| d.press(Key::Space)),
        ("Run", |d| d.click("Run")),
        ("a step", |d| d.press(Key::ArrowRight)),
        ("Space while it plays", |d| {
            d.click("Play what was recorded");
            d.press(Key::Space);
        }),
    ];
    for (what, begin) in begin {
        let mut d = desk(Worker::StepsAfterExample);
        let config = d.page().config.clone();
        begin(&mut d);
        d.until(what, |d| ["running", "paused"].contains(&d.state()) && d.page().newest() > 0);
        assert_eq!(d.launched(), [config], "{what}");
        assert!(d.page().run.as_ref().is_some_and(|run| run.is_own()), "{what}");
        assert!(!d.shows(LABEL) && words(&d).is_empty(), "{what}");
        assert!(d.sent(|c| matches!(c, Command::Run | Command::StepOnce)), "{what}");
    }
}

#[test]
fn a_reset_of_an_example_makes_a_run_that_waits() {
    let mut d = desk(Worker::StepsAfterExample);
    d.press(Key::R);
    d.until("ready", |d| d.state() == "ready");
    assert_eq!((d.page().newest(), d.launched().len()), (0, 1));
    assert!(!d.shows(LABEL));
}

/// Undoing the step that replaced the example shows it again. If that would end a training, the window asks first.
#[test]
fn an_undone_step_brings_the_example_back() {
    let undo = |d: &mut Desktop| {
        d.harness.key_press_modifiers(Modifiers::COMMAND, Key::Z);
        d.steps(3);
    };
    let mut d = desk(Worker::StepsAfterExample);
    let config = d.page().config.clone();
    d.press(Key::R);
    d.until("ready", |d| d.state() == "ready");
    undo(&mut d);
    assert!(d.shows("Undid: left the example"));
    d.until("the example", |d| d.state() == "example" && d.page().newest() == 40);
    assert!(d.shows(LABEL) && d.page().pending().is_empty() && d.page().config == config);

    d.press(Key::Space);
    d.until("running", |d| d.state() == "running");
    undo(&mut d);
    assert!(d.shows("A run is training") && d.state() == "running", "a training does not end unasked");
    d.click("Stop it and go on");
    d.until("the example", |d| d.state() == "example" && d.page().newest() == 40);

    d.harness.get_by_role_and_label(Role::ComboBox, "preset").click();
    d.steps(3);
    d.click("Wide");
    d.until("ready", |d| d.state() == "ready");
    undo(&mut d);
    d.until("the example", |d| d.state() == "example" && d.page().newest() == 40);
    assert_eq!(d.page().config, config, "one step back with its settings");
}

#[test]
fn a_changed_setting_leaves_the_example_which_says_so() {
    let mut d = desk(Worker::StepsAfterExample);
    d.harness.get_by_role_and_label(Role::SpinButton, "Width").set_value_accesskit(128.0);
    d.steps(90);
    assert_eq!(d.state(), "example");
    assert!(d.launched().is_empty(), "an example is not begun again");
    assert!(words(&d).starts_with("example of the preset \u{201c}First\u{201d}"), "{}", words(&d));
    assert!(d.shows("You changed settings"));
    let config = d.page().config.clone();
    d.press(Key::Space);
    d.until("running", |d| d.state() == "running");
    assert_eq!(d.launched(), [config]);
}

#[test]
fn commands_to_an_example_are_refused() {
    let mut d = desk(Worker::StepsAfterExample);
    d.click("Pace x4");
    assert!(!d.shows("no weights"), "a pace is for the run to come");
    for command in [Command::Checkpoint, Command::Pause] {
        assert!(d.page().send(command).is_err_and(|words| words.contains("no weights")));
    }
    assert!(lesson::step_begins_run(d.page(), 0), "a step of the lesson has no run yet");
}

#[test]
fn another_preset_has_no_example() {
    let mut d = desk(Worker::StepsAfterExample);
    d.harness.get_by_role_and_label(Role::ComboBox, "preset").click();
    d.steps(3);
    d.click("Wide");
    d.until("ready", |d| d.state() == "ready");
    assert_eq!(d.launched().len(), 1);
    assert!(!d.shows(LABEL));
}

/// A window with the labs' examples, which makes runs in this folder.
fn open(runs: &Path, opening: Option<Opening>) -> Harness<'static, App> {
    let host = DesktopHost::new(runs.to_owned(), Runs::new()).with_examples();
    window(Box::new(host), Start { opening, ..Start::default() }, false)
}

fn until<R>(app: &mut Harness<'_, App>, what: &str, found: impl Fn(&App) -> Option<R>) -> R {
    until_within(Duration::from_secs(60), app, what, found)
}

fn has_steps(app: &App) -> Option<()> {
    app.page().filter(|page| page.newest() > 0).map(drop)
}

#[test]
fn every_lab_shows_its_example_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let mut app = open(folder.path(), None);
    app.run_steps(3);
    for lab in LABS {
        app.get_by_label(&format!("Open {}", lab.title)).click_accesskit();
        until(&mut app, lab.id, |app| app.page().and_then(example::label).map(drop));
        app.run_steps(3);
        let page = app.state().page().unwrap();
        let seed = lab.opening_config().unwrap().seed;
        assert_eq!(example::label(page).unwrap().text, format!("example, seed {seed}, recorded"), "{}", lab.id);
        assert!(app.query_all_by_label_contains("Space starts your own run.").next().is_some(), "{}", lab.id);
        app.key_press(Key::Escape);
        app.run_steps(3);
        app.key_press(Key::Escape);
        app.run_steps(3);
    }
    assert!(std::fs::read_dir(folder.path()).unwrap().next().is_none(), "no run was begun");
}

/// Such a step asks about whichever model is shown.
#[test]
fn a_lesson_step_without_settings_keeps_the_example() {
    let folder = tempfile::tempdir().unwrap();
    let mut app = open(folder.path(), Some(Opening::Lesson(LessonLink::new("trained_bdh", 2))));
    until(&mut app, "the example", has_steps);
    let page = app.state().page().unwrap();
    assert_eq!((page.lesson.current, page.run.as_ref().unwrap().state_label()), (Some(1), "example"));
    let selected = page.tiling.selected.unwrap();
    assert!(page.tiling.in_order().contains(&(selected, "logit_lens".into())));
}

#[test]
fn a_lab_that_is_named_at_the_start_shows_its_example() {
    let folder = tempfile::tempdir().unwrap();
    let config = LABS[0].opening_config().unwrap();
    for opening in [Opening::Lab(config.lab.clone()), Opening::Config(config)] {
        let mut app = open(folder.path(), Some(opening));
        until(&mut app, "the example", has_steps);
        assert_eq!(app.state().page().unwrap().run.as_ref().unwrap().state_label(), "example");
    }
}

/// The settings alone decide a generator, so that it follows its control over an example; only the network's line is missing.
#[test]
fn a_control_without_weights_acts_on_an_example() {
    let folder = tempfile::tempdir().unwrap();
    let mut app = open(folder.path(), Some(Opening::Lab("equilibrium".into())));
    let recorded = |app: &App| app.page()?.mirror()?.sample_at(0, GeneratorState::CHANNEL, u64::MAX).cloned();
    let answer = |app: &App| app.page()?.mirror()?.answer(0, GeneratorState::CHANNEL).cloned();
    until(&mut app, "the example", recorded);
    app.run_steps(5);
    assert!(answer(app.state()).is_none(), "nothing is computed that the record has");
    app.get_by_role_and_label(Role::Slider, "y\u{2080}").set_value_accesskit(4.0);
    app.run_steps(2);
    until(&mut app, "an answer", answer);
    app.run_steps(5);
    let [first, now] = [recorded(app.state()), answer(app.state())].map(Option::unwrap);
    let [first, now] = [&first, &now].map(|sample| sample.measurement::<GeneratorState>().unwrap());
    assert_eq!((first.control.to_vec(), now.control.to_vec()), (vec![0.0, 0.0], vec![4.0, 0.0]));
    assert!(first.matrix != now.matrix && !first.predicted.is_empty() && now.predicted.is_empty());
    assert!(app.query_all_by_label_contains("no weights").next().is_none(), "and no note says that it cannot be asked");
    assert!(std::fs::read_dir(folder.path()).unwrap().next().is_none(), "no run was begun");
}
