//! Tests the records of runs with the real binary, files and signals: a record is complete, and a message says what
//! cannot be recorded or resumed.

use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    time::Duration,
};

use orrery::{
    cli::{host::DesktopHost, runs::Runs},
    config::Value,
    nn::Device,
    store::{Writer, checkpoint},
    telemetry::{StepStats, channels},
    trainer::{self, DriveOptions},
    ui::host::{Delivery, Host},
};

use super::{
    command::{command, stderr_of},
    folders::contents,
};
use crate::{
    config_with::plan_with,
    wait_for::{wait_for, wait_until},
};

/// Settings of a model so small that a step takes only milliseconds.
const SMALL: &str = "--no-figures --device cpu --set run.threads=1 --set train.batch=2 --set train.window=16 \
                     --set model.d_model=16 --set run.eval_windows=2 --set run.eval_every=0 --set run.checkpoint_every=10 \
                     --set probe.residual_every=0";

fn train(here: &Path, words: &str) -> Command {
    let words = ["run", "fast_slow"].into_iter().chain(SMALL.split_whitespace()).chain(words.split_whitespace());
    command(here, words)
}

/// Makes a run, and returns its folder.
fn trained(here: &Path, words: &str) -> PathBuf {
    let output = train(here, words).output().unwrap();
    assert!(output.status.success(), "{}", stderr_of(&output));
    only_run(here)
}

/// Resumes a run from this folder.
fn resume(here: &Path, run: &Path, words: &str) -> Output {
    command(here, ["resume"]).arg(run).args(words.split_whitespace()).output().unwrap()
}

/// The only run in `runs`.
fn only_run(here: &Path) -> PathBuf {
    let entries: Vec<PathBuf> = fs::read_dir(here.join("runs")).unwrap().map(|e| e.unwrap().path()).collect();
    assert_eq!(entries.len(), 1, "{entries:?}");
    entries[0].clone()
}

/// Starts a run of many steps and waits until it has recorded some.
fn under_way(here: &Path) -> (Child, PathBuf) {
    let child = train(here, "--steps 100000").stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    (child, with_steps(here))
}

/// Waits until the run in `runs` has recorded some steps. Returns its folder.
fn with_steps(here: &Path) -> PathBuf {
    let is_recorded = |f: &PathBuf| fs::metadata(f.join("metrics.jsonl")).is_ok_and(|m| m.len() > 4000);
    wait_for("no step is recorded", || {
        fs::read_dir(here.join("runs")).into_iter().flatten().map(|e| e.unwrap().path()).find(is_recorded)
    })
}

fn end(mut child: Child) -> (Option<i32>, String) {
    let mut words = String::new();
    child.stderr.take().unwrap().read_to_string(&mut words).unwrap();
    (child.wait().unwrap().code(), words)
}

#[cfg(unix)]
#[test]
fn a_folder_that_is_moved_deleted_or_replaced_ends_the_run() {
    type Disturb = fn(&Path, &Path);
    let cases: [(&str, Disturb); 3] = [
        ("moved", |folder, aside| fs::rename(folder, aside).unwrap()),
        ("deleted", |folder, _| while fs::remove_dir_all(folder).is_err() {}),
        ("replaced", |folder, aside| {
            fs::rename(folder, aside).unwrap();
            fs::create_dir(folder).unwrap();
            fs::write(folder.join("metrics.jsonl"), "").unwrap();
        }),
    ];
    for (name, disturb) in cases {
        let here = tempfile::tempdir().unwrap();
        let (child, folder) = under_way(here.path());
        let aside = here.path().join("aside");
        disturb(&folder, &aside);
        let (code, words) = end(child);
        assert_eq!(code, Some(1), "{name}: {words}");
        // a folder is deleted file by file, so a checkpoint may fail before the logs are deleted
        let is_cut_short = name == "deleted" && words.contains("cannot write") && words.contains("checkpoints");
        assert!(words.contains("can no longer be recorded") || is_cut_short, "{name}: {words}");
        let left = if folder.exists() { contents(&folder) } else { Default::default() };
        assert!(left.iter().all(|(_, bytes)| bytes.is_empty()), "{name}: something was written to a ghost: {left:?}");
        if aside.exists() {
            let metrics = fs::read_to_string(aside.join("metrics.jsonl")).unwrap();
            assert!(metrics.ends_with('\n'), "{name}: the record ends with a whole line");
        }
    }
}

