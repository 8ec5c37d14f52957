//! Runs the code blocks of docs/notebooks.md unchanged, with the real binary and the installed Python, and compares
//! their results with the run's numbers. Skipped with a message if there is no Python with pandas.

use std::{fs, path::Path, process::Command as Process};

use orrery::{
    config::Config,
    store::{Reader, Writer},
    telemetry::{
        Event,
        measurements::{AttentionMaps, NeuronGraph},
    },
    trainer::DriveOptions,
};

use crate::{
    command::output_of,
    config_with::config_with,
    trainer::{fast_slow, started, train},
};

const PAGE: &str = include_str!("../../docs/notebooks.md");

/// The page's code blocks of one language, in order.
fn blocks(language: &str) -> Vec<String> {
    let mut found = vec![];
    for part in PAGE.split("```").skip(1).step_by(2) {
        if let Some(lines) = part.strip_prefix(language).and_then(|rest| rest.strip_prefix('\n')) {
            found.push(lines.to_owned());
        }
    }
    found
}

fn python() -> String {
    std::env::var("ORRERY_PYTHON").unwrap_or_else(|_| "python3".to_owned())
}

/// Tries to import these modules; the error is the reason why it fails.
fn has(modules: &str) -> Result<(), String> {
    let out = Process::new(python()).args(["-c", &format!("import {modules}")]).output();
    match out {
        Ok(out) if out.status.success() => Ok(()),
        Ok(out) => Err(String::from_utf8_lossy(&out.stderr).lines().last().unwrap_or_default().to_owned()),
        Err(e) => Err(format!("{}: {e}", python())),
    }
}

/// Runs the commands of a block, with the run's folder in place of RUN.
fn run_commands(block: &str, run: &Path, here: &Path) {
    for line in block.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(words[0], "orrery", "{line}");
        let run = run.to_str().unwrap();
        let args = words[1..].iter().map(|word| if *word == "RUN" { run } else { word });
        let out = Process::new(env!("CARGO_BIN_EXE_orrery")).args(args).current_dir(here).output().unwrap();
        assert!(out.status.success(), "{line}: {}", output_of(&out));
    }
}

/// Runs Python code and returns its output.
fn run_python(lines: &str, here: &Path) -> String {
    let mut process = Process::new(python());
    let out = process.args(["-c", lines]).env("MPLBACKEND", "Agg").current_dir(here).output().unwrap();
    assert!(out.status.success(), "{lines}\n{}", output_of(&out));
    String::from_utf8(out.stdout).unwrap()
}

fn recorded(config: &Config, runs: &Path) -> std::path::PathBuf {
    let writer = Writer::at_once(runs);
    train(config, DriveOptions { writer: Some(writer.clone()), ..started() });
    writer.folder().unwrap()
}

fn events(run: &Path) -> Vec<Event> {
    let mut all = vec![];
    let _ = Reader::open(run).unwrap().read_through(|event| all.push(event)).unwrap();
    all
}

fn numbers(text: &str) -> Vec<f64> {
    text.split_whitespace().map(|word| word.parse().unwrap_or_else(|_| panic!("{word}"))).collect()
}

#[test]
fn the_gate_and_the_attention_are_those_of_the_run() {
    if let Err(why) = has("pandas, numpy, matplotlib") {
        eprintln!("skipped: no Python with pandas and matplotlib here ({why})");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let (_, config) = fast_slow(6, &[("probe.attention_maps_every", "3")]);
    let run = recorded(&config, dir.path());
    run_commands(&blocks("sh")[0], &run, dir.path());
    let python = blocks("python");
    let [gate, attention, _] = python.as_slice() else { panic!("{} blocks", python.len()) };
    let (events, all) = (events(&run), format!("{gate}\n{attention}"));

    let printed = run_python(&format!("{all}\nprint(*[repr(float(v)) for v in gate['coupled'].dropna()])"), dir.path());
    let mut values: std::collections::BTreeMap<u64, f64> = Default::default();
    for event in &events {
        let Event::Step(stats) = event else { continue };
        let gate = stats.scalars.iter().find(|(c, _)| stats.variant == 0 && c.as_str() == "gate/tanh");
        values.extend(gate.map(|(_, v)| (stats.step, *v)));
    }
    assert_eq!(numbers(&printed), values.into_values().collect::<Vec<_>>());

    let printed = run_python(&format!("{all}\nprint(*attention.to_numpy().ravel())"), dir.path());
    let sample = events.iter().rev().find_map(|event| match event {
        Event::Sample(s) if s.variant == 0 => s.measurement::<AttentionMaps>(),
        _ => None,
    });
    let map = sample.unwrap().layers[0].weights.matrix(0).unwrap();
    let found = numbers(&printed);
    assert_eq!(found.len(), map.data.len());
    assert!(found.iter().zip(map.data).all(|(a, b)| *a as f32 == *b), "every weight");
    for picture in ["gate.png", "attention.png"] {
        assert!(fs::metadata(dir.path().join(picture)).unwrap().len() > 2000, "{picture}");
    }
}

#[test]
fn the_graph_is_that_of_the_run() {
    if let Err(why) = has("pandas, matplotlib, networkx") {
        eprintln!("skipped: no Python with pandas and networkx here ({why})");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let small = [
        ("model.neurons", "128"),
        ("model.d_model", "16"),
        ("model.layers", "2"),
        ("train.window", "32"),
        ("train.steps", "2"),
        ("run.device", "cpu"),
        ("probe.neuron_graph_every", "1"),
        ("probe.graph_modularity_searches", "1"),
    ];
    let run = recorded(&config_with("neuron_graph", None, &small), dir.path());
    run_commands(&blocks("sh")[1], &run, dir.path());
    let python = blocks("python");
    let head = "import pandas as pd\nimport matplotlib.pyplot as plt\n";
    let lines = format!("{head}{}\nprint(len(nodes), len(edges), edges.weight.sum())", python.last().unwrap());
    let found = numbers(&run_python(&lines, dir.path()));
    let events = events(&run);
    let graph = events.iter().rev().find_map(|event| match event {
        Event::Sample(s) => s.measurement::<NeuronGraph>(),
        _ => None,
    });
    let graph = graph.unwrap();
    assert_eq!(found[..2], [graph.neurons.len() as f64, graph.edges.len() as f64]);
    let sum: f64 = graph.edges.iter().map(|(.., w)| f64::from(w)).sum();
    assert!((found[2] - sum).abs() < 1e-4 * sum.abs(), "{} {sum}", found[2]);
    assert!(dir.path().join("graph.png").is_file());
}
