//! Tests the page with the table of runs through user input, with a fake host: display, search, sorting, notes and
//! deletion.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Arc, Mutex},
};

use crossbeam::channel::{Receiver, Sender, bounded, unbounded};
use eframe::egui::{Key, accesskit::Role};
use egui_kittest::{Harness, kittest::Queryable};
use image::RgbaImage;
use orrery::{
    config::{Config, Value},
    experiments::{
        headline_values::{HeadlineValue, HeadlineValues, MissingHeadline},
        run_table::{Difference, GroupLoss, RowState, RunRow},
        sweep::results::{AxisKind, MadeRun, Number, NumberId, ResultAxis, ResultPoint, SweepResults, SweepRun},
    },
    labs::{
        LABS,
        headline::{Better, Digits},
    },
    telemetry::{RunHandle, RunNote},
    ui::{
        app::{App, Start},
        comparison::{ComparedLine, ComparedRuns, Comparison},
        host::{Delivery, Host},
        lists::Lists,
        views::VIEWS,
    },
};

use crate::{
    clipping::faults_at_every_size,
    tiles::painted,
    ui::{rendered, retype},
};

/// The requests that the page made to the host.
#[derive(Default)]
struct Asked {
    notes: Vec<(PathBuf, RunNote)>,
    discarded: Vec<PathBuf>,
    restored: Vec<PathBuf>,
    opened: Vec<PathBuf>,
    compared: Vec<PathBuf>,
}

struct Shelf {
    rows: Vec<RunRow>,
    asked: Arc<Mutex<Asked>>,
    sender: Sender<Delivery>,
    arrived: Receiver<Delivery>,
}

impl Host for Shelf {
    fn launch(&mut self, _: &Config, _: bool) -> Result<RunHandle, String> {
        Err("nothing is launched here".into())
    }

    fn open_run(&mut self, folder: PathBuf) -> RunHandle {
        self.asked.lock().unwrap().opened.push(folder);
        RunHandle { commands: bounded(1).0, inbox: Default::default() }
    }

    fn list_run_table(&mut self) {
        self.sender.send(Delivery::RunTable { rows: self.rows.clone(), is_complete: true }).unwrap();
    }

    fn write_note(&mut self, run: PathBuf, note: RunNote) {
        self.asked.lock().unwrap().notes.push((run, note));
    }

    fn discard_run(&mut self, run: PathBuf) {
        self.asked.lock().unwrap().discarded.push(run.clone());
        self.sender.send(Delivery::Discarded { run, place: "runs/.trash/gone".into() }).unwrap();
    }

    fn restore_run(&mut self, place: PathBuf) {
        self.asked.lock().unwrap().restored.push(place);
        self.sender.send(Delivery::Restored).unwrap();
    }

    fn compare_runs(&mut self, runs: Vec<PathBuf>) {
        let compared = compared(runs.len());
        self.asked.lock().unwrap().compared = runs;
        self.sender.send(Delivery::Compared(Ok(Box::new(compared)))).unwrap();
    }

    fn export_folder(&self) -> PathBuf {
        "exports".into()
    }

    fn deliveries(&mut self) -> Vec<Delivery> {
        self.arrived.try_iter().collect()
    }
}

/// The note on the losses of two runs.
const LOSS_NOTE: &str = "These losses are not of the same tokens: A reads words; B reads bytes.";

