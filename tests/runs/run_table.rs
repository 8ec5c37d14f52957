//! Tests the command that lists runs: rows of intact and damaged folders, the index, which is only a cache, filters and
//! sorting, notes and the trash.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::{Command as Process, Output},
    time::{Duration, Instant},
};

use crossbeam::channel::bounded;
use orrery::{
    config::Value,
    experiments::{
        headline_values::{HeadlineValue, HeadlineValues},
        run_rows,
        run_table::{GroupLoss, RowState, RunRow, filter::Filter, order::Order},
    },
    labs,
    store::{Writer, note, trash},
    telemetry::{Command, RunNote},
    trainer::{self, DriveOptions},
};

use crate::{
    command::output_of,
    trainer::{fast_slow, started, train},
};

/// Trains a run of a few steps in `runs`.
fn recorded(runs: &Path, more: &[(&str, &str)]) -> PathBuf {
    let (_, config) = fast_slow(3, more);
    let writer = Writer::at_once(runs);
    train(&config, DriveOptions { writer: Some(writer.clone()), ..started() });
    writer.folder().unwrap()
}

/// Copies the files of a run, without its folders, under another name.
fn copied(run: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for file in fs::read_dir(run).unwrap().flatten().filter(|f| f.file_type().unwrap().is_file()) {
        fs::copy(file.path(), to.join(file.file_name())).unwrap();
    }
}

fn orrery(args: &[&str], runs: &Path) -> Output {
    Process::new(env!("CARGO_BIN_EXE_orrery")).arg("runs").args(args).arg("--out").arg(runs).output().unwrap()
}

#[test]
fn a_row_says_what_the_run_was_and_how_it_stands() {
    let dir = tempfile::tempdir().unwrap();
    let run = recorded(dir.path(), &[("train.lr", "0.002")]);
    let rows = run_rows::list(dir.path(), |_| ()).unwrap().rows;
    let [row] = rows.as_slice() else { panic!("{} rows", rows.len()) };
    assert_eq!((row.lab.as_str(), row.preset.as_str(), row.steps, &row.path), ("fast_slow", "fast_slow", 3, &run));
    assert_eq!(row.state, RowState::Finished);
    assert_eq!(row.changed.get("train.lr"), Some(&Value::Float(0.002)));
    assert!(!row.changed.contains_key("train.weight_decay"), "{:?}", row.changed);
    assert_eq!(row.losses.iter().map(|l| l.group.as_str()).collect::<Vec<_>>(), ["coupled", "frozen"]);
    assert!(row.losses.iter().all(|l| l.train > 0.0 && l.held_out > 0.0), "{:?}", row.losses);
    assert_eq!(row.headline("held_out_loss")[0].1, row.losses[0].held_out);
    assert!(row.bytes > 1000 && row.problems.is_empty());
}

#[test]
fn a_setting_changed_while_the_run_trained_differs_from_the_preset() {
    let dir = tempfile::tempdir().unwrap();
    let (_, config) = fast_slow(3, &[]);
    let (commands, waiting) = bounded(1);
    commands.send(Command::Set { key: "model.coupling_scale".into(), value: Value::Float(4.5) }).unwrap();
    let plan = (labs::find(&config.lab).unwrap().plan)(&config).unwrap();
    let options = DriveOptions { writer: Some(Writer::at_once(dir.path())), ..started() };
    trainer::drive(plan, options, &waiting, vec![]);
    let rows = run_rows::list(dir.path(), |_| ()).unwrap().rows;
    assert_eq!(rows[0].changed.get("model.coupling_scale"), Some(&Value::Float(4.5)));
    let first = rows[0].settings["model.coupling_scale"].clone();
    assert!(rows[0].changed_label().contains(&format!("model.coupling_scale {first} \u{2192} 4.5")), "{:?}", rows[0]);
    let indexed = run_rows::list(dir.path(), |_| ()).unwrap();
    assert_eq!((indexed.read, &indexed.rows), (0, &rows));
    let is_found = |line: &str| Filter::parse(line).unwrap().matches(&indexed.rows[0]);
    for line in
        ["coupling_scale=4.5", "model.coupling_scale>4.4", &format!("coupling_scale={first}"), "coupling_scale:4.5"]
    {
        assert!(is_found(line), "a run has the settings that it began with and those set later: {line}");
    }
    assert!(!is_found("coupling_scale=4.25") && !is_found("!coupling_scale=4.5"));
}

