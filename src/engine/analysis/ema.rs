//! Exponential moving average (EMA) traces: h_t = (1-a) h_{t-1} + a x_t with h_{-1} = 0
//! (arXiv 2604.08556, equation 6), their closed forms, and the sparse random codes they carry.
//!
//! Pure mathematics on slices. The coefficient `a` is in (0, 1]; outside it the formulas are evaluated as they are and
//! mean nothing.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::statistics::{difference, norm};
use crate::random::hash;

/// Share of a token that is left in the trace after `k` further tokens, as a fraction of what was
/// there when it was written: (1-a)^k. The paper's marks: 0.98^50 = 0.36, 0.98^200 = 0.02.
pub fn retention(a: f64, k: f64) -> f64 {
    (1.0 - a).powf(k)
}

/// Weight of the token `k` steps back in the trace: a (1-a)^k. All weights of an endless past sum to 1.
pub fn impulse(a: f64, k: f64) -> f64 {
    a * retention(a, k)
}

/// The trace `k` tokens after a constant input of 1 began (the first such token is k = 0): 1 - (1-a)^(k+1).
pub fn step_response(a: f64, k: f64) -> f64 {
    1.0 - retention(a, k + 1.0)
}

/// Tokens after which half of a word is left: ln 2 / -ln(1-a). Zero for a = 1, infinite for a = 0.
pub fn half_life(a: f64) -> f64 {
    std::f64::consts::LN_2 / -(1.0 - a).ln()
}

/// 1/a tokens: how long the trace's memory is, as the sum of its weights over the largest one.
pub fn effective_window(a: f64) -> f64 {
    1.0 / a
}

/// The trace after each row of `x` (row-major, `width` values per row), starting from zero.
///
/// Returns as many values as `x`. An incomplete last row is left out.
pub fn trace(x: &[f64], width: usize, a: f64) -> Vec<f64> {
    let mut h = vec![0.0; width];
    let mut all = Vec::with_capacity(x.len());
    for row in x.chunks_exact(width.max(1)) {
        h.iter_mut().zip(row).for_each(|(h, x)| *h = (1.0 - a) * *h + a * x);
        all.extend_from_slice(&h);
    }
    all
}

/// A sparse random code: which `active` of `dim` units are on, ascending. The same (seed, token)
/// gives the same code everywhere. At least one and at most `dim` units are on.
pub fn sparse_code(seed: u64, token: u64, dim: usize, active: usize) -> Vec<usize> {
    let dim = dim.max(1);
    let active = active.clamp(1, dim);
    // Seeds of neighbouring tokens differ in few bits; ChaCha's key schedule takes care of that.
    let mut rng = ChaCha8Rng::seed_from_u64(seed.rotate_left(32) ^ token);
    let mut units: Vec<usize> = (0..dim).collect();
    for i in 0..active {
        let j = rng.random_range(i..dim);
        units.swap(i, j);
    }
    units.truncate(active);
    units.sort_unstable();
    units
}

/// The code as a vector of `dim` values with Euclidean norm 1: 1/sqrt(active) where it is on.
pub fn code_vector(units: &[usize], dim: usize) -> Vec<f64> {
    let mut v = vec![0.0; dim];
    let height = 1.0 / (units.len().max(1) as f64).sqrt();
    for &u in units {
        if let Some(slot) = v.get_mut(u) {
            *slot = height;
        }
    }
    v
}

/// A stable number for a word, so that the same word has the same code (FNV-1a over lower case).
pub fn word_id(word: &str) -> u64 {
    hash(&word.to_lowercase())
}

/// Euclidean distance of two traces after each row (`(T, width)` each, row-major): `T` values.
pub fn distance(h1: &[f64], h2: &[f64], width: usize) -> Vec<f64> {
    rows(h1, h2, width).map(|(p, q)| norm(&difference(p, q))).collect()
}

/// [`distance`] over the mean norm of the two traces: 0 for the same trace, sqrt 2 for traces of equal
/// length without a common unit. 0 where both traces are zero.
pub fn relative_distance(h1: &[f64], h2: &[f64], width: usize) -> Vec<f64> {
    distance(h1, h2, width)
        .into_iter()
        .zip(rows(h1, h2, width))
        .map(|(d, (p, q))| {
            let mean = 0.5 * (norm(p) + norm(q));
            if mean > 0.0 { d / mean } else { 0.0 }
        })
        .collect()
}

