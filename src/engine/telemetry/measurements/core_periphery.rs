//! Core and periphery of a BDH model's neuron graph, beside graphs with the same degrees.

use super::NeuronGraphArgs;
use crate::{analysis::statistics::mean, telemetry::measurements::prelude::*};

measurement! {
    /// How far the graph has a core. Each number comes with those of rewired graphs, in which every neuron keeps its
    /// edges in and out; one above all of theirs is more of a core than the degrees bring with them.
    pub struct CorePeriphery in "graph.core" answers CorePeripheryArgs {
        /// Edges of the graph.
        pub edges: usize,
        /// Neurons that have an edge.
        pub carrying: usize,
        /// Largest k of a k-core.
        pub core_k: u32,
        /// Neurons in that core.
        pub core_size: usize,
        /// Largest k of a k-core of each rewired graph.
        pub core_k_rewired: Vec<u32>,
        /// Density of edges among the neurons that have most edges, 0 to 1.
        pub rich_club: f64,
        /// The same of each rewired graph.
        pub rich_club_rewired: Numbers,
    }
}

arguments! {
    /// The core of the graph at the given number of edges; `weighted` and `restarts` make no difference.
    pub struct CorePeripheryArgs asks "core_periphery" with graph: NeuronGraphArgs {
        /// Rewired graphs of the same degrees.
        #[range(1..=1000)]
        rewirings: usize = 10,
        /// Share of the neurons with an edge, those with most of them, whose density is measured.
        #[range(0.0..=1.0)]
        share: f64 = 0.1,
    }
}

impl CorePeriphery {
    /// The density among the neurons with most edges over the mean of the rewired graphs.
    pub fn rich_club_ratio(&self) -> f64 {
        self.rich_club / mean(&self.rich_club_rewired)
    }
}
