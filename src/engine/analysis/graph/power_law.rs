//! Discrete power laws: exponent, where the law begins, how far off it is, and whether a lognormal does
//! better. Clauset, Shalizi and Newman, arXiv 0706.1062.

/// A fit of p(k) = k^-alpha / zeta(alpha, k_min) for k >= k_min.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PowerLaw {
    /// The exponent alpha.
    pub alpha: f64,
    /// The smallest degree that the law describes.
    pub k_min: u32,
    /// Observations of k_min and more.
    pub tail: usize,
    /// Largest distance between the distribution functions of sample and law (Kolmogorov and Smirnov).
    pub distance: f64,
}

/// A power law compared with a lognormal on the same tail.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LognormalComparison {
    /// Log-likelihood of the power law less that of the lognormal; positive for the power law.
    pub log_ratio: f64,
    /// Chance of a ratio this far from 0 when neither is closer to the truth (Vuong). Two-sided.
    pub p: f64,
    /// Mean of the logarithm of the continuous variable that is rounded.
    pub mu: f64,
    /// The standard deviation of the logarithm, whose mean is `mu`.
    pub sigma: f64,
}

impl PowerLaw {
    /// Probability of a degree k among those of k_min and more, for any k between whole numbers too.
    pub fn density(&self, k: f64) -> f64 {
        k.powf(-self.alpha) / zeta(self.alpha, f64::from(self.k_min))
    }
}

impl LognormalComparison {
    /// The lognormal's probability of a degree k among those of k_min and more.
    pub fn density(&self, k: f64, k_min: u32) -> f64 {
        ln_rounded(k, k_min, self.mu, self.sigma).exp()
    }
}

/// Hurwitz's zeta, the sum over k >= 0 of (q + k)^-s, for s > 1 and q > 0: some terms, then
/// Euler and Maclaurin.
fn zeta(s: f64, q: f64) -> f64 {
    const TERMS: u32 = 12;
    /// B_2j / (2j)!
    const BERNOULLI: [f64; 6] = [
        1.0 / 12.0,
        -1.0 / 720.0,
        1.0 / 30_240.0,
        -1.0 / 1_209_600.0,
        1.0 / 47_900_160.0,
        -691.0 / 1_307_674_368_000.0,
    ];
    let sum: f64 = (0..TERMS).map(|k| (q + f64::from(k)).powf(-s)).sum();
    let a = q + f64::from(TERMS);
    let mut rest = a.powf(1.0 - s) / (s - 1.0) + 0.5 * a.powf(-s);
    let mut term = s * a.powf(-s - 1.0);
    for (j, b) in BERNOULLI.iter().enumerate() {
        rest += b * term;
        let j = 2.0 * j as f64;
        term *= (s + j + 1.0) * (s + j + 2.0) / (a * a);
    }
    sum + rest
}

/// Values with how often each occurs, rising.
fn counted(sample: &[u32], least: u32) -> Vec<(u32, f64)> {
    let mut values: Vec<u32> = sample.iter().copied().filter(|k| *k >= least.max(1)).collect();
    values.sort_unstable();
    values.chunk_by(|a, b| a == b).map(|same| (same[0], same.len() as f64)).collect()
}

/// The likeliest exponent for the values of `k_min` and more, with its distance. `None` when all values
/// are the same or there are none: the likelihood has no largest value then.
pub fn fit_from(sample: &[u32], k_min: u32) -> Option<PowerLaw> {
    fit_tail(&counted(sample, k_min), k_min.max(1))
}

fn fit_tail(tail: &[(u32, f64)], k_min: u32) -> Option<PowerLaw> {
    if tail.last()?.0 == k_min {
        return None;
    }
    let n: f64 = tail.iter().map(|(_, c)| c).sum();
    let mean_log = tail.iter().map(|(k, c)| c * f64::from(*k).ln()).sum::<f64>() / n;
    let q = f64::from(k_min);
    // concave in alpha: d/d alpha = 0 by halving on a difference would lose digits, so search the top
    let likelihood = |alpha: f64| -zeta(alpha, q).ln() - alpha * mean_log;
    let alpha = golden_section_max(likelihood, 1.0 + 1e-6, 30.0);
    let whole = zeta(alpha, q);
    let (mut seen, mut distance) = (0.0, 0f64);
    for (k, c) in tail {
        // the step up at k, from both sides
        let before = 1.0 - zeta(alpha, f64::from(*k)) / whole;
        let after = 1.0 - zeta(alpha, f64::from(*k) + 1.0) / whole;
        distance = distance.max((seen / n - before).abs());
        seen += c;
        distance = distance.max((seen / n - after).abs());
    }
    Some(PowerLaw { alpha, k_min, tail: n as usize, distance })
}

