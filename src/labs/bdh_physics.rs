//! BDH as a physical system (arXiv 2509.26507, sections 2 and 3): a small BDH learns a language, and its
//! weights become the wires, prods and synapses of a system of local rules that a person steps through.

use super::{Lab, Pane, Preset, bdh, common};
use crate::{
    config::{Config, ConfigError, Knob, Range, Value},
    models::{
        Spec,
        bdh::{BdhSpec, Form, Position},
    },
    trainer::{Plan, ProbeSchedule, VariantSpec},
};

pub static LAB: Lab = Lab {
    id: "bdh_physics",
    title: "BDH as a physical system",
    question: "Can a language model be nothing but neurons and synapses that follow local rules?",
    source: "The Dragon Hatchling (BDH), arXiv 2509.26507",
    lesson: include_str!("../../assets/lessons/bdh_physics.md"),
    groups: &[
        ("physics", "Rules"),
        ("toy", "Oscillators"),
        ("model", "Model"),
        ("corpus", "Text"),
        ("train", "Training"),
        ("probe", "Probes"),
        ("run", "Run"),
    ],
    knobs,
    presets: &[
        Preset {
            id: "bdh_physics",
            title: "Fading synapses",
            about: "Synapses relax after every token, as with ALiBi. 96 neurons learn prose letter by letter; their rules can be stepped through before, during and after.",
            toml: include_str!("../../configs/bdh_physics.toml"),
        },
        Preset {
            id: "bdh_physics_swing",
            title: "Swinging synapses",
            about: "Pairs of synapses turn, each at its own speed, as with RoPE: a memory that comes back with the other sign.",
            toml: include_str!("../../configs/bdh_physics_swing.toml"),
        },
    ],
    plan,
    panes: &[
        Pane { view: "bdh_rules", column: 0, share: 1.0, tab: false },
        Pane { view: "oscillators", column: 1, share: 0.56, tab: false },
        Pane { view: "bdh_checks", column: 1, share: 0.44, tab: false },
        Pane { view: "losses", column: 1, share: 0.44, tab: true },
    ],
    opens_with_run: true,
};

fn knobs() -> Vec<Knob> {
    let mut all = rule_knobs();
    all.extend(toy_knobs());
    // The equations have no heads, and the gates are none of theirs.
    let own = bdh::model_knobs(96, 24, 2)
        .into_iter()
        .filter(|k| !matches!(k.key, "model.heads" | "model.gated" | "model.checkpoint" | "model.dropout"));
    all.extend(own.map(|k| match k.key {
        "model.position" => k.default_to(Value::Text("alibi".into())),
        // the rules are of one residual
        "model.form" => Knob { range: Range::Choice(&["code", "paper"]), ..k }.default_to(Value::Text("paper".into())),
        _ => k,
    }));
    all.extend(bdh::corpus_knobs("harbour").into_iter().map(|k| match k.key {
        "corpus.tokenizer" => k.default_to(Value::Text("char".into())),
        "corpus.vocab" => k.default_to(Value::Int(64)),
        _ => k,
    }));
    all.extend(common::training_knobs(1000, 8e-3, 16, 64));
    all.push(common::every_knob(
        "probe.bdh_dynamics_every",
        "Rules every",
        50,
        "Steps between two hand-overs of the weights to the rules, with the equivalences checked anew. 0: only when a view asks.",
    ));
    all.extend(common::run_knobs(100, 500));
    all
}

fn rule_knobs() -> Vec<Knob> {
    vec![
        Knob::text("physics.text", "Text", "the ferry left at dawn").tip(
            "What the rules read, token by token, at most 24 of them. Each arrives as a pulse on a few neurons.",
        ),
        Knob::choice("physics.drift", "Time", "trained", &["trained", "nothing", "damping", "rotation", "both"])
            .symbol("U")
            .tip("What a token's time does to a synapse: as the model was trained, nothing, fading (ALiBi), turning in pairs (RoPE), or both."),
        Knob::float("physics.keep", "Kept a token", 0.9, 0.0, 1.0)
            .symbol("u")
            .tip("Share of a synapse's state that is left after a token, where Time is damping or both. The rule calls 1 - u the decay."),
    ]
}

fn toy_knobs() -> Vec<Knob> {
    vec![
        Knob::int("toy.particles", "Particles", 14, 3, 40)
            .tip("Particles on the circle. Each has two wires and two prods, drawn from the seed; connectors join all pairs."),
        Knob::float("toy.damping", "Relaxing", 0.25, 0.0, 5.0).unit("1/s").symbol("λ").tip(
            "How fast a displaced connector goes back to rest: the damping variant, which is ALiBi. 0 keeps its energy for ever.",
        ),
        Knob::float("toy.swing", "Swinging", 0.0, 0.0, 20.0).unit("rad/s").symbol("ω").tip(
            "How fast a displaced connector swings about its rest: the oscillator variant, a simple picture of RoPE. 0 does not swing.",
        ),
        Knob::float("toy.wires", "Wires", 6.0, 0.0, 60.0).unit("1/s").symbol("Gx").tip(
            "How strongly a pulse y pulls the particles that its wires lead to.",
        ),
        Knob::float("toy.prods", "Prods", 6.0, 0.0, 60.0).unit("1/s").symbol("Gy").tip(
            "How hard the tension of a particle's connectors prods others into a pulse y. Turn it up far and the pulses no longer subside.",
        ),
        Knob::float("toy.pulse", "Pulse", 0.35, 0.05, 5.0).unit("s").symbol("τ").tip(
            "How long a pulse lasts. The paper's pulses are far quicker than its connectors.",
        ),
    ]
}

fn plan(c: &Config) -> Result<Plan, ConfigError> {
    let n = c.usize("model.neurons");
    if n > 256 || !n.is_multiple_of(2) {
        return Err(ConfigError::OutOfRange {
            key: "model.neurons".into(),
            got: format!("`{n}`"),
            want: "an even number up to 256, since the rules keep a synapse for every pair of neurons".into(),
        });
    }
    let spec = BdhSpec {
        d_model: c.usize("model.d_model"),
        heads: 1,
        neurons: n,
        layers: c.usize("model.layers"),
        position: Position::from_id(c.text("model.position")).unwrap_or_default(),
        form: if c.text("model.form") == "paper" { Form::Paper } else { Form::Code },
        through_past: c.bool("model.through_past"),
        ..BdhSpec::default()
    };
    let variant = VariantSpec {
        id: "bdh".into(),
        label: "BDH".into(),
        group: "bdh".into(),
        seed: c.seed,
        model: Spec::Bdh(spec),
    };
    let text = |key: &str| Value::Text(c.text(key).to_owned());
    let args = [
        ("text".to_owned(), text("physics.text")),
        ("drift".to_owned(), text("physics.drift")),
        ("keep".to_owned(), Value::Float(c.f64("physics.keep"))),
    ];
    let every = c.usize("probe.bdh_dynamics_every") as u64;
    let probes = vec![ProbeSchedule { probe: "bdh_dynamics".into(), every, args: args.into() }];
    Ok(common::plan(c, common::corpus_spec(c)?, vec![variant], probes))
}
