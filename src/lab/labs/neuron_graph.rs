//! The Neuron graph lab (BDH-GPU, arXiv 2509.26507, section 5): the weights of a language model as a
//! graph between its neurons, cut at a threshold, while communities form.

mod headlines;

use super::bdh::{BdhSettings, CarrySettings, Training, corpus_settings, train_settings};
use crate::{
    analysis::{
        graph::product::Sign,
        layout::{self, ForceParams, STEPS, Springs},
    },
    labs::prelude::*,
};

pub static LAB: Lab = Lab {
    id: "neuron_graph",
    title: "Neuron graph",
    question: "Do neurons that learn a language form communities, more than by chance?",
    source: "The Dragon Hatchling (BDH), arXiv 2509.26507",
    lesson: include_str!("../../../assets/lessons/neuron_graph.md"),
    groups: groups! { graph = "Graph", model, corpus, train, probe = "Measuring", run },
    essentials: keys! {
        graph.edges, graph.matrix, graph.sign, graph.weighted, model.neurons, model.heads, corpus.source, train.steps
    },
    knobs: NeuronGraphSettings::schema,
    presets: presets! {
        "neuron_graph", "From noise to communities",
        "2,048 neurons learn prose, byte by byte; the graph of E D_x is cut at its 16,000 largest entries. A few minutes.";
        "neuron_graph_inhibitory", "The inhibitory side",
        "The same model; edges are the 16,000 most negative entries instead. A few minutes.";
    },
    plan: |config| plan(config, &NeuronGraphSettings::read(config)?),
    drawing: draw,
    panes: panes! {
        tall: "neuron_graph", "graph_table";
        0: "graph_threshold", "graph_neuron";
        1: "graph_modularity", "graph_degrees", "losses";
    },
    headlines: headlines::ALL,
    large_numbers: headlines::LARGE_NUMBERS,
    opens_with_run: false,
};

settings! {
    pub struct NeuronGraphSettings {
        graph: GraphSettings,
        model: BdhSettings,
        corpus: CorpusSettings = corpus_settings("mixture"),
        train: TrainSettings = train_settings(),
        carry: CarrySettings,
        run: RunSettings,
        probe: ProbeSettings,
        null_models: NullModelSettings,
    }

    /// The rule that cuts the graph out of the weights. All are live: they are arguments of questions, not sizes
    /// of the model.
    pub struct GraphSettings in "graph" {
        /// How many of the largest entries of G make edges. The views follow at once, and so does what the run measures from then on.
        edges: usize = 16_000 => "Edges", range(100..=400_000), live, unit("edges"), symbol("m");
        /// x: G = E D_x, what a neuron's y does to each neuron's x one layer on. y: G = E D_y, what it does to each neuron's y. sigma: the synapses of the last layer after a held-out text.
        matrix: Matrix = Matrix::X => "Matrix", live, symbol("G");
        /// Which entries make edges: above the threshold, below its negative, or both.
        sign: Sign = Sign::Excitatory => "Sign", live;
        /// Only edges that leave this head, counted from 1. Takes effect when both heads are chosen; 0 is the whole graph.
        from_head: usize = 0 => "From head", range(0..=64), live;
        /// Only edges that enter this head, counted from 1. Takes effect when both heads are chosen; 0 is the whole graph.
        to_head: usize = 0 => "To head", range(0..=64), live;
        /// Off, every edge counts as one, as in the paper's figures. On, an edge counts as much as its entry.
        weighted: bool = false => "Weights count", live;
        /// How many searches for communities are made from different seeds; the best counts. The paper makes five.
        restarts: usize = 5 => "Searches", range(1..=100), live;
    }

    /// The effort of scheduled tests against null models.
    pub struct NullModelSettings in "probe" {
        /// How many searches for communities each of those numbers is the best of. More take longer, also before the first step; the view's button makes as many as the graph's own.
        graph_modularity_searches: usize = 2 => "Searches, null models", range(1..=100);
    }
}

schedules! {
    pub struct ProbeSettings {
        /// Steps between two graphs that are kept, to scrub through later. 0 draws none by itself.
        neuron_graph: "Graph every" = 50,
        /// Steps between two points of the modularity curve over training, with its degree-preserving null.
        graph_curve: "Curve every" = 20,
        /// Steps between two measurements of modularity against all null models. Each takes about a second.
        graph_modularity: "Null models every" = 300,
        /// Steps between two tables of all pairs of heads: skewness and tails of the entries of G, beside random products.
        head_pairs: "Head pairs every" = 300,
        /// Steps between two measurements of the graph's core, beside ten rewired graphs of the same degrees.
        core_periphery: "Core every" = 300,
    }
}

