//! Tallies an activation over a text of any length: how often it fires, how its values are spread, which tokens drive
//! it, and the windows with the greatest. Memory does not grow with the text. It sees no model.

use std::collections::HashMap;

/// Bins of values above zero: a quarter of an octave each, from 2^-20 to 2^20. What lies outside counts in the first or the
/// last.
const BINS: usize = 160;
const PER_OCTAVE: f64 = 4.0;
const MIN_EXPONENT: f64 = -20.0;

/// The lower edge of bin `i`, which is the upper edge of the bin before it.
pub(super) fn bin_edge(i: usize) -> f64 {
    (MIN_EXPONENT + i as f64 / PER_OCTAVE).exp2()
}

fn bin_of(value: f64) -> usize {
    (((value.log2() - MIN_EXPONENT) * PER_OCTAVE).floor().max(0.0) as usize).min(BINS - 1)
}

/// A window that holds one of the largest values, and its positions.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FoundWindow {
    /// The greatest value of the window.
    pub value: f32,
    pub layer: usize,
    /// The index of the window's first token in the text.
    pub from: usize,
    /// The index of the token in the window.
    pub token: usize,
    pub ids: Vec<u32>,
    pub values: Vec<f32>,
}

/// The share of one token in the activation, over the text.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct TokenTally {
    pub count: usize,
    /// The number of its occurrences where the value is above zero.
    pub fires: usize,
    /// The sum of the values above 0 at this token.
    pub sum: f64,
}

/// The tally over all windows so far.
#[derive(Default)]
pub struct ActivationTally {
    capacity: usize,
    /// The number of tokens that were read.
    pub read: usize,
    /// The number of tokens at which the activation is above 0.
    pub fires: usize,
    /// The sum of the values above 0.
    pub sum: f64,
    /// The greatest value; 0 if none is above it.
    pub greatest: f32,
    /// The number of values above 0 in each bin.
    pub bins: Vec<u64>,
    /// The windows with the greatest values, greatest first; of equal ones the one that the text has first.
    pub(super) windows: Vec<FoundWindow>,
    tokens: HashMap<u32, TokenTally>,
}

impl ActivationTally {
    /// Keeps the `capacity` windows with the greatest values.
    pub fn new(capacity: usize) -> Self {
        Self { capacity, bins: vec![0; BINS], ..Self::default() }
    }

    /// Takes the next window of the text into account, with the value of the activation at each token and the layer of each
    /// value. Of each the greatest value counts as a context, and if it is above zero.
    pub fn add(&mut self, ids: &[u32], values: &[f32], layers: &[usize]) {
        let (from, mut best): (usize, Option<usize>) = (self.read, None);
        for (at, (id, value)) in ids.iter().zip(values).enumerate() {
            let token = self.tokens.entry(*id).or_default();
            self.read += 1;
            token.count += 1;
            if *value > 0.0 {
                self.fires += 1;
                token.fires += 1;
                self.sum += f64::from(*value);
                token.sum += f64::from(*value);
                self.bins[bin_of(f64::from(*value))] += 1;
                if best.is_none_or(|b| *value > values[b]) {
                    best = Some(at);
                }
            }
        }
        let Some(token) = best else { return };
        let value = values[token];
        self.greatest = self.greatest.max(value);
        // of equal values, the one that occurs earlier in the text comes first
        let place = self.windows.partition_point(|found| found.value >= value);
        if place >= self.capacity {
            return;
        }
        self.windows.truncate(self.capacity - 1);
        let (layer, ids, values) = (layers[token], ids.to_vec(), values.to_vec());
        self.windows.insert(place, FoundWindow { value, layer, from, token, ids, values });
    }

    /// Tokens by their share of the sum, in falling order; only those at which the activation is above zero.
    pub(super) fn tokens(&self) -> Vec<(u32, TokenTally)> {
        let mut all: Vec<(u32, TokenTally)> =
            self.tokens.iter().filter(|(_, t)| t.fires > 0).map(|(id, t)| (*id, *t)).collect();
        all.sort_by(|a, b| b.1.sum.total_cmp(&a.1.sum).then(a.0.cmp(&b.0)));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally_windows(windows: &[&[f32]], capacity: usize) -> ActivationTally {
        let mut tally = ActivationTally::new(capacity);
        for values in windows {
            let ids: Vec<u32> = (tally.read..tally.read + values.len()).map(|i| i as u32 % 3).collect();
            tally.add(&ids, values, &vec![1; values.len()]);
        }
        tally
    }

    #[test]
    fn the_greatest_are_kept_and_of_equal_ones_the_first() {
        let tally = tally_windows(&[&[0.0, 2.0], &[1.0, 2.0], &[5.0, 0.5], &[0.0, 0.0], &[2.0, 0.0]], 2);
        let found: Vec<(f32, usize, usize)> = tally.windows.iter().map(|w| (w.value, w.from, w.token)).collect();
        assert_eq!(found, [(5.0, 4, 0), (2.0, 0, 1)]);
        assert_eq!((tally.read, tally.fires, tally.sum, tally.greatest), (10, 6, 12.5, 5.0));
        // ids 0, 1, 2, 0, 1, ..
        let first = tally.tokens()[0];
        assert_eq!(first.0, 1);
        assert_eq!(first.1, TokenTally { count: 3, fires: 2, sum: 7.0 });
        assert_eq!(tally.tokens().iter().map(|t| t.1.sum).sum::<f64>(), tally.sum);
    }

    #[test]
    fn a_value_lies_between_the_edges_of_its_bin() {
        for value in [1e-6, 0.03, 0.5, 1.0, 1.18, 7.0, 900.0] {
            let bin = bin_of(value);
            assert!(bin_edge(bin) <= value && value < bin_edge(bin + 1), "{value} in {bin}");
        }
        assert_eq!((bin_of(1e-30), bin_of(1e30)), (0, BINS - 1));
        assert_eq!(tally_windows(&[&[1.0, 1.1, 0.0, 2.0]], 1).bins.iter().sum::<u64>(), 3);
    }
}