#[cfg(unix)]
#[test]
fn a_signal_ends_a_run_with_a_checkpoint_of_its_last_step() {
    for signal in ["TERM", "INT", "HUP"] {
        let here = tempfile::tempdir().unwrap();
        let (child, folder) = under_way(here.path());
        let sent = Command::new("kill").args([format!("-{signal}"), child.id().to_string()]).status().unwrap();
        assert!(sent.success());
        let (code, words) = end(child);
        assert_eq!(code, Some(130), "{signal}: {words}");
        assert!(words.contains("orrery resume"), "{signal}: {words}");
        let kept = checkpoint::load(&folder, &Device::Cpu).unwrap().expect("a checkpoint").checkpoint;
        let metrics = fs::read_to_string(folder.join("metrics.jsonl")).unwrap();
        let last: serde_json::Value = serde_json::from_str(metrics.lines().last().unwrap()).unwrap();
        assert_eq!(last["step"], kept.step, "{signal}");
        let events = fs::read_to_string(folder.join("events.jsonl")).unwrap();
        assert!(events.lines().last().unwrap().contains("stopped"), "{signal}: {events}");
        let resumed = resume(here.path(), &folder, &format!("--no-figures --steps {}", kept.step + 5));
        assert!(resumed.status.success(), "{signal}: {}", stderr_of(&resumed));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_run_finishes_with_closed_or_full_output_streams() {
    let here = tempfile::tempdir().unwrap();
    let shell = |redirect: &str| {
        let command = format!("exec {} run fast_slow {SMALL} --steps 3 {redirect}", env!("CARGO_BIN_EXE_orrery"));
        let output = Command::new("sh").args(["-c", &command]).current_dir(here.path()).output().unwrap();
        let folder = only_run(here.path());
        let events = fs::read_to_string(folder.join("events.jsonl")).unwrap();
        assert!(events.contains("finished"), "{redirect}: {events}");
        fs::remove_dir_all(folder).unwrap();
        output
    };
    for redirect in ["2>&-", "2>/dev/full", "2>&- >&-"] {
        let output = shell(redirect);
        assert_eq!(output.status.code(), Some(0), "{redirect}: {}", stderr_of(&output));
    }
    let output = shell(">/dev/full");
    assert_eq!(output.status.code(), Some(1), "where the run lies could not be printed: {}", stderr_of(&output));
    assert!(!stderr_of(&output).contains("panicked"), "{}", stderr_of(&output));
}

#[test]
fn a_run_goes_on_with_the_same_text_from_any_folder_and_with_no_other() {
    let here = tempfile::tempdir().unwrap();
    let text = "the cat sat on the mat and the dog sat on the log, again and again. ".repeat(400);
    fs::write(here.path().join("a.txt"), &text).unwrap();
    let folder = trained(here.path(), "--steps 4 --text a.txt");
    let run = fs::read_to_string(folder.join("run.json")).unwrap();
    assert!(run.contains("\"sha256\""), "{run}");
    let elsewhere = tempfile::tempdir().unwrap();
    let resume = |steps: &str| resume(elsewhere.path(), &folder, &format!("--no-figures --steps {steps}"));
    let output = resume("6");
    assert!(output.status.success(), "{}", stderr_of(&output));

    let before = contents(&folder);
    let refused = |steps: &str, part: &str| {
        let output = resume(steps);
        assert_eq!(output.status.code(), Some(2), "{}", stderr_of(&output));
        assert!(stderr_of(&output).contains(part), "{part}: {}", stderr_of(&output));
        assert!(contents(&folder) == before, "{part}: a refusal changed the folder");
    };
    refused("5", "6 steps already");
    // the changed text has the same length, so that only its content differs
    fs::write(here.path().join("a.txt"), text.replacen("cat", "cow", 1)).unwrap();
    refused("8", "is not the file that this run was trained with");
    fs::write(here.path().join("a.txt"), text.repeat(2)).unwrap();
    refused("8", "is not the file that this run was trained with");
    fs::remove_file(here.path().join("a.txt")).unwrap();
    refused("8", "a.txt");
}

#[test]
fn settings_that_were_edited_do_not_go_on() {
    let here = tempfile::tempdir().unwrap();
    let folder = trained(here.path(), "--steps 4");
    let config = folder.join("config.toml");
    let text = fs::read_to_string(&config).unwrap();
    assert!(text.contains("lr = 0.001"), "{text}");
    fs::write(&config, text.replace("lr = 0.001", "lr = 0.002")).unwrap();
    let before = contents(&folder);
    let output = resume(here.path(), &folder, "--steps 8");
    assert_eq!(output.status.code(), Some(2), "{}", stderr_of(&output));
    assert!(stderr_of(&output).contains("train.lr"), "{}", stderr_of(&output));
    assert!(contents(&folder) == before, "a refusal changed the folder");
}

#[test]
fn a_finished_run_is_left_as_it_is_and_keeps_its_answers_when_it_goes_on() {
    let here = tempfile::tempdir().unwrap();
    let folder = trained(here.path(), "--steps 4 --set probe.residual_every=4");
    let samples = folder.join("samples.jsonl");
    let text = fs::read_to_string(&samples).unwrap();
    // a window appends such an answer if the user asks after the run has ended
    let mut asked: serde_json::Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    asked["request"] = 1.into();
    assert_eq!(asked["step"], 4);
    fs::write(&samples, format!("{text}{asked}\n")).unwrap();
    let before = contents(&folder);
    let output = resume(here.path(), &folder, "");
    assert!(
        output.status.success() && stderr_of(&output).contains("finished, at step 4 of 4"),
        "{}",
        stderr_of(&output)
    );
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), folder.to_str().unwrap());
    assert!(contents(&folder) == before, "a finished run was changed");

    let output = resume(here.path(), &folder, "--no-figures --steps 6");
    assert!(output.status.success(), "{}", stderr_of(&output));
    assert!(fs::read_to_string(&samples).unwrap().contains(&asked.to_string()));
    assert!(!folder.join("samples.superseded.jsonl").exists());
}

