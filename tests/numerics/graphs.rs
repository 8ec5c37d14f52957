//! Tests properties that hold for any graph: invariances of modularity, guarantees of the community search, and what
//! each null model preserves.

use std::collections::BTreeSet;

use orrery_lab::analysis::graph::{
    Edge, Graph,
    communities::{Search, communities},
    cores::coreness,
    degrees::degrees,
    modularity::modularity,
    null_models,
    partition_similarity::nmi,
};
use proptest::prelude::*;

const NODES: usize = 24;

/// Random weighted edges without loops or multiple edges.
fn edges() -> impl Strategy<Value = Vec<Edge>> {
    prop::collection::btree_map((0..NODES as u32, 0..NODES as u32), 0.1f64..4.0, 1..120)
        .prop_map(|m| m.into_iter().filter(|((a, b), _)| a != b).map(|((a, b), w)| (a, b, w)).collect())
}

fn labels() -> impl Strategy<Value = Vec<u32>> {
    prop::collection::vec(0u32..6, NODES)
}

/// Computes modularity by its definition, (1/m) sum over i, j of (A_ij - kout_i kin_j / m) [same].
fn by_pairs(edges: &[Edge], of: &[u32], directed: bool) -> f64 {
    let mut a = vec![[0f64; NODES]; NODES];
    for &(i, j, w) in edges {
        a[i as usize][j as usize] += w;
        if !directed {
            a[j as usize][i as usize] += w;
        }
    }
    let m: f64 = a.iter().flatten().sum();
    let out: Vec<f64> = a.iter().map(|r| r.iter().sum()).collect();
    let into: Vec<f64> = (0..NODES).map(|j| a.iter().map(|r| r[j]).sum()).collect();
    let pairs = (0..NODES).flat_map(|i| (0..NODES).map(move |j| (i, j)));
    pairs.filter(|(i, j)| of[*i] == of[*j]).map(|(i, j)| (a[i][j] - out[i] * into[j] / m) / m).sum()
}

