//! Tests the results of commands with the real binary: a full disk makes a command fail, and incomplete results are
//! reported.

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::Stdio,
    sync::OnceLock,
};

use candle_core::{Device, Tensor};
use orrery::{
    nn::host,
    store::{checkpoint, tensors},
};
use serde_json::json;
use tempfile::TempDir;

#[cfg(unix)]
use crate::{
    command::stderr_of,
    foreign_folders::{orrery_in, put_pipe},
};
use crate::{
    command::{can_paint, command, done, expect_exit, orrery, output_of},
    folders::{contents, copy},
    foreign_run::ForeignRun,
};

/// Copies two short runs, `a` and `b`, which are trained once for all tests.
fn with_runs() -> TempDir {
    static MADE: OnceLock<TempDir> = OnceLock::new();
    let make = || {
        let here = tempfile::tempdir().unwrap();
        for name in ["a", "b"] {
            let words = "run fast_slow --steps 4 --out made --no-figures --set model.d_model=16 --set train.window=32 \
                         --set train.batch=2 --set run.eval_every=2 --set probe.attention_maps_every=2 \
                         --set probe.residual_every=0 --set run.checkpoint_every=2 --set run.device=cpu";
            done(here.path(), words);
            let run = fs::read_dir(here.path().join("made")).unwrap().next().unwrap().unwrap().path();
            fs::create_dir_all(here.path().join("runs")).unwrap();
            fs::rename(run, here.path().join("runs").join(name)).unwrap();
        }
        here
    };
    let here = tempfile::tempdir().unwrap();
    copy(MADE.get_or_init(make).path(), here.path());
    here
}

#[test]
fn a_machine_without_a_desktop_is_no_error() {
    let here = with_runs();
    let mut render = command(here.path(), ["render", "runs/a", "--view", "losses", "--out", "losses.png"]);
    let said = output_of(&render.env_remove("XDG_RUNTIME_DIR").env_remove("NODEVICE_SELECT").output().unwrap());
    if can_paint(&said) {
        assert!(here.path().join("losses.png").is_file() && !said.contains("error"), "{said}");
    }
}

/// Runs a command whose standard output is this device. Returns the exit code and the text on standard error.
#[cfg(target_os = "linux")]
fn run_onto_device(device: &str, here: &Path, words: &str) -> (Option<i32>, String) {
    let file = fs::File::options().write(true).open(device).unwrap();
    let output = command(here, words.split_whitespace()).stdout(Stdio::from(file)).output().unwrap();
    (output.status.code(), stderr_of(&output))
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
        let (code, said) = run_onto_device("/dev/full", here.path(), words);
        assert_eq!(code, Some(1), "{words}: {said}");
        let sentences = said.lines().filter(|line| line.contains("could not be written whole")).count();
        assert_eq!(sentences, 1, "{words}: {said}");
        assert!(!said.contains("panicked"), "{words}: {said}");
    }
    assert_eq!(run_onto_device("/dev/null", here.path(), "runs --out runs").0, Some(0), "it is the disk");
    // exports write into ordinary files only, not into devices
    expect_exit(here.path(), "export runs/a --csv /dev/full", 1, &["/dev/full"]);
}

#[cfg(unix)]
#[test]
fn a_reader_that_has_left_ends_a_command_in_silence() {
    let here = with_runs();
    for words in ["runs --json --out runs", "list", "schema", "ask --list"] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = command(here.path(), words.split_whitespace()).stdout(Stdio::from(writer)).output().unwrap();
        assert_eq!((output.status.code(), stderr_of(&output).as_str()), (Some(141), ""), "{words}");
    }
}

/// The system would end the process by a signal, without a word.
#[cfg(unix)]
#[test]
fn a_limit_of_file_sizes_is_a_failure_in_words() {
    let here = with_runs();
    for (blocks, words) in [
        (8, "export runs/a --samples tables"),
        (0, "runs --edit runs/a --name a"),
        (0, "resume runs/a --steps 6 --no-figures"),
    ] {
        assert_size_limit_is_reported(here.path(), blocks, words);
    }
}

