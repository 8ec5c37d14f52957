//! Weighted graphs as lists of arcs, and measures of them: how far they fall into communities, how their degrees are
//! distributed, and what is expected by chance.

pub mod communities;
pub mod components;
pub mod cores;
pub mod degrees;
pub mod modularity;
pub mod null_models;
pub mod partition_similarity;
pub mod power_law;
pub mod product;

use std::ops::AddAssign;

use petgraph::{Directed, csr::Csr};
use thiserror::Error;

/// An edge, as (from, to, weight).
pub type Edge = (u32, u32, f64);

/// The reason why a list of edges is not a graph.
#[derive(Debug, Clone, PartialEq, Error)]
#[allow(missing_docs, reason = "the messages name the fields of the variants")]
pub enum InvalidEdge {
    /// An edge names a node that does not exist.
    #[error("edge {edge} joins node {node}, but there are {nodes}")]
    Outside { edge: usize, node: u32, nodes: usize },
    /// The weight of an edge is negative or not finite.
    #[error("edge {edge} weighs {weight}; modularity needs finite weights of 0 or more")]
    Weight { edge: usize, weight: f64 },
}

/// A weighted graph as petgraph's compressed sparse rows. An undirected edge is an arc each way, and an
/// undirected loop counts twice, so that one formula serves both kinds (Leicht and Newman, arXiv 0709.4500,
/// equation 3).
#[derive(Debug, Clone)]
pub struct Graph {
    directed: bool,
    arcs: Csr<(), f64, Directed, u32>,
}

impl Graph {
    /// Parallel edges become one with the sum of their weights.
    ///
    /// # Errors
    /// An end that is not a node, or a weight that is negative or not finite.
    pub fn new(nodes: usize, edges: &[Edge], directed: bool) -> Result<Self, InvalidEdge> {
        for (edge, &(a, b, weight)) in edges.iter().enumerate() {
            let node = a.max(b);
            ensure!((node as usize) < nodes, InvalidEdge::Outside { edge, node, nodes });
            ensure!(weight >= 0.0 && weight.is_finite(), InvalidEdge::Weight { edge, weight });
        }
        let arcs = if directed {
            edges.to_vec()
        } else {
            edges.iter().flat_map(|&(a, b, w)| [(a, b, w), (b, a, w)]).collect()
        };
        Ok(Self { directed, arcs: rows(nodes, arcs) })
    }

    /// Returns the number of nodes.
    pub fn nodes(&self) -> usize {
        self.arcs.node_count()
    }

    /// The number of arcs; an undirected edge has two.
    pub fn arcs(&self) -> usize {
        self.arcs.edge_count()
    }

    /// Returns true if there is an arc from `a` to `b`, in time logarithmic in the arcs out of `a`.
    pub fn has_arc(&self, a: usize, b: usize) -> bool {
        self.arcs.contains_edge(a as u32, b as u32)
    }

    /// The targets of the arcs out of `node` with their weights, by rising node.
    pub fn row(&self, node: usize) -> impl Iterator<Item = (usize, f64)> {
        let (ends, weights) = (self.arcs.neighbors_slice(node as u32), self.arcs.edges_slice(node as u32));
        ends.iter().map(|b| *b as usize).zip(weights.iter().copied())
    }

    /// Every arc.
    pub fn iter(&self) -> impl Iterator<Item = (usize, usize, f64)> {
        (0..self.nodes()).flat_map(|a| self.row(a).map(move |(b, w)| (a, b, w)))
    }

    /// Weight of all arcs: m of a directed graph, 2 m of an undirected one.
    pub fn total(&self) -> f64 {
        (0..self.nodes() as u32).flat_map(|a| self.arcs.edges_slice(a)).sum()
    }

    /// Weight of the arcs out of and into each node; the same for an undirected graph.
    pub fn strengths(&self) -> (Vec<f64>, Vec<f64>) {
        let (mut out, mut into) = (vec![0.0; self.nodes()], vec![0.0; self.nodes()]);
        for (a, b, w) in self.iter() {
            out[a] += w;
            into[b] += w;
        }
        (out, into)
    }
}

/// Arcs between `nodes` nodes as rows. The sort is stable, so that parallel arcs are summed in their order.
fn rows<E: Copy + AddAssign>(nodes: usize, mut arcs: Vec<(u32, u32, E)>) -> Csr<(), E, Directed, u32> {
    arcs.sort_by_key(|(a, b, _)| (*a, *b));
    arcs.dedup_by(|later, first| {
        let parallel = (later.0, later.1) == (first.0, first.1);
        if parallel {
            first.2 += later.2;
        }
        parallel
    });
    let mut rows = Csr::from_sorted_edges(&arcs).unwrap_or_else(|_| unreachable!("the arcs were sorted and merged"));
    while rows.node_count() < nodes {
        rows.add_node(());
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_sorted_and_parallel_edges_add_up() {
        let edges = [(2, 0, 1.0), (0, 2, 2.0), (0, 1, 1.0), (0, 2, 0.5)];
        let g = Graph::new(4, &edges, true).unwrap();
        assert_eq!(g.iter().collect::<Vec<_>>(), [(0, 1, 1.0), (0, 2, 2.5), (2, 0, 1.0)]);
        assert_eq!(g.strengths(), (vec![3.5, 0.0, 1.0, 0.0], vec![1.0, 1.0, 2.5, 0.0]));
        assert_eq!((g.total(), g.arcs()), (4.5, 3));
        let g = Graph::new(4, &edges, false).unwrap();
        assert_eq!(g.row(0).collect::<Vec<_>>(), [(1, 1.0), (2, 3.5)]);
        assert_eq!(g.total(), 9.0);
    }

    #[test]
    fn invalid_edges_are_refused_with_a_reason() {
        let said = |edges: &[Edge]| Graph::new(2, edges, true).err().map(|e| e.to_string()).unwrap_or_default();
        assert!(said(&[(0, 1, 1.0), (0, 2, 1.0)]).contains("edge 1 joins node 2"));
        assert!(said(&[(0, 1, -1.0)]).contains("weighs -1"));
        assert!(said(&[(0, 1, f64::NAN)]).contains("weighs NaN"));
        assert_eq!(Graph::new(0, &[], true).unwrap().nodes(), 0);
    }
}
