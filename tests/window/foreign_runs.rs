//! A run folder that another program writes, dropped on the window: its page shows what was measured, follows what is
//! appended, and draws what no view was made for. The real host, and folders written by hand.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use eframe::egui::{self, accesskit::Role};
use egui_kittest::{Harness, kittest::Queryable};
use orrery::{
    cli::{host::DesktopHost, runs::Runs},
    labs::foreign,
    store::Reader,
    telemetry::{Event, Payload, RunState},
    ui::{
        app::{App, Start},
        mirror::Mirror,
        page::Page,
    },
};
use serde_json::{Value, json};

use crate::{foreign_run::ForeignRun, tiles::Tile};

#[derive(Debug)]
struct Dropped(PathBuf);

impl egui::DroppedFile for Dropped {
    fn path(&self) -> &Path {
        &self.0
    }

    fn bytes(&self) -> Result<Vec<u8>, String> {
        Err("the window never reads files".into())
    }
}

struct Desk {
    harness: Harness<'static, App>,
}

impl Desk {
    fn new(out: &Path) -> Self {
        let host = Box::new(DesktopHost::new(out.to_owned(), Runs::new()));
        let builder = Harness::builder().with_size([1280.0, 800.0]);
        let mut harness = builder.build_eframe(move |cc| App::new(cc, host, Start::default()));
        harness.step();
        Self { harness }
    }

    fn drop_folder(&mut self, folder: &Path) {
        self.harness.input_mut().dropped_files.push(Arc::new(Dropped(folder.to_owned())));
        self.harness.step();
    }

    fn until(&mut self, what: &str, holds: impl Fn(&Self) -> bool) {
        let begun = Instant::now();
        while !holds(self) {
            assert!(begun.elapsed() < Duration::from_secs(60), "waited in vain: {what}");
            std::thread::sleep(Duration::from_millis(3));
            self.harness.step();
        }
    }

    fn page(&self) -> Option<&Page> {
        self.harness.state().page()
    }

    fn newest(&self) -> u64 {
        self.page().map_or(0, Page::newest)
    }

    fn views(&self) -> Vec<String> {
        let mut views: Vec<String> =
            self.page().map_or(vec![], |page| page.tiling.in_order().into_iter().map(|(_, view)| view).collect());
        views.sort();
        views
    }

    fn shows(&self, words: &str) -> bool {
        self.harness.query_all_by_label_contains(words).next().is_some()
    }
}

#[test]
fn a_dropped_folder_of_another_program_opens_the_views_of_what_it_has() {
    let here = tempfile::tempdir().unwrap();
    let run = ForeignRun::finished(here.path(), "nanogpt", 1e-3);
    let mut desk = Desk::new(here.path());
    desk.drop_folder(&run.folder);
    desk.until("the run is shown", |d| d.newest() == 20 && d.views().len() == 4);
    assert_eq!(desk.views(), ["attention", "gate", foreign::LOGGED, "losses"]);
    let page = desk.page().unwrap();
    assert_eq!(page.lab.id, "foreign");
    assert!(!page.lab.trains() && page.config.get("lr").is_some());
    let mirror = page.mirror().unwrap();
    assert!(mirror.curve(0, "gate/tanh").is_some_and(|gate| gate.len() == 20));
    assert!(matches!(mirror.state, Some(RunState::Stopped)), "nobody answers questions for it");
    assert!(desk.shows("nanogpt"), "its name stands at the top");
    assert!(desk.shows("Settings of the run") && desk.shows("model.layers"), "its settings stand at the left");
    assert!(desk.harness.query_by_role_and_label(Role::Button, "Run").is_none(), "there is nothing to start");
    assert!(!desk.shows("cannot take"), "none of its settings is refused");
}

/// Each is read into a run folder beside the others, whatever kind of file it is.
#[test]
fn a_dropped_log_of_another_tool_opens_as_a_run() {
    let logs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/oracles/other_logs");
    for (log, setting) in [
        ("wandb/run-abc12345.wandb", Some("config.lr")),
        ("lightning/version_0/metrics.csv", Some("config.lr")),
        ("trackio/demo.db", Some("config.seed")),
        ("tensorboard", None),
    ] {
        let out = tempfile::tempdir().unwrap();
        let mut desk = Desk::new(out.path());
        desk.drop_folder(&logs.join(log));
        desk.until("the run is shown", |d| d.newest() == 10 && !d.views().is_empty());
        assert_eq!(desk.views(), [foreign::LOGGED], "{log}");
        let page = desk.page().unwrap();
        assert_eq!(page.lab.id, "foreign", "{log}");
        assert!(setting.is_none_or(|key| page.config.get(key).is_some()), "{log}");
        assert!(page.mirror().unwrap().curve(0, "loss").is_some_and(|loss| loss.len() == 6), "{log}");
        let entries = std::fs::read_dir(out.path()).unwrap().map(Result::unwrap);
        assert_eq!(entries.filter(|entry| entry.path().join("run.json").is_file()).count(), 1, "{log}");
    }
}