/// Falling curves with different rates. The last two runs differ only in their seed.
fn compared(runs: usize) -> ComparedRuns {
    let like = |i: usize| if i + 1 == runs { i - 1 } else { i };
    let rate = |i: usize| 1e-3 * (like(i) + 1) as f64;
    let names: Vec<String> = (0..runs).map(|i| format!("lr {}, seed {i}", rate(i))).collect();
    let line = |i: usize, scale: f64| {
        let point = |step: u64| [step as f64, scale * (1.0 + (-(step as f64) * 0.002 * (i + 1) as f64).exp()), 0.0];
        ComparedLine::new(names[i].clone(), i, like(i), (1..=400).map(point).collect())
    };
    let figure = |key: &str, title: &str, scale: f64| Comparison {
        key: key.into(),
        variant: "coupled".into(),
        title: title.into(),
        lines: (0..runs).map(|i| line(i, scale)).collect(),
    };
    let figures = vec![figure("gate", "|tanh γ|", 0.1), figure("held_out_loss", "held-out loss (nats)", 1.5)];
    let mut folded = figures.clone();
    folded.iter_mut().for_each(Comparison::fold);
    let rates = (0..runs).map(|i| rate(i).to_string()).collect();
    let differences = vec![Difference { key: "train.lr".into(), values: rates }];
    let points = Arc::new(points(&names, &figures, &rate));
    let times = (0..runs).map(|_| (1..=400).map(|step| (step, step as f64 * 0.5)).collect()).collect();
    let folded_points = points.clone();
    let loss_note = (runs == 2).then(|| LOSS_NOTE.to_owned());
    ComparedRuns {
        names,
        differences,
        loss_note,
        figures,
        folded,
        points,
        folded_points,
        times,
        ..ComparedRuns::default()
    }
}

/// The same runs in the form of the numbers of a sweep.
fn points(names: &[String], figures: &[Comparison], rate: &dyn Fn(usize) -> f64) -> SweepResults {
    let number = |figure: &Comparison| Number {
        id: NumberId { key: figure.key.clone(), group: figure.variant.clone() },
        heading: figure.title.clone(),
        better: Better::Lower,
        digits: Some(Digits::Decimals(4)),
        is_paired: false,
        series: figure
            .lines
            .iter()
            .map(|line| Arc::new(line.points.iter().map(|p| (p[0] as u64, p[1])).collect()))
            .collect(),
    };
    let run = |i: usize| SweepRun {
        point: i,
        seed: i as u64,
        made: Some(MadeRun {
            path: format!("runs/{i}").into(),
            state: RowState::Finished,
            state_label: "finished".into(),
        }),
        refusal: None,
    };
    let point = |i: usize| ResultPoint { values: vec![rate(i).to_string()], places: vec![rate(i)] };
    SweepResults {
        axes: vec![ResultAxis { key: "train.lr".into(), kind: AxisKind::Numbers { is_log: false } }],
        points: (0..names.len()).map(point).collect(),
        names: names.to_vec(),
        seeds: vec![0],
        runs: (0..names.len()).map(run).collect(),
        numbers: figures.iter().map(number).collect(),
        every: 1,
        ..SweepResults::default()
    }
}

fn loss(group: &str, held_out: f64) -> GroupLoss {
    GroupLoss { group: group.into(), label: group.into(), train: held_out + 0.1, held_out, held_out_step: None }
}

fn value(key: &str, variant: &str, value: f64) -> HeadlineValue {
    HeadlineValue { key: key.into(), variant: variant.into(), group: variant.into(), step: 400, value, answers: None }
}

fn gate_run(i: u64, lr: f64, gate: f64) -> RunRow {
    let folder = format!("20260131-14250{i}-fast_slow-fast_slow_needed-s{i}");
    let values = vec![
        value("held_out_loss", "coupled", 0.0001),
        value("held_out_loss", "frozen", 2.3145),
        value("gate", "coupled", gate),
        value("gate", "frozen", 0.0),
    ];
    let missing = vec![MissingHeadline { id: "accuracy".into(), why: "the text asks no question".into() }];
    let changed = BTreeMap::from([
        ("train.lr".to_owned(), Value::Float(lr)),
        ("model.d_model".to_owned(), Value::Int(96)),
        ("variants.dense_swiglu".to_owned(), Value::Switch(true)),
    ]);
    RunRow {
        path: PathBuf::from("runs").join(&folder),
        folder,
        lab: "fast_slow".into(),
        preset: "fast_slow_needed".into(),
        seed: i,
        settings: changed.clone(),
        changed,
        began: 1_769_800_000 + i as i64 * 60,
        when: format!("2026-01-31 14:2{i}"),
        steps: 400,
        total_steps: 400,
        losses: vec![loss("coupled", 0.0001), loss("frozen", 2.3145)],
        headlines: HeadlineValues { values, missing },
        state: RowState::Finished,
        bytes: 4_300_000,
        ..RunRow::default()
    }
}