/// Checks that a command ends with code 1 and a sentence where a file may have this many KiB at most.
#[cfg(unix)]
fn assert_size_limit_is_reported(here: &Path, blocks: u32, words: &str) {
    let line = format!("ulimit -f {blocks}; exec '{}' {words}", env!("CARGO_BIN_EXE_orrery"));
    let output = std::process::Command::new("bash").args(["-c", &line]).current_dir(here).output().unwrap();
    let said = stderr_of(&output);
    assert_eq!(output.status.code(), Some(1), "{words}: {said}");
    assert!(said.contains("cannot ") && said.contains("File too large"), "{words}: {said}");
}

#[test]
fn a_study_refuses_its_output_before_it_trains() {
    let here = with_runs();
    for words in ["study roles --json runs/a/metrics.jsonl", "study concepts --json runs/a/metrics.jsonl"] {
        let said = expect_exit(here.path(), words, 2, &["belongs to the record of a run"]);
        assert!(!said.contains("seed"), "{words}: {said}");
    }
}

/// A link that every program may write to would be replaced by root.
#[cfg(target_os = "linux")]
#[test]
fn a_link_to_standard_output_is_not_replaced_where_a_file_takes_it() {
    let here = with_runs();
    let (link, taken) = (here.path().join("link.csv"), here.path().join("taken"));
    fs::write(&taken, "").unwrap();
    for target in ["/proc/self/fd/1", "/dev/fd/1", "/dev/stdout"] {
        std::os::unix::fs::symlink(target, &link).unwrap();
        let (code, said) = run_onto_device(taken.to_str().unwrap(), here.path(), "export runs/a --csv link.csv");
        assert_eq!(code, Some(1), "{target}: {said}");
        assert!(said.contains("link.csv cannot be written: ") && said.contains("name the file itself"), "{said}");
        fs::remove_file(&link).unwrap();
    }
    assert!(fs::read(&taken).unwrap().is_empty());
}

/// A folder that cannot be made is said before anything is read, and nothing is made.
#[test]
fn an_output_that_cannot_be_a_folder_is_refused_at_once() {
    let here = with_runs();
    fs::write(here.path().join("file"), "kept").unwrap();
    let commands =
        ["compare gone1 gone2 --out", "export gone --samples", "export gone --tensorboard", "claims run A2 --results"];
    for words in commands {
        for out in ["file", "file/a"] {
            let sentence = format!("{out} cannot be made: something that is not a folder is in the way: file");
            expect_exit(here.path(), &format!("{words} {out}"), 1, &[&sentence]);
        }
    }
    assert_eq!(fs::read_to_string(here.path().join("file")).unwrap(), "kept");
}

#[test]
fn a_file_may_lie_in_a_folder_of_the_same_export() {
    let here = with_runs();
    let words = "--tensorboard board --safetensors board/w.safetensors --variant coupled --samples tables --csv \
                 tables/all.csv";
    let (code, said) = orrery(here.path(), &format!("export gone {words}"));
    assert!(code == Some(2) && !here.path().join("board").exists() && !here.path().join("tables").exists(), "{said}");
    let said = done(here.path(), &format!("export runs/a {words}"));
    for file in ["board/w.safetensors", "board/coupled", "tables/all.csv", "tables/attention.maps.csv"] {
        assert!(here.path().join(file).exists(), "{file}: {said}");
    }
}