#[test]
fn a_switch_set_while_the_run_trained_is_found() {
    let with = |on: bool| BTreeMap::from([("train.clip".to_owned(), Value::Switch(on))]);
    let row = RunRow { settings: with(false), changed_in_training: with(true), ..RunRow::default() };
    for (line, is_found) in [("clip=true", true), ("train.clip:false", true), ("clip=1", false), ("!clip=true", false)]
    {
        assert_eq!(Filter::parse(line).unwrap().matches(&row), is_found, "{line}");
    }
}

#[test]
fn a_table_for_another_program_is_not_cut() {
    let dir = tempfile::tempdir().unwrap();
    let run = recorded(dir.path(), &[]);
    let name = "a name as long as three ".repeat(9);
    let named = orrery(&["--edit", run.to_str().unwrap(), "--name", name.trim()], dir.path());
    assert!(named.status.success(), "{}", output_of(&named));
    let table = output_of(&orrery(&[], dir.path()));
    let is_whole = table.contains(name.trim()) && !table.contains('…');
    assert!(is_whole && table.contains("loss minus that of coupled"), "{table}");
}

/// The test only prints times; it checks that unchanged folders are not read again.
#[test]
fn many_folders_are_read_once() {
    const RUN_COUNT: usize = 200;
    let dir = tempfile::tempdir().unwrap();
    let run = recorded(dir.path(), &[]);
    // reading measurements would take most of the time, and this test does not need them
    fs::write(run.join("samples.jsonl"), "").unwrap();
    (1..RUN_COUNT).for_each(|i| copied(&run, &dir.path().join(format!("run-{i:04}"))));
    let listed = |what: &str| {
        let began = Instant::now();
        let listing = run_rows::list(dir.path(), |_| ()).unwrap();
        eprintln!("{what}: {} rows, {} read, {:.3} s", listing.rows.len(), listing.read, began.elapsed().as_secs_f64());
        listing
    };
    let first = listed("without an index");
    assert_eq!((first.rows.len(), first.read), (RUN_COUNT, RUN_COUNT));
    let again = listed("with it");
    assert_eq!(again.read, 0);
    assert_eq!(again.rows, first.rows);
    // one run grows, one is removed, one is new
    let metrics = dir.path().join("run-0050/metrics.jsonl");
    let grown = fs::read_to_string(&metrics).unwrap().replace("\"step\":3", "\"step\":9");
    fs::write(&metrics, grown + "\n").unwrap();
    fs::remove_dir_all(dir.path().join("run-0051")).unwrap();
    copied(&run, &dir.path().join("run-new"));
    let changed = listed("after three changes");
    assert_eq!((changed.rows.len(), changed.read), (RUN_COUNT, 2));
    assert_eq!(changed.rows.iter().find(|r| r.folder == "run-0050").unwrap().steps, 9);
    assert!(!changed.rows.iter().any(|r| r.folder == "run-0051"));
    // a damaged or missing index is rebuilt
    let index = dir.path().join(".index.json");
    let half = fs::read(&index).unwrap();
    fs::write(&index, &half[..half.len() / 2]).unwrap();
    let mended = listed("with a damaged index");
    assert_eq!((mended.read, &mended.rows), (RUN_COUNT, &changed.rows));
    fs::remove_file(&index).unwrap();
    assert_eq!(listed("with a deleted index").rows, changed.rows);
}

