//! Student's t and the binomial distribution, both by the incomplete beta function.

use super::statistics::mean_sd;

/// Terms of the continued fraction; it ends after a few dozen.
const MAX_TERMS: usize = 500;
/// The number of bisections of an interval; an end at 0 may need many, down to the resolution of a number.
const BISECTIONS: usize = 200;

/// The regularised incomplete beta function I_x(a, b), for a, b > 0 and x in 0..1, by Lentz's continued fraction
/// (Press et al., Numerical Recipes, 3rd ed., 6.4).
fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    let front = (libm::lgamma(a + b) - libm::lgamma(a) - libm::lgamma(b) + a * x.ln() + b * (-x).ln_1p()).exp();
    // the continued fraction converges fast on this side of the mean
    if x < (a + 1.0) / (a + b + 2.0) {
        front * continued_fraction(a, b, x) / a
    } else {
        1.0 - front * continued_fraction(b, a, 1.0 - x) / b
    }
}

fn continued_fraction(a: f64, b: f64, x: f64) -> f64 {
    let tiny = |v: f64| if v.abs() < f64::MIN_POSITIVE { f64::MIN_POSITIVE } else { v };
    let mut c = 1.0;
    let mut d = 1.0 / tiny(1.0 - (a + b) * x / (a + 1.0));
    let mut value = d;
    for m in 1..MAX_TERMS {
        let m = m as f64;
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let before = value;
        for term in [even, odd] {
            d = 1.0 / tiny(1.0 + term * d);
            c = tiny(1.0 + term / c);
            value *= c * d;
        }
        if (value - before).abs() <= f64::EPSILON * value.abs() {
            break;
        }
    }
    value
}

/// P(T >= t) of Student's t with this many degrees of freedom.
pub fn t_tail(t: f64, degrees: f64) -> f64 {
    let both = incomplete_beta(degrees / 2.0, 0.5, degrees / (degrees + t * t));
    if t >= 0.0 { both / 2.0 } else { 1.0 - both / 2.0 }
}

/// The t that is exceeded with this probability, 0 to .5.
pub fn t_exceeded(tail: f64, degrees: f64) -> f64 {
    let mut high = 1.0;
    while t_tail(high, degrees) > tail && high < 1e12 {
        high *= 2.0;
    }
    bisected(0.0, high, |t| t_tail(t, degrees) > tail)
}

/// The default confidence of an interval.
pub const CONFIDENCE: f64 = 0.95;

/// The half-width, in standard errors, of the confidence interval of a mean of this many values (at least two).
pub fn standard_errors(values: usize, confidence: f64) -> f64 {
    t_exceeded((1.0 - confidence) / 2.0, values as f64 - 1.0)
}

/// The interval of the mean of normally distributed values at this confidence by Student's t: (low, high); `None` for
/// fewer than two, whose spread is unknown. For paired samples, pass their differences.
pub fn mean_interval(values: &[f64], confidence: f64) -> Option<(f64, f64)> {
    let n = values.len() as f64;
    if values.len() < 2 {
        return None;
    }
    let (mean, sd) = mean_sd(values);
    let half = standard_errors(values.len(), confidence) * sd / n.sqrt();
    Some((mean - half, mean + half))
}

/// One-sided p value of values whose mean is at most `bound` in truth: small where they lie above it. Values that do not
/// vary leave no doubt. NaN for fewer than two.
pub fn mean_above(values: &[f64], bound: f64) -> f64 {
    let n = values.len() as f64;
    if values.len() < 2 {
        return f64::NAN;
    }
    let (mean, sd) = mean_sd(values);
    if sd == 0.0 {
        return if mean > bound { 0.0 } else { 1.0 };
    }
    t_tail((mean - bound) * n.sqrt() / sd, n - 1.0)
}

/// P(X >= hits) of `n` trials with this share each.
pub fn binomial_tail(hits: usize, n: usize, share: f64) -> f64 {
    if hits == 0 { 1.0 } else { incomplete_beta(hits as f64, (n - hits.min(n)) as f64 + 1.0, share) }
}

/// Clopper and Pearson's interval of a share, Biometrika 26 (1934) 404.
pub fn share_interval(hits: usize, n: usize, confidence: f64) -> (f64, f64) {
    let tail = (1.0 - confidence) / 2.0;
    let low = if hits == 0 { 0.0 } else { bisected(0.0, 1.0, |p| binomial_tail(hits, n, p) < tail) };
    let high = if hits == n { 1.0 } else { bisected(0.0, 1.0, |p| binomial_tail(hits + 1, n, p) < 1.0 - tail) };
    (low, high)
}