/// The fit whose lower bound `k_min` gives the smallest distance to the sample, among the bounds that leave at least
/// `min_tail` observations.
pub fn fit(sample: &[u32], min_tail: usize) -> Option<PowerLaw> {
    let all = counted(sample, 1);
    let mut left: f64 = all.iter().map(|(_, c)| c).sum();
    let mut best: Option<PowerLaw> = None;
    for (i, (k_min, count)) in all.iter().enumerate() {
        if (left as usize) < min_tail {
            break;
        }
        if let Some(fit) = fit_tail(&all[i..], *k_min)
            && best.is_none_or(|b| fit.distance < b.distance)
        {
            best = Some(fit);
        }
        left -= count;
    }
    best
}

/// Golden-section search for the maximum of a unimodal function.
fn golden_section_max(f: impl Fn(f64) -> f64, mut low: f64, mut high: f64) -> f64 {
    let inner = (5f64.sqrt() - 1.0) / 2.0;
    let (mut a, mut b) = (high - inner * (high - low), low + inner * (high - low));
    let (mut fa, mut fb) = (f(a), f(b));
    while high - low > 1e-10 {
        if fa > fb {
            (high, b, fb) = (b, a, fa);
            a = high - inner * (high - low);
            fa = f(a);
        } else {
            (low, a, fa) = (a, b, fb);
            b = low + inner * (high - low);
            fb = f(b);
        }
    }
    0.5 * (low + high)
}

/// ln P(from < Z <= to) of a standard normal variable, from the nearer tail so that small ones keep
/// their digits.
fn ln_normal_probability(from: f64, to: f64) -> f64 {
    let upper = |z: f64| 0.5 * libm::erfc(z / std::f64::consts::SQRT_2);
    let p = if from > 0.0 { upper(from) - upper(to) } else { upper(-to) - upper(-from) };
    p.max(1e-300).ln()
}

/// ln of the probability that a lognormal variable rounds to k, given that it rounds to k_min or more.
fn ln_rounded(k: f64, k_min: u32, mu: f64, sigma: f64) -> f64 {
    let z = |x: f64| (x.ln() - mu) / sigma;
    ln_normal_probability(z(k - 0.5), z(k + 0.5)) - ln_normal_probability(z(f64::from(k_min) - 0.5), f64::INFINITY)
}

/// Compares a fitted law with the likeliest lognormal, rounded to whole numbers and cut off below k_min
/// as the law is. `None` when the tail does not vary. Vuong, Econometrica 57 (1989) 307.
pub fn compare_with_lognormal(sample: &[u32], law: &PowerLaw) -> Option<LognormalComparison> {
    let tail = counted(sample, law.k_min);
    let n: f64 = tail.iter().map(|(_, c)| c).sum();
    let log_p = |k: u32, mu: f64, sigma: f64| ln_rounded(f64::from(k), law.k_min, mu, sigma);
    let likelihood = |p: [f64; 2]| {
        // far out a lognormal turns into the law itself: keep to finite places
        if p[0].abs() > 50.0 || p[1].abs() > 4.0 {
            return f64::NEG_INFINITY;
        }
        tail.iter().map(|(k, c)| c * log_p(*k, p[0], p[1].exp())).sum::<f64>()
    };
    let mean = tail.iter().map(|(k, c)| c * f64::from(*k).ln()).sum::<f64>() / n;
    let square = tail.iter().map(|(k, c)| c * (f64::from(*k).ln() - mean).powi(2)).sum::<f64>() / n;
    let [mu, log_sigma] = nelder_mead(likelihood, [mean, square.sqrt().max(0.05).ln()]);
    let sigma = log_sigma.exp();
    let whole = zeta(law.alpha, f64::from(law.k_min)).ln();
    let ratio = |k: u32| -law.alpha * f64::from(k).ln() - whole - log_p(k, mu, sigma);
    let log_ratio: f64 = tail.iter().map(|(k, c)| c * ratio(*k)).sum();
    let spread = tail.iter().map(|(k, c)| c * (ratio(*k) - log_ratio / n).powi(2)).sum::<f64>() / n;
    let p = libm::erfc(log_ratio.abs() / (2.0 * n * spread).sqrt());
    p.is_finite().then_some(LognormalComparison { log_ratio, p, mu, sigma })
}

