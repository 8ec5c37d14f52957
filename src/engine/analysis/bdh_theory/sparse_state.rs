//! Claim 9: attention on a sparse graph G_s of O(n d) edges gives what the full state gives, exactly, if values are
//! prepared; of the same edges drawn at random, only roughly.

use rand::{SeedableRng, seq::index};
use rand_chacha::ChaCha8Rng;

use super::{Curves, dot, norm, normal};
use crate::analysis::statistics::difference;

const WIDTH: usize = 8;
const TOKENS: usize = 64;
/// One neuron in this many fires at a token.
const SPARSITY: usize = 8;

/// Keys x and values y of every token, and the encoder E.
#[derive(Debug, Clone, Copy)]
pub struct SparseStateInputs<'a> {
    /// The keys x, `(t, n)` row by row.
    pub x: &'a [f64],
    /// The values y, `(t, n)` row by row.
    pub y: &'a [f64],
    /// The encoder E, `(d, n)` row by row.
    pub encoder: &'a [f64],
    /// The number of neurons.
    pub n: usize,
}

/// Length of the error of E sigma x after each token, as a share of E sigma x, where x is the last key: of the claim's
/// construction on 2 d n edges, and of sigma on the given edges (i, j), scaled by what they leave out.
pub fn sparse_state_errors(given: &SparseStateInputs<'_>, edges: &[[usize; 2]]) -> Vec<[f64; 2]> {
    let SparseStateInputs { x, y, encoder, n } = *given;
    let d = encoder.len() / n.max(1);
    let scale = (n * n) as f64 / edges.len().max(1) as f64;
    let mut sigma = vec![0.0; n * n];
    // sigma* has 2 d rows of all n entries: E' = (E^+, (-E)^+) of the values
    let mut prepared = vec![0.0; 2 * d * n];
    let mut errors = vec![];
    for (x, y) in x.chunks_exact(n).zip(y.chunks_exact(n)) {
        for (row, y) in sigma.chunks_exact_mut(n).zip(y) {
            row.iter_mut().zip(x).for_each(|(s, x)| *s += y * x);
        }
        for (k, row) in prepared.chunks_exact_mut(n).enumerate() {
            let (sign, code) = if k < d { (1.0, &encoder[k * n..][..n]) } else { (-1.0, &encoder[(k - d) * n..][..n]) };
            let value: f64 = code.iter().zip(y).map(|(e, y)| (sign * e).max(0.0) * y).sum();
            row.iter_mut().zip(x).for_each(|(s, x)| *s += value * x);
        }
        let times_x = |rows: &[f64]| -> Vec<f64> { rows.chunks_exact(n).map(|row| dot(row, x)).collect() };
        let coded = |values: &[f64]| -> Vec<f64> { encoder.chunks_exact(n).map(|row| dot(row, values)).collect() };
        let exact = coded(&times_x(&sigma));
        let halves = times_x(&prepared);
        let construction: Vec<f64> = (0..d).map(|k| halves[k] - halves[d + k]).collect();
        let mut sampled = vec![0.0; n];
        edges.iter().for_each(|[i, j]| sampled[*i] += scale * sigma[i * n + j] * x[*j]);
        let off = |found: &[f64]| norm(&difference(found, &exact)) / norm(&exact);
        errors.push([off(&construction), off(&coded(&sampled))]);
    }
    errors
}

/// The errors over tokens of random sparse positive keys and values; as many edges are drawn as the claim takes.
pub fn sparse_state(n: usize, seed: u64) -> Curves {
    let firing = |seed: u64| -> Vec<f64> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let drawn = normal(TOKENS, n, seed);
        let mut rows = vec![0.0; TOKENS * n];
        for (row, drawn) in rows.chunks_exact_mut(n).zip(drawn.chunks_exact(n)) {
            index::sample(&mut rng, n, (n / SPARSITY).max(1)).into_iter().for_each(|i| row[i] = drawn[i].abs());
        }
        rows
    };
    let (x, y, encoder) = (firing(seed ^ 1), firing(seed ^ 2), normal(WIDTH, n, seed ^ 3));
    let mut rng = ChaCha8Rng::seed_from_u64(seed ^ 4);
    let count = (2 * WIDTH * n).min(n * n);
    let edges: Vec<[usize; 2]> = index::sample(&mut rng, n * n, count).into_iter().map(|k| [k / n, k % n]).collect();
    let errors = sparse_state_errors(&SparseStateInputs { x: &x, y: &y, encoder: &encoder, n }, &edges);
    // a logarithmic axis has no place for an error of 0
    let side = |k: usize| -> Vec<f64> { errors.iter().map(|e| e[k].max(f64::EPSILON / 16.0)).collect() };
    let named = [("the claim's graph", side(0)), ("as many edges at random", side(1))];
    Curves::new((1..=TOKENS).map(|t| t as f64).collect(), named)
}
