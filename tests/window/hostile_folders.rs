//! Tests malicious run folders on the page of runs and dropped on the window: links, pipes, folders in place of files,
//! names with terminal escape sequences, a line or a setting of several megabytes. The window must name the fault, must
//! not block, and must write nothing outside the run folder. The host is real.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use eframe::egui::accesskit::Role;
use egui_kittest::kittest::{NodeT, Queryable};
use orrery::ui::page::Page;
use serde_json::json;
use tempfile::TempDir;

use crate::{foreign_run::ForeignRun, real_host::TestWindow};

/// A folder name with terminal escape sequences and a character that reverses the direction of the following text.
const NAMED: &str = "named \u{1b}]0;mine\u{7}\u{9b}31m\u{202e}";
/// Length of the long line in bytes, above the limit for reading one.
const LONG: usize = 5 << 20;

struct HostileRuns {
    here: TempDir,
    /// The files outside the folder of runs, with their bytes.
    outside: BTreeMap<PathBuf, Vec<u8>>,
}

/// Writes a finished run of two steps, which `spoil` damages.
fn spoilt(runs: &Path, name: &str, spoil: impl FnOnce(&ForeignRun)) {
    let run = ForeignRun::begin(runs, name, &json!({ "lr": 0.1 }));
    (1..=2).for_each(|step| run.step(step));
    spoil(&run);
    run.state(2, &json!("finished"));
}

impl HostileRuns {
    fn new() -> Self {
        let here = tempfile::tempdir().unwrap();
        let (runs, outside) = (here.path().join("runs"), here.path().join("outside"));
        [&runs, &outside].into_iter().for_each(|folder| fs::create_dir(folder).unwrap());
        ForeignRun::finished(&outside, "run", 1e-3);
        for name in ["index", "note"] {
            fs::write(outside.join(name), "kept").unwrap();
        }
        fs::create_dir(outside.join("trash")).unwrap();
        symlink(outside.join("run"), runs.join("linked")).unwrap();
        symlink(outside.join("index"), runs.join(".index.json")).unwrap();
        symlink(outside.join("trash"), runs.join(".trash")).unwrap();
        spoilt(&runs, "piped", |run| {
            let log = run.folder.join("metrics.jsonl");
            fs::remove_file(&log).unwrap();
            let fifo = rustix::fs::FileType::Fifo;
            rustix::fs::mknodat(rustix::fs::CWD, log, fifo, 0o600.into(), 0).unwrap();
        });
        spoilt(&runs, "folder", |run| {
            fs::remove_file(run.folder.join("run.json")).unwrap();
            fs::create_dir(run.folder.join("run.json")).unwrap();
        });
        spoilt(&runs, "long", |run| {
            run.append("metrics.jsonl", &format!("{{\"step\":3,\"x\":\"{}\"}}\n", "x".repeat(LONG)));
            run.line(
                "metrics.jsonl",
                &json!({ "step": u64::MAX, "variant": "model", "wall_secs": 9, "loss/train": 1 }),
            );
            run.step(4);
        });
        spoilt(&runs, "many", |run| {
            let settings = (0..20_000).map(|i| (format!("a{i}"), json!(i)));
            let long = [("A".to_owned(), json!("y".repeat(1 << 20)))];
            let settings: serde_json::Map<_, _> = settings.chain(long).collect();
            run.redescribe(|described| described["run"]["config"]["values"] = settings.into());
        });
        spoilt(&runs, NAMED, |run| symlink(outside.join("note"), run.folder.join("note.toml")).unwrap());
        let before = contents(&outside);
        assert!(before.len() > 5, "{before:?}");
        Self { here, outside: before }
    }

    fn runs(&self) -> PathBuf {
        self.here.path().join("runs")
    }

