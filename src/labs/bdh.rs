//! What the labs of BDH share: the model's knobs, their way into a spec, and a plan of one model that
//! trains on text.

use std::path::PathBuf;

use super::common;
use crate::{
    config::{Config, ConfigError, Knob, Value},
    models::{
        Spec,
        alibi_gpt::AlibiGptSpec,
        bdh::{BdhSpec, Carry, Form, Position},
    },
    trainer::{Plan, ProbeSchedule, VariantSpec},
};

/// `model.*`, at the sizes of the given lab.
pub fn model_knobs(neurons: i64, d_model: i64, layers: i64) -> Vec<Knob> {
    vec![
        Knob::int("model.neurons", "Neurons", neurons, 8, 1_048_576)
            .symbol("n")
            .unit("neurons")
            .tip("Neurons of all heads together. The model grows in this direction alone: every weight matrix has one side of this length."),
        Knob::int("model.d_model", "Width", d_model, 4, 4096)
            .symbol("D")
            .unit("channels")
            .tip("Channels between two layers of neurons. It bounds the rank of the graph between neurons."),
        Knob::int("model.heads", "Heads", 4, 1, 64)
            .symbol("H")
            .tip("The neurons are split evenly among them; a synapse joins neurons of one head. Must divide the neurons."),
        Knob::int("model.layers", "Layers", layers, 1, 64)
            .symbol("L")
            .tip("How often a token passes through. All layers share one set of weights, so this costs time and no memory."),
        Knob::choice("model.position", "Time", "rope", Position::IDS).symbol("U").tip(
            "What time does to a synapse: rope turns it (pairs of neurons at many speeds), alibi lets it fade, both does both.",
        ),
        Knob::choice("model.form", "Form", "code", Form::IDS).tip(
            "The public code (v keeps a residual), equations (4) and (8) of the paper (x does), or both residuals, as some other codes have it.",
        ),
        Knob::float("model.dropout", "Dropout", 0.0, 0.0, 0.9).tip(
            "Share of y that each update sets to 0 at random, while training only; what is left grows to make up for it. The public code trains with 0.1; a corpus that is never seen twice needs none.",
        ),
        Knob::switch("model.through_past", "Gradients through the past", true).tip(
            "Whether learning reaches what earlier tokens have written. Off is training without backpropagation through time.",
        ),
        Knob::text("model.checkpoint", "Checkpoint", "").tip(
            "A trained BDH to begin from: .safetensors, .pt or .pth, of the public PyTorch code, of `orrery export` or of `orrery merge`. The sizes are then the file's; layers above count only if the file does not say them.",
        ),
        Knob::switch("model.gated", "Gates (experimental)", false).tip(
            "BDH-GPU': each head weighs what it writes, and the logits are a learned mean of all layers. The paper names it in one sentence; this is our reading of it.",
        ),
    ]
}

/// `train.*` and `run.*` as the labs of BDH begin.
pub fn training_knobs(steps: i64) -> Vec<Knob> {
    let mut all: Vec<Knob> = common::training_knobs(steps, 4e-3, 8, 128);
    all.push(Knob::int("train.carry", "Carry the state", 0, 0, 4096).unit("updates").tip(
        "Each batch goes on where the one before ended, and the state of every row with it, for so many updates; then both begin anew. Gradients stay within a batch. 0 reads every window by itself. A step takes longer with it.",
    ));
    all.extend(common::run_knobs(100, 200));
    all
}

/// `corpus.*`: bytes of this text.
pub fn corpus_knobs(source: &str) -> Vec<Knob> {
    let each = |k: Knob| match k.key {
        "corpus.source" => k.default_to(Value::Text(source.into())),
        "corpus.vocab" => k.default_to(Value::Int(256)),
        _ => k,
    };
    common::corpus_knobs().into_iter().map(each).collect()
}

/// The model that `model.*` names. Errors name the knob.
pub fn spec(c: &Config) -> Result<BdhSpec, ConfigError> {
    let (n, heads) = (c.usize("model.neurons"), c.usize("model.heads"));
    if !n.is_multiple_of(2 * heads) {
        return Err(ConfigError::Inconsistent(format!(
            "`model.neurons` = {n} must be an even multiple of `model.heads` = {heads}; try {}",
            (n / (2 * heads)).max(1) * 2 * heads
        )));
    }
    Ok(BdhSpec {
        d_model: c.usize("model.d_model"),
        heads,
        neurons: n,
        layers: c.usize("model.layers"),
        position: Position::from_id(c.text("model.position")).unwrap_or_default(),
        form: Form::from_id(c.text("model.form")).unwrap_or_default(),
        dropout: c.f64("model.dropout"),
        through_past: c.bool("model.through_past"),
        gated: c.bool("model.gated"),
        carry: match c.usize("train.carry") {
            0 => None,
            every => Some(Carry { rows: c.usize("train.batch"), every: every as u64 }),
        },
        weights: checkpoint(c),
        ..BdhSpec::default()
    })
}

/// The file to begin from, if one is named.
fn checkpoint(c: &Config) -> Option<PathBuf> {
    let path = c.text("model.checkpoint").trim();
    if path.is_empty() { None } else { Some(PathBuf::from(path)) }
}

/// One variant, `bdh`, of this seed.
pub fn variant(c: &Config) -> Result<VariantSpec, ConfigError> {
    Ok(VariantSpec {
        id: "bdh".into(),
        label: "BDH".into(),
        group: "bdh".into(),
        seed: c.seed,
        model: Spec::Bdh(spec(c)?),
    })
}

/// `variants.*`: what the model is compared with.
pub fn variant_knobs() -> Vec<Knob> {
    vec![Knob::switch("variants.baseline", "Transformer beside it", false).tip(
        "A GPT with ALiBi of as many parameters learns from the same batches. It takes part of the time of each step.",
    )]
}

/// The model and, if it is switched on, the baseline. Errors name the knob.
pub fn variants(c: &Config) -> Result<Vec<VariantSpec>, ConfigError> {
    let model = variant(c)?;
    if !c.bool("variants.baseline") {
        return Ok(vec![model]);
    }
    if !c.text("model.checkpoint").trim().is_empty() {
        return Err(ConfigError::Inconsistent(
            "`variants.baseline` is as large as `model.*` says, and `model.checkpoint` brings sizes of its own; switch one of them off".into(),
        ));
    }
    let (spec, vocab) = (spec(c)?, c.usize("corpus.vocab"));
    let like = AlibiGptSpec::like(spec.parameters(vocab), vocab);
    let baseline = VariantSpec {
        id: "alibi_gpt".into(),
        label: "GPT with ALiBi".into(),
        group: "alibi_gpt".into(),
        seed: c.seed,
        model: Spec::AlibiGpt(like),
    };
    Ok(vec![model, baseline])
}

/// These variants on the corpus of `corpus.*`.
pub fn plan(c: &Config, variants: Vec<VariantSpec>, probes: Vec<ProbeSchedule>) -> Result<Plan, ConfigError> {
    let along = c.usize("train.carry") as u64;
    Ok(Plan { along, ..common::plan(c, common::corpus_spec(c)?, variants, probes) })
}
