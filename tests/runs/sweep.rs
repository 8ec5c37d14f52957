//! Tests sweeps with the real binary and real training: with local processes, with printed commands, and with Slurm if
//! it is installed; interrupted and completed.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    sync::OnceLock,
    time::{Duration, Instant},
};

use tempfile::TempDir;

use super::{
    command::{command, output_of},
    folders::{copy, scratch_folder},
    wait_for::wait_until,
};

/// A sweep of small models and short runs, with a checkpoint at every other step.
pub const SPEC: &str = r#"
base = "fast_slow"
seeds = [7, 8]
objective = "held_out_loss of coupled"

[set]
"model.d_model" = 16
"train.steps" = 12
"train.window" = 32
"train.batch" = 2
"run.eval_every" = 6
"run.checkpoint_every" = 2
"probe.residual_every" = 0

[axes]
"train.lr" = [1e-3, 1e-2]
"model.pool" = [2, 4]
"#;

fn orrery(here: &Path, words: &[&str]) -> Output {
    command(here, words).output().unwrap()
}

pub fn done(here: &Path, words: &[&str]) -> Output {
    let output = orrery(here, words);
    assert!(output.status.success(), "{words:?}: {}", output_of(&output));
    output
}

pub fn with_spec(text: &str) -> TempDir {
    let here = scratch_folder();
    fs::write(here.path().join("rates.toml"), text).unwrap();
    here
}

/// The folder of the complete sweep of [`SPEC`], which is trained once for all tests.
fn made() -> &'static Path {
    static MADE: OnceLock<TempDir> = OnceLock::new();
    let make = || {
        let here = with_spec(SPEC);
        let output = done(here.path(), &["sweep", "rates.toml", "--jobs", "2"]);
        assert!(output_of(&output).contains("* best by held-out loss"), "{}", output_of(&output));
        let made = runs(here.path());
        assert_eq!(made.len(), 8);
        for run in made {
            let name = run.file_name().unwrap().to_str().unwrap();
            assert!(output_of(&output).contains(&format!(" finished: {name} (")), "{name}: {}", output_of(&output));
        }
        here
    };
    MADE.get_or_init(make).path()
}

/// A copy of that sweep and its specification.
pub fn whole() -> TempDir {
    let here = scratch_folder();
    copy(made(), here.path());
    here
}

/// A run records the absolute path of its text, but must also be found by the relative path in the specification.
#[test]
fn runs_of_a_text_that_is_named_from_here_are_found_again() {
    let spec = SPEC.replace("[set]", "[set]\n\"corpus.file\" = \"book.txt\"").replace("[7, 8]", "[7]");
    let spec = spec.replace("[1e-3, 1e-2]", "[1e-3]").replace("[2, 4]", "[2]");
    let with = with_spec(&spec);
    let here = with.path();
    fs::write(here.join("book.txt"), "a book of letters that is read more than once. ".repeat(200)).unwrap();
    let made = || {
        fs::read_dir(here.join("sweeps/rates/runs")).unwrap().filter(|e| e.as_ref().unwrap().path().is_dir()).count()
    };
    done(here, &["sweep", "rates.toml"]);
    assert_eq!(made(), 1);
    done(here, &["sweep", "sweeps/rates", "--missing"]);
    assert_eq!(made(), 1, "the run was made again");
}

