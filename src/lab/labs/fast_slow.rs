//! The fast-slow gate lab (arXiv 2606.16730): does a slow path that starts closed open by itself?

mod drawing;
mod headlines;
pub mod settings;

use super::{
    Lab, Pane,
    experiment::{Experiment, Variant},
};
use crate::{
    config::{Config, ConfigError, Settings},
    models::{
        ModelSpec,
        dense::{DenseSpec, GatedAct},
        fast_slow::{Approach, FastSlowSpec},
    },
    telemetry::measurements::{
        AttentionMapsArgs, CausalityArgs, GeneratorDistanceArgs, NextTokensArgs, ResidualArgs, StaircaseArgs,
        TokenResidualsArgs,
    },
    trainer::Plan,
};
use settings::{ApproachMethod, ApproachSettings, FastSlowSettings, ModelSettings};

pub static LAB: Lab = Lab {
    id: "fast_slow",
    title: "Fast-slow gate",
    question: "A slow path is wired in through a gate that starts at exactly zero. Does training open it, and is it worth opening?",
    source: "Fast-slow hierarchical pretraining, arXiv 2606.16730",
    lesson: include_str!("../../../assets/lessons/fast_slow.md"),
    groups: &[
        ("model", "Model"),
        ("variants", "Variants"),
        ("approach", "Equilibrium"),
        ("corpus", "Text"),
        ("train", "Training"),
        ("probe", "Probes"),
        ("run", "Run"),
    ],
    essentials: &[
        "model.coupling_scale",
        "train.lr",
        "corpus.source",
        "model.fast_window",
        "model.upsample",
        "approach.method",
        "variants.seeds",
        "train.steps",
    ],
    knobs: FastSlowSettings::schema,
    presets: presets! {
        "fast_slow", "Live",
        "Twins on generated prose, byte by byte: the gate drifts, coupled and frozen stay together.";
        "fast_slow_needed", "Needed",
        "A fact is told once and asked for far beyond the fast path's reach: the gate must open.";
        "fast_slow_seeds", "Needed, three seeds",
        "The same over three seeds, so that the difference can be set against chance.";
        "fast_slow_story", "Needed, in words",
        "The same question as readable stories: a name given in the first sentence, asked for in the last.";
        "fast_slow_paper", "Paper", "The paper's setting: learning rate 1e-4, 650 steps, with both dense baselines.";
    },
    plan: |config| plan(config, &FastSlowSettings::read(config)?),
    drawing: drawing::draw,
    panes: &[
        Pane::tile("gate", 0),
        Pane::tab("staircase"),
        Pane::tile("losses", 1),
        Pane::tab("loss_difference"),
        Pane::tab("accuracy"),
        Pane::tile("next_tokens", 1),
        Pane::tab("causality"),
        Pane::tab("attention"),
        Pane::more("token_residuals"),
        Pane::more("residual"),
        Pane::more("generator_distance"),
        Pane::more("attention_chain"),
        Pane::more("cost"),
    ],
    headlines: headlines::ALL,
    large_numbers: headlines::LARGE,
    opens_with_run: true,
};

impl ApproachSettings {
    fn approach(&self) -> Approach {
        let Self { passes, tolerance, max_iters, .. } = *self;
        match self.method {
            ApproachMethod::OnePass => Approach::OnePass,
            ApproachMethod::Passes => Approach::Passes { passes },
            ApproachMethod::Anderson => Approach::Anderson { passes },
            ApproachMethod::Deq => Approach::Deq { tolerance, max_iters },
        }
    }
}

fn fast_slow(s: &FastSlowSettings, frozen: bool) -> Result<FastSlowSpec, ConfigError> {
    let m = &s.model;
    check_heads(m)?;
    Ok(FastSlowSpec {
        d_model: m.d_model,
        heads: m.heads,
        kv_heads: m.kv_heads,
        pool: m.pool,
        n_pre: m.n_pre,
        n_post: m.n_post,
        n_slow: m.n_slow,
        n_rounds: m.n_rounds,
        projector_hidden: positive(m.projector_hidden),
        freeze_coupling: frozen,
        coupling_scale: m.coupling_scale,
        approach: s.approach.approach(),
        aux_lambda: s.approach.aux_lambda,
        constraint: s.approach.constraint,
        fast_window: positive(m.fast_window),
        upsample: m.upsample,
    })
}

/// A size where 0 means "none".
fn positive(n: usize) -> Option<usize> {
    Some(n).filter(|n| *n > 0)
}

fn check_heads(m: &ModelSettings) -> Result<(), ConfigError> {
    let ModelSettings { d_model: d, heads, kv_heads: kv, .. } = *m;
    if !d.is_multiple_of(2 * heads) {
        let fits = (d / (2 * heads)).max(1) * 2 * heads;
        return Err(ConfigError::inconsistent(
            ModelSettings::d_model.name,
            format!("`model.d_model` = {d} must be an even multiple of `model.heads` = {heads}; try {fits}"),
        ));
    }
    if !heads.is_multiple_of(kv) {
        return Err(ConfigError::inconsistent(
            ModelSettings::kv_heads.name,
            format!("`model.kv_heads` = {kv} must divide `model.heads` = {heads}"),
        ));
    }
    Ok(())
}

/// The two baselines of the paper at their sizes, scaled with the width knob.
fn dense(m: &ModelSettings, act: GatedAct) -> DenseSpec {
    let ModelSettings { d_model: d, heads, kv_heads, .. } = *m;
    let d_model = match act {
        GatedAct::Swiglu => d,
        // three quarters of the width, rounded to a size the heads allow: 96 at the defaults
        GatedAct::Geglu => (3 * d / 4 / (2 * heads)).max(1) * 2 * heads,
    };
    DenseSpec { d_model, layers: 4, heads, kv_heads, hidden: 4 * d_model, act, window: positive(m.fast_window) }
}

fn variants(s: &FastSlowSettings) -> Result<Vec<Variant>, ConfigError> {
    let mut all = vec![];
    if s.variants.coupled {
        all.push(Variant::new("coupled", "coupled", ModelSpec::FastSlow(fast_slow(s, false)?)));
    }
    if s.variants.frozen {
        all.push(Variant::new("frozen", "frozen", ModelSpec::FastSlow(fast_slow(s, true)?)));
    }
    if s.variants.dense_swiglu {
        all.push(Variant::new("dense_swiglu", "dense, SwiGLU", ModelSpec::Dense(dense(&s.model, GatedAct::Swiglu))));
    }
    if s.variants.dense_geglu {
        all.push(Variant::new("dense_geglu", "dense, GeGLU", ModelSpec::Dense(dense(&s.model, GatedAct::Geglu))));
    }
    Ok(all)
}

fn plan(config: &Config, s: &FastSlowSettings) -> Result<Plan, ConfigError> {
    let experiment = Experiment { seeds: s.variants.seeds, ..Experiment::new(config, &s.train, &s.run) };
    let every = &s.probe;
    let probes = vec![
        every.staircase.ask(&StaircaseArgs::default()),
        every.attention_maps.ask(&AttentionMapsArgs::default()),
        every.residual.ask(&ResidualArgs::default()),
        every.residual.ask(&TokenResidualsArgs::default()),
        every.generator_distance.ask(&GeneratorDistanceArgs::default()),
        every.next_tokens.ask(&NextTokensArgs::default()),
        every.causality.ask(&CausalityArgs::default()),
    ];
    Ok(experiment.plan(s.corpus.spec()?, &variants(s)?, probes))
}
