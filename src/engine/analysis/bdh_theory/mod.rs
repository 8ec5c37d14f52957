//! Claims of the paper of the Dragon Hatchling (BDH, arXiv 2509.26507, sections 2.1, 5.3, 5.4 and 6.1) as small experiments:
//! numbers drawn from a seed, no model. Vectors are slices, matrices are slices by row.

mod block_model;
mod capacity;
mod kernel;
mod keys;
mod markov;
mod sparse_state;
mod spikes;
mod supermodular;

pub use block_model::block_model;
pub use capacity::{capacity, retrieval_errors};
pub use kernel::{InteractionKernel, KernelRule, predator_kernel, replicator};
pub use keys::{hashing, l1_amplification, near_distributions};
pub use markov::{PropagationErrors, markov, propagation_errors};
pub use sparse_state::{SparseStateInputs, sparse_state, sparse_state_errors};
pub use spikes::{Link, Rates, Rounds, SpikingGraph, integrate_and_fire, spikes};
pub use supermodular::{pair_gains, supermodular};

use crate::analysis::{
    graph::null_models,
    statistics::{dot, mean, norm},
};

/// Curves over one axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Curves {
    /// Values of the axis.
    pub x: Vec<f64>,
    /// The curves, each with one value at every value of `x`.
    pub curves: Vec<Curve>,
}

/// A curve with its name.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// The name for a legend.
    pub name: String,
    /// The values of the curve, one at each value of [`Curves::x`].
    pub values: Vec<f64>,
}

impl Curves {
    fn new<S: Into<String>>(x: Vec<f64>, curves: impl IntoIterator<Item = (S, Vec<f64>)>) -> Self {
        Self { x, curves: curves.into_iter().map(|(name, values)| Curve { name: name.into(), values }).collect() }
    }
}

/// `rows` vectors of `width` standard normal numbers.
fn normal(rows: usize, width: usize, seed: u64) -> Vec<f64> {
    null_models::factor(rows, width, seed).into_iter().map(f64::from).collect()
}

/// P `(n, d)`: random codes of n nodes, normal with variance 1/d.
fn codes(n: usize, d: usize, seed: u64) -> Vec<f64> {
    let scale = (d as f64).sqrt();
    normal(n, d, seed).into_iter().map(|v| v / scale).collect()
}

/// `rows` vectors of length 1 in random directions.
fn directions(rows: usize, width: usize, seed: u64) -> Vec<f64> {
    with_unit_rows(normal(rows, width, seed), width)
}

/// The matrix with each of its rows divided by its length.
fn with_unit_rows(mut matrix: Vec<f64>, width: usize) -> Vec<f64> {
    for row in matrix.chunks_mut(width.max(1)) {
        let length = norm(row).max(f64::MIN_POSITIVE);
        row.iter_mut().for_each(|v| *v /= length);
    }
    matrix
}

/// The ranks d that are tried for n nodes: 8, 16, ... up to n.
fn ranks(n: usize) -> Vec<usize> {
    (3..).map(|k| 1 << k).take_while(|d| *d <= n).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last(curves: &Curves, k: usize) -> f64 {
        *curves.curves[k].values.last().unwrap()
    }

    #[test]
    fn a_bias_lets_relu_follow_the_chain() {
        let found = markov(128, 3);
        assert_eq!(found.x, [8.0, 16.0, 32.0, 64.0, 128.0]);
        for k in 0..found.x.len() {
            let [linear, relu, biased] = [0, 1, 2].map(|c| found.curves[c].values[k]);
            assert!(biased < relu && relu < linear, "{linear} {relu} {biased}");
        }
        assert!(last(&found, 2) < 0.6 * found.curves[2].values[0] && last(&found, 0) > 3.0 * last(&found, 2));
    }

    #[test]
    fn a_message_reaches_its_own_block() {
        let found = block_model(256, 5);
        let [sparse, even, dense] = [0, 1, 2].map(|k| last(&found, k));
        assert!(sparse > 0.85 && sparse > even && even > dense && dense > 0.45, "{sparse} {even} {dense}");
        assert!(found.curves[0].values[0] < sparse - 0.1, "a low rank is too noisy");
    }

    /// With P = I, G is G' itself: the gain is 2/r - 1.5/r where both sources lead, and 0 everywhere else.
    #[test]
    fn two_sources_reach_a_common_neighbour_only_together() {
        let successors = vec![vec![2, 3], vec![3, 4], vec![0, 1], vec![0, 4], vec![1, 2]];
        let identity: Vec<f64> = (0..25).map(|i| if i % 6 == 0 { 1.0 } else { 0.0 }).collect();
        assert_eq!(pair_gains(&successors, &identity, 0.75, [0, 1]), [0.0, 0.0, 0.0, 0.25, 0.0]);
        assert_eq!(pair_gains(&successors, &identity, 0.0, [0, 1]), [0.0; 5], "without a bias it is linear on sources");
        let found = supermodular(256, 13);
        let [both, one, unbiased] = [0, 1, 2].map(|k| last(&found, k));
        assert!((both - 1.0).abs() < 0.25 && one.abs() < 0.1 && unbiased.abs() < 0.05, "{both} {one} {unbiased}");
        assert!(found.curves[2].values.iter().all(|gain| *gain <= 1e-12), "{found:?}");
        assert!(found.curves[1].values[0] > one + 0.05, "a low rank is too noisy: {found:?}");
    }

    #[test]
    fn facts_held_grow_with_n_and_of_repeated_keys_with_its_root() {
        let found = capacity(256, 7);
        assert_eq!(found.x, [64.0, 128.0, 256.0, 512.0, 1024.0]);
        let slope = |k: usize| (last(&found, k) / found.curves[k].values[0]).ln() / 16f64.ln();
        let (independent, repeated) = (slope(0), slope(1));
        assert!((0.8..1.2).contains(&independent) && (0.25..0.75).contains(&repeated), "{independent} {repeated}");
        assert!(last(&found, 0) > 3.0 * last(&found, 1));
    }

    /// Two vectors lie on one side of a random plane with the chance 1 - angle / pi.
    #[test]
    fn buckets_of_half_spaces_measure_the_angle() {
        let found = hashing(256, 9);
        for (cosine, affinity) in found.x.iter().zip(&found.curves[1].values) {
            let expected = 1.0 - cosine.acos() / std::f64::consts::PI;
            assert!((affinity - expected).abs() < 0.03, "{cosine}: {affinity}, {expected}");
        }
        let half = found.x.iter().position(|c| *c == 0.5).unwrap();
        let [wide, _, sharp] = [1, 2, 3].map(|k| found.curves[k].values[half]);
        assert!(sharp < 0.5 * wide && (last(&found, 3) - 1.0).abs() < 1e-12, "{wide} {sharp}");
    }

    #[test]
    fn the_claims_graph_loses_nothing_and_a_random_one_much() {
        let found = sparse_state(96, 11);
        assert!(found.curves[0].values.iter().all(|e| *e < 1e-12));
        assert!(found.curves[1].values.iter().all(|e| *e > 0.05));
    }
}
