//! Tests the page of a sweep through user input, with real runs of the real binary: display, brushing, the scrubber,
//! opening a run, and completing the sweep.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use crossbeam::channel::bounded;
use eframe::egui::{Event, Key, Modifiers, PointerButton, Pos2, accesskit::Role};
use egui_kittest::{Harness, kittest::Queryable};
use image::RgbaImage;
use orrery::{
    cli::{host::DesktopHost, runs::Runs},
    config::Config,
    experiments::{
        run_table::RowState,
        sweep::results::{
            AxisKind, MadeRun, Number, NumberId, ResultAxis, ResultPoint, SweepProcess, SweepResults, SweepRun,
        },
    },
    labs::headline::{Better, Digits},
    telemetry::RunHandle,
    ui::{
        app::{App, Opening, Start},
        host::{Delivery, Host},
    },
};

use super::adapter;

use crate::{
    clipping::faults_at_every_size,
    config_with::config_with,
    copy_folder::copy_folder,
    ui::{rendered, retype},
    waiting::step_until,
};

/// A sweep over two learning rates, two sizes and two seeds, with small models and short runs.
const SPEC: &str = r#"
base = "fast_slow"
seeds = [7, 8]
objective = "held_out_loss of coupled"

[set]
"model.d_model" = 16
"train.steps" = 12
"train.window" = 32
"train.batch" = 2
"run.eval_every" = 3
"run.checkpoint_every" = 6
"probe.residual_every" = 0

[axes]
"train.lr" = [1e-3, 1e-2]
"model.pool" = [2, 4]
"#;

fn orrery(here: &Path, words: &[&str]) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_orrery"));
    let output = command.args(words).current_dir(here).env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY").output();
    let output = output.unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A sweep of eight runs; the first `made` exist. The runs are copied from a complete sweep that is trained
/// once for all tests.
fn sweep(made: usize) -> tempfile::TempDir {
    static WHOLE: OnceLock<PathBuf> = OnceLock::new();
    let whole = WHOLE.get_or_init(|| {
        let whole = Path::new(env!("CARGO_TARGET_TMPDIR")).join("sweep");
        if whole.exists() {
            fs::remove_dir_all(&whole).unwrap();
        }
        fs::create_dir_all(&whole).unwrap();
        fs::write(whole.join("rates.toml"), SPEC).unwrap();
        orrery(&whole, &["sweep", "rates.toml", "--on", "print"]);
        orrery(&whole, &["sweep", "sweeps/rates", "--task", "0,1,2,3,4,5,6,7"]);
        whole
    });
    let runs = fs::read_dir(whole.join("sweeps/rates/runs")).unwrap().map(|entry| entry.unwrap().path());
    let mut runs: Vec<PathBuf> = runs.filter(|path| path.is_dir()).collect();
    runs.sort_by_key(|run| fs::metadata(run.join("config.toml")).unwrap().modified().unwrap());
    let here = tempfile::tempdir().unwrap();
    copy_folder(whole, here.path());
    for run in &runs[made..] {
        fs::remove_dir_all(here.path().join(run.strip_prefix(whole).unwrap())).unwrap();
    }
    here
}

struct TestWindow {
    harness: Harness<'static, App>,
    here: tempfile::TempDir,
}

fn desk(here: tempfile::TempDir, opening: Option<Opening>) -> TestWindow {
    let host = DesktopHost::new(here.path().join("runs"), Runs::new());
    let host = Box::new(host.with_program(env!("CARGO_BIN_EXE_orrery").into()));
    let start = Start { opening, ..Start::default() };
    let builder = Harness::builder().with_size([1280.0, 800.0]).with_step_dt(1.0 / 30.0);
    TestWindow { harness: builder.build_eframe(move |cc| App::new(cc, host, start)), here }
}

/// The page of a sweep that has `made` runs.
fn page(made: usize) -> TestWindow {
    let here = sweep(made);
    let folder = here.path().join("sweeps/rates");
    let mut d = desk(here, Some(Opening::Sweep(folder)));
    d.until("runs are read", "runs finished");
    d
}

impl TestWindow {
    fn steps(&mut self, n: usize) {
        (0..n).for_each(|_| self.harness.step());
    }

    fn shows(&self, words: &str) -> bool {
        self.harness.query_all_by_label_contains(words).next().is_some()
    }

