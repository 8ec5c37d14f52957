//! Modularity of a BDH model's neuron graph beside null models, and over training.

use super::{NeuronGraphArgs, neuron_graph::MAX_EDGES};
use crate::telemetry::measurements::prelude::*;

measurement! {
    /// Modularity Q against the number of edges; every list has one entry a number of edges.
    pub struct GraphModularity in "graph.modularity" answers GraphModularityArgs {
        /// The numbers of strongest entries of G that are edges.
        pub edges: Vec<usize>,
        /// Q of the model's graph.
        pub model: Numbers,
        /// Q of the same graph with its edges rewired, every degree as it was.
        pub degree_preserving: Numbers,
        /// Q of a product of random factors whose rows are as long as the model's.
        pub low_rank_same_norms: Numbers,
        /// Q of a product of random factors.
        pub low_rank: Numbers,
        /// Q of edges drawn uniformly: G(n, m).
        pub uniform: Numbers,
        /// Share of the neurons that have an edge, 0 to 1.
        pub carrying: Numbers,
    }
}

arguments! {
    /// Modularity at 1,000, 2,000, 4,000 and so on edges, beside null models; `edges` and `beta` make no difference.
    pub struct GraphModularityArgs asks "graph_modularity" with graph: NeuronGraphArgs {
        /// Largest number of edges that is measured.
        #[range(1..=MAX_EDGES)]
        most: usize = 64_000,
        /// Searches for communities in place of `restarts`.
        #[range(1..=100)]
        searches: Option<usize> = None,
    }
}

measurement! {
    /// Modularity at one number of edges, cheap enough to be measured every few steps.
    pub struct ModularityAtStep in "graph.curve" answers GraphCurveArgs {
        /// The number of strongest entries of G that are edges.
        pub edges: usize,
        /// Q of the model's graph.
        pub model: f64,
        /// Q of the same graph with its edges rewired, every degree as it was.
        pub degree_preserving: f64,
        /// Share of the neurons that have an edge, 0 to 1.
        pub carrying: f64,
    }
}

arguments! {
    /// Modularity at the given number of edges, from two searches; `beta` and `restarts` make no difference.
    pub struct GraphCurveArgs asks "graph_curve" with graph: NeuronGraphArgs {}
}
