//! BDH as a physical system (arXiv 2509.26507, sections 2 and 3): a small BDH learns a language, and its
//! weights become the wires, prods and synapses of a system of local rules that a person steps through.

mod headlines;

use super::bdh::{BdhSettings, corpus_settings};
use crate::{
    analysis::bdh_dynamics::oscillators::{Oscillators, OscillatorsSpec},
    labs::prelude::*,
    models::{
        bdh::{BdhSpec, Form, Position},
        graph_bdh::GraphBdhSpec,
    },
};

pub static LAB: Lab = Lab {
    id: "bdh_physics",
    title: "BDH as a physical system",
    question: "Can a language model be nothing but neurons and synapses that follow local rules?",
    source: "The Dragon Hatchling (BDH), arXiv 2509.26507",
    lesson: include_str!("../../../assets/lessons/bdh_physics.md"),
    groups: groups! {
        physics = "Rules", toy = "Oscillators", model, graph = "Graph BDH", variants, corpus, train, probe, run
    },
    essentials: keys! { physics.text, toy.damping, toy.swing, toy.prods, model.position, model.neurons, train.steps },
    knobs: PhysicsLabSettings::schema,
    presets: presets! {
        "bdh_physics", "Fading synapses",
        "Synapses relax after every token, as with ALiBi. 96 neurons learn prose letter by letter; their rules can \
         be stepped through before, during and after. Two minutes.";
        "bdh_physics_swing", "Swinging synapses",
        "Pairs of synapses turn, each at its own speed, as with RoPE: a memory that comes back with the other sign. Two minutes.";
        "bdh_physics_graph", "Training the graph",
        "BDH-GPU beside a BDH of about as many parameters whose sparse graphs are trained directly: excitatory and inhibitory edges, \
         and synapses at some pairs only. Three seeds.";
    },
    plan: |config| plan(config, &PhysicsLabSettings::read(config)?),
    drawing: draw,
    panes: panes! {
        tall: "bdh_rules";
        0: "bdh_checks";
        1: "oscillators", "losses";
        more: "race", "bdh_theory";
    },
    headlines: headlines::ALL,
    large_numbers: headlines::LARGE_NUMBERS,
    opens_with_run: true,
};