/// The same run at an earlier step.
fn at_step(steps: u64, mut row: RunRow) -> RunRow {
    row.steps = steps;
    row.headlines.values.iter_mut().for_each(|v| v.step = steps);
    row
}

/// Returns rows of runs in as many different states as possible.
fn rows() -> Vec<RunRow> {
    let note = |name: &str, note: &str| RunNote { name: name.into(), note: note.into(), ..RunNote::default() };
    let named = RunRow {
        note: RunNote { pinned: true, ..note("Wide gate", "For the talk: opens within a minute") },
        ..gate_run(1, 1e-3, 0.2)
    };
    let killed = RunRow { state: RowState::Killed, ..at_step(112, gate_run(2, 3e-4, 0.01)) };
    let running = RunRow { state: RowState::Running, total_steps: 12_000, ..at_step(250, gate_run(3, 1e-2, 0.3)) };
    let failed = "the loss is not a number at step 7; lower train.lr and reset";
    let failed = RunRow { state: RowState::Failed(failed.into()), ..at_step(7, gate_run(4, 0.5, f64::NAN)) };
    let put_away = RunRow { note: RunNote { archived: true, ..note("Old", "") }, ..gate_run(5, 2e-3, 0.1) };
    let later = RunRow {
        folder: "of-a-later-version".into(),
        path: "runs/of-a-later-version".into(),
        problems: vec![
            "it was written by Orrery 9.0.0 in format 99, and this one reads up to format 2: update Orrery".into(),
        ],
        when: "2026-01-30 09:00".into(),
        bytes: 12_000,
        ..RunRow::default()
    };
    vec![failed, running, killed, named, put_away, later]
}

struct TestWindow {
    harness: Harness<'static, App>,
    asked: Arc<Mutex<Asked>>,
}

fn desk(rows: Vec<RunRow>, with_pictures: bool) -> TestWindow {
    let asked = Arc::<Mutex<Asked>>::default();
    let (sender, arrived) = unbounded();
    let host = Box::new(Shelf { rows, asked: asked.clone(), sender, arrived });
    let builder = Harness::builder().with_size([1280.0, 800.0]).with_step_dt(1.0 / 60.0);
    let builder = if with_pictures { builder.wgpu() } else { builder };
    let lists = Lists { labs: LABS, views: VIEWS };
    let harness = builder.build_eframe(move |cc| App::with_lists(cc, host, Start::default(), lists));
    let mut desk = TestWindow { harness, asked };
    desk.steps(3);
    desk.click("Runs");
    desk
}

impl TestWindow {
    fn steps(&mut self, n: usize) {
        (0..n).for_each(|_| self.harness.step());
    }

    fn click(&mut self, label: &str) {
        self.harness.get_by_label(label).click();
        self.steps(3);
    }

    fn rows(&self) -> Vec<String> {
        let mut rows: Vec<(f32, String)> = self
            .harness
            .query_all_by_role(Role::ListItem)
            .filter_map(|node| Some((node.rect().top(), egui_kittest::kittest::NodeT::accesskit_node(&node).label()?)))
            .collect();
        rows.sort_by(|a, b| a.0.total_cmp(&b.0));
        rows.into_iter().map(|(_, label)| label.split(',').next().unwrap_or_default().to_owned()).collect()
    }

    fn select(&mut self, name: &str) {
        self.harness.get_by_role_and_label(Role::ListItem, name).click();
        self.steps(3);
    }

    fn shows(&self, words: &str) -> bool {
        self.harness.query_all_by_label_contains(words).next().is_some()
    }

    fn filter(&mut self, text: &str) {
        retype(&mut self.harness, "filter", text);
    }
}

