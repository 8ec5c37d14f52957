//! `orrery compare`: what differs between runs, their numbers, and a figure for each, by the command that a person uses.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command as Process, Output},
};

use orrery::{store::Writer, trainer::Options};

use crate::trainer::{fast_slow, started, train};

fn recorded(runs: &Path, more: &[(&str, &str)]) -> PathBuf {
    let (_, config) = fast_slow(9, more);
    let writer = Writer::at_once(runs);
    train(&config, Options { writer: Some(writer.clone()), ..started() });
    writer.folder().unwrap()
}

fn compare(runs: &[&Path], more: &[&str]) -> Output {
    Process::new(env!("CARGO_BIN_EXE_orrery")).arg("compare").args(runs).args(more).output().unwrap()
}

fn told(out: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr))
}

#[test]
fn runs_are_set_beside_each_other() {
    let dir = tempfile::tempdir().unwrap();
    let fast = recorded(dir.path(), &[("train.lr", "0.01"), ("seed", "1")]);
    let slow = recorded(dir.path(), &[("train.lr", "0.001"), ("seed", "1")]);
    let again = recorded(dir.path(), &[("train.lr", "0.001"), ("seed", "2")]);
    let to = dir.path().join("compared");
    let runs = [fast.as_path(), slow.as_path(), again.as_path()];
    let out = compare(&runs, &["--out", to.to_str().unwrap()]);
    assert!(out.status.success(), "{}", told(&out));
    let settings = fs::read_to_string(to.join("settings.csv")).unwrap();
    assert_eq!(settings.lines().next().unwrap(), "run,seed,train.lr", "nothing else differs: {settings}");
    assert_eq!(settings.lines().nth(2).unwrap(), "\"seed 1, lr 0.001\",1,0.001");
    let numbers = fs::read_to_string(to.join("numbers.csv")).unwrap();
    assert_eq!(numbers.lines().next().unwrap(), "run,variant,held-out loss (nats),|tanh γ|");
    assert_eq!(numbers.lines().count(), 1 + 3 * 2, "a row a run and variant: {numbers}");
    assert!(told(&out).contains("settings that differ") && told(&out).contains("held-out loss (nats)"));
    for stem in ["train_loss-coupled", "held_out_loss-frozen", "gate-coupled"] {
        let svg = fs::read_to_string(to.join(format!("{stem}.svg"))).unwrap();
        assert!(svg.contains("lr 0.01") && svg.contains("seed 2, lr 0.001"), "{stem}: {svg}");
    }
    let folded = dir.path().join("folded");
    let out = compare(&runs, &["--fold", "--out", folded.to_str().unwrap()]);
    assert!(out.status.success(), "{}", told(&out));
    let svg = fs::read_to_string(folded.join("held_out_loss-coupled.svg")).unwrap();
    assert!(svg.contains("lr 0.001, 2 seeds") && svg.contains("seed 1, lr 0.01<"), "{svg}");
}

#[test]
fn what_cannot_be_compared_is_refused_in_words() {
    let dir = tempfile::tempdir().unwrap();
    let run = recorded(dir.path(), &[]);
    for (runs, more, words) in [
        (vec![run.as_path()], vec![], "1 runs were given: two to 30"),
        (vec![run.as_path(), dir.path()], vec![], "is not a run folder"),
        (vec![run.as_path(), run.as_path()], vec!["--out", run.to_str().unwrap()], "is what is read"),
    ] {
        let out = compare(&runs, &more);
        assert!(out.status.code() == Some(2) && told(&out).contains(words), "{}", told(&out));
    }
}
