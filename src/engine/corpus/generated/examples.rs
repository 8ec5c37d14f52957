//! The interface of a recall task whose windows are complete examples, generated on demand.

use rand_chacha::ChaCha8Rng;

use super::Questions;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::corpus) struct Example {
    /// The symbols, in ASCII.
    pub symbols: Vec<u8>,
    /// The positions of the queries, ascending; the answer is the symbol after each.
    pub queries: Vec<usize>,
}

/// Every one of these symbols, each followed by a filler that ends a word, so that each is one to a tokeniser.
pub(super) fn separated<'a>(symbols: impl IntoIterator<Item = &'a u8>, filler: u8) -> String {
    symbols.into_iter().flat_map(|&symbol| [char::from(symbol), char::from(filler)]).collect()
}

pub(in crate::corpus) trait Examples: Sync {
    /// The fewest symbols of an example.
    fn min_len(&self) -> usize;

    /// A description of an example: "4 pairs and a question for each".
    fn parts(&self) -> String;

    /// True if the questions ask for keys that had a value beside them.
    fn asks_for_pairs(&self) -> bool {
        false
    }

    /// The accuracy of guessing.
    fn chance_accuracy(&self) -> f64;

    fn questions(&self) -> Questions;

    /// Text in which every symbol occurs, and nothing else: what a tokeniser learns from.
    fn all_symbols_text(&self) -> String;

    /// An example of `len` symbols, at least [`Self::min_len`].
    fn example(&self, rng: &mut ChaCha8Rng, len: usize) -> Example;

    /// An example that is not used in training. It is drawn in the same way, except for a task whose held-out questions
    /// are harder than the learned ones, such as longer chains.
    fn held_out_example(&self, rng: &mut ChaCha8Rng, len: usize) -> Example {
        self.example(rng, len)
    }
}