settings! {
    pub struct PhysicsLabSettings {
        physics: RuleSettings,
        toy: ToySettings,
        // The equations have neither heads nor gates, and their rules have one residual.
        #[fixed(heads, gated, checkpoint, dropout)]
        #[only(form: Form::Code, Form::Paper)]
        model: BdhSettings {
            neurons: 96, d_model: 24, heads: 1, layers: 2, position: Position::Alibi, form: Form::Paper,
        },
        graph: GraphSettings,
        variants: VariantSettings,
        corpus: CorpusSettings = CorpusSettings { tokenizer: TokenKind::Char, vocab: 64, ..corpus_settings("harbour") },
        train: TrainSettings { steps: 1000, lr: 8e-3, batch: 16, window: 64 },
        probe: ProbeSettings,
        run: RunSettings { checkpoint_every: 500 },
    }

    /// The text that the rules read, and their physics; also arguments of the probe `bdh_dynamics`.
    pub struct RuleSettings in "physics" {
        /// The text that the rules read, token by token, at most 24 of them. Each arrives as a pulse on a few neurons.
        text: String = "the ferry left at dawn".into() => "Text", in_views;
        /// The effect of a token's time on a synapse: as the model was trained, nothing, fading (ALiBi), turning in pairs (RoPE), or both.
        drift: SynapseDrift = SynapseDrift::Trained => "Time in the rules", in_views, symbol("U");
        /// Share of a synapse's state that remains after a token, where Time in the rules is damping or both. The rule calls 1 - u the decay.
        keep: f64 = 0.9 => "Kept a token", range(0.0..=1.0), in_views, symbol("u");
    }

    /// The mechanical toy of figure 2, which the view of oscillators builds by itself.
    pub struct ToySettings in "toy" {
        /// Particles on the circle. Each has two wires and two prods, drawn from the seed; connectors join all pairs.
        particles: usize = 14 => "Particles", range(3..=40), in_views;
        /// How fast a displaced connector goes back to rest: the damping variant, which is ALiBi. 0 keeps its energy for ever.
        damping: f64 = 0.25 => "Relaxing", range(0.0..=5.0), in_views, unit("1/s"), symbol("λ");
        /// How fast a displaced connector swings about its rest: the oscillator variant, a simple picture of RoPE. 0 does not swing.
        swing: f64 = 0.0 => "Swinging", range(0.0..=20.0), in_views, unit("rad/s"), symbol("ω");
        /// How strongly a pulse y pulls the particles that its wires lead to.
        wires: f64 = 6.0 => "Wires", range(0.0..=60.0), in_views, unit("1/s"), symbol("Gx");
        /// How strongly the tension of a particle's connectors excites a pulse y in others. At high values the pulses no longer subside.
        prods: f64 = 6.0 => "Prods", range(0.0..=60.0), in_views, unit("1/s"), symbol("Gy");
        /// How long a pulse lasts. The paper's pulses are far quicker than its connectors.
        pulse: f64 = 0.35 => "Pulse", range(0.05..=5.0), in_views, unit("s"), symbol("τ");
    }

    /// A BDH on a sparse graph, equation (6), whose edges are trained directly.
    pub struct GraphSettings in "graph" {
        /// Trains a BDH beside the usual one whose graphs are kept as edges, as the paper's notes on training describe it, and not as products of thin matrices. It has as many neurons and layers.
        train: bool = false => "Train the graph";
        /// Edges that end at a neuron in each of four circuits: excitatory and inhibitory wires, excitatory and inhibitory prods. They are drawn once; training moves weights, whose sign the circuit decides.
        degree: usize = 8 => "Edges a neuron", range(1..=256), symbol("k"), unit("edges");
        /// Synapses of a neuron, the edges of Gₛ; each is written with a trained weight. BDH-GPU has one for every pair.
        synapses: usize = 8 => "Synapses a neuron", range(1..=256), unit("synapses");
        /// The slowest neuron's synapses keep a share 1/e after this many tokens, the fastest's after one, and the others lie in between. The paper leaves U to the model.
        memory: f64 = 64.0 => "Longest memory", range(1.0..=4096.0), log, unit("tokens");
        /// Pulses, what synapses answer and y are divided by their root mean square over neurons. Off is equation (6) without norms, as it is printed, which vanishes or explodes.
        norms: bool = true => "Norms over neurons";
        /// Trains one more BDH on the same graph, with one state of its synapses for all layers, which the paper says is no fundamental change (section 2.2). A layer reads what all layers wrote for the tokens before and those below it for the same token; the state fades once a token. It reads token by token, also in training, which takes much longer.
        single_state: bool = false => "One state for all layers";
    }

    pub struct VariantSettings in "variants" {
        /// Repeats all models with further seeds, of weights, graph and batches.
        seeds: u64 = 1 => "Seeds", range(1..=8);
    }
}

