//! Tests the page of a run folder that another program writes and that the user drops on the window: it shows the
//! measurements, follows new ones, and draws channels for which no view exists. The host is real; the tests write the
//! folders.

use std::{path::Path, time::Duration};

use eframe::egui::{self, accesskit::Role};
use egui_kittest::{Harness, kittest::Queryable};
use orrery::{
    config::Arguments,
    labs::foreign,
    store::Reader,
    telemetry::{
        Event, Measurement, Payload, QuestionState, RunState, Sample,
        measurements::{AttentionMaps, AttentionMapsArgs},
    },
    ui::{mirror::Mirror, questions::QuestionTime},
};
use serde_json::{Value, json};

use crate::{
    foreign_run::ForeignRun,
    real_host::TestWindow,
    tiles::{Tile, painted},
    wait_for::wait_until,
};

mod own;
mod views;

impl TestWindow {
    fn views(&self) -> Vec<String> {
        let mut views: Vec<String> =
            self.page().map_or(vec![], |page| page.tiling.in_order().into_iter().map(|(_, view)| view).collect());
        views.sort();
        views
    }

    fn state(&self) -> &'static str {
        self.page().and_then(|page| page.run.as_ref()).map_or("none", |run| run.state_label())
    }

    /// Moves the scrubber to a step.
    fn scrub(&mut self, step: u64) {
        self.harness.get_by_role_and_label(Role::Slider, "Step shown").set_value_accesskit(step as f64);
        self.until("the step is shown", |d| d.page().is_some_and(|page| page.shown_step() == step));
    }
}

#[test]
fn a_dropped_folder_of_another_program_opens_the_views_of_what_it_has() {
    let here = tempfile::tempdir().unwrap();
    let run = ForeignRun::finished(here.path(), "nanogpt", 1e-3);
    let mut desk = TestWindow::new(here.path());
    desk.drop_folder(&run.folder);
    desk.until("the run is shown", |d| d.newest() == 20 && d.views().len() == 4 && d.state() == "finished");
    assert_eq!(desk.views(), ["attention", "gate", foreign::LOGGED, "losses"]);
    let page = desk.page().unwrap();
    assert_eq!(page.lab.id, "foreign");
    assert!(!page.lab.makes_runs() && page.config.get("lr").is_some());
    let mirror = page.mirror().unwrap();
    assert!(mirror.curve(0, "gate/tanh").is_some_and(|gate| gate.len() == 20));
    assert!(matches!(mirror.state, Some(RunState::Followed(_))), "nobody answers questions for it");
    assert!(desk.shows("nanogpt"), "its name stands at the top");
    assert!(desk.shows("Settings of the run") && desk.shows("model.layers"), "its settings stand at the left");
    assert!(desk.harness.query_by_role_and_label(Role::Button, "Run").is_none(), "there is nothing to start");
    assert!(!desk.shows("cannot take"), "none of its settings is refused");
}

/// Logs of every supported tool are converted into a run folder beside the others.
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
        let mut desk = TestWindow::new(out.path());
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

/// The window refuses it with the words of the command, where it could pass for a table of edges.
#[test]
fn a_dropped_table_by_the_name_of_a_log_is_no_graph() {
    let here = tempfile::tempdir().unwrap();
    let table = here.path().join("metrics.csv");
    std::fs::write(&table, "source,target\na,b\n").unwrap();
    let mut desk = TestWindow::new(here.path());
    desk.drop_folder(&table);
    desk.until("it is refused", |d| d.shows("it has no column `step`"));
}

