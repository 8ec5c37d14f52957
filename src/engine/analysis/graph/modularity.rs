//! Newman's modularity of a given partition.

use super::Graph;

/// Q = sum over communities of L_c / m - Kout_c Kin_c / m^2: the share of weight inside communities, less what it would
/// be if arcs were drawn by strength alone. Leicht and Newman, arXiv 0709.4500, equation 3; of an undirected graph
/// Newman and Girvan, arXiv cond-mat/0308217. 0 for a graph without weight. `community[v]` is any number; `None` when
/// there is not one per node.
pub fn modularity(graph: &Graph, community: &[u32]) -> Option<f64> {
    if community.len() != graph.nodes() {
        return None;
    }
    let m = graph.total();
    if m <= 0.0 {
        return Some(0.0);
    }
    let (label, count) = dense(community);
    let (mut out, mut into) = (vec![0.0; count], vec![0.0; count]);
    let mut inside = 0.0;
    for (a, b, w) in graph.iter() {
        let (a, b) = (label[a] as usize, label[b] as usize);
        out[a] += w;
        into[b] += w;
        inside += if a == b { w } else { 0.0 };
    }
    let expected: f64 = out.iter().zip(&into).map(|(o, i)| (o / m) * (i / m)).sum();
    Some(inside / m - expected)
}

/// The same partition with labels 0, 1, ... in order of first use, and their number.
pub fn dense(community: &[u32]) -> (Vec<u32>, usize) {
    let mut known = std::collections::HashMap::new();
    let label = |c: &u32| {
        let next = known.len() as u32;
        *known.entry(*c).or_insert(next)
    };
    let labels = community.iter().map(label).collect();
    (labels, known.len())
}