impl RuleSettings {
    pub fn args(&self) -> BdhDynamicsArgs {
        let Self { text, drift, keep } = self.clone();
        BdhDynamicsArgs { text, drift, keep, ..BdhDynamicsArgs::default() }
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

/// The graph BDH of as many neurons and layers. Errors name the key.
fn graph_spec(s: &PhysicsLabSettings) -> Result<GraphBdhSpec, ConfigError> {
    let GraphSettings { degree, synapses, memory, norms, .. } = s.graph;
    let neurons = s.model.neurons;
    for (key, count) in [(GraphSettings::degree.name, degree), (GraphSettings::synapses.name, synapses)] {
        let why = format_args!(
            "`{key}` = {count} is more than `model.neurons` = {neurons}, and each edge of a neuron comes from another; make it at most {neurons}"
        );
        refuse_if(count > neurons, key, why)?;
    }
    Ok(GraphBdhSpec { neurons, degree, synapses, layers: s.model.layers, memory, norms, single_state: false })
}

fn plan(config: &Config, s: &PhysicsLabSettings) -> Result<Plan, ConfigError> {
    let mut variants = vec![Variant::new("bdh", "BDH", ModelSpec::Bdh(spec(&s.model)?))];
    let GraphSettings { train, single_state, .. } = s.graph;
    for (is_on, single_state, id, label) in
        [(train, false, "graph", "graph BDH"), (single_state, true, "single_state", "graph BDH, one state")]
    {
        if is_on {
            let graph = GraphBdhSpec { single_state, ..graph_spec(s)? };
            variants.push(Variant::new(id, label, ModelSpec::GraphBdh(graph)));
        }
    }
    let probes = vec![s.probe.bdh_dynamics.ask(&s.physics.args())];
    let experiment = Experiment { seeds: s.variants.seeds, ..Experiment::new(config, &s.train, &s.run) };
    Ok(experiment.plan(s.corpus.spec()?, &variants, probes))
}

const N: usize = 12;

/// The gallery's drawing of BDH as a physical system: the toy of figure 2, poked twice, with connectors
/// that swing, each a band that bulges.
fn draw(canvas: &Canvas, drawing: &mut Drawing) {
    let seconds = 0.2 + 3.8 * canvas.pointer_or(0.5);
    let toy = poked_oscillators(seconds);
    let radius = canvas.size[1] * 0.46;
    let [cx, cy] = canvas.centre();
    let place = |i: usize| {
        let angle = std::f32::consts::TAU * i as f32 / N as f32;
        let r = radius * (0.78 + 0.2 * toy.x[i] as f32);
        [cx + r * angle.sin(), cy - r * angle.cos()]
    };
    for (k, sigma) in toy.sigma.iter().enumerate().filter(|(_, s)| s.abs() > 0.01) {
        let band = parabola(place(k / N), place(k % N), 0.5 * radius * *sigma as f32);
        let strength = (sigma.abs() as f32).sqrt().clamp(0.2, 1.0);
        drawing.path(band, Ink::Slow.with_opacity(strength), 1.5);
    }
    (0..N).for_each(|i| drawing.node(place(i), 4.0, Ink::Raised.mixed(Ink::Fast, (toy.x[i] as f32).clamp(0.0, 1.0))));
    drawing.caption = format!("figure 2\u{2019}s connectors, {seconds:.1} s after a poke");
}

/// The toy, this long after a first poke.
fn poked_oscillators(seconds: f32) -> Oscillators {
    let spec = OscillatorsSpec { particles: N, swing: 2.5, damping: 0.1, ..OscillatorsSpec::default() };
    let mut toy = Oscillators::new(spec);
    toy.displace(0);
    for k in 0..(seconds * 60.0) as usize {
        if k == 40 {
            toy.displace(5);
        }
        toy.step(1.0 / 60.0);
    }
    toy
}

/// A parabola from `a` to `b` that stands off the straight line by `height` in its middle.
fn parabola(a: [f32; 2], b: [f32; 2], height: f32) -> Vec<[f32; 2]> {
    let [dx, dy] = [b[0] - a[0], b[1] - a[1]];
    let length = dx.hypot(dy);
    let side = if length > 0.0 { [dy / length * height, -dx / length * height] } else { [0.0; 2] };
    (0..=12)
        .map(|i| {
            let t = i as f32 / 12.0;
            let off = 4.0 * t * (1.0 - t);
            [a[0] + dx * t + side[0] * off, a[1] + dy * t + side[1] * off]
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(settings: &[(&str, &str)]) -> Result<Plan, ConfigError> {
        let mut config = LAB.config(Some("bdh_physics_graph"))?;
        settings.iter().try_for_each(|(key, value)| config.set_text(&(LAB.knobs)(), key, value))?;
        (LAB.plan)(&config)
    }

    #[test]
    fn the_graph_has_about_as_many_parameters() {
        let plan = planned(&[]).unwrap();
        assert_eq!(plan.variants.len(), 6);
        let counts: Vec<f64> = plan.variants[..2]
            .iter()
            .map(|v| match &v.model {
                ModelSpec::Bdh(spec) => spec.parameters(64) as f64,
                ModelSpec::GraphBdh(spec) => spec.parameters(64) as f64,
                other => panic!("{other:?}"),
            })
            .collect();
        assert!((counts[0] / counts[1] - 1.0).abs() < 0.03, "{counts:?}");
    }

    #[test]
    fn seeds_are_named_as_in_every_lab() {
        for key in ["variants.seeds", "graph.seeds"] {
            assert_eq!(planned(&[(key, "2")]).unwrap().variants.len(), 4, "{key}");
        }
    }

    #[test]
    fn a_single_state_is_on_the_same_graph() {
        let plan = planned(&[("graph.single_state", "true"), ("variants.seeds", "1")]).unwrap();
        let [_, own, single] = &plan.variants[..] else { panic!("three variants") };
        let (ModelSpec::GraphBdh(own), ModelSpec::GraphBdh(single)) = (&own.model, &single.model) else {
            panic!("two graphs")
        };
        assert_eq!(*single, GraphBdhSpec { single_state: true, ..own.clone() });
        assert!(!own.single_state);
    }

    #[test]
    fn more_edges_than_neurons_are_named() {
        for key in ["graph.degree", "graph.synapses"] {
            let refused = planned(&[("model.neurons", "16"), (key, "17")]).unwrap_err().to_string();
            assert!(refused.contains(&format!("`{key}` = 17")), "{refused}");
        }
        let off = planned(&[("graph.train", "false"), ("model.neurons", "16"), ("graph.degree", "17")]).unwrap();
        assert!(off.variants.iter().all(|v| v.group == "bdh"));
    }
}