#[test]
fn runs_of_a_sweep_stand_in_the_table() {
    let dir = tempfile::tempdir().unwrap();
    let (runs, sweep) = (dir.path().join("runs"), dir.path().join("sweeps/rates"));
    fs::create_dir_all(sweep.join("runs")).unwrap();
    fs::write(sweep.join("sweep.toml"), "").unwrap();
    let own = recorded(&runs, &[]);
    copied(&own, &sweep.join("runs/0-7"));
    let folders = |filter: &str, runs: &Path| -> Vec<String> {
        let out = orrery(&[filter, "--csv"], runs);
        assert!(out.status.success(), "{}", output_of(&out));
        let lines = String::from_utf8_lossy(&out.stdout).into_owned();
        let mut folders: Vec<String> =
            lines.lines().skip(1).map(|line| line.split(',').next().unwrap_or_default().to_owned()).collect();
        folders.sort();
        folders
    };
    let name = own.file_name().unwrap().to_string_lossy().into_owned();
    assert_eq!(folders("lab:fast_slow", &runs), [name.clone(), "rates/0-7".to_owned()]);
    assert_eq!(folders("sweep:rates", &runs), ["rates/0-7"]);
    assert_eq!(folders("!sweep:rates", &runs), [name]);
    let table = output_of(&orrery(&[], &runs));
    assert!(table.contains("2 of 2 runs in ") && table.contains(" and in sweeps beside it (1)"), "{table}");
    for path in [&own, &sweep.join("runs/0-7")] {
        assert!(table.contains(path.to_str().unwrap()), "a command takes what is printed: {table}");
    }
    assert_eq!(folders("lab:fast_slow", &sweep.join("runs")), ["0-7"], "a sweep's own folder of runs lists them once");
}

#[test]
fn a_broken_folder_is_a_row_with_a_sentence() {
    let dir = tempfile::tempdir().unwrap();
    let run = recorded(dir.path(), &[]);
    let broken = |name: &str, file: &str, change: &dyn Fn(String) -> String| {
        let to = dir.path().join(name);
        copied(&run, &to);
        let text = fs::read_to_string(to.join(file)).unwrap();
        fs::write(to.join(file), change(text)).unwrap();
    };
    broken("later", "run.json", &|t| t.replace("\"format\": 2", "\"format\": 99"));
    broken("cut", "metrics.jsonl", &|t| t[..t.len() - 30].to_owned());
    broken("killed", "events.jsonl", &|t| {
        t.lines().filter(|l| !l.contains("finished")).map(|l| format!("{l}\n")).collect()
    });
    broken("torn", "run.json", &|_| "{".into());
    fs::create_dir(dir.path().join("no run")).unwrap();
    fs::create_dir(dir.path().join("empty")).unwrap();
    fs::write(dir.path().join("empty/metrics.jsonl"), "").unwrap();
    copied(&run, &dir.path().join("noted"));
    fs::write(dir.path().join("noted/note.toml"), "name = [").unwrap();
    let rows = run_rows::list(dir.path(), |_| ()).unwrap().rows;
    let row = |name: &str| rows.iter().find(|r| r.folder == name).unwrap_or_else(|| panic!("no row {name}"));
    let says = |name: &str, words: &str| {
        let problems = row(name).problems.join(" ");
        assert!(problems.contains(words), "{name}: {problems}");
    };
    assert_eq!(rows.len(), 7, "{:?}", rows.iter().map(|r| &r.folder).collect::<Vec<_>>());
    assert_eq!(row("later").state, RowState::Unreadable);
    says("later", "format 99");
    says("cut", "cut short");
    assert_eq!(row("cut").state, RowState::Finished);
    assert_eq!(row("killed").state_label(), "killed at step 3");
    says("torn", "run.json is damaged");
    // another program may create its log of numbers before any other file
    assert_eq!(row("empty").state, RowState::Running);
    says("noted", "note.toml");
    let out = orrery(&[], dir.path());
    assert!(out.status.success() && output_of(&out).contains("later: "), "{}", output_of(&out));
}