#[test]
fn unrecordable_settings_and_folders_are_refused_before_training() {
    let here = tempfile::tempdir().unwrap();
    fs::write(here.path().join("file"), "").unwrap();
    for (words, code, part) in [
        ("--seed 9223372036854775808", 2, "9223372036854775808"),
        ("--set corpus.seed=9007199254740993", 2, "corpus.seed"),
        ("--out file/runs", 1, "file"),
    ] {
        let output = train(here.path(), &format!("--steps 2 {words}")).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{words}: {}", stderr_of(&output));
        assert!(stderr_of(&output).contains(part), "{words}: {}", stderr_of(&output));
        assert!(!stderr_of(&output).contains("parameters"), "{words}: a model was made: {}", stderr_of(&output));
    }
    #[cfg(target_os = "linux")]
    {
        use std::os::unix::ffi::OsStrExt;
        let name = std::ffi::OsStr::from_bytes(b"caf\xe9.txt");
        fs::write(here.path().join(name), "some text to read. ".repeat(500)).unwrap();
        let output = train(here.path(), "--steps 2 --text").arg(name).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", stderr_of(&output));
        assert!(stderr_of(&output).contains("not UTF-8"), "{}", stderr_of(&output));
    }
    assert!(!here.path().join("runs").exists());
}

#[test]
fn no_output_is_written_over_what_is_read_or_over_a_record() {
    let here = tempfile::tempdir().unwrap();
    let folder = trained(here.path(), "--steps 2");
    let graph = here.path().join("g.csv");
    fs::write(&graph, "source,target,weight\na,b,1\nb,c,2\n").unwrap();
    let before = contents(here.path());
    let (run, graph) = (folder.to_str().unwrap(), graph.to_str().unwrap());
    let within = |name: &str| format!("{run}/{name}");
    let cases = [
        ["export", run, "--csv", &within("metrics.jsonl")].map(str::to_owned),
        ["export", run, "--csv", &within("run.json")].map(str::to_owned),
        ["export", run, "--tensorboard", &within("checkpoints")].map(str::to_owned),
        ["export", run, "--safetensors", &within("checkpoints/step-00000002/state.json")].map(str::to_owned),
        ["graph", graph, "--out", graph].map(str::to_owned),
    ];
    for args in cases {
        let output = command(here.path(), &args).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", stderr_of(&output));
        assert!(contents(here.path()) == before, "{args:?} changed something");
    }
}

