//! Tests that a sweep's folder from somebody else is treated as untrusted: nothing in it is written, read or resumed
//! through a link. Uses the real binary.

#![cfg(unix)]

use std::{fs, os::unix::fs::symlink, process::Command};

use super::{
    command::output_of,
    folders::{contents, scratch_folder},
    foreign_folders::{orrery_in, put_pipe},
    sweep::{SPEC, done, runs, table, whole, with_spec},
};

/// Links, hard links and pipes in place of files in a sweep's folder are refused. A pipe would block the command
/// forever, and a link could lead to any file of the user.
#[test]
fn links_and_pipes_in_the_folder_of_a_sweep_are_refused() {
    let (made, outside) = (with_spec(SPEC), scratch_folder());
    let here = made.path();
    done(here, &["sweep", "rates.toml", "--on", "print"]);
    let (folder, target) = (here.join("sweeps/rates"), outside.path().join("profile"));
    fs::write(&target, "kept").unwrap();
    let put = |trap: &str, name: &str| {
        let place = folder.join(name);
        match trap {
            "is a link" => symlink(&target, place).unwrap(),
            "hard link" => fs::hard_link(&target, place).unwrap(),
            _ => put_pipe(&place),
        }
    };
    let refused = |words: &[&str], why: &str| {
        let output = orrery_in(here, words);
        assert!(!output.status.success(), "{words:?}: {}", output_of(&output));
        assert!(output_of(&output).contains(why), "{words:?}, {why}: {}", output_of(&output));
        assert_eq!(fs::read_to_string(&target).unwrap(), "kept", "{words:?}, {why}");
    };
    for trap in ["is a link", "hard link", "is a pipe"] {
        // the files with the output of every run
        let logs = [1, 2, 3, 4].map(|point| [7, 8].map(|seed| format!("logs/p{point}-s{seed}.txt"))).concat();
        logs.iter().for_each(|log| put(trap, log));
        refused(&["sweep", "sweeps/rates", "--missing"], trap);
        logs.iter().for_each(|log| fs::remove_file(folder.join(log)).unwrap());
        assert!(runs(here).is_empty());
        // the lock files
        for (lock, words) in [(".lock", "--missing"), ("logs/p1-s7.lock", "--task=0")] {
            put(trap, lock);
            refused(&["sweep", "sweeps/rates", words], trap);
            fs::remove_file(folder.join(lock)).unwrap();
        }
    }
    // the folders inside the sweep's folder
    for inner in ["logs", "runs"] {
        fs::remove_dir_all(folder.join(inner)).unwrap();
        symlink(outside.path(), folder.join(inner)).unwrap();
        refused(&["sweep", "sweeps/rates", "--missing"], "link");
        refused(&["sweep", "rates.toml", "--missing"], "link");
        fs::remove_file(folder.join(inner)).unwrap();
        fs::create_dir(folder.join(inner)).unwrap();
    }
    assert_eq!(fs::read_to_string(&target).unwrap(), "kept");
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1, "nothing was made outside");
}

/// A linked run with the right settings does not belong to the sweep and is not resumed, and no index is written
/// through a link.
#[test]
fn a_run_behind_a_link_is_none_of_a_sweeps() {
    let with = whole();
    let here = with.path();
    let (own, victim) = (runs(here).swap_remove(0), here.join("runs/victim"));
    fs::create_dir(here.join("runs")).unwrap();
    fs::rename(own, &victim).unwrap();
    // without the last line, the run seems to have been stopped and would be resumed
    let events = fs::read_to_string(victim.join("events.jsonl")).unwrap();
    let (begun, end) = events.trim_end().rsplit_once('\n').unwrap();
    assert!(end.contains("finished"), "{end}");
    fs::write(victim.join("events.jsonl"), format!("{begun}\n")).unwrap();
    symlink("../../../runs/victim", here.join("sweeps/rates/runs/a")).unwrap();
    let before = contents(&here.join("runs"));
    let made = done(here, &["sweep", "sweeps/rates", "--missing"]);
    let linked = "runs/a is a link to a run elsewhere";
    assert!(output_of(&made).contains(linked), "{}", output_of(&made));
    let reported = done(here, &["report", "sweeps/rates", "-o", "sweep.html"]);
    assert!(output_of(&reported).contains(linked), "{}", output_of(&reported));
    assert!(output_of(&made).contains("8 runs, 1 to make"), "{}", output_of(&made));
    assert!(contents(&here.join("runs")) == before, "the run outside was written: {}", output_of(&made));
    assert!(table(here).lines().skip(1).all(|line| line.contains(",2,2,")), "the sweep has a run of its own");

    // the table of runs omits the linked run too, and does not write its index through a link
    let outside = scratch_folder();
    fs::create_dir(here.join("elsewhere")).unwrap();
    let listed = |name: &str| {
        let output = done(here, &["runs", "--json", "--out", "elsewhere"]);
        assert!(output_of(&output).contains("link"), "{name}: {}", output_of(&output));
        String::from_utf8(output.stdout).unwrap()
    };
    let rows = listed("a run");
    assert!(!rows.contains("rates/a\"") && rows.contains("\"rates/"), "{rows}");
    for name in ["runs", "sweep"] {
        let (place, target) = match name {
            "runs" => (here.join("sweeps/rates/runs"), outside.path().join("runs")),
            _ => (here.join("sweeps/rates"), outside.path().join("rates")),
        };
        fs::rename(&place, &target).unwrap();
        let index = outside.path().join(if name == "runs" { "runs/.index.json" } else { "rates/runs/.index.json" });
        if name == "sweep" {
            fs::remove_file(target.join("runs")).unwrap();
            fs::rename(outside.path().join("runs"), target.join("runs")).unwrap();
        }
        fs::write(&index, "kept").unwrap();
        symlink(&target, &place).unwrap();
        assert!(!listed(name).contains("\"rates/"), "{name}");
        assert_eq!(fs::read_to_string(&index).unwrap(), "kept", "{name}");
    }
}

