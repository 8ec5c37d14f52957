//! Observations 7 and 8: keys by locality-sensitive hashing, and positive keys that lie close in the L1 norm.

use super::{Curves, directions, dot, norm, normal};

/// Dimension of the vectors that are hashed.
const WIDTH: usize = 16;
const DRAWS: usize = 24;
const CURVE_POINTS: usize = 21;
/// Thresholds of the buckets, in standard deviations.
const THRESHOLDS: [f64; 3] = [0.0, 1.0, 2.0];

/// Affinity b(q) . b(k) / |b(q)|_1 over the cosine of q and k, for `n` buckets b(v) = [l_i . v > threshold]: the
/// further out the threshold, the sharper.
pub fn hashing(n: usize, seed: u64) -> Curves {
    let cosines: Vec<f64> = (0..CURVE_POINTS).map(|k| k as f64 / (CURVE_POINTS - 1) as f64).collect();
    let found = affinities(n, &cosines, seed);
    let name = |threshold: &f64| format!("buckets beyond {threshold} deviations");
    let hashed = THRESHOLDS.iter().map(name).zip(found);
    let plain = ("dot product".to_owned(), cosines.clone());
    Curves::new(cosines.clone(), std::iter::once(plain).chain(hashed))
}

/// For each threshold and cosine the mean over draws of buckets and of pairs of vectors with this cosine.
fn affinities(n: usize, cosines: &[f64], seed: u64) -> [Vec<f64>; THRESHOLDS.len()] {
    let mut shared = THRESHOLDS.map(|_| vec![0usize; cosines.len()]);
    let mut own = [0usize; THRESHOLDS.len()];
    for draw in 0..DRAWS as u64 {
        let seed = seed.wrapping_add(draw << 8);
        let pair = directions(2, WIDTH, seed ^ 1);
        let (q, other) = pair.split_at(WIDTH);
        // the part of the other that is at right angles to q
        let along = dot(q, other);
        let across: Vec<f64> = other.iter().zip(q).map(|(o, q)| o - along * q).collect();
        let length = norm(&across).max(f64::MIN_POSITIVE);
        let keys = cosines.iter().map(|cosine| -> Vec<f64> {
            let sine = (1.0 - cosine * cosine).max(0.0).sqrt();
            q.iter().zip(&across).map(|(q, a)| cosine * q + sine * a / length).collect()
        });
        let keys: Vec<Vec<f64>> = keys.collect();
        for bucket in normal(n, WIDTH, seed ^ 2).chunks(WIDTH) {
            let of_query = dot(bucket, q);
            let of_keys: Vec<f64> = keys.iter().map(|key| dot(bucket, key)).collect();
            for (t, threshold) in THRESHOLDS.into_iter().enumerate().filter(|(_, threshold)| of_query > *threshold) {
                own[t] += 1;
                for (count, of_key) in shared[t].iter_mut().zip(&of_keys) {
                    *count += usize::from(*of_key > threshold);
                }
            }
        }
    }
    std::array::from_fn(|t| shared[t].iter().map(|shared| *shared as f64 / own[t].max(1) as f64).collect())
}

/// Two distributions over `n` that put `alpha` on one place each, another one, and the rest evenly on all others: their
/// distance in total variation, and 1 - x1 . x2 / x1 . x1.
pub fn near_distributions(n: usize, alpha: f64) -> (f64, f64) {
    let others = (n.max(2) - 1) as f64;
    let rest = (1.0 - alpha) / others;
    let own = alpha * alpha + others * rest * rest;
    let shared = 2.0 * alpha * rest + (others - 1.0) * rest * rest;
    ((alpha - rest).abs(), 1.0 - shared / own)
}

/// Both over alpha.
pub fn l1_amplification(n: usize) -> Curves {
    let alphas: Vec<f64> = (1..=40).map(|k| f64::from(k) / 40.0).collect();
    let both: Vec<(f64, f64)> = alphas.iter().map(|a| near_distributions(n, *a)).collect();
    let (distance, keys) = both.into_iter().unzip();
    Curves::new(alphas, [("distance in total variation", distance), ("1 \u{2212} affinity as keys", keys)])
}
