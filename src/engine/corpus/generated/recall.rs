//! Multi-query associative recall (Arora et al. 2024, "Zoology", arXiv 2312.04927): pairs of a key and a value first,
//! then every key once more, and after it the value that stood beside it. Made to order for any length.
//!
//! Like the reference: keys of an example are distinct and so are its values, queries are at even distances from the
//! end of the pairs, and the distances follow a power law, so that most queries come soon. Two things differ, so that a
//! person can read it. Keys are capitals and values small letters and digits (there, the halves of the vocabulary). The
//! answer is in the text after its query (there it is a label only), where nothing else could need it, since no key is
//! asked for twice.

use super::{
    Generated, Questions, Recipe,
    examples::{Example, Examples, separated},
};
use rand::{Rng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;

pub(in crate::corpus) const EASY: Generated = Generated {
    id: "mqar_easy",
    title: "Associative recall, easy",
    about: "A task: 4 pairs of a key and a value, then each key again, and its value must follow. Read in windows of 64 characters.",
    recipe: Recipe::Recall(&Recall { pairs: 4 }),
};

pub(in crate::corpus) const MEDIUM: Generated = Generated {
    id: "mqar_medium",
    title: "Associative recall, medium",
    about: "A task: 8 pairs of a key and a value, then each key again, and its value must follow. Read in windows of 128 characters.",
    recipe: Recipe::Recall(&Recall { pairs: 8 }),
};

pub(in crate::corpus) const HARD: Generated = Generated {
    id: "mqar_hard",
    title: "Associative recall, hard",
    about: "A task: 16 pairs of a key and a value, then each key again, and its value must follow. Read in windows of 256 characters.",
    recipe: Recipe::Recall(&Recall { pairs: 16 }),
};

/// Keys, values, the blank and the tokeniser's unknown symbol make a vocabulary of 64.
const KEYS: &[u8; 26] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const VALUES: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";
/// The symbol of every position that is neither pair nor query.
const BLANK: u8 = b'.';
/// Exponent of the power law of distances: the x-th place is asked at as often as x^(a - 1).
const POWER: f64 = 0.01;

/// The sizes of an example of recall.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Recall {
    /// The number of pairs, at most as many as there are keys.
    pairs: usize,
}

impl Examples for Recall {
    /// Every pair, and every query with its answer.
    fn min_len(&self) -> usize {
        4 * self.pairs
    }

    fn parts(&self) -> String {
        format!("{} pairs and a question for each", self.pairs)
    }

    fn asks_for_pairs(&self) -> bool {
        true
    }

    /// The accuracy of a guess among the values of the text.
    fn chance_accuracy(&self) -> f64 {
        1.0 / self.pairs as f64
    }

    /// The accuracies of a model that attends to the pairs, but not to the right one, and of one that reads nothing.
    fn questions(&self) -> Questions {
        Questions {
            guess: "guessing a value of the text",
            blind_accuracy: Some(1.0 / VALUES.len() as f64),
            how_to_read: "How to read it: it begins with pairs of a key (a capital) and its value (a small letter or digit); \
             dots are filler. Each key comes once more, and its value must follow: \u{201c}AxB7..B\u{201d} asks for 7.",
        }
    }

    fn all_symbols_text(&self) -> String {
        separated(KEYS.iter().chain(VALUES), BLANK)
    }

    fn example(&self, rng: &mut ChaCha8Rng, len: usize) -> Example {
        let (mut keys, mut values) = (*KEYS, *VALUES);
        keys.partial_shuffle(rng, self.pairs);
        values.partial_shuffle(rng, self.pairs);
        // `partial_shuffle` puts the shuffled elements at the end.
        let pairs = keys.iter().rev().zip(values.iter().rev()).take(self.pairs);
        let context = 2 * self.pairs;
        let mut symbols = vec![BLANK; len];
        let places = power_law_places(rng, len.saturating_sub(context) / 2, self.pairs);
        let mut queries = Vec::with_capacity(self.pairs);
        for (i, ((&key, &value), place)) in pairs.zip(places).enumerate() {
            let query = context + 2 * place;
            symbols[2 * i..2 * i + 2].copy_from_slice(&[key, value]);
            symbols[query..query + 2].copy_from_slice(&[key, value]);
            queries.push(query);
        }
        queries.sort_unstable();
        Example { symbols, queries }
    }
}

/// `count` of `0..places`, each once, in the order drawn, the x-th as likely as x^(a - 1).
fn power_law_places(rng: &mut ChaCha8Rng, places: usize, count: usize) -> Vec<usize> {
    let mut weights: Vec<f64> = (1..=places).map(|x| (x as f64).powf(POWER - 1.0)).collect();
    let mut drawn = Vec::with_capacity(count);
    for _ in 0..count.min(places) {
        let mut left = rng.random::<f64>() * weights.iter().sum::<f64>();
        let passed = |weight: &f64| {
            left -= weight;
            *weight > 0.0 && left < 0.0
        };
        // Rounding may leave a little of the sum: the last place that is free.
        let place = weights.iter().position(passed).or_else(|| weights.iter().rposition(|w| *w > 0.0));
        let Some(place) = place else { break };
        weights[place] = 0.0;
        drawn.push(place);
    }
    drawn
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn near_places_are_drawn_more_often() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut counts = [0usize; 24];
        for _ in 0..4000 {
            counts[power_law_places(&mut rng, 24, 1)[0]] += 1;
        }
        // x^-0.99 of 24 places: the first in 0.265 of the draws, 1060 of 4000, with a deviation of 28.
        assert!((950..1170).contains(&counts[0]), "{counts:?}");
        assert!(counts[0] > counts[2] && counts[2] > counts[10], "{counts:?}");
    }
}