/// Maximises f over two parameters by the simplex method of Nelder and Mead.
fn nelder_mead(f: impl Fn([f64; 2]) -> f64, start: [f64; 2]) -> [f64; 2] {
    let at = |p: [f64; 2]| (p, f(p));
    let mut points = [at(start), at([start[0] + 0.5, start[1]]), at([start[0], start[1] + 0.5])];
    for _ in 0..400 {
        points.sort_by(|a, b| b.1.total_cmp(&a.1));
        let [best, good, worst] = points;
        if best.1 - worst.1 < 1e-10 * (1.0 + best.1.abs()) {
            break;
        }
        let middle = [0.5 * (best.0[0] + good.0[0]), 0.5 * (best.0[1] + good.0[1])];
        let along = |t: f64| [0, 1].map(|i| middle[i] + t * (middle[i] - worst.0[i]));
        let mirrored = at(along(1.0));
        points[2] = if mirrored.1 > best.1 {
            let further = at(along(2.0));
            if further.1 > mirrored.1 { further } else { mirrored }
        } else if mirrored.1 > good.1 {
            mirrored
        } else {
            let nearer = at(along(if mirrored.1 > worst.1 { 0.5 } else { -0.5 }));
            if nearer.1 > worst.1.max(mirrored.1) {
                nearer
            } else {
                let half = |p: [f64; 2]| at([0, 1].map(|i| 0.5 * (p[i] + best.0[i])));
                points[1] = half(good.0);
                half(worst.0)
            }
        };
    }
    points.sort_by(|a, b| b.1.total_cmp(&a.1));
    points[0].0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sample made by inverting the distribution function at even steps.
    fn draws(n: usize, at: impl Fn(f64) -> u32) -> Vec<u32> {
        (0..n).map(|i| at((i as f64 + 0.5) / n as f64)).collect()
    }

    #[test]
    fn zeta_has_its_known_values() {
        let pi = std::f64::consts::PI;
        assert!((zeta(2.0, 1.0) - pi * pi / 6.0).abs() < 1e-14);
        assert!((zeta(4.0, 1.0) - pi.powi(4) / 90.0).abs() < 1e-14);
        // the sum from 3 on
        assert!((zeta(2.5, 3.0) - (zeta(2.5, 1.0) - 1.0 - 2f64.powf(-2.5))).abs() < 1e-14);
        assert!((zeta(1.01, 1.0) - 100.577_943_338_497).abs() < 1e-9);
    }

    #[test]
    fn a_law_is_found_again_and_told_from_a_lognormal() {
        let whole = zeta(2.5, 1.0);
        let law = draws(20_000, |u| {
            let (mut k, mut left) = (1u32, 1.0 - u);
            while left > 0.0 && k < 100_000 {
                left -= f64::from(k).powf(-2.5) / whole;
                k += 1;
            }
            k - 1
        });
        let fit = fit(&law, 50).unwrap();
        assert!((fit.alpha - 2.5).abs() < 0.05 && fit.distance < 0.01, "{fit:?}");
        // quantiles of a lognormal, mu 3 and sigma 0.5, by halving
        let lognormal = draws(20_000, |u| {
            let (mut low, mut high) = (-8f64, 8f64);
            while high - low > 1e-9 {
                let z = 0.5 * (low + high);
                if 0.5 * libm::erfc(-z / std::f64::consts::SQRT_2) < u { low = z } else { high = z }
            }
            (3.0 + 0.5 * low).exp().round() as u32
        });
        let wrong = fit_from(&lognormal, 1).unwrap();
        let against = compare_with_lognormal(&lognormal, &wrong).unwrap();
        assert!((against.mu - 3.0).abs() < 0.02 && (against.sigma - 0.5).abs() < 0.02, "{against:?}");
        assert!(against.log_ratio < -1000.0 && against.p < 1e-6, "{against:?}");
        assert!(wrong.distance > 0.2, "{wrong:?}");
        let right = fit_from(&law, 1).unwrap();
        assert!(compare_with_lognormal(&law, &right).unwrap().log_ratio > 0.0);
    }

    #[test]
    fn a_power_law_without_data_is_not_fitted() {
        assert_eq!(fit(&[], 1), None);
        assert_eq!(fit(&[0, 0], 1), None);
        assert_eq!(fit_from(&[3, 3, 3], 3), None);
    }
}
