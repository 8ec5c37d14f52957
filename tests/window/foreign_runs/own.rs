//! Tests the page of an Orrery run that another process trains: the user can ask the questions that its folder allows,
//! and no others are offered.

use std::{
    fs::{self, File},
    path::Path,
};

use eframe::egui::accesskit::Role;
use egui_kittest::kittest::{NodeT, Queryable};
use orrery::{
    cli::{host::DesktopHost, runs::Runs},
    labs::foreign,
    telemetry::{Command, Event},
    ui::host::Host,
};
use serde_json::json;

use super::{TestWindow, ask};
use crate::{
    foreign_run::ForeignRun,
    left_runs::{STEPS, interrupted},
    wait_for::wait_until,
};

/// A run in `out` that allows these questions, and the lock by which a process holds the folder that it trains in.
fn training(out: &Path, allow: &[&str]) -> (ForeignRun, File) {
    let run = ForeignRun { folder: interrupted(out) };
    run.state(STEPS, &json!("running"));
    if !allow.is_empty() {
        run.allow(allow);
    }
    let lock = File::options().append(true).create(true).open(run.folder.join(".lock")).unwrap();
    lock.lock().unwrap();
    (run, lock)
}

fn has_button(desk: &TestWindow, name: &str) -> bool {
    desk.harness.query_by_role_and_label(Role::Button, name).is_some()
}

pub(super) fn can_click(desk: &TestWindow, name: &str) -> bool {
    let button = desk.harness.query_by_role_and_label(Role::Button, name);
    button.is_some_and(|button| !button.accesskit_node().is_disabled())
}

/// Opens a window that follows the run, with the view of questions open.
fn desk(out: &Path, run: &ForeignRun) -> TestWindow {
    let mut desk = TestWindow::new(out);
    desk.drop_folder(&run.folder);
    desk.until("the run is followed", |d| d.newest() == STEPS && has_button(d, "Ask the run"));
    desk.until("its state is known", |d| ["followed", "paused"].contains(&d.state()));
    assert!(!has_button(&desk, "Run") && !has_button(&desk, "Step"), "this window does not train it");
    desk.harness.get_by_role_and_label(Role::Button, "Ask the run").click();
    desk.until("the view opens", |d| d.views().iter().any(|view| view == foreign::QUESTIONS));
    desk
}

#[test]
fn a_run_of_another_process_offers_only_allowed_questions() {
    let out = tempfile::tempdir().unwrap();
    let (run, lock) = training(out.path(), &["pause", "scale_lr"]);
    let mut desk = desk(out.path(), &run);
    desk.until("all that it allows is offered", |d| {
        ["Ask pause", "Ask resume", "Ask scale_lr"].iter().all(|name| has_button(d, name))
    });
    assert!(!has_button(&desk, "Ask save"));
    assert!(desk.shows("Not allowed: save. `orrery run` and `orrery resume` take --allow save."));
    assert!(run.asked().is_empty(), "no view asks by itself");
    assert!(desk.shows("Multiply the learning rate"), "a question is in words");
    assert!(can_click(&desk, "Ask pause") && !can_click(&desk, "Ask resume"), "it is not paused");

    ask(&mut desk, "pause", "");
    desk.until("the run is asked", |_| !run.asked().is_empty());
    let (id, question) = run.asked().remove(0);
    assert_eq!(question["ask"], json!("pause"));
    desk.until("the view waits", |d| d.shows("Asked the process that trains this run at "));
    run.answer(&id, &json!({"state": "answered", "step": STEPS, "words": "paused after step 6"}));
    desk.until("the answer is shown", |d| d.shows("Answered for step 6: paused after step 6"));
    desk.until("it may go on", |d| can_click(d, "Ask resume"));
    run.state(STEPS, &json!("paused"));
    desk.until("it is paused", |d| can_click(d, "Ask resume") && !can_click(d, "Ask pause"));

    // a command acts on the run's current state even if an earlier step is shown
    desk.scrub(2);
    ask(&mut desk, "scale_lr", "");
    desk.until("the run is asked", |_| run.asked().iter().any(|(_, question)| question["ask"] == "scale_lr"));
    let (id, question) = run.asked().into_iter().find(|(_, question)| question["ask"] == "scale_lr").unwrap();
    assert_eq!(question["args"], json!({"factor": 0.5}));
    run.answer(&id, &json!({"state": "refused", "words": "train.lr is out of its range"}));
    desk.until("the refusal is shown", |d| d.shows("Refused: train.lr is out of its range"));

    drop(lock);
    desk.until("its models are restored", |d| d.shows("The models of this run are here"));
    assert!(!has_button(&desk, "Ask pause") && !has_button(&desk, "Ask the run"));
    assert!(has_button(&desk, "Run"), "now this window can train it");
}

#[test]
fn a_run_that_allows_nothing_or_has_ended_says_so() {
    let out = tempfile::tempdir().unwrap();
    let (run, lock) = training(out.path(), &[]);
    let mut desk = desk(out.path(), &run);
    desk.until("what would allow it is said", |d| d.shows("take --allow pause,save,scale_lr"));
    assert!(!has_button(&desk, "Ask pause"));
    assert!(!run.folder.join("ask").exists());

    run.allow(&["pause"]);
    desk.until("what it allows since is offered", |d| has_button(d, "Ask pause"));
    fs::remove_dir_all(run.folder.join("checkpoints")).unwrap();
    drop(lock);
    desk.until("the end is said", |d| d.shows("This run has ended, and nobody is there to answer."));
    assert!(!has_button(&desk, "Ask pause") && !has_button(&desk, "Ask the run"));
}

/// A window that is still reading the record may send such a command.
#[test]
fn a_command_to_train_is_refused_in_words() {
    let out = tempfile::tempdir().unwrap();
    let (run, _lock) = training(out.path(), &[]);
    let mut host = DesktopHost::new(out.path().to_owned(), Runs::new());
    let handle = host.open_run(run.folder.clone());
    handle.send(Command::Run).unwrap();
    let is_refusal =
        |event: &Event| matches!(event, Event::Notice { text, .. } if text.contains("another process trains this run"));
    wait_until("the command was dropped without a word", || handle.inbox.take().iter().any(is_refusal));
}
