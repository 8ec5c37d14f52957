//! Tests that a run folder from somebody else is treated as untrusted data: no command follows a link in it, opens
//! anything but ordinary files, or reads or writes outside it. Uses the real binary.

#![cfg(unix)]

use std::{
    fs,
    io::{BufRead, BufReader},
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    sync::OnceLock,
    time::{Duration, Instant},
};

use orrery::{
    cli::{host::DesktopHost, runs::Runs},
    ui::host::{Delivery, Host},
};
use serde_json::json;
use tempfile::TempDir;

use super::{
    command::{command, stderr_of},
    folders::{contents, copy},
    foreign_run::ForeignRun,
};

const CHECKPOINT: &str = "checkpoints/step-00000003";

/// Runs the command, which must end within a minute: if it opened a pipe, it would block forever.
fn orrery(args: &[&str]) -> Output {
    orrery_in(Path::new("."), args)
}

/// Runs the command in this folder; see [`orrery`].
pub fn orrery_in(folder: &Path, args: &[&str]) -> Output {
    let mut process = command(folder, args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let end = Instant::now() + Duration::from_secs(60);
    while process.try_wait().unwrap().is_none() {
        if Instant::now() > end {
            process.kill().unwrap();
            panic!("{args:?} did not end");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    process.wait_with_output().unwrap()
}

/// A finished run of three steps, which is trained once for all tests.
fn run() -> &'static Path {
    static MADE: OnceLock<(TempDir, PathBuf)> = OnceLock::new();
    let (_, folder) = MADE.get_or_init(|| {
        let out = tempfile::tempdir().unwrap();
        let mut args = vec!["run", "fast_slow", "--steps", "3", "--no-figures", "--out", out.path().to_str().unwrap()];
        let small = ["model.d_model=16", "model.heads=2", "train.batch=2", "train.window=16", "run.device=cpu"];
        for set in small.into_iter().chain(["probe.residual_every=0"]) {
            args.extend(["--set", set]);
        }
        let done = orrery(&args);
        assert!(done.status.success(), "{}", stderr_of(&done));
        let folder = fs::read_dir(out.path()).unwrap().next().unwrap().unwrap().path();
        (out, folder)
    });
    folder
}

/// Moves a file or folder elsewhere and replaces it by a link.
fn put_link(place: &Path, elsewhere: &Path) {
    fs::rename(place, elsewhere).unwrap();
    symlink(elsewhere, place).unwrap();
}

pub fn put_pipe(place: &Path) {
    fs::remove_file(place).ok();
    let fifo = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, place, fifo, 0o600.into(), 0).unwrap();
}

/// The path, relative to the run, of the first file in a folder whose name contains `part`.
fn found(folder: &str, part: &str) -> String {
    let files = fs::read_dir(run().join(folder)).unwrap();
    let mut names = files.map(|e| e.unwrap().file_name().into_string().unwrap());
    format!("{folder}/{}", names.find(|name| name.contains(part)).unwrap())
}

fn weights() -> String {
    found(CHECKPOINT, ".safetensors")
}

#[test]
fn links_and_pipes_in_a_run_folder_are_refused() {
    let state = format!("{CHECKPOINT}/state.json");
    let weights = weights();
    for name in ["config.toml", "run.json", "checkpoints", CHECKPOINT, &state, &weights] {
        for trap in ["link", "pipe"] {
            let folder = tempfile::tempdir().unwrap();
            let (mine, elsewhere) = (folder.path().join("run"), folder.path().join("elsewhere"));
            copy(run(), &mine);
            fs::create_dir(&elsewhere).unwrap();
            match trap {
                "link" => put_link(&mine.join(name), &elsewhere.join("target")),
                _ if mine.join(name).is_dir() => continue,
                _ => put_pipe(&mine.join(name)),
            }
            let before = contents(&elsewhere);
            let done = orrery(&["resume", mine.to_str().unwrap(), "--steps", "5", "--no-figures"]);
            let said = stderr_of(&done);
            assert_eq!(done.status.code(), Some(2), "{name}, a {trap}: {said}");
            let file = Path::new(name).file_name().unwrap().to_str().unwrap();
            assert!(said.contains(&format!("it is a {trap}")) && said.contains(file), "{name}, a {trap}: {said}");
            assert_eq!(contents(&elsewhere), before, "{name}, a {trap}");
        }
    }
}

#[test]
fn reading_a_run_follows_no_link_and_waits_for_no_pipe() {
    let (export, snapshot) = ("export run --csv out.csv", found("snapshots", "step-00000001"));
    for (name, command, code) in [
        ("run.json", export, 2),
        ("metrics.jsonl", export, 1),
        ("samples.jsonl", export, 1),
        ("events.jsonl", export, 1),
        ("note.toml", "runs --edit run --pin", 2),
        (snapshot.as_str(), "ask run next_tokens --step 1", 2),
    ] {
        for trap in ["link", "pipe"] {
            let folder = tempfile::tempdir().unwrap();
            let mine = folder.path().join("run");
            copy(run(), &mine);
            fs::write(mine.join("note.toml"), "name = \"mine\"\n").unwrap();
            match trap {
                "link" => put_link(&mine.join(name), &folder.path().join("target")),
                _ => put_pipe(&mine.join(name)),
            }
            let done = orrery_in(folder.path(), &command.split(' ').collect::<Vec<_>>());
            let said = stderr_of(&done);
            assert_eq!(done.status.code(), Some(code), "{name}, a {trap}: {said}");
            assert!(said.contains(&format!("it is a {trap}")), "{name}, a {trap}: {said}");
            assert!(!folder.path().join("out.csv").exists(), "{name}, a {trap}: half of the numbers were written");
        }
    }
}

/// A folder with two runs. In the first, a link or a pipe replaces this file or folder. The link's target is in
/// `elsewhere`. `None` if a folder would have to become a pipe.
fn with_trap(name: &str, trap: &str) -> Option<TempDir> {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("run").join(name);
    ["run", "other"].iter().for_each(|to| copy(run(), &folder.path().join(to)));
    fs::write(folder.path().join("run/note.toml"), "name = \"mine\"\n").unwrap();
    fs::create_dir(folder.path().join("elsewhere")).unwrap();
    match trap {
        "link" => put_link(&place, &folder.path().join("elsewhere/target")),
        _ if place.is_dir() => return None,
        _ => put_pipe(&place),
    }
    Some(folder)
}

/// Tests every command that reads a run with every file that it reads.
#[test]
fn no_command_follows_a_link_or_waits_for_a_pipe() {
    const RECORD: &[&str] = &["run.json", "metrics.jsonl", "samples.jsonl", "events.jsonl", "note.toml"];
    let (state, weights) = (format!("{CHECKPOINT}/state.json"), weights());
    let checkpoint: &[&str] = &["run.json", "checkpoints", CHECKPOINT, &state, &weights];
    let commands: [(&str, &[&str]); 7] = [
        ("report run -o out.html", RECORD),
        ("compare run other", &["run.json", "metrics.jsonl", "events.jsonl", "note.toml"]),
        ("render run --view losses --out out.png", &["run.json", "metrics.jsonl"]),
        ("follow run --headless", &["run.json", "metrics.jsonl", "samples.jsonl", "events.jsonl"]),
        ("model merge run other --variant coupled --out out.safetensors", checkpoint),
        ("export run --variant coupled --safetensors out.safetensors", checkpoint),
        ("replay run", &["run.json", "metrics.jsonl"]),
    ];
    let cases = commands.iter().flat_map(|(command, files)| files.iter().map(move |file| (*command, *file)));
    let cases: Vec<_> = cases.flat_map(|(command, file)| ["link", "pipe"].map(|trap| (command, file, trap))).collect();
    let check = |(command, file, trap): &(&str, &str, &str)| {
        let Some(folder) = with_trap(file, trap) else { return };
        let before = contents(&folder.path().join("elsewhere"));
        let done = orrery_in(folder.path(), &command.split(' ').collect::<Vec<_>>());
        let said = String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned();
        let what = format!("{command}, {file}, a {trap}: {said}");
        assert!(contents(&folder.path().join("elsewhere")) == before, "something changed outside: {what}");
        assert!(done.status.code().is_some() && !said.contains("panicked"), "{what}");
        // without a graphics adapter or a display, these commands end earlier with another message
        let needs_machine = ["render", "replay"].iter().any(|name| command.starts_with(name));
        assert!(needs_machine || said.contains(&format!("it is a {trap}")), "{what}");
    };
    std::thread::scope(|scope| {
        for part in cases.chunks(cases.len().div_ceil(2)) {
            scope.spawn(move || part.iter().for_each(check));
        }
    });
}

#[test]
fn a_list_says_how_many_runs_cannot_be_read() {
    let folder = with_trap("run.json", "pipe").unwrap();
    let done = orrery_in(folder.path(), &["list", "--runs", "."]);
    let said = stderr_of(&done);
    assert!(done.status.success() && said.contains("1 cannot be read; `orrery runs --out .` says why"), "{said}");
    assert_eq!(String::from_utf8_lossy(&done.stdout).lines().count(), 1, "the other run is listed");
}

/// Tests the command that sends a run to another machine. Each case waits for the heartbeat that follows the last file,
/// so all cases run in parallel.
#[test]
fn nothing_is_streamed_over_a_link_or_from_a_pipe() {
    let check = |file: &str, trap: &str| {
        let Some(folder) = with_trap(file, trap) else { return };
        let mut command = command(folder.path(), ["stream", "run", "--stdio"]);
        let mut process = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut frames = BufReader::new(process.stdout.take().unwrap());
        let (sender, receiver) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let mut sent = vec![];
            while !sent.ends_with(b"\"beat\"\n") && frames.read_until(b'\n', &mut sent).is_ok_and(|n| n > 0) {}
            let _ = sender.send(sent);
        });
        let sent = receiver.recv_timeout(Duration::from_secs(60));
        process.kill().unwrap();
        process.wait().unwrap();
        let sent = String::from_utf8_lossy(&sent.expect("it waits for a pipe")).into_owned();
        assert!(sent.ends_with("\"beat\"\n"), "{file}: {sent}");
        let is_sent = |name: &str| sent.contains(&format!("\"file\":\"{name}\""));
        assert!(!is_sent(file), "{file}");
        assert!(["run.json", "metrics.jsonl"].iter().any(|other| is_sent(other)), "{file}: the others are sent");
    };
    std::thread::scope(|scope| {
        for file in ["run.json", "config.toml", "metrics.jsonl", "samples.jsonl", "events.jsonl"] {
            for trap in ["link", "pipe"] {
                scope.spawn(move || check(file, trap));
            }
        }
    });
}

