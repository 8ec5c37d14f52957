//! Tests which files the writer of run folders creates, and when.

use std::fs;

use orrery::{
    config::{Config, Value},
    store::{self, Writer},
    telemetry::{
        Event, Level, Measurement, Payload, RunState, Sink,
        measurements::{Residual, ResidualCurve, ResidualMethod},
    },
};

use super::*;

#[test]
fn the_folder_is_made_at_the_first_step_with_the_events_before_it() {
    let out = tempfile::tempdir().unwrap();
    let mut writer = Writer::new(out.path().join("runs"));
    writer.event(&started(&["coupled"])).unwrap();
    writer.event(&Event::State(RunState::Paused)).unwrap();
    for i in 0..50 {
        writer.event(&sample(0, "a/b", None, number(f64::from(i)))).unwrap();
    }
    assert!(!out.path().join("runs").exists(), "opening a lab must not litter");
    assert_eq!(writer.folder(), None);
    writer.event(&step(1, 0, &[("loss/train", 5.0)])).unwrap();
    let folder = writer.folder().unwrap();
    let events = read(&folder);
    assert_eq!(
        events[0],
        Event::Started(Arc::new(RunInfo { folder: Some(folder.display().to_string()), ..info(&["coupled"]) }))
    );
    assert!(events.contains(&sample(0, "a/b", None, number(49.0))), "the newest of those that waited");
    assert_eq!(events.iter().filter(|e| matches!(e, Event::Sample(_))).count(), 1);
    assert!(events.contains(&Event::State(RunState::Paused)));
    for name in ["checkpoints", "figures"] {
        assert!(folder.join(name).is_dir(), "{name}");
    }
}

#[test]
fn the_number_of_events_held_before_the_first_step_is_bounded() {
    let out = tempfile::tempdir().unwrap();
    let mut writer = Writer::new(out.path());
    writer.event(&started(&["a"])).unwrap();
    for i in 0..5000_u64 {
        writer.event(&Event::Notice { level: Level::Info, text: format!("notice {i}") }).unwrap();
    }
    writer.event(&step(1, 0, &[])).unwrap();
    let said = notices(&read(&writer.folder().unwrap()));
    assert!(said.contains("notice 4999") && !said.contains("notice 0\n"));
    assert!(said.lines().count() < 1100, "{}", said.lines().count());
}

#[test]
fn each_run_has_its_own_folder_named_after_it() {
    let out = tempfile::tempdir().unwrap();
    let folders: Vec<_> = (0..3).map(|_| write(out.path(), &[started(&["a"]), step(1, 0, &[])])).collect();
    assert!(folders[0] != folders[1] && folders[1] != folders[2] && folders[0] != folders[2]);
    let name = folders[0].file_name().unwrap().to_str().unwrap().to_owned();
    let (stamp, rest) = name.split_at(15);
    assert!(stamp.chars().enumerate().all(|(i, c)| if i == 8 { c == '-' } else { c.is_ascii_digit() }), "{name}");
    assert!(rest.starts_with("-fast_slow-needed-s7"), "{name}");
    let left: Vec<_> = fs::read_dir(out.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left.len(), 3, "nothing half made is left: {left:?}");
}

#[test]
fn a_run_without_a_window_has_its_folder_at_once() {
    let out = tempfile::tempdir().unwrap();
    let mut writer = Writer::at_once(out.path());
    writer.event(&started(&["a"])).unwrap();
    assert!(writer.folder().is_some());
}