/// The specification and its text lie in one folder; the sweep is made and completed from others.
#[test]
fn a_text_is_found_beside_the_specification() {
    let spec = SPEC.replace("[set]", "[set]\n\"corpus.file\" = \"book.txt\"").replace("[7, 8]", "[7]");
    let spec = spec.replace("[1e-3, 1e-2]", "[1e-3]").replace("[2, 4]", "[2]");
    let (with, elsewhere) = (with_spec(&spec), scratch_folder());
    let from = with.path().join("rates.toml");
    let from = from.to_str().unwrap();
    let place = |folder: &TempDir| folder.path().canonicalize().unwrap().join("book.txt").display().to_string();
    let missing = orrery(with.path(), &["sweep", "rates.toml"]);
    assert_eq!(missing.status.code(), Some(2), "{}", output_of(&missing));
    assert_eq!(output_of(&missing).matches(&place(&with)).count(), 1, "one place was tried: {}", output_of(&missing));
    let missing = orrery(elsewhere.path(), &["sweep", from]);
    let both = output_of(&missing).contains(&place(&with)) && output_of(&missing).contains(&place(&elsewhere));
    assert!(both && missing.status.code() == Some(2), "{}", output_of(&missing));
    assert!(!elsewhere.path().join("sweeps").exists(), "nothing was made");

    fs::write(with.path().join("book.txt"), "a book of letters that is read more than once. ".repeat(200)).unwrap();
    let printed = done(elsewhere.path(), &["sweep", from, "--on", "print"]);
    let line = String::from_utf8(printed.stdout).unwrap();
    let here = scratch_folder();
    let made = Command::new("bash").args(["-c", line.trim()]).current_dir(here.path()).output().unwrap();
    assert!(made.status.success(), "{line}: {}", output_of(&made));
    let folder = elsewhere.path().join("sweeps/rates");
    let again = done(here.path(), &["sweep", folder.to_str().unwrap(), "--missing"]);
    assert!(output_of(&again).contains("every run of"), "the run is found from anywhere: {}", output_of(&again));
}

/// Every point of every sweep in the repository has valid settings.
#[test]
fn the_sweeps_of_the_repository_are_accepted() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../assets/sweeps");
    let files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|f| f.unwrap().path()).collect();
    assert!(!files.is_empty());
    for file in files {
        let here = tempfile::tempdir().unwrap();
        done(here.path(), &["sweep", file.to_str().unwrap(), "--on", "print"]);
    }
}

pub fn runs(here: &Path) -> Vec<PathBuf> {
    let mut runs: Vec<PathBuf> = fs::read_dir(here.join("sweeps/rates/runs"))
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| p.join("config.toml").is_file())
        .collect();
    runs.sort();
    runs
}

/// True if this many runs have begun and each has a checkpoint.
fn have_checkpoints(here: &Path, count: usize) -> bool {
    let has_checkpoint = |run: &PathBuf| fs::read_dir(run.join("checkpoints")).is_ok_and(|mut c| c.next().is_some());
    here.join("sweeps/rates/runs").is_dir() && runs(here).len() == count && runs(here).iter().all(has_checkpoint)
}

/// The folder of every run and the time of its last write, by the run's settings.
fn records(here: &Path) -> BTreeMap<String, (PathBuf, std::time::SystemTime)> {
    let of = |run: PathBuf| {
        let changed = fs::metadata(run.join("metrics.jsonl")).unwrap().modified().unwrap();
        (fs::read_to_string(run.join("config.toml")).unwrap(), (run, changed))
    };
    runs(here).into_iter().map(of).collect()
}

pub fn table(here: &Path) -> String {
    done(here, &["sweep", "sweeps/rates", "--table"]);
    fs::read_to_string(here.join("sweeps/rates/table.csv")).unwrap()
}

