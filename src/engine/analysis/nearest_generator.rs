//! The generator nearest to a square matrix, and how far from one the matrix is. A generator of a Markov chain in
//! continuous time (column convention) has no negative entry off its diagonal, and columns that sum to 0.

use std::f64::consts::TAU;

use rand::{Rng, seq::SliceRandom};

use super::statistics::{difference, norm};

/// The distance of a matrix J `(n, n)` from a generator.
#[derive(Debug, Clone, PartialEq)]
pub struct GeneratorDistance {
    /// Column sums of I + dt J with dt = 1: all 1 for a generator.
    pub column_sums: Vec<f64>,
    /// Share of the entries off the diagonal that are negative: 0 for a generator. NaN for n = 1.
    pub negative_share: f64,
    /// |J - A| / |J| in the Frobenius norm, where A is the nearest generator; 0 for a generator, and for J = 0.
    pub distance: f64,
}

/// Measures how far `j`, `(n, n)` row by row, is from a generator.
pub fn generator_distance(n: usize, j: &[f64]) -> GeneratorDistance {
    let nearest = nearest_generator(n, j);
    let (off, size) = (norm(&difference(j, &nearest)), norm(j));
    let negative = j.iter().enumerate().filter(|(at, v)| at / n != at % n && **v < 0.0).count();
    GeneratorDistance {
        column_sums: column_sums(n, j),
        negative_share: if n > 1 { negative as f64 / (n * (n - 1)) as f64 } else { f64::NAN },
        distance: if size > 0.0 { off / size } else { 0.0 },
    }
}

/// Column sums of I + J.
fn column_sums(n: usize, j: &[f64]) -> Vec<f64> {
    (0..n).map(|column| 1.0 + (0..n).map(|row| j[row * n + column]).sum::<f64>()).collect()
}

/// Returns the generator A `(n, n)` that minimises |J - A| in the Frobenius norm, exactly.
///
/// Columns are independent. For a column of J with diagonal entry d and other entries g_i, the nearest column has
/// b_i = max(0, g_i - s) off the diagonal and -sum b on it, where s = d + sum b by the Karush-Kuhn-Tucker conditions.
/// Sorting g gives s, as in the projection onto a simplex.
pub fn nearest_generator(n: usize, j: &[f64]) -> Vec<f64> {
    let mut nearest = vec![0.0; n * n];
    for column in 0..n {
        let others = || (0..n).filter(|row| *row != column);
        let mut sorted: Vec<f64> = others().map(|row| j[row * n + column]).collect();
        sorted.sort_by(|a, b| b.total_cmp(a));
        let mut shift = j[column * n + column];
        let mut sum = shift;
        for (k, g) in sorted.iter().enumerate() {
            if *g <= shift {
                break;
            }
            sum += g;
            shift = sum / (k + 2) as f64;
        }
        let mut outflow = 0.0;
        for row in others() {
            let rate = (j[row * n + column] - shift).max(0.0);
            nearest[row * n + column] = rate;
            outflow += rate;
        }
        nearest[column * n + column] = -outflow;
    }
    nearest
}

/// The same entries, permuted at random.
pub fn permuted(j: &[f64], rng: &mut impl Rng) -> Vec<f64> {
    let mut entries = j.to_vec();
    entries.shuffle(rng);
    entries
}

/// Column sums of I + dt W, W `(n, n)` with independent standard normal entries (by Box and Muller's transform).
pub fn random_map(n: usize, dt: f64, rng: &mut impl Rng) -> Vec<f64> {
    let mut normal = || (-2.0 * (1.0 - rng.random::<f64>()).ln()).sqrt() * (TAU * rng.random::<f64>()).cos();
    let w: Vec<f64> = (0..n * n).map(|_| dt * normal()).collect();
    column_sums(n, &w)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::{generator_distance, nearest_generator, permuted};

    fn random(n: usize, seed: u64) -> Vec<f64> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        (0..n * n).map(|_| rng.random::<f64>() * 4.0 - 2.0).collect()
    }

    fn generator(n: usize, seed: u64) -> Vec<f64> {
        let mut a: Vec<f64> = random(n, seed).iter().map(|v| v.max(0.0)).collect();
        for column in 0..n {
            a[column * n + column] = 0.0;
            a[column * n + column] = -(0..n).map(|row| a[row * n + column]).sum::<f64>();
        }
        a
    }

    fn squared(a: &[f64], b: &[f64]) -> f64 {
        a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum()
    }

    #[test]
    fn two_states_are_as_on_paper() {
        // One rate b: (b - 1)^2 + (-b - 0)^2 is least at 1/2; a rate below 0 is cut off.
        let nearest = nearest_generator(2, &[0.0, -1.0, 1.0, 3.0]);
        assert_eq!(nearest, [-0.5, 0.0, 0.5, 0.0]);
        let found = generator_distance(2, &[0.0, -1.0, 1.0, 3.0]);
        assert_eq!(found.column_sums, [2.0, 3.0]);
        assert_eq!(found.negative_share, 0.5);
        assert!((found.distance - (10.5f64 / 11.0).sqrt()).abs() < 1e-12);
    }

    #[test]
    fn the_zero_matrix_is_a_generator_at_distance_zero() {
        let zero = generator_distance(3, &[0.0; 9]);
        assert_eq!((zero.distance, zero.negative_share), (0.0, 0.0));
        assert!(generator_distance(1, &[2.0]).negative_share.is_nan());
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn the_nearest_is_a_generator_and_no_other_is_nearer(n in 2usize..9, seed in any::<u64>()) {
            let j = random(n, seed);
            let nearest = nearest_generator(n, &j);
            for column in 0..n {
                let sum: f64 = (0..n).map(|row| nearest[row * n + column]).sum();
                prop_assert!(sum.abs() < 1e-12);
                prop_assert!((0..n).all(|row| row == column || nearest[row * n + column] >= 0.0));
            }
            let least = squared(&j, &nearest);
            // The set is convex: no point between it and another generator may be nearer.
            for other in 0..8 {
                let towards = generator(n, seed.wrapping_add(other));
                for share in [1e-3, 0.1, 1.0] {
                    let moved: Vec<f64> =
                        nearest.iter().zip(&towards).map(|(a, b)| a + share * (b - a)).collect();
                    prop_assert!(squared(&j, &moved) >= least - 1e-12);
                }
            }
        }

        #[test]
        fn a_generator_is_its_own_nearest(n in 2usize..9, seed in any::<u64>()) {
            let a = generator(n, seed);
            let found = generator_distance(n, &a);
            prop_assert!(found.distance < 1e-12 && found.negative_share == 0.0);
            prop_assert!(found.column_sums.iter().all(|s| (s - 1.0).abs() < 1e-12));
            let null = permuted(&a, &mut ChaCha8Rng::seed_from_u64(seed));
            let size = |m: &[f64]| m.iter().map(|v| v * v).sum::<f64>();
            prop_assert!((size(&null) - size(&a)).abs() < 1e-9);
        }
    }
}
