//! The lab of a trained BDH (arXiv 2509.26507), the user's own or another's: it is opened, inspected, probed and intervened
//! in, and nothing is trained.
//!
//! **Data flow.** The plan has one variant, whose weights and sizes are those of the file, and no steps: such a
//! run holds no optimiser and is ready as soon as the file is open. Its probes are those of the three labs that train a
//! BDH, and views ask them while they are visible. To train further is the same plan with steps.
//!
//! **Time.** A folder of checkpoints is recorded as a run whose steps are theirs ([`crate::trainer::record_series`]): the plan is
//! made for each file, its schedule is measured once at each, its weights are the run's snapshot of that step. From there
//! on it is a run like any other: the scrubber, every question at any step, the layout of the graph, the curves of loss and
//! modularity, `orrery render` and `orrery export` do not depend on where it comes from.

mod headlines;
pub mod settings;

use super::bdh::Training;
use crate::labs::prelude::*;
use settings::{ProbeSettings, TrainedBdhSettings};

pub static LAB: Lab = Lab {
    id: "trained_bdh",
    title: "Trained BDH",
    question: "You have a trained BDH: what do its neurons answer to, and what happens without them?",
    source: "The Dragon Hatchling (BDH), arXiv 2509.26507",
    lesson: include_str!("../../../assets/lessons/trained_bdh.md"),
    groups: groups! {
        model, reading = "Reading", contexts = "Top contexts", concepts = "Concepts", change = "Intervention",
        graph = "Graph", corpus, train = "Training on", probe = "Measuring", run
    },
    essentials: keys! {
        model.checkpoint, reading.text, reading.layer, contexts.neuron, contexts.of, change.target, change.neurons,
        change.action
    },
    knobs: TrainedBdhSettings::schema,
    presets: presets! {
        "trained_bdh", "Open a checkpoint",
        "Name a checkpoint, or drop one on the window. Until then the weights are random: what every picture looks \
         like when nothing was learned.";
        "trained_bdh_here", "Trained here",
        "No checkpoint at hand: a BDH of 2,048 neurons learns generated text for some minutes, and is looked at like one \
         that was opened.";
        "trained_bdh_intervention", "Without a neuron",
        "A neuron is silenced while the model reads, beside random neurons that fire as often: is it missed more \
         than they are?";
        "trained_bdh_synapse", "Without a synapse",
        "What one synapse holds is silenced while the model reads, beside random synapses that hold as much: does \
         the text notice?";
    },
    plan: |config| plan(config, &TrainedBdhSettings::read(config)?),
    drawing: draw,
    panes: panes! {
        tall: "neuron_graph", "reading", "graph_neuron";
        0: "trained_bdh", "activity", "next_tokens";
        1: "logit_lens", "intervention";
        more: "top_contexts", "concepts", "concept_effect", "query_key_maps", "graph_threshold", "graph_modularity",
            "graph_degrees", "losses";
    },
    headlines: headlines::ALL,
    large_numbers: headlines::LARGE_NUMBERS,
    opens_with_run: true,
};

fn plan(config: &Config, s: &TrainedBdhSettings) -> Result<Plan, ConfigError> {
    let experiment = Experiment::new(config, &s.train, &s.run);
    let (model, carry) = (s.model.bdh(), Default::default());
    let training = Training { model: &model, corpus: &s.corpus, carry: &carry, experiment };
    let plan = training.plan(&[training.variant()?], probes(s))?;
    Ok(Plan { probe_args_group: "graph".into(), ..plan })
}

/// Measured at the start of a run without a window, and while it trains on; a window asks when a view is shown.
fn probes(s: &TrainedBdhSettings) -> Vec<ProbeSchedule> {
    let (key, every) = (ProbeSettings::every, s.probe.every);
    let mut probes = vec![
        ask_every(&TrainedBdhArgs::default(), key, every),
        ask_every(&ActivityArgs::default(), key, every),
        ask_every(&s.reading.logit_lens_args(), key, every),
        ask_every(&s.reading.query_key_maps_args(), key, every),
        ask_every(&s.reading.reading_args(), key, every),
        ask_every(&s.graph.args(), key, every),
        ask_every(&GraphCurveArgs { graph: s.graph.args() }, key, every),
        ask_every(&GraphNeuronArgs { graph: s.graph.args(), neuron: None }, key, every),
    ];
    if !s.change.named().is_empty() {
        probes.push(ask_every(&s.intervention_args(), key, every));
    }
    probes
}

/// Tokens and layers of the drawing.
const N_TOKENS: usize = 11;
const N_LAYERS: usize = 6;

/// The gallery's drawing of a trained BDH: a text read through layers, each surer of what comes next, up to
/// the pointer's place.
fn draw(canvas: &Canvas, drawing: &mut Drawing) {
    let [width, height] = canvas.size;
    let read = ((canvas.pointer_or(0.72) * N_TOKENS as f32) as usize).min(N_TOKENS - 1);
    let (column, row) = (width / N_TOKENS as f32, (height - 6.0) / (N_LAYERS + 1) as f32);
    let centre =
        |token: usize, layer: usize| [column * (token as f32 + 0.5), height - 3.0 - row * (layer as f32 + 0.5)];
    for token in 0..N_TOKENS {
        for layer in 0..=N_LAYERS {
            // surer with every layer, and the sooner the more has been read
            let sure = (layer as f32 / N_LAYERS as f32).powf(0.6 + 2.4 / (token as f32 + 1.0));
            let ink = Ink::Raised.mixed(Ink::Accent, sure);
            let ink = if token > read { Ink::Line.with_opacity(0.5) } else { ink };
            let [x, y] = centre(token, layer);
            drawing.path(vec![[x - column * 0.36, y], [x + column * 0.36, y]], ink, row * 0.62);
        }
    }
    drawing.caption = format!("after {} tokens: surer with every layer", read + 1);
}
