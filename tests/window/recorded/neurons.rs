//! What a small BDH with random weights answers: real samples for the views of neurons.

use std::sync::{Arc, OnceLock};

use candle_core::Device;
use orrery::{
    corpus::{self, Corpus},
    models::{Spec, bdh::BdhSpec},
    probe::{self, ProbeContext},
    telemetry::{Args, Event, Sample},
    ui::mirror::Mirror,
};

/// Of the bytes that the model reads.
const VOCAB: usize = 256;

/// Probes whose answers are recorded; asked once a process.
const PROBES: &[&str] = &[
    "activity",
    "reading",
    "surprise",
    "merging",
    "trained_bdh",
    "logit_lens",
    "intervention",
    "top_contexts",
    "query_key_maps",
    "concept_effect",
    "candidates",
];

/// Puts the answers into a mirror, as told at these steps.
pub fn tell(mirror: &mut Mirror, steps: &[u64]) {
    static ANSWERS: OnceLock<Vec<Sample>> = OnceLock::new();
    for sample in ANSWERS.get_or_init(answers) {
        for &step in steps {
            mirror.apply(Event::Sample(Sample { step, ..sample.clone() }));
        }
    }
}

/// A mirror whose reading goes on after its text with what the model wrote.
pub fn written() -> Mirror {
    let mut mirror = super::twins();
    let args = Args::from([
        ("text".to_owned(), orrery::config::Value::Text("the tide".to_owned())),
        ("write".to_owned(), orrery::config::Value::Int(24)),
    ]);
    for sample in asked(&["reading"], &args) {
        mirror.apply(Event::Sample(Sample { step: super::STEPS, ..sample }));
    }
    mirror
}

fn answers() -> Vec<Sample> {
    let args = Args::from([
        ("longest".to_owned(), orrery::config::Value::Int(160)),
        ("neuron".to_owned(), orrery::config::Value::Text("0:12".to_owned())),
        ("tokens".to_owned(), orrery::config::Value::Int(8192)),
        ("neurons".to_owned(), orrery::config::Value::Text("0:12, 1:3".to_owned())),
        ("with".to_owned(), orrery::config::Value::Text(other_model(VOCAB).display().to_string())),
    ]);
    asked(PROBES, &args)
}

/// What a model of random weights answers to these questions.
fn asked(probes: &[&str], args: &Args) -> Vec<Sample> {
    let corpus = Corpus::open(&corpus::Spec {
        source: corpus::Source::Generated("harbour".into()),
        tokenizer: corpus::TokenizerSpec::Byte { vocab: VOCAB },
        held_out: 0.1,
        seed: 1,
    })
    .unwrap();
    let spec = BdhSpec { d_model: 16, heads: 2, neurons: 128, layers: 3, ..BdhSpec::default() };
    let mut model = Spec::Bdh(spec).build(corpus.vocab(), 3, &Device::Cpu).unwrap();
    let mut all = vec![];
    for id in probes {
        let probe = probe::find(id).unwrap();
        let mut args = if *id == "concept_effect" { concept_args() } else { args.clone() };
        let knobs = probe.knobs();
        args.retain(|name, _| knobs.is_empty() || knobs.iter().any(|k| k.key == name));
        let mut subject = ProbeContext::alone(model.as_mut(), &corpus, &Device::Cpu, &args);
        for f in probe.ask(&mut subject).unwrap() {
            all.push(Sample {
                step: 0,
                variant: 0,
                channel: f.payload.channel().unwrap().into(),
                about: f.about,
                tokens: f.tokens,
                request: None,
                payload: Arc::new(f.payload),
            });
        }
    }
    all
}

/// Two lists of sentences, and a synapse to silence.
fn concept_args() -> Args {
    let lines = |nouns: &[&str]| nouns.iter().map(|n| format!("We spoke of the {n}.")).collect::<Vec<_>>().join("\n");
    let text = |name: &str, text: String| (name.to_owned(), orrery::config::Value::Text(text));
    Args::from([
        text("target", "synapses".to_owned()),
        text("synapses", "2:12:70".to_owned()),
        text("with", lines(&["euro", "pound", "yen", "franc", "peso", "krone", "rouble", "dollar"])),
        text("without", lines(&["wheat", "timber", "coal", "butter", "copper", "river", "harbour", "paper"])),
    ])
}

/// Another model of the same width in a file, for the one that is recorded to be merged with.
fn other_model(vocab: usize) -> std::path::PathBuf {
    let spec = BdhSpec { d_model: 16, heads: 2, neurons: 96, layers: 3, ..BdhSpec::default() };
    let model = Spec::Bdh(spec.clone()).build(vocab, 5, &Device::Cpu).unwrap();
    let weights: Vec<_> = model.params().iter().map(|(n, v)| (n.to_owned(), v.as_tensor().clone())).collect();
    let out = orrery::models::bdh::export_state_dict(&spec, &weights).unwrap();
    // The folder is this process's own, because others may write theirs at the same time. The file's name
    // is shown, so it is the same each time.
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(std::process::id().to_string());
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("second-model.safetensors");
    orrery::store::tensors::write(&path, &out.tensors, &out.metadata).unwrap();
    path
}
