//! Repeat after me: random letters, a colon, and the same letters again, one sequence after another. Only the
//! repetition can be predicted, and only by a model that still holds the letters and their order. Generated for any
//! length.

use super::{
    Generated, Questions, Recipe,
    examples::{Example, Examples, separated},
};
use crate::corpus::prelude::*;

pub(in crate::corpus) const CORPUS: Generated = Generated {
    id: "repeat_after_me",
    title: "Repeat after me",
    about: "A task: 4 to 12 random letters, a colon, and the same letters must follow. Read in windows of 64 characters.",
    recipe: Recipe::Recall(&RepeatAfterMe),
};

const LETTERS: &[u8; 26] = b"abcdefghijklmnopqrstuvwxyz";
/// Stands between a sequence and its repetition, and after the repetition.
const SEPARATOR: u8 = b':';
const END: u8 = b'.';
/// Letters of a sequence.
const MIN_LENGTH: usize = 4;
const MAX_LENGTH: usize = 12;

struct RepeatAfterMe;

/// Symbols of a sequence of this many letters with its repetition and both signs.
const fn sequence_length(letters: usize) -> usize {
    2 * letters + 2
}

impl Examples for RepeatAfterMe {
    /// The length of one sequence with its repetition.
    fn min_len(&self) -> usize {
        sequence_length(MIN_LENGTH)
    }

    fn parts(&self) -> String {
        format!("a sequence of {MIN_LENGTH} to {MAX_LENGTH} letters and its repetition")
    }

    fn chance_accuracy(&self) -> f64 {
        1.0 / LETTERS.len() as f64
    }

    fn questions(&self) -> Questions {
        Questions {
            guess: "guessing a letter",
            blind_accuracy: None,
            how_to_read: "How to read it: random letters stand before a colon, and the same letters must follow it: \u{201c}kqe:\u{201d} asks for \
             k, then q, then e. A full stop ends each.",
        }
    }

    fn all_symbols_text(&self) -> String {
        separated(LETTERS.iter().chain([&SEPARATOR]), END)
    }

    fn example(&self, rng: &mut ChaCha8Rng, len: usize) -> Example {
        let mut example = Example { symbols: Vec::with_capacity(len), queries: vec![] };
        loop {
            let room = len.saturating_sub(example.symbols.len());
            if room < sequence_length(MIN_LENGTH) {
                break;
            }
            let longest = MAX_LENGTH.min((room - 2) / 2);
            let count = rng.random_range(MIN_LENGTH..=longest);
            let letters: Vec<u8> = (0..count).map(|_| LETTERS[rng.random_range(0..LETTERS.len())]).collect();
            let colon = example.symbols.len() + count;
            example.symbols.extend(&letters);
            example.symbols.push(SEPARATOR);
            example.symbols.extend(&letters);
            example.symbols.push(END);
            example.queries.extend(colon..colon + count);
        }
        example.symbols.resize(len, END);
        example
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::SeedableRng;

    use super::*;

    proptest! {
        #[test]
        fn what_follows_a_colon_is_what_stood_before_it(seed: u64, more in 0usize..200) {
            let len = RepeatAfterMe.min_len() + more;
            let Example { symbols, queries } = RepeatAfterMe.example(&mut ChaCha8Rng::seed_from_u64(seed), len);
            prop_assert_eq!(symbols.len(), len);
            let text = String::from_utf8(symbols.clone()).unwrap();
            let mut asked = 0;
            for turn in text.split('.').filter(|turn| !turn.is_empty()) {
                let (before, after) = turn.split_once(':').unwrap();
                prop_assert_eq!(before, after);
                prop_assert!((MIN_LENGTH..=MAX_LENGTH).contains(&before.len()));
                asked += before.len();
            }
            prop_assert_eq!(queries.len(), asked);
            prop_assert!(queries.iter().all(|q| LETTERS.contains(&symbols[q + 1])));
        }
    }
}
