//! Random graphs with the same number of edges, whose modularity a graph is compared with.

use rand::{Rng, SeedableRng, seq::index};
use rand_chacha::ChaCha8Rng;
use rustc_hash::FxHashSet;

use super::Edge;
use crate::random::standard_normals;

/// G(n, m): `m` different pairs of `nodes`, none with itself, directed, weight 1. Fewer when there are
/// fewer.
pub fn uniform(nodes: usize, m: usize, seed: u64) -> Vec<Edge> {
    let pairs = nodes * nodes.saturating_sub(1);
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let chosen = index::sample(&mut rng, pairs, m.min(pairs));
    let edge = |k: usize| {
        let (a, b) = (k / (nodes - 1), k % (nodes - 1));
        (a as u32, (b + usize::from(b >= a)) as u32, 1.0)
    };
    chosen.into_iter().map(edge).collect()
}

/// `m` different pairs of one of `rows` with one of `cols`, weight 1. Fewer when there are fewer.
pub fn between(rows: usize, cols: usize, m: usize, seed: u64) -> Vec<Edge> {
    let pairs = rows * cols;
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let chosen = index::sample(&mut rng, pairs, m.min(pairs));
    chosen.into_iter().map(|k| ((k / cols) as u32, (k % cols) as u32, 1.0)).collect()
}

/// Rewires arcs with the in- and out-degree of every node preserved: ten swaps (a -> b, c -> d) to (a -> d, c -> b) are
/// tried for each edge, and those that would make a loop or a second edge are rejected. Weights stay with the node that
/// an edge leaves. Given loops are kept as they are. Maslov and Sneppen, Science 296 (2002) 910.
pub fn degree_preserving(edges: &[Edge], seed: u64) -> Vec<Edge> {
    let key = |a: u32, b: u32| u64::from(a) << 32 | u64::from(b);
    let (loops, mut edges): (Vec<Edge>, Vec<Edge>) = edges.iter().partition(|(a, b, _)| a == b);
    let mut have: FxHashSet<u64> = edges.iter().map(|(a, b, _)| key(*a, *b)).collect();
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let n = edges.len();
    // the set cannot hold parallel edges
    if n >= 2 && have.len() == n {
        for _ in 0..10 * n {
            let (i, j) = (rng.random_range(0..n), rng.random_range(0..n));
            let ((a, b, _), (c, d, _)) = (edges[i], edges[j]);
            if a == d || c == b || have.contains(&key(a, d)) || have.contains(&key(c, b)) {
                continue;
            }
            have.remove(&key(a, b));
            have.remove(&key(c, d));
            have.insert(key(a, d));
            have.insert(key(c, b));
            (edges[i].1, edges[j].1) = (d, b);
        }
    }
    edges.extend(loops);
    edges
}

/// `rows` vectors of `width` standard normal numbers: a factor of a random low-rank product.
pub fn factor(rows: usize, width: usize, seed: u64) -> Vec<f32> {
    standard_normals(&mut ChaCha8Rng::seed_from_u64(seed), rows * width).map(|z| z as f32).collect()
}

/// Random directions with the lengths of the given rows: a factor that preserves the strength of each node and
/// randomises its direction. `given` is `(rows, width)`, row-major.
pub fn norm_matched(given: &[f32], width: usize, seed: u64) -> Vec<f32> {
    let mut drawn = factor(given.len() / width.max(1), width, seed);
    let norm = |row: &[f32]| row.iter().map(|v| f64::from(*v) * f64::from(*v)).sum::<f64>().sqrt();
    for (new, old) in drawn.chunks_mut(width.max(1)).zip(given.chunks(width.max(1))) {
        let scale = norm(old) / norm(new).max(f64::MIN_POSITIVE);
        new.iter_mut().for_each(|v| *v = (f64::from(*v) * scale) as f32);
    }
    drawn
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fewer_than_two_nodes_have_no_pairs() {
        assert!(uniform(0, 3, 1).is_empty() && uniform(1, 3, 1).is_empty());
    }

    #[test]
    fn factors_are_normal_and_keep_the_lengths_asked_for() {
        let f = factor(400, 25, 3);
        let mean = f.iter().map(|v| f64::from(*v)).sum::<f64>() / f.len() as f64;
        let square = f.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>() / f.len() as f64;
        assert!(f.len() == 10_000 && mean.abs() < 0.04 && (square - 1.0).abs() < 0.06, "{mean} {square}");
        let given: Vec<f32> = (0..60).map(|i| (i % 7) as f32 - 2.0).collect();
        let matched = norm_matched(&given, 6, 4);
        for (a, b) in matched.chunks(6).zip(given.chunks(6)) {
            let norm = |r: &[f32]| r.iter().map(|v| v * v).sum::<f32>().sqrt();
            assert!((norm(a) - norm(b)).abs() < 1e-5);
        }
        assert_ne!(matched, given);
    }
}