#[test]
fn runs_are_listed_found_and_sorted() {
    let mut d = desk(rows(), false);
    let all = d.rows();
    assert_eq!(all.len(), 5, "the archived one is not listed: {all:?}");
    assert_eq!(all[0], "Wide gate", "pinned runs stand first");
    assert!(all[1].ends_with("-s4") && all[4] == "of-a-later-version", "then the newest: {all:?}");
    assert!(d.shows("5 of 6 runs · 1 archived"));
    d.click("Sort by step, seed");
    assert!(d.rows()[2].ends_with("-s4"), "7 steps come before 112: {:?}", d.rows());
    d.filter("lr<1e-3");
    assert_eq!(d.rows().len(), 1, "{:?}", d.rows());
    d.filter("lr<none");
    assert!(d.shows("`none` is not a number"));
    assert_eq!(d.rows().len(), 1, "what was found stays while one types");
    d.filter("nothing-like-it");
    assert!(d.shows("No run matches"));
    d.harness.key_press(Key::Escape);
    d.steps(2);
    d.harness.key_press(Key::Escape);
    d.steps(3);
    assert!(d.shows("What moves inside a small model while it learns?"), "Escape leads back to the gallery");
}

/// The runs of a sweep have long names that begin alike.
#[test]
fn shortened_run_names_keep_the_part_in_which_they_differ() {
    let name = |i: u64| format!("coupled_qk_seeds-1a2b3c4d/20260131-14250{i}-coupled_qk-coupled_qk_seeds-s7");
    let rows = (1..4).map(|i| RunRow { folder: name(i), path: name(i).into(), ..gate_run(i, 1e-3, 0.2) });
    let mut d = desk(rows.collect(), false);
    let shown: Vec<String> = painted(&d.harness).into_iter().filter(|words| words.contains("14250")).collect();
    for i in 1..4 {
        let own = format!("14250{i}-");
        let is_own = |words: &&String| words.contains('…') && words.contains(&own) && words.ends_with("-s7");
        assert_eq!(shown.iter().filter(is_own).count(), 1, "{i}: {shown:?}");
    }
    let row = d.harness.query_all_by_role(Role::ListItem).next().unwrap().rect();
    d.harness.hover_at(row.left_center() + eframe::egui::vec2(60.0, -8.0));
    d.steps(90);
    let texts = painted(&d.harness);
    let whole = (1..4).filter(|i| texts.iter().any(|words| words.contains(&name(*i)))).count();
    assert_eq!(whole, 1, "the name under the pointer is whole: {texts:?}");
}

#[test]
fn a_run_is_named_pinned_deleted_and_taken_back() {
    let mut d = desk(rows(), false);
    d.select("Wide gate, fast_slow, finished");
    assert!(d.shows("no accuracy: the text asks no question") && d.shows("variants.dense_swiglu"));
    let field = d.harness.get_by_role_and_label(Role::TextInput, "name");
    field.focus();
    d.steps(2);
    d.harness.key_press(Key::End);
    d.harness.get_by_role_and_label(Role::TextInput, "name").type_text(" two");
    d.steps(2);
    d.harness.get_by_role_and_label(Role::MultilineTextInput, "note").focus();
    d.steps(3);
    let (path, note) =
        d.asked.lock().unwrap().notes.last().cloned().expect("the name is kept when one leaves the field");
    assert!(path.ends_with("20260131-142501-fast_slow-fast_slow_needed-s1"));
    assert_eq!((note.name.as_str(), note.pinned), ("Wide gate two", true));
    assert_eq!(d.rows()[0], "Wide gate two", "and shown at once");
    d.click("Pin");
    assert!(!d.asked.lock().unwrap().notes.last().unwrap().1.pinned);
    d.click("Delete");
    assert_eq!(d.asked.lock().unwrap().discarded, [path]);
    assert!(d.shows("Wide gate two is in the trash.") && !d.rows().contains(&"Wide gate two".to_owned()));
    d.click("Undo");
    assert_eq!(d.asked.lock().unwrap().restored, [PathBuf::from("runs/.trash/gone")]);
    d.steps(2);
    assert_eq!(d.rows().len(), 5);
    d.select("Wide gate, fast_slow, finished");
    d.click("Delete");
    let undo = |d: &mut TestWindow| {
        d.harness.key_press_modifiers(eframe::egui::Modifiers::COMMAND, Key::Z);
        d.steps(4);
    };
    undo(&mut d);
    assert!(d.shows("Undid: deleted Wide gate") && d.rows().len() == 5);
    assert!(!d.shows("is in the trash."), "nothing is offered that is done");
    assert_eq!(d.asked.lock().unwrap().restored.len(), 2);
    undo(&mut d);
    assert!(d.shows("There is nothing to undo.") && d.asked.lock().unwrap().restored.len() == 2);
    d.select("of-a-later-version, , cannot be read");
    assert!(d.shows("this one reads up to format 2"));
}

