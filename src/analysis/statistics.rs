//! Summaries of samples: intervals for proportions, means, correlation. It does not know what was counted.

/// Wilson's score interval for `hits` of `n` at z = 1.96 (95%): (low, high) in 0..1; (0, 1) for n = 0.
/// Wilson, J. Am. Stat. Assoc. 22 (1927) 209.
pub fn wilson(hits: f64, n: f64) -> (f64, f64) {
    if n <= 0.0 {
        return (0.0, 1.0);
    }
    let z2 = 1.96 * 1.96;
    let p = hits / n;
    let centre = (p + z2 / (2.0 * n)) / (1.0 + z2 / n);
    let half = 1.96 * (p * (1.0 - p) / n + z2 / (4.0 * n * n)).sqrt() / (1.0 + z2 / n);
    // Rounding must not put the share itself outside: at 0 and 1 it is a bound.
    ((centre - half).clamp(0.0, p), (centre + half).clamp(p, 1.0))
}

/// Mean and sample standard deviation (n - 1; zero for a single value).
pub fn mean_sd(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    if values.is_empty() {
        return (f64::NAN, f64::NAN);
    }
    let mean = values.iter().sum::<f64>() / n;
    if values.len() < 2 {
        return (mean, 0.0);
    }
    let sum: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    (mean, (sum / (n - 1.0)).sqrt())
}

/// Pearson's correlation of two samples of equal length; NaN if either does not vary.
pub fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let n = a.len().min(b.len()) as f64;
    let mean = |v: &[f64]| v.iter().sum::<f64>() / n;
    let (ma, mb) = (mean(a), mean(b));
    let sum = |f: &dyn Fn(f64, f64) -> f64| a.iter().zip(b).map(|(x, y)| f(x - ma, y - mb)).sum::<f64>();
    let spread = sum(&|x, _| x * x) * sum(&|_, y| y * y);
    if spread > 0.0 { sum(&|x, y| x * y) / spread.sqrt() } else { f64::NAN }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn correlation_knows_its_ends() {
        let a = [1.0, 2.0, 3.0, 5.0];
        assert!((correlation(&a, &a.map(|v| 3.0 * v - 1.0)) - 1.0).abs() < 1e-12);
        assert!((correlation(&a, &a.map(|v| -v)) + 1.0).abs() < 1e-12);
        assert!((correlation(&[1.0, 2.0, 3.0, 4.0], &[1.0, -1.0, -1.0, 1.0])).abs() < 1e-12);
        assert!(correlation(&a, &[2.0; 4]).is_nan());
    }

    #[test]
    fn wilson_matches_the_closed_form() {
        let (low, high) = wilson(0.0, 10.0);
        assert_eq!(low, 0.0);
        assert!((high - 0.277_533).abs() < 1e-4, "{high}");
        let (low, high) = wilson(50.0, 100.0);
        assert!((low - 0.403_83).abs() < 1e-4 && (high - 0.596_17).abs() < 1e-4);
        assert_eq!(wilson(0.0, 0.0), (0.0, 1.0));
        for n in 1..200 {
            assert_eq!(wilson(f64::from(n), f64::from(n)).1, 1.0, "all of {n}");
        }
    }
}
