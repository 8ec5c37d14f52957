//! Tests the import of other tools' logs as runs: logs that the tools themselves wrote
//! (`tests/oracles/other_logs/make.py`), and damaged and malicious ones.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use orrery::{
    store::{Reader, import::Source},
    telemetry::{Event, Payload, RunInfo, RunState},
};
use serde_json::json;
use tempfile::TempDir;

use super::{
    command::{done, expect_exit},
    folders::{contents, copy},
    logs_of_tools::{field, frame, trackio_database, trackio_rows, wandb_item, wandb_log},
};

const STEPS: [u64; 6] = [0, 2, 4, 6, 8, 10];

fn stored(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/oracles/other_logs").join(name)
}

/// Copies stored logs, so that a test may damage them.
fn copied(name: &str) -> (TempDir, PathBuf) {
    let here = tempfile::tempdir().unwrap();
    let folder = here.path().join("logs");
    copy(&stored(name), &folder);
    (here, folder)
}

/// The content of a run folder.
#[derive(Default)]
struct RecordedRun {
    info: RunInfo,
    /// Steps and values, by variant and channel.
    scalars: BTreeMap<(String, String), Vec<(u64, f64)>>,
    walls: Vec<f64>,
    texts: Vec<(u64, String, Payload)>,
    notices: String,
    end: Option<RunState>,
}

impl RecordedRun {
    fn values(&self, variant: &str, channel: &str) -> &[(u64, f64)] {
        let key = (variant.to_owned(), channel.to_owned());
        self.scalars.get(&key).unwrap_or_else(|| panic!("{key:?} is not among {:?}", self.scalars.keys()))
    }

    fn settings(&self) -> Vec<String> {
        self.info.config.iter().map(|(key, value)| format!("{key}={value}")).collect()
    }
}

/// Imports the log at this path; the error says why it is refused.
fn import(path: &Path) -> Result<RecordedRun, String> {
    let runs = tempfile::tempdir().unwrap();
    let source = Source::find(path).map_err(|e| e.to_string())?.ok_or("it is not a log of another tool")?;
    let imported = source.import(runs.path()).map_err(|e| e.to_string())?;
    let mut told = RecordedRun::default();
    let damage = Reader::open(&imported.folder).unwrap().read_through(|event| match event {
        Event::Started(info) => told.info = (*info).clone(),
        Event::Step(stats) => {
            told.walls.push(stats.wall_secs);
            let variant = &told.info.variants[stats.variant].id;
            for (channel, value) in stats.scalars {
                let key = (variant.clone(), channel.as_str().to_owned());
                told.scalars.entry(key).or_default().push((stats.step, value));
            }
        }
        Event::Sample(sample) => {
            told.texts.push((sample.step, sample.channel.as_str().to_owned(), (*sample.payload).clone()));
        }
        Event::Notice { text, .. } => told.notices.push_str(&format!("{text}\n")),
        Event::State(state) => told.end = Some(state),
        _ => {}
    });
    assert!(damage.unwrap().is_empty(), "what was written is whole");
    assert!(again_is_nothing(&source, runs.path()), "it is read once");
    Ok(told)
}

fn again_is_nothing(source: &Source, runs: &Path) -> bool {
    source.import(runs).unwrap().summary.is_none()
}

/// Compares the values with those that `make.py` logged, with the precision of 32-bit floats.
fn check(found: &[(u64, f64)], steps: &[u64], logged: impl Fn(u64) -> f64) {
    assert_eq!(found.iter().map(|(step, _)| *step).collect::<Vec<_>>(), steps);
    for (step, value) in found {
        let expected = logged(*step);
        let is_same = value.is_nan() && expected.is_nan()
            || *value == expected
            || (value - expected).abs() < 1e-6 * expected.abs().max(1e-3);
        assert!(is_same, "step {step}: {value}, and {expected} was logged");
    }
}

fn loss(step: u64) -> f64 {
    3.0 / (step + 1) as f64
}

fn acc(step: u64) -> f64 {
    step as f64 / 20.0
}

