//! The fast-slow gate lab (arXiv 2606.16730): does a slow path that starts closed open by itself?

use super::{Lab, Pane, Preset, common};
use crate::{
    config::{Config, ConfigError, Knob},
    models::{
        Spec,
        dense::{DenseSpec, GatedAct},
        fast_slow::{Approach, Constraint, FastSlowSpec, Upsample},
    },
    trainer::{Plan, ProbeSchedule, VariantSpec},
};

pub static LAB: Lab = Lab {
    id: "fast_slow",
    title: "Fast-slow gate",
    question: "A slow path is wired in through a gate that starts at exactly zero. Does training open it, and is it worth opening?",
    source: "Fast-slow hierarchical pretraining, arXiv 2606.16730",
    lesson: include_str!("../../assets/lessons/fast_slow.md"),
    groups: &[
        ("model", "Model"),
        ("variants", "Variants"),
        ("approach", "Equilibrium"),
        ("corpus", "Text"),
        ("train", "Training"),
        ("probe", "Probes"),
        ("run", "Run"),
    ],
    knobs,
    presets: &[
        Preset {
            id: "fast_slow",
            title: "Live",
            about: "Twins on generated prose, byte by byte: the gate drifts, coupled and frozen stay together.",
            toml: include_str!("../../configs/fast_slow.toml"),
        },
        Preset {
            id: "fast_slow_needed",
            title: "Needed",
            about: "A fact is told once and asked for far beyond the fast path's reach: the gate must open.",
            toml: include_str!("../../configs/fast_slow_needed.toml"),
        },
        Preset {
            id: "fast_slow_seeds",
            title: "Needed, three seeds",
            about: "The same over three seeds, so that the difference can be set against chance.",
            toml: include_str!("../../configs/fast_slow_seeds.toml"),
        },
        Preset {
            id: "fast_slow_story",
            title: "Needed, in words",
            about: "The same question as readable stories: a name given in the first sentence, asked for in the last.",
            toml: include_str!("../../configs/fast_slow_story.toml"),
        },
        Preset {
            id: "fast_slow_paper",
            title: "Paper",
            about: "The paper's setting: learning rate 1e-4, 650 steps, with both dense baselines.",
            toml: include_str!("../../configs/fast_slow_paper.toml"),
        },
    ],
    plan,
    panes: &[
        Pane { view: "gate", column: 0, share: 0.5, tab: false },
        Pane { view: "staircase", column: 0, share: 0.5, tab: false },
        Pane { view: "causality", column: 0, share: 0.5, tab: true },
        Pane { view: "residual", column: 0, share: 0.5, tab: true },
        Pane { view: "losses", column: 1, share: 0.5, tab: false },
        Pane { view: "loss_difference", column: 1, share: 0.5, tab: true },
        Pane { view: "accuracy", column: 1, share: 0.5, tab: true },
        Pane { view: "attention", column: 1, share: 0.5, tab: false },
        Pane { view: "cost", column: 1, share: 0.5, tab: true },
    ],
    opens_with_run: true,
};

fn knobs() -> Vec<Knob> {
    let mut all = model_knobs();
    all.extend(variant_knobs());
    all.extend(approach_knobs());
    all.extend(common::corpus_knobs());
    all.extend(common::training_knobs(650, 1e-3, 4, 256));
    all.extend(probe_knobs());
    all.extend(common::run_knobs(25, 100));
    all
}