/// A place that no file can have is said in one sentence before anything is read or computed.
#[cfg(unix)]
#[test]
fn an_output_that_cannot_be_a_file_is_refused_at_once() {
    let here = with_runs();
    let commands = [
        ("claims --paper nobody --html", "html"),
        ("study roles --json", "json"),
        ("study concepts --json", "json"),
        // what these read is not there, and is not looked for
        ("export gone --csv", "csv"),
        ("export gone --safetensors", "safetensors"),
        ("export gone --gexf", "gexf"),
        ("report gone -o", "html"),
        ("render gone --view losses --out", "svg"),
        ("ask gone causality --view losses --out", "svg"),
        ("graph gone.csv --out", "svg"),
        ("graph gone.csv --save", "gexf"),
        ("graph gone.csv --layout", "gexf"),
        ("model merge a.pt b.pt --out", "safetensors"),
        ("model activations a.pt a.txt --out", "npz"),
        ("model eval a.pt a.txt --per-token", "csv"),
    ];
    for (_, ending) in commands {
        fs::create_dir_all(here.path().join(format!("folder.{ending}"))).unwrap();
        let pipe = here.path().join(format!("pipe.{ending}"));
        if !pipe.exists() {
            put_pipe(&pipe);
        }
    }
    let before = fs::read_dir(here.path()).unwrap().count();
    for (words, ending) in commands {
        for (out, why) in [("folder", "it is a folder"), ("pipe", "a pipe, not a file"), ("none/a", "no folder none")] {
            let said = expect_exit(here.path(), &format!("{words} {out}.{ending}"), 1, &[]);
            let sentence = format!("{out}.{ending} cannot be written: ");
            let sentences = said.lines().filter(|line| line.contains(&sentence) && line.contains(why)).count();
            assert!(sentences == 1 && !said.contains("panicked"), "{words} {out}: {said}");
        }
    }
    assert_eq!(fs::read_dir(here.path()).unwrap().count(), before, "something was made");
    // as `/dev/stdout` and `>(cat)` do; where root writes, the link would be replaced for every program
    std::os::unix::fs::symlink("pipe.csv", here.path().join("stdout")).unwrap();
    let said = expect_exit(here.path(), "export runs/a --csv stdout", 1, &["a pipe, not a file"]);
    assert!(here.path().join("stdout").is_symlink(), "{said}");
    // a link to a file is replaced, and what it leads to is not
    let (kept, link) = (here.path().join("kept"), here.path().join("link.csv"));
    fs::write(&kept, "kept").unwrap();
    std::os::unix::fs::symlink(&kept, &link).unwrap();
    let said = done(here.path(), "export runs/a --csv link.csv");
    assert!(!link.is_symlink(), "{said}");
    assert_eq!(fs::read_to_string(&kept).unwrap(), "kept");
}

#[test]
fn no_output_of_a_command_takes_the_place_of_another() {
    let here = with_runs();
    fs::write(here.path().join("graph.csv"), "source,target\n1,2\n").unwrap();
    for words in ["export runs/a --csv out --tensorboard ./out", "graph graph.csv --save out.gexf --layout out.gexf"] {
        expect_exit(here.path(), words, 2, &["is named twice"]);
        assert!(!here.path().join("out").exists() && !here.path().join("out.gexf").exists(), "{words}");
    }
}

#[test]
fn a_folder_that_is_not_made_is_not_named_as_a_result() {
    let here = with_runs();
    let run = here.path().join("runs/b");
    fs::remove_dir_all(run.join("checkpoints")).unwrap();
    for log in ["metrics.jsonl", "samples.jsonl", "events.jsonl"] {
        fs::write(run.join(log), "").unwrap();
    }
    let said = expect_exit(here.path(), "export runs/b --tensorboard board", 0, &["has recorded no steps"]);
    assert!(!here.path().join("board").exists() && !said.lines().any(|line| line == "board"), "{said}");
}

/// A run may lack any of its files, and a sweep and a folder of runs have files of their own.
#[test]
fn no_output_takes_the_place_of_a_part_of_a_record() {
    let here = with_runs();
    for (name, lost) in [("unset", "config.toml"), ("bare", "metrics.jsonl"), ("unnamed", "run.json")] {
        copy(&here.path().join("runs/b"), &here.path().join(name));
        fs::remove_file(here.path().join(name).join(lost)).unwrap();
    }
    // a program that has only begun to write its run has made no other file
    fs::create_dir(here.path().join("begun")).unwrap();
    fs::copy(here.path().join("runs/b/events.jsonl"), here.path().join("begun/events.jsonl")).unwrap();
    fs::create_dir(here.path().join("rates")).unwrap();
    for file in ["rates/sweep.toml", "rates/base.toml"] {
        fs::write(here.path().join(file), "").unwrap();
    }
    assert_eq!(orrery(here.path(), "runs --out runs").0, Some(0));
    let before = contents(here.path());
    for file in [
        "unset/metrics.jsonl",
        "unset/run.json",
        "bare/events.jsonl",
        "bare/config.toml",
        "unnamed/config.toml",
        "begun/events.jsonl",
        "rates/sweep.toml",
        "rates/base.toml",
        "runs/.index.json",
    ] {
        assert!(here.path().join(file).is_file(), "{file}");
        expect_exit(here.path(), &format!("export runs/a --csv {file}"), 2, &["give another name to write to"]);
        assert!(contents(here.path()) == before, "{file}: something changed");
    }
}