fn odd(step: u64) -> f64 {
    match step {
        4 => f64::NAN,
        6 => f64::INFINITY,
        8 => f64::NEG_INFINITY,
        _ => 1.0,
    }
}

const SETTINGS: [&str; 6] = [
    "config.amp=true",
    "config.betas=[0.9,0.99]",
    "config.lr=0.001",
    "config.seed=5",
    "model.layers=2",
    "model.name=small",
];

#[test]
fn event_files_of_both_forms_are_read() {
    let told = import(&stored("tensorboard")).unwrap();
    let ids: Vec<&str> = told.info.variants.iter().map(|variant| variant.id.as_str()).collect();
    assert_eq!(ids, ["train", "validation"]);
    for id in ids {
        check(told.values(id, "loss"), &STEPS, loss);
        check(told.values(id, "acc"), &STEPS, acc);
        check(told.values(id, "odd"), &STEPS, odd);
    }
    assert_eq!(told.walls.iter().copied().fold(f64::NAN, f64::max), 10.0, "{:?}", told.walls);
    let text = Payload::Unknown(json!({"kind": "text", "text": "the ferry left at dawn"}));
    assert_eq!(told.texts, [(0, "text/note".to_owned(), text)]);
    assert!(told.notices.contains("36 numbers of 3 channels, 2 runs as variants"), "{}", told.notices);
    assert!(told.notices.contains("1 value passed over that are not numbers"), "the histogram: {}", told.notices);
    assert_eq!(told.end, Some(RunState::Stopped));

    let one = import(&stored("tensorboard/train")).unwrap();
    assert_eq!(one.info.variants[0].id, "model", "as other programs' only model is called");
    check(one.values("model", "loss"), &STEPS, loss);
    let named = import(&stored("tensorboard/train/events.out.tfevents.1800000000.machine.1.0")).unwrap();
    // compared as text, because NaN does not equal itself as a number
    assert_eq!(format!("{:?}", named.scalars), format!("{:?}", one.scalars));
}

#[test]
fn an_offline_log_of_wandb_is_read() {
    for path in ["wandb", "wandb/run-abc12345.wandb"] {
        let told = import(&stored(path)).unwrap();
        assert_eq!((told.info.variants[0].label.as_str(), told.info.config.preset.as_str()), ("small", "small"));
        check(told.values("model", "loss"), &STEPS, loss);
        check(told.values("model", "nested.acc"), &STEPS, acc);
        check(told.values("model", "odd"), &STEPS, odd);
        assert_eq!(told.scalars.len(), 3, "{:?}", told.scalars.keys());
        assert_eq!((told.settings(), told.info.config.seed), (SETTINGS.map(str::to_owned).to_vec(), 5));
        let note = Payload::Unknown(json!({"kind": "text", "text": "a note"}));
        assert_eq!(told.texts, [(0, "text/notes".to_owned(), note)]);
        assert!(told.notices.contains("6 values passed over that are not numbers"), "the words: {}", told.notices);
        assert_eq!(told.end, Some(RunState::Finished));
        assert!(told.walls.iter().all(|wall| (0.0..60.0).contains(wall)), "{:?}", told.walls);
    }
}

#[test]
fn a_table_of_lightning_is_read_with_its_settings() {
    let told = import(&stored("lightning")).unwrap();
    check(told.values("model", "loss"), &STEPS, loss);
    check(told.values("model", "epoch"), &STEPS, |step| (step / 4) as f64);
    check(told.values("model", "acc"), &[0, 4, 8], acc);
    check(told.values("model", "odd"), &[0, 4, 8], odd);
    assert_eq!(told.settings(), SETTINGS);
    assert!(told.notices.contains("3 values logged again at the same step"), "the epochs: {}", told.notices);
    assert!(told.walls.iter().all(|wall| wall.is_nan()), "a table has no times: {:?}", told.walls);
}

