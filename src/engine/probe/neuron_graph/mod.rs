//! Questions about the graph that a BDH model's weights draw between its neurons: G_x = E D_x or
//! G_y = E D_y, n by n, where G[i, j] is the effect of y_i on neuron j (arXiv 2509.26507, section 5.5).
//! G is only ever seen tile by tile, and so are the synapses after a text, which are a thin product too. This file
//! reads the question; each answer, or two that are alike, has a file of its own.

mod core_periphery;
mod degrees;
mod factors;
mod full_graph;
mod head_pairs;
mod matrices;
mod neuron;
mod null_models;
mod write_intervals;

pub use crate::telemetry::measurements::MAX_EDGES;
pub use full_graph::neuron_graph;
pub use matrices::{MATRIX_PROBES, MatrixPair, ask_matrices};

use factors::Factors;

use crate::{
    analysis::graph::{
        Edge, Graph,
        communities::{Communities, Search, communities},
    },
    probe::prelude::*,
};

impl NeuronGraphArgs {
    /// The source head and the target head, from 0; `None` for the whole graph.
    fn heads(&self) -> Option<(usize, usize)> {
        self.from_head.checked_sub(1).zip(self.to_head.checked_sub(1))
    }
}

/// Edges between the neurons that have any, numbered consecutively.
struct CompactGraph {
    /// Maps new numbers to numbers in the model, in ascending order.
    neurons: Vec<u32>,
    edges: Vec<Edge>,
}

impl CompactGraph {
    fn from_edges(edges: &[Edge]) -> Self {
        let mut neurons: Vec<u32> = edges.iter().flat_map(|(a, b, _)| [*a, *b]).collect();
        neurons.sort_unstable();
        neurons.dedup();
        let place = |v: &u32| neurons.binary_search(v).unwrap_or_default() as u32;
        let edges = edges.iter().map(|(a, b, w)| (place(a), place(b), *w)).collect();
        Self { neurons, edges }
    }

    /// The best of `restarts` searches, each perturbed this many times. Neurons without edges are left out, since they
    /// would change nothing.
    fn communities(&self, restarts: usize, perturbations: Option<usize>, seed: u64) -> Result<Communities> {
        let graph = Graph::new(self.neurons.len(), &self.edges, true)?;
        Ok(communities(&graph, Search { seed, restarts, perturbations, ..Search::default() }))
    }
}

impl Matrix {
    /// A description of the matrix; `tokens` is the number of tokens of the text, for synapses.
    fn sentence(self, tokens: usize) -> String {
        match self {
            Self::X => "G_x = E D_x".to_owned(),
            Self::Y => "G_y = E D_y".to_owned(),
            Self::Sigma => format!("synapses after {tokens} held-out tokens"),
        }
    }
}

/// The edges of entries, each 1 or its size.
fn weighted_edges(edges: &[(u32, u32, f32)], weighted: bool) -> Vec<Edge> {
    edges.iter().map(|(a, b, g)| (*a, *b, if weighted { f64::from(g.abs()) } else { 1.0 })).collect()
}
