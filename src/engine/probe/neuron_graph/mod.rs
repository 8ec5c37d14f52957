//! Questions about the graph that a BDH model's weights draw between its neurons: G_x = E D_x or
//! G_y = E D_y, n by n, where G[i, j] is the effect of y_i on neuron j (arXiv 2509.26507, section 5.5).
//! G is only ever seen tile by tile. This file reads the question; each answer has a file of its own.

mod curve;
mod degrees;
mod factors;
mod full_graph;
mod neuron;
mod null_models;
mod spread;

pub use curve::GraphCurve;
pub use full_graph::{NeuronGraph, neuron_graph};
pub use neuron::GraphNeuron;
pub use null_models::GraphModularity;

use factors::Factors;

use crate::{
    analysis::graph::{
        Edge, Graph,
        communities::{Communities, Search, communities},
        product::Sign,
    },
    config::Value,
    models::Trainable,
    nn::Result,
    telemetry::Args,
};

/// Which matrix of decoders the effect goes through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Through {
    /// G_x = E D_x
    X,
    /// G_y = E D_y
    Y,
}

/// What is wanted; what the arguments lack is as the lab begins.
#[derive(Debug, Clone, PartialEq)]
struct Question {
    through: Through,
    /// From and to a head, from 0; the whole graph otherwise.
    heads: Option<(usize, usize)>,
    sign: Sign,
    /// So many edges,
    edges: usize,
    /// or all entries larger than this, if it is above 0.
    beta: f32,
    /// Edges count by their size, not each as 1.
    weighted: bool,
    restarts: usize,
}

/// More would neither be drawn nor fit a message.
pub const MOST_EDGES: usize = 400_000;

impl Question {
    fn of(args: &Args) -> Self {
        let number = |name: &str| args.get(name).and_then(Value::as_f64).filter(|v| v.is_finite());
        let word = |name: &str| args.get(name).map(ToString::to_string).unwrap_or_default();
        let head = |name: &str| number(name).filter(|h| *h >= 1.0).map(|h| h as usize - 1);
        Self {
            through: if word("matrix") == "y" { Through::Y } else { Through::X },
            heads: head("from_head").zip(head("to_head")),
            sign: match word("sign").as_str() {
                "inhibitory" => Sign::Inhibitory,
                "both" => Sign::Both,
                _ => Sign::Excitatory,
            },
            edges: number("edges").map_or(16_000, |m| m.max(1.0) as usize).min(MOST_EDGES),
            beta: number("beta").unwrap_or(0.0) as f32,
            weighted: matches!(args.get("weighted"), Some(Value::Switch(true))),
            restarts: number("restarts").map_or(5, |r| r.clamp(1.0, 100.0) as usize),
        }
    }

    /// In words, for `about`.
    fn words(&self) -> String {
        let what = if self.through == Through::Y { "G_y = E D_y" } else { "G_x = E D_x" };
        let heads = self.heads.map_or(String::new(), |(a, b)| format!(", head {} to head {}", a + 1, b + 1));
        let sign = match self.sign {
            Sign::Excitatory => "excitatory",
            Sign::Inhibitory => "inhibitory",
            Sign::Both => "excitatory and inhibitory",
        };
        format!("{what}{heads}, {sign}")
    }
}

fn applies(model: &dyn Trainable) -> bool {
    model.capabilities().synapses.is_some()
}

/// Edges between the neurons that have any, numbered anew.
struct Compact {
    /// New number -> number in the model, rising.
    neurons: Vec<u32>,
    edges: Vec<Edge>,
}

impl Compact {
    fn of(edges: &[Edge]) -> Self {
        let mut neurons: Vec<u32> = edges.iter().flat_map(|(a, b, _)| [*a, *b]).collect();
        neurons.sort_unstable();
        neurons.dedup();
        let place = |v: &u32| neurons.binary_search(v).unwrap_or_default() as u32;
        let edges = edges.iter().map(|(a, b, w)| (place(a), place(b), *w)).collect();
        Self { neurons, edges }
    }

    /// Best of `restarts` searches, each perturbed so often; neurons without edges would change nothing.
    fn communities(&self, restarts: usize, perturbations: Option<usize>, seed: u64) -> Result<Communities> {
        let graph = Graph::new(self.neurons.len(), &self.edges, true).map_err(candle_core::Error::wrap)?;
        Ok(communities(&graph, Search { seed, restarts, perturbations, ..Search::default() }))
    }
}

/// The edges of entries, each 1 or its size.
fn weighed(edges: &[(u32, u32, f32)], weighted: bool) -> Vec<Edge> {
    edges.iter().map(|(a, b, g)| (*a, *b, if weighted { f64::from(g.abs()) } else { 1.0 })).collect()
}
