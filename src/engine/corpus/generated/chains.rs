//! Chains of variables: the first of a chain is given a digit, each further one is named after the one before. Each
//! variable of a short chain is asked for its digit in training, and the last of a long one in held-out examples: two to
//! five times as long as the longest that is learned, so that the answers tell whether a model follows a chain or has
//! learned a number of steps.

use super::{
    Generated, Questions, Recipe,
    examples::{Example, Examples, separated},
};
use crate::corpus::prelude::*;
use rand::seq::{IteratorRandom, SliceRandom};
use std::ops::RangeInclusive;

pub(in crate::corpus) const CORPUS: Generated = Generated {
    id: "chains",
    title: "Chains of variables",
    about: "A task: a variable has a digit, another is named after it, and so on; what does the last one have? Learned from chains of 1 to 3 variables, asked of chains of 6 to 15. Read in windows of 128 characters.",
    recipe: Recipe::Recall(&Chains),
};

const VARIABLES: &[u8; 52] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const DIGITS: &[u8; 10] = b"0123456789";
/// The letter that fills the room between the variables and the questions.
const BLANK: u8 = b'.';
/// The number of chains of an example.
const CHAINS: usize = 3;
/// The number of variables of a chain in training; held-out chains are longer.
const LEARNED: RangeInclusive<usize> = 1..=3;
const HELD_OUT: RangeInclusive<usize> = 6..=15;

struct Chains;

impl Examples for Chains {
    /// The length of an example of the longest held-out chains: two symbols for each variable and each question.
    fn min_len(&self) -> usize {
        2 * CHAINS * (HELD_OUT.end() + 1)
    }

    fn parts(&self) -> String {
        let [learned, held_out] =
            [LEARNED, HELD_OUT].map(|lengths| format!("{} to {}", lengths.start(), lengths.end()));
        format!(
            "{CHAINS} chains of {learned} variables with a question for each (held out: {held_out}, for the last of each)"
        )
    }

    /// The accuracy of a guess among the digits of the text.
    fn chance_accuracy(&self) -> f64 {
        1.0 / CHAINS as f64
    }

    fn questions(&self) -> Questions {
        Questions {
            guess: "guessing a digit of the text",
            blind_accuracy: Some(1.0 / DIGITS.len() as f64),
            how_to_read: "How to read it: each variable (a letter) is followed by its digit or by the variable it is named after; dots \
             are filler. At the end each chain's last variable must be followed by the digit of its first: \u{201c}A7BA..B\u{201d} \
             asks for 7.",
        }
    }

    fn all_symbols_text(&self) -> String {
        separated(VARIABLES.iter().chain(DIGITS), BLANK)
    }

    fn example(&self, rng: &mut ChaCha8Rng, len: usize) -> Example {
        example(rng, len, LEARNED, true)
    }

    fn held_out_example(&self, rng: &mut ChaCha8Rng, len: usize) -> Example {
        example(rng, len, HELD_OUT, false)
    }
}

/// An example with chains of such lengths, asked for all their variables or for the last of each. The chains are
/// interleaved at random, each in its order, at even places; the questions are at the end.
fn example(rng: &mut ChaCha8Rng, len: usize, lengths: RangeInclusive<usize>, asks_all: bool) -> Example {
    let (mut variables, mut digits) = (*VARIABLES, *DIGITS);
    variables.shuffle(rng);
    digits.shuffle(rng);
    let counts: [usize; CHAINS] = std::array::from_fn(|_| rng.random_range(lengths.clone()));
    let mut turns: Vec<usize> =
        counts.iter().enumerate().flat_map(|(chain, &n)| std::iter::repeat_n(chain, n)).collect();
    turns.shuffle(rng);
    let questions = if asks_all { turns.len() } else { CHAINS };
    let first_question = len / 2 - questions;
    let mut places = (0..first_question).choose_multiple(rng, turns.len());
    places.sort_unstable();
    let mut symbols = vec![BLANK; len];
    let mut chains: [Vec<u8>; CHAINS] = Default::default();
    for ((&chain, place), variable) in turns.iter().zip(places).zip(variables) {
        let named_after = chains[chain].last().copied().unwrap_or(digits[chain]);
        symbols[2 * place..2 * place + 2].copy_from_slice(&[variable, named_after]);
        chains[chain].push(variable);
    }
    let asked = chains.iter().zip(digits).flat_map(|(chain, digit)| {
        let from = if asks_all { 0 } else { chain.len() - 1 };
        chain[from..].iter().map(move |&variable| [variable, digit])
    });
    let mut asked: Vec<[u8; 2]> = asked.collect();
    asked.shuffle(rng);
    let queries: Vec<usize> = (first_question..len / 2).map(|slot| 2 * slot).collect();
    for (&query, question) in queries.iter().zip(asked) {
        symbols[query..query + 2].copy_from_slice(&question);
    }
    Example { symbols, queries }
}

#[cfg(test)]
mod tests {

    use proptest::prelude::*;

    use super::*;

    /// The variables from the queried one to that with a digit, and the digit.
    fn follow(told: &HashMap<u8, u8>, mut symbol: u8) -> (usize, u8) {
        let mut steps = 0;
        while let Some(&next) = told.get(&symbol) {
            (symbol, steps) = (next, steps + 1);
        }
        (steps, symbol)
    }

    proptest! {
        #[test]
        fn each_answer_is_the_digit_at_the_end_of_its_chain(seed: u64, more in 0usize..64) {
            let len = Chains.min_len() + more;
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let examples = [(Chains.example(&mut rng, len), LEARNED), (Chains.held_out_example(&mut rng, len), HELD_OUT)];
            for (Example { symbols, queries }, lengths) in examples {
                prop_assert_eq!(symbols.len(), len);
                let mut told = HashMap::new();
                for [name, value] in symbols[..queries[0]].as_chunks().0.iter().filter(|pair| pair[0] != BLANK) {
                    prop_assert!(value.is_ascii_digit() || told.contains_key(value), "a variable is named after a known one");
                    prop_assert_eq!(told.insert(*name, *value), None);
                }
                let ends: Vec<(usize, u8)> = queries.iter().map(|&q| follow(&told, symbols[q])).collect();
                let digits: Vec<u8> = queries.iter().map(|&q| symbols[q + 1]).collect();
                prop_assert_eq!(ends.iter().map(|end| end.1).collect::<Vec<_>>(), digits);
                prop_assert!(ends.iter().all(|end| (1..=*lengths.end()).contains(&end.0)));
                let is_learned = lengths == LEARNED;
                prop_assert_eq!(queries.len(), if is_learned { told.len() } else { CHAINS });
                prop_assert!(is_learned || ends.iter().all(|end| lengths.contains(&end.0)));
            }
        }
    }
}
