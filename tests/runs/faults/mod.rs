//! Fault injection: each system call by which a command reads or writes a run folder fails in one trial and kills the
//! process in another. A command that reports success must have left a complete record. After any other outcome, the
//! run can be resumed and then equals an undisturbed run.
//!
//! By default a sample of the calls is tested; `ORRERY_FAULTS=all` tests all of them (`scripts/faults`).

mod calls;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Output,
    sync::atomic::{AtomicUsize, Ordering},
};

use super::{
    command::{command, stderr_of},
    folders::{copy, scratch_folder},
    sweep::{SPEC, done, runs, with_spec},
};
use calls::{Call, Fault, can_trace, trace, with_each_failing, with_fault};
use orrery::{nn::Device, store::checkpoint, telemetry::channels};
use serde_json::Value;

/// The number of calls of a command that are tested by default.
const SAMPLE: usize = 16;

const SETTINGS: [&str; 26] = [
    "--no-figures",
    "--steps",
    "4",
    "--set",
    "run.checkpoint_every=2",
    "--set",
    "run.eval_every=2",
    "--set",
    "run.threads=1",
    "--set",
    "train.batch=2",
    "--set",
    "train.window=16",
    "--set",
    "model.d_model=16",
    "--set",
    "run.eval_windows=2",
    "--set",
    "model.kv_heads=4",
    "--set",
    "probe.residual_every=0",
    "--set",
    "probe.generator_distance_every=0",
    "--set",
    // this corpus is generated faster than prose
    "corpus.source=symbols",
    "--device=cpu",
];

/// The record of a complete run without its times.
#[derive(PartialEq, Debug)]
struct Record {
    metrics: Vec<Value>,
    samples: Vec<Value>,
    step: u64,
    weights: Vec<(String, Vec<u32>)>,
}

fn record(folder: &Path) -> Record {
    let lines = |name: &str| -> Vec<Value> {
        let text = fs::read_to_string(folder.join(name)).unwrap();
        text.lines().map(|l| serde_json::from_str(l).unwrap_or_else(|e| panic!("{name}: {e} in {l}"))).collect()
    };
    let mut metrics = lines("metrics.jsonl");
    for line in &mut metrics {
        for time in ["wall_secs", channels::STEP_MS] {
            line.as_object_mut().unwrap().remove(time);
        }
    }
    let loaded = checkpoint::load(folder, &Device::Cpu).unwrap().expect("a checkpoint").checkpoint;
    let bits = |t: &candle_core::Tensor| -> Vec<u32> {
        t.flatten_all().unwrap().to_vec1::<f32>().unwrap().iter().map(|x| x.to_bits()).collect()
    };
    let tensors = loaded.variants.iter().flat_map(|v| v.weights.iter().chain(&v.moments));
    let weights = tensors.map(|(name, t)| (name.clone(), bits(t))).collect();
    Record { metrics, samples: lines("samples.jsonl"), step: loaded.step, weights }
}

/// The run folder in `out`; hidden folders, which are still being written, do not count.
fn visible(out: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(out).ok()?.map(|e| e.unwrap());
    entries.filter(|e| !e.file_name().to_string_lossy().starts_with('.')).map(|e| e.path()).next()
}

fn run_args(out: &Path) -> Vec<String> {
    let mut args = vec!["run".to_owned(), "fast_slow".to_owned(), "--out".to_owned(), out.display().to_string()];
    args.extend(SETTINGS.map(str::to_owned));
    args
}

fn resume_args(folder: &Path) -> Vec<String> {
    ["resume", folder.to_str().unwrap(), "--no-figures"].map(str::to_owned).to_vec()
}

fn plain(args: &[String]) -> Output {
    command(Path::new("."), args).output().unwrap()
}

/// A sample of the calls whose start depends on `salt`, so that it differs between commands and faults; or all calls.
fn chosen(calls: Vec<Call>, salt: usize) -> Vec<Call> {
    if std::env::var("ORRERY_FAULTS").is_ok_and(|v| v == "all") {
        return calls;
    }
    let every = calls.len().div_ceil(SAMPLE).max(1);
    calls.into_iter().skip(salt % every).step_by(every).collect()
}