#[test]
fn a_table_is_told_by_its_columns_however_they_are_written() {
    let here = tempfile::tempdir().unwrap();
    let folder = here.path().join("log");
    fs::create_dir(&folder).unwrap();
    let table = folder.join("metrics.csv");
    for text in ["\"step\",\"loss\"\n\"0\",\"1\"\n", "\u{feff}step,loss\r\n0,1\r\n", "\u{feff}\"loss\",\"step\"\n1,0\n"]
    {
        fs::write(&table, text).unwrap();
        for path in [&folder, &table] {
            assert_eq!(import(path).unwrap().values("model", "loss"), [(0, 1.0)], "{text:?}");
        }
    }
    for (text, words) in
        [("epoch,loss\n0,1\n", "has no column `step`"), ("step;loss\n0;1\n", "separated by commas"), ("", "is empty")]
    {
        fs::write(&table, text).unwrap();
        for path in ["log", "log/metrics.csv"] {
            let parts = ["metrics.csv` cannot be read: it ", words];
            expect_exit(here.path(), &format!("export {path} --csv out.csv"), 2, &parts);
        }
    }
}

#[test]
fn a_log_is_one_run_however_it_is_named() {
    let here = tempfile::tempdir().unwrap();
    let runs = tempfile::tempdir().unwrap();
    copy(&stored("lightning/version_0"), &here.path().join("version_0"));
    copy(&stored("tensorboard/train"), &here.path().join("train"));
    copy(&stored("wandb"), &here.path().join("wandb"));
    let event_file = "train/events.out.tfevents.1800000000.machine.1.0";
    for paths in [
        ["version_0", "version_0/", "train/../version_0", "version_0/metrics.csv"],
        ["train", "train/", "wandb/../train", event_file],
        ["wandb", "wandb/", "train/../wandb", "wandb/run-abc12345.wandb"],
    ] {
        let imported =
            |path: &str| Source::find(&here.path().join(path)).unwrap().unwrap().import(runs.path()).unwrap();
        let [first, again @ .., of_file] = paths.map(imported);
        assert!(first.summary.is_some() && first.recognised.is_none(), "{paths:?}");
        for run in again {
            let (summary, recognised) = (run.summary, run.recognised);
            assert_eq!((run.folder, summary, recognised), (first.folder.clone(), None, None), "{paths:?}");
        }
        assert_eq!((of_file.folder, of_file.summary), (first.folder, None), "{paths:?}");
        assert!(of_file.recognised.is_some_and(|words| words.contains("was imported before")), "{paths:?}");
    }
    // beside another log it is a part of what the folder holds
    copy(&stored("tensorboard/validation"), &here.path().join("train/validation"));
    let source = |path: &str| Source::find(&here.path().join(path)).unwrap().unwrap();
    assert_ne!(
        source("train").import(runs.path()).unwrap().folder,
        source(event_file).import(runs.path()).unwrap().folder
    );
}

/// The run folders of earlier versions have other names, by paths that were not resolved.
#[test]
fn a_log_that_an_earlier_version_read_is_recognised() {
    let (here, runs) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let folder = here.path().join("version_0");
    copy(&stored("lightning/version_0"), &folder);
    let table = folder.join("metrics.csv");
    let import = |path: &Path| Source::find(path).unwrap().unwrap().import(runs.path()).unwrap();
    let earlier = runs.path().join("lightning-earlier");
    fs::rename(import(&table).folder, &earlier).unwrap();
    let record = fs::read_to_string(earlier.join(".imported")).unwrap();
    fs::write(earlier.join(".imported"), record.replace("/version_0/", "/version_0/../version_0/")).unwrap();
    for path in [&folder, &table] {
        let run = import(path);
        assert!(run.folder == earlier && run.recognised.is_some(), "{run:?}");
    }
    // also once it has grown
    let more = fs::read_to_string(&table).unwrap() + ",3,0.25,,12\n";
    fs::write(&table, more).unwrap();
    let run = import(&folder);
    assert!(run.folder == earlier && run.summary.is_some_and(|words| words.contains("imported from")));
    assert!(fs::read_to_string(earlier.join("metrics.jsonl")).unwrap().contains("\"step\":12"));
    assert_eq!(fs::read_dir(runs.path()).unwrap().count(), 1, "it is one run");
    // another log beside it is more than that run holds
    copy(&stored("lightning/version_0"), &folder.join("version_1"));
    assert_ne!(import(&folder).folder, earlier);
}