fn model_knobs() -> Vec<Knob> {
    vec![
        Knob::float("model.coupling_scale", "Coupling scale", 1.0, 0.0, 10.0).live().symbol("s").tip(
            "Multiplies the gate in every forward pass. 1 is the model itself; the paper's causality test turns it to 10. It acts on training too while training runs.",
        ),
        Knob::int("model.d_model", "Width", 128, 8, 1024).symbol("D").unit("channels").tip(
            "Channels of every token in both paths. Must be a multiple of the heads.",
        ),
        Knob::int("model.heads", "Query heads", 4, 1, 32).symbol("H").tip(
            "Attention heads. Each has D / H channels, which must be even for the rotary embedding.",
        ),
        Knob::int("model.kv_heads", "Key-value heads", 2, 1, 32).symbol("H_kv").tip(
            "Heads of keys and values, shared by groups of query heads. Must divide the query heads.",
        ),
        Knob::int("model.pool", "Pooling factor", 4, 1, 64).symbol("P").unit("tokens").tip(
            "Tokens averaged into one position of the slow path. The slow path's attention is P² cheaper.",
        ),
        Knob::int("model.n_pre", "Pre blocks", 1, 0, 8).tip("Blocks before the paths part, at token rate."),
        Knob::int("model.n_post", "Post blocks", 1, 1, 8).tip(
            "Blocks of the fast path after the injection, run every round with the same weights.",
        ),
        Knob::int("model.n_slow", "Slow blocks", 2, 1, 8).tip(
            "Blocks of the slow path over the pooled positions, run every round with the same weights.",
        ),
        Knob::int("model.n_rounds", "Rounds", 2, 1, 8).tip(
            "How often pool, slow path, injection and post are repeated. The weights are shared between rounds.",
        ),
        Knob::int("model.projector_hidden", "Projector hidden", 0, 0, 4096).symbol("φ").tip(
            "Hidden width of a two-layer GELU projector between the paths. 0 is the plain linear map.",
        ),
        Knob::int("model.fast_window", "Fast window", 0, 0, 8192).unit("tokens").tip(
            "Tokens that the fast path's attention sees, itself included. 0 is the whole past; a short window makes the slow path needed.",
        ),
        Knob::choice("model.upsample", "Upsampling", "causal", &["causal", "leaky"]).tip(
            "Which block a token reads: the last finished one (causal), or its own (leaky), which tells it the future. The second is wrong on purpose; the causality view shows it.",
        ),
    ]
}

fn variant_knobs() -> Vec<Knob> {
    vec![
        Knob::switch("variants.coupled", "Coupled", true).tip("The model itself: gamma learns, from zero."),
        Knob::switch("variants.frozen", "Frozen", true)
            .tip("Its twin: same seed, same batches, gamma held at zero. What the slow path adds is the difference."),
        Knob::switch("variants.dense_swiglu", "Dense, SwiGLU", false)
            .tip("A dense decoder of the same width with four layers: 1,025,408 parameters at the defaults."),
        Knob::switch("variants.dense_geglu", "Dense, GeGLU", false)
            .tip("A smaller dense decoder of three quarters of the width: 584,736 parameters at the defaults."),
        Knob::int("variants.seeds", "Seeds", 1, 1, 8)
            .tip("Repeats every variant with further seeds, of weights and batches. Curves then show mean and spread."),
    ]
}

fn approach_knobs() -> Vec<Knob> {
    vec![
        Knob::choice("approach.method", "Approach", "one_pass", &["one_pass", "passes", "anderson", "deq"]).tip(
            "How Post approaches its fixed point: once, k times with the slow signal held, with Anderson acceleration of depth 1, or solved to a tolerance with implicit gradients.",
        ),
        Knob::int("approach.passes", "Passes", 3, 1, 64).symbol("k").tip(
            "Applications of Post in one round, for `passes` and `anderson`. One is the paper's model.",
        ),
        Knob::int("approach.max_iters", "Most iterations", 30, 1, 500).tip(
            "Where `deq` gives up looking for its fixed point. The residual view shows how far it came.",
        ),
        Knob::float("approach.tolerance", "Tolerance", 1e-2, 1e-6, 1.0).log().tip(
            "Relative residual |x - Post(x)| / |x| at which `deq` stops. Smaller is closer to the fixed point and slower.",
        ),
        Knob::float("approach.aux_lambda", "Residual penalty", 0.0, 0.0, 10.0).symbol("λ").tip(
            "Adds λ |x - Post(x)|² to the loss, which pulls Post towards its fixed point.",
        ),
        Knob::choice("approach.constraint", "Constraint", "none", &["none", "sinkhorn", "unit_norm"]).tip(
            "Constraints that the paper tried and that change nothing: Sinkhorn-projected mixing (M1), slow states of norm 1 (M2).",
        ),
    ]
}

fn probe_knobs() -> Vec<Knob> {
    let tip = "Steps between two askings of this probe. 0 asks only at the start and when a view asks.";
    let every = |key, label, default| common::every_knob(key, label, default, tip);
    vec![
        every("probe.staircase_every", "Staircase every", 25),
        every("probe.attention_maps_every", "Attention every", 50),
        every("probe.residual_every", "Residual every", 50),
        every("probe.causality_every", "Causality every", 100),
    ]
}

