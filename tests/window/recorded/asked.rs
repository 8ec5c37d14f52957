//! Runs the probes whose answers are stored in `answers`, on small models with random weights. Only the test that
//! writes these files uses this module.

use std::{fs, path::Path};

use candle_core::{Device, Tensor};
use orrery::{
    config::{Value, select_arguments},
    corpus::{self, Corpus},
    models::{
        ModelSpec, Trainable,
        bdh::{Bdh, BdhSpec},
    },
    probe::{self, ProbeInputs},
    telemetry::{Args, Sample},
};

use super::{Noise, bare_sample};
use crate::bdh_file::write_bdh;

/// The vocabulary of the models: all bytes.
const VOCAB: usize = 256;

/// Probes of a model that reads a text.
const READING: &[&str] = &[
    "activity",
    "reading",
    "surprise",
    "merging",
    "trained_bdh",
    "logit_lens",
    "intervention",
    "top_contexts",
    "query_key_maps",
    "candidates",
];

/// Probes of the graph of a model's neurons.
const GRAPH: &[&str] = &["neuron_graph", "graph_curve", "graph_modularity", "graph_neuron"];

/// Writes all answers into a folder, with one file per list of samples.
pub fn write(folder: &Path, steps: [u64; 3]) {
    let store = |name: &str, samples: &[Sample]| {
        let lines: Vec<_> = samples.iter().map(|s| serde_json::to_string(s).unwrap()).collect();
        fs::write(folder.join(name).with_extension("json"), format!("[\n{}\n]\n", lines.join(",\n"))).unwrap();
    };
    let most = steps[2] as f64;
    store("graph", &steps.map(|step| graph(step, step as f64 / most)).concat());
    store("reading", &reading(READING, &reading_args()));
    let written = [("text", Value::Text("the tide".into())), ("write", Value::Int(24))];
    store("written", &reading(&["reading"], &args(written)));
}

fn args<const N: usize>(all: [(&str, Value); N]) -> Args {
    all.map(|(name, value)| (name.to_owned(), value)).into()
}

fn corpus() -> Corpus {
    Corpus::open(&corpus::CorpusSpec::new(
        corpus::Source::Generated("harbour".into()),
        corpus::TokenizerSpec::Byte { vocab: VOCAB },
    ))
    .unwrap()
}

fn ask_probes(probes: &[&str], step: u64, mut model: Box<dyn Trainable>, seed: u64, args: &Args) -> Vec<Sample> {
    let corpus = corpus();
    let mut all = vec![];
    for id in probes {
        let probe = probe::find(id).unwrap();
        let args = select_arguments(&(probe.knobs)(), args);
        let inputs = ProbeInputs { seed, ..ProbeInputs::standalone(&corpus, &Device::Cpu) };
        for f in (probe.ask)(model.as_mut(), &args, &inputs).unwrap() {
            all.push(Sample { step, about: f.about, tokens: f.tokens, ..bare_sample(f.payload) });
        }
    }
    all
}

fn reading_args() -> Args {
    args([
        ("longest", Value::Int(160)),
        ("neuron", Value::Text("0:12".into())),
        ("tokens", Value::Int(8192)),
        ("neurons", Value::Text("0:12, 1:3".into())),
        ("with", Value::Text(other_model().display().to_string())),
    ])
}

/// The answers of a model with random weights to these probes.
fn reading(probes: &[&str], args: &Args) -> Vec<Sample> {
    let spec = BdhSpec { d_model: 16, heads: 2, neurons: 128, layers: 3, ..BdhSpec::default() };
    let model = ModelSpec::Bdh(spec).build(VOCAB, 3, &Device::Cpu).unwrap();
    ask_probes(probes, 0, model, 0, args)
}

/// Writes a second model of the same width into a file, because the probe `merging` merges the recorded model with one
/// from a file. The pictures show the file's name, so it is fixed.
fn other_model() -> std::path::PathBuf {
    let spec = BdhSpec { d_model: 16, heads: 2, neurons: 96, layers: 3, ..BdhSpec::default() };
    let path = tempfile::tempdir().unwrap().keep().join("second-model.safetensors");
    write_bdh(&path, &Bdh::new(&spec, VOCAB, 5, &Device::Cpu).unwrap());
    path
}

const NEURONS: usize = 512;
const WIDTH: usize = 16;

/// Decoder and encoder rows: pure noise at `strength` 0; at 1, eight communities and neurons of very unequal norm.
fn weights(strength: f64) -> (Vec<f32>, Vec<f32>) {
    let mut noise = Noise::new(11);
    let axes: Vec<Vec<f64>> = (0..8).map(|_| (0..WIDTH).map(|_| noise.next()).collect()).collect();
    let mut rows = |push: f64| -> Vec<f32> {
        let row = |i: usize, noise: &mut Noise| -> Vec<f32> {
            let loud = (0.6 * strength * noise.next()).exp();
            let axis = &axes[i * 8 / NEURONS];
            axis.iter().map(|a| (loud * (noise.next() + strength * push * a)) as f32 * 0.02).collect()
        };
        (0..NEURONS).flat_map(|i| row(i, &mut noise)).collect()
    };
    (rows(0.5), rows(0.4))
}

/// The answers about the graph of a model whose neurons form communities of this strength.
fn graph(step: u64, strength: f64) -> Vec<Sample> {
    let spec = BdhSpec { neurons: NEURONS, d_model: WIDTH, heads: 4, layers: 2, ..BdhSpec::default() };
    let model = ModelSpec::Bdh(spec).build(VOCAB, 3, &Device::Cpu).unwrap();
    let (decoder, encoder) = weights(strength);
    let decoder = Tensor::from_vec(decoder, (NEURONS, WIDTH), &Device::Cpu).unwrap();
    let encoder = Tensor::from_vec(encoder, (4, NEURONS / 4, WIDTH), &Device::Cpu).unwrap();
    model.params().load("decoder", &decoder).unwrap();
    model.params().load("encoder", &encoder.transpose(1, 2).unwrap().contiguous().unwrap()).unwrap();
    let args = args([("edges", 3000), ("most", 16_000), ("restarts", 2)].map(|(k, v)| (k, Value::Int(v))));
    ask_probes(GRAPH, step, model, 1, &args)
}
