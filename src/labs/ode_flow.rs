//! The ODE flow lab: a transformer with a flow in its middle, whose control a person holds.
//!
//! **The way of a steering run's data.** The corpus makes windows to order, and the number of a batch
//! says which stage it belongs to ([`Steering`]): below `steer.language_steps` the language with every
//! id a target, from there on prompts whose only targets are where the steering is asked for. The
//! trainer knows nothing of it: it tells the model the number of each update
//! ([`crate::models::Model::begin_step`]), and the model, which has the same number in its spec, learns
//! the language with u = 0 and everything free in the first stage, and in the second holds all but its
//! field still and turns what the batch asks into `-log P(class)`. Both are pure functions of the step,
//! the unsteered field of the first stage is kept with the weights, and so a resumed run goes on exactly.

use super::{Lab, Pane, Preset, common};
use crate::{
    config::{Config, ConfigError, Knob, Value},
    corpus::{
        Corpus, Source, Spec as CorpusSpec, Steering,
        generated::steering::{BAD, GOOD},
    },
    models::{
        Spec,
        ode_flow::{self, OdeFlowSpec},
        plane::{PlanarField, PlaneSpec},
    },
    trainer::{Plan, ProbeSchedule, VariantSpec},
};

pub static LAB: Lab = Lab {
    id: "ode_flow",
    title: "ODE flow",
    question: "If the middle of a transformer is a flow, can a slider steer what it says, and what does that cost the solver?",
    source: "Continuous-depth transformers: a plain-language guide",
    lesson: include_str!("../../assets/lessons/ode_flow.md"),
    groups: &[
        ("task", "Task"),
        ("control", "Control"),
        ("solver", "Solver"),
        ("steer", "Steering"),
        ("field", "Playground"),
        ("model", "Model"),
        ("variants", "Variants"),
        ("corpus", "Text"),
        ("train", "Training"),
        ("probe", "Probes"),
        ("run", "Run"),
    ],
    knobs,
    presets: &[
        Preset {
            id: "ode_flow",
            title: "Steer",
            about: "Learns a small language, then lets only the flow learn to lead any sentence to good or to bad words. Measured on nouns it was never steered with.",
            toml: include_str!("../../configs/ode_flow.toml"),
        },
        Preset {
            id: "ode_flow_published",
            title: "Steer, as published",
            about: "One prompt, and a token for good that is in fact a bare space: the numbers look as fine, and mean nothing.",
            toml: include_str!("../../configs/ode_flow_published.toml"),
        },
        Preset {
            id: "ode_flow_both",
            title: "As published and corrected",
            about: "Both steerings side by side, of one model that learned one language: the same slider, the same numbers, and what they mean.",
            toml: include_str!("../../configs/ode_flow_both.toml"),
        },
        Preset {
            id: "ode_flow_train",
            title: "Train",
            about: "The hybrid and a plain transformer as twins on prose: losses, gradients, and the flow's own scale.",
            toml: include_str!("../../configs/ode_flow_train.toml"),
        },
        Preset {
            id: "ode_flow_field",
            title: "Playground",
            about: "Flows in the plane, where everything can be seen, and a small network that learns one of them.",
            toml: include_str!("../../configs/ode_flow_field.toml"),
        },
    ],
    plan,
    panes: &[
        Pane { view: "steer", column: 0, share: 0.66, tab: false },
        Pane { view: "flow_sweep", column: 0, share: 0.34, tab: false },
        Pane { view: "flow_claims", column: 0, share: 0.34, tab: true },
        Pane { view: "losses", column: 0, share: 0.34, tab: true },
        Pane { view: "flow_training", column: 0, share: 0.34, tab: true },
        Pane { view: "flow_paths", column: 1, share: 0.55, tab: false },
        Pane { view: "flow_solver", column: 1, share: 0.45, tab: false },
        Pane { view: "flow_along", column: 1, share: 0.45, tab: true },
    ],
    opens_with_run: true,
};

const METHODS: &[&str] = &["dopri5", "tsit5", "bosh3", "adaptive_heun", "euler", "midpoint", "heun2", "rk4"];