    fn until(&mut self, what: &str, words: &str) {
        step_until(Duration::from_secs(90), self, |d| d.harness.step(), what, |d| d.shows(words));
        self.steps(3);
    }

    fn click(&mut self, label: &str) {
        self.harness.get_by_label(label).click();
        self.steps(4);
    }

    fn click_containing(&mut self, label: &str) {
        self.harness.get_by_label_contains(label).click();
        self.steps(4);
    }

    fn click_at(&mut self, at: Pos2) {
        self.harness.event(Event::PointerMoved(at));
        self.steps(2);
        for pressed in [true, false] {
            let modifiers = Modifiers::NONE;
            self.harness.event(Event::PointerButton { pos: at, button: PointerButton::Primary, pressed, modifiers });
            self.steps(1);
        }
        self.steps(3);
    }

    fn drag(&mut self, from: Pos2, to: Pos2) {
        let modifiers = Modifiers::NONE;
        let button = |pos, pressed| Event::PointerButton { pos, button: PointerButton::Primary, pressed, modifiers };
        self.harness.event(Event::PointerMoved(from));
        self.steps(1);
        self.harness.event(button(from, true));
        self.steps(1);
        for share in [0.3, 0.7, 1.0] {
            self.harness.event(Event::PointerMoved(from + (to - from) * share));
            self.steps(1);
        }
        self.harness.event(button(to, false));
        self.steps(3);
    }

    /// Returns the names of the table's rows from the top, such as "point 3".
    fn rows(&self) -> Vec<String> {
        let label = |node: &egui_kittest::Node<'_>| egui_kittest::kittest::NodeT::accesskit_node(node).label();
        let rows = self.harness.query_all_by_role(Role::ListItem);
        let mut rows: Vec<(f32, String)> = rows.filter_map(|n| Some((n.rect().top(), label(&n)?))).collect();
        rows.sort_by(|a, b| a.0.total_cmp(&b.0));
        rows.into_iter().map(|(_, words)| words.split(',').next().unwrap_or_default().to_owned()).collect()
    }

    fn axis(&self, key: &str) -> eframe::egui::Rect {
        self.harness.get_by_role_and_label(Role::ScrollBar, &format!("Brush {key}")).rect()
    }

    fn is_open(&self) -> Option<PathBuf> {
        self.harness.state().page()?.run.as_ref()?.replayed_folder().map(ToOwned::to_owned)
    }
}

#[test]
fn a_sweep_is_found_brushed_sorted_and_moved_to_a_step() {
    let mut d = desk(sweep(7), None);
    d.steps(3);
    d.click("Runs");
    d.until("the sweep is listed", "rates · 7 runs");
    d.until("its runs stand in the table", "7 of 7 runs");
    d.click("rates · 7 runs");
    d.until("runs are read", "7 of 8 runs finished, 1 not begun");
    assert!(d.shows("--missing") && d.shows("Make 1 run here"), "what completes it is said");
    assert!(d.shows("held-out loss (nats), coupled as recorded at step 12"), "the objective is shown first");
    assert!(!d.shows("★ best") && d.shows("no point is marked as best: the spread of one seed"), "a point has one run");
    assert!(d.shows("curves of the sweep") && d.shows("along train.lr") && d.shows("along model.pool"));
    assert!(d.shows("held-out loss (nats), coupled, mean over seeds"), "two axes have a heat map");
    assert_eq!(d.rows().len(), 4, "{:?}", d.rows());

    // a drag over the upper half of an axis keeps the points with larger values
    let axis = d.axis("train.lr");
    let (x, middle) = (axis.center().x, axis.center().y);
    d.drag(Pos2::new(x, axis.top() + 2.0), Pos2::new(x, middle));
    let kept = d.rows();
    assert_eq!(kept.len(), 2, "{kept:?}");
    assert_eq!(kept, ["point 2", "point 4"], "those at the larger rate");
    d.click_at(Pos2::new(x, middle));
    assert_eq!(d.rows().len(), 4, "a click takes the brush away");

    d.click("Sort by held-out loss (nats), coupled");
    let rising = d.rows();
    d.click("Sort by held-out loss (nats), coupled");
    let falling = d.rows();
    assert_eq!(rising.iter().rev().cloned().collect::<Vec<_>>(), falling);

    d.harness.get_by_role_and_label(Role::Slider, "step").set_value_accesskit(4.0);
    d.steps(3);
    assert!(d.shows("as recorded at step 3"), "the newest recorded step at or before 4");
    d.harness.get_by_role_and_label(Role::Slider, "step").set_value_accesskit(0.0);
    d.steps(3);
    assert!(
        d.shows("as recorded at step 0") && !d.shows("no value so far"),
        "held-out loss is measured before the first step"
    );
}