#[test]
fn what_is_appended_shows_and_can_be_scrubbed() {
    let here = tempfile::tempdir().unwrap();
    let run = ForeignRun::begin(here.path(), "run", &json!({"lr": 0.1}));
    (1..=3).for_each(|step| run.step(step));
    let mut desk = Desk::new(here.path());
    desk.drop_folder(&run.folder);
    desk.until("the run is shown", |d| d.newest() == 3);
    assert_eq!(desk.views(), ["gate", foreign::LOGGED, "losses"]);
    run.step(4);
    run.samples(4);
    desk.until("the new step is shown", |d| d.newest() == 4);
    desk.until("the view of what is new opens", |d| d.views().iter().any(|view| view == "attention"));
    assert_eq!(desk.page().unwrap().shown_step(), 4);
    // the logs begin anew
    std::fs::write(run.folder.join("metrics.jsonl"), "").unwrap();
    std::fs::write(run.folder.join("samples.jsonl"), "").unwrap();
    run.step(1);
    desk.until("the folder is read anew", |d| d.newest() == 1);
    run.state(1, &json!({"failed": {"message": "RuntimeError: out of memory"}}));
    desk.until("the failure is shown", |d| d.shows("out of memory"));
}

/// The run of a folder as the window knows it.
fn mirror(run: &ForeignRun) -> Mirror {
    let mut mirror = Mirror::default();
    let damage = Reader::open(&run.folder).unwrap().read_through(|event| mirror.apply(event));
    assert!(damage.unwrap().is_empty());
    mirror
}

fn shown(tile: Tile) -> Harness<'static, Tile> {
    let mut harness = tile.shown(Harness::builder().with_size([900.0, 900.0]));
    (0..3).for_each(|_| harness.step());
    harness
}

#[test]
fn every_channel_that_nobody_knows_has_a_panel() {
    let here = tempfile::tempdir().unwrap();
    let run = ForeignRun::finished(here.path(), "run", 1e-3);
    let mut tile = shown(Tile::new("logged", mirror(&run)));
    for channel in ["my/ratio", "matrix/weights", "table/words", "text/story", "histogram/gradients"] {
        assert!(tile.query_by_label(&format!("Show {channel} large")).is_some(), "{channel} has no panel");
    }
    assert!(tile.query_by_label("Show gate/tanh large").is_none(), "the gate has a view of its own");
    assert!(tile.query_all_by_label_contains("the ferry left at dawn").next().is_some());
    assert!(tile.query_all_by_label_contains("ferry").count() > 1, "the table has its words too");
    assert!(tile.state().subtitle.contains("5 channels"), "{}", tile.state().subtitle);

    tile.get_by_label("Show matrix/weights large").click();
    (0..3).for_each(|_| tile.step());
    let csv = tile.state().csv.clone().unwrap_or_default();
    assert!(csv.starts_with("matrix,row,column,value\n0,0,0,1\n0,0,1,-2\n"), "{csv}");
    tile.get_by_label("All").click();
    (0..3).for_each(|_| tile.step());
    assert!(tile.query_by_label("Show my/ratio large").is_some(), "all are shown again");
}

#[test]
fn hostile_measurements_are_shown_in_bounds() {
    let here = tempfile::tempdir().unwrap();
    let run = ForeignRun::begin(here.path(), "run", &json!({}));
    run.step(1);
    let deep = (0..100).fold(json!(1), |inner, _| json!([inner]));
    let rows: Vec<Value> = (0..5000).map(|i| json!([i, "\u{202e}\u{1b}[2J"])).collect();
    for (channel, payload) in [
        ("a/empty", json!([])),
        ("a/nothing", Value::Null),
        ("a/deep", deep),
        ("a/rows", json!({"columns": ["i", "words"], "rows": rows})),
        ("a/ragged", json!([[1, 2], [3]])),
        ("a/text", json!("x".repeat(1 << 20))),
        ("a/infinite", json!([["Infinity", "-Infinity"], ["NaN", 1e38]])),
        ("a/shape", json!({"f32": "AAAA", "shape": [4_294_967_295u64, 4_294_967_295u64]})),
        ("a/histogram", json!({"edges": ["NaN", 1], "counts": [1]})),
    ] {
        run.sample(1, channel, &payload);
    }
    let mut mirror = mirror(&run);
    let unknown = |event: &Event| matches!(event, Event::Sample(s) if matches!(&*s.payload, Payload::Unknown(_)));
    assert_eq!(Reader::open(&run.folder).unwrap().filter(unknown).count(), 9);
    mirror.apply(Event::State(RunState::Stopped));
    let tile = shown(Tile::new("logged", mirror));
    assert!(tile.state().subtitle.contains("10 channels"), "{}", tile.state().subtitle);
}