/// A typical error of a disk in such a call.
fn error_of(call: &Call) -> Fault {
    match call.name.as_str() {
        "write" | "pwrite64" | "writev" | "mkdir" | "mkdirat" | "rename" | "renameat" | "renameat2" => {
            Fault::Error("ENOSPC")
        }
        _ => Fault::Error("EIO"),
    }
}

/// Runs `each` for every call, on two threads. `each` returns whether the command succeeded despite the fault. Some
/// calls are retried or fail harmlessly, but most faults must make the command fail; otherwise errors are ignored.
fn for_each(what: &str, calls: &[Call], each: impl Fn(&Call) -> bool + Sync) {
    let (next, succeeded) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(call) = calls.get(next.fetch_add(1, Ordering::Relaxed)) {
                    succeeded.fetch_add(usize::from(each(call)), Ordering::Relaxed);
                }
            });
        }
    });
    let (all, succeeded) = (calls.len(), succeeded.into_inner());
    println!("{what}: {all} calls disturbed, {succeeded} of the commands succeeded all the same");
    assert!(2 * succeeded < all, "{what}: most faults are not noticed: {succeeded} of {all}");
}

fn strs(args: &[String]) -> Vec<&str> {
    args.iter().map(String::as_str).collect()
}

/// The record of an undisturbed run.
fn undisturbed() -> Record {
    let out = scratch_folder();
    let output = plain(&run_args(out.path()));
    assert!(output.status.success(), "{}", stderr_of(&output));
    record(&visible(out.path()).unwrap())
}

/// Checks the rule for the folder that a disturbed command left in `out`. Returns whether the command succeeded.
fn check_rule(out: &Path, output: &Output, reference: &Record, what: &str) -> bool {
    let said = stderr_of(output);
    assert!(!said.contains("panicked"), "{what}: {said}");
    let Some(folder) = visible(out) else {
        assert!(!output.status.success(), "{what}: success without a run folder: {said}");
        return false;
    };
    if output.status.success() {
        assert_eq!(&record(&folder), reference, "{what}: success, and the record is not complete: {said}");
        return true;
    }
    let resumed = plain(&resume_args(&folder));
    let words = stderr_of(&resumed);
    assert!(resumed.status.success(), "{what}: {said}\nresume: {words}");
    assert_eq!(&record(&folder), reference, "{what}: {said}\nresume: {words}");
    false
}

fn disturb_run(fault: impl Fn(&Call) -> Fault + Sync, salt: usize) {
    if !can_trace() {
        return;
    }
    let reference = undisturbed();
    let out = scratch_folder();
    let calls = trace(&strs(&run_args(out.path())), out.path());
    assert!(calls.len() > 40, "{calls:?}");
    for_each("run", &chosen(calls, salt), |call| {
        let out = scratch_folder();
        let output = with_fault(&strs(&run_args(out.path())), call, fault(call));
        check_rule(out.path(), &output, &reference, &format!("run, {call:?}"))
    });
}

#[test]
fn a_run_in_which_a_call_fails_is_complete_or_can_be_resumed() {
    disturb_run(error_of, 1);
}

#[test]
fn a_run_that_is_killed_at_a_call_can_be_resumed() {
    disturb_run(|_| Fault::Kill, 2);
}

/// Trains a run in `out` that is killed after its first checkpoint.
fn train_until_killed(out: &Path) -> PathBuf {
    let calls = {
        let scratch = scratch_folder();
        trace(&strs(&run_args(scratch.path())), scratch.path())
    };
    // the run is killed while it writes its second checkpoint, so that it has recorded steps after the first one
    let forced: Vec<&Call> = calls.iter().filter(|c| c.name == "fsync").collect();
    let output = with_fault(&strs(&run_args(out)), forced[forced.len() - 8], Fault::Kill);
    assert!(!output.status.success(), "the kill did not kill");
    let folder = visible(out).unwrap();
    assert_eq!(checkpoint::load(&folder, &Device::Cpu).unwrap().unwrap().checkpoint.step, 2);
    folder
}

