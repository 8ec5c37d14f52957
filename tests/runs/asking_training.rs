//! Tests commands that are sent through the files of a run folder to an Orrery run that trains without a window. The
//! real binary is on both sides.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use serde_json::{Value, json};

use crate::{
    command::orrery,
    wait_for::{wait_for, wait_until},
};

/// A run that trains in its own process.
struct Training {
    process: Child,
    folder: PathBuf,
}

impl Training {
    /// Starts a run in `here` with these options and waits for its first steps.
    fn begin(here: &Path, options: &[&str]) -> Self {
        let settings =
            ["train.steps=1000000", "train.batch=2", "train.window=16", "model.d_model=16", "run.checkpoint_every=0"];
        let mut command = Command::new(env!("CARGO_BIN_EXE_orrery"));
        command.args(["run", "fast_slow", "--no-figures"]).args(options).current_dir(here);
        command.args(settings.into_iter().flat_map(|setting| ["--set", setting]));
        let process = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let mut training = Self { process, folder: PathBuf::new() };
        wait_for("no step is made", || {
            assert!(training.process.try_wait().unwrap().is_none(), "the run has ended");
            let mut made = fs::read_dir(here.join("runs")).ok()?.map(|entry| entry.unwrap().path());
            let is_run =
                |folder: &PathBuf| fs::metadata(folder.join("metrics.jsonl")).is_ok_and(|log| log.len() > 2000);
            training.folder = made.find(is_run)?;
            Some(())
        });
        training
    }

    /// Runs `orrery ask` with these arguments, separated by spaces. Returns the exit code and the output.
    fn ask(&self, words: &str) -> (Option<i32>, String) {
        let (runs, name) = (self.folder.parent().unwrap(), self.folder.file_name().unwrap().to_str().unwrap());
        orrery(runs, &format!("ask {name} {words} --wait 60"))
    }

    /// Runs `orrery ask`, which must succeed, and returns its output.
    fn answer(&self, words: &str) -> String {
        let (code, said) = self.ask(words);
        assert_eq!(code, Some(0), "{words}: {said}");
        said
    }

    fn length(&self) -> u64 {
        fs::metadata(self.folder.join("metrics.jsonl")).unwrap().len()
    }

    /// The values of this field in the run's events.
    fn events(&self, field: &str) -> Vec<Value> {
        let text = fs::read_to_string(self.folder.join("events.jsonl")).unwrap();
        let events = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        events.map(|mut event| event[field].take()).filter(|value| !value.is_null()).collect()
    }

    fn described(&self) -> Value {
        serde_json::from_slice(&fs::read(self.folder.join("run.json")).unwrap()).unwrap()
    }
}

impl Drop for Training {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn a_training_pauses_saves_and_changes_its_rate_when_asked() {
    let here = tempfile::tempdir().unwrap();
    let training = Training::begin(here.path(), &["--allow", "pause,save,scale_lr"]);
    assert_eq!(training.described()["asks"], json!(["pause", "save", "scale_lr"]));

    let said = training.answer("pause");
    assert!(said.contains("paused after step"), "{said}");
    let length = training.length();
    let rate = training.described()["run"]["config"]["values"]["train.lr"].as_f64().unwrap();
    let said = training.answer("scale_lr --set factor=0.5");
    assert!(said.contains("learning rate"), "{said}");
    let changes = training.events("changed");
    let [changed] = &changes[..] else { panic!("one change is recorded: {changes:?}") };
    assert_eq!((&changed["key"], &changed["value"]), (&json!("train.lr"), &json!(rate * 0.5)));
    let said = training.answer("save");
    assert!(said.contains("a checkpoint of step"), "{said}");
    let kept = fs::read_dir(training.folder.join("checkpoints")).unwrap().next().unwrap().unwrap().path();
    let state = fs::read_to_string(kept.join("state.json")).unwrap();
    assert!(state.contains("train.lr"), "the checkpoint has the changed rate: {state}");
    assert!(training.answer("pause").contains("paused already"));
    assert_eq!(training.length(), length, "it trains although it is paused");

    assert!(training.answer("resume").contains("goes on after step"));
    wait_until("it does not go on", || training.length() > length);
    assert_eq!(training.events("state"), ["running", "paused", "running"].map(Value::from));
    // a value must be in the range of the setting and in that of the protocol
    for (words, part) in [("scale_lr --set factor=0.000001", "train.lr"), ("scale_lr --set factor=1000", "factor")] {
        let (code, said) = training.ask(words);
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains(part), "{said}");
    }
    assert_eq!(training.events("changed").len(), 1);
    let left = fs::read_dir(training.folder.join("ask")).unwrap().count();
    assert_eq!(left, 0, "questions are left");
}

#[test]
fn a_training_does_only_what_is_allowed() {
    let here = tempfile::tempdir().unwrap();
    let training = Training::begin(here.path(), &["--allow", "save"]);
    let (code, said) = training.ask("pause");
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("`pause` is not allowed by this run, which allows save"), "{said}");
    // a program that writes a question's file without checking the permissions is refused by the run itself
    fs::write(training.folder.join("ask/a.json"), json!({"ask": "pause"}).to_string()).unwrap();
    let answer = wait_for("nobody answers", || fs::read(training.folder.join("answer/a.json")).ok());
    let answer: Value = serde_json::from_slice(&answer).unwrap();
    assert_eq!(answer["state"], "refused");
    assert!(answer["words"].as_str().unwrap().contains("is not allowed: this run allows save"), "{answer}");
    assert_eq!(training.events("state"), ["running"].map(Value::from));
}

#[test]
fn a_training_that_allows_nothing_says_what_would() {
    let here = tempfile::tempdir().unwrap();
    let training = Training::begin(here.path(), &[]);
    let (code, said) = training.ask("pause");
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("--allow pause,save,scale_lr"), "{said}");
    assert!(!training.folder.join("ask").exists());
}

/// Otherwise the run would stay paused with an error that nobody sees, and the thread that receives commands would
/// block.
#[test]
fn a_paused_training_that_cannot_save_ends() {
    let here = tempfile::tempdir().unwrap();
    let mut training = Training::begin(here.path(), &["--allow", "pause,save"]);
    training.answer("pause");
    let checkpoints = training.folder.join("checkpoints");
    fs::remove_dir_all(&checkpoints).unwrap();
    fs::write(&checkpoints, "no folder").unwrap();
    let (code, said) = training.ask("save");
    assert!(code != Some(0) && said.contains("ended"), "{code:?}: {said}");
    let status = wait_for("it does not end", || training.process.try_wait().unwrap());
    assert_eq!(status.code(), Some(1));
}
