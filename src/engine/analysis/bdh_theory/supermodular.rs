//! Section 5.4: with a bias below zero, two sources make a common neighbour fire only together. The ReLU of the low-rank
//! map is then supermodular there; without the bias it is subadditive, and without the ReLU the sources add up.

use rand::{SeedableRng, seq::index};
use rand_chacha::ChaCha8Rng;

use super::{
    Curves, codes,
    markov::{SUCCESSORS, propagated, random_chain},
    mean, ranks,
};

const PAIRS: usize = 64;
/// The coordinates of D E z before a source is added, as a share of -1/r.
const BIAS: f64 = 1.5;

/// The gain of two sources together over the sum of their gains alone, at every node: f(z + v + w) - f(z + v) - f(z + w) + f(z),
/// where f is the ReLU of the low-rank map and D E z is `-bias` everywhere. `p` is P `(n, d)`, the codes of the nodes:
/// D = G' P, E = P^T, and G' goes to each of a node's `successors` alike.
pub fn pair_gains(successors: &[Vec<usize>], p: &[f64], bias: f64, sources: [usize; 2]) -> Vec<f64> {
    let [first, second] = sources.map(|v| propagated(successors, p, v));
    let fired = |drive: f64| (drive - bias).max(0.0);
    first.iter().zip(&second).map(|(a, b)| fired(a + b) - fired(*a) - fired(*b) + fired(0.0)).collect()
}

/// The mean gain of two sources of a chain of `n` nodes over the rank d, in units of the 1 / (2 r) of the paper: at a
/// neighbour of both, at neighbours of one of them alone, which are the null, and at a neighbour of both without the bias.
pub fn supermodular(n: usize, seed: u64) -> Curves {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let successors = random_chain(n, &mut rng);
    let pairs = pairs(&successors, &mut rng);
    let ranks = ranks(n);
    let (unit, bias) = (0.5 / SUCCESSORS as f64, BIAS / SUCCESSORS as f64);
    let mut values: [Vec<f64>; 3] = Default::default();
    for d in &ranks {
        let p = codes(n, *d, seed ^ 1);
        let mut gains: [Vec<f64>; 3] = Default::default();
        for pair in &pairs {
            let [with, without] = [bias, 0.0].map(|bias| pair_gains(&successors, &p, bias, *pair));
            for k in 0..n {
                match pair.iter().filter(|source| successors[**source].contains(&k)).count() {
                    0 => {}
                    1 => gains[1].push(with[k]),
                    _ => {
                        gains[0].push(with[k]);
                        gains[2].push(without[k]);
                    }
                }
            }
        }
        values.iter_mut().zip(&gains).for_each(|(curve, all)| curve.push(mean(all) / unit));
    }
    let names = ["neighbours of both", "neighbours of one", "neighbours of both, no bias"];
    Curves::new(ranks.iter().map(|d| *d as f64).collect(), names.into_iter().zip(values))
}

/// Pairs of sources that lead to a common node. Nodes are reached [`SUCCESSORS`] times in the mean, so some are
/// by two.
fn pairs(successors: &[Vec<usize>], rng: &mut ChaCha8Rng) -> Vec<[usize; 2]> {
    let sources = |k: usize| (0..successors.len()).filter(move |i| successors[*i].contains(&k));
    let all: Vec<[usize; 2]> = (0..successors.len())
        .filter_map(|k| {
            let mut found = sources(k);
            Some([found.next()?, found.next()?])
        })
        .collect();
    index::sample(rng, all.len(), PAIRS.min(all.len())).into_iter().map(|i| all[i]).collect()
}
