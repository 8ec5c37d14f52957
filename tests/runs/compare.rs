//! Tests `orrery compare`: the differences between runs, their numbers, and the figures.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command as Process, Output},
    sync::OnceLock,
};

use orrery::{
    experiments::run_rows,
    store::{Reader, Writer},
    telemetry::{
        Event, Measurement, Sample,
        measurements::{AttentionMaps, NextTokens},
    },
    trainer::DriveOptions,
};
use serde_json::json;
use tempfile::TempDir;

use crate::{
    command::{output_of, unpainted},
    copy_folder::copy_folder,
    foreign_run::ForeignRun,
    trainer::{fast_slow, started, train},
};

/// Four runs, which are trained once for all tests. The first has a higher learning rate than the second; the third and
/// the fourth differ from the second in the seed and in the text.
fn runs() -> [&'static Path; 4] {
    static MADE: OnceLock<(TempDir, [PathBuf; 4])> = OnceLock::new();
    let (_, runs) = MADE.get_or_init(|| {
        let out = tempfile::tempdir().unwrap();
        let recorded = |lr: &str, seed: &str, text: &str| {
            let set = [
                ("train.lr", lr),
                ("seed", seed),
                ("corpus.seed", text),
                ("probe.attention_maps_every", "3"),
                ("probe.next_tokens_every", "3"),
                ("probe.residual_every", "9"),
            ];
            let (_, config) = fast_slow(9, &set);
            let writer = Writer::at_once(out.path());
            train(&config, DriveOptions { writer: Some(writer.clone()), ..started() });
            writer.folder().unwrap()
        };
        let sets = [("0.01", "1", "1"), ("0.001", "1", "1"), ("0.001", "2", "1"), ("0.001", "1", "77")];
        let runs = sets.map(|(lr, seed, text)| recorded(lr, seed, text));
        (out, runs)
    });
    runs.each_ref().map(PathBuf::as_path)
}

fn command(runs: &[&Path], more: &[&str]) -> Process {
    let mut command = Process::new(env!("CARGO_BIN_EXE_orrery"));
    command.arg("compare").args(runs).args(more);
    command
}

fn compare(runs: &[&Path], more: &[&str]) -> Output {
    command(runs, more).output().unwrap()
}

/// Compares runs with figures only as SVG, which needs no graphics adapter.
fn compare_unpainted(runs: &[&Path], more: &[&str]) -> Output {
    unpainted(&mut command(runs, more)).output().unwrap()
}