#[test]
fn a_run_is_tagged_and_found_by_a_chip() {
    let mut d = desk(rows(), false);
    assert!(d.harness.query_by_label("talk 1").is_none(), "no run has a tag yet");
    d.select("Wide gate, fast_slow, finished");
    d.harness.get_by_role_and_label(Role::TextInput, "tags").focus();
    d.steps(2);
    d.harness.get_by_role_and_label(Role::TextInput, "tags").type_text(" talk,wide  gate, talk");
    d.steps(2);
    d.harness.get_by_role_and_label(Role::TextInput, "name").focus();
    d.steps(3);
    let (_, note) = d.asked.lock().unwrap().notes.last().cloned().expect("the tags are kept when one leaves the field");
    assert_eq!(note.tags, ["talk", "wide gate"]);
    d.click("talk 1");
    assert_eq!(d.rows(), ["Wide gate"]);
    d.click("talk 1");
    assert_eq!(d.rows().len(), 5);
    d.filter("!tag:\"wide gate\"");
    assert_eq!(d.rows().len(), 4);
}

#[test]
fn the_runs_of_a_sweep_are_found_by_its_chip() {
    let mut rows = rows();
    rows.iter_mut().filter(|row| row.seed > 1 && row.seed < 4).for_each(|row| row.sweep = "rates".into());
    let mut d = desk(rows, false);
    assert_eq!(d.rows().len(), 5);
    d.click("sweep rates 2");
    assert!(d.rows().len() == 2 && d.rows().iter().all(|name| !name.contains("Wide gate")), "{:?}", d.rows());
    d.click("sweep rates 2");
    assert_eq!(d.rows().len(), 5);
}

#[test]
fn a_note_that_another_program_wrote_is_not_written_over() {
    let mut d = desk(rows(), false);
    let leave_tags = |d: &mut TestWindow, text: &str| {
        d.harness.get_by_role_and_label(Role::TextInput, "tags").focus();
        d.steps(2);
        d.harness.get_by_role_and_label(Role::TextInput, "tags").type_text(text);
        d.steps(2);
        d.harness.get_by_role_and_label(Role::TextInput, "name").focus();
        d.steps(3);
        d.asked.lock().unwrap().notes.len()
    };
    d.select("Wide gate, fast_slow, finished");
    assert_eq!(leave_tags(&mut d, "talk"), 1);
    // the host returns the old note, as if another program had restored the file
    d.click("Refresh");
    assert!(d.harness.query_by_label("talk 1").is_none());
    assert_eq!(leave_tags(&mut d, ""), 1, "nothing was edited, so that nothing is written");
}

#[test]
fn ticked_runs_that_the_filter_hides_are_counted() {
    let mut d = desk(rows(), false);
    d.click("Tick all runs shown");
    d.filter("lr<1e-3");
    assert!(d.shows("Compare 4 (3 not shown)"));
}

#[test]
fn ticked_runs_are_set_beside_each_other() {
    let mut d = desk(rows(), false);
    d.click("Tick all runs shown");
    assert!(d.shows("Compare 4"), "the one that cannot be read is left out");
    d.click("Tick all runs shown");
    assert!(d.harness.query_by_label("Compare").is_some(), "and none of them");
    for name in ["Compare Wide gate", "Compare 20260131-142502-fast_slow-fast_slow_needed-s2"] {
        d.click(name);
    }
    d.click("Compare 20260131-142503-fast_slow-fast_slow_needed-s3");
    d.click("Compare 3");
    assert_eq!(d.asked.lock().unwrap().compared.len(), 3);
    assert!(d.shows("held-out loss (nats) at step 400") && d.shows("train.lr"), "the loss is shown first");
    assert!(d.shows("lr 0.002, seed 1"));
    let at_end = d.harness.query_all_by_label_contains("2.1").count();
    assert!(at_end > 0, "values stand in the table");
    assert!(d.shows("lr 0.002, seed 2"));
    d.click("fold seeds");
    assert!(
        d.shows("lr 0.002, 2 seeds") && !d.shows("lr 0.002, seed 2"),
        "runs that differ in their seed are one line"
    );
    d.click("‹ Table");
    assert_eq!(d.rows().len(), 5, "back at the table");
    d.click("Compare 3");
    d.harness.key_press(Key::Escape);
    d.steps(3);
    assert_eq!(d.rows().len(), 5, "Escape leads back too");
}