/// A save dialog could choose a file of the record, which must not be overwritten.
#[test]
fn a_window_saves_nothing_over_a_record() {
    let here = tempfile::tempdir().unwrap();
    let folder = trained(here.path(), "--steps 2");
    let before = contents(&folder);
    let mut host = DesktopHost::new(here.path().join("runs"), Runs::new());
    let mut save = |path: PathBuf| {
        host.write(path, b"picture".to_vec());
        loop {
            match host.deliveries().pop() {
                Some(delivery) => return delivery,
                None => std::thread::sleep(Duration::from_millis(5)),
            }
        }
    };
    let refused = save(folder.join("metrics.jsonl"));
    assert!(matches!(&refused, Delivery::Failed { what } if what.contains("record of a run")), "{refused:?}");
    assert!(contents(&folder) == before, "the record was changed");
    let saved = save(here.path().join("exports/gate.png"));
    assert!(matches!(saved, Delivery::Saved { .. }), "{saved:?}");
    assert_eq!(fs::read(here.path().join("exports/gate.png")).unwrap(), b"picture");
}

/// A window does this when its process ends, so that no run loses its last steps.
#[test]
fn a_process_that_ends_stops_its_runs_and_waits_for_their_checkpoints() {
    let here = tempfile::tempdir().unwrap();
    let small = [("train.batch", "2"), ("train.window", "16"), ("model.d_model", "16"), ("train.steps", "100000")];
    let plan = || plan_with("fast_slow", None, &small).unwrap();
    let runs = Runs::new();
    let writer = Writer::new(here.path());
    let options = DriveOptions {
        start: true,
        stay: true,
        writer: Some(writer.clone()),
        process: runs.process(),
        ..DriveOptions::default()
    };
    let trained = trainer::spawn(plan(), options, vec![]).unwrap();
    // a run that waits for a command must also be notified of the end
    let waiting = DriveOptions { stay: true, process: runs.process(), ..DriveOptions::default() };
    let waiting = trainer::spawn(plan(), waiting, vec![]).unwrap();
    let recorded = || writer.folder().is_some_and(|f| fs::metadata(f.join("metrics.jsonl")).unwrap().len() > 4000);
    wait_until("no step is recorded", recorded);
    runs.end();
    let folder = writer.folder().unwrap();
    let kept = checkpoint::load(&folder, &Device::Cpu).unwrap().expect("a checkpoint").checkpoint;
    let metrics = fs::read_to_string(folder.join("metrics.jsonl")).unwrap();
    let last: serde_json::Value = serde_json::from_str(metrics.lines().last().unwrap()).unwrap();
    assert_eq!(last["step"], kept.step);
    assert!(runs.process().is_none(), "no run begins while the process ends");
    drop((trained, waiting));
}

#[test]
fn a_held_out_loss_that_is_no_number_at_the_end_fails_the_run() {
    let run = trainer::Run::open(plan_with("fast_slow", None, &[("train.steps", "4")]).unwrap()).unwrap();
    let stats = |step: u64, loss: f64| {
        let scalars = vec![(channels::LOSS_HELD_OUT.into(), loss)];
        StepStats { step, variant: 0, scalars, wall_secs: 0.0 }
    };
    for (step, loss, is_good) in [(4, 5.0, true), (2, f64::NAN, true), (4, f64::NAN, false), (4, f64::INFINITY, false)]
    {
        let checked = run.check_last_evaluation(&stats(step, loss));
        assert_eq!(checked.is_ok(), is_good, "{loss} at step {step}: {checked:?}");
    }
}

#[test]
fn a_live_setting_out_of_its_range_or_unknown_does_not_go_on() {
    let here = tempfile::tempdir().unwrap();
    let folder = trained(here.path(), "--steps 4");
    let whole = checkpoint::load(&folder, &Device::Cpu).unwrap().expect("a checkpoint").checkpoint;
    for (key, value, is_good) in [("train.lr", 1e-2, true), ("train.lr", 2.0, false), ("train.speed", 1.0, false)] {
        let mut edited = whole.clone();
        edited.live_settings.insert(key.to_owned(), Value::Float(value));
        // the edited checkpoint has a valid checksum, so that only the value can be the reason for a refusal
        checkpoint::save(&folder, &edited).unwrap();
        let before = contents(&folder);
        let output = resume(here.path(), &folder, "--no-figures --steps 4");
        let words = stderr_of(&output);
        assert_eq!(output.status.code(), Some(if is_good { 0 } else { 2 }), "{key} = {value}: {words}");
        if !is_good {
            assert!(words.contains(key) && words.contains("live setting"), "{key} = {value}: {words}");
            assert!(contents(&folder) == before, "{key} = {value}: a refusal changed the folder");
        }
    }
}