#[test]
fn a_study_refuses_a_seed_that_is_named_twice() {
    let here = tempfile::tempdir().unwrap();
    for words in ["study roles --seeds 1,2,1", "study concepts --seeds 1,2,1"] {
        expect_exit(here.path(), words, 2, &["named twice", "--seeds 1,2"]);
    }
}

/// Replaces a line of a log by invalid JSON.
fn damage(run: &Path, log: &str) {
    let text = fs::read_to_string(run.join(log)).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    lines[1] = "{\"step\":";
    fs::write(run.join(log), lines.join("\n") + "\n").unwrap();
}

#[test]
fn an_incomplete_record_is_reported_and_exported_only_in_part() {
    const SENTENCE: &str = "metrics.jsonl line 2 is passed over";
    let here = with_runs();
    damage(&here.path().join("runs/a"), "metrics.jsonl");
    let says = |words: &str, code: i32| expect_exit(here.path(), words, code, &[SENTENCE]);
    let there = |name: &str| here.path().join(name).exists();
    for words in ["runs --out runs", "runs --csv --out runs", "runs --json --out runs", "compare runs/a runs/b"] {
        says(words, 0);
    }
    for (words, name) in [
        ("export runs/a --csv", "scalars.csv"),
        ("export runs/a --tensorboard", "board"),
        ("report runs/a -o", "page.html"),
        ("export runs/a --samples", "tables/attention.maps.csv"),
    ] {
        let out = name.split('/').next().unwrap();
        says(&format!("{words} {out}"), 1);
        assert!(!there(name), "{words}");
        says(&format!("{words} {out} --partial"), 0);
        assert!(there(name), "{words}");
    }
    let page = fs::read_to_string(here.path().join("page.html")).unwrap();
    assert!(page.contains(SENTENCE), "the page does not say what it lacks");
    let rows = fs::read_to_string(here.path().join("scalars.csv")).unwrap();
    assert!(rows.lines().count() > 2, "what can be read is written: {rows}");
    let said = says("render runs/a --view losses --out losses.svg", 0);
    assert!(there("losses.svg"), "{said}");
    // an undamaged record needs no option, and no warning is printed
    let said = done(here.path(), "export runs/b --csv whole.csv");
    assert!(!said.contains("passed over"), "{said}");
}

/// The description is a part of the record like the lines of a log.
#[test]
fn a_damaged_description_is_reported_and_exported_only_in_part() {
    let here = with_runs();
    let description = here.path().join("runs/a/run.json");
    let whole = fs::read(&description).unwrap();
    let says = |words: &str, wanted: i32, sentence: &str| expect_exit(here.path(), words, wanted, &[sentence]);
    fs::write(&description, &whole[..whole.len() / 2]).unwrap();
    let sentence = "run.json is damaged";
    for (words, code) in [
        ("runs --out runs", 0),
        ("render runs/a --view losses --out losses.svg", 0),
        ("export runs/a --csv a.csv", 1),
        ("report runs/a -o a.html", 1),
        ("export runs/a --csv a.csv --partial", 0),
        ("report runs/a -o a.html --partial", 0),
        ("ask runs/a residual", 0),
        ("export runs/a --variant coupled --safetensors a.safetensors", 1),
        ("export runs/a --variant coupled --safetensors a.safetensors --partial", 0),
    ] {
        says(words, code, sentence);
    }
    let said = done(here.path(), "ask runs/a attention --view attention --out a.svg");
    assert_eq!(said.matches(sentence).count(), 1, "{said}");
    let page = fs::read_to_string(here.path().join("a.html")).unwrap();
    assert!(page.contains(sentence), "the page does not say what it lacks");
    fs::remove_file(&description).unwrap();
    says("export runs/a --csv a.csv", 1, "run.json is missing");
    // without settings it passes for a run of another program, which may lack a description; a damaged one is lost all the same
    fs::write(&description, "{").unwrap();
    fs::remove_file(here.path().join("runs/a/config.toml")).unwrap();
    says("export runs/a --csv a.csv", 1, sentence);
}

