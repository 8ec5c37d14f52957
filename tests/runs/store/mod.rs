//! Tests run folders: no event is lost, whatever happens to the folder, and a run that is killed and resumed has the
//! same numbers as an uninterrupted one.

mod checkpoints;
mod exports;
mod folder;
mod kill;
mod replay;

use super::folders;
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use orrery::{
    config::{Config, Knob, Range, Value},
    store::{Reader, Writer},
    telemetry::{Event, Payload, RunInfo, Sample, Sink, StepStats, VariantInfo},
};

fn knobs() -> Vec<Knob> {
    vec![
        Knob::new("train.steps", "Steps", Range::Int { min: 1, max: 1_000_000 }, Value::Int(20)),
        Knob::new("train.lr", "Learning rate", Range::Float { min: 1e-6, max: 1.0, log: false }, Value::Float(1e-3)),
        Knob::new("probe.sentence", "Sentence", Range::Text, Value::Text("the cat \"sat\"\non the mat".into())),
    ]
}

fn info(variants: &[&str]) -> RunInfo {
    let mut config = Config::defaults("fast_slow", &knobs());
    config.preset = "needed".to_owned();
    RunInfo {
        lab: "fast_slow".to_owned(),
        config,
        variants: variants
            .iter()
            .map(|id| VariantInfo {
                id: (*id).to_owned(),
                label: format!("{id}, seed 7"),
                group: (*id).to_owned(),
                seed: 7,
                params: 10,
            })
            .collect(),
        total_steps: 20,
        device: "cpu".to_owned(),
        threads: 1,
        corpus: "mixture (generated), 1.2 MB, bytes".to_owned(),
        vocab: 320,
        tokens_per_step: 64,
        ..RunInfo::default()
    }
}

fn started(variants: &[&str]) -> Event {
    Event::Started(Arc::new(info(variants)))
}

fn step(step: u64, variant: usize, scalars: &[(&str, f64)]) -> Event {
    let scalars = scalars.iter().map(|(c, v)| ((*c).into(), *v)).collect();
    Event::Step(StepStats { step, variant, scalars, wall_secs: step as f64 / 8.0 })
}

fn sample(step: u64, channel: &str, request: Option<u64>, payload: Payload) -> Event {
    Event::Sample(Sample {
        step,
        variant: 0,
        channel: channel.into(),
        about: "held-out window 3".to_owned(),
        tokens: vec!["a".to_owned(), "\u{2423}b".to_owned()],
        request,
        payload: Arc::new(payload),
    })
}

/// Writes the events into a new run folder in `out`.
fn write(out: &Path, events: &[Event]) -> PathBuf {
    let mut writer = Writer::new(out);
    for e in events {
        writer.event(e).unwrap();
    }
    writer.folder().expect("a step makes the folder")
}

fn read(folder: &Path) -> Vec<Event> {
    Reader::open(folder).unwrap().collect()
}

fn without_notices(events: Vec<Event>) -> Vec<Event> {
    events.into_iter().filter(|e| !matches!(e, Event::Notice { .. })).collect()
}

/// The texts of the notices, joined.
fn notices(events: &[Event]) -> String {
    let texts =
        events.iter().filter_map(|e| if let Event::Notice { text, .. } = e { Some(text.as_str()) } else { None });
    texts.collect::<Vec<_>>().join("\n")
}