#[test]
fn a_sweep_that_was_cut_off_is_completed_and_says_the_same() {
    let expected = table(whole().path());
    assert_eq!(expected.lines().count(), 5, "{expected}");

    let cut = with_spec(SPEC);
    let here = cut.path();
    let printed = done(here, &["sweep", "rates.toml", "--on", "print"]);
    let commands = String::from_utf8(printed.stdout).unwrap();
    assert_eq!(commands.lines().count(), 8, "{commands}");
    for line in commands.lines().take(3) {
        let status = Command::new("bash").args(["-c", line]).output().unwrap();
        assert!(status.status.success(), "{line}: {}", output_of(&status));
    }
    // the fourth run is killed as soon as it has a checkpoint
    let mut killed = command(here, ["sweep", "sweeps/rates", "--task", "3"]).spawn().unwrap();
    wait_until("no checkpoint came", || have_checkpoints(here, 4));
    killed.kill().unwrap();
    killed.wait().unwrap();

    let refused = orrery(here, &["sweep", "rates.toml"]);
    assert_eq!(refused.status.code(), Some(2), "{}", output_of(&refused));
    assert!(output_of(&refused).contains("--missing"), "{}", output_of(&refused));
    let before = records(here);
    done(here, &["sweep", "sweeps/rates", "--missing"]);
    let after = records(here);
    assert_eq!(after.len(), 8, "none was made twice");
    let same = before.iter().filter(|(config, record)| after[*config] == **record).count();
    assert!((3..=4).contains(&same), "those that had ended are as they were: {same}");
    assert!(before.iter().all(|(config, (run, _))| after[config].0 == *run), "what was cut off went on");
    assert_eq!(table(here), expected);
    for words in [&["sweep", "rates.toml", "--missing"][..], &["sweep", "rates.toml"]] {
        let again = done(here, words);
        assert!(output_of(&again).contains("every run of"), "{}", output_of(&again));
    }
    let printed = done(here, &["sweep", "rates.toml", "--on", "print"]);
    assert!(printed.stdout.is_empty(), "no command is left: {}", output_of(&printed));
}

/// `kill` sends the signal to the sweep's process only, which must pass it on to its runs.
#[cfg(unix)]
#[test]
fn a_sweep_that_is_asked_to_end_ends_its_runs_with_a_checkpoint() {
    let here = with_spec(&SPEC.replace("\"train.steps\" = 12", "\"train.steps\" = 1000000"));
    let here = here.path();
    let sweep = command(here, ["sweep", "rates.toml", "--jobs", "2"]).stderr(Stdio::piped()).spawn().unwrap();
    let ask = TerminatedOnDrop(sweep.id().to_string());
    wait_until("no checkpoint came", || have_checkpoints(here, 2));
    drop(ask);
    let output = sweep.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", output_of(&output));
    assert!(output_of(&output).contains("--missing"), "{}", output_of(&output));
    assert_eq!(runs(here).len(), 2, "no further one was begun");
    for run in runs(here) {
        let events = fs::read_to_string(run.join("events.jsonl")).unwrap();
        assert!(events.lines().last().unwrap().contains("stopped"), "{events}");
    }
}

/// Sends SIGTERM to the process with this id, also if the test fails before.
struct TerminatedOnDrop(String);

impl Drop for TerminatedOnDrop {
    fn drop(&mut self) {
        let _ = Command::new("kill").arg(&self.0).status();
    }
}

#[test]
fn one_axis_of_numbers_has_an_exponent_for_each_family() {
    let two_axes = "[1e-3, 1e-2]\n\"model.pool\" = [2, 4]";
    let here =
        with_spec(&SPEC.replace(two_axes, "[1e-3, 3e-3, 1e-2]").replace("\"train.steps\" = 12", "\"train.steps\" = 4"));
    let output = done(here.path(), &["sweep", "rates.toml", "--jobs", "2"]);
    let lines: Vec<String> =
        output_of(&output).lines().filter(|l| l.contains("goes as train.lr to the power")).map(str::to_owned).collect();
    assert!(!lines.is_empty() && lines.iter().all(|l| l.starts_with("held-out loss")), "{}", output_of(&output));
    assert!(lines.iter().all(|l| l.contains("95%") && l.contains("2 seeds")), "{lines:?}");
}