#[test]
fn a_resumed_run_without_its_description_keeps_its_begin() {
    let here = with_runs();
    let run = here.path().join("runs/a");
    let (description, sentence) = (run.join("run.json"), "run.json is damaged");
    let whole = fs::read(&description).unwrap();
    fs::write(&description, &whole[..whole.len() / 2]).unwrap();
    let log = run.join("events.jsonl");
    let events = fs::read_to_string(&log).unwrap();
    let at = &events.split_once("\"at\":\"").unwrap().1[.."2026-01-31T12:00:00+00:00".len()];
    // checkpoints know how long the log was
    let earlier = format!("{:04}{}", at[..4].parse::<u32>().unwrap() - 4, &at[4..]);
    fs::write(&log, events.replacen(at, &earlier, 1)).unwrap();
    expect_exit(here.path(), "resume runs/a --steps 6 --no-figures", 0, &[sentence]);
    let record: serde_json::Value = serde_json::from_slice(&fs::read(&description).unwrap()).unwrap();
    assert_eq!(record["started_at"], earlier);
    let events = fs::read_to_string(&log).unwrap();
    assert!(events.contains(&format!("resumed without its description: {sentence}")), "{events}");
}

/// The folder of a run has a long name, and three charts need more height than a small picture has.
#[test]
fn a_small_picture_names_its_step_and_has_every_chart() {
    let here = tempfile::tempdir().unwrap();
    let words = "run fast_slow --steps 2 --out made --no-figures --set model.d_model=16 --set train.batch=2 \
                 --set run.eval_every=2 --set run.eval_windows=4 --set probe.residual_every=0 \
                 --set probe.gate_entropy_every=1 --set run.device=cpu";
    done(here.path(), words);
    let run = fs::read_dir(here.path().join("made")).unwrap().next().unwrap().unwrap().path();
    let render = |picture: &str| {
        orrery(here.path(), &format!("render {} --view gate --size 300x300 --scale 1 --out {picture}", run.display()))
    };
    // three charts of 90 points, gaps between them, and the head of the picture
    let least = 3 * 90 + 16 + 56;
    let (code, said) = render("gate.svg");
    assert_eq!(code, Some(0), "{said}");
    let svg = fs::read_to_string(here.path().join("gate.svg")).unwrap();
    let height = svg.split_once("height=\"").unwrap().1.split_once('"').unwrap().0;
    assert!(height.parse::<f32>().unwrap() >= least as f32, "{height}");
    let caption = svg.lines().find(|line| line.contains(" \u{b7} step 2")).expect("the step is named");
    assert!(caption.contains("-s7 \u{b7} step 2") && caption.ends_with("\u{2026}</text>"), "{caption}");
    let (code, said) = render("gate.png");
    if can_paint(&said) {
        assert_eq!(code, Some(0), "{said}");
        let png = fs::read(here.path().join("gate.png")).unwrap();
        let height = u32::from_be_bytes(png[20..24].try_into().unwrap());
        assert!(height >= least, "{height}");
    }
}

#[test]
fn edited_settings_are_not_those_of_the_run() {
    let here = with_runs();
    let shown = || {
        done(here.path(), "report runs/a -o a.html");
        let page = fs::read_to_string(here.path().join("a.html")).unwrap();
        let settings = page.split_once("<h2>Settings</h2>").unwrap().1.split_once("</details>").unwrap().0;
        settings.to_owned()
    };
    let before = shown();
    assert!(before.contains(">0.001<"), "{before}");
    let config = here.path().join("runs/a/config.toml");
    let text = fs::read_to_string(&config).unwrap();
    assert!(text.contains("lr = 0.001") && text.contains("d_model = 16"), "{text}");
    fs::write(&config, text.replace("lr = 0.001", "lr = 0.5").replace("d_model = 16", "d_model = 32")).unwrap();
    assert_eq!(shown(), before);
    fs::remove_file(config).unwrap();
    assert_eq!(shown(), before, "the record has the settings too");
}