#[cfg(target_os = "linux")]
#[test]
fn a_folder_whose_name_is_not_utf8_is_a_row() {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt};
    let dir = tempfile::tempdir().unwrap();
    let run = recorded(dir.path(), &[]);
    copied(&run, &dir.path().join(OsStr::from_bytes(b"wide\xff")));
    let rows = run_rows::list(dir.path(), |_| ()).unwrap().rows;
    let row = rows.iter().find(|row| row.folder == "wide\u{fffd}").unwrap();
    assert_eq!((rows.len(), &row.state), (2, &RowState::Unreadable));
    for words in [&[] as &[&str], &["--csv"], &["--json"]] {
        let out = orrery(words, dir.path());
        assert!(out.status.success() && output_of(&out).contains("is not UTF-8"), "{words:?}: {}", output_of(&out));
    }
    assert!(output_of(&orrery(&[], dir.path())).contains("2 of 2 runs"));
}

/// Its times and lengths may be those of the files that it came with, but not what the system knows of them.
#[cfg(unix)]
#[test]
fn an_index_that_came_with_a_copy_is_not_believed() {
    let [made, from, to] = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let [ours, theirs] = [&from, &to].map(|runs| runs.path().join("run"));
    copied(&recorded(made.path(), &[]), &ours);
    let read = |runs: &Path| run_rows::list(runs, |_| ()).unwrap().read;
    assert_eq!([read(from.path()), read(from.path())], [1, 0]);
    // the clock of a file system may tick every few milliseconds
    std::thread::sleep(Duration::from_millis(20));
    copied(&ours, &theirs);
    for file in fs::read_dir(&ours).unwrap().map(Result::unwrap) {
        let copy = fs::File::options().write(true).open(theirs.join(file.file_name())).unwrap();
        copy.set_modified(file.metadata().unwrap().modified().unwrap()).unwrap();
    }
    fs::copy(from.path().join(".index.json"), to.path().join(".index.json")).unwrap();
    assert_eq!([read(to.path()), read(to.path())], [1, 0]);
}

#[test]
fn control_characters_of_runs_are_not_printed() {
    let dir = tempfile::tempdir().unwrap();
    let run = recorded(dir.path(), &[]);
    let name = "\u{1b}]0;mine\u{7}\u{9b}31m\r\u{202e}exe.txt";
    note::write(&run, &RunNote { name: name.into(), note: "up\u{1b}[A".into(), ..RunNote::default() }).unwrap();
    copied(&run, &dir.path().join("damaged"));
    fs::write(dir.path().join("damaged/note.toml"), "name = \"a\"\n[\"\\u001b[2J\u{1b}[2J").unwrap();
    let config = dir.path().join("config.toml");
    fs::write(&config, "lab = \"\\u001b[2J\"").unwrap();
    let run = run.to_str().unwrap();
    let (runs, config) = (dir.path().to_str().unwrap(), config.to_str().unwrap());
    for words in [&["runs", "--out", runs][..], &["compare", run, run], &["list", "--runs", runs], &["run", config]] {
        let told = output_of(&Process::new(env!("CARGO_BIN_EXE_orrery")).args(words).output().unwrap());
        let acting: Vec<char> = told.chars().filter(|c| (c.is_control() && *c != '\n') || *c == '\u{202e}').collect();
        assert!(acting.is_empty(), "{words:?}: {acting:?} in {told}");
        assert!(!["runs", "run"].contains(&words[0]) || told.contains(r"\u{1b}"), "{words:?}: {told}");
    }
    let values = orrery(&["--json"], dir.path());
    let rows: serde_json::Value = serde_json::from_slice(&values.stdout).unwrap();
    let names: Vec<&str> = rows.as_array().unwrap().iter().filter_map(|row| row["note"]["name"].as_str()).collect();
    assert!(names.contains(&name), "{names:?}");
}