#[test]
fn invalid_sweeps_are_refused_before_any_file_is_made() {
    let here = with_spec(&SPEC.replace("\"train.lr\" = [1e-3, 1e-2]", "\"train.lr\" = [-1.0]"));
    fs::write(here.path().join("two.toml"), SPEC.replace("1e-2", "2e-2")).unwrap();
    fs::write(here.path().join("base.toml"), SPEC.replace("\"fast_slow\"", "\"fast_slo\"")).unwrap();
    fs::write(here.path().join("text.txt"), "no specification").unwrap();
    fs::create_dir(here.path().join("folder")).unwrap();
    for (words, part) in [
        (vec!["sweep", "rates.toml"], "the axis `train.lr`"),
        (vec!["sweep", "base.toml"], "base.toml: the base: `fast_slo` is not a lab"),
        (vec!["sweep", "missing.toml"], "there is no `missing.toml`"),
        (vec!["sweep", "text.txt"], "neither a specification"),
        (vec!["sweep", "folder"], "is not the folder of a sweep"),
        (vec!["sweep", "two.toml", "--task", "99"], "there is no run 99"),
        (vec!["sweep", "two.toml", "--on", "slurm", "--minutes", "0"], "above 0"),
    ] {
        let output = orrery(here.path(), &words);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {}", output_of(&output));
        assert!(output_of(&output).contains(part), "{words:?}: {}", output_of(&output));
    }
    assert!(!here.path().join("sweeps/rates").exists());
    // another specification with the same name must not use the first one's folder
    fs::write(here.path().join("two.toml"), SPEC).unwrap();
    let output = orrery(here.path(), &["sweep", "two.toml", "--on", "print"]);
    assert!(output_of(&output).contains("another specification"), "{}", output_of(&output));
}

/// If two sweeps start at the same time, one trains the runs, and the other names the process that does.
#[test]
fn two_sweeps_at_once_make_the_runs_of_one() {
    let made = with_spec(&SPEC.replace("[7, 8]", "[7]"));
    let here = made.path();
    let begin = || {
        let mut command = command(here, ["sweep", "rates.toml", "--jobs", "2"]);
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap()
    };
    let outputs = [begin(), begin()].map(|process| process.wait_with_output().unwrap());
    let all = outputs.each_ref().map(output_of).concat();
    let mut codes = outputs.each_ref().map(|output| output.status.code());
    codes.sort_unstable();
    assert_eq!(codes, [Some(0), Some(2)], "{all}");
    assert_eq!(runs(here).len(), 4, "{all}");
    let again = orrery(here, &["sweep", "rates.toml", "--missing"]);
    assert_eq!((again.status.code(), runs(here).len()), (Some(0), 4), "the lock was let go: {}", output_of(&again));
    let folder = here.join("sweeps/rates");
    let left = |folder: &Path, ending: &str| {
        let names = fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.ends_with(ending)).count()
    };
    assert_eq!(left(&folder, ".lock") + left(&folder.join("logs"), ".lock"), 0, "and no lock is left");

    // another process holds the sweep's lock, as if it were on another machine
    let held = fs::File::options().create(true).truncate(true).write(true).open(folder.join(".lock")).unwrap();
    std::io::Write::write_all(&mut &held, b"process 4711 on athena\n").unwrap();
    held.try_lock().unwrap();
    for words in [["sweep", "rates.toml", "--missing"], ["sweep", "sweeps/rates", "--missing"]] {
        let refused = orrery(here, &words);
        assert_eq!(refused.status.code(), Some(2), "{}", output_of(&refused));
        #[cfg(unix)]
        assert!(output_of(&refused).contains("are being made by process 4711 on athena"), "{}", output_of(&refused));
    }
    // commands that only read need no lock
    done(here, &["sweep", "sweeps/rates", "--table"]);
    done(here, &["sweep", "sweeps/rates", "--missing", "--on", "print"]);
}

