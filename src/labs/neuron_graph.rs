//! The Neuron graph lab (BDH-GPU, arXiv 2509.26507, section 5): the weights of a language model as a
//! graph between its neurons, cut at a threshold, while communities form.

use super::{Lab, Pane, Preset, bdh, common};
use crate::{
    config::{Config, ConfigError, Knob},
    telemetry::Args,
    trainer::{Plan, ProbeSchedule},
};

pub static LAB: Lab = Lab {
    id: "neuron_graph",
    title: "Neuron graph",
    question: "Do neurons that learn a language fall into communities, more than chance would have it?",
    source: "The Dragon Hatchling (BDH), arXiv 2509.26507",
    lesson: include_str!("../../assets/lessons/neuron_graph.md"),
    groups: &[
        ("graph", "Graph"),
        ("model", "Model"),
        ("corpus", "Text"),
        ("train", "Training"),
        ("probe", "Measuring"),
        ("run", "Run"),
    ],
    knobs,
    presets: &[
        Preset {
            id: "neuron_graph",
            title: "From noise to communities",
            about: "2,048 neurons learn prose, byte by byte; the graph of E D_x is cut at its 16,000 largest entries.",
            toml: include_str!("../../configs/neuron_graph.toml"),
        },
        Preset {
            id: "neuron_graph_inhibitory",
            title: "The inhibitory side",
            about: "The same model; edges are the 16,000 most negative entries instead.",
            toml: include_str!("../../configs/neuron_graph_inhibitory.toml"),
        },
    ],
    plan,
    panes: &[
        Pane { view: "neuron_graph", column: 0, share: 0.68, tab: false },
        Pane { view: "graph_threshold", column: 0, share: 0.32, tab: false },
        Pane { view: "graph_modularity", column: 1, share: 0.5, tab: false },
        Pane { view: "graph_degrees", column: 1, share: 0.5, tab: true },
        Pane { view: "losses", column: 1, share: 0.5, tab: true },
        Pane { view: "graph_neuron", column: 1, share: 0.5, tab: false },
    ],
    opens_with_run: false,
};

fn knobs() -> Vec<Knob> {
    let mut all = graph_knobs();
    // what they act on are questions, not the model
    all.iter_mut().for_each(|k| k.live = true);
    all.extend(bdh::model_knobs(2048, 64, 4));
    all.extend(bdh::corpus_knobs("mixture"));
    all.extend(bdh::training_knobs(600));
    all.extend(measuring_knobs());
    all
}

fn graph_knobs() -> Vec<Knob> {
    vec![
        Knob::int("graph.edges", "Edges", 16_000, 100, 400_000).log().unit("edges").symbol("m").tip(
            "How many of the largest entries of G make edges. The views follow at once, and so does what the run measures from then on.",
        ),
        Knob::choice("graph.matrix", "Matrix", "x", &["x", "y"]).symbol("G").tip(
            "x: G = E D_x, what a neuron's y does to each neuron's x one layer on. y: G = E D_y, what it does to each neuron's y.",
        ),
        Knob::choice("graph.sign", "Sign", "excitatory", &["excitatory", "inhibitory", "both"]).tip(
            "Which entries make edges: above the threshold, below its negative, or both.",
        ),
        Knob::int("graph.from_head", "From head", 0, 0, 64).tip(
            "Only edges that leave this head, counted from 1. Takes effect when both heads are chosen; 0 is the whole graph.",
        ),
        Knob::int("graph.to_head", "To head", 0, 0, 64)
            .tip("Only edges that enter this head, counted from 1. Takes effect when both heads are chosen; 0 is the whole graph."),
        Knob::switch("graph.weighted", "Weights count", false).tip(
            "Off, every edge counts as one, as in the paper's figures. On, an edge counts as much as its entry.",
        ),
        Knob::int("graph.restarts", "Searches", 5, 1, 100).tip(
            "How many searches for communities are made from different seeds, of which the best counts. The paper makes five.",
        ),
    ]
}

fn measuring_knobs() -> Vec<Knob> {
    vec![
        common::every_knob("probe.neuron_graph_every", "Graph every", 50, "Steps between two graphs that are kept, to scrub through later. 0 draws none by itself."),
        common::every_knob("probe.graph_curve_every", "Curve every", 20, "Steps between two points of the modularity curve over training, with its degree-preserving null."),
        common::every_knob("probe.graph_modularity_every", "Null models every", 300, "Steps between two measurements of modularity against all null models. Each takes about a second."),
        Knob::int("probe.graph_modularity_searches", "Searches, null models", 2, 1, 100).tip(
            "How many searches for communities each of those numbers is the best of. More take longer, also before the first step; the view's button makes as many as the graph's own.",
        ),
    ]
}

/// Also read by the probe: `graph.edges` as `edges` and so on.
fn args(c: &Config) -> Args {
    c.under("graph").map(|(key, value)| (key.to_owned(), value.clone())).collect()
}

fn plan(c: &Config) -> Result<Plan, ConfigError> {
    let heads = c.usize("model.heads");
    for key in ["graph.from_head", "graph.to_head"] {
        if c.usize(key) > heads {
            return Err(ConfigError::Inconsistent(format!(
                "`{key}` = {} but the model has {heads} heads; choose 1 to {heads}, or 0 for the whole graph",
                c.usize(key)
            )));
        }
    }
    let cadence = |probe: &str, every: &str| ProbeSchedule {
        probe: probe.into(),
        every: c.usize(&format!("probe.{every}_every")) as u64,
        args: args(c),
    };
    let mut against_nulls = cadence("graph_modularity", "graph_modularity");
    // measured before the first step as well, which should not wait long
    if let Some(searches) = c.get("probe.graph_modularity_searches") {
        against_nulls.args.insert("searches".into(), searches.clone());
    }
    let probes = vec![
        cadence("neuron_graph", "neuron_graph"),
        cadence("graph_curve", "graph_curve"),
        against_nulls,
        cadence("graph_neuron", "neuron_graph"),
    ];
    Ok(Plan { asks_with: "graph".into(), ..bdh::plan(c, vec![bdh::variant(c)?], probes)? })
}