#[test]
fn nothing_is_moved_into_a_trash_that_is_a_link() {
    let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mine = folder.path().join("run");
    copy(run(), &mine);
    symlink(outside.path(), folder.path().join(".trash")).unwrap();
    let done = orrery(&["runs", "--edit", mine.to_str().unwrap(), "--delete"]);
    let said = stderr_of(&done);
    assert_eq!(done.status.code(), Some(2), "{said}");
    assert!(said.contains("link"), "{said}");
    assert!(mine.join("run.json").is_file(), "the run lies where it was");
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
}

#[test]
fn a_run_that_is_deleted_behind_a_link_is_named_by_its_place() {
    let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    copy(run(), &outside.path().join("run"));
    symlink(outside.path(), folder.path().join("runs")).unwrap();
    let place = outside.path().canonicalize().unwrap().join("run");
    let done = orrery_in(folder.path(), &["runs", "--edit", "runs/run", "--delete"]);
    let said = stderr_of(&done);
    assert!(said.contains(&format!("runs/run is the folder {}, which is deleted", place.display())), "{said}");
    assert!(done.status.success() && !place.exists(), "{said}");
}

#[test]
fn a_checkpoint_names_no_file_outside_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    let mine = folder.path().join("run");
    copy(run(), &mine);
    let weights = weights();
    fs::rename(mine.join(&weights), folder.path().join("secret.safetensors")).unwrap();
    let state = mine.join(CHECKPOINT).join("state.json");
    let name = Path::new(&weights).file_name().unwrap().to_str().unwrap();
    let text = fs::read_to_string(&state).unwrap().replace(name, "../../../secret.safetensors");
    // format 1 has no checksum of the file itself, so that the edited name is not rejected by it
    let mut written: serde_json::Value = serde_json::from_str(&text).unwrap();
    written.as_object_mut().unwrap().remove("crc32c").unwrap();
    written["format"] = 1.into();
    fs::write(&state, written.to_string()).unwrap();
    let done = orrery(&["resume", mine.to_str().unwrap(), "--steps", "5", "--no-figures"]);
    let said = stderr_of(&done);
    assert_eq!(done.status.code(), Some(2), "{said}");
    assert!(said.contains("leads out of the folder"), "{said}");
}

