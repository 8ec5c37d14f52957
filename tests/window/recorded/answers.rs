//! Answers of real probes to the questions in `asked`, read from the files in `answers`. They are stored because
//! rounding differs between processors, and the stored pictures must not.
//!
//! `cargo test --test window record_answers -- --ignored` writes the files again. Compare the pictures afterwards.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use orrery::{
    telemetry::{Event, Sample},
    ui::mirror::Mirror,
};

use super::asked;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/window/recorded/answers")
}

fn read(name: &str) -> Vec<Sample> {
    let path = folder().join(name).with_extension("json");
    let text = fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_slice(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Appends the answers about the graph of neurons at a step.
pub fn emit_graph(events: &mut Vec<Event>, step: u64) {
    static ANSWERS: OnceLock<Vec<Sample>> = OnceLock::new();
    let of_step = ANSWERS.get_or_init(|| read("graph")).iter().filter(|s| s.step == step);
    of_step.for_each(|sample| events.push(Event::Sample(sample.clone())));
}

/// Appends the answers about a text, once for each of these steps.
pub fn emit_reading(events: &mut Vec<Event>, steps: &[u64]) {
    static ANSWERS: OnceLock<Vec<Sample>> = OnceLock::new();
    for sample in ANSWERS.get_or_init(|| read("reading")) {
        for &step in steps {
            events.push(Event::Sample(Sample { step, ..sample.clone() }));
        }
    }
}

/// A mirror in which the model has continued the text that it read.
pub fn written() -> Mirror {
    let mut mirror = super::twins();
    for sample in read("written") {
        mirror.apply(Event::Sample(Sample { step: super::STEPS, ..sample }));
    }
    mirror
}

#[test]
#[ignore = "writes files of this repository"]
fn record_answers() {
    asked::write(&folder(), super::SAMPLED);
}
