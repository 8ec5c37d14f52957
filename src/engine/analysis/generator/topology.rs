//! The joined states of a generator, and rates drawn for them.

use crate::config::choices;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::{Generator, GeneratorError, MAX_STATES};

choices! {
    /// The topology of the states.
    #[derive(Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Topology {
        /// Each ordered pair with a probability.
        Random = "random",
        /// Every state and the next, both ways, and the last and the first.
        Ring = "ring",
        /// Every state and the next, both ways.
        BirthDeath = "birth_death",
        /// Two halves whose states are all joined, and one weak bridge.
        TwoClusters = "two_clusters",
    }
}

/// The law by which rates are drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TopologySettings {
    /// The law that decides which states are joined.
    pub topology: Topology,
    /// Number of states, 2 to [`MAX_STATES`].
    pub states: usize,
    /// The share of the ordered pairs without a rate, for [`Topology::Random`].
    pub sparsity: f64,
}

/// Rates are drawn evenly from this range.
const RATE_RANGE: std::ops::Range<f64> = 0.2..2.0;
/// Rate across the bridge between two clusters.
const BRIDGE_RATE: f64 = 0.02;

impl TopologySettings {
    /// Draws a generator.
    ///
    /// # Errors
    /// If the number of states does not fit.
    pub fn draw(self, seed: u64) -> Result<Generator, GeneratorError> {
        let n = self.states;
        ensure!((2..=MAX_STATES).contains(&n), GeneratorError::Size(n));
        let mut rng = ChaCha8Rng::seed_from_u64(seed ^ 0x7261_7465);
        let mut rates = vec![0.0; n * n];
        for (to, from) in (0..n * n).map(|at| (at / n, at % n)) {
            // Both are drawn for every pair, so that a rate does not depend on which other rates exist.
            let (rate, chance) = (rng.random_range(RATE_RANGE), rng.random::<f64>());
            let is_next = from.abs_diff(to) == 1;
            let half = n / 2;
            rates[to * n + from] = match self.topology {
                Topology::Ring if is_next || from.abs_diff(to) == n - 1 => rate,
                Topology::BirthDeath if is_next => rate,
                Topology::TwoClusters if (from < half) == (to < half) => rate,
                Topology::TwoClusters if from.min(to) + 1 == half && from.max(to) == half => BRIDGE_RATE,
                Topology::Random if chance >= self.sparsity => rate,
                _ => 0.0,
            };
        }
        Generator::from_rates(n, rates)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::generator::classes;

    #[test]
    fn joined_topologies_are_irreducible_at_every_size() {
        for topology in [Topology::Ring, Topology::BirthDeath, Topology::TwoClusters] {
            for states in 2..=MAX_STATES {
                let a = TopologySettings { topology, states, sparsity: 0.0 }.draw(1).unwrap();
                assert_eq!(classes(&a).len(), 1, "{topology:?} of {states}");
                assert!(classes(&a.without_bridge()).len() > 1, "{topology:?} of {states}, cut");
            }
        }
    }

    #[test]
    fn sparsity_is_the_share_of_pairs_without_a_rate() {
        let draw = |sparsity| TopologySettings { topology: Topology::Random, states: 64, sparsity }.draw(5).unwrap();
        let share = |a: &Generator| a.matrix().iter().filter(|r| **r > 0.0).count() as f64 / (64.0 * 63.0);
        assert_eq!(share(&draw(0.0)), 1.0);
        assert!((share(&draw(0.7)) - 0.3).abs() < 0.03);
        assert!(TopologySettings { topology: Topology::Ring, states: 65, sparsity: 0.0 }.draw(1).is_err());
    }
}
