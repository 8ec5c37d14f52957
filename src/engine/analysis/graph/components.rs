//! Connected components: nodes that are joined whatever the direction of edges (weak), or that can reach one another along
//! it (strong).

use petgraph::{algo::kosaraju_scc, graph::DiGraph, unionfind::UnionFind};

use super::communities::by_size;

/// The component of each node, whatever the direction of edges; 0 has the most nodes. Edges to no node are left out.
pub fn weakly_connected(nodes: usize, edges: impl Iterator<Item = (u32, u32)>) -> Vec<u32> {
    let mut sets = UnionFind::<u32>::new(nodes);
    for (a, b) in edges.filter(|(a, b)| (*a.max(b) as usize) < nodes) {
        sets.union(a, b);
    }
    by_size(&sets.into_labeling()).0
}

/// The strongly connected component of each node; 0 has the most nodes. Edges to no node are left out.
pub fn strongly_connected(nodes: usize, edges: impl Iterator<Item = (u32, u32)>) -> Vec<u32> {
    let mut graph = DiGraph::<(), ()>::with_capacity(nodes, 0);
    for _ in 0..nodes {
        graph.add_node(());
    }
    for (a, b) in edges.filter(|(a, b)| (*a.max(b) as usize) < nodes) {
        graph.add_edge(a.into(), b.into(), ());
    }
    let mut of = vec![0; nodes];
    // petgraph's Tarjan recurses and its Kosaraju does not: a chain may be a million nodes long
    for (component, members) in (0..).zip(kosaraju_scc(&graph)) {
        members.into_iter().for_each(|node| of[node.index()] = component);
    }
    by_size(&of).0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_are_found_and_counted_by_size() {
        let edges = [(0, 1), (1, 2), (2, 0), (2, 3), (5, 4), (9, 0)];
        assert_eq!(weakly_connected(6, edges.into_iter()), [0, 0, 0, 0, 1, 1]);
        assert_eq!(strongly_connected(6, edges.into_iter()), [0, 0, 0, 1, 2, 3]);
        let chain = (0..200_000).map(|i| (i, i + 1));
        assert!(strongly_connected(200_001, chain).iter().zip(0..).all(|(c, i): (&u32, u32)| *c == i));
    }
}
