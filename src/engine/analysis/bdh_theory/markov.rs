//! Claim 5: the ReLU of a low-rank map with a negative bias follows a sparse Markov chain, the low-rank map does not.

use rand::{SeedableRng, seq::index};
use rand_chacha::ChaCha8Rng;

use super::{Curves, codes, dot, ranks};
use crate::analysis::statistics::mean_of;

/// Successors of a node, r in the paper.
pub(super) const SUCCESSORS: usize = 4;
/// Nodes from which the chain takes a step.
const SAMPLED_NODES: usize = 24;
/// Biases that are tried, from 0 to 1/r.
const BIASES: usize = 41;

/// Errors of one step from a node in the L1 norm; the step itself has norm 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PropagationErrors {
    /// The error of G v, where G = G' P P^T.
    pub linear: f64,
    /// The error of (G v)^+.
    pub relu: f64,
    /// The error of (G v - bias)^+.
    pub biased: f64,
}

/// One step of the chain, exact and through the low-rank map.
struct Step {
    /// G' v
    exact: Vec<f64>,
    /// G' P P^T v
    found: Vec<f64>,
}

/// The successors of `n` nodes, [`SUCCESSORS`] of each, drawn without repetition.
pub(super) fn random_chain(n: usize, rng: &mut ChaCha8Rng) -> Vec<Vec<usize>> {
    (0..n).map(|_| index::sample(rng, n, SUCCESSORS.min(n)).into_vec()).collect()
}

/// The image of a node under the low-rank map: G' P P^T v, for all nodes.
pub(super) fn propagated(successors: &[Vec<usize>], p: &[f64], node: usize) -> Vec<f64> {
    let (n, d) = (successors.len(), p.len() / successors.len().max(1));
    let code = &p[node * d..][..d];
    let mut found = vec![0.0; n];
    for (i, next) in successors.iter().enumerate() {
        let share = dot(&p[i * d..][..d], code) / next.len() as f64;
        next.iter().for_each(|j| found[*j] += share);
    }
    found
}

impl Step {
    fn new(successors: &[Vec<usize>], p: &[f64], node: usize) -> Self {
        let mut exact = vec![0.0; successors.len()];
        let next = &successors[node];
        next.iter().for_each(|j| exact[*j] += 1.0 / next.len() as f64);
        Self { exact, found: propagated(successors, p, node) }
    }

    fn errors(&self, bias: f64) -> PropagationErrors {
        let error = |map: &dyn Fn(f64) -> f64| -> f64 {
            self.exact.iter().zip(&self.found).map(|(e, g)| (map(*g) - e).abs()).sum()
        };
        let (linear, relu) = (error(&|g| g), error(&|g| g.max(0.0)));
        PropagationErrors { linear, relu, biased: error(&|g| (g - bias).max(0.0)) }
    }
}

/// The errors of a step from `node` of the chain that goes to each of a node's `successors` with equal probability. `p`
/// is P `(n, d)`, the codes of the nodes: D = G' P, E = P^T.
pub fn propagation_errors(successors: &[Vec<usize>], p: &[f64], bias: f64, node: usize) -> PropagationErrors {
    Step::new(successors, p, node).errors(bias)
}

/// The mean error over the rank d of a chain of `n` nodes, linear, with ReLU, and with ReLU and the best of many
/// biases.
pub fn markov(n: usize, seed: u64) -> Curves {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let successors = random_chain(n, &mut rng);
    let starts = index::sample(&mut rng, n, SAMPLED_NODES.min(n)).into_vec();
    let ranks = ranks(n);
    let mut values: [Vec<f64>; 3] = Default::default();
    for d in &ranks {
        let p = codes(n, *d, seed ^ 1);
        let steps: Vec<Step> = starts.iter().map(|v| Step::new(&successors, &p, *v)).collect();
        let mean = |of: &dyn Fn(PropagationErrors) -> f64, bias: f64| mean_of(steps.iter().map(|s| of(s.errors(bias))));
        let bias = |k: usize| k as f64 / ((BIASES - 1) * SUCCESSORS) as f64;
        let best = (0..BIASES).map(|k| mean(&|e| e.biased, bias(k))).fold(f64::INFINITY, f64::min);
        let found = [mean(&|e| e.linear, 0.0), mean(&|e| e.relu, 0.0), best];
        values.iter_mut().zip(found).for_each(|(all, value)| all.push(value));
    }
    let names = ["low rank", "with ReLU", "with ReLU and bias"];
    Curves::new(ranks.iter().map(|d| *d as f64).collect(), names.into_iter().zip(values))
}