fn knobs() -> Vec<Knob> {
    let mut all = vec![
        Knob::choice("task.kind", "Task", "steer", &["steer", "published", "both", "train", "field"]).tip(
            "Steer: many prompts, classes of words. Published: one prompt and a bare space, as the source did it. Both: the two side by side. Train: twins on text. Field: flows in the plane, no words.",
        ),
    ];
    all.extend(control_knobs());
    all.extend(solver_knobs());
    all.extend(steering_knobs());
    all.extend(model_knobs());
    all.extend(common::corpus_knobs().into_iter().map(|k| match k.key {
        "corpus.tokenizer" => k.default_to(Value::Text("word".into())),
        "corpus.vocab" => k.default_to(Value::Int(128)),
        _ => k,
    }));
    all.extend(common::training_knobs(1100, 3e-3, 24, 16).into_iter().map(|k| match k.key {
        "train.weight_decay" => k.default_to(Value::Float(0.01)),
        _ => k,
    }));
    all.extend(probe_knobs());
    all.extend(common::run_knobs(100, 275));
    all
}

fn control_knobs() -> Vec<Knob> {
    let control = |key, label, symbol, tip| Knob::float(key, label, 0.0, -2.0, 2.0).live().symbol(symbol).tip(tip);
    vec![
        control(
            "control.u0",
            "Control 1",
            "u₀",
            "The control that is trained: +1 leads to good words, -1 to bad ones, 0 leaves the model alone. In the playground a wind from the left.",
        ),
        control(
            "control.u1",
            "Control 2",
            "u₁",
            "Enters the flow like the first, but nobody trained it to mean anything. In the playground a wind from below.",
        ),
        control("control.u2", "Control 3", "u₂", "Untrained, as the second. The flow has four controls in all."),
        control("control.u3", "Control 4", "u₃", "Untrained, as the second. The flow has four controls in all."),
        Knob::float("control.alpha", "Flow strength", 1.0, 0.0, 4.0).live().symbol("×α").tip(
            "Multiplies the learned scale of the flow. 0 stops the flow: the layers before and after are then joined directly.",
        ),
    ]
}

fn solver_knobs() -> Vec<Knob> {
    let tolerance = |key, label, symbol| {
        Knob::float(key, label, 1e-3, 1e-8, 1.0).log().symbol(symbol).tip(
            "What error an adaptive solver may make in a step: relative to the state, plus an absolute part. Smaller is finer and costs more evaluations.",
        )
    };
    vec![
        Knob::choice("solver.method", "Solver", "dopri5", METHODS).tip(
            "How the flow is followed when you look at it. The first four choose their steps; the last four take as many as you say. Training uses Euler steps.",
        ),
        Knob::choice("solver.policy", "Last step", "interpolate", &["interpolate", "clip"]).tip(
            "Interpolate oversteps the end and reads the state off a curve, as the source's solver does; clip cuts the last step short. Evaluation counts of the two are not comparable.",
        ),
        tolerance("solver.rtol", "Relative tolerance", "rtol"),
        tolerance("solver.atol", "Absolute tolerance", "atol"),
        Knob::int("solver.steps", "Fixed steps", 4, 1, 256)
            .symbol("m")
            .unit("steps")
            .tip("Steps of a solver that does not choose its own. The model was trained with the number under Model."),
    ]
}

fn steering_knobs() -> Vec<Knob> {
    vec![
        Knob::text("steer.prompt", "Prompt", "The tea was").tip(
            "The words that flow. Type your own from the language; with the task Published it is also the one prompt that is trained on.",
        ),
        Knob::int("steer.token", "Followed token", -1, -1, 1023)
            .tip("Whose path the field is drawn around, counted from 0. -1 follows the last word, where the next one is decided."),
        Knob::int("steer.language_steps", "Language steps", 300, 1, 1_000_000).unit("updates").tip(
            "Updates that learn the language with no control, before anything is steered. All later ones train the flow alone.",
        ),
        Knob::switch("steer.vary", "Vary the steps", true).tip(
            "Steer in one Euler step fewer to two more than the model's, by turns, so that what is learned is a flow and not that number of steps. Published steers always in the same.",
        ),
        Knob::choice("field.kind", "Field", "van_der_pol", &["van_der_pol", "spiral", "linear", "mlp"])
            .tip("Which flow in the plane is looked at: three that are written down, and the network that learns one of them."),
        Knob::choice("field.target", "Learned field", "van_der_pol", &["van_der_pol", "spiral", "linear"])
            .tip("Which of the written fields the network learns, from its arrows at random points."),
        Knob::int("field.hidden", "Hidden units", 64, 2, 1024)
            .unit("units")
            .tip("Width of each of the network's two layers. Few bend little; many learn the field more closely."),
        Knob::float("field.time", "Time", 6.0, 0.1, 100.0)
            .tip("How long the points of the plane are carried, in the field's own time. It counts as the depth 0 to 1."),
    ]
}