/// The tasks of an array job and of printed commands are separate processes. If several have the same run, it is
/// trained once.
#[test]
fn concurrent_processes_make_a_sweep_run_once() {
    let made = with_spec(SPEC);
    let here = made.path();
    done(here, &["sweep", "rates.toml", "--on", "print"]);
    let begin = |tasks: &'static str| command(here, ["sweep", "sweeps/rates", "--task", tasks]).spawn().unwrap();
    for mut process in [begin("0,1"), begin("0,1"), begin("1,0")] {
        assert!(process.wait().unwrap().success());
    }
    assert_eq!(runs(here).len(), 2);
}

#[test]
#[ignore = "needs a Slurm that runs: scripts/slurm installs and starts one"]
fn slurm_makes_the_same_table() {
    let array = with_spec(SPEC);
    let output = done(array.path(), &["sweep", "rates.toml", "--on", "slurm", "--minutes", "4"]);
    assert!(output_of(&output).contains("8 runs in 3 tasks"), "{}", output_of(&output));
    let begun = Instant::now();
    loop {
        let states = done(array.path(), &["runs", "--out", "sweeps/rates/runs", "--json"]);
        if String::from_utf8_lossy(&states.stdout).matches("\"finished\"").count() == 8 {
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(180), "{}", output_of(&states));
        std::thread::sleep(Duration::from_millis(500));
    }
    assert_eq!(table(array.path()), table(whole().path()));
}

/// Mean and standard deviation of each number, by point, from the attributes of the report's table.
fn cells(page: &str) -> Vec<Vec<[f64; 2]>> {
    let table = page.split_once("<table id=\"points\">").unwrap().1.split_once("</table>").unwrap().0;
    let rows = table.split("<tr>").skip(2);
    let number = |cell: &str, name: &str| -> f64 {
        let rest = cell.split_once(&format!("{name}=\"")).unwrap().1;
        rest.split_once('"').unwrap().0.parse().unwrap()
    };
    let cell = |cell: &str| cell.contains("data-mean").then(|| [number(cell, "data-mean"), number(cell, "data-sd")]);
    rows.map(|row| row.split("<td").filter_map(cell).collect()).collect()
}

#[test]
fn a_report_has_the_numbers_of_the_table_and_says_what_is_missing() {
    let with = whole();
    let here = with.path();
    done(here, &["report", "sweeps/rates", "-o", "sweep.html"]);
    let page = fs::read_to_string(here.join("sweep.html")).unwrap();
    assert!(page.len() < 10 << 20);
    let places = [here, made()].map(|place| place.to_str().unwrap());
    for outside in ["src=\"http", "href=\"http://", "<link", "@import", "url(", "fetch("].into_iter().chain(places) {
        assert!(!page.contains(outside), "the page holds {outside}");
    }
    for part in [
        "Sweep rates: Fast-slow gate",
        "8 of 8 runs finished",
        "along train.lr",
        "along model.pool",
        "table.csv",
        "95% interval",
    ] {
        assert!(page.contains(part), "the page lacks {part}");
    }
    assert!(!page.contains("Unfinished runs"));

    let text = table(here);
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let head = reader.headers().unwrap().clone();
    let first = head.iter().position(|h| h == "seeds").unwrap() + 1;
    let expected: Vec<Vec<[f64; 2]>> = reader
        .records()
        .map(|row| {
            let row = row.unwrap();
            let cells = row.iter().zip(&head).skip(first).filter(|(_, heading)| !heading.contains(", 95% "));
            let numbers: Vec<f64> = cells.map(|(v, _)| v.parse().unwrap()).collect();
            numbers.chunks(2).map(|pair| [pair[0], pair[1]]).collect()
        })
        .collect();
    assert!(expected.len() == 4 && expected[0].len() >= 4, "{text}");
    assert_eq!(cells(&page), expected);
    assert!(head.iter().any(|heading| heading.ends_with(", 95% low")), "a difference has its interval: {head:?}");

    // the last value of a curve is the mean over seeds in the table
    let data = page.split_once("id=\"curve-data\">").unwrap().1.split_once("</script>").unwrap().0;
    let charts: serde_json::Value = serde_json::from_str(data).unwrap();
    let charts = charts.as_array().unwrap();
    let chart = charts.iter().find(|c| c["name"] == "held-out loss (nats), coupled").unwrap();
    let series = chart["series"].as_array().unwrap();
    assert_eq!(series.len(), 4, "a line a point");
    for (line, point) in series.iter().zip(&expected) {
        let last = |key: &str| line[key].as_array().unwrap().last().unwrap().as_f64().unwrap();
        assert!((last("values") - point[0][0]).abs() < 1e-12 && (last("sd") - point[0][1]).abs() < 1e-12, "{line}");
    }

    fs::remove_dir_all(runs(here).first().unwrap()).unwrap();
    done(here, &["report", "sweeps/rates", "-o", "sweep.html"]);
    let page = fs::read_to_string(here.join("sweep.html")).unwrap();
    assert!(page.contains("7 of 8 runs finished") && page.contains("Unfinished runs"), "what is missing is said");
    assert!(page.contains(": not begun</li>") && page.contains(">1/2</td>"));
    assert!(page.contains(", one seed\"") && page.contains("the spread of one seed is not known"), "it is not 0");
    assert!(!page.contains("best by"), "a point with one seed cannot be ranked");
}