/// Resuming a run must not change anything outside its folder, even if links replace the files that it writes.
#[test]
fn resuming_a_run_writes_only_inside_its_folder() {
    let logs = ["metrics.jsonl", "samples.jsonl", "events.jsonl"];
    let beside =
        [".lock", "metrics.superseded.jsonl", "config.toml.tmp", "run.json.tmp", "checkpoints/.making-00000005"];
    for name in logs.into_iter().chain(beside).chain(["figures"]) {
        let folder = tempfile::tempdir().unwrap();
        let (mine, elsewhere) = (folder.path().join("run"), folder.path().join("elsewhere"));
        copy(run(), &mine);
        fs::create_dir(&elsewhere).unwrap();
        let target = elsewhere.join("precious");
        match name {
            "figures" => fs::create_dir(&target).unwrap(),
            _ => fs::write(&target, "precious\n".repeat(1000)).unwrap(),
        }
        let place = mine.join(name);
        if place.is_dir() {
            fs::remove_dir_all(&place).unwrap();
        }
        fs::remove_file(&place).ok();
        symlink(&target, &place).unwrap();
        let before = contents(&elsewhere);
        let mut args = vec!["resume", mine.to_str().unwrap(), "--steps", "5"];
        args.extend((name != "figures").then_some("--no-figures"));
        let done = orrery(&args);
        let said = stderr_of(&done);
        assert_eq!(contents(&elsewhere), before, "{name}: {said}");
        assert!(!said.contains("panicked") && done.status.code().is_some(), "{name}: {said}");
        if logs.contains(&name) || name == "figures" {
            assert!(done.status.code() != Some(0) && said.contains("link") && said.contains(name), "{name}: {said}");
        }
    }
}

