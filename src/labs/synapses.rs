//! The Synapses lab (BDH-GPU, arXiv 2509.26507): a model whose attention state is the strength of
//! synapses between neurons, read token by token.

use super::{Lab, Pane, Preset, bdh};
use crate::{
    config::{Config, ConfigError, Knob},
    trainer::Plan,
};

pub static LAB: Lab = Lab {
    id: "synapses",
    title: "Synapses",
    question: "Does a single synapse come to stand for a concept?",
    source: "The Dragon Hatchling (BDH), arXiv 2509.26507",
    lesson: include_str!("../../assets/lessons/synapses.md"),
    groups: &[("model", "Model"), ("corpus", "Text"), ("train", "Training"), ("run", "Run")],
    knobs,
    presets: &[Preset {
        id: "synapses",
        title: "Prose",
        about: "2,048 neurons read generated prose, byte by byte.",
        toml: include_str!("../../configs/synapses.toml"),
    }],
    plan,
    panes: &[Pane { view: "losses", column: 0, share: 1.0, tab: false }],
    opens_with_run: false,
};

fn knobs() -> Vec<Knob> {
    let mut all = bdh::model_knobs(2048, 64, 4);
    all.extend(bdh::corpus_knobs("mixture"));
    all.extend(bdh::training_knobs(600));
    all
}

fn plan(c: &Config) -> Result<Plan, ConfigError> {
    bdh::plan(c, vec![bdh::variant(c)?], vec![])
}