/// Finds by bisection the point at which a condition that holds at the low end stops holding.
fn bisected(mut low: f64, mut high: f64, holds: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..BISECTIONS {
        let middle = (low + high) / 2.0;
        if middle == low || middle == high {
            break; // neighbours
        }
        if holds(middle) { low = middle } else { high = middle }
    }
    (low + high) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(got: f64, want: f64) {
        assert!((got - want).abs() < 1e-9 * want.abs().max(1e-3), "{got} is not {want}");
    }

    /// The closed forms are I_x(1, b) = 1 - (1 - x)^b, I_x(a, 1) = x^a and I_x(2, 2) = x² (3 - 2 x).
    #[test]
    fn the_incomplete_beta_has_its_closed_forms() {
        for x in [0.01, 0.3, 0.5, 0.97] {
            near(incomplete_beta(1.0, 3.5, x), 1.0 - (1.0 - x).powf(3.5));
            near(incomplete_beta(4.25, 1.0, x), x.powf(4.25));
            near(incomplete_beta(2.0, 2.0, x), x * x * (3.0 - 2.0 * x));
        }
        assert_eq!((incomplete_beta(2.0, 3.0, 0.0), incomplete_beta(2.0, 3.0, 1.0)), (0.0, 1.0));
    }

    /// The tail is Cauchy's with one degree of freedom, 1/2 - atan(t)/π; with two it is 1/2 - t / (2 sqrt(2 + t²)).
    #[test]
    fn the_tail_has_its_closed_forms() {
        for t in [-3.0, -0.2, 0.0, 0.7, 12.706] {
            near(t_tail(t, 1.0), 0.5 - f64::atan(t) / std::f64::consts::PI);
            near(t_tail(t, 2.0), 0.5 - t / (2.0 * (2.0 + t * t).sqrt()));
        }
    }

    /// Tables of Student's t at 97.5%.
    #[test]
    fn quantiles_are_those_of_tables() {
        for (degrees, t) in [(1.0, 12.706), (2.0, 4.303), (7.0, 2.365), (9.0, 2.262), (30.0, 2.042)] {
            assert!((t_exceeded(0.025, degrees) - t).abs() < 6e-4, "{degrees}");
        }
    }

    /// By hand, mean 2, sd 1 and n 3 give t = 2 sqrt(3), which has the tail 1/2 - t / (2 sqrt(2 + t²)). The interval is
    /// scipy.stats.t.interval(0.95, 2, loc=2, scale=scipy.stats.sem([1, 2, 3])).
    #[test]
    fn a_mean_has_an_interval_and_a_p_value() {
        let values = [1.0, 2.0, 3.0];
        let t = 2.0 * 3f64.sqrt();
        near(mean_above(&values, 0.0), 0.5 - t / (2.0 * (2.0 + t * t).sqrt()));
        near(mean_above(&values, 0.0) + mean_above(&values.map(|v| -v), 0.0), 1.0);
        let (low, high) = mean_interval(&values, 0.95).unwrap();
        assert!((low + 0.4841).abs() < 1e-4 && (high - 4.4841).abs() < 1e-4, "{low} {high}");
        assert_eq!((mean_above(&[2.0; 3], 1.0), mean_above(&[2.0; 3], 2.0)), (0.0, 1.0));
        assert!(mean_above(&[1.0], 0.0).is_nan() && mean_interval(&[1.0], 0.95).is_none());
    }

    /// By hand: all of n trials, P = share^n, so that the lower end is tail^(1/n).
    #[test]
    fn shares_have_exact_intervals() {
        near(binomial_tail(5, 5, 0.5), 1.0 / 32.0);
        near(binomial_tail(1, 3, 0.5), 7.0 / 8.0);
        assert_eq!(binomial_tail(0, 3, 0.5), 1.0);
        let (low, high) = share_interval(5, 5, 0.95);
        near(low, 0.025f64.powf(0.2));
        assert_eq!(high, 1.0);
        let (low, high) = share_interval(0, 5, 0.95);
        assert_eq!(low, 0.0);
        near(high, 1.0 - 0.025f64.powf(0.2));
    }
}
