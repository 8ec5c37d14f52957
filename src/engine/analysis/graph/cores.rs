//! Core and periphery: the k-cores of a graph, directions and weights put aside. petgraph has none.

use std::ops::AddAssign;

use super::{Graph, rows};

/// The weight of an arc that only joins: parallel ones are one.
#[derive(Debug, Clone, Copy)]
struct UnitWeight;

impl AddAssign for UnitWeight {
    fn add_assign(&mut self, _: Self) {}
}

/// The largest k for which each node is in the k-core: the largest part of the graph in which every node has at least k
/// neighbours. Loops do not count, nor does the way an arc points. Batagelj and Zaversnik, arXiv cs/0310049: peel by
/// rising degree, in time proportional to the arcs.
pub fn coreness(graph: &Graph) -> Vec<u32> {
    let n = graph.nodes();
    let others = graph.iter().filter(|(a, b, _)| a != b);
    let both_ways = others.flat_map(|(a, b, _)| [(a as u32, b as u32, UnitWeight), (b as u32, a as u32, UnitWeight)]);
    let simple = rows(n, both_ways.collect());
    let mut degree: Vec<usize> = (0..n as u32).map(|v| simple.out_degree(v)).collect();
    let most = degree.iter().copied().max().unwrap_or(0);
    // Nodes lie in buckets by their remaining degree.
    let mut begin = vec![0usize; most + 2];
    degree.iter().for_each(|d| begin[d + 1] += 1);
    (0..=most).for_each(|d| begin[d + 1] += begin[d]);
    let (mut order, mut place, mut next) = (vec![0; n], vec![0; n], begin.clone());
    for v in 0..n {
        place[v] = next[degree[v]];
        order[place[v]] = v;
        next[degree[v]] += 1;
    }
    for i in 0..n {
        let v = order[i];
        for u in simple.neighbors_slice(v as u32) {
            let u = *u as usize;
            if degree[u] > degree[v] {
                // moves u to the front of its bucket, which then begins one place later
                let front = begin[degree[u]];
                let w = order[front];
                order.swap(front, place[u]);
                place.swap(u, w);
                begin[degree[u]] += 1;
                degree[u] -= 1;
            }
        }
    }
    degree.into_iter().map(|d| d as u32).collect()
}

/// The density of arcs among the nodes that have most of them, 0 to 1: arcs from one of these nodes to another, of all
/// that there could be. `share` says how many nodes that is, at least two; arcs either way count, ties go by number,
/// loops do not count. NaN for fewer than two nodes. Unlike the fit to an ideal core and periphery, which the degrees
/// alone decide (Lip, arXiv 1102.5511), it can differ from that of a graph with the same degrees. Colizza et al.,
/// Nature Physics 2 (2006) 110.
pub fn rich_club(graph: &Graph, share: f64) -> f64 {
    let mut degree = vec![0usize; graph.nodes()];
    let arcs = || graph.iter().filter(|(a, b, _)| a != b);
    for (a, b, _) in arcs() {
        degree[a] += 1;
        degree[b] += 1;
    }
    let mut order: Vec<usize> = (0..graph.nodes()).collect();
    order.sort_by(|a, b| degree[*b].cmp(&degree[*a]).then(a.cmp(b)));
    let members = ((share * order.len() as f64).ceil() as usize).max(2);
    order.truncate(members);
    let mut is_member = vec![false; graph.nodes()];
    order.iter().for_each(|v| is_member[*v] = true);
    let inside = arcs().filter(|(a, b, _)| is_member[*a] && is_member[*b]).count();
    if order.len() < 2 { f64::NAN } else { inside as f64 / (order.len() * (order.len() - 1)) as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::graph::null_models;

    #[test]
    fn a_clique_with_a_tail() {
        // 0..3 all joined, 3 - 4 - 5 hanging on, 6 alone; a loop and a double arc change nothing
        let edges =
            [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3), (3, 4), (4, 5), (5, 5), (1, 0)].map(|(a, b)| (a, b, 1.0));
        let g = Graph::new(7, &edges, true).unwrap();
        assert_eq!(coreness(&g), [3, 3, 3, 3, 1, 1, 0]);
        assert_eq!(coreness(&Graph::new(0, &[], true).unwrap()), [0u32; 0]);
        // the four of the clique have most arcs: seven of twelve pairs; the loop is none
        assert_eq!(rich_club(&g, 0.5), 7.0 / 12.0);
        assert_eq!(rich_club(&g, 1.0), 9.0 / 42.0);
        assert!(rich_club(&Graph::new(0, &[], true).unwrap(), 0.5).is_nan());
    }

    /// Eight nodes all joined that have as many neighbours outside as inside: no rewired graph keeps them together.
    #[test]
    fn rewiring_takes_a_core_apart() {
        let core = (0..8).flat_map(|a| (0..8).filter(move |b| *b != a).map(move |b| (a, b, 1.0)));
        let spokes = (0..64).map(|k| (k / 8, 8 + k, 1.0));
        let rest = (8..72).map(|k| (k, 8 + (k + 5) % 64, 1.0));
        let edges: Vec<_> = core.chain(spokes).chain(rest).collect();
        let rewired = null_models::degree_preserving(&edges, 5);
        let [given, rewired] = [edges, rewired].map(|edges| Graph::new(72, &edges, true).unwrap());
        assert_eq!(rich_club(&given, 8.0 / 72.0), 1.0);
        assert!(rich_club(&rewired, 8.0 / 72.0) < 0.9);
        assert_eq!(coreness(&given).into_iter().max(), Some(7));
    }
}
