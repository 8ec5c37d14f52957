//! Writes run folders in the way of another program, with docs/protocol.md as the only specification and without
//! Orrery's own writer.

use std::{
    fs::{self, File},
    io::Write,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

/// A run folder to which tests append.
pub struct ForeignRun {
    pub folder: PathBuf,
}

impl ForeignRun {
    /// Makes the folder with its description and settings: `values` are those of `run.json`.
    pub fn begin(runs: &Path, name: &str, values: &Value) -> Self {
        let run = Self { folder: runs.join(name) };
        fs::create_dir_all(&run.folder).unwrap();
        run.describe(&json!({
            "format": 2,
            "protocol": 1,
            "started_at": "2026-01-31T14:25:01+01:00",
            "seed": 3,
            "run": {
                "lab": "foreign",
                "config": {"lab": "foreign", "preset": name, "seed": 3, "values": values},
                "variants": [{"id": "model"}],
            },
        }));
        run
    }

    /// Replaces the description.
    pub fn describe(&self, run: &Value) {
        let hidden = self.folder.join(".run.json");
        fs::write(&hidden, run.to_string()).unwrap();
        fs::rename(hidden, self.folder.join("run.json")).unwrap();
    }

    /// Replaces the description after `change` has edited it.
    pub fn redescribe(&self, change: impl FnOnce(&mut Value)) {
        let described = fs::read_to_string(self.folder.join("run.json")).unwrap();
        let mut described: Value = serde_json::from_str(&described).unwrap();
        change(&mut described);
        self.describe(&described);
    }

    /// Appends text to a log unchanged.
    pub fn append(&self, log: &str, text: &str) {
        let mut file = File::options().append(true).create(true).open(self.folder.join(log)).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }

    pub fn line(&self, log: &str, line: &Value) {
        self.append(log, &format!("{line}\n"));
    }

    /// Appends a step with a loss, a gate and a number on a channel that Orrery does not know.
    pub fn step(&self, step: u64) {
        let (loss, gate) = (3.0 / (step + 1) as f64, 0.001 * step as f64);
        let wall_secs = step as f64 * 0.1;
        let line = json!({"step": step, "variant": "model", "wall_secs": wall_secs, "loss/train": loss, "gate/tanh": gate,
                          "my/ratio": 0.5 * loss});
        self.line("metrics.jsonl", &line);
    }

    pub fn sample(&self, step: u64, channel: &str, payload: &Value) {
        let line =
            json!({"step": step, "variant": "model", "channel": channel, "about": "batch 0", "payload": payload});
        self.line("samples.jsonl", &line);
    }

    /// Appends attention of two heads over three tokens, and a matrix, a table, a text and a histogram on channels that
    /// Orrery does not know.
    pub fn samples(&self, step: u64) {
        let head = json!([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.2, 0.3, 0.5]]);
        let layer = json!({"path": "h.0", "tokens_per_position": 1, "weights": [head, head], "entropy": [0.5, "NaN"],
                           "uniform_entropy": [0.6, 0.6]});
        self.sample(step, "attention.maps", &json!({"layers": [layer]}));
        self.sample(step, "matrix/weights", &json!({"kind": "matrix", "values": [[1.0, -2.0], [0.25, "NaN"]]}));
        self.sample(step, "table/words", &json!({"columns": ["word", "count"], "rows": [["ferry", 3], ["oven", 1]]}));
        self.sample(step, "text/story", &json!({"kind": "text", "text": "the ferry left at dawn"}));
        let histogram = json!({"kind": "histogram", "edges": [0, 1, 2], "counts": [4, 6]});
        self.sample(step, "histogram/gradients", &histogram);
    }

    /// Allows these questions.
    pub fn allow(&self, asks: &[&str]) {
        ["ask", "answer"].iter().for_each(|name| fs::create_dir_all(self.folder.join(name)).unwrap());
        self.redescribe(|described| described["asks"] = json!(asks));
    }

    /// The open questions with their ids, the oldest first.
    pub fn asked(&self) -> Vec<(String, Value)> {
        let names = fs::read_dir(self.folder.join("ask")).unwrap().map(|entry| entry.unwrap().file_name());
        let mut ids: Vec<String> = names
            .filter_map(|name| Some(name.to_str()?.strip_suffix(".json")?.to_owned()))
            .filter(|id| !id.starts_with('.'))
            .collect();
        ids.sort();
        // a question that is withdrawn in the meantime is skipped
        let read = |id: String| {
            let text = fs::read(self.folder.join("ask").join(format!("{id}.json"))).ok()?;
            Some((id, serde_json::from_slice(&text).unwrap()))
        };
        ids.into_iter().filter_map(read).collect()
    }

    /// Answers a question with these fields in addition to its id.
    pub fn answer(&self, id: &str, fields: &Value) {
        let mut answer = json!({"protocol": 1, "id": id, "step": 7, "words": ""});
        answer.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let hidden = self.folder.join(format!("answer/.{id}.json"));
        fs::write(&hidden, answer.to_string()).unwrap();
        fs::rename(hidden, self.folder.join(format!("answer/{id}.json"))).unwrap();
    }

    /// Answers with the attention of one head over the two letters of `hi`.
    pub fn answer_attention(&self, id: &str, step: u64) {
        let layer = json!({"path": "h.0", "tokens_per_position": 1, "weights": [[[1.0, 0.0], [0.25, 0.75]]],
                           "entropy": [0.3], "uniform_entropy": [0.35]});
        let sample = json!({"step": step, "variant": "model", "channel": "attention.maps", "about": "hi",
                            "tokens": ["h", "i"], "payload": {"layers": [layer]}});
        self.answer(id, &json!({"state": "answered", "step": step, "words": "attention of 1 layer", "sample": sample}));
    }

    /// Stores matrices (name, rows, columns) as the weights of a step.
    pub fn weights(&self, step: u64, matrices: &[(&str, usize, usize)]) {
        let (mut tensors, mut values) = (serde_json::Map::new(), vec![]);
        for (name, rows, cols) in matrices {
            let from = values.len();
            let numbers = (0..rows * cols).map(|i| ((i * 37 + 11 * step as usize) % 23) as f32 - 11.0);
            values.extend(numbers.flat_map(f32::to_le_bytes));
            let entry = json!({"dtype": "F32", "shape": [rows, cols], "data_offsets": [from, values.len()]});
            tensors.insert(format!("model/{name}"), entry);
        }
        let variants = json!({"model": {"step": step, "runtime_params": []}}).to_string();
        let sum = format!("{:08x}", crc32(&values));
        tensors.insert("__metadata__".to_owned(), json!({"orrery.variants": variants, "orrery.crc32": sum}));
        let mut header = Value::Object(tensors).to_string();
        header.push_str(&" ".repeat(header.len().next_multiple_of(8) - header.len()));
        let file = [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &values].concat();
        let folder = self.folder.join("snapshots");
        fs::create_dir_all(&folder).unwrap();
        let hidden = folder.join(".step");
        fs::write(&hidden, file).unwrap();
        fs::rename(hidden, folder.join(format!("step-{step:08}.safetensors"))).unwrap();
    }

    pub fn state(&self, step: u64, state: &Value) {
        self.line("events.jsonl", &json!({"step": step, "at": "2026-01-31T14:25:09+01:00", "state": state}));
    }

    /// Writes a finished run of 20 steps.
    pub fn finished(runs: &Path, name: &str, lr: f64) -> Self {
        let run = Self::begin(runs, name, &json!({"lr": lr, "model.layers": 2, "betas": [0.9, 0.99], "amp": true}));
        run.state(0, &json!("running"));
        (1..=20).for_each(|step| run.step(step));
        run.samples(10);
        run.samples(20);
        run.state(20, &json!("finished"));
        run
    }
}

/// The CRC-32 of zip and zlib, bit by bit.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |sum: u32, _: u32| if sum & 1 == 1 { sum >> 1 ^ 0xedb8_8320 } else { sum >> 1 };
    !bytes.iter().fold(!0, |sum, byte| (0..8).fold(sum ^ u32::from(*byte), step))
}