impl GraphSettings {
    /// The question for the graph that these settings cut out.
    pub fn args(&self) -> NeuronGraphArgs {
        let Self { edges, matrix, sign, from_head, to_head, weighted, restarts } = *self;
        NeuronGraphArgs { matrix, from_head, to_head, sign, edges, weighted, restarts, ..NeuronGraphArgs::default() }
    }

    /// Errors: a head that the model lacks.
    fn check_heads(&self, heads: usize) -> Result<(), ConfigError> {
        for (key, head) in [(Self::from_head.name, self.from_head), (Self::to_head.name, self.to_head)] {
            let why = format_args!(
                "`{key}` = {head} but the model has {heads} heads; choose 1 to {heads}, or 0 for the whole graph"
            );
            refuse_if(head > heads, key, why)?;
        }
        Ok(())
    }
}

fn plan(config: &Config, s: &NeuronGraphSettings) -> Result<Plan, ConfigError> {
    s.graph.check_heads(s.model.heads)?;
    let (every, graph) = (&s.probe, s.graph.args());
    let curve = GraphCurveArgs { graph: graph.clone() };
    // measured before the first step as well, which should not wait long
    let searches = Some(s.null_models.graph_modularity_searches);
    let modularity = GraphModularityArgs { graph: graph.clone(), searches, ..GraphModularityArgs::default() };
    let neuron = GraphNeuronArgs { graph: graph.clone(), neuron: None };
    let pairs = HeadPairsArgs { matrix: graph.matrix, ..HeadPairsArgs::default() };
    let core = CorePeripheryArgs { graph: graph.clone(), ..CorePeripheryArgs::default() };
    let probes = vec![
        every.neuron_graph.ask(&graph),
        every.graph_curve.ask(&curve),
        every.graph_modularity.ask(&modularity),
        every.neuron_graph.ask(&neuron),
        every.head_pairs.ask(&pairs),
        every.core_periphery.ask(&core),
    ];
    let experiment = Experiment::new(config, &s.train, &s.run);
    let training = Training { model: &s.model, corpus: &s.corpus, carry: &s.carry, experiment };
    Ok(Plan { probe_args_group: "graph".into(), ..training.plan(&[training.variant()?], probes)? })
}

const N_NODES: u32 = 36;
const N_GROUPS: u32 = 3;

fn group(i: u32) -> u32 {
    i % N_GROUPS
}

/// One pair in three within a group, one in forty between groups.
fn joined(a: u32, b: u32) -> bool {
    (a * 6007 + b * 31_013) % 120 < if group(a) == group(b) { 40 } else { 3 }
}

/// The gallery's drawing of the neuron graph: a graph with three planted groups on its way from a cloud
/// to rest, by the forces of the view.
pub(super) fn draw(canvas: &Canvas, drawing: &mut Drawing) {
    let pairs = (0..N_NODES).flat_map(|a| (a + 1..N_NODES).map(move |b| (a, b)));
    let edges: Vec<_> = pairs.filter(|(a, b)| joined(*a, *b)).map(|(a, b)| (a, b, 1.0)).collect();
    let springs = Springs::new(N_NODES as usize, &edges);
    let steps = (canvas.pointer_or(1.0) * STEPS as f32) as u64;
    let places = layout::run_steps(steps, &springs, &ForceParams::default(), layout::start(0..N_NODES, 5), |_| ());
    let [left, top, right, bottom] = layout::bounds(&places);
    let [width, height] = canvas.size;
    let scale = (width / (right - left)).min((height - 12.0) / (bottom - top));
    let (middle, [cx, cy]) = ([0.5 * (left + right), 0.5 * (top + bottom)], canvas.centre());
    let place = |i: u32| {
        let [x, y] = places[i as usize];
        [cx + scale * (x - middle[0]), cy + scale * (y - middle[1])]
    };
    for (a, b, _) in &edges {
        let ink = if group(*a) == group(*b) { Ink::Group(group(*a) as usize) } else { Ink::Secondary };
        drawing.path(vec![place(*a), place(*b)], ink.with_opacity(0.35), 1.0);
    }
    (0..N_NODES).for_each(|i| drawing.disc(place(i), 3.5, Ink::Group(group(i) as usize)));
    drawing.caption = format!("{N_NODES} nodes in {N_GROUPS} planted groups, step {steps} of the layout");
}