fn model_knobs() -> Vec<Knob> {
    vec![
        Knob::int("model.d_model", "Width", 128, 8, 1024)
            .symbol("D")
            .unit("channels")
            .tip("Channels of every token, in the layers and in the flow. Must be a multiple of the heads."),
        Knob::int("model.heads", "Heads", 4, 1, 32)
            .symbol("H")
            .tip("Attention heads, of D / H channels each. The flow's attention has as many as the layers'."),
        Knob::int("model.pre", "Layers before", 1, 0, 8)
            .tip("Plain transformer layers before the flow. The source has two."),
        Knob::int("model.post", "Layers after", 1, 0, 8)
            .tip("Plain transformer layers after the flow. The source has two."),
        Knob::int("model.steps", "Euler steps", 4, 1, 64)
            .unit("steps")
            .tip("Steps of the flow in training. The flow's weights are the same in all of them."),
        Knob::switch("variants.hybrid", "Hybrid", true)
            .tip("The model with a flow in its middle. Counts for the task Train; the others have just it."),
        Knob::switch("variants.baseline", "Baseline", true).tip(
            "A plain transformer with two layers in the flow's place: same seed, same batches. For the task Train.",
        ),
    ]
}

fn probe_knobs() -> Vec<Knob> {
    let tip = "Steps between two askings of this probe. 0 asks only when a view does.";
    let every = |key, label, default| common::every_knob(key, label, default, tip);
    vec![every("probe.flow_every", "Flow every", 25), every("probe.flow_sweep_every", "Class sweep every", 275)]
}

/// The corpus of a task; steering makes its own.
fn corpus_spec(c: &Config, kind: &str) -> Result<CorpusSpec, ConfigError> {
    let mut spec = common::corpus_spec(c)?;
    if matches!(kind, "steer" | "published" | "both") {
        let prompt = (kind == "published").then(|| c.text("steer.prompt").trim().to_owned());
        spec.source = Source::Steering(Steering { language_batches: c.usize("steer.language_steps") as u64, prompt });
    }
    Ok(spec)
}

/// Which tokens the control leads to. As published they are the first tokens of " good" and of "bad":
/// letter by letter a bare space and a b, by words and spaces a bare space and the word.
fn steering(c: &Config, spec: &CorpusSpec, published: bool) -> Result<ode_flow::Steering, ConfigError> {
    let corpus = Corpus::open(spec).map_err(|e| ConfigError::Inconsistent(e.to_string()))?;
    let (plus, minus) = if published {
        let first = |text: &str| corpus.encode(text).first().copied().into_iter().collect::<Vec<u32>>();
        (first(" good"), first("bad"))
    } else {
        let whole = |words: &[&str]| -> Vec<u32> {
            words.iter().map(|w| corpus.encode(w)).filter(|ids| ids.len() == 1).flatten().collect()
        };
        (whole(&GOOD), whole(&BAD))
    };
    if plus.is_empty() || minus.is_empty() || plus.contains(&0) || minus.contains(&0) {
        return Err(ConfigError::Inconsistent(
            "the steering task needs tokens that are whole words: set `corpus.tokenizer` to word (for both: spaced) and `corpus.vocab` to at least 96, or choose the task published with the tokeniser char".into(),
        ));
    }
    // Beside another variant it has the other's batches, and so its prompt with it.
    let own = published && c.text("task.kind") == "both";
    let prompt = own.then(|| corpus.encode(c.text("steer.prompt").trim()));
    if prompt.as_ref().is_some_and(|p| p.is_empty() || p.len() > c.usize("train.window")) {
        return Err(ConfigError::Inconsistent(
            "`steer.prompt` has no tokens or more than `train.window`: type a few words of the language".into(),
        ));
    }
    let vary = c.bool("steer.vary") && !published;
    Ok(ode_flow::Steering { language_steps: c.usize("steer.language_steps") as u64, plus, minus, prompt, vary })
}