#[test]
fn a_click_selects_a_point_and_opens_the_run_of_a_seed() {
    let mut d = page(8);
    assert!(d.shows("8 of 8 runs finished"), "and nothing is left to make");
    assert!(!d.shows("--missing"));
    let row = d.harness.query_all_by_role(Role::ListItem).next().unwrap().rect().center();
    d.click_at(row);
    assert!(d.shows("selected: point 1") && d.shows("Open seed 7: finished") && d.shows("Open seed 8: finished"));
    d.harness.key_press(Key::Escape);
    d.steps(3);
    assert!(!d.shows("Open seed 7") && d.shows("selected: point 1"), "Escape closes the menu first");

    // a click on the upper right cell of the heatmap selects the point with the largest values of both settings
    let map = d.harness.get_by_role_and_label(Role::Canvas, "held-out loss (nats), coupled, mean over seeds").rect();
    d.click_at(Pos2::new(map.right() - 100.0, map.top() + 40.0));
    assert!(d.shows("selected: point 4"), "the cell of the largest of both");
    d.harness.key_press(Key::Escape);
    d.steps(2);
    // clicks down the column of a setting's value until a click hits a dot of the slice
    let slice = d.harness.get_by_role_and_label(Role::Canvas, "along train.lr").rect();
    let mut found = false;
    for y in 0..60 {
        let at = Pos2::new(slice.left() + 44.0 + (slice.width() - 54.0) * 0.053, slice.top() + 22.0 + 4.0 * y as f32);
        if at.y > slice.bottom() - 34.0 {
            break;
        }
        d.click_at(at);
        if d.shows("Open seed 7") {
            found = true;
            break;
        }
    }
    assert!(
        found && (d.shows("selected: point 1") || d.shows("selected: point 3")),
        "a dot at the small rate was clicked"
    );
    d.click("Open seed 7: finished");
    let begun = Instant::now();
    while d.is_open().is_none() {
        assert!(begun.elapsed() < Duration::from_secs(60), "no run opened");
        d.harness.step();
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(d.is_open().unwrap().starts_with(d.here.path().join("sweeps/rates/runs")));
    d.harness.key_press(Key::Escape);
    d.until("Escape leads back to the sweep", "8 of 8 runs finished");
}

#[test]
fn missing_runs_are_made_in_the_background_and_the_page_fills() {
    let mut d = page(6);
    assert!(d.shows("6 of 8 runs finished, 2 not begun"));
    d.click("Make 2 runs here");
    d.until("the process is seen", "Being made by this window");
    d.until("all are made", "8 of 8 runs finished");
    assert!(!d.shows("no value"));
}

#[test]
fn runs_made_in_a_terminal_appear_on_the_page() {
    let mut d = page(7);
    assert!(d.shows("7 of 8 runs finished, 1 not begun"));
    orrery(d.here.path(), &["sweep", "sweeps/rates", "--missing"]);
    d.until("the page is read again", "8 of 8 runs finished");
}

#[test]
fn other_numbers_than_losses_are_chosen_and_shown() {
    let mut d = page(8);
    d.harness.get_by_role_and_label(Role::ComboBox, "number").click();
    d.steps(3);
    let gate = d.harness.query_all_by_label_contains("tanh").next().expect("the gate is recorded").rect().center();
    d.click_at(gate);
    assert!(d.shows("as recorded at step 12") && !d.shows("held-out loss (nats), coupled as recorded"));
    d.harness.get_by_role_and_label(Role::ComboBox, "number").click();
    d.steps(3);
    assert!(d.shows("training loss (nats), frozen") && d.shows("train/grad_norm"), "scalars of every variant");
}

#[test]
fn a_sweep_folder_opens_and_any_other_folder_is_refused() {
    let here = sweep(2);
    let folder = here.path().join("sweeps/rates");
    let mut d = desk(here, Some(Opening::Run(folder.clone())));
    d.until("a sweep is recognised", "2 of 8 runs finished, 6 not begun");
    assert!(d.shows("2 of 4 points") || d.shows("3 of 4 points"), "points without a value are said");
    fs::write(folder.join("sweep.toml"), "no specification").unwrap();
    d.click("Refresh");
    d.until("it says what is wrong", "the specification cannot be read");
    assert_eq!(d.rows().len(), 4, "what was read stays");
}

/// A sweep without results says which command trains its runs.
#[test]
fn a_sweep_without_runs_says_what_makes_them() {
    let d = page(0);
    assert!(d.shows("0 of 8 runs finished, 8 not begun") && d.shows("No run has recorded a number yet"));
    assert!(d.shows("orrery sweep"));
}

/// Made-up results of twelve points with three seeds; some are missing, as in a sweep that is still running.
fn made_up() -> SweepResults {
    let (rates, sizes) = ([1e-3, 3e-3, 1e-2, 3e-2], [2.0, 4.0, 8.0]);
    let numbers = |is_log| AxisKind::Numbers { is_log };
    let axis = |key: &str, kind| ResultAxis { key: key.into(), kind };
    let places: Vec<Vec<f64>> =
        sizes.iter().flat_map(|size| rates.iter().map(move |rate| vec![*size, *rate])).collect();
    let point = |p: &Vec<f64>| ResultPoint { values: p.iter().map(f64::to_string).collect(), places: p.clone() };
    let seeds = vec![7u64, 8, 9];
    let last = |point: usize, seed: u64| match (point, seed) {
        (11, _) => None,
        (10, 9) => Some(180),
        _ => Some(400u64),
    };
    let tasks: Vec<(usize, u64)> = (0..12).flat_map(|p| seeds.iter().map(move |s| (p, *s))).collect();
    let run = |(point, seed): &(usize, u64)| {
        let state = |last| if last == 400 { RowState::Finished } else { RowState::Running };
        let made = last(*point, *seed).map(|last| MadeRun {
            path: format!("sweeps/rates/runs/{point}-{seed}").into(),
            state: state(last),
            state_label: if last == 400 { "finished".into() } else { format!("running, step {last} of 400") },
        });
        SweepRun { point: *point, seed: *seed, made, refusal: None }
    };
    let series = |value: &dyn Fn(f64, f64, f64, f64) -> f64| {
        let of = |(point, seed): &(usize, u64)| {
            let steps = last(*point, *seed).map_or(0, |last| last / 20 + 1);
            let place = &places[*point];
            let at = |i: u64| (i * 20, value(place[1], place[0], *seed as f64 - 8.0, (i * 20) as f64));
            Arc::new((0..steps).map(at).collect::<Vec<_>>())
        };
        tasks.iter().map(of).collect()
    };
    let loss = |rate: f64, size: f64, seed: f64, step: f64| {
        let best = 0.4 * (rate.log10() + 2.2).powi(2) + 0.02 * size;
        0.6 + best + (2.2 - best) * (-step * (0.004 + rate)).exp() + 0.04 * seed * (1.0 + (step * 0.11).sin())
    };
    let gate = |rate: f64, size: f64, seed: f64, step: f64| {
        (rate * 8.0 / size.sqrt() * (1.0 - (-step * 0.01).exp()) * (1.0 + 0.1 * seed)).tanh()
    };
    let number = |key: &str, heading: &str, better, series| Number {
        id: NumberId { key: key.into(), group: "coupled".into() },
        heading: heading.into(),
        better,
        digits: Some(Digits::Decimals(4)),
        is_paired: false,
        series,
    };
    SweepResults {
        name: "rates".into(),
        folder: "sweeps/rates".into(),
        lab: "fast_slow".into(),
        axes: vec![axis("model.pool", numbers(false)), axis("train.lr", numbers(true))],
        points: places.iter().map(point).collect(),
        seeds: seeds.clone(),
        runs: tasks.iter().map(run).collect(),
        numbers: vec![
            number("held_out_loss", "held-out loss (nats), coupled", Better::Lower, series(&loss)),
            number("gate", "|tanh γ|, coupled", Better::Neither, series(&gate)),
        ],
        objective: Some(0),
        command: "orrery sweep sweeps/rates --missing".into(),
        every: 1,
        ..SweepResults::default()
    }
}

/// A host with one sweep, whose process ends when it is asked to.
#[derive(Default)]
struct OneSweepHost {
    arrived: Vec<Delivery>,
    process: SweepProcess,
}

impl Host for OneSweepHost {
    fn launch(&mut self, _: &Config, _: bool) -> Result<RunHandle, String> {
        Err("nothing is launched here".into())
    }

    fn open_run(&mut self, _: PathBuf) -> RunHandle {
        RunHandle { commands: bounded(1).0, inbox: Default::default() }
    }

    fn read_sweep(&mut self, folder: PathBuf) {
        let results = SweepResults { process: self.process.clone(), ..made_up() };
        self.arrived.push(Delivery::Sweep { folder, read: Ok(Arc::new(results)) });
    }

    fn stop_sweep(&mut self, _: PathBuf) {
        self.process = SweepProcess::Stopped;
    }

    fn export_folder(&self) -> PathBuf {
        PathBuf::new()
    }

    fn deliveries(&mut self) -> Vec<Delivery> {
        std::mem::take(&mut self.arrived)
    }
}

/// A stop that the user asked for shows from the click on, and is not an error.
#[test]
fn a_sweep_that_is_stopped_has_not_failed() {
    let host = Box::new(OneSweepHost { process: SweepProcess::Running, ..OneSweepHost::default() });
    let start = Start { opening: Some(Opening::Sweep("sweeps/rates".into())), ..Start::default() };
    let builder = Harness::builder().with_size([1280.0, 800.0]).with_step_dt(1.0 / 30.0);
    let here = tempfile::tempdir().unwrap();
    let mut d = TestWindow { harness: builder.build_eframe(move |cc| App::new(cc, host, start)), here };
    d.steps(4);
    assert!(d.shows("Being made by this window"));
    d.click("Stop");
    assert!(d.shows("stopping\u{2026}") && d.harness.query_by_label("Stop").is_none());
    d.steps(90);
    assert!(d.shows("Stopped. 32 of 36 runs are made; Make 3 runs here makes the others."));
    assert!(!d.shows("stopping\u{2026}") && !d.shows("The process that made the runs ended"));
}

/// The page of a sweep that is still running, with a brushed axis and a selected point.
fn made_up_page(size: [f32; 2], is_drawn: bool) -> TestWindow {
    let host = Box::new(OneSweepHost::default());
    let start = Start { opening: Some(Opening::Sweep("sweeps/rates".into())), ..Start::default() };
    let builder = Harness::builder().with_size(size).with_step_dt(1.0 / 30.0);
    let builder = if is_drawn { builder.wgpu() } else { builder };
    let here = tempfile::tempdir().unwrap();
    let mut d = TestWindow { harness: builder.build_eframe(move |cc| App::new(cc, host, start)), here };
    d.steps(4);
    let axis = d.axis("model.pool");
    let x = axis.center().x;
    d.drag(Pos2::new(x, axis.bottom() - 2.0), Pos2::new(x, axis.center().y));
    // in a small window the row may have to be scrolled to
    if let Some(row) = d.harness.query_by_role_and_label(Role::ListItem, "point 3, pool 2, lr 0.01") {
        row.click();
        d.steps(3);
        d.harness.key_press(Key::Escape);
    }
    d
}

#[test]
fn texts_of_the_sweep_page_are_not_clipped() {
    let mut d = made_up_page([1280.0, 800.0], false);
    d.steps(3);
    assert!(d.shows("selected: point 3") && d.shows("Clear the brush"));
    assert!(d.shows("★ best within its spread"), "the mark is explained");
    assert!(d.shows("mean ± standard deviation over seeds"), "and so are the spreads");
    let faults = faults_at_every_size(&mut d.harness, "sweep", None);
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

/// Renders the page.
pub fn picture(dark: bool, size: [f32; 2]) -> RgbaImage {
    let mut d = made_up_page(size, true);
    rendered(&mut d.harness, dark)
}

/// With `SWEEP_PICTURES=DIR`, pictures are written to DIR for a person to look at. Otherwise the page is only laid out,
/// since `pictures` renders it.
#[test]
fn the_page_is_drawn_in_small_and_large_windows() {
    let folder = std::env::var_os("SWEEP_PICTURES").filter(|_| adapter::exists());
    for size in [[960.0, 600.0], [1920.0, 1080.0]] {
        let mut d = made_up_page(size, false);
        d.steps(3);
        let room = d.harness.ctx.content_rect().size();
        assert_eq!([room.x, room.y], size);
        if let Some(folder) = &folder {
            picture(true, size).save(Path::new(folder).join(format!("sweep-{}.png", size[0]))).unwrap();
        }
    }
}

/// The lab with settings that train in a few moments.
fn lab_page() -> TestWindow {
    let small = [
        ("model.d_model", "16"),
        ("train.steps", "8"),
        ("train.window", "32"),
        ("train.batch", "2"),
        ("run.eval_every", "4"),
        ("run.checkpoint_every", "4"),
        ("probe.residual_every", "0"),
    ];
    let config = config_with("fast_slow", Some("fast_slow"), &small);
    let here = tempfile::tempdir().unwrap();
    let mut d = desk(here, Some(Opening::Config(config)));
    d.steps(4);
    d
}

#[test]
fn a_sweep_is_made_by_ticking_controls_and_its_page_fills() {
    let mut d = lab_page();
    d.click("Menu");
    d.click_containing("Make a sweep");
    assert!(d.shows("Nothing is ticked yet."));
    let rate = orrery::labs::find("fast_slow").map(|lab| (lab.knobs)()).unwrap();
    let rate = rate.iter().find(|knob| knob.key == "train.lr").unwrap().label;
    retype(&mut d.harness, "Find a control", rate);
    d.harness.get_by_role_and_label(Role::CheckBox, rate).click();
    d.steps(3);
    assert!(d.shows("4 points × 3 seeds = 12 runs"), "usual values are given");
    let from = d.harness.get_by_role_and_label(Role::TextInput, &format!("{rate} from")).rect();
    assert!(from.width() > 80.0, "seven digits are seen, not {} points", from.width());
    retype(&mut d.harness, &format!("{rate} from"), "-1");
    assert!(d.shows("must lie above 0") && d.shows("no values that can be run"), "an error stands at its axis");
    d.click("list");
    retype(&mut d.harness, &format!("Values of {rate}"), "1e-3, 1e-2");
    retype(&mut d.harness, "Name of the sweep", "mine");
    assert!(d.shows("2 points × 3 seeds = 6 runs"));
    assert!(!d.here.path().join("sweeps").exists(), "nothing was written so far");
    d.click("Start");
    d.until("the sweep's page opens and says who makes it", "Being made by this window");
    d.until("it fills", "6 of 6 runs finished");
    let spec = fs::read_to_string(d.here.path().join("sweeps/mine/sweep.toml")).unwrap();
    let written: toml::Table = toml::from_str(&spec).unwrap();
    assert_eq!(written["set"]["model.d_model"].as_integer(), Some(16), "{spec}");
    assert_eq!(d.rows().len(), 2);
    // the command line can read the sweep that the window wrote
    orrery(d.here.path(), &["sweep", "sweeps/mine", "--table"]);
    let copy = d.here.path().join("again.toml");
    fs::write(&copy, spec.replace("\"mine\"", "\"again\"")).unwrap();
    orrery(d.here.path(), &["sweep", "again.toml", "--on", "print"]);
}

#[test]
fn a_sweep_is_written_without_being_run_and_a_taken_name_is_refused() {
    let mut d = lab_page();
    d.click("Menu");
    d.click_containing("Make a sweep");
    let steps = orrery::labs::find("fast_slow").map(|lab| (lab.knobs)()).unwrap();
    let steps = steps.iter().find(|knob| knob.key == "train.steps").unwrap().label;
    retype(&mut d.harness, "Find a control", steps);
    d.harness.get_by_role_and_label(Role::CheckBox, steps).click();
    d.steps(3);
    retype(&mut d.harness, &format!("Values of {steps}"), "4, 8");
    retype(&mut d.harness, "Name of the sweep", "steps");
    d.click("Write");
    d.until("the command is shown", "0 of 6 runs finished, 6 not begun");
    assert!(d.shows("orrery sweep") && d.shows("Copy the command") && d.shows("Make 6 runs here"));
    fs::write(d.here.path().join("sweeps/steps/sweep.toml"), SPEC).unwrap();
    let lab = orrery::labs::find("fast_slow").unwrap().title;
    d.harness.key_press_modifiers(Modifiers::COMMAND, Key::P);
    d.steps(3);
    d.harness.event(Event::Text(lab.into()));
    d.steps(3);
    d.harness.key_press(Key::Enter);
    d.steps(4);
    d.click("Menu");
    d.click_containing("Make a sweep");
    d.harness.get_by_role_and_label(Role::CheckBox, steps).click();
    d.steps(3);
    retype(&mut d.harness, "Name of the sweep", "steps");
    d.click("Write");
    d.until("the refusal is said", "a sweep of another specification");
}
