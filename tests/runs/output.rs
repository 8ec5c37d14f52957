//! The results of commands: a disk that is full is their failure, and what is not whole is said. The real binary.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use crate::command::orrery;

/// Two short runs, as `a` and `b`.
fn with_runs() -> tempfile::TempDir {
    let here = tempfile::tempdir().unwrap();
    for name in ["a", "b"] {
        let words = "run fast_slow --steps 4 --out made --no-figures --set model.d_model=16 --set train.window=32 \
                     --set train.batch=2 --set run.eval_every=2 --set probe.attention_maps_every=2 --set run.device=cpu";
        let (code, said) = orrery(here.path(), words);
        assert_eq!(code, Some(0), "{said}");
        let run = fs::read_dir(here.path().join("made")).unwrap().next().unwrap().unwrap().path();
        fs::create_dir_all(here.path().join("runs")).unwrap();
        fs::rename(run, here.path().join("runs").join(name)).unwrap();
    }
    here
}

/// The exit code and what stands on standard error, where standard output is this device.
#[cfg(target_os = "linux")]
fn onto(device: &str, here: &Path, words: &str) -> (Option<i32>, String) {
    let file = fs::File::options().write(true).open(device).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_orrery"));
    command.args(words.split_whitespace()).current_dir(here).stdout(Stdio::from(file));
    let output = command.env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY").output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_the_failure_of_every_command() {
    let here = with_runs();
    for words in [
        "--help",
        "list",
        "list --ids",
        "list --views",
        "list --knobs fast_slow",
        "list --runs runs",
        "schema",
        "schema --channels",
        "ask --list",
        "runs --out runs",
        "runs --csv --out runs",
        "runs --json --out runs",
        "compare runs/a runs/b",
        "export runs/a --csv a.csv",
        "export runs/a --samples tables",
        "report runs/a -o a.html",
    ] {
        let (code, said) = onto("/dev/full", here.path(), words);
        assert_eq!(code, Some(1), "{words}: {said}");
        let sentences = said.lines().filter(|line| line.contains("could not be written whole")).count();
        assert_eq!(sentences, 1, "{words}: {said}");
        assert!(!said.contains("panicked"), "{words}: {said}");
        assert_eq!(onto("/dev/null", here.path(), words).0, Some(0), "{words}");
    }
    // a device is no file to write into
    let (code, said) = orrery(here.path(), "export runs/a --csv /dev/full");
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("/dev/full"), "{said}");
}

#[cfg(unix)]
#[test]
fn a_reader_that_has_left_ends_a_command_in_silence() {
    let here = with_runs();
    for words in ["runs --json --out runs", "list", "schema", "ask --list"] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = Command::new(env!("CARGO_BIN_EXE_orrery"));
        command.args(words.split_whitespace()).current_dir(here.path()).stdout(Stdio::from(writer));
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), said.as_str()), (Some(141), ""), "{words}");
    }
}
