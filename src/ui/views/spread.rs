//! Variants that differ only by seed, as one line with a spread. Pure curves in and out.

use super::curve::Curve;

/// Mean and mean plus or minus one standard deviation over several curves, at the steps they all
/// have; kept beside its sources as they grow.
#[derive(Debug, Clone, Default)]
pub struct Spread {
    pub mean: Curve,
    pub low: Curve,
    pub high: Curve,
    /// Sources and how often each was taken back, to notice when to start again.
    seen: Vec<u64>,
    /// Steps of the first source taken so far.
    taken: usize,
}

impl Spread {
    /// Catches up with `sources`.
    pub fn follow(&mut self, sources: &[&Curve]) -> &Self {
        let seen: Vec<u64> = sources.iter().map(|c| c.rewinds()).collect();
        let Some(first) = sources.first() else {
            *self = Self::default();
            return self;
        };
        if seen != self.seen || self.taken > first.len() {
            *self = Self { seen, ..Self::default() };
        }
        while let Some((step, _)) = first.point(self.taken) {
            if sources.iter().any(|c| c.last_step().is_none_or(|last| last < step)) {
                break;
            }
            self.taken += 1;
            let at: Vec<f64> =
                sources.iter().filter_map(|c| c.point_at(step).filter(|p| p.0 == step).map(|p| p.1)).collect();
            if at.len() < sources.len() {
                continue;
            }
            let (mean, sd) = mean_sd(&at);
            self.mean.push(step, mean);
            self.low.push(step, mean - sd);
            self.high.push(step, mean + sd);
        }
        self
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_and_spread_are_over_common_steps_only() {
        let (mut a, mut b) = (Curve::default(), Curve::default());
        for s in [1u64, 2, 3, 5] {
            a.push(s, s as f64);
        }
        for s in [1u64, 3, 4, 5] {
            b.push(s, s as f64 + 2.0);
        }
        let mut spread = Spread::default();
        spread.follow(&[&a, &b]);
        assert_eq!(spread.mean.points(0, 9).collect::<Vec<_>>(), [(1, 2.0), (3, 4.0), (5, 6.0)]);
        let sd = 2f64.sqrt();
        assert!((spread.high.value_at(1).unwrap() - 2.0 - sd).abs() < 1e-12);
        a.push(4, 10.0);
        b.push(6, 1.0);
        spread.follow(&[&a, &b]);
        assert_eq!(spread.mean.points(0, 9).collect::<Vec<_>>(), [(1, 2.0), (3, 4.0), (4, 8.0)]);
    }
}
