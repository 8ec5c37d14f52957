//! Comparing two samples whose values come in clusters (the sentences about one noun are not independent): everything
//! is drawn cluster by cluster.

use rand::{Rng, SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;

/// The pairs of values with the first above the second, cluster against cluster.
#[derive(Debug, Clone)]
pub struct Clusters {
    /// True where the cluster belongs to the first sample.
    in_first_sample: Vec<bool>,
    sizes: Vec<f64>,
    /// `pair_wins[a * n + b]`: pairs of values with that of a above that of b, equal ones counting half.
    pair_wins: Vec<f64>,
}

impl Clusters {
    /// `of[k]` is the cluster of `values[k]`, `in_first_sample[c]` whether cluster c is of the first sample.
    /// O(values * clusters * log): every pair of clusters is compared by merging sorted lists.
    pub fn new(values: &[f64], of: &[usize], in_first_sample: &[bool]) -> Self {
        let n = in_first_sample.len();
        let mut lists = vec![vec![]; n];
        for (value, &cluster) in values.iter().zip(of) {
            if let Some(list) = lists.get_mut(cluster) {
                list.push(*value);
            }
        }
        lists.iter_mut().for_each(|l: &mut Vec<f64>| l.sort_unstable_by(f64::total_cmp));
        let mut pair_wins = vec![0.0; n * n];
        for a in 0..n {
            (0..n).for_each(|b| pair_wins[a * n + b] = count_greater_pairs(&lists[a], &lists[b]));
        }
        let sizes = lists.iter().map(|l| l.len() as f64).collect();
        Self { in_first_sample: in_first_sample.to_vec(), sizes, pair_wins }
    }

    /// Rank-biserial correlation of the first sample over the second.
    pub fn rank_biserial(&self) -> f64 {
        let (with, without): (Vec<_>, Vec<_>) = (0..self.in_first_sample.len()).partition(|&c| self.in_first_sample[c]);
        self.between(&with, &without)
    }

    /// The correlation of any clusters, a repeated cluster counting twice; 0 if there is no pair.
    fn between(&self, with: &[usize], without: &[usize]) -> f64 {
        let n = self.in_first_sample.len();
        let (mut wins, mut pairs) = (0.0, 0.0);
        for &a in with {
            for &b in without {
                wins += self.pair_wins[a * n + b];
                pairs += self.sizes[a] * self.sizes[b];
            }
        }
        if pairs == 0.0 { 0.0 } else { 2.0 * wins / pairs - 1.0 }
    }

    /// One-sided p: how often clusters shuffled between the samples reach the correlation found,
    /// (1 + hits) / (1 + draws). Exact if the clusters are exchangeable. One is added to both
    /// counts so that p is never 0 (Phipson & Smyth 2010).
    pub fn permutation_p(&self, draws: usize, seed: u64) -> f64 {
        let found = self.rank_biserial();
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut order: Vec<usize> = (0..self.in_first_sample.len()).collect();
        let first = self.in_first_sample.iter().filter(|w| **w).count();
        let hits = (0..draws)
            .filter(|_| {
                order.shuffle(&mut rng);
                self.between(&order[..first], &order[first..]) >= found - 1e-12
            })
            .count();
        (1.0 + hits as f64) / (1.0 + draws as f64)
    }

    /// Interval (2.5%, 97.5%) of the correlation when the clusters of each sample are drawn again with
    /// replacement. Efron's percentile interval.
    pub fn bootstrap(&self, draws: usize, seed: u64) -> (f64, f64) {
        let (with, without): (Vec<_>, Vec<_>) = (0..self.in_first_sample.len()).partition(|&c| self.in_first_sample[c]);
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut again =
            |from: &[usize]| -> Vec<usize> { from.iter().map(|_| from[rng.random_range(0..from.len())]).collect() };
        let mut found: Vec<f64> = (0..draws).map(|_| self.between(&again(&with), &again(&without))).collect();
        found.sort_unstable_by(f64::total_cmp);
        let at = |q: f64| found.get((q * (found.len() as f64 - 1.0)).round() as usize).copied().unwrap_or(0.0);
        (at(0.025), at(0.975))
    }
}

/// Counts the pairs (v of `a`, w of `b`) with v > w, and equal ones as halves. `b` must be sorted.
fn count_greater_pairs(a: &[f64], b: &[f64]) -> f64 {
    a.iter().map(|&v| 0.5 * (b.partition_point(|&w| w < v) + b.partition_point(|&w| w <= v)) as f64).sum()
}

#[cfg(test)]
mod tests {
    use super::super::rank_test::MannWhitney;
    use super::*;

    /// Draws `n` clusters of `size` values, each with a random offset and a little noise; the first half is shifted by
    /// `shift`.
    fn clustered_sample(n: usize, size: usize, shift: f64, seed: u64) -> (Vec<f64>, Vec<usize>, Vec<bool>) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let (mut values, mut of) = (vec![], vec![]);
        for c in 0..n {
            let offset = rng.random::<f64>() + if c < n / 2 { shift } else { 0.0 };
            for _ in 0..size {
                values.push(offset + 0.1 * rng.random::<f64>());
                of.push(c);
            }
        }
        (values, of, (0..n).map(|c| c < n / 2).collect())
    }

    #[test]
    fn the_correlation_is_that_of_all_values() {
        let (values, of, with) = clustered_sample(10, 7, 0.3, 1);
        let (a, b): (Vec<_>, Vec<_>) = values.iter().zip(&of).partition(|(_, c)| with[**c]);
        let plain = |v: Vec<(&f64, &usize)>| v.into_iter().map(|p| *p.0).collect::<Vec<_>>();
        let whole = MannWhitney::new(&plain(a), &plain(b)).rank_biserial();
        assert!((Clusters::new(&values, &of, &with).rank_biserial() - whole).abs() < 1e-12);
    }

    /// Without a difference, p is below 0.05 in one of twenty samples; a test that took the values of one cluster for
    /// independent would reject far more often.
    #[test]
    fn clustered_values_do_not_raise_false_positives() {
        let (mut ours, mut naive) = (0, 0);
        for seed in 0..300 {
            let (values, of, with) = clustered_sample(12, 20, 0.0, seed);
            ours += usize::from(Clusters::new(&values, &of, &with).permutation_p(199, seed) <= 0.05);
            let (a, b) = values.split_at(values.len() / 2);
            naive += usize::from(MannWhitney::new(a, b).p_greater() <= 0.05);
        }
        assert!((5..=27).contains(&ours), "{ours} of 300");
        assert!(naive > 80, "{naive} of 300");
    }

    #[test]
    fn a_clear_difference_is_found_and_bracketed() {
        let (values, of, with) = clustered_sample(24, 8, 0.8, 5);
        let clusters = Clusters::new(&values, &of, &with);
        let (low, high) = clusters.bootstrap(500, 1);
        assert!(clusters.permutation_p(999, 1) < 0.005);
        assert!(low < clusters.rank_biserial() && clusters.rank_biserial() < high && low > 0.3);
    }
}