#[test]
fn appended_steps_and_samples_are_shown_and_can_be_scrubbed() {
    let here = tempfile::tempdir().unwrap();
    let run = ForeignRun::begin(here.path(), "run", &json!({"lr": 0.1}));
    (1..=3).for_each(|step| run.step(step));
    let mut desk = TestWindow::new(here.path());
    desk.drop_folder(&run.folder);
    desk.until("the run is shown", |d| d.newest() == 3);
    assert_eq!(desk.views(), ["gate", foreign::LOGGED, "losses"]);
    run.step(4);
    run.samples(4);
    desk.until("the new step is shown", |d| d.newest() == 4);
    desk.until("the view of what is new opens", |d| d.views().iter().any(|view| view == "attention"));
    assert_eq!(desk.page().unwrap().shown_step(), 4);
    desk.scrub(2);
    desk.until("a view is of that step", |d| d.shows("Measured at step 4; step 2 is shown"));
    run.step(5);
    run.samples(5);
    desk.until("it goes on behind it", |d| d.newest() == 5);
    assert_eq!(desk.page().unwrap().shown_step(), 2);
    assert!(desk.shows("Measured at step 4; step 2 is shown"), "the view stays where it was");
    desk.harness.key_press(egui::Key::F);
    desk.until("it is followed again", |d| d.page().is_some_and(|page| page.shown_step() == 5));
    desk.until("the view is of the newest step", |d| !d.shows("step 2 is shown"));
    // the other program starts its logs from the beginning again
    std::fs::write(run.folder.join("metrics.jsonl"), "").unwrap();
    std::fs::write(run.folder.join("samples.jsonl"), "").unwrap();
    run.step(1);
    desk.until("the folder is read anew", |d| d.newest() == 1);
    desk.until("it goes on", |d| d.state() == "followed");
    run.state(1, &json!("paused"));
    desk.until("it is paused", |d| d.state() == "paused");
    #[cfg(target_os = "linux")]
    {
        let lock = std::fs::File::create(run.folder.join(".lock")).unwrap();
        lock.lock().unwrap();
        let boot = std::fs::read("/proc/sys/kernel/random/boot_id").unwrap();
        std::fs::write(run.folder.join(".lock"), boot).unwrap();
        run.step(2);
        desk.until("it goes on in its lock", |d| d.newest() == 2 && d.state() == "paused");
        drop(lock);
        desk.until("it was killed, whatever it wrote a moment ago", |d| d.state() == "killed");
        std::fs::remove_file(run.folder.join(".lock")).unwrap();
        desk.until("without a lock it may run elsewhere", |d| d.state() == "paused");
    }
    // no program locks the folder, and nothing was written for an hour, so that the run counts as killed
    for log in ["metrics.jsonl", "samples.jsonl", "events.jsonl"] {
        let file = std::fs::File::options().append(true).open(run.folder.join(log)).unwrap();
        file.set_modified(std::time::SystemTime::now() - Duration::from_secs(3600)).unwrap();
    }
    desk.until("it was killed", |d| d.state() == "killed");
    run.state(1, &json!({"failed": {"message": "RuntimeError: out of memory"}}));
    desk.until("the failure is shown", |d| d.shows("out of memory"));
}

/// The start of the message about an open question; the time follows.
const WAITS: &str = "Asked the program of \u{201c}run\u{201d} at ";

/// Types the arguments of a question into its field and sends it.
fn ask(desk: &mut TestWindow, ask: &str, typed: &str) {
    let (field, button) = (format!("arguments of {ask}"), format!("Ask {ask}"));
    if !typed.is_empty() {
        desk.harness.get_by_role_and_label(Role::TextInput, &field).focus();
        desk.harness.step();
        desk.harness.get_by_role_and_label(Role::TextInput, &field).type_text(typed);
        desk.harness.step();
    }
    desk.harness.get_by_role_and_label(Role::Button, &button).click();
    desk.harness.step();
}

/// The question that the program of the run is asked next, with its id.
fn next_question(desk: &mut TestWindow, run: &ForeignRun) -> (String, Value) {
    desk.until("the program is asked", |_| !run.asked().is_empty());
    run.asked().remove(0)
}

/// A run of three steps that allows these questions.
fn run_of_three_steps(runs: &Path, asks: &[&str]) -> ForeignRun {
    let run = ForeignRun::begin(runs, "run", &json!({"lr": 0.1}));
    (1..=3).for_each(|step| run.step(step));
    run.allow(asks);
    run
}

/// Opens a window that follows such a run, with the view of questions.
fn follow(run: &ForeignRun) -> TestWindow {
    let mut desk = TestWindow::new(run.folder.parent().unwrap());
    desk.drop_folder(&run.folder);
    desk.until("the run is shown", |d| d.newest() == 3 && d.views().iter().any(|view| view == foreign::QUESTIONS));
    desk
}