#[test]
fn a_database_of_trackio_is_read_with_what_its_write_ahead_log_holds() {
    let told = import(&stored("trackio/demo.db")).unwrap();
    for id in ["wide", "narrow"] {
        check(told.values(id, "loss"), &STEPS, loss);
        check(told.values(id, "acc"), &STEPS, acc);
        check(told.values(id, "odd"), &STEPS, odd);
    }
    assert_eq!(told.scalars.len(), 6, "{:?}", told.scalars.keys());
    let settings = told.settings();
    for setting in ["config.seed=5", "model.layers=2", "wide.config.lr=0.001", "narrow.config.lr=0.01"] {
        assert!(settings.iter().any(|found| found == setting), "{setting}: {settings:?}");
    }
    assert!(told.notices.contains("12 values passed over that are not numbers"), "the words: {}", told.notices);

    let growing = import(&stored("trackio/wal/demo.db")).unwrap();
    let steps: Vec<u64> = STEPS.into_iter().chain([12, 14]).collect();
    check(growing.values("wide", "loss"), &steps, loss);
    check(growing.values("narrow", "loss"), &STEPS, loss);
    // the complete part of a truncated write-ahead log is read
    let (_here, folder) = copied("trackio/wal");
    let log = folder.join("demo.db-wal");
    let bytes = fs::read(&log).unwrap();
    fs::write(&log, &bytes[..bytes.len() - 1]).unwrap();
    let torn = import(&folder.join("demo.db")).unwrap();
    check(torn.values("wide", "loss"), &steps[..7], loss);
}

#[test]
fn every_command_takes_a_log_of_another_tool() {
    let (here, logs) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    copy(&stored(""), logs.path());
    let before = contents(logs.path());
    let shown = logs.path().display();
    let done = |words: &str| done(here.path(), words);
    let said = done(&format!("export {shown}/wandb --csv run.csv"));
    assert!(said.contains("imported from") && said.contains("W&B") && said.contains("18 numbers"), "{said}");
    let csv = fs::read_to_string(here.path().join("run.csv")).unwrap();
    assert!(csv.lines().next().unwrap().contains("nested.acc") && csv.lines().count() == 7, "{csv}");
    assert!(csv.contains("NaN") && csv.contains("-inf"), "{csv}");

    let said = done(&format!("compare {shown}/wandb {shown}/lightning {shown}/trackio/demo.db --out compared"));
    assert_eq!(said.matches("imported from").count(), 2, "one of them was imported before: {said}");
    assert!(fs::read_to_string(here.path().join("compared/settings.csv")).unwrap().contains("config.lr"));
    done(&format!("report {shown}/tensorboard -o run.html"));
    let listed = done("runs lab:foreign --csv");
    for name in ["wandb-", "lightning-", "trackio-", "tensorboard-"] {
        assert!(listed.contains(name), "{name}: {listed}");
    }
    // `follow` prints the newest numbers and ends, because such a log is read only once
    let said = done(&format!("follow {shown}/lightning --headless"));
    assert!(said.contains("step 10  model") && said.contains("read once"), "{said}");
    assert_eq!(contents(logs.path()), before, "nothing of a log is changed");

    // a log that has grown is read again
    let table = logs.path().join("lightning/version_0/metrics.csv");
    let more = fs::read_to_string(&table).unwrap() + ",3,0.25,,12\n";
    fs::write(&table, more).unwrap();
    let said = done(&format!("export {shown}/lightning --csv again.csv"));
    assert!(said.contains("imported from"), "{said}");
    assert!(fs::read_to_string(here.path().join("again.csv")).unwrap().contains("\n12,model,"));
    for file in [table, logs.path().join("wandb/run-abc12345.wandb")] {
        expect_exit(here.path(), &format!("export {shown}/wandb --csv {}", file.display()), 2, &["never written over"]);
    }
}

