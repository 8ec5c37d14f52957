//! Core and periphery: the k-cores of a graph, directions and weights put aside. petgraph has none.

use std::ops::AddAssign;

use super::{Graph, rows};

/// The weight of an arc that only joins: parallel ones are one.
#[derive(Debug, Clone, Copy)]
struct Joined;

impl AddAssign for Joined {
    fn add_assign(&mut self, _: Self) {}
}

/// The largest k for which each node is in the k-core: the largest part of the graph in which everybody
/// has at least k others. Loops do not count, nor does the way an arc points. Batagelj and Zaversnik,
/// arXiv cs/0310049: peel by rising degree, in time proportional to the arcs.
pub fn coreness(graph: &Graph) -> Vec<u32> {
    let n = graph.nodes();
    let others = graph.iter().filter(|(a, b, _)| a != b);
    let both_ways = others.flat_map(|(a, b, _)| [(a as u32, b as u32, Joined), (b as u32, a as u32, Joined)]);
    let simple = rows(n, both_ways.collect());
    let mut degree: Vec<usize> = (0..n as u32).map(|v| simple.out_degree(v)).collect();
    let most = degree.iter().copied().max().unwrap_or(0);
    // nodes in buckets by what is left of their degree
    let mut begin = vec![0usize; most + 2];
    for d in &degree {
        begin[d + 1] += 1;
    }
    for d in 0..=most {
        begin[d + 1] += begin[d];
    }
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
                // to the front of its bucket, which then begins one later
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clique_with_a_tail() {
        // 0..3 all joined, 3 - 4 - 5 hanging on, 6 alone; a loop and a double arc change nothing
        let edges =
            [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3), (3, 4), (4, 5), (5, 5), (1, 0)].map(|(a, b)| (a, b, 1.0));
        let g = Graph::new(7, &edges, true).unwrap();
        assert_eq!(coreness(&g), [3, 3, 3, 3, 1, 1, 0]);
        assert_eq!(coreness(&Graph::new(0, &[], true).unwrap()), [0u32; 0]);
    }
}