#[test]
fn runs_are_set_beside_each_other() {
    let dir = tempfile::tempdir().unwrap();
    let to = dir.path().join("compared");
    let [runs @ .., _] = runs();
    let out = compare_unpainted(&runs, &["-o", to.to_str().unwrap()]);
    assert!(out.status.success(), "{}", output_of(&out));
    assert!(!output_of(&out).contains("not of the same tokens"), "{}", output_of(&out));
    let settings = fs::read_to_string(to.join("settings.csv")).unwrap();
    assert_eq!(settings.lines().next().unwrap(), "run,seed,train.lr", "nothing else differs: {settings}");
    assert_eq!(settings.lines().nth(2).unwrap(), "\"seed 1, lr 0.001\",1,0.001");
    let numbers = fs::read_to_string(to.join("numbers.csv")).unwrap();
    let named =
        "run,variant,step,held-out loss (nats),loss minus that of coupled (nats),residual after one pass,|tanh γ|";
    assert_eq!(numbers.lines().next().unwrap(), named);
    assert_eq!(numbers.lines().count(), 1 + 3 * 2, "a row a run and variant: {numbers}");
    assert!(numbers.lines().skip(1).all(|row| row.contains(",9,") && !row.contains("(step")), "{numbers}");
    assert!(output_of(&out).contains("settings that differ") && output_of(&out).contains("held-out loss (nats)"));
    for stem in ["train_loss-coupled", "held_out_loss-frozen", "gate-coupled"] {
        let svg = fs::read_to_string(to.join(format!("{stem}.svg"))).unwrap();
        assert!(svg.contains("lr 0.01") && svg.contains("seed 2, lr 0.001"), "{stem}: {svg}");
    }
    let folded = dir.path().join("folded");
    let out = compare_unpainted(&runs, &["--fold", "--out", folded.to_str().unwrap()]);
    assert!(out.status.success(), "{}", output_of(&out));
    let svg = fs::read_to_string(folded.join("held_out_loss-coupled.svg")).unwrap();
    assert!(svg.contains("lr 0.001, 2 seeds") && svg.contains("seed 1, lr 0.01<"), "{svg}");
    let settings = fs::read_to_string(folded.join("settings.csv")).unwrap();
    assert_eq!(settings.lines().last().unwrap(), "\"lr 0.001, 2 seeds\",\"1, 2\",0.001");
    let numbers = fs::read_to_string(folded.join("numbers.csv")).unwrap();
    assert_eq!(numbers.lines().count(), 1 + 2 * 2, "a row a point and variant: {numbers}");
    assert!(output_of(&out).contains("lr 0.001, 2 seeds") && output_of(&out).contains(" ± "), "{}", output_of(&out));
    let legend = "\nmean ± standard deviation over seeds; a difference with the 95% interval";
    assert!(output_of(&out).contains(legend), "{}", output_of(&out));

    // the table has all digits, and statistics over the seeds
    let of_gate = |run: &Path| run_rows::row_of(run).unwrap().headlines.group("gate", "coupled").unwrap().mean;
    let mut table = csv::Reader::from_reader(numbers.as_bytes());
    let [mean, sd] =
        ["|tanh γ|", "|tanh γ|, sd"].map(|of| table.headers().unwrap().iter().position(|h| h == of).unwrap());
    let rows: Vec<csv::StringRecord> = table.records().map(Result::unwrap).collect();
    let gates = |name: &str| {
        let row = rows.iter().find(|row| row[0].contains(name) && row[1].starts_with("coupled")).unwrap();
        (row[mean].parse::<f64>().unwrap(), row[sd].parse::<f64>().ok())
    };
    assert_eq!(gates("lr 0.01"), (of_gate(runs[0]), None));
    let [a, b] = [runs[1], runs[2]].map(of_gate);
    let (mean, sd) = gates("2 seeds");
    assert!((mean - (a + b) / 2.0).abs() < 1e-15 && (sd.unwrap() - (a - b).abs() / 2f64.sqrt()).abs() < 1e-15);
}

#[test]
fn losses_of_different_texts_are_marked() {
    let dir = tempfile::tempdir().unwrap();
    let to = dir.path().join("compared");
    let [_, run, _, other] = runs();
    let out = compare_unpainted(&[run, other], &["-o", to.to_str().unwrap()]);
    assert!(out.status.success(), "{}", output_of(&out));
    let note =
        "These losses are not of the same tokens: seed 1 reads mixture (seed 1); seed 77 reads mixture (seed 77).";
    assert!(output_of(&out).contains(note), "{}", output_of(&out));
    let figure = |stem: &str| fs::read_to_string(to.join(format!("{stem}.svg"))).unwrap();
    assert!(figure("held_out_loss-coupled").contains("not of the same tokens"));
    assert!(!figure("gate-coupled").contains("not of the same tokens"));
}

#[test]
fn a_rate_that_was_changed_in_training_differs() {
    let dir = tempfile::tempdir().unwrap();
    let [_, run, ..] = runs();
    let changed = dir.path().join("changed");
    copy_folder(run, &changed);
    let log = changed.join("events.jsonl");
    let events = fs::read_to_string(&log).unwrap();
    let (first, rest) = events.split_once('\n').unwrap();
    let change = r#"{"step":3,"at":"2026-01-31T12:00:00+00:00","changed":{"step":3,"key":"train.lr","value":0.0005}}"#;
    fs::write(&log, format!("{first}\n{change}\n{rest}")).unwrap();
    let to = dir.path().join("compared");
    let out = compare_unpainted(&[run, &changed], &["--fold", "-o", to.to_str().unwrap()]);
    assert!(out.status.success(), "{}", output_of(&out));
    let settings = fs::read_to_string(to.join("settings.csv")).unwrap();
    let rows = ["run,train.lr", "lr 0.001,0.001", "lr 0.001 \u{2192} 0.0005,0.001 \u{2192} 0.0005"];
    assert_eq!(settings.lines().collect::<Vec<_>>(), rows, "they are not seeds of one point");
}

