//! A rank test that one sample lies above another: Mann and Whitney's U with its effect sizes. It takes
//! all values as independent; see [`super::clustered_tests`] where they are not.

/// The statistic U of one sample against another, from which the p-value and the effect sizes follow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MannWhitney {
    /// Pairs (a, b) with a above b, and half of those that are equal.
    pub u: f64,
    /// Sizes of the two samples.
    pub n: (usize, usize),
    /// Sum of t^3 - t over groups of t equal values.
    ties: f64,
}

impl MannWhitney {
    /// The test of two samples of finite values, in O(n log n). Mann & Whitney, Ann. Math. Stat. 18 (1947) 50.
    pub fn new(a: &[f64], b: &[f64]) -> Self {
        let mut all: Vec<(f64, bool)> = a.iter().map(|v| (*v, true)).chain(b.iter().map(|v| (*v, false))).collect();
        all.sort_unstable_by(|x, y| x.0.total_cmp(&y.0));
        let (mut ranks, mut ties, mut from) = (0.0, 0.0, 0);
        while from < all.len() {
            // 0 and -0 are equal, which `total_cmp` denies.
            let len = all[from..].iter().take_while(|v| v.0 == all[from].0).count().max(1);
            let mean = from as f64 + (len as f64 + 1.0) / 2.0;
            ranks += mean * all[from..from + len].iter().filter(|v| v.1).count() as f64;
            ties += (len as f64).powi(3) - len as f64;
            from += len;
        }
        let (m, n) = (a.len() as f64, b.len() as f64);
        debug_assert!(m + n == all.len() as f64);
        Self { u: ranks - m * (m + 1.0) / 2.0, n: (a.len(), b.len()), ties }
    }

    /// The chance that a value of the first sample is above one of the second; 0.5 if either is empty.
    pub fn auc(&self) -> f64 {
        let pairs = self.n.0 as f64 * self.n.1 as f64;
        if pairs == 0.0 { 0.5 } else { self.u / pairs }
    }

    /// Rank-biserial correlation, -1..1: 2 AUC - 1.
    pub fn rank_biserial(&self) -> f64 {
        2.0 * self.auc() - 1.0
    }

    /// One-sided p that the first sample lies above, by the normal approximation, corrected for ties and continuity. 1
    /// where the samples do not allow a test.
    pub fn p_greater(&self) -> f64 {
        let (m, n) = (self.n.0 as f64, self.n.1 as f64);
        let all = m + n;
        let variance = m * n / 12.0 * (all + 1.0 - self.ties / (all * (all - 1.0)).max(1.0));
        if variance <= 0.0 {
            return 1.0;
        }
        let z = (self.u - m * n / 2.0 - 0.5) / variance.sqrt();
        0.5 * libm::erfc(z / std::f64::consts::SQRT_2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_or_tied_samples_have_p_value_one() {
        let test = MannWhitney::new(&[], &[1.0]);
        assert_eq!((test.rank_biserial(), test.p_greater()), (0.0, 1.0));
        assert_eq!(MannWhitney::new(&[2.0; 5], &[2.0; 7]).p_greater(), 1.0);
    }
}