#[test]
fn a_reading_says_how_far_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let run = recorded(dir.path(), &[]);
    (1..3).for_each(|i| copied(&run, &dir.path().join(format!("run-{i}"))));
    let counts = || {
        let counts = std::sync::Mutex::new(vec![]);
        run_rows::list_with_progress(dir.path(), |_| (), |done, total| counts.lock().unwrap().push((done, total)))
            .unwrap();
        counts.into_inner().unwrap()
    };
    assert_eq!(counts(), [(1, 3), (2, 3), (3, 3)]);
    assert_eq!(counts(), [], "the index has them");
}

fn row(folder: &str, lr: f64, gate: f64) -> RunRow {
    let value = |variant: &str, value| HeadlineValue {
        key: "gate".into(),
        variant: variant.into(),
        group: variant.into(),
        step: 5,
        value,
        answers: None,
    };
    let loss = |group: &str| GroupLoss {
        group: group.into(),
        label: group.into(),
        train: 2.0,
        held_out: f64::NAN,
        held_out_step: None,
    };
    RunRow {
        folder: folder.into(),
        lab: "fast_slow".into(),
        preset: "fast_slow_needed".into(),
        settings: BTreeMap::from([
            ("train.lr".to_owned(), Value::Float(lr)),
            ("corpus.source".to_owned(), Value::Text("recall".into())),
        ]),
        losses: vec![loss("coupled"), loss("frozen")],
        headlines: HeadlineValues { values: vec![value("coupled", gate), value("frozen", 0.0)], missing: vec![] },
        state: RowState::Finished,
        steps: 5,
        ..RunRow::default()
    }
}