/// The folder of a sweep may be one that can only be read; a folder in the place of the file is as good for the test.
#[test]
fn a_table_that_cannot_be_written_is_printed() {
    let here = whole();
    let csv = here.path().join("sweeps/rates/table.csv");
    fs::remove_file(&csv).unwrap();
    fs::create_dir(&csv).unwrap();
    let output = done(here.path(), &["sweep", "sweeps/rates", "--table"]);
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(printed.contains("* best by held-out loss"), "{}", output_of(&output));
    assert!(output_of(&output).contains("table.csv cannot be written"), "{}", output_of(&output));
}

#[test]
fn sweep_pictures_are_written_and_missing_numbers_reported() {
    let empty = with_spec(SPEC);
    done(empty.path(), &["sweep", "rates.toml", "--on", "print"]);
    let none = orrery(empty.path(), &["sweep", "sweeps/rates", "--pictures", "out"]);
    assert_eq!(none.status.code(), Some(1), "{}", output_of(&none));
    assert!(
        output_of(&none).contains("has recorded a number yet") && output_of(&none).contains("--missing"),
        "{}",
        output_of(&none)
    );
    let here = whole();
    let is_last_point = |run: &PathBuf| {
        let config = fs::read_to_string(run.join("config.toml")).unwrap();
        config.contains("lr = 0.01\n") && config.contains("pool = 4\n")
    };
    runs(here.path()).iter().filter(|run| is_last_point(run)).for_each(|run| fs::remove_dir_all(run).unwrap());
    let output = done(here.path(), &["sweep", "sweeps/rates", "--pictures", "out", "--number", "gate of coupled"]);
    assert!(output_of(&output).contains("6 of 8 runs finished, 2 not begun"), "{}", output_of(&output));
    for name in ["curves", "slice-train.lr", "slice-model.pool", "parallel", "heat-map"] {
        let svg = fs::read_to_string(here.path().join(format!("out/{name}.svg"))).unwrap();
        assert!(svg.contains("tanh"), "{name} says what it shows");
    }
    // the heatmap's cells have the numbers of the table
    let table = table(here.path());
    let head: Vec<String> = csv_line(table.lines().next().unwrap());
    let column = head.iter().position(|h| h.contains("tanh") && h.contains("coupled") && !h.ends_with("sd")).unwrap();
    let mean: f64 = csv_line(table.lines().nth(1).unwrap())[column].parse().unwrap();
    let map = fs::read_to_string(here.path().join("out/heat-map.svg")).unwrap();
    assert!(map.contains(&format!(">{mean:.4}<")), "{mean}: {map}");
    assert!(map.contains(">–<"), "the point that was not run has no value, and is not a zero");
    let early = done(here.path(), &["sweep", "sweeps/rates", "--pictures", "early", "--step", "7", "--light"]);
    assert!(output_of(&early).contains("held-out loss"), "the objective without another number: {}", output_of(&early));
    let slice = fs::read_to_string(here.path().join("early/slice-train.lr.svg")).unwrap();
    assert!(slice.contains("at step 6"), "the newest recorded step at or before 7: {slice}");
    let unknown = orrery(here.path(), &["sweep", "sweeps/rates", "--pictures", "out", "--number", "horoscope"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(output_of(&unknown).contains("`horoscope`; there are"), "{}", output_of(&unknown));
}

fn csv_line(line: &str) -> Vec<String> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(line.as_bytes());
    reader.records().next().unwrap().unwrap().iter().map(str::to_owned).collect()
}

/// A small disk in its own namespace becomes full during the sweep and is then enlarged. The test needs `unshare`;
/// without permission to use it, the test is skipped unless ORRERY_REQUIRE_UNSHARE is set, as in `.ci/run`.
#[test]
fn a_disk_that_fills_in_the_middle_is_named_and_the_sweep_completed_after() {
    let can = Command::new("unshare").args(["-rm", "true"]).status().is_ok_and(|s| s.success());
    assert!(can || std::env::var_os("ORRERY_REQUIRE_UNSHARE").is_none(), "unshare is missing or may not be used");
    if !can {
        eprintln!("no namespaces here: a full disk is not tested");
        return;
    }
    let here = with_spec(SPEC);
    let folder = here.path();
    fs::create_dir(folder.join("sweeps")).unwrap();
    // three runs are made before the disk is full, and must not be damaged
    let script = r#"
        set -u
        mount -t tmpfs -o size=64m none sweeps || exit 90
        "$1" sweep rates.toml --on print > /dev/null 2>&1
        "$1" sweep sweeps/rates --task 0,1,2 > made.txt 2>&1 || exit 91
        ls sweeps/rates/runs > before.txt
        metrics() { for run in $(cat before.txt); do cat "sweeps/rates/runs/$run/metrics.jsonl"; done; }
        metrics > metrics-before.txt
        mount -o remount,size="$(( $(du -sk sweeps | cut -f1) + 120 ))k" sweeps || exit 92
        "$1" sweep sweeps/rates --missing --jobs 2 > full.txt 2>&1; echo $? > full.code
        metrics > metrics-after.txt
        mount -o remount,size=64m sweeps || exit 93
        "$1" sweep sweeps/rates --missing > completed.txt 2>&1; echo $? > completed.code
        cp sweeps/rates/table.csv table.csv
    "#;
    let output = Command::new("unshare")
        .args(["-rm", "sh", "-c", script, "sh", env!("CARGO_BIN_EXE_orrery")])
        .current_dir(folder)
        .output()
        .unwrap();
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_default();
    assert!(output.status.success(), "{}{}{}", output_of(&output), read("made.txt"), read("full.txt"));
    let full = read("full.txt");
    assert_eq!(read("full.code").trim(), "1", "{full}");
    let sentence = full.lines().find(|line| line.contains("is full")).unwrap_or_else(|| panic!("{full}"));
    assert!(sentence.contains("sweeps/rates") && sentence.contains("runs have ended and stay as they are"), "{full}");
    assert!(sentence.contains("Make room there") && sentence.contains("--missing` completes it"), "{full}");
    assert!(full.lines().count() < 12, "no further runs are begun on a full disk: {full}");
    assert!(!full.contains("panicked"), "{full}");
    assert_eq!(read("metrics-before.txt"), read("metrics-after.txt"), "what was there stays");
    assert_eq!(read("completed.code").trim(), "0", "{}", read("completed.txt"));
    assert_eq!(read("table.csv"), table(whole().path()), "and the table is that of a sweep that nothing disturbed");
}