/// A file with several hard links is not written: it may be a user's file that is linked into an untrusted run, or a
/// file that a copy by `cp -al` shares with another run.
#[test]
fn files_with_several_hard_links_are_not_written() {
    for name in ["metrics.jsonl", "samples.jsonl", "events.jsonl", ".lock"] {
        let folder = tempfile::tempdir().unwrap();
        let mine = folder.path().join("run");
        copy(run(), &mine);
        fs::write(mine.join(".lock"), "").unwrap();
        fs::hard_link(mine.join(name), folder.path().join("precious")).unwrap();
        let before = contents(folder.path());
        let done = orrery(&["resume", mine.to_str().unwrap(), "--steps", "5", "--no-figures"]);
        let said = stderr_of(&done);
        assert_eq!(done.status.code(), Some(2), "{name}: {said}");
        assert!(said.contains("hard link") && said.contains(name), "{name}: {said}");
        assert!(contents(folder.path()) == before, "{name}: something changed: {said}");
        let read = orrery_in(folder.path(), &["export", "run", "--csv", "out.csv"]);
        assert!(read.status.success(), "{name} can be read: {}", stderr_of(&read));
    }
}

/// A name may contain a line break, after which it could imitate a line about another step.
#[test]
fn a_followed_step_is_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let run = ForeignRun::begin(folder.path(), "run", &json!({}));
    let variant = "a\nstep 9";
    run.redescribe(|described| described["run"]["variants"] = json!([{ "id": variant }]));
    run.line("metrics.jsonl", &json!({ "step": 1, "variant": variant, "wall_secs": 0.1, "x\n\u{1b}[2J": 1.5 }));
    run.state(1, &json!("finished"));
    let done = orrery_in(folder.path(), &["follow", "run", "--headless"]);
    let said = String::from_utf8_lossy(&done.stdout);
    assert_eq!(said.trim_end(), r"step 1  a\nstep 9  x\n\u{1b}[2J 1.5", "{}", stderr_of(&done));
}