fn pairs(edges: &[Edge]) -> BTreeSet<(u32, u32)> {
    edges.iter().map(|(a, b, _)| (*a, *b)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn modularity_equals_its_definition_and_ignores_labels(
        edges in edges(), of in labels(), directed in any::<bool>(), scale in 0.01f64..100.0, shift in 0u32..NODES as u32,
    ) {
        prop_assume!(!edges.is_empty());
        let q = |edges: &[Edge], of: &[u32]| modularity(&Graph::new(NODES, edges, directed).unwrap(), of).unwrap();
        let plain = q(&edges, &of);
        prop_assert!((plain - by_pairs(&edges, &of, directed)).abs() < 1e-12);
        prop_assert!((-1.0..1.0).contains(&plain));
        // other labels of communities, another unit of weight, other labels of nodes, reversed edges
        let renamed: Vec<u32> = of.iter().map(|c| 100 - 7 * c).collect();
        prop_assert!((q(&edges, &renamed) - plain).abs() < 1e-12);
        let scaled: Vec<Edge> = edges.iter().map(|(a, b, w)| (*a, *b, w * scale)).collect();
        prop_assert!((q(&scaled, &of) - plain).abs() < 1e-12);
        let to = |v: u32| (v + shift) % NODES as u32;
        let moved: Vec<Edge> = edges.iter().map(|(a, b, w)| (to(*a), to(*b), *w)).collect();
        let mut moved_of = vec![0; NODES];
        of.iter().enumerate().for_each(|(v, c)| moved_of[to(v as u32) as usize] = *c);
        prop_assert!((q(&moved, &moved_of) - plain).abs() < 1e-12);
        let turned: Vec<Edge> = edges.iter().map(|(a, b, w)| (*b, *a, *w)).collect();
        prop_assert!((q(&turned, &of) - plain).abs() < 1e-12);
        // all nodes in one community
        prop_assert!(q(&edges, &[3; NODES]).abs() < 1e-12);
    }

    #[test]
    fn the_community_search_is_repeatable_and_a_local_optimum(
        edges in edges(), of in labels(), directed in any::<bool>(), seed in 0u64..50,
    ) {
        let graph = Graph::new(NODES, &edges, directed).unwrap();
        let search = Search { seed, ..Search::default() };
        let found = communities(&graph, search);
        prop_assert_eq!(&found, &communities(&graph, search));
        prop_assert!((found.modularity - modularity(&graph, &found.membership).unwrap()).abs() < 1e-12);
        prop_assert!(found.modularity >= modularity(&graph, &of).unwrap() - 1e-12);
        // moving any single node does not increase the modularity
        for v in 0..NODES {
            for c in 0..found.count as u32 {
                let mut other = found.membership.clone();
                other[v] = c;
                prop_assert!(modularity(&graph, &other).unwrap() <= found.modularity + 1e-9, "node {} to {}", v, c);
            }
        }
        let sizes: Vec<usize> = (0..found.count as u32).map(|c| found.membership.iter().filter(|o| **o == c).count()).collect();
        prop_assert!(sizes.windows(2).all(|s| s[0] >= s[1]) && sizes.iter().all(|s| *s > 0), "{:?}", sizes);
    }

    #[test]
    fn null_models_keep_edge_count_and_degrees(
        edges in edges(), nodes in 2usize..60, m in 0usize..400, seed in 0u64..1000,
    ) {
        let drawn = null_models::uniform(nodes, m, seed);
        prop_assert_eq!(drawn.len(), m.min(nodes * (nodes - 1)));
        prop_assert_eq!(pairs(&drawn).len(), drawn.len(), "an edge twice");
        prop_assert!(drawn.iter().all(|(a, b, _)| a != b && (*a.max(b) as usize) < nodes));

        let swapped = null_models::degree_preserving(&edges, seed);
        prop_assert_eq!(degrees(NODES, &swapped), degrees(NODES, &edges));
        prop_assert_eq!(pairs(&swapped).len(), edges.len(), "an edge twice");
        prop_assert!(swapped.iter().all(|(a, b, _)| a != b));
        let strengths = |e: &[Edge]| {
            let mut leaving: Vec<(u32, u64)> = e.iter().map(|(a, _, w)| (*a, w.to_bits())).collect();
            leaving.sort_unstable();
            leaving
        };
        prop_assert_eq!(strengths(&swapped), strengths(&edges), "weights stay with the node they leave");
        prop_assert_eq!(swapped, null_models::degree_preserving(&edges, seed));
    }

    #[test]
    fn coreness_equals_its_definition(edges in edges()) {
        let graph = Graph::new(NODES, &edges, true).unwrap();
        let core = coreness(&graph);
        // by definition: remove nodes with fewer than k neighbours until none is left
        for k in 1..=core.iter().copied().max().unwrap_or(0) + 1 {
            let mut alive = [true; NODES];
            loop {
                let fewer = (0..NODES).find(|v| {
                    let others: BTreeSet<usize> = edges.iter().flat_map(|(a, b, _)| [(*a, *b), (*b, *a)])
                        .filter(|(a, b)| *a as usize == *v && alive[*b as usize]).map(|(_, b)| b as usize).collect();
                    alive[*v] && others.len() < k as usize
                });
                match fewer { Some(v) => alive[v] = false, None => break }
            }
            for v in 0..NODES {
                prop_assert_eq!(alive[v], core[v] >= k, "node {} in the {}-core", v, k);
            }
        }
    }

    #[test]
    fn agreement_is_symmetric_and_bounded(a in labels(), b in labels()) {
        let both = nmi(&a, &b).unwrap();
        prop_assert!((both - nmi(&b, &a).unwrap()).abs() < 1e-12 && (0.0..=1.0).contains(&both));
        let renamed: Vec<u32> = a.iter().map(|c| 50 - c).collect();
        prop_assert!((nmi(&a, &renamed).unwrap() - 1.0).abs() < 1e-12);
    }
}

/// Degree-preserving swaps randomise a graph of two separate halves: hardly an edge is unchanged, and the communities
/// disappear.
#[test]
fn degree_preserving_swaps_forget_the_communities() {
    let half = |v: u32| v / 100;
    let inside = null_models::uniform(200, 4000, 1).into_iter().filter(|(a, b, _)| half(*a) == half(*b));
    let edges: Vec<Edge> = inside.collect();
    let q = |edges: &[Edge]| communities(&Graph::new(200, edges, true).unwrap(), Search::default());
    let (given, swapped) = (q(&edges), null_models::degree_preserving(&edges, 5));
    assert!(given.modularity > 0.48 && given.count == 2, "{} in {}", given.modularity, given.count);
    let stayed = pairs(&edges).intersection(&pairs(&swapped)).count() as f64 / edges.len() as f64;
    assert!(stayed < 0.15, "{stayed} of the edges are where they were");
    let crossing = swapped.iter().filter(|(a, b, _)| half(*a) != half(*b)).count() as f64 / edges.len() as f64;
    assert!((crossing - 0.5).abs() < 0.05, "{crossing} cross");
    // the remaining modularity is that of a random graph with the same density
    let random = q(&null_models::uniform(200, edges.len(), 9)).modularity;
    assert!((q(&swapped).modularity - random).abs() < 0.03, "{} and {random}", q(&swapped).modularity);
}