#[test]
fn a_deleted_run_comes_back_wherever_undo_is_pressed() {
    let mut d = desk(rows(), false);
    let delete = |d: &mut TestWindow| {
        d.select("Wide gate, fast_slow, finished");
        d.click("Delete");
        d.harness.key_press(Key::Escape);
        d.steps(3);
    };
    let undo = |d: &mut TestWindow| {
        d.harness.key_press_modifiers(eframe::egui::Modifiers::COMMAND, Key::Z);
        d.steps(4);
        d.asked.lock().unwrap().restored.len()
    };
    delete(&mut d);
    assert!(d.shows("Open Fast-slow gate"), "home is in front");
    assert_eq!(undo(&mut d), 1, "from home");
    d.click("Runs");
    delete(&mut d);
    d.click("Open Fast-slow gate");
    assert_eq!(undo(&mut d), 2, "from a lab where nothing else is left to undo");
    assert_eq!(undo(&mut d), 2);
    assert!(d.shows("There is nothing to undo."));
    let title = VIEWS.iter().find(|view| view.id == "gate").unwrap().title;
    d.click(&format!("Menu of {title}"));
    // the first is that of the menu
    d.harness.get_all_by_label("Close").next().unwrap().click();
    d.steps(3);
    d.harness.key_press(Key::Escape);
    d.steps(3);
    d.click("Runs");
    delete(&mut d);
    d.click("Open Fast-slow gate");
    d.click("Menu");
    assert!(d.shows("Undo: deleted Wide gate"), "the menu says what would be undone");
    d.harness.key_press(Key::Escape);
    d.steps(3);
    assert_eq!(undo(&mut d), 3, "the deletion is newer than the closed tile");
    assert!(!d.shows("Undid: closed tile"));
    assert_eq!(undo(&mut d), 3);
    assert!(d.shows(&format!("Undid: closed tile {title}")), "then the older step");
}

/// Opens the comparison of three runs.
fn comparison() -> TestWindow {
    let mut d = desk(rows(), false);
    for i in 1..4 {
        let name = if i == 1 { "Wide gate".to_owned() } else { format!("20260131-14250{i}") };
        let label = format!("Compare {name}");
        d.harness.query_all_by_label_contains(&label).next().expect("a tick").click();
        d.steps(3);
    }
    d.click("Compare 3");
    d
}

fn show(d: &mut TestWindow, part: &str) {
    d.harness.get_by_role_and_label(Role::ComboBox, "show").click();
    d.steps(3);
    d.click(part);
}

#[test]
fn compared_runs_stand_in_a_table_and_open() {
    let mut d = comparison();
    show(&mut d, "Numbers");
    assert_eq!(d.rows(), ["point 1", "point 2", "point 3"]);
    assert!(d.shows("along train.lr"), "a slice along the setting that differs");
    d.click("Sort by held-out loss (nats)");
    assert_eq!(d.rows(), ["point 3", "point 2", "point 1"], "the loss that fell fastest is least");
    d.select("point 2, lr 0.002, seed 1");
    assert!(d.shows("selected: lr 0.002, seed 1"));
    d.click("Open");
    assert_eq!(d.asked.lock().unwrap().opened, [PathBuf::from("runs/1")]);
}

