//! Rank correlation of two sequences, with a test against chance where neighbouring values depend on one another.

use rand::Rng;

use super::statistics::{correlation, mean_sd};

/// Ranks from 1; equal values share the mean of theirs.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    let mut from = 0;
    while from < order.len() {
        let len = order[from..].iter().take_while(|i| values[**i] == values[order[from]]).count().max(1);
        let mean = from as f64 + (len as f64 + 1.0) / 2.0;
        order[from..from + len].iter().for_each(|i| ranks[*i] = mean);
        from += len;
    }
    ranks
}

/// Spearman's rank correlation of two samples of equal length, -1..1; NaN if either does not vary.
pub fn spearman(a: &[f64], b: &[f64]) -> f64 {
    correlation(&ranks(a), &ranks(b))
}

/// Spearman's coefficient, with those of unrelated sequences as its null distribution.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ShiftTest {
    /// Spearman's coefficient.
    pub rho: f64,
    /// Mean and standard deviation of the coefficient over shifts.
    pub null: (f64, f64),
    /// Two-sided: the share of shifts whose coefficient is as far from the shifts' mean, the sequences as they are counted
    /// among them.
    pub p: f64,
}

/// The usual number of draws of a [`shift_test`]: the smallest p is 1/500.
pub const ROTATIONS: usize = 499;

/// Two sequences of equal length. Under the null model `b` is rotated by a random number of places against `a`, which keeps
/// what neighbours have in common (as in Politis and Romano's circular block bootstrap). NaN where nothing varies.
pub fn shift_test(a: &[f64], b: &[f64], draws: usize, rng: &mut impl Rng) -> ShiftTest {
    let (a, b) = (ranks(a), ranks(b));
    let rho = correlation(&a, &b);
    let shifted = |_| {
        let mut moved = b.clone();
        if moved.len() > 1 {
            moved.rotate_left(rng.random_range(1..b.len()));
        }
        correlation(&a, &moved)
    };
    let shifted: Vec<f64> = (0..draws).map(shifted).collect();
    let null = mean_sd(&shifted);
    let as_far = shifted.iter().filter(|r| (**r - null.0).abs() >= (rho - null.0).abs()).count();
    let p = if rho.is_nan() { f64::NAN } else { (as_far + 1) as f64 / (draws + 1) as f64 };
    ShiftTest { rho, null, p }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;

    /// Reference values are those of scipy.stats.spearmanr.
    #[test]
    fn ranks_alone_count() {
        assert_eq!(ranks(&[0.3, -1.0, 0.3, 7.0]), [2.5, 1.0, 2.5, 4.0]);
        let a = [1.0, 2.0, 3.0, 4.0, 5.0];
        assert!((spearman(&a, &a.map(f64::exp)) - 1.0).abs() < 1e-12);
        assert!((spearman(&a, &[5.0, 6.0, 7.0, 8.0, 7.0]) - 0.820_782_681_668_123_3).abs() < 1e-12);
        assert!(spearman(&a, &[1.0; 5]).is_nan());
    }

    /// Two independent slow walks correlate by accident, which the shifts detect; one that follows the other is found.
    #[test]
    fn neighbours_that_depend_do_not_fool_the_test() {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let walk = |rng: &mut ChaCha8Rng| -> Vec<f64> {
            let mut at = 0.0;
            (0..64)
                .map(|_| {
                    at = 0.95 * at + rng.random_range(-1.0..1.0);
                    at
                })
                .collect()
        };
        let mut small = 0;
        for _ in 0..200 {
            let (a, b): (Vec<f64>, Vec<f64>) = (walk(&mut rng), walk(&mut rng));
            small += usize::from(shift_test(&a, &b, 99, &mut rng).p <= 0.05);
        }
        assert!(small <= 24, "{small} of 200 at .05");
        let a: Vec<f64> = (0..4).flat_map(|_| walk(&mut rng)).collect();
        let b: Vec<f64> = a.iter().map(|v| v + rng.random_range(-0.5..0.5)).collect();
        let found = shift_test(&a, &b, 199, &mut rng);
        assert!(found.p < 0.01 && found.rho > 0.8, "{found:?}");
    }
}