/// Takes away the end of a run, as if it had been killed an hour ago, and returns its events with the end.
fn without_end(run: &Path) -> String {
    let events = fs::read_to_string(run.join("events.jsonl")).unwrap();
    let without_end: String = events.split_inclusive('\n').filter(|line| !line.contains("finished")).collect();
    fs::write(run.join("events.jsonl"), without_end).unwrap();
    let an_hour_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
    for log in ["metrics.jsonl", "samples.jsonl", "events.jsonl"] {
        fs::File::options().write(true).open(run.join(log)).unwrap().set_modified(an_hour_ago).unwrap();
    }
    events
}

#[test]
fn a_copy_from_another_machine_is_followed_to_its_end() {
    let here = with_runs();
    let run = here.path().join("runs/a");
    let events = without_end(&run);
    let record = fs::read_to_string(run.join("run.json")).unwrap();
    let mut record: serde_json::Value = serde_json::from_str(&record).unwrap();
    record["environment"]["cpu"] = "Another Processor".into();
    fs::write(run.join("run.json"), record.to_string()).unwrap();
    let mut command = command(here.path(), ["follow", "runs/a", "--headless"]);
    let mut process = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(process.stderr.take().unwrap()).lines().map(Result::unwrap);
    let is_told = |line: &String| line.contains("Another Processor)");
    let told = lines.find(is_told).expect("it goes on until its end is there");
    assert!(told.contains("from another machine ("), "{told}");
    fs::write(run.join("events.jsonl"), &events).unwrap();
    assert!(!lines.any(|line| is_told(&line)), "it is told once");
    assert_eq!(process.wait().unwrap().code(), Some(0));
}

#[cfg(unix)]
#[test]
fn following_ends_where_nothing_writes_the_run_any_more() {
    let here = with_runs();
    let run = here.path().join("runs/a");
    let events = without_end(&run);
    let said = || {
        let done = orrery_in(here.path(), &["follow", "runs/a", "--headless"]);
        (done.status.code(), stderr_of(&done))
    };
    let (code, words) = said();
    assert!(code == Some(1) && words.contains("killed at step 4; `orrery resume runs/a` goes on"), "{code:?}: {words}");
    // a run that a process holds is followed until that process ends it
    let lock = fs::File::open(run.join(".lock")).unwrap();
    lock.lock().unwrap();
    let followed = std::thread::scope(|scope| {
        let follower = scope.spawn(said);
        std::thread::sleep(std::time::Duration::from_secs(1));
        fs::write(run.join("events.jsonl"), &events).unwrap();
        follower.join().unwrap()
    });
    assert_eq!(followed.0, Some(0), "{}", followed.1);
}

#[test]
fn only_the_program_of_a_run_trains_it() {
    let here = tempfile::tempdir().unwrap();
    ForeignRun::finished(here.path(), "wide", 1e-3);
    let said = expect_exit(here.path(), "run wide", 2, &["another program", "orrery follow wide"]);
    assert!(!said.contains("resume"), "{said}");
}