/// What a lab declares has its unit and its meaning, which another program's number of the same name need not have.
#[test]
fn a_logged_number_is_not_that_of_a_compared_lab() {
    let dir = tempfile::tempdir().unwrap();
    let to = dir.path().join("compared");
    let [own, ..] = runs();
    let logged = ForeignRun::begin(dir.path(), "logged", &json!({}));
    for step in 1..=2 {
        let line = json!({"step": step, "variant": "model", "accuracy": 50.0, "error": 0.25});
        logged.line("metrics.jsonl", &line);
    }
    let out = compare_unpainted(&[own, &logged.folder], &["-o", to.to_str().unwrap()]);
    assert!(out.status.success(), "{}", output_of(&out));
    let numbers = fs::read_to_string(to.join("numbers.csv")).unwrap();
    let has = |column: &str| numbers.lines().next().unwrap().split(',').any(|name| name == column);
    assert!(has("logged accuracy") && !has("accuracy"), "the lab declares it: {numbers}");
    assert!(has("error") && !has("logged error"), "no lab declares it: {numbers}");
    let figure = fs::read_to_string(to.join("logged_accuracy-model.svg")).unwrap();
    assert!(figure.contains("logged accuracy"), "{figure}");
}

#[test]
fn a_seed_that_is_also_a_setting_names_a_run_once() {
    let dir = tempfile::tempdir().unwrap();
    let run = |seed: u64| {
        let run = ForeignRun::begin(dir.path(), &format!("run-{seed}"), &json!({"seed": seed}));
        run.redescribe(|described| {
            described["seed"] = json!(seed);
            described["run"]["config"]["seed"] = json!(seed);
            described["run"]["config"]["preset"] = json!("run");
        });
        run.step(1);
        run
    };
    let (a, b) = (run(3), run(4));
    let said = output_of(&compare(&[&a.folder, &b.folder], &[]));
    assert!(said.contains("seed 4") && !said.contains("seed 4, seed 4"), "{said}");
}

#[test]
fn a_run_that_is_given_twice_is_reported() {
    let [a, b, ..] = runs();
    assert!(!output_of(&compare(&[a, b], &[])).contains("more than once"));
    let out = compare(&[a, b, a], &[]);
    assert!(out.status.success() && output_of(&out).contains("is given more than once"), "{}", output_of(&out));
}

/// A copy of a run in the state after a kill at step 2, with its first measurements only.
fn cut_off(run: &Path, to: &Path) {
    copy_folder(run, to);
    for log in ["metrics.jsonl", "samples.jsonl"].map(|log| to.join(log)) {
        let text = fs::read_to_string(&log).unwrap();
        let is_early = |line: &&str| {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            line["step"].as_u64().is_some_and(|step| step <= 2)
        };
        fs::write(&log, text.lines().filter(is_early).map(|line| format!("{line}\n")).collect::<String>()).unwrap();
    }
}

#[test]
fn a_number_of_another_step_says_its_own() {
    let dir = tempfile::tempdir().unwrap();
    let (cut, to) = (dir.path().join("cut"), dir.path().join("compared"));
    let [whole, other, ..] = runs();
    cut_off(whole, &cut);
    let out = compare_unpainted(&[cut.as_path(), other], &["--out", to.to_str().unwrap()]);
    assert!(out.status.success(), "{}", output_of(&out));
    let numbers = fs::read_to_string(to.join("numbers.csv")).unwrap();
    let rows: Vec<&str> = numbers.lines().skip(1).collect();
    assert!(rows[0].contains(",2,") && rows[0].contains(" (step 0),"), "the loss is of step 0: {numbers}");
    assert!(rows[2..].iter().all(|row| row.contains(",9,") && !row.contains("(step")), "{numbers}");
}

/// The newest sample of the first variant in a run's folder.
fn last_sample<M: Measurement>(run: &Path) -> Sample {
    let mut found = None;
    let _ = Reader::open(run)
        .unwrap()
        .read_through(|event| match event {
            Event::Sample(sample) if sample.variant == 0 && sample.measurement::<M>().is_some() => found = Some(sample),
            _ => {}
        })
        .unwrap();
    found.unwrap()
}

