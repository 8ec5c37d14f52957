//! Weighted graphs as lists of arcs, and what can be said of them: how far they fall into communities,
//! how their degrees are spread, and what chance alone would give. It does not know what the nodes are.

pub mod communities;
pub mod compare;
pub mod cores;
pub mod degrees;
pub mod modularity;
pub mod null;
pub mod power_law;
pub mod product;

use thiserror::Error;

/// (from, to, weight).
pub type Edge = (u32, u32, f64);

/// Why a list of edges is no graph.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum BadEdge {
    #[error("edge {edge} joins node {node}, but there are {nodes}")]
    Outside { edge: usize, node: u32, nodes: usize },
    #[error("edge {edge} weighs {weight}; modularity needs finite weights of 0 or more")]
    Weight { edge: usize, weight: f64 },
}

/// A weighted graph by rows (CSR). An undirected edge is an arc each way, and an undirected loop counts
/// twice, so that one formula serves both kinds (Leicht and Newman, arXiv 0709.4500, equation 3).
#[derive(Debug, Clone, PartialEq)]
pub struct Graph {
    directed: bool,
    /// `nodes + 1` places in `ends`.
    starts: Vec<usize>,
    ends: Vec<u32>,
    weights: Vec<f64>,
}

impl Graph {
    pub fn new(nodes: usize, edges: &[Edge], directed: bool) -> Result<Self, BadEdge> {
        for (edge, &(a, b, weight)) in edges.iter().enumerate() {
            let node = a.max(b);
            if node as usize >= nodes {
                return Err(BadEdge::Outside { edge, node, nodes });
            }
            if !(weight >= 0.0 && weight.is_finite()) {
                return Err(BadEdge::Weight { edge, weight });
            }
        }
        let arcs = edges.iter().copied();
        Ok(if directed {
            Self::from_arcs(nodes, arcs, true)
        } else {
            Self::from_arcs(nodes, arcs.flat_map(|(a, b, w)| [(a, b, w), (b, a, w)]), false)
        })
    }

    /// Counting sort by the first end, then each row by the other; parallel arcs become one.
    fn from_arcs(nodes: usize, arcs: impl Iterator<Item = Edge> + Clone, directed: bool) -> Self {
        let mut at = vec![0usize; nodes + 1];
        for (a, _, _) in arcs.clone() {
            at[a as usize + 1] += 1;
        }
        for i in 0..nodes {
            at[i + 1] += at[i];
        }
        let mut all = vec![(0u32, 0f64); at[nodes]];
        let mut next = at.clone();
        for (a, b, w) in arcs {
            all[next[a as usize]] = (b, w);
            next[a as usize] += 1;
        }
        let mut graph = Self { directed, starts: vec![0], ends: vec![], weights: vec![] };
        for row in at.windows(2) {
            let row = &mut all[row[0]..row[1]];
            row.sort_by_key(|(b, _)| *b);
            let begin = graph.ends.len();
            for &(b, w) in row.iter() {
                if graph.ends.len() > begin && graph.ends.last() == Some(&b) {
                    if let Some(last) = graph.weights.last_mut() {
                        *last += w;
                    }
                } else {
                    graph.ends.push(b);
                    graph.weights.push(w);
                }
            }
            graph.starts.push(graph.ends.len());
        }
        graph
    }

    pub fn nodes(&self) -> usize {
        self.starts.len() - 1
    }

    pub fn is_directed(&self) -> bool {
        self.directed
    }

    /// Arcs, of which an undirected edge has two.
    pub fn arcs(&self) -> usize {
        self.ends.len()
    }

    /// What `node` points at, with weights, by rising node.
    pub fn row(&self, node: usize) -> impl Iterator<Item = (usize, f64)> {
        let row = self.starts[node]..self.starts[node + 1];
        self.ends[row.clone()].iter().map(|b| *b as usize).zip(self.weights[row].iter().copied())
    }

    /// Every arc.
    pub fn iter(&self) -> impl Iterator<Item = (usize, usize, f64)> {
        (0..self.nodes()).flat_map(|a| self.row(a).map(move |(b, w)| (a, b, w)))
    }

    /// Weight of all arcs: m of a directed graph, 2 m of an undirected one.
    pub fn total(&self) -> f64 {
        self.weights.iter().sum()
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

    /// How many nodes have an arc.
    pub fn carrying(&self) -> usize {
        let mut carries = vec![false; self.nodes()];
        for (a, b, _) in self.iter() {
            carries[a] = true;
            carries[b] = true;
        }
        carries.into_iter().filter(|c| *c).count()
    }
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
        assert_eq!((g.carrying(), g.total(), g.arcs()), (3, 4.5, 3));
        let g = Graph::new(4, &edges, false).unwrap();
        assert_eq!(g.row(0).collect::<Vec<_>>(), [(1, 1.0), (2, 3.5)]);
        assert_eq!(g.total(), 9.0);
    }

    #[test]
    fn what_is_no_graph_is_said() {
        let said = |edges: &[Edge]| Graph::new(2, edges, true).err().map(|e| e.to_string()).unwrap_or_default();
        assert!(said(&[(0, 1, 1.0), (0, 2, 1.0)]).contains("edge 1 joins node 2"));
        assert!(said(&[(0, 1, -1.0)]).contains("weighs -1"));
        assert!(said(&[(0, 1, f64::NAN)]).contains("weighs NaN"));
        assert_eq!(Graph::new(0, &[], true).unwrap().nodes(), 0);
    }
}