#[test]
fn an_import_whose_record_is_lost_is_made_again() {
    let (_here, logs) = copied("lightning");
    let runs = tempfile::tempdir().unwrap();
    let source = Source::find(&logs).unwrap().unwrap();
    let folder = source.import(runs.path()).unwrap().folder;
    let record = folder.join(".imported");
    let whole = fs::read(&record).unwrap();
    let metrics = fs::read(folder.join("metrics.jsonl")).unwrap();
    // states of the file after a power failure
    for damaged in [&b""[..], &whole[..whole.len() / 2], &vec![0; whole.len()], &vec![b' '; (1 << 20) + 1]] {
        fs::write(&record, damaged).unwrap();
        fs::write(folder.join("metrics.jsonl"), "").unwrap();
        let words = source.import(runs.path()).unwrap().summary.expect("it is read again");
        assert!(words.contains("`.imported`, which says what was read before, cannot be read"), "{words}");
        assert_eq!(fs::read(folder.join("metrics.jsonl")).unwrap(), metrics);
        assert!(again_is_nothing(&source, runs.path()));
    }
    // the run's log is empty, but its record says that it was imported
    fs::write(folder.join("metrics.jsonl"), "").unwrap();
    assert!(source.import(runs.path()).unwrap().summary.is_some());
    // an unreadable record may belong to somebody else, so nothing is overwritten
    fs::remove_file(&record).unwrap();
    fs::create_dir(&record).unwrap();
    let why = source.import(runs.path()).err().unwrap().to_string();
    assert!(why.contains("`.imported` cannot be read") && why.contains("it is a folder"), "{why}");
    assert_eq!(fs::read(folder.join("metrics.jsonl")).unwrap(), metrics);
    // a run that was not imported must not be overwritten
    fs::remove_dir(&record).unwrap();
    let why = source.import(runs.path()).err().unwrap().to_string();
    assert!(why.contains("is in the way"), "{why}");
    assert_eq!(fs::read(folder.join("metrics.jsonl")).unwrap(), metrics);
}

/// The event files that `orrery export --tensorboard` writes are imported with the same numbers.
#[test]
fn our_own_event_files_come_back() {
    let here = tempfile::tempdir().unwrap();
    let log = stored("lightning");
    for words in [format!("export {} --tensorboard events", log.display()), "export events --csv run.csv".to_owned()] {
        done(here.path(), &words);
    }
    let told = import(&here.path().join("events")).unwrap();
    check(told.values("model", "loss"), &STEPS, loss);
    check(told.values("model", "odd"), &[0, 4, 8], odd);
}