#[test]
fn filters_ask_words_settings_and_results() {
    let tags = vec!["Talk".into(), "gate of two".into()];
    let wide = RunRow { note: RunNote { name: "Wide one".into(), tags, ..RunNote::default() }, ..row("a", 1e-4, 0.5) };
    let wide = RunRow { sweep: "needed".into(), ..wide };
    let put_away = RunRow { note: RunNote { archived: true, ..RunNote::default() }, ..row("c", 1e-3, 0.1) };
    let of_sweep = RunRow { sweep: "needed_too".into(), bytes: 30_000_000, ..row("b", 1e-2, 0.01) };
    let rows = [wide, RunRow { when: "2026-11-27 14:25".into(), ..of_sweep }, put_away];
    let found = |line: &str| -> String {
        let filter = Filter::parse(line).unwrap();
        assert_eq!(filter.unknown_key(rows.iter()), None, "{line}");
        rows.iter().filter(|r| filter.matches(r)).map(|r| r.folder.as_str()).collect()
    };
    for (line, folders) in [
        ("", "ab"),
        ("wide", "a"),
        ("!wide", "b"),
        ("lr<1e-3", "a"),
        ("lr<=1e-3 is:archived", "c"),
        ("train.lr>=0.01", "b"),
        ("lab:fast_slow lr<1", "ab"),
        ("lab:ode", ""),
        ("gate>0.1", "a"),
        ("gate=0", "ab"),
        ("corpus.source=recall", "ab"),
        ("corpus.source!=recall", ""),
        ("state:finished -name:wide", "b"),
        ("loss<2.5 steps=5", "ab"),
        ("tag:talk", "a"),
        ("tag:tal", ""),
        ("tag:\"gate of two\"", "a"),
        ("!tag:talk", "b"),
        ("tag=talk", "a"),
        ("tag!=talk", "b"),
        ("!tag!=talk", "a"),
        ("\"of two\"", "a"),
        ("gate:coupled>0.1", "a"),
        ("gate:frozen>0.1", ""),
        ("loss:coupled<2.5", "ab"),
        ("sweep:needed", "a"),
        ("sweep:needed_too", "b"),
        ("size>29MB", "b"),
        ("size<29MB", "a"),
        ("began>=2026-11-27", "b"),
        ("began:2026", "b"),
        ("began>2026-11", "b"),
        ("began<2026-11-27T14:25", ""),
        ("began>=2026-11-27T14:25", "b"),
        ("is=finished", "ab"),
    ] {
        assert_eq!(found(line), folders, "{line}");
    }
    let signs = RunRow { note: RunNote { name: "<s> a=b".into(), ..RunNote::default() }, ..row("d", 1e-3, 0.1) };
    for (line, is_found) in [("\"<s>\"", true), ("\"a=b\"", true), ("!\"<s>\"", false), ("\"=c\"", false)] {
        assert_eq!(Filter::parse(line).unwrap().matches(&signs), is_found, "{line}");
    }
    let settings = BTreeMap::from([("config.name".to_owned(), Value::Text("<s>".into()))]);
    let text = RunRow { settings, ..row("e", 1e-3, 0.1) };
    for line in ["config.name:<s>", "config.name:\"<s>\"", "config.name=<s>"] {
        let is_found = |row: &RunRow| Filter::parse(line).map(|filter| filter.matches(row));
        assert_eq!((is_found(&text), is_found(&rows[0])), (Ok(true), Ok(false)), "{line}");
    }
    let refused = Filter::parse("lr<small").unwrap_err();
    assert!(refused.contains("`small` is not a number"), "{refused}");
    assert!(Filter::parse("lab:").is_err());
    for (line, part) in [
        ("began>yesterday", "`yesterday` is not a date: write such as `began>2026-01-31`"),
        ("began>2026-13-45", "is not a date"),
        ("began<31.01.2026", "is not a date"),
        ("began=today", "is not a date"),
        ("gate:>0.1", "`gate:>0.1` names no variant"),
        ("gate:coupled>", "`gate:coupled` is compared with nothing"),
        ("gate:=>0.1", "`gate:=>0.1` names no variant"),
        ("lr=>3", "`>3` is not a number: write such as `lr>=3`"),
        ("steps=>3", "write such as `steps>=3`"),
        ("lr=<0.01", "write such as `lr<=0.01`"),
        ("gate:coupled=>0", "write such as `gate:coupled>=0`"),
        ("!lr!=>3", "`>3` is not a number"),
        ("<3", "names nothing before `<`"),
        ("!=5", "names nothing before `=`"),
        (":x", "or `\":x\"` with its quotes for a name with that in it"),
        ("size=large", "`large` is not a number"),
    ] {
        let refused = Filter::parse(line).unwrap_err();
        assert!(refused.contains(part), "{line}: {refused}");
    }
    for line in ["is:foo", "state:done", "state=done"] {
        let refused = Filter::parse(line).unwrap_err();
        assert!(refused.contains("no run can be") && refused.contains("finished"), "{line}: {refused}");
    }
    let unknown = Filter::parse("ler<1").unwrap().unknown_key(rows.iter()).unwrap();
    assert!(unknown.contains("`ler`") && unknown.contains("train.lr"), "{unknown}");
}

#[test]
fn orders_put_pinned_first_and_gaps_last() {
    let pinned = RunRow { note: RunNote { pinned: true, ..RunNote::default() }, ..row("p", 0.5, 0.9) };
    let without = RunRow { folder: "n".into(), ..RunRow::default() };
    let rows = [row("a", 0.2, 0.3), without, row("b", 0.1, 0.4), pinned];
    let sorted = |key: &str| -> String {
        let mut all: Vec<&RunRow> = rows.iter().collect();
        Order::parse(key).sort(&mut all);
        all.iter().map(|r| r.folder.as_str()).collect()
    };
    assert_eq!(sorted("lr"), "pban");
    assert_eq!(sorted("-lr"), "pabn");
    assert_eq!(sorted("-gate"), "pban");
    assert_eq!(sorted("-gate:coupled"), "pban");
    assert!(!Order::parse("gote").is_known(rows.iter()));
}