#[test]
fn the_program_of_a_followed_run_is_asked_and_answers() {
    let here = tempfile::tempdir().unwrap();
    let run = run_of_three_steps(here.path(), &["attention", "scale_lr", "lesson"]);
    let mut desk = follow(&run);
    assert!(
        desk.harness.query_by_role_and_label(Role::Button, "Ask next_tokens").is_none(),
        "the script allows it not"
    );
    std::thread::sleep(Duration::from_millis(600));
    desk.harness.step();
    assert!(run.asked().is_empty(), "no view asks by itself");

    ask(&mut desk, "attention", "hi");
    let (id, question) = next_question(&mut desk, &run);
    assert_eq!((&question["ask"], &question["args"]), (&json!("attention"), &json!({"text": "hi"})));
    desk.until("the view waits", |d| d.shows(WAITS) && d.shows("Asking the model of step 3."));
    run.answer_attention(&id, 3);
    desk.until("the answer is shown", |d| d.shows("Answered for step 3."));
    assert!(desk.views().iter().any(|view| view == "attention"), "its view is open");
    let mirror = desk.page().unwrap().mirror().unwrap();
    assert_eq!(mirror.answer(0, "attention.maps").map(|sample| sample.about.as_str()), Some("hi"));
    desk.until("the question is gone", |_| run.asked().is_empty());

    ask(&mut desk, "scale_lr", "");
    let (id, question) = next_question(&mut desk, &run);
    assert_eq!(question["args"], json!({"factor": 0.5}));
    run.answer(&id, &json!({"state": "refused", "words": "the optimizer is not known"}));
    desk.until("the refusal is shown", |d| d.shows("Refused: the optimizer is not known"));

    ask(&mut desk, "lesson", "layer=2; name=x");
    let (id, question) = next_question(&mut desk, &run);
    assert_eq!(question["args"], json!({"layer": 2, "name": "x"}));
    let sample = json!({"step": 3, "channel": "answer/lesson", "payload": [[1, 2], [3, 4]]});
    run.answer(&id, &json!({"state": "answered", "sample": sample}));
    desk.until("the matrix is shown", |d| d.shows("Show answer/lesson large"));
}

#[test]
fn arguments_are_read_whole_and_show_leads_to_the_answer() {
    let here = tempfile::tempdir().unwrap();
    let run = run_of_three_steps(here.path(), &["number"]);
    let mut desk = follow(&run);
    ask(&mut desk, "number", "layer=7; x");
    desk.until("the mistake is shown", |d| d.shows("Not asked: `x` has no `=`"));
    assert!(run.asked().is_empty(), "half of the arguments is asked with");
    ask(&mut desk, "number", "=1");
    let (id, question) = next_question(&mut desk, &run);
    assert_eq!(question["args"], json!({"layer": 7, "x": 1}));
    let sample = json!({"step": 3, "channel": "answer/number", "payload": 42.5});
    run.answer(&id, &json!({"state": "answered", "sample": sample}));
    desk.until("it is answered", |d| d.shows("Answered for step 3."));
    desk.harness.get_by_role_and_label(Role::Button, "Show").click();
    let is_large = |d: &TestWindow| d.harness.query_by_role_and_label(Role::Button, "All").is_some();
    desk.until("the answer is shown large", |d| is_large(d) && d.shows("42.5"));
}

/// `orrery_log.update` and `watch` change the description during a run.
#[test]
fn an_open_question_outlives_a_change_of_the_description() {
    let here = tempfile::tempdir().unwrap();
    let run = run_of_three_steps(here.path(), &["attention"]);
    let mut desk = follow(&run);
    ask(&mut desk, "attention", "hi");
    let (id, _) = next_question(&mut desk, &run);
    desk.until("the view waits", |d| d.shows(WAITS));
    run.redescribe(|described| {
        described["run"]["config"]["values"]["optimizer"] = "adam".into();
        described["asks"] = json!(["attention", "next_tokens"]);
    });
    desk.until("the new setting is shown", |d| d.page().is_some_and(|page| page.config.get("optimizer").is_some()));
    desk.until("what is allowed now is offered", |d| {
        d.harness.query_by_role_and_label(Role::Button, "Ask next_tokens").is_some()
    });
    assert_eq!(desk.newest(), 3);
    assert!(desk.shows(WAITS), "the view has not forgotten the question");
    assert_eq!(run.asked().len(), 1, "the question stays");
    run.answer_attention(&id, 3);
    desk.until("the answer is shown", |d| d.shows("Answered for step 3."));
    let notices = &desk.page().unwrap().mirror().unwrap().notices;
    assert!(notices.iter().all(|(_, words)| !words.contains("anew")), "{notices:?}");
}

#[test]
fn a_question_ends_with_its_run_and_with_the_window() {
    let here = tempfile::tempdir().unwrap();
    let run = run_of_three_steps(here.path(), &["pause"]);
    let mut desk = follow(&run);
    ask(&mut desk, "pause", "");
    next_question(&mut desk, &run);
    desk.until("it can be withdrawn", |d| d.shows("Withdraw"));
    desk.harness.get_by_role_and_label(Role::Button, "Withdraw").click();
    desk.until("the question is withdrawn", |d| run.asked().is_empty() && d.shows("The question was withdrawn."));
    ask(&mut desk, "pause", "");
    next_question(&mut desk, &run);
    drop(desk);
    wait_until("a question is left", || run.asked().is_empty());
    let mut desk = follow(&run);
    ask(&mut desk, "pause", "");
    next_question(&mut desk, &run);
    run.state(3, &json!("finished"));
    desk.until("the end is said", |d| d.shows("Refused: the run ended before its program answered"));
    desk.until("nobody is there", |d| d.shows("The run has ended, so no program can answer."));
    assert!(!own::can_click(&desk, "Ask pause"));
}