#[test]
fn damaged_tails_are_reported_and_what_precedes_is_read() {
    let (_here, folder) = copied("tensorboard/train");
    let file = folder.join("events.out.tfevents.1800000000.machine.1.0");
    let whole = fs::read(&file).unwrap();
    let mut read = vec![];
    let mut ends = vec![0];
    while let Some(rest) = whole.get(ends[ends.len() - 1]..).filter(|rest| !rest.is_empty()) {
        let length = u64::from_le_bytes(*rest.first_chunk().unwrap());
        ends.push(ends[ends.len() - 1] + 16 + length as usize);
    }
    assert_eq!(ends.len(), 2 + STEPS.len(), "the version, then a record a step");
    for end in ends.iter().flat_map(|end| [*end, end + 1, end + 9, end + 20]).filter(|end| *end < whole.len()) {
        fs::write(&file, &whole[..end]).unwrap();
        match import(&folder) {
            Ok(told) => {
                let found = told.values("model", "loss");
                check(found, &STEPS[..found.len()], loss);
                read.push(told.notices.contains("ends within record"));
            }
            Err(why) => assert!(why.contains("holds no numbers"), "{end}: {why}"),
        }
    }
    assert!(read.iter().any(|is_cut| *is_cut) && read.iter().any(|is_cut| !is_cut), "at and between the records");
    // damages the data of the second record, which holds the first step
    let mut changed = whole.clone();
    let second = 16 + usize::from(whole[0]);
    changed[second + 20] ^= 1;
    fs::write(&file, &changed).unwrap();
    let told = import(&folder).unwrap();
    check(told.values("model", "loss"), &STEPS[1..], loss);
    assert!(
        told.notices.contains("passed over 1 damaged record (record 2: its data do not have its checksum)"),
        "{}",
        told.notices
    );
    // damages its length, without which the next record cannot be found
    changed = whole;
    changed[second] ^= 1;
    fs::write(&file, &changed).unwrap();
    assert!(import(&folder).err().unwrap().contains("damaged at record 2"), "{:?}", import(&folder).err());

    let (_here, folder) = copied("wandb");
    let file = folder.join("run-abc12345.wandb");
    let whole = fs::read(&file).unwrap();
    for end in (0..whole.len()).step_by(97) {
        fs::write(&file, &whole[..end]).unwrap();
        if let Ok(told) = import(&folder) {
            let found = told.values("model", "odd");
            check(found, &STEPS[..found.len()], odd);
        }
    }
    fs::write(&file, &whole[..whole.len() - 3]).unwrap();
    let told = import(&folder).unwrap();
    assert!(told.notices.contains("ends within a record"), "{}", told.notices);
    assert_eq!(told.end, Some(RunState::Stopped), "the end is what was lost");

    let (_here, folder) = copied("lightning/version_0");
    let file = folder.join("metrics.csv");
    let whole = fs::read(&file).unwrap();
    fs::write(&file, &whole[..whole.len() - 4]).unwrap();
    let told = import(&folder).unwrap();
    check(told.values("model", "loss"), &STEPS[..5], loss);
    assert!(told.notices.contains("ends within a row"), "{}", told.notices);

    let (_here, folder) = copied("trackio");
    let file = folder.join("demo.db");
    let whole = fs::read(&file).unwrap();
    for end in (0..whole.len()).step_by(1031) {
        fs::write(&file, &whole[..end]).unwrap();
        if let Ok(told) = import(&file) {
            // if only one run could be read, its variant has the name `model`
            let runs = ["wide", "narrow", "model"].map(|run| (run.to_owned(), "loss".to_owned()));
            let Some(found) = runs.iter().find_map(|run| told.scalars.get(run)) else { continue };
            check(found, &STEPS[..found.len()], loss);
        }
    }
}

#[test]
fn a_record_over_several_blocks_is_put_together_and_a_damaged_block_is_passed_over() {
    let here = tempfile::tempdir().unwrap();
    let file = here.path().join("run-a.wandb");
    // a step of the history with a long text, followed by a number
    let item = |key: &str, json: &str| field(1, &wandb_item(&field(1, key.as_bytes()), json));
    let history = |step: u8, length: usize| {
        let text = format!("\"{}\"", "x".repeat(length));
        field(2, &[item("word", &text), item("loss", "0.5"), field(2, &[8, step])].concat())
    };
    let mut log = wandb_log(&[history(1, 80_000), history(2, 10)]);
    fs::write(&file, &log).unwrap();
    assert_eq!(import(&file).unwrap().values("model", "loss"), [(1, 0.5), (2, 0.5)]);
    log[40_000] ^= 1;
    fs::write(&file, &log).unwrap();
    let told = import(&file).unwrap();
    assert_eq!(told.values("model", "loss"), [(2, 0.5)]);
    assert!(
        told.notices.contains("passed over 2 damaged parts (the first: a part of a record does not"),
        "{}",
        told.notices
    );
}