/// Lines that were taken out whole leave no line that cannot be read. The lengths in a checkpoint tell of them.
#[test]
fn lines_that_a_log_has_lost_are_reported() {
    let here = with_runs();
    let says = |words: &str, wanted: i32, sentence: &str| expect_exit(here.path(), words, wanted, &[sentence]);
    let log = here.path().join("runs/a/metrics.jsonl");
    let whole = fs::read_to_string(&log).unwrap();
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    for kept in [[&lines[..2], &lines[4..]].concat().concat(), String::new()] {
        fs::write(&log, &kept).unwrap();
        let sentence = format!("metrics.jsonl has lost lines: it has {} bytes, and had {}", kept.len(), whole.len());
        for (words, code) in [
            ("runs --out runs", 0),
            ("runs --csv --out runs", 0),
            ("export runs/a --csv a.csv", 1),
            ("export runs/a --csv a.csv --partial", 0),
            ("report runs/a -o a.html", 1),
            ("report runs/a -o a.html --partial", 0),
        ] {
            says(words, code, &sentence);
        }
        let (code, said) = orrery(here.path(), "resume runs/a --steps 5 --no-figures");
        assert!(code != Some(0) && said.contains("metrics.jsonl has lost lines"), "{said}");
    }
    // without checkpoints, the end of the run tells of lines that are missing at the end
    let run = here.path().join("runs/b");
    fs::remove_dir_all(run.join("checkpoints")).unwrap();
    let said = done(here.path(), "export runs/b --csv b.csv");
    assert!(!said.contains("lost lines"), "{said}");
    let text = fs::read_to_string(run.join("metrics.jsonl")).unwrap();
    let early: String = text.split_inclusive('\n').filter(|line| !line.contains("\"step\":4")).collect();
    fs::write(run.join("metrics.jsonl"), early).unwrap();
    let sentence = "metrics.jsonl has lost lines: it ends at step 3, and the run finished at step 4";
    for (words, code) in [("runs --out runs", 0), ("export runs/b --csv b.csv", 1), ("report runs/b -o b.html", 1)] {
        says(words, code, sentence);
    }
}

#[test]
fn a_resumed_run_has_lost_nothing() {
    let here = with_runs();
    done(here.path(), "resume runs/a --steps 6 --no-figures");
    let said = done(here.path(), "export runs/a --csv a.csv");
    assert!(!said.contains("lost lines"), "{said}");
}

/// Even if a run recorded many warnings, the message about damage of its record must be shown.
#[test]
fn damage_is_reported_beside_many_warnings() {
    let here = with_runs();
    let run = here.path().join("runs/a");
    let warning = |i: usize| {
        let event = json!({ "step": 0, "at": "", "notice": { "level": "warning", "text": format!("warning {i}") } });
        format!("{event}\n")
    };
    let events = fs::read_to_string(run.join("events.jsonl")).unwrap();
    fs::write(run.join("events.jsonl"), (0..4).map(warning).collect::<String>() + &events).unwrap();
    let metrics = fs::read_to_string(run.join("metrics.jsonl")).unwrap();
    fs::write(run.join("metrics.jsonl"), metrics + "{\"step\":\n").unwrap();
    for words in ["runs --out runs", "runs --csv --out runs", "compare runs/a runs/b"] {
        let said = expect_exit(here.path(), words, 0, &["warning 2", "is passed over"]);
        assert!(!said.contains("warning 3"), "{words}: {said}");
    }
}

#[test]
fn a_resumed_run_says_what_its_record_has_lost() {
    let here = with_runs();
    let log = here.path().join("runs/a/metrics.jsonl");
    let text = fs::read_to_string(&log).unwrap();
    fs::write(&log, text.replacen("\"frozen\"", "\"nobody\"", 1)).unwrap();
    expect_exit(here.path(), "resume runs/a --steps 5 --no-figures", 0, &["is passed over: its variant `nobody`"]);
}

#[test]
fn a_damaged_record_ends_no_question() {
    let here = with_runs();
    damage(&here.path().join("runs/a"), "metrics.jsonl");
    let (code, said) = orrery(here.path(), "resume runs/a --steps 5 --no-figures");
    assert!(code != Some(0) && said.contains("metrics.jsonl has lost lines"), "{said}");
    done(here.path(), "ask runs/a causality");
}

#[test]
fn measurements_that_cannot_be_read_are_reported() {
    let here = with_runs();
    damage(&here.path().join("runs/a"), "samples.jsonl");
    for words in ["export runs/a --samples tables", "export runs/a --csv a.csv", "report runs/a -o a.html"] {
        expect_exit(here.path(), words, 1, &["samples.jsonl line 2 is passed over", "--partial"]);
    }
}