#[test]
fn a_setting_changed_in_training_sorts_by_its_last_value() {
    let rate = |value| BTreeMap::from([("train.lr".to_owned(), Value::Float(value))]);
    let halved = RunRow { changed: rate(0.1), changed_in_training: rate(0.1), ..row("h", 0.4, 0.3) };
    let rows = [halved, RunRow { changed: rate(0.2), ..row("s", 0.2, 0.3) }];
    for key in ["lr", "train.lr", "changed"] {
        let mut all: Vec<&RunRow> = rows.iter().collect();
        Order::parse(&format!("-{key}")).sort(&mut all);
        assert_eq!(all.iter().map(|row| row.folder.as_str()).collect::<String>(), "sh", "{key}");
    }
}

#[test]
fn runs_are_named_deleted_and_taken_back() {
    let dir = tempfile::tempdir().unwrap();
    let run = recorded(dir.path(), &[("train.lr", "0.0005"), ("probe.residual_every", "3")]);
    let shown = run.to_str().unwrap();
    let out = orrery(
        &["--edit", shown, "--name", "the small one", "--note", "why not", "--pin", "--tags", "talk, wide"],
        dir.path(),
    );
    assert!(out.status.success(), "{}", output_of(&out));
    let kept = note::read(&run).unwrap();
    assert_eq!((kept.name.as_str(), kept.note.as_str(), kept.pinned), ("the small one", "why not", true));
    assert_eq!(kept.tags, ["talk", "wide"]);
    assert!(output_of(&orrery(&["tag:wide"], dir.path())).contains("1 of 1 runs"));
    let out = orrery(&["lr<1e-3", "small"], dir.path());
    assert!(output_of(&out).contains("* the small one (why not)"), "{}", output_of(&out));
    let out = orrery(&["--csv"], dir.path());
    let text = String::from_utf8(out.stdout).unwrap();
    let mut lines = text.lines();
    assert!(lines.next().unwrap().ends_with("residual:frozen,gate:coupled,gate:frozen"), "{text}");
    assert!(lines.next().unwrap().contains(",the small one,why not,true,false,fast_slow,"), "{text}");
    let json: serde_json::Value = serde_json::from_slice(&orrery(&["--json"], dir.path()).stdout).unwrap();
    assert_eq!(json[0]["note"]["name"], "the small one");
    assert_eq!(json[0]["run"]["settings"]["train.lr"], 0.0005);

    let archive = |value: &[&str]| {
        let out = orrery(&[&["--edit", shown, "--archive"][..], value].concat(), dir.path());
        assert!(out.status.success(), "{}", output_of(&out));
        output_of(&orrery(&[], dir.path()))
    };
    let listed = archive(&[]);
    assert!(listed.contains("0 of 1 runs") && listed.contains("1 archived"), "{listed}");
    assert!(output_of(&orrery(&["is:archived"], dir.path())).contains("* the small one"));
    assert!(archive(&["false"]).contains("1 of 1 runs"));
    let same = orrery(&["--edit", shown, "--pin", "--name", "the small one", "--archive=false"], dir.path());
    assert!(same.status.success(), "what is so already is not a mistake: {}", output_of(&same));

    let out = orrery(&["--edit", shown, "--delete"], dir.path());
    let place = PathBuf::from(String::from_utf8_lossy(&out.stdout).trim());
    assert!(
        place.starts_with(dir.path().canonicalize().unwrap().join(trash::TRASH)) && place.is_dir(),
        "{}",
        output_of(&out)
    );
    assert!(output_of(&orrery(&[], dir.path())).contains("no runs in"));
    let out = orrery(&["--restore", place.to_str().unwrap()], dir.path());
    assert!(out.status.success() && run.is_dir(), "{}", output_of(&out));
    assert_eq!(note::read(&run).unwrap(), kept);
    for (args, words) in [
        (vec!["--restore", shown], "not in the trash"),
        (vec!["lr<x"], "is not a number"),
        (vec!["nothing>1"], "no run here has"),
        (vec!["--sort", "nothing"], "to sort by"),
        (vec!["--edit", "/nowhere", "--pin"], "not a run folder"),
        (vec!["--edit", shown], "say what to change"),
        (vec!["--edit", shown, "--name", "kept", "--delete"], "cannot be used with"),
        (vec!["--edit", shown, "--archive", "--delete"], "cannot be used with"),
        (vec!["began>yesterday"], "is not a date"),
    ] {
        let out = orrery(&args, dir.path());
        assert!(out.status.code() == Some(2) && output_of(&out).contains(words), "{args:?}: {}", output_of(&out));
    }
    assert!(run.is_dir());
}