#[test]
fn a_row_over_several_pages_is_put_together_and_one_that_is_cut_is_none() {
    let here = tempfile::tempdir().unwrap();
    let file = here.path().join("demo.db");
    let read = |json: &str| {
        fs::write(&file, trackio_database(json)).unwrap();
        import(&file)
    };
    for length in [10, 4000, 4100, 90_000] {
        let told =
            read(&format!("{{\"words\": \"{}\", \"loss\": 0.5, \"nested\": {{\"a\": [1]}}}}", "x".repeat(length)));
        let told = told.unwrap();
        assert_eq!(told.values("model", "loss"), [(1, 0.5)], "{length}");
        assert_eq!(told.scalars.len(), 1);
        assert!(told.notices.contains("2 values passed over that are not numbers"), "{}", told.notices);
    }
    let why = read("{\"loss\": 0.5, \"acc\": 1").err().unwrap();
    assert!(why.contains("holds no numbers"), "{why}");
    // Python writes a lone surrogate unchanged
    let told = read(r#"{"word": "\ud83d", "loss": 0.5, "\udc00": 1}"#).unwrap();
    assert_eq!(told.values("model", "loss"), [(1, 0.5)]);
    assert_eq!(told.values("model", "\u{fffd}"), [(1, 1.0)]);
}

#[test]
fn a_row_that_is_too_long_ends_no_table() {
    let here = tempfile::tempdir().unwrap();
    let path = here.path().join("demo.db");
    fs::write(&path, trackio_rows("{\"loss\": 0.5}", Some(70 << 20))).unwrap();
    // a sparse file supplies the length that the row claims
    fs::File::options().write(true).open(&path).unwrap().set_len(80 << 20).unwrap();
    let told = import(&path).unwrap();
    assert_eq!(told.values("model", "loss"), [(1, 0.5)]);
    assert!(told.notices.contains("demo.db: passed over 1 row (a row has 73.4 MB, and at most "), "{}", told.notices);
}

#[test]
fn hostile_logs_are_read_or_refused_in_words() {
    let here = tempfile::tempdir().unwrap();
    let file = here.path().join("events.out.tfevents.1.a.1.0");
    let value = |tag: &[u8]| [field(1, tag), vec![0x15, 0, 0, 0, 0x40]].concat();
    let event = |step: &[u8], tag: &[u8]| [&[0x10][..], step, &field(5, &field(1, &value(tag)))].concat();
    let whole = |event: &[u8]| frame(event.len() as u64, event);
    let minus_one = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
    let bytes = [
        whole(&event(&[1], b"loss")),
        whole(&event(&minus_one, b"loss")),
        whole(&event(&[2], &[b'x'; 5000])),
        whole(&[0x2a, 0xff, 0xff, 0xff, 0xff, 0x0f]),
        frame(1 << 60, b"short"),
    ]
    .concat();
    fs::write(&file, &bytes).unwrap();
    let told = import(&file).unwrap();
    assert_eq!(told.values("model", "loss"), [(1, 2.0)]);
    for words in ["steps are negative", "longer than 256 bytes", "1 damaged record", "ends within record 5"] {
        assert!(told.notices.contains(words), "{words}: {}", told.notices);
    }

    let table = here.path().join("metrics.csv");
    let columns: Vec<String> = (0..20_000).map(|i| format!("c{i}")).collect();
    fs::write(&table, format!("step,{}\n1{}\n", columns.join(","), ",1".repeat(20_000))).unwrap();
    let told = import(&table).unwrap();
    assert_eq!(told.scalars.len(), (1 << 14) - 1000);
    assert!(told.notices.contains("no log is read with more than 15384 channels"), "{}", told.notices);
    fs::write(&table, "a,step\n1.5,x\n2.5,-3\n").unwrap();
    let why = import(&table).err().unwrap();
    assert!(why.contains("holds no numbers") && why.contains("have no step") && why.contains("negative"), "{why}");

    // one table has an extremely long row, and one an extremely long header
    fs::write(&table, format!("step,a\n1,2\n2,{}\n3,4\n", ",".repeat(2 << 20))).unwrap();
    let told = import(&table).unwrap();
    assert_eq!(told.values("model", "a"), [(1, 2.0)]);
    assert!(told.notices.contains("a row longer than 1088 KiB"), "{}", told.notices);
    fs::write(&table, format!("step{}\n1,2\n", ",a".repeat(100_000))).unwrap();
    let why = import(&table).err().unwrap();
    assert!(why.contains("100001 columns"), "{why}");

    // a page of the B-tree that is its own child must not cause an endless loop
    let (_other, folder) = copied("trackio");
    let database = folder.join("demo.db");
    let whole = fs::read(&database).unwrap();
    let mut refused = vec![];
    for page in 1..12 {
        let mut bytes = whole.clone();
        let number = (page as u32 + 1).to_be_bytes();
        bytes[512 * page] = 5;
        bytes[512 * page + 3..512 * page + 5].fill(0);
        bytes[512 * page + 8..512 * page + 12].copy_from_slice(&number);
        fs::write(&database, &bytes).unwrap();
        if let Err(why) = import(&database) {
            assert!(why.contains("cannot be read") || why.contains("holds no numbers"), "page {page}: {why}");
            refused.push(why);
        }
    }
    assert!(refused.iter().any(|why| why.contains("form a loop")), "{refused:?}");
}

#[test]
fn a_folder_of_many_runs_or_none_is_reported() {
    let here = tempfile::tempdir().unwrap();
    let logs = here.path().join("logs");
    fs::create_dir(&logs).unwrap();
    assert_eq!(Source::find(&logs).unwrap(), None);
    assert_eq!(Source::find(&here.path().join("nothing")).unwrap(), None);
    fs::write(logs.join("metrics.csv"), "epoch,loss\n1,2\n").unwrap();
    fs::write(logs.join("notes.db"), "no database").unwrap();
    let why = import(&logs).err().unwrap();
    assert!(why.contains("metrics.csv` cannot be read: it has no column `step`"), "{why}");
    fs::write(logs.join("metrics.csv"), "step,variant,loss\n1,model,2\n").unwrap();
    assert_eq!(Source::find(&logs).unwrap(), None, "databases of others and tables of `orrery export` are none");
    fs::write(logs.join("metrics.csv"), "epoch,loss\n1,2\n").unwrap();
    for i in 0..65 {
        copy(&stored("lightning/version_0"), &logs.join(format!("version_{i}")));
    }
    let why = import(&logs).err().unwrap();
    assert!(why.contains("more than 64 runs"), "{why}");
    fs::remove_dir_all(logs.join("version_64")).unwrap();
    let told = import(&logs).unwrap();
    assert_eq!(told.info.variants.len(), 64);
    assert_eq!(told.info.variants[0].id, "version_0");
    assert!(told.notices.contains("1 table without a column `step` not read"), "{}", told.notices);
    // if a folder has logs of two tools, one of them is read
    copy(&stored("wandb"), &logs.join("wandb"));
    let told = import(&logs).unwrap();
    assert!(told.notices.contains("64 files of Lightning's CSV logger beside it are not read"), "{}", told.notices);
    check(told.values("model", "loss"), &STEPS, loss);
}

#[cfg(unix)]
#[test]
fn no_link_inside_a_folder_is_followed() {
    use std::os::unix::fs::symlink;
    let here = tempfile::tempdir().unwrap();
    let (logs, elsewhere) = (here.path().join("logs"), here.path().join("elsewhere"));
    fs::create_dir(&logs).unwrap();
    copy(&stored("lightning/version_0"), &elsewhere);
    symlink(elsewhere.join("metrics.csv"), logs.join("metrics.csv")).unwrap();
    symlink(&elsewhere, logs.join("version_0")).unwrap();
    assert_eq!(Source::find(&logs).unwrap(), None);
    super::foreign_folders::put_pipe(&logs.join("a.tfevents.1"));
    assert_eq!(Source::find(&logs).unwrap(), None, "nobody writes into the pipe");
    // a path that the user names explicitly may be a link
    symlink(&elsewhere, here.path().join("latest")).unwrap();
    check(import(&here.path().join("latest")).unwrap().values("model", "loss"), &STEPS, loss);
}
