//! Claim 6: through a low-rank map a neuron distinguishes a message of its own block of a block model from others.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{Curves, codes, ranks, with_unit_rows};
use crate::analysis::{rank_test::MannWhitney, statistics::mean_of};

const BLOCKS: usize = 4;
/// The probability of an edge between two nodes of a block.
const BLOCK_DENSITY: f64 = 0.6;
/// Density between blocks, as a share of that within.
const RELATIVE_DENSITIES: [f64; 3] = [0.25, 0.5, 0.75];
const SAMPLED_SENDERS: usize = 16;

/// The chance that a node of the sender's block receives more of the message than one of another block, over the rank
/// d, for three densities of edges between blocks. H is the graph; the message H e_i and the node's own row of H are
/// normalised to length 1, and P P^T maps between them.
pub fn block_model(n: usize, seed: u64) -> Curves {
    let ranks = ranks(n);
    let curves = RELATIVE_DENSITIES.iter().map(|share| {
        let h = graph(n, BLOCK_DENSITY * share, seed);
        let values = ranks.iter().map(|d| selectivity(&h, n, *d, seed ^ 1)).collect();
        (format!("{share} as many edges between blocks"), values)
    });
    Curves::new(ranks.iter().map(|d| *d as f64).collect(), curves.collect::<Vec<_>>())
}

fn block(i: usize, n: usize) -> usize {
    i * BLOCKS / n
}

/// The rows of a symmetric graph, each of length 1.
fn graph(n: usize, outside: f64, seed: u64) -> Vec<f64> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut h = vec![0.0; n * n];
    for i in 0..n {
        for j in 0..i {
            let density = if block(i, n) == block(j, n) { BLOCK_DENSITY } else { outside };
            if rng.random::<f64>() < density {
                (h[i * n + j], h[j * n + i]) = (1.0, 1.0);
            }
        }
    }
    with_unit_rows(h, n)
}

/// Mean over senders of the AUROC of what nodes of their block receive against all others.
fn selectivity(h: &[f64], n: usize, d: usize, seed: u64) -> f64 {
    let p = codes(n, d, seed);
    // (n, d): the code of what each node listens to, and of the message that it sends
    let coded: Vec<Vec<f64>> = h.chunks(n).map(|row| code(row, &p, d)).collect();
    let senders = (0..SAMPLED_SENDERS.min(n)).map(|k| k * n / SAMPLED_SENDERS.min(n));
    let one = |i: usize| {
        let received = |same: bool| -> Vec<f64> {
            let others = (0..n).filter(|j| *j != i && (block(*j, n) == block(i, n)) == same);
            others.map(|j| super::dot(&coded[i], &coded[j])).collect()
        };
        MannWhitney::new(&received(true), &received(false)).auc()
    };
    mean_of(senders.map(one))
}

/// P^T u.
fn code(u: &[f64], p: &[f64], d: usize) -> Vec<f64> {
    let mut code = vec![0.0; d];
    for (value, row) in u.iter().zip(p.chunks(d)).filter(|(value, _)| **value != 0.0) {
        code.iter_mut().zip(row).for_each(|(c, p)| *c += value * p);
    }
    code
}