fn fast_slow_spec(c: &Config, frozen: bool) -> Result<FastSlowSpec, ConfigError> {
    let passes = c.usize("approach.passes");
    let (d, heads, kv) = (c.usize("model.d_model"), c.usize("model.heads"), c.usize("model.kv_heads"));
    check_heads(d, heads, kv)?;
    Ok(FastSlowSpec {
        d_model: d,
        heads,
        kv_heads: kv,
        pool: c.usize("model.pool"),
        n_pre: c.usize("model.n_pre"),
        n_post: c.usize("model.n_post"),
        n_slow: c.usize("model.n_slow"),
        n_rounds: c.usize("model.n_rounds"),
        projector_hidden: some(c, "model.projector_hidden"),
        freeze_coupling: frozen,
        coupling_scale: c.f64("model.coupling_scale"),
        approach: match c.text("approach.method") {
            "passes" => Approach::Passes { passes },
            "anderson" => Approach::Anderson { passes },
            "deq" => Approach::Deq { tolerance: c.f64("approach.tolerance"), max_iters: c.usize("approach.max_iters") },
            _ => Approach::OnePass,
        },
        aux_lambda: c.f64("approach.aux_lambda"),
        constraint: match c.text("approach.constraint") {
            "sinkhorn" => Constraint::Sinkhorn,
            "unit_norm" => Constraint::UnitNorm,
            _ => Constraint::None,
        },
        fast_window: some(c, "model.fast_window"),
        upsample: if c.text("model.upsample") == "leaky" { Upsample::Leaky } else { Upsample::Causal },
    })
}

/// A knob where 0 means "none".
fn some(c: &Config, key: &str) -> Option<usize> {
    Some(c.usize(key)).filter(|n| *n > 0)
}

fn check_heads(d: usize, heads: usize, kv: usize) -> Result<(), ConfigError> {
    let wrong = |text: String| Err(ConfigError::Inconsistent(text));
    if !d.is_multiple_of(2 * heads) {
        return wrong(format!(
            "`model.d_model` = {d} must be an even multiple of `model.heads` = {heads}; try {}",
            (d / (2 * heads)).max(1) * 2 * heads
        ));
    }
    if !heads.is_multiple_of(kv) {
        return wrong(format!("`model.kv_heads` = {kv} must divide `model.heads` = {heads}"));
    }
    Ok(())
}

/// The two baselines of the paper at their sizes, scaled with the width knob.
fn dense_spec(c: &Config, act: GatedAct) -> DenseSpec {
    let d = c.usize("model.d_model");
    let (heads, kv_heads) = (c.usize("model.heads"), c.usize("model.kv_heads"));
    let d_model = match act {
        GatedAct::Swiglu => d,
        // three quarters of the width, rounded to a size the heads allow: 96 at the defaults
        GatedAct::Geglu => (3 * d / 4 / (2 * heads)).max(1) * 2 * heads,
    };
    let window = some(c, "model.fast_window");
    DenseSpec { d_model, layers: 4, heads, kv_heads, hidden: 4 * d_model, act, window }
}

fn variants(c: &Config) -> Result<Vec<VariantSpec>, ConfigError> {
    let mut kinds: Vec<(&str, &str, Spec)> = vec![];
    if c.bool("variants.coupled") {
        kinds.push(("coupled", "coupled", Spec::FastSlow(fast_slow_spec(c, false)?)));
    }
    if c.bool("variants.frozen") {
        kinds.push(("frozen", "frozen", Spec::FastSlow(fast_slow_spec(c, true)?)));
    }
    if c.bool("variants.dense_swiglu") {
        kinds.push(("dense_swiglu", "dense, SwiGLU", Spec::Dense(dense_spec(c, GatedAct::Swiglu))));
    }
    if c.bool("variants.dense_geglu") {
        kinds.push(("dense_geglu", "dense, GeGLU", Spec::Dense(dense_spec(c, GatedAct::Geglu))));
    }
    let seeds = c.usize("variants.seeds") as u64;
    let mut all = vec![];
    for s in 0..seeds {
        for (id, label, model) in &kinds {
            let many = seeds > 1;
            all.push(VariantSpec {
                id: if many { format!("{id}-s{s}") } else { (*id).to_owned() },
                label: if many { format!("{label}, seed {}", c.seed + s) } else { (*label).to_owned() },
                group: (*id).to_owned(),
                seed: c.seed + s,
                model: model.clone(),
            });
        }
    }
    Ok(all)
}

fn plan(c: &Config) -> Result<Plan, ConfigError> {
    let cadence = |probe: &str| ProbeSchedule {
        probe: probe.to_owned(),
        every: c.usize(&format!("probe.{probe}_every")) as u64,
        args: Default::default(),
    };
    let probes = ["staircase", "attention_maps", "residual", "causality"].map(cadence);
    Ok(common::plan(c, common::corpus_spec(c)?, variants(c)?, probes.into()))
}