#[cfg(unix)]
#[test]
fn a_restore_that_the_system_refuses_is_no_wrong_argument() {
    let dir = tempfile::tempdir().unwrap();
    let run = recorded(dir.path(), &[]);
    let place = trash::discard(&run).unwrap();
    let restore = || {
        let out = orrery(&["--restore", place.to_str().unwrap()], dir.path());
        (out.status.code(), output_of(&out))
    };
    // no folder takes the place of a link
    std::os::unix::fs::symlink("missing", &run).unwrap();
    let (code, said) = restore();
    assert!(code == Some(1) && said.contains("cannot take back") && place.is_dir(), "{code:?}: {said}");
    fs::remove_dir_all(&place).unwrap();
    let (code, said) = restore();
    assert!(code == Some(2) && said.contains("does not exist"), "{code:?}: {said}");
}

/// A run of another program counts as running for a while after its last line. If its lock was held on this machine and
/// no longer is, it was killed.
#[test]
#[cfg(target_os = "linux")]
fn a_local_program_that_released_its_lock_counts_as_killed() {
    let dir = tempfile::tempdir().unwrap();
    let run = crate::foreign_run::ForeignRun::begin(dir.path(), "run", &serde_json::json!({"lr": 0.1}));
    run.step(1);
    let state = || run_rows::list(dir.path(), |_| ()).unwrap().rows[0].state.clone();
    assert_eq!(state(), RowState::Running, "it may run elsewhere");
    let boot = fs::read("/proc/sys/kernel/random/boot_id").unwrap();
    let elsewhere = b"another machine".to_vec();
    for (holder, left) in [(vec![], RowState::Running), (elsewhere, RowState::Running), (boot, RowState::Killed)] {
        let lock = fs::File::create(run.folder.join(".lock")).unwrap();
        lock.lock().unwrap();
        fs::write(run.folder.join(".lock"), &holder).unwrap();
        assert_eq!(state(), RowState::Running);
        drop(lock);
        assert_eq!(state(), left, "{}", String::from_utf8_lossy(&holder));
    }
}

#[test]
fn a_locked_run_is_running_and_is_not_deleted() {
    let dir = tempfile::tempdir().unwrap();
    let run = recorded(dir.path(), &[]);
    let events = fs::read_to_string(run.join("events.jsonl")).unwrap();
    let without_end: String = events.lines().filter(|l| !l.contains("finished")).map(|l| format!("{l}\n")).collect();
    fs::write(run.join("events.jsonl"), without_end).unwrap();
    let lock = fs::File::create(run.join(".lock")).unwrap();
    lock.lock().unwrap();
    let state = || run_rows::list(dir.path(), |_| ()).unwrap().rows[0].state.clone();
    assert_eq!(state(), RowState::Running);
    let running = fs::read_to_string(run.join("events.jsonl")).unwrap();
    let paused = r#"{"step":3,"at":"2026-01-31T14:25:00+00:00","state":"paused"}"#;
    fs::write(run.join("events.jsonl"), format!("{running}{paused}\n")).unwrap();
    assert_eq!(state(), RowState::Paused);
    assert!(output_of(&orrery(&[], dir.path())).contains("paused, step 3 of 3"));
    assert!(output_of(&orrery(&["is:running"], dir.path())).contains("0 of 1 runs"));
    assert!(trash::discard(&run).unwrap_err().to_string().contains("is being written"));
    drop(lock);
    assert_eq!(state(), RowState::Killed, "nothing of it was kept");
    trash::discard(&run).unwrap();
}
