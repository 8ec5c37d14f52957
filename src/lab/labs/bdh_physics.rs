//! BDH as a physical system (arXiv 2509.26507, sections 2 and 3): a small BDH learns a language, and its
//! weights become the wires, prods and synapses of a system of local rules that a person steps through.

mod drawing;
mod headlines;

use super::bdh::{BdhSettings, corpus_settings};
use crate::{
    labs::prelude::*,
    models::bdh::{BdhSpec, Form, Position},
    telemetry::measurements::{BdhDynamicsArgs, SynapseDrift},
};

pub static LAB: Lab = Lab {
    id: "bdh_physics",
    title: "BDH as a physical system",
    question: "Can a language model be nothing but neurons and synapses that follow local rules?",
    source: "The Dragon Hatchling (BDH), arXiv 2509.26507",
    lesson: include_str!("../../../assets/lessons/bdh_physics.md"),
    groups: &[
        ("physics", "Rules"),
        ("toy", "Oscillators"),
        ("model", "Model"),
        ("corpus", "Text"),
        ("train", "Training"),
        ("probe", "Probes"),
        ("run", "Run"),
    ],
    essentials: &[
        "physics.text",
        "toy.damping",
        "toy.swing",
        "toy.prods",
        "model.position",
        "model.neurons",
        "train.steps",
    ],
    knobs: PhysicsLabSettings::schema,
    presets: presets! {
        "bdh_physics", "Fading synapses",
        "Synapses relax after every token, as with ALiBi. 96 neurons learn prose letter by letter; their rules can \
         be stepped through before, during and after.";
        "bdh_physics_swing", "Swinging synapses",
        "Pairs of synapses turn, each at its own speed, as with RoPE: a memory that comes back with the other sign.";
    },
    plan: |config| plan(config, &PhysicsLabSettings::read(config)?),
    drawing: drawing::draw,
    panes: &[
        Pane::tall("bdh_rules"),
        Pane::tile("oscillators", 0),
        Pane::tab("losses"),
        Pane::tile("bdh_checks", 1),
        Pane::more("bdh_theory"),
    ],
    headlines: headlines::ALL,
    large_numbers: headlines::LARGE,
    opens_with_run: true,
};

settings! {
    pub struct PhysicsLabSettings {
        physics: RuleSettings,
        toy: ToySettings,
        // The equations have no heads, and the gates are none of theirs; the rules are of one residual.
        #[fixed(heads, gated, checkpoint, dropout)]
        #[only(form: Form::Code, Form::Paper)]
        model: BdhSettings = BdhSettings {
            neurons: 96,
            d_model: 24,
            heads: 1,
            layers: 2,
            position: Position::Alibi,
            form: Form::Paper,
            ..BdhSettings::default()
        },
        corpus: CorpusSettings =
            CorpusSettings { tokenizer: TokenKind::Char, vocab: 64, ..corpus_settings("harbour") },
        train: TrainSettings =
            TrainSettings { steps: 1000, lr: 8e-3, batch: 16, window: 64, ..TrainSettings::default() },
        probe: ProbeSettings,
        run: RunSettings = RunSettings { checkpoint_every: 500, ..RunSettings::default() },
    }
}

settings! {
    /// The text that the rules read, and their physics; also arguments of the probe `bdh_dynamics`.
    pub struct RuleSettings in "physics" {
        /// The text that the rules read, token by token, at most 24 of them. Each arrives as a pulse on a few neurons.
        #[knob("Text", in_views)]
        text: String = "the ferry left at dawn".into(),
        /// The effect of a token's time on a synapse: as the model was trained, nothing, fading (ALiBi), turning in pairs (RoPE), or both.
        #[knob("Time", in_views, symbol("U"))]
        drift: SynapseDrift = SynapseDrift::Trained,
        /// Share of a synapse's state that is left after a token, where Time is damping or both. The rule calls 1 - u the decay.
        #[knob("Kept a token", range(0.0..=1.0), in_views, symbol("u"))]
        keep: f64 = 0.9,
    }
}

impl RuleSettings {
    /// The arguments of the probe of the rules.
    pub fn args(&self) -> BdhDynamicsArgs {
        let Self { text, drift, keep } = self.clone();
        BdhDynamicsArgs { text, drift, keep, ..BdhDynamicsArgs::default() }
    }
}

settings! {
    /// The mechanical toy of figure 2, which the view of oscillators builds by itself.
    pub struct ToySettings in "toy" {
        /// Particles on the circle. Each has two wires and two prods, drawn from the seed; connectors join all pairs.
        #[knob("Particles", range(3..=40), in_views)]
        particles: usize = 14,
        /// How fast a displaced connector goes back to rest: the damping variant, which is ALiBi. 0 keeps its energy for ever.
        #[knob("Relaxing", range(0.0..=5.0), in_views, unit("1/s"), symbol("λ"))]
        damping: f64 = 0.25,
        /// How fast a displaced connector swings about its rest: the oscillator variant, a simple picture of RoPE. 0 does not swing.
        #[knob("Swinging", range(0.0..=20.0), in_views, unit("rad/s"), symbol("ω"))]
        swing: f64 = 0.0,
        /// How strongly a pulse y pulls the particles that its wires lead to.
        #[knob("Wires", range(0.0..=60.0), in_views, unit("1/s"), symbol("Gx"))]
        wires: f64 = 6.0,
        /// How hard the tension of a particle's connectors prods others into a pulse y. Turn it up far and the pulses no longer subside.
        #[knob("Prods", range(0.0..=60.0), in_views, unit("1/s"), symbol("Gy"))]
        prods: f64 = 6.0,
        /// How long a pulse lasts. The paper's pulses are far quicker than its connectors.
        #[knob("Pulse", range(0.05..=5.0), in_views, unit("s"), symbol("τ"))]
        pulse: f64 = 0.35,
    }
}

schedules! {
    /// The schedule by which the weights are handed to the rules without a view's asking.
    pub struct ProbeSettings {
        /// Steps between two hand-overs of the weights to the rules, with the equivalences checked anew. 0: only when a view asks.
        bdh_dynamics: "Rules every" = 50,
    }
}

/// The model, small enough that every synapse can be kept. Errors name the key.
fn spec(model: &BdhSettings) -> Result<BdhSpec, ConfigError> {
    let n = model.neurons;
    if n > 256 || !n.is_multiple_of(2) {
        return Err(ConfigError::OutOfRange {
            key: BdhSettings::neurons.name.into(),
            got: format!("`{n}`"),
            want: "an even number up to 256, since the rules keep a synapse for every pair of neurons".into(),
        });
    }
    model.spec()
}

fn plan(config: &Config, s: &PhysicsLabSettings) -> Result<Plan, ConfigError> {
    let variant = Variant::new("bdh", "BDH", ModelSpec::Bdh(spec(&s.model)?));
    let probes = vec![s.probe.bdh_dynamics.ask(&s.physics.args())];
    Ok(Experiment::new(config, &s.train, &s.run).plan(s.corpus.spec()?, &[variant], probes))
}