#[test]
fn the_folder_is_plain() {
    let out = tempfile::tempdir().unwrap();
    let folder = write(
        out.path(),
        &[
            started(&["coupled"]),
            step(1, 0, &[("loss/train", f64::NAN), ("gate/tanh", f64::NEG_INFINITY), ("train/lr", 0.1)]),
            sample(1, Residual::CHANNEL, None, residual(&[0.1, f64::NEG_INFINITY, f64::NAN, 2.0])),
            Event::Changed { step: 1, key: "train.lr".to_owned(), value: Value::Float(0.5) },
        ],
    );
    let config = fs::read_to_string(folder.join("config.toml")).unwrap();
    assert_eq!(Config::from_toml(&config, "fast_slow", &knobs()).unwrap(), info(&[]).config);
    let run: serde_json::Value = serde_json::from_slice(&fs::read(folder.join("run.json")).unwrap()).unwrap();
    assert_eq!(run["seed"], 7);
    assert_eq!(run["environment"]["orrery"], env!("CARGO_PKG_VERSION"));
    assert!(run["environment"]["cores"].as_u64().unwrap() > 0);
    assert_eq!(run["run"]["device"], "cpu");
    let line = fs::read_to_string(folder.join("metrics.jsonl")).unwrap();
    let expected =
        r#"{"step":1,"variant":"coupled","wall_secs":0.125,"loss/train":"NaN","gate/tanh":"-Infinity","train/lr":0.1}"#;
    assert_eq!(line, format!("{expected}\n"));
    let line = fs::read_to_string(folder.join("samples.jsonl")).unwrap();
    assert!(line.contains(r#""residual":[0.1,"-Infinity","NaN",2.0]"#), "short and complete: {line}");
    let line: serde_json::Value = serde_json::from_slice(&fs::read(folder.join("events.jsonl")).unwrap()).unwrap();
    assert_eq!((&line["step"], &line["changed"]["value"]), (&1.into(), &0.5.into()));
}

#[test]
fn answers_to_a_dragged_slider_do_not_fill_the_disk() {
    let out = tempfile::tempdir().unwrap();
    let mut writer = Writer::new(out.path());
    writer.event(&started(&["a"])).unwrap();
    writer.event(&step(1, 0, &[])).unwrap();
    for i in 0..200 {
        writer.event(&sample(1, "other.number", Some(i), number(i as f64))).unwrap();
    }
    let folder = writer.folder().unwrap();
    drop(writer);
    let answers: Vec<_> = read(&folder).into_iter().filter(|e| matches!(e, Event::Sample(_))).collect();
    assert!((2..20).contains(&answers.len()), "{}", answers.len());
    assert_eq!(answers.last(), Some(&sample(1, "other.number", Some(199), number(199.0))));
}

#[test]
fn an_unwritable_place_is_an_error_in_words() {
    let out = tempfile::tempdir().unwrap();
    let file = out.path().join("notes.txt");
    fs::write(&file, "in the way").unwrap();
    let mut writer = Writer::new(file.join("runs"));
    writer.event(&started(&["a"])).unwrap();
    let e = writer.event(&step(1, 0, &[])).unwrap_err();
    assert!(e.contains("notes.txt") && e.contains("--out"), "{e}");

    let locked = out.path().join("locked");
    fs::create_dir(&locked).unwrap();
    let mut rights = fs::metadata(&locked).unwrap().permissions();
    rights.set_readonly(true);
    fs::set_permissions(&locked, rights).unwrap();
    if fs::write(locked.join("probe"), "").is_ok() {
        println!("skipped: this user may write anywhere");
        return;
    }
    let mut writer = Writer::new(&locked);
    writer.event(&started(&["a"])).unwrap();
    let e = writer.event(&step(1, 0, &[])).unwrap_err();
    assert!(e.contains("may not write") && e.contains("--out"), "{e}");
}

#[test]
fn one_writer_at_a_time() {
    let out = tempfile::tempdir().unwrap();
    let mut writer = Writer::new(out.path());
    writer.event(&started(&["a"])).unwrap();
    writer.event(&step(1, 0, &[])).unwrap();
    let folder = writer.folder().unwrap();
    let e = Writer::resume(&folder, None).err().expect("it is being written").to_string();
    assert!(e.contains("stop it there first"), "{e}");
    drop(writer);
    assert!(Writer::resume(&folder, None).is_ok());
}

#[test]
fn runs_are_listed_newest_first_with_their_steps() {
    let out = tempfile::tempdir().unwrap();
    let first = write(out.path(), &[started(&["a"]), step(1, 0, &[]), step(2, 0, &[])]);
    let second = write(out.path(), &[started(&["a"]), step(1, 0, &[])]);
    let mut run: serde_json::Value = serde_json::from_slice(&fs::read(first.join("run.json")).unwrap()).unwrap();
    run["started_at"] = "2020-02-03T04:05:06+00:00".into();
    fs::write(first.join("run.json"), run.to_string()).unwrap();
    let cut = fs::read(first.join("metrics.jsonl")).unwrap();
    fs::write(first.join("metrics.jsonl"), &cut[..cut.len() - 4]).unwrap();
    fs::create_dir(out.path().join("not a run")).unwrap();
    fs::write(out.path().join("a file"), "").unwrap();
    let runs = store::list(out.path()).unwrap();
    assert_eq!(runs.iter().map(|r| r.folder.clone()).collect::<Vec<_>>(), [second, first]);
    assert_eq!(runs[1].steps, 1, "the line of step 2 is cut short");
    assert_eq!((runs[0].lab.as_str(), runs[0].preset.as_str(), runs[0].total_steps), ("fast_slow", "needed", 20));
    assert!(runs[1].when.starts_with("2020-02-0"), "{}", runs[1].when);
    // without the description the first event tells the start
    let begun = "{\"step\":0,\"at\":\"2019-02-03T04:05:06+00:00\",\"state\":\"running\"}\n";
    fs::write(runs[1].folder.join("run.json"), "{").unwrap();
    fs::write(runs[1].folder.join("events.jsonl"), begun).unwrap();
    let when = store::summary(&runs[1].folder).unwrap().when;
    assert!(when.starts_with("2019-02-0"), "{when}");
    assert!(store::list(&out.path().join("nowhere")).unwrap().is_empty());
    // a run of another program may consist of a log of numbers only
    let numbers = out.path().join("numbers");
    fs::create_dir(&numbers).unwrap();
    fs::write(numbers.join("metrics.jsonl"), "{\"step\":3,\"loss/train\":1.5}\n").unwrap();
    let newest = store::list(out.path()).unwrap().swap_remove(0);
    assert_eq!((newest.folder, newest.steps), (numbers, 3));
}

/// A payload of a channel that this version does not know.
fn number(value: f64) -> Payload {
    Payload::Unknown(value.into())
}

/// A measurement with these values.
pub fn residual(values: &[f64]) -> Payload {
    let curve = ResidualCurve { method: ResidualMethod::Passes, round: 0, residual: values.to_vec().into() };
    Residual { curves: vec![curve] }.into_payload()
}
