//! Reproducible random graphs with planted communities, and a measure of how well a layout separates the communities.

use orrery::telemetry::measurements::{GraphEdges, NeuronGraph, NeuronGroups};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

pub struct Planted {
    pub nodes: usize,
    pub edges: Vec<(u32, u32, f32)>,
    pub groups: Vec<u32>,
}

/// Draws a graph whose degrees follow a power law of the rank. A share `inside` of the edges connects nodes of the same
/// community.
pub fn graph(nodes: usize, groups: u32, edges: usize, inside: f64, seed: u64) -> Planted {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let group: Vec<u32> = (0..nodes).map(|_| rng.random_range(0..groups)).collect();
    let mut members = vec![vec![]; groups as usize];
    for i in 0..nodes {
        members[group[i] as usize].push(i as u32);
    }
    // nodes at the beginning of a list are drawn more often and become hubs
    let draw = |from: &[u32], rng: &mut ChaCha8Rng| from[(from.len() as f64 * rng.random::<f64>().powf(2.2)) as usize];
    let mut everyone: Vec<u32> = (0..nodes as u32).collect();
    for i in (1..nodes).rev() {
        everyone.swap(i, rng.random_range(0..=i));
    }
    let mut seen = std::collections::HashSet::new();
    let mut all = vec![];
    while all.len() < edges {
        let a = draw(&everyone, &mut rng);
        let near = rng.random::<f64>() < inside;
        let b = if near { draw(&members[group[a as usize] as usize], &mut rng) } else { draw(&everyone, &mut rng) };
        if a != b && seen.insert((a.min(b), a.max(b))) {
            all.push((a, b, 0.5 + rng.random::<f32>().powi(2) * if near { 3.0 } else { 1.5 }));
        }
    }
    Planted { nodes, edges: all, groups: group }
}

/// The share of a node's ten nearest neighbours that belong to its community, averaged over the nodes.
#[allow(dead_code)]
pub fn purity(graph: &Planted, places: &[[f32; 2]]) -> f64 {
    let mut sum = 0.0;
    for (i, a) in places.iter().enumerate() {
        let mut near: Vec<(f32, usize)> = (0..places.len())
            .filter(|j| *j != i)
            .map(|j| ((a[0] - places[j][0]).hypot(a[1] - places[j][1]), j))
            .collect();
        near.select_nth_unstable_by(10, |a, b| a.0.total_cmp(&b.0));
        sum += near[..10].iter().filter(|(_, j)| graph.groups[*j] == graph.groups[i]).count() as f64 / 10.0;
    }
    sum / places.len() as f64
}

/// The measurement that the probe would make of the graph, with `name` as the index of each neuron.
#[allow(dead_code)]
pub fn measurement(graph: &Planted, name: impl Fn(u32) -> u32) -> NeuronGraph {
    let neurons: Vec<u32> = (0..graph.nodes as u32).map(name).collect();
    let (mut in_degree, mut out_degree) = (vec![0; graph.nodes], vec![0; graph.nodes]);
    for (a, b, _) in &graph.edges {
        out_degree[*a as usize] += 1;
        in_degree[*b as usize] += 1;
    }
    let octave = |id: &u32| Some(f64::from(id % 512).max(1.0).log2().floor() as u32);
    NeuronGraph {
        labels: neurons.iter().map(|i| format!("head {} \u{b7} neuron {i}", i / 512)).collect(),
        edges: GraphEdges::new(graph.edges.iter().copied()),
        in_degree,
        out_degree,
        groups: NeuronGroups {
            community: Some(graph.groups.iter().map(|g| Some(*g)).collect()),
            head: Some((0..graph.nodes).map(|i| Some((i * 4 / graph.nodes) as u32)).collect()),
            octave: Some(neurons.iter().map(octave).collect()),
            provenance: None,
        },
        neurons,
        ..NeuronGraph::default()
    }
}