/// Without its record nobody knows which run of the sweep it was, so that it would be missing without a word.
#[test]
fn a_run_that_cannot_be_read_is_left_out_with_a_sentence() {
    let with = whole();
    let here = with.path();
    let log = runs(here).swap_remove(0).join("metrics.jsonl");
    fs::remove_file(&log).unwrap();
    put_pipe(&log);
    for words in ["sweep sweeps/rates --table", "report sweeps/rates -o sweep.html", "sweep sweeps/rates --missing"] {
        let output = done(here, &words.split(' ').collect::<Vec<_>>());
        for part in ["a run is left out: ", "metrics.jsonl", "it is a pipe"] {
            assert!(output_of(&output).contains(part), "{words}, {part}: {}", output_of(&output));
        }
    }
}

#[test]
fn no_sweep_is_made_through_a_link() {
    let (made, outside) = (with_spec(SPEC), scratch_folder());
    let here = made.path();
    fs::create_dir(here.join("sweeps")).unwrap();
    symlink(outside.path(), here.join("sweeps/rates")).unwrap();
    let output = orrery_in(here, &["sweep", "rates.toml", "--on", "print"]);
    assert_eq!(output.status.code(), Some(2), "{}", output_of(&output));
    assert!(output_of(&output).contains("sweeps/rates is a link to another folder"), "{}", output_of(&output));
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
}

/// A name that is not text appears in no command and no table. The run is there nevertheless and is not made a second
/// time.
#[cfg(target_os = "linux")]
#[test]
fn a_run_whose_name_is_not_utf8_is_left_out_and_not_made_again() {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt};
    let with = whole();
    let (here, run) = (with.path(), runs(with.path()).swap_remove(0));
    fs::rename(&run, run.with_file_name(OsStr::from_bytes(b"a\xff"))).unwrap();
    let output = done(here, &["sweep", "sweeps/rates", "--table"]);
    let words = output_of(&output);
    assert!(words.contains("a run is left out: ") && words.contains("runs/a\u{fffd}` is not UTF-8"), "{words}");
    let there = runs(here);
    let tasks = (0..8).map(|task| format!("--task={task}"));
    for way in ["--missing", "--missing --on=print"].map(str::to_owned).into_iter().chain(tasks) {
        let words: Vec<&str> = ["sweep", "sweeps/rates"].into_iter().chain(way.split(' ')).collect();
        let output = orrery_in(here, &words);
        let is_refused = output_of(&output).contains("is not UTF-8, so that it may be made a second time");
        // a run with a name of its own has ended, and needs no other
        let is_ended = output.status.success() && way.starts_with("--task") && output_of(&output).contains("finished");
        assert!(is_ended || is_refused && output.status.code() == Some(2), "{way}: {}", output_of(&output));
        assert!(runs(here) == there, "{way} made a run: {}", output_of(&output));
    }
    fs::rename(run.with_file_name(OsStr::from_bytes(b"a\xff")), &run).unwrap();
    assert!(output_of(&done(here, &["sweep", "sweeps/rates", "--missing"])).contains("every run of"));
}

/// Schedulers read the printed commands line by line, so a line break in a folder's name must not add a command.
#[test]
fn a_printed_command_is_one_line() {
    let made = with_spec(SPEC);
    let here = made.path();
    done(here, &["sweep", "rates.toml", "--on", "print"]);
    let name = "sweeps/it's\ntouch hostile\n\u{1b}[2J";
    fs::rename(here.join("sweeps/rates"), here.join(name)).unwrap();
    let printed = String::from_utf8(done(here, &["sweep", name, "--on", "print"]).stdout).unwrap();
    assert_eq!(printed.lines().count(), 8, "{printed}");
    let (command, _) = printed.lines().next().unwrap().rsplit_once(" --task").unwrap();
    let output = Command::new("bash").args(["-c", &format!("{command} --table")]).current_dir(here).output().unwrap();
    assert!(output.status.success(), "{command}: {}", output_of(&output));
    assert!(here.join(name).join("table.csv").is_file() && !here.join("hostile").exists());
}