fn hybrid_spec(c: &Config, steering: Option<ode_flow::Steering>) -> Result<OdeFlowSpec, ConfigError> {
    let (d, heads) = (c.usize("model.d_model"), c.usize("model.heads"));
    if d % heads != 0 {
        return Err(ConfigError::Inconsistent(format!(
            "`model.d_model` = {d} must be a multiple of `model.heads` = {heads}; try {}",
            (d / heads).max(1) * heads
        )));
    }
    Ok(OdeFlowSpec {
        d_model: d,
        heads,
        pre: c.usize("model.pre"),
        post: c.usize("model.post"),
        positions: c.usize("train.window"),
        steps: c.usize("model.steps"),
        steering,
        ..OdeFlowSpec::default()
    })
}

fn plane_spec(c: &Config) -> PlaneSpec {
    let kind = |key| PlanarField::from_id(c.text(key)).unwrap_or(PlanarField::VanDerPol);
    PlaneSpec {
        kind: kind("field.kind"),
        target: kind("field.target"),
        hidden: c.usize("field.hidden"),
        time: c.f64("field.time"),
    }
}

fn variants(c: &Config, kind: &str, corpus: &CorpusSpec) -> Result<Vec<VariantSpec>, ConfigError> {
    let models: Vec<(&str, &str, Spec)> = match kind {
        "field" => vec![("network", "network", Spec::Plane(plane_spec(c)))],
        "train" => {
            let hybrid = hybrid_spec(c, None)?;
            let baseline = Spec::PlainGpt(hybrid.baseline());
            let both = [("hybrid", "hybrid", Spec::OdeFlow(hybrid)), ("baseline", "baseline", baseline)];
            both.into_iter().filter(|(id, _, _)| c.bool(&format!("variants.{id}"))).collect()
        }
        "both" => {
            let of = |id: &'static str, label: &'static str, published: bool| {
                let spec = hybrid_spec(c, Some(steering(c, corpus, published)?))?;
                Ok((id, label, Spec::OdeFlow(spec)))
            };
            vec![of("published", "as published", true)?, of("corrected", "corrected", false)?]
        }
        _ => {
            let steering = steering(c, corpus, kind == "published")?;
            vec![("hybrid", "hybrid", Spec::OdeFlow(hybrid_spec(c, Some(steering))?))]
        }
    };
    let variant = |(id, label, model): (&str, &str, Spec)| VariantSpec {
        id: id.to_owned(),
        label: label.to_owned(),
        group: id.to_owned(),
        seed: c.seed,
        model,
    };
    Ok(models.into_iter().map(variant).collect())
}

fn probes(c: &Config, kind: &str) -> Vec<ProbeSchedule> {
    let float = |key: &str| Value::Float(c.f64(key));
    let text = |key: &str| Value::Text(c.text(key).to_owned());
    let mut args: crate::telemetry::Args = [
        ("method".to_owned(), text("solver.method")),
        ("policy".to_owned(), text("solver.policy")),
        ("rtol".to_owned(), float("solver.rtol")),
        ("atol".to_owned(), float("solver.atol")),
        ("steps".to_owned(), float("solver.steps")),
        ("token".to_owned(), Value::Int(c.f64("steer.token") as i64)),
    ]
    .into();
    match kind {
        "field" => args.insert("field".to_owned(), text("field.kind")),
        "train" => None,
        _ => args.insert("prompt".to_owned(), text("steer.prompt")),
    };
    let every = |probe: &str| c.usize(&format!("probe.{probe}_every")) as u64;
    let mut all = vec![ProbeSchedule { probe: "flow".into(), every: every("flow"), args: args.clone() }];
    if matches!(kind, "steer" | "published" | "both") {
        let mut of_claims = args.clone();
        of_claims.insert("published".to_owned(), Value::Switch(kind == "published"));
        args.insert("kind".to_owned(), Value::Text("class".into()));
        all.push(ProbeSchedule { probe: "flow_sweep".into(), every: every("flow_sweep"), args });
        all.push(ProbeSchedule { probe: "flow_claims".into(), every: every("flow_sweep"), args: of_claims });
    }
    all
}

fn plan(c: &Config) -> Result<Plan, ConfigError> {
    let kind = c.text("task.kind");
    let corpus = corpus_spec(c, kind)?;
    let variants = variants(c, kind, &corpus)?;
    Ok(common::plan(c, corpus, variants, probes(c, kind)))
}
