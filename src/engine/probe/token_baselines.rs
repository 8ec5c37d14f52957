//! The loss of a predictor without a memory on the held-out text: counts of tokens and of pairs. It needs no model.

use std::collections::HashMap;

use crate::{corpus::Position, nn::IGNORE, probe::prelude::*};

/// Windows that are counted in one batch, and tokens after which counting ends.
const ROWS: usize = 64;
const MAX_TOKENS: usize = 200_000;

impl Probe for TokenBaselinesArgs {
    type Answer = TokenBaselines;
    type Subject<'m> = ();

    fn subject(model: &mut dyn Trainable) -> Option<()> {
        model.capabilities().recovery.is_none().then_some(())
    }

    fn ask(&self, (): (), cx: &ProbeInputs<'_>) -> Result<Answer<Self::Answer>> {
        let held_out = cx.corpus.held_out(self.windows, self.window)?;
        let counts = counted(cx.corpus, self.window)?;
        let [unigram, bigram] = counts.cross_entropies(&held_out);
        let targets = targets_of(&held_out).count();
        let (uniform, counted) = ((counts.vocab as f64).ln(), counts.total as usize);
        let measured = TokenBaselines { uniform, unigram, bigram, counted, targets };
        Ok(Answer::new(measured, format!("{targets} held-out tokens"), vec![]))
    }
}

/// Counts of tokens and of pairs of tokens.
#[derive(Default)]
struct Counts {
    vocab: usize,
    total: u64,
    of: HashMap<u32, u64>,
    after: HashMap<u32, u64>,
    pairs: HashMap<(u32, u32), u64>,
}

/// Every token that has a target, with its target.
fn targets_of(windows: &Windows) -> impl Iterator<Item = (u32, u32)> {
    windows.inputs.iter().copied().zip(windows.targets.iter().copied()).filter(|(_, target)| *target != IGNORE)
}

/// The training text from its first batches on.
fn counted(corpus: &Corpus, window: usize) -> Result<Counts> {
    let mut counts = Counts { vocab: corpus.vocab(), ..Counts::default() };
    for drawn in 0..(MAX_TOKENS / (ROWS * window)).max(1) as u64 {
        let at = Position { seed: 0, drawn };
        counts.add(&corpus.batch(&at, ROWS, window)?);
    }
    Ok(counts)
}

impl Counts {
    fn add(&mut self, windows: &Windows) {
        for (before, token) in targets_of(windows) {
            self.total += 1;
            *self.of.entry(token).or_default() += 1;
            *self.after.entry(before).or_default() += 1;
            *self.pairs.entry((before, token)).or_default() += 1;
        }
    }

    /// The unigram probability. One is added to the count of every token of the vocabulary, so that no token is
    /// impossible.
    fn unigram(&self, token: u32) -> f64 {
        let count = self.of.get(&token).copied().unwrap_or(0);
        (count as f64 + 1.0) / (self.total as f64 + self.vocab as f64)
    }

    /// The bigram probability. One token, spread as unigrams are, is added to the counts after each token.
    fn bigram(&self, before: u32, token: u32) -> f64 {
        let pair = self.pairs.get(&(before, token)).copied().unwrap_or(0);
        let after = self.after.get(&before).copied().unwrap_or(0);
        (pair as f64 + self.unigram(token)) / (after as f64 + 1.0)
    }

    /// The cross-entropies of unigrams and of bigrams, nats per token; NaN without targets.
    fn cross_entropies(&self, windows: &Windows) -> [f64; 2] {
        let mut sums = [0.0; 2];
        let mut count = 0;
        for (before, token) in targets_of(windows) {
            sums[0] -= self.unigram(token).ln();
            sums[1] -= self.bigram(before, token).ln();
            count += 1;
        }
        sums.map(|sum| if count == 0 { f64::NAN } else { sum / f64::from(count) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn windows(inputs: &[u32], targets: &[u32]) -> Windows {
        let (inputs, targets) = (inputs.to_vec(), targets.to_vec());
        Windows { rows: 1, len: inputs.len(), inputs, targets, answers: None }
    }

    #[test]
    fn counts_become_cross_entropies() {
        let mut counts = Counts { vocab: 2, ..Counts::default() };
        counts.add(&windows(&[0, 1, 0, 1], &[1, 0, 1, u32::MAX]));
        // The three targets are token 1 twice, both times after 0, and token 0 once, after 1.
        let (p1, p0) = (3.0 / 5.0, 2.0 / 5.0);
        let [unigram, bigram] = counts.cross_entropies(&windows(&[0, 1], &[1, 0]));
        assert!((unigram + (f64::ln(p1) + f64::ln(p0)) / 2.0).abs() < 1e-12);
        let pairs = [(2.0 + p1) / 3.0, (1.0 + p0) / 2.0];
        assert!((bigram + (f64::ln(pairs[0]) + f64::ln(pairs[1])) / 2.0).abs() < 1e-12);
        assert!(counts.cross_entropies(&windows(&[0], &[u32::MAX]))[0].is_nan());
    }

    #[test]
    fn probabilities_add_up_to_one() {
        let mut counts = Counts { vocab: 5, ..Counts::default() };
        counts.add(&windows(&[0, 1, 2, 1], &[1, 2, 1, 4]));
        for before in 0..5 {
            let sum: f64 = (0..5).map(|token| counts.bigram(before, token)).sum();
            assert!((sum - 1.0).abs() < 1e-12, "after {before}: {sum}");
        }
    }
}