fn disturb_resume(fault: impl Fn(&Call) -> Fault + Sync, salt: usize) {
    if !can_trace() {
        return;
    }
    let reference = undisturbed();
    let out = scratch_folder();
    let folder = train_until_killed(out.path());
    let again = |to: &Path| {
        let copied = to.join(folder.file_name().unwrap());
        copy(&folder, &copied);
        copied
    };
    let scratch = scratch_folder();
    let calls = trace(&strs(&resume_args(&again(scratch.path()))), scratch.path());
    assert!(calls.len() > 40, "{calls:?}");
    for_each("resume", &chosen(calls, salt), |call| {
        let out = scratch_folder();
        let output = with_fault(&strs(&resume_args(&again(out.path()))), call, fault(call));
        check_rule(out.path(), &output, &reference, &format!("resume, {call:?}"))
    });
}

#[test]
fn a_resume_in_which_a_call_fails_is_complete_or_can_be_resumed() {
    disturb_resume(error_of, 3);
}

#[test]
fn a_resume_that_is_killed_at_a_call_can_be_resumed() {
    disturb_resume(|_| Fault::Kill, 4);
}

#[test]
fn an_export_in_which_a_call_fails_writes_the_whole_file_or_none() {
    if !can_trace() {
        return;
    }
    let out = scratch_folder();
    assert!(plain(&run_args(out.path())).status.success());
    let folder = visible(out.path()).unwrap();
    // the lengths of the logs are compared with a checkpoint's where there is one that can be read; nothing else is read of it
    fs::remove_dir_all(folder.join("checkpoints")).unwrap();
    let export =
        |file: &Path| ["export", folder.to_str().unwrap(), "--csv", file.to_str().unwrap()].map(str::to_owned).to_vec();
    let whole = out.path().join("whole.csv");
    let calls = trace(&strs(&export(&whole)), out.path());
    let expected = fs::read(&whole).unwrap();
    for_each("export", &chosen(calls, 5), |call| {
        let scratch = tempfile::tempdir_in(out.path()).unwrap();
        let file = scratch.path().join("a.csv");
        let output = with_fault(&strs(&export(&file)), call, error_of(call));
        let said = stderr_of(&output);
        assert!(!said.contains("panicked"), "{call:?}: {said}");
        match fs::read(&file) {
            Ok(written) => assert!(written == expected, "{call:?}: half a file: {said}"),
            Err(_) => assert!(!output.status.success(), "{call:?}: success without a file: {said}"),
        }
        let left = fs::read_dir(scratch.path()).unwrap().count();
        assert_eq!(left, usize::from(file.exists()), "{call:?}: something is left beside it: {said}");
        output.status.success()
    });
}

/// Some network file systems have no locks. A sweep still runs there, with a warning that two processes may train the
/// same run.
#[test]
fn a_sweep_says_that_its_file_system_has_no_locks() {
    if !can_trace() {
        return;
    }
    let made = with_spec(SPEC);
    let here = made.path();
    done(here, &["sweep", "rates.toml", "--on", "print"]);
    let folder = here.join("sweeps/rates").display().to_string();
    let output = with_each_failing(&["sweep", &folder, "--task", "0"], "flock", "ENOLCK");
    let said = stderr_of(&output);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("as its file system has no locks") && said.contains("p1-s7.lock"), "{said}");
    assert_eq!(runs(here).len(), 1);
}

#[test]
fn a_resume_says_that_its_file_system_has_no_locks() {
    if !can_trace() {
        return;
    }
    let out = scratch_folder();
    assert!(plain(&run_args(out.path())).status.success());
    let mut args = resume_args(&visible(out.path()).unwrap());
    args.extend(["--steps", "6"].map(str::to_owned));
    let output = with_each_failing(&strs(&args), "flock", "ENOLCK");
    let said = stderr_of(&output);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("as its file system has no locks") && said.contains("writes this run"), "{said}");
}