#[test]
fn any_two_numbers_are_set_against_each_other() {
    let mut d = comparison();
    show(&mut d, "Scatter");
    assert!(d.shows("scatter of runs"));
    let chosen = |d: &TestWindow, axis: &str| {
        use egui_kittest::kittest::NodeT;
        d.harness.get_by_role_and_label(Role::ComboBox, axis).accesskit_node().value().unwrap_or_default()
    };
    assert_eq!((chosen(&d, "x").as_str(), chosen(&d, "y").as_str()), ("train.lr", "|tanh γ|"));
    d.harness.get_by_role_and_label(Role::ComboBox, "x").click();
    d.steps(3);
    d.click("held-out loss (nats)");
    assert_eq!(chosen(&d, "x"), "held-out loss (nats)");
    assert!(d.shows("A click selects a run"));
}

#[test]
fn comparing_losses_over_different_tokens_shows_a_note() {
    let mut d = desk(rows(), false);
    for name in ["Compare Wide gate", "Compare 20260131-142502-fast_slow-fast_slow_needed-s2"] {
        d.click(name);
    }
    d.click("Compare 2");
    assert!(d.shows(LOSS_NOTE), "the loss is shown first");
    show(&mut d, "Numbers");
    assert!(d.shows(LOSS_NOTE), "losses stand in the table");
    show(&mut d, "Scatter");
    assert!(d.shows(LOSS_NOTE), "an axis has a loss");
}

#[test]
fn texts_of_the_run_list_and_the_comparison_are_not_clipped() {
    let mut d = desk(rows(), false);
    let mut faults = faults_at_every_size(&mut d.harness, "runs", None);
    for name in ["Wide gate, fast_slow, finished", "of-a-later-version, , cannot be read"] {
        d.select(name);
        faults.extend(faults_at_every_size(&mut d.harness, name, None));
    }
    let mut d = comparison();
    faults.extend(faults_at_every_size(&mut d.harness, "Curves", None));
    for part in ["Numbers", "Scatter"] {
        show(&mut d, part);
        faults.extend(faults_at_every_size(&mut d.harness, part, None));
    }
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn curves_go_along_time_and_by_logarithms() {
    let mut d = comparison();
    d.harness.get_by_role_and_label(Role::Slider, "smooth").set_value_accesskit(0.5);
    d.steps(3);
    let goes_along_time = |d: &TestWindow| painted(&d.harness).iter().any(|words| words == "time of training (s)");
    assert!(!goes_along_time(&d) && d.shows("y axis of held_out_loss: make logarithmic"));
    d.click("by time");
    d.click("log y");
    assert!(goes_along_time(&d) && d.shows("y axis of held_out_loss: make linear"));
    assert!(d.shows("held-out loss (nats) at step 400"), "the table stays one of steps");
    d.click("by step");
    assert!(!goes_along_time(&d));
}

/// Only visible rows may be drawn, so that thousands of rows take no longer than a few.
#[test]
fn ten_thousand_rows_are_drawn_as_a_few() {
    let many = (0..10_000).map(|i| RunRow { folder: format!("run-{i}"), began: i, ..gate_run(1, 1e-3, 0.2) });
    let d = desk(many.collect(), false);
    assert!(d.shows("10\u{a0}000 of 10\u{a0}000 runs"));
    let drawn = d.rows().len();
    assert!((5..40).contains(&drawn), "{drawn} rows were drawn");
}

#[test]
fn an_empty_table_says_how_it_fills() {
    let d = desk(vec![], false);
    assert!(d.shows("None yet. Every run that trains is kept"));
}

/// Renders the comparison of three runs.
pub fn comparison_picture() -> RgbaImage {
    let mut d = desk(rows(), true);
    for name in
        ["Wide gate", "20260131-142502-fast_slow-fast_slow_needed-s2", "20260131-142503-fast_slow-fast_slow_needed-s3"]
    {
        d.click(&format!("Compare {name}"));
    }
    d.click("Compare 3");
    rendered(&mut d.harness, true)
}

/// Renders the page with one run selected.
pub fn picture(dark: bool) -> RgbaImage {
    let mut d = desk(rows(), true);
    d.select("Wide gate, fast_slow, finished");
    rendered(&mut d.harness, dark)
}