/// A lock that was taken on this machine and that nobody holds any more shows that the program is gone.
#[cfg(target_os = "linux")]
#[test]
fn a_killed_program_cannot_be_asked() {
    let here = tempfile::tempdir().unwrap();
    let run = run_of_three_steps(here.path(), &["pause"]);
    let lock = std::fs::File::create(run.folder.join(".lock")).unwrap();
    lock.lock().unwrap();
    std::fs::write(run.folder.join(".lock"), std::fs::read("/proc/sys/kernel/random/boot_id").unwrap()).unwrap();
    let mut desk = TestWindow::new(here.path());
    desk.drop_folder(&run.folder);
    desk.until("the program can be asked", |d| own::can_click(d, "Ask pause"));
    drop(lock);
    desk.until("the reason is shown", |d| {
        d.shows("The program that trained this run was killed, so it cannot answer.")
    });
    assert!(!own::can_click(&desk, "Ask pause"));
}

#[test]
fn two_matrices_of_the_weights_are_drawn_as_a_graph() {
    const MATRICES: [(&str, usize, usize); 2] = [("h.0.c_fc", 40, 5), ("h.0.c_proj", 5, 40)];
    let here = tempfile::tempdir().unwrap();
    let run = ForeignRun::begin(here.path(), "run", &json!({}));
    run.step(1);
    let mut desk = TestWindow::new(here.path());
    desk.drop_folder(&run.folder);
    desk.until("the run is shown", |d| d.newest() == 1);
    run.weights(1, &MATRICES);
    desk.until("the weights are offered", |d| d.shows("The weights of step 1 are kept."));
    for (field, name) in [("matrix that neurons write by", "h.0.c_proj"), ("matrix that neurons read by", "h.0.c_fc")] {
        desk.harness.get_by_role_and_label(Role::TextInput, field).focus();
        desk.harness.step();
        desk.harness.get_by_role_and_label(Role::TextInput, field).type_text(name);
        desk.harness.step();
    }
    desk.harness.get_by_role_and_label(Role::Button, "Draw as a graph").click();
    desk.harness.step();
    desk.until("the graph is there", |d| d.shows("Answered for step 1."));
    let mirror = desk.page().unwrap().mirror().unwrap();
    assert!(["graph.neurons", "graph.histogram", "graph.degrees"].iter().all(|of| mirror.answer(0, of).is_some()));
    let graph = |d: &TestWindow| {
        let answer = d.page().unwrap().mirror().unwrap().answer(0, "graph.neurons").unwrap();
        (answer.step, serde_json::to_string(&*answer.payload).unwrap())
    };
    let (_, first) = graph(&desk);

    // after a second snapshot, a step between the two still offers the first
    (2..=4).for_each(|step| run.step(step));
    run.weights(4, &MATRICES);
    desk.until("both are offered", |d| d.newest() == 4 && d.shows("The weights of 2 steps are kept, from 1 to 4."));
    for (shown, kept) in [(4, 4), (2, 1)] {
        if shown < 4 {
            desk.scrub(shown);
        }
        desk.harness.get_by_role_and_label(Role::Button, "Draw as a graph").click();
        desk.harness.step();
        desk.until("the graph is there", |d| d.shows(&format!("Answered for step {kept}.")));
        let (step, found) = graph(&desk);
        assert_eq!((step, found == first), (kept, kept == 1));
    }
    desk.harness.get_by_role_and_label(Role::Button, "Show Threshold").click();
    desk.until("its view opens", |d| d.views().iter().any(|view| view == "graph_threshold"));
}