fn rows<'a>(h1: &'a [f64], h2: &'a [f64], width: usize) -> impl Iterator<Item = (&'a [f64], &'a [f64])> {
    let width = width.max(1);
    h1.chunks_exact(width).zip(h2.chunks_exact(width))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_retention_marks() {
        assert!((retention(0.02, 50.0) - 0.36).abs() < 0.005, "0.98^50 = {}", retention(0.02, 50.0));
        assert!((retention(0.02, 200.0) - 0.02).abs() < 0.005, "0.98^200 = {}", retention(0.02, 200.0));
    }

    #[test]
    fn half_life_is_where_half_is_left() {
        for a in [0.001, 0.02, 0.1, 0.5, 0.9] {
            assert!((retention(a, half_life(a)) - 0.5).abs() < 1e-12);
        }
        assert!((half_life(0.5) - 1.0).abs() < 1e-12);
        assert!((half_life(0.02) - 34.309_618).abs() < 1e-5);
        assert_eq!(half_life(1.0), 0.0);
        assert_eq!(effective_window(0.02), 50.0);
    }

    #[test]
    fn responses_are_what_the_recurrence_gives() {
        for a in [0.02, 0.1, 0.5] {
            let mut x = vec![0.0; 60];
            x[0] = 1.0;
            trace(&x, 1, a).iter().enumerate().for_each(|(k, h)| assert!((h - impulse(a, k as f64)).abs() < 1e-15));
            for (k, h) in trace(&[1.0; 60], 1, a).iter().enumerate() {
                assert!((h - step_response(a, k as f64)).abs() < 1e-14);
            }
            let sum: f64 = (0..60).map(|k| impulse(a, f64::from(k))).sum();
            assert!((sum - step_response(a, 59.0)).abs() < 1e-14);
        }
    }

    #[test]
    fn codes_are_sparse_stable_and_different() {
        let code = sparse_code(7, 3, 64, 8);
        assert_eq!(code.len(), 8);
        assert!(code.windows(2).all(|w| w[0] < w[1]) && code[7] < 64);
        assert_eq!(code, sparse_code(7, 3, 64, 8));
        assert_ne!(code, sparse_code(7, 4, 64, 8));
        assert_ne!(code, sparse_code(8, 3, 64, 8));
        let norm: f64 = code_vector(&code, 64).iter().map(|x| x * x).sum();
        assert!((norm - 1.0).abs() < 1e-12);
        assert_eq!(sparse_code(1, 1, 4, 9), vec![0, 1, 2, 3], "more active units than units");
        // Units are drawn evenly: over many tokens no unit is favoured.
        let mut counts = [0usize; 64];
        (0..4000).flat_map(|t| sparse_code(7, t, 64, 8)).for_each(|u| counts[u] += 1);
        assert!(counts.iter().all(|c| (350..650).contains(c)), "{counts:?}");
    }

    #[test]
    fn a_swapped_word_fades_as_one_minus_a() {
        let (d, a) = (32, 0.1);
        let row = |t: u64| code_vector(&sparse_code(7, t, d, 4), d);
        let first: Vec<f64> = [1, 2, 3, 4, 5].iter().flat_map(|t| row(*t)).collect();
        let second: Vec<f64> = [1, 9, 3, 4, 5].iter().flat_map(|t| row(*t)).collect();
        let gap = distance(&trace(&first, d, a), &trace(&second, d, a), d);
        let swap = distance(&row(2), &row(9), d)[0];
        assert_eq!(gap[0], 0.0);
        for (t, g) in gap.iter().enumerate().skip(1) {
            assert!((g - swap * impulse(a, (t - 1) as f64)).abs() < 1e-12);
        }
        assert_eq!(relative_distance(&[0.0; 4], &[0.0; 4], 2), vec![0.0, 0.0]);
        let r = relative_distance(&[1.0, 0.0], &[0.0, 1.0], 2);
        assert!((r[0] - std::f64::consts::SQRT_2).abs() < 1e-12);
    }
}