    fn check_outside(&self, when: &str) {
        let now = contents(&self.here.path().join("outside"));
        let changed = |path: &&PathBuf| now.get(*path) != self.outside.get(*path);
        let changed: Vec<&PathBuf> = now.keys().chain(self.outside.keys()).filter(changed).collect();
        assert!(changed.is_empty(), "{when}: {changed:?}");
        let beside: Vec<_> = fs::read_dir(self.here.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(beside.len(), 2, "{when}: {beside:?}");
    }
}

/// Returns every file of a folder with its bytes, and every folder in it.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if entry.file_type().unwrap().is_dir() {
            all.extend(contents(&path));
            all.insert(path, vec![]);
        } else {
            let bytes = fs::read(&path).unwrap();
            all.insert(path, bytes);
        }
    }
    all
}

impl TestWindow {
    fn click(&mut self, label: &str) {
        self.harness.get_by_label(label).click();
        (0..3).for_each(|_| self.harness.step());
    }

    /// The labels of the table's rows.
    fn rows(&self) -> Vec<String> {
        let rows = self.harness.query_all_by_role(Role::ListItem);
        rows.filter_map(|node| node.accesskit_node().label()).collect()
    }

    /// Selects the run whose row begins with a name.
    fn select(&mut self, name: &str) {
        let row = self.rows().into_iter().find(|row| row.starts_with(name));
        self.harness.get_by_role_and_label(Role::ListItem, &row.unwrap_or_else(|| panic!("no row {name}"))).click();
        (0..3).for_each(|_| self.harness.step());
    }
}

#[test]
fn the_page_of_runs_writes_nothing_outside() {
    let hostile = HostileRuns::new();
    let mut desk = TestWindow::new(&hostile.runs());
    desk.click("Runs");
    desk.until("the rows", |d| d.rows().len() == 6);
    for (name, words) in [
        ("piped", "it is a pipe, not a file"),
        ("folder", "it is a folder, not a file"),
        ("long", "is passed over: it is longer than"),
        ("named", "it is a link"),
    ] {
        desk.select(name);
        desk.until(words, |d| d.shows(words));
    }
    hostile.check_outside("rows were looked at");
    // in the selected run, the note is a link to a file outside
    desk.click("Pin");
    let note = hostile.runs().join(NAMED).join("note.toml");
    desk.until("the note is written", |_| !note.is_symlink());
    hostile.check_outside("a run was pinned");
    desk.click("Delete");
    desk.until("the refusal of a trash that is a link", |d| d.shows(".trash") && d.shows("it is a link"));
    assert!(hostile.runs().join(NAMED).is_dir(), "the run lies where it was");
    desk.select("linked");
    desk.click("Pin");
    desk.until("the refusal of its note", |d| d.shows("write the note by the run's own folder"));
    desk.click("Delete");
    desk.until("the refusal of a run that is a link", |d| d.shows("delete the run by its own folder"));
    assert!(hostile.runs().join("linked").is_symlink());
    hostile.check_outside("runs were to be deleted");
}

#[test]
fn dropped_hostile_folders_write_nothing_outside() {
    let hostile = HostileRuns::new();
    let dropped = |name: &str| {
        let mut desk = TestWindow::new(&hostile.runs());
        desk.drop_folder(&hostile.runs().join(name));
        desk
    };
    for (name, words) in [("piped", "it is a pipe, not a file"), ("folder", "it is a folder, not a file")] {
        let mut desk = dropped(name);
        desk.until(words, |d| d.shows(words));
        assert!(desk.harness.state().page().is_none(), "{name} opens no page");
        hostile.check_outside(name);
    }
    for (name, newest) in [("linked", 20), (NAMED, 2), ("long", 4), ("many", 2)] {
        let mut desk = dropped(name);
        desk.until(name, |d| d.newest() == newest);
        (0..3).for_each(|_| desk.harness.step());
        let mirror = desk.harness.state().page().and_then(Page::mirror).unwrap();
        let is_said = mirror.notices.iter().any(|(_, text)| text.contains("is passed over: it is longer than"));
        assert_eq!(is_said, name == "long", "{name}: {:?}", mirror.notices);
        assert_eq!(desk.shows("the first 500; a search finds others"), name == "many");
        hostile.check_outside(name);
    }
}