/// The answer to a user's question takes precedence over scheduled measurements until the user dismisses it.
#[test]
fn an_answer_stands_before_what_is_logged() {
    let here = tempfile::tempdir().unwrap();
    let run = ForeignRun::begin(here.path(), "run", &json!({}));
    run.step(1);
    run.samples(1);
    run.allow(&["attention"]);
    let key = (AttentionMaps::PROBE, Some(0));
    let mut tile = shown(Tile::new("attention", mirror(&run)));
    assert!(tile.state().subtitle.contains("batch 0"), "{}", tile.state().subtitle);
    let time = QuestionTime { at: None, scheduled: Some(1), is_measured: true };
    let Tile { questions, mirror, .. } = tile.state_mut();
    let request = questions.register(key, AttentionMapsArgs::default().to_args(), mirror, &time);
    let logged = mirror.sample_at(0, AttentionMaps::CHANNEL, 1).cloned().unwrap();
    mirror.apply(Event::Sample(Sample { request: Some(request), about: "by hand".into(), ..logged }));
    mirror.apply(Event::Question { request, state: QuestionState::Answered });
    (0..2).for_each(|_| tile.step());
    assert!(tile.state().subtitle.contains("by hand"), "{}", tile.state().subtitle);
    tile.get_by_role_and_label(Role::Button, "Back to the run").click();
    (0..3).for_each(|_| tile.step());
    assert!(tile.state().subtitle.contains("batch 0"), "{}", tile.state().subtitle);
    assert!(tile.query_by_label("Back to the run").is_none(), "the run itself is shown");
}

/// Orrery's own runs log earlier steps only after a resume, which discards the later ones. Another program may log
/// steps in any order, and nothing may be discarded.
#[test]
fn a_step_that_is_logged_late_stands_in_its_place() {
    let here = tempfile::tempdir().unwrap();
    let run = ForeignRun::begin(here.path(), "run", &json!({}));
    [1, 2, 4, 5, 3, 2].into_iter().for_each(|step| run.step(step));
    [4, 2].into_iter().for_each(|step| run.samples(step));
    let mirror = mirror(&run);
    let steps: Vec<u64> = mirror.curve(0, "gate/tanh").unwrap().points(0, 9).map(|p| p.0).collect();
    assert_eq!(steps, [1, 2, 3, 4, 5]);
    let samples = mirror.samples(0, AttentionMaps::CHANNEL);
    assert_eq!(samples.iter().map(|sample| sample.step).collect::<Vec<_>>(), [2, 4]);
}

/// A mirror of the run in a folder.
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
    assert!(painted(&tile).iter().any(|words| words == "NaN or infinite"), "the sign of one cell has a name");
    tile.get_by_label("All").click();
    (0..3).for_each(|_| tile.step());
    assert!(tile.query_by_label("Show my/ratio large").is_some(), "all are shown again");
}

#[test]
fn losses_are_drawn_before_what_hooks_log() {
    let here = tempfile::tempdir().unwrap();
    let run = ForeignRun::begin(here.path(), "run", &json!({}));
    let line = json!({"step": 1, "variant": "model", "wall_secs": 0.1, "activation/h.0/mean": 0.1, "loss": 2.5,
                      "lr": 0.003, "val_loss": 2.6});
    run.line("metrics.jsonl", &line);
    let tile = shown(Tile::new("logged", mirror(&run)));
    let csv = tile.state().csv.clone().unwrap_or_default();
    let channels: Vec<&str> = csv.lines().skip(1).filter_map(|line| line.split(',').next()).collect();
    assert_eq!(channels, ["loss", "val_loss", "activation/h.0/mean", "lr"]);
}

#[test]
fn the_name_of_a_channel_is_printed_once() {
    let here = tempfile::tempdir().unwrap();
    let run = ForeignRun::finished(here.path(), "run", 1e-3);
    let mut tile = shown(Tile::new("logged", mirror(&run)));
    let times = |tile: &Harness<'_, Tile>, name: &str| painted(tile).iter().filter(|words| *words == name).count();
    for channel in ["my/ratio", "matrix/weights", "table/words", "text/story", "histogram/gradients"] {
        assert_eq!(times(&tile, channel), 1, "{channel}: {:?}", painted(&tile));
    }
    // when the chart is enlarged, its name appears in the list of channels and in the tile's title only
    tile.get_by_label("Show my/ratio large").click();
    (0..3).for_each(|_| tile.step());
    assert_eq!(times(&tile, "my/ratio"), 1, "{:?}", painted(&tile));
    assert!(tile.state().subtitle.contains("my/ratio"), "{}", tile.state().subtitle);
}

#[test]
fn channels_without_finite_values_are_named_and_not_drawn_as_zero() {
    let here = tempfile::tempdir().unwrap();
    let run = ForeignRun::begin(here.path(), "run", &json!({}));
    run.step(1);
    run.sample(1, "matrix/nan", &json!({"kind": "matrix", "values": [["NaN", "NaN"], ["NaN", "Infinity"]]}));
    run.sample(1, "histogram/nan", &json!({"kind": "histogram", "edges": [0, 1, 2], "counts": [0, 0]}));
    let words = painted(&shown(Tile::new("logged", mirror(&run))));
    for part in ["No finite number anywhere.", "No values."] {
        assert!(words.iter().any(|painted| painted == part), "{part}: {words:?}");
    }
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
