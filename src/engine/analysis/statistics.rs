//! Summaries of samples: intervals for proportions, means, correlation.

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

/// The mean; NaN for an empty slice.
pub fn mean(values: &[f64]) -> f64 {
    mean_of(values.iter().copied())
}

/// The mean; NaN if there are no values.
pub fn mean_of(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let n = values.len() as f64;
    values.sum::<f64>() / n
}

/// The mean of the finite values, such as losses of a text whose first token has none; `None` where none is finite.
pub fn finite_mean(values: &[f64]) -> Option<f64> {
    let finite: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
    (!finite.is_empty()).then(|| mean(&finite))
}

/// The mean of rows of the same length; empty for none.
pub fn mean_row(rows: &[Vec<f64>]) -> Vec<f64> {
    let mut mean = vec![0.0; rows.first().map_or(0, Vec::len)];
    for row in rows {
        mean.iter_mut().zip(row).for_each(|(m, v)| *m += v / rows.len() as f64);
    }
    mean
}

/// The sum of a_i b_i.
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The Euclidean length.
pub fn norm(values: &[f64]) -> f64 {
    dot(values, values).sqrt()
}

/// a - b, one by one.
pub fn difference(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

/// Divides values by their sum.
pub fn normalise(values: &mut [f64]) {
    let sum: f64 = values.iter().sum();
    values.iter_mut().for_each(|v| *v /= sum);
}

/// -sum p ln p of the shares above 0, nats.
pub fn entropy(shares: impl Iterator<Item = f64>) -> f64 {
    -shares.filter(|p| *p > 0.0).map(|p| p * p.ln()).sum::<f64>()
}

/// exp(l_i) / sum_j exp(l_j), computed without overflow.
pub fn softmax(logits: &[f64]) -> Vec<f64> {
    let top = logits.iter().copied().fold(f64::MIN, f64::max);
    let exp: Vec<f64> = logits.iter().map(|l| (l - top).exp()).collect();
    let total: f64 = exp.iter().sum();
    exp.iter().map(|e| e / total).collect()
}

/// The index of the greatest finite value, of equal ones the first; `None` where none is finite.
pub fn argmax<V: Copy + Into<f64>>(values: &[V]) -> Option<usize> {
    let finite = values.iter().map(|v| (*v).into()).enumerate().filter(|(_, v): &(usize, f64)| v.is_finite());
    // finite values have an order in which -0 and 0 are equal
    let order = |a: f64, b: f64| a.partial_cmp(&b).unwrap_or(std::cmp::Ordering::Equal);
    finite.max_by(|a, b| order(a.1, b.1).then(b.0.cmp(&a.0))).map(|(place, _)| place)
}

/// The indices of the `count` largest values, largest first; of equal ones the first.
pub fn largest<V: Copy + Into<f64>>(values: &[V], count: usize) -> Vec<usize> {
    let mut places: Vec<usize> = (0..values.len()).collect();
    places.sort_by(|a, b| values[*b].into().total_cmp(&values[*a].into()));
    places.truncate(count);
    places
}

/// The value that this share of all lies below, of an even number of values the upper middle one for .5 and the largest for
/// 1; `None` for none.
pub fn upper_quantile<V: Copy + Into<f64>>(mut values: Vec<V>, share: f64) -> Option<V> {
    values.sort_by(|a, b| (*a).into().total_cmp(&(*b).into()));
    let at = (values.len() as f64 * share) as usize;
    values.get(at.min(values.len().saturating_sub(1))).copied()
}

/// Mean and sample standard deviation (n - 1; zero for a single value).
pub fn mean_sd(values: &[f64]) -> (f64, f64) {
    if values.is_empty() {
        return (f64::NAN, f64::NAN);
    }
    let mean = mean(values);
    if values.len() < 2 {
        return (mean, 0.0);
    }
    let sum: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    (mean, (sum / (values.len() as f64 - 1.0)).sqrt())
}

/// The slope of the least-squares line of `y` over `x`; NaN where `x` does not vary.
pub fn least_squares_slope(x: &[f64], y: &[f64]) -> f64 {
    let (mean_x, mean_y) = (mean(x), mean(y));
    let along: f64 = x.iter().zip(y).map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    let spread: f64 = x.iter().map(|x| (x - mean_x).powi(2)).sum();
    if spread > 0.0 { along / spread } else { f64::NAN }
}

/// Pearson's correlation of two samples of equal length; NaN if either does not vary.
pub fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let (ma, mb) = (mean(a), mean(b));
    let sum = |f: &dyn Fn(f64, f64) -> f64| a.iter().zip(b).map(|(x, y)| f(x - ma, y - mb)).sum::<f64>();
    let spread = sum(&|x, _| x * x) * sum(&|_, y| y * y);
    if spread > 0.0 { sum(&|x, y| x * y) / spread.sqrt() } else { f64::NAN }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_of_finite_values_skips_the_others_and_may_be_missing() {
        assert_eq!(finite_mean(&[f64::NAN, 1.0, 4.0, f64::INFINITY]), Some(2.5));
        assert_eq!((finite_mean(&[f64::NAN]), finite_mean(&[])), (None, None));
    }

    #[test]
    fn the_largest_come_first_and_of_equal_ones_the_first() {
        assert_eq!(largest(&[1.0_f32, 3.0, 2.0, 3.0], 3), [1, 3, 2]);
        assert_eq!(largest(&[1.0, -1.0], 5), [0, 1]);
    }

    #[test]
    fn the_greatest_is_the_first_of_equal_finite_ones() {
        assert_eq!(argmax(&[0.1_f32, 0.7, f32::NAN, 0.7, f32::INFINITY]), Some(1));
        assert_eq!(argmax(&[-0.0, 0.0]), Some(0));
        assert_eq!((argmax(&[f64::NAN]), argmax::<f64>(&[])), (None, None));
    }

    #[test]
    fn a_quantile_is_one_of_the_values() {
        assert_eq!(upper_quantile(vec![4.0, 1.0, 3.0, 2.0], 0.5), Some(3.0));
        assert_eq!(upper_quantile((0..20).rev().map(|v| v as f32).collect(), 0.9), Some(18.0));
        assert_eq!(upper_quantile(vec![7.0f32, 6.0], 1.0), Some(7.0));
        assert_eq!(upper_quantile(Vec::<f64>::new(), 0.5), None);
    }

    #[test]
    fn correlation_has_its_known_values() {
        let a = [1.0, 2.0, 3.0, 5.0];
        assert!((correlation(&a, &a.map(|v| 3.0 * v - 1.0)) - 1.0).abs() < 1e-12);
        assert!((correlation(&a, &a.map(|v| -v)) + 1.0).abs() < 1e-12);
        assert!((correlation(&[1.0, 2.0, 3.0, 4.0], &[1.0, -1.0, -1.0, 1.0])).abs() < 1e-12);
        assert!(correlation(&a, &[2.0; 4]).is_nan());
    }

    #[test]
    fn an_interval_of_no_hits_or_of_all_ends_at_its_share() {
        assert_eq!((wilson(0.0, 10.0).0, wilson(0.0, 0.0)), (0.0, (0.0, 1.0)));
        (1..200).for_each(|n| assert_eq!(wilson(f64::from(n), f64::from(n)).1, 1.0, "all of {n}"));
    }
}