#[test]
fn views_stand_side_by_side_and_two_runs_are_subtracted() {
    let dir = tempfile::tempdir().unwrap();
    let [b, a, ..] = runs();
    let to = dir.path().join("compared");
    let views = ["--view", "attention", "--view", "next_tokens", "--view", "losses", "--out", to.to_str().unwrap()];
    let out = compare(&[a, b], &views);
    assert!(out.status.success(), "{}", output_of(&out));
    assert!(!to.join("losses-step-9-difference.csv").exists(), "curves lie over each other already");
    if !output_of(&out).contains("as SVG alone") {
        for file in
            ["attention-step-9", "attention-step-9-difference", "next_tokens-step-9-difference", "losses-step-9"]
        {
            assert!(to.join(format!("{file}.png")).is_file(), "{file}");
        }
    }

    let [first, second] = [a, b].map(last_sample::<AttentionMaps>);
    assert_eq!(first.tokens, second.tokens, "the same held-out text");
    let layers = [&first, &second].map(|s| &s.measurement::<AttentionMaps>().unwrap().layers[0]);
    let maps = layers.map(|l| l.weights.matrix(0).unwrap());
    let csv = fs::read_to_string(to.join("attention-step-9-difference.csv")).unwrap();
    let mut rows = csv.lines();
    assert_eq!(rows.next().unwrap(), "query,key,lr 0.001,lr 0.01,difference");
    let mut seen = 0;
    for row in rows {
        let fields: Vec<f64> = row.split(',').map(|f| f.parse().unwrap_or(0.0)).collect();
        let at = fields[0] as usize * maps[0].cols + fields[1] as usize;
        let less = f64::from(maps[1].data[at]) - f64::from(maps[0].data[at]);
        assert!((fields[4] - less).abs() < 1e-6, "{row}: {less}");
        seen += 1;
    }
    let open = (0..maps[0].data.len()).filter(|i| maps[0].data[*i] != 0.0 || maps[1].data[*i] != 0.0).count();
    assert_eq!(seen, open, "every weight that is not masked");

    let likely = [a, b].map(last_sample::<NextTokens>);
    let lists = likely.each_ref().map(|s| &s.measurement::<NextTokens>().unwrap().likely);
    let mut csv = csv::Reader::from_path(to.join("next_tokens-step-9-difference.csv")).unwrap();
    let rows: Vec<csv::StringRecord> = csv.records().map(Result::unwrap).collect();
    assert!(rows.len() >= lists[0].len());
    for (list, column) in [(lists[0], 1), (lists[1], 3)] {
        for (i, likely) in list.iter().enumerate() {
            let row = rows.iter().find(|row| row[0] == likely.token).unwrap();
            assert_eq!((&row[column], &row[column + 1]), (&*(i + 1).to_string(), &*likely.probability.to_string()));
        }
    }
}

#[test]
fn impossible_differences_and_views_are_reported_with_a_reason() {
    let dir = tempfile::tempdir().unwrap();
    let [_, a, _, b] = runs();
    let to = dir.path().join("compared");
    let to = to.to_str().unwrap();
    let out = compare_unpainted(&[a, b], &["--view", "attention", "--out", to]);
    assert!(out.status.success() && output_of(&out).contains("are of different texts"), "{}", output_of(&out));
    for (more, words) in [
        (vec!["--view", "nothing", "--out", to], "there is no view `nothing`"),
        (vec!["--view", "attention", "--step", "10", "--out", to], "no run has a step 10: the last one of any is 9"),
        (vec!["--view", "neuron_graph", "--out", to], "has nothing to show of these runs at step 9"),
    ] {
        let out = compare_unpainted(&[a, b], &more);
        assert!(out.status.code() == Some(2) && output_of(&out).contains(words), "{}", output_of(&out));
    }
}

#[test]
fn runs_that_cannot_be_compared_are_refused_with_a_reason() {
    let dir = tempfile::tempdir().unwrap();
    let [run, ..] = runs();
    for (runs, more, words) in [
        (vec![run], vec![], "1 run given: two to 30"),
        (vec![run, dir.path()], vec![], "is not a run folder"),
        (vec![run, run], vec!["--out", run.to_str().unwrap()], "is an input"),
    ] {
        let out = compare(&runs, &more);
        assert!(out.status.code() == Some(2) && output_of(&out).contains(words), "{}", output_of(&out));
    }
}