/// The path of a layer, which the run defines, becomes part of an export's name, and the folder of runs may contain a
/// link. Neither may lead outside.
#[test]
fn exports_of_a_window_stay_in_their_folder() {
    let (here, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let runs = here.path().join("runs");
    let mut host = DesktopHost::new(runs.clone(), Runs::new());
    let mut save = |name: &str| {
        host.write(runs.join("exports").join(name), b"1".to_vec());
        let end = Instant::now() + Duration::from_secs(60);
        loop {
            if let Some(delivery) = host.deliveries().pop() {
                return delivery;
            }
            assert!(Instant::now() < end, "{name}: nothing comes");
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    let is_refused =
        |delivery: &Delivery, why: &str| matches!(delivery, Delivery::Failed { what } if what.contains(why));
    assert!(matches!(save("frames/values.csv"), Delivery::Saved { .. }));
    for name in ["../a.csv", "a/../../../a.csv"] {
        let refused = save(name);
        assert!(is_refused(&refused, "leads out of the folder"), "{name}: {refused:?}");
    }
    assert!(!here.path().join("a.csv").exists() && !runs.join("a.csv").exists());
    fs::remove_dir_all(runs.join("exports")).unwrap();
    symlink(outside.path(), runs.join("exports")).unwrap();
    let refused = save("a.csv");
    assert!(is_refused(&refused, "it is a link"), "{refused:?}");
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
}

/// A folder's name and a notice may contain a line break, after which they could imitate a message of the program.
#[test]
fn a_message_about_a_run_is_one_line() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a\norrery: forged", "b"] {
        let run = ForeignRun::begin(folder.path(), name, &json!({}));
        run.line("events.jsonl", &json!({ "step": 1, "notice": { "level": "warning", "text": "x\norrery: forged" } }));
        run.append("metrics.jsonl", "{\n");
        run.state(1, &json!("finished"));
    }
    let compare = ["compare", "a\norrery: forged", "b"];
    for words in [&["runs", "--out", "."][..], &["runs", "--json", "--out", "."], &compare] {
        let done = orrery_in(folder.path(), words);
        let said = stderr_of(&done);
        assert!(said.contains(r"\norrery: forged") && said.contains("is passed over"), "{words:?}: {said}");
        assert!(!said.lines().any(|line| line.starts_with("orrery: forged")), "{words:?}: {said}");
    }
}

/// Whatever a command says of such a run, a folder of its name or an option, no further line of it begins like a message.
#[test]
fn no_command_prints_a_name_as_a_message() {
    let folder = tempfile::tempdir().unwrap();
    let name = "a\norrery: forged";
    let run = ForeignRun::begin(folder.path(), name, &json!({}));
    for text in ["x\norrery: forged", "orrery: forged"] {
        run.line("events.jsonl", &json!({ "step": 1, "notice": { "level": "warning", "text": text } }));
    }
    run.append("metrics.jsonl", "{\n");
    run.state(1, &json!("finished"));
    let [csv, html, png] = ["csv", "html", "png"].map(|ending| format!("{name}.{ending}"));
    for words in [
        &["export", name, "--csv", csv.as_str()][..],
        &["export", name, "--csv", csv.as_str(), "--partial"],
        &["report", name, "--out", html.as_str()],
        &["report", name, "--out", html.as_str(), "--partial"],
        &["render", name, "--view", "losses", "--out", png.as_str()],
        &["follow", name, "--headless"],
        &["resume", name],
        &["sweep", name],
        &["ask", name, "attention"],
        &["model", "info", name],
        &["--a\norrery: forged"],
        &[name],
    ] {
        let done = orrery_in(folder.path(), words);
        let said = [done.stdout, done.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        assert!(!said.is_empty(), "{words:?}");
        assert!(!said.lines().any(|line| line.starts_with("orrery: forged")), "{words:?}: {said}");
    }
}

/// A description of one megabyte can list so many variants that a table of them would take more than an hour.
#[test]
fn a_description_of_too_many_variants_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let run = ForeignRun::begin(folder.path(), "run", &json!({}));
    run.redescribe(|described| {
        described["run"]["variants"] = (0..100_000).map(|i| json!({ "id": i.to_string() })).collect();
    });
    run.line("metrics.jsonl", &json!({ "step": 1, "variant": 0, "wall_secs": 0.1, "loss/train": 1.5 }));
    let done = orrery_in(folder.path(), &["runs", "--out", "."]);
    let said = stderr_of(&done);
    assert!(done.status.success(), "{said}");
    assert!(said.contains("names 100000 variants, and at most 1024 are read"), "{said}");
}

/// Messages quote names from the record, and a window could not lay out a name of several megabytes.
#[test]
fn names_and_sentences_of_megabytes_are_cut() {
    let folder = tempfile::tempdir().unwrap();
    let long = "x".repeat(2 << 20);
    let run = ForeignRun::begin(folder.path(), "run", &json!({}));
    run.redescribe(|described| described["run"]["config"]["preset"] = json!(long));
    run.line("metrics.jsonl", &json!({ "step": 1, "variant": 0, "wall_secs": 0.1, "loss/train": 1.5 }));
    run.line("metrics.jsonl", &json!({ "step": 2, "variant": long, "wall_secs": 0.1, "loss/train": 1.5 }));
    run.line("metrics.jsonl", &json!({ "step": 3, "variant": 0, "wall_secs": 0.1, long.as_str(): 1.5 }));
    run.line("metrics.jsonl", &json!({ "step": u64::MAX, "variant": 0, "wall_secs": 0.1, "loss/train": 1.5 }));
    run.line("events.jsonl", &json!({ "step": 3, "notice": { "level": "warning", "text": long } }));
    run.state(3, &json!({ "failed": { "message": long } }));
    let other = ForeignRun::begin(folder.path(), "other", &json!({}));
    other.redescribe(|described| described["format"] = json!(long));
    let done = orrery_in(folder.path(), &["runs", "--json", "--out", "."]);
    assert!(done.status.success(), "{}", stderr_of(&done));
    let (json, said) = (String::from_utf8_lossy(&done.stdout), stderr_of(&done));
    for part in
        ["its variant `xxx", "the name of a channel has 2097152 bytes", "its step is 18446744073709551615, and at most"]
    {
        assert!(json.contains(part), "{part}");
    }
    assert!(json.len() + said.len() < 200_000, "{} and {} bytes", json.len(), said.len());
}

/// A stream contains the bytes of the files, which may include escape sequences for a terminal.
#[cfg(target_os = "linux")]
#[test]
fn nothing_is_streamed_to_a_terminal() {
    let folder = tempfile::tempdir().unwrap();
    copy(run(), &folder.path().join("run"));
    let line = format!("timeout 30 '{}' stream run --stdio", env!("CARGO_BIN_EXE_orrery"));
    let mut script = Command::new("script");
    script.args(["-qec", &line, "/dev/null"]).current_dir(folder.path()).stdin(Stdio::null());
    let Ok(done) = script.output() else {
        println!("skipped: there is no script here");
        return;
    };
    let said = String::from_utf8_lossy(&done.stdout);
    assert!(said.contains("goes to a terminal") && !said.contains("metrics.jsonl"), "{said}");
}
