//! The stages of merging: a base, two children that take over its weights and go on with texts of their
//! own, and the merged model, which takes over both, side by side.
//!
//! All four are variants of one run, each with its own part of the steps, so that everything that can be
//! asked of a model can be asked of each; the worker trains, hands weights down and tells, and the window
//! only shows what came. The command `merge-story` is this plan without a window.

use super::{bdh, common};
use crate::{
    config::{Config, ConfigError, Knob, Value},
    corpus,
    models::{Spec, bdh::BdhSpec},
    telemetry::Args,
    trainer::{Part, Plan, ProbeSchedule, VariantSpec},
};

/// The variants' ids, in order.
pub const IDS: [&str; 4] = ["base", "child_a", "child_b", "merged"];
const LABELS: [&str; 4] = ["base", "child A", "child B", "merged"];

/// `merging.*` without the files.
pub fn knobs() -> Vec<Knob> {
    vec![
        Knob::int("merging.tune", "Tune two children", 0, 0, 10_000_000).unit("updates").tip(
            "When the steps of the base are done, two copies of it go on for so many updates, each with a text of its own, and are then merged into one. 0 trains one model and merges nothing.",
        ),
        Knob::choice("merging.text_a", "Child A reads", "parliament_en_fr", common::SOURCES).tip(
            "The text that the first child goes on with. The base reads what the section Text says. A file, below, takes its place.",
        ),
        Knob::choice("merging.text_b", "Child B reads", "parliament_en_de", common::SOURCES).tip(
            "The text that the second child goes on with. A file, below, takes its place.",
        ),
        Knob::float("merging.lr", "Children's rate", 0.5, 0.001, 1.0).tip(
            "The learning rate of the children, and of the merged model, as a share of the base's. The further children go, the less the average of their embeddings is either's.",
        ),
        Knob::int("merging.after", "Tune the merged", 0, 0, 10_000_000).unit("updates").tip(
            "Updates of the merged model, on all three texts in turn. 0 leaves it as the merging made it, which is what the paper asks about.",
        ),
        Knob::int("merging.write", "Samples", 100, 0, 4096).unit("tokens").tip(
            "How much each model writes after a prompt of each text, whenever its losses are measured. 0 writes nothing.",
        ),
        Knob::text("merging.checkpoint", "Merge with", "").tip(
            "Without children: a second trained BDH (.safetensors, .pt, .pth) of the same width, heads and layers. The view Merging puts both side by side and compares their losses; `orrery merge` writes the file.",
        ),
    ]
}

/// `merging.file_*`; they stand behind `corpus.file`, which a dropped file is given to.
pub fn file_knobs() -> Vec<Knob> {
    vec![
        Knob::text("merging.file_a", "File of child A", "").tip("A text file of your own for the first child."),
        Knob::text("merging.file_b", "File of child B", "").tip("A text file of your own for the second child."),
    ]
}

/// Whether the settings ask for children.
pub fn is_on(c: &Config) -> bool {
    c.usize("merging.tune") > 0
}

/// What `merging.text_<child>` and `merging.file_<child>` name, in the run's tokens.
fn text(c: &Config, child: &str) -> Result<corpus::Spec, ConfigError> {
    common::text_spec(c, c.text(&format!("merging.text_{child}")), c.text(&format!("merging.file_{child}")))
}

/// The four variants with their parts, and the probes that go along. Errors name the knob.
pub fn plan(c: &Config, mut probes: Vec<ProbeSchedule>) -> Result<Plan, ConfigError> {
    for (key, why) in [
        ("train.carry", "a carried state belongs to one text"),
        ("variants.baseline", "a Transformer cannot be merged"),
        ("model.gated", "a gate weighs what all neurons of a head write, so gates cannot be merged"),
    ] {
        if c.bool(key) || c.usize(key) > 0 {
            return Err(ConfigError::Inconsistent(format!(
                "`{key}` is on and `merging.tune` asks for children, but {why}; switch one of them off"
            )));
        }
    }
    if !matches!(c.text("corpus.tokenizer"), "byte" | "huggingface") {
        return Err(ConfigError::Inconsistent(format!(
            "`corpus.tokenizer` = {} is made anew for each text, and merged models must read the same tokens; choose byte or huggingface",
            c.text("corpus.tokenizer")
        )));
    }
    let one = bdh::spec(c)?;
    let specs = [one.clone(), one.clone(), one.clone(), BdhSpec { twofold: true, ..one }];
    let variants = IDS.iter().zip(LABELS).zip(specs).map(|((id, label), spec)| VariantSpec {
        id: (*id).into(),
        label: label.into(),
        group: (*id).into(),
        seed: c.seed,
        model: Spec::Bdh(spec),
    });
    let args = [
        ("windows", c.usize("run.eval_windows")),
        ("window", c.usize("train.window")),
        ("write", c.usize("merging.write")),
    ];
    let args: Args = args.into_iter().map(|(key, n)| (key.to_owned(), Value::Int(n as i64))).collect();
    probes.push(ProbeSchedule { probe: "texts".into(), every: c.usize("probe.texts_every") as u64, args });
    let plan = bdh::plan(c, variants.collect(), probes)?;
    let base = plan.steps;
    let born = base + c.usize("merging.tune") as u64;
    let steps = born + c.usize("merging.after") as u64;
    let lr = c.f64("merging.lr");
    let part = |from, until, heir_of: &[usize], texts: &[usize], lr_share| Part {
        from,
        until,
        heir_of: heir_of.to_vec(),
        texts: texts.to_vec(),
        lr_share,
    };
    Ok(Plan {
        steps,
        more_texts: vec![text(c, "a")?, text(c, "b")?],
        parts: vec![
            part(0, base, &[], &[0], 1.0),
            part(base, born, &[0], &[1], lr),
            part(base, born, &[0], &[2], lr),
            part(born, steps, &[1, 2], &[0, 1, 2], lr),
        ],
        ..plan
    })
}