#[test]
fn exported_weights_are_those_of_the_newest_checkpoint() {
    let here = with_runs();
    done(here.path(), "export runs/a --safetensors out.safetensors --variant coupled");
    let values = |weights: &[(String, Tensor)]| -> BTreeMap<String, Vec<f32>> {
        weights.iter().map(|(name, tensor)| (name.clone(), host::to_f32(tensor).unwrap())).collect()
    };
    let written = tensors::read(&here.path().join("out.safetensors"), &Device::Cpu).unwrap();
    let kept = checkpoint::all(&here.path().join("runs/a"));
    let coupled = [kept.first(), kept.last()].map(|path| {
        let variants = checkpoint::load_at(path.unwrap(), &Device::Cpu).unwrap().variants;
        values(&variants.iter().find(|v| v.id == "coupled").unwrap().weights)
    });
    assert_ne!(coupled[0], coupled[1]);
    assert_eq!(values(&written), coupled[1]);
}

/// If the newest checkpoint cannot be read, the weights of an earlier one are exported only with an explicit option.
#[test]
fn older_weights_are_not_handed_on_in_silence() {
    let here = tempfile::tempdir().unwrap();
    let words = "run neuron_graph --steps 4 --out runs --no-figures --set model.neurons=64 --set model.d_model=8 \
                 --set train.window=32 --set train.batch=2 --set run.checkpoint_every=2 --set run.device=cpu";
    done(here.path(), words);
    let run = fs::read_dir(here.path().join("runs")).unwrap().next().unwrap().unwrap().path();
    fs::rename(run, here.path().join("run")).unwrap();
    let newest = checkpoint::latest(&here.path().join("run")).unwrap();
    for file in fs::read_dir(newest).unwrap().map(|entry| entry.unwrap().path()) {
        let bytes = fs::read(&file).unwrap();
        if file.extension().is_some_and(|ending| ending == "safetensors") {
            fs::write(file, &bytes[..bytes.len() / 2]).unwrap();
        }
    }
    let parts = ["step-00000004 is passed over", "of step 2"];
    let says = |words: &str, wanted: i32| expect_exit(here.path(), words, wanted, &parts);
    for kind in ["safetensors", "gexf", "graphml"] {
        let words = format!("export run --{kind} out.{kind} --csv out.csv");
        says(&words, 1);
        let is_there = |name: &str| here.path().join(name).exists();
        assert!(!is_there(&format!("out.{kind}")) && !is_there("out.csv"), "{words}");
        says(&format!("export run --{kind} out.{kind} --partial"), 0);
        assert!(is_there(&format!("out.{kind}")), "{words}");
    }
    says("model merge run run --out merged.safetensors", 0);
    #[cfg(unix)]
    assert_size_limit_is_reported(here.path(), 1, "model merge run run --out again.safetensors");
}

#[test]
fn a_sweep_says_which_of_its_runs_is_damaged() {
    let here = tempfile::tempdir().unwrap();
    let spec = "base = \"fast_slow\"\nseeds = [7]\n\n[set]\n\"model.d_model\" = 16\n\"train.steps\" = 4\n\"train.window\" = 32\n\
                \"train.batch\" = 2\n\"run.eval_every\" = 2\n\"probe.residual_every\" = 0\n\n[axes]\n\"train.lr\" = [1e-3, 1e-2]\n";
    fs::write(here.path().join("rates.toml"), spec).unwrap();
    done(here.path(), "sweep rates.toml");
    let runs = here.path().join("sweeps/rates/runs");
    let mut folders = fs::read_dir(&runs).unwrap().map(|entry| entry.unwrap().path());
    damage(&folders.find(|path| path.is_dir()).unwrap(), "metrics.jsonl");
    for (words, code) in [
        ("sweep sweeps/rates --table", 0),
        ("sweep sweeps/rates --pictures pictures", 0),
        ("report sweeps/rates -o sweep.html", 1),
        ("report sweeps/rates -o sweep.html --partial", 0),
    ] {
        expect_exit(here.path(), words, code, &["metrics.jsonl line 2 is passed over"]);
    }
    let page = fs::read_to_string(here.path().join("sweep.html")).unwrap();
    assert!(page.contains(": metrics.jsonl line 2 is passed over"), "the page does not say what it lacks");
}
