//! Lumping the states of a Markov chain into blocks, and how far that is from exact: Kemeny and Snell's condition
//! (Finite Markov Chains, theorem 6.3.2) asks that all states of a block step into each block with one probability. With
//! what to compare it: the same chain with its rows shuffled, and other blocks of the same sizes.

use rand::{Rng, seq::SliceRandom};

use super::MarkovChain;

/// A block for every state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partition {
    /// The block of each state, from 0; every number below `blocks` occurs.
    labels: Vec<usize>,
    blocks: usize,
}

/// The distance of a lumping from an exact one.
#[derive(Debug, Clone, PartialEq)]
pub struct LumpingError {
    /// The difference between the probabilities with which the states of a block step into one block, for the block
    /// where it is largest. 0 for all is Kemeny and Snell's condition.
    pub of_block: Vec<f64>,
    /// The largest error over all blocks.
    pub largest: f64,
    /// The mean error over all blocks.
    pub mean: f64,
}

impl Partition {
    /// Blocks of this many states in a row; the last may be shorter.
    pub fn consecutive(states: usize, width: usize) -> Self {
        let width = width.max(1);
        Self { labels: (0..states).map(|i| i / width).collect(), blocks: states.div_ceil(width) }
    }

    /// The block of each state.
    pub fn labels(&self) -> &[usize] {
        &self.labels
    }

    /// Returns a partition into blocks of the same sizes, to which the states are assigned at random.
    pub fn shuffled(&self, rng: &mut impl Rng) -> Self {
        let mut labels = self.labels.clone();
        labels.shuffle(rng);
        Self { labels, ..*self }
    }

    pub(super) fn swapped(&self, a: usize, b: usize) -> Self {
        let mut labels = self.labels.clone();
        labels.swap(a, b);
        Self { labels, ..*self }
    }

    /// Probability of stepping from each state into each block, `(states, blocks)`.
    fn block_sums(&self, chain: &MarkovChain) -> Vec<f64> {
        let mut sums = vec![0.0; self.labels.len() * self.blocks];
        for (state, sums) in sums.chunks_mut(self.blocks.max(1)).enumerate() {
            chain.row(state).iter().zip(&self.labels).for_each(|(p, block)| sums[*block] += p);
        }
        sums
    }

    /// See [`LumpingError`].
    pub fn error(&self, chain: &MarkovChain) -> LumpingError {
        let m = self.blocks;
        let (mut low, mut high) = (vec![f64::INFINITY; m * m], vec![f64::NEG_INFINITY; m * m]);
        for (sums, block) in self.block_sums(chain).chunks(m.max(1)).zip(&self.labels) {
            let of = block * m..(block + 1) * m;
            low[of.clone()].iter_mut().zip(sums).for_each(|(low, sum)| *low = low.min(*sum));
            high[of].iter_mut().zip(sums).for_each(|(high, sum)| *high = high.max(*sum));
        }
        let spreads: Vec<f64> = high.iter().zip(&low).map(|(high, low)| high - low).collect();
        let of_block: Vec<f64> = spreads.chunks(m.max(1)).map(|s| s.iter().copied().fold(0.0, f64::max)).collect();
        LumpingError {
            largest: of_block.iter().copied().fold(0.0, f64::max),
            mean: of_block.iter().sum::<f64>() / m.max(1) as f64,
            of_block,
        }
    }

    /// A partition into blocks of the same sizes with a smaller mean error, by swapping two states as long as that helps
    /// and at most this many rounds: the best that was found, not the best there is.
    pub fn improved(&self, chain: &MarkovChain, rounds: usize) -> Self {
        let n = self.labels.len();
        let (mut best, mut least) = (self.clone(), self.error(chain).mean);
        for _ in 0..rounds {
            let before = least;
            for (a, b) in (0..n).flat_map(|a| (a + 1..n).map(move |b| (a, b))) {
                if best.labels[a] == best.labels[b] {
                    continue;
                }
                let other = best.swapped(a, b);
                let error = other.error(chain).mean;
                if error < least {
                    (best, least) = (other, error);
                }
            }
            if least >= before {
                break;
            }
        }
        best
    }
}

/// The chain with the probabilities of every row shuffled among the states that it steps to: what causality forbids stays
/// forbidden, and every row keeps its entropy.
pub fn with_shuffled_rows(chain: &MarkovChain, rng: &mut impl Rng) -> MarkovChain {
    let mut p = chain.p.clone();
    for row in p.chunks_mut(chain.n) {
        let allowed: Vec<usize> = (0..row.len()).filter(|j| row[*j] > 0.0).collect();
        let mut values: Vec<f64> = allowed.iter().map(|j| row[*j]).collect();
        values.shuffle(rng);
        allowed.iter().zip(values).for_each(|(j, value)| row[*j] = value);
    }
    MarkovChain { n: chain.n, p }
}
