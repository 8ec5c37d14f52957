//! Windows of a task of recall, each one whole example, and each a pure function of seeds and index.

use super::{
    CorpusError, Position, Windows,
    generated::examples::Examples,
    stream::{IGNORE, Stream, Subset, window_rng},
    tokenizer::Tokenizer,
};
use std::collections::{BTreeSet, HashMap};

/// An endless stream of examples. Only answers are targets: what follows anything else is chance.
pub(super) struct RecallStream {
    examples: &'static dyn Examples,
    seed: u64,
    /// The id of each ASCII symbol, once the tokeniser is known.
    ids: [u32; 128],
}

impl RecallStream {
    pub(super) fn new(examples: &'static dyn Examples, seed: u64) -> Self {
        Self { examples, seed, ids: [0; 128] }
    }

    /// `len + 1` ids, the first `len` of them an example, and the positions of its queries.
    fn row(&self, subset: Subset, seed: u64, index: u64, len: usize) -> (Vec<u32>, Vec<usize>) {
        let mut rng = window_rng(self.seed, seed, subset as u64, index);
        let mut example = match subset {
            Subset::HeldOut => self.examples.held_out_example(&mut rng, len),
            Subset::Train | Subset::Sample => self.examples.example(&mut rng, len),
        };
        // The id after an example is never a target.
        example.symbols.extend(example.symbols.last().copied());
        let ids = example.symbols.iter().map(|s| self.ids[usize::from(s & 0x7f)]).collect();
        (ids, example.queries)
    }

    fn windows(&self, rows: impl Iterator<Item = (Subset, u64, u64)>, len: usize) -> Result<Windows, CorpusError> {
        let min_len = self.examples.min_len();
        if len < min_len {
            return Err(CorpusError::new(format!(
                "A window of {len} tokens has no room for {}: make the window at least {min_len} long, or choose an easier recall corpus.",
                self.examples.parts()
            )));
        }
        let mut windows = Windows { rows: 0, len, inputs: vec![], targets: vec![], answers: None };
        let mut answers = vec![];
        for (subset, seed, index) in rows {
            let (ids, queries) = self.row(subset, seed, index, len);
            let first = answers.len();
            answers.resize(first + len, false);
            queries.iter().for_each(|q| answers[first + q] = true);
            windows.targets.extend(ids[1..].iter().zip(&answers[first..]).map(|(&id, &a)| if a { id } else { IGNORE }));
            windows.inputs.extend(&ids[..len]);
            windows.rows += 1;
        }
        Ok(Windows { answers: Some(answers), ..windows })
    }
}

impl Stream for RecallStream {
    fn describe(&self) -> String {
        format!("endless, {}, learns from answers only", self.examples.parts())
    }

    fn sample(&self) -> Result<String, CorpusError> {
        Ok(self.examples.all_symbols_text())
    }

    /// Looks the symbols up; each must have an id of its own.
    fn measure(&mut self, tokenizer: &Tokenizer) -> Result<(), CorpusError> {
        let mut taken = HashMap::new();
        let symbols: BTreeSet<u8> = self.examples.all_symbols_text().bytes().collect();
        for &symbol in &symbols {
            let ids = tokenizer.encode(char::from(symbol).encode_utf8(&mut [0; 4]))?;
            let other = ids.first().and_then(|&id| taken.insert(id, symbol)).filter(|other| *other != symbol);
            match ids.as_slice() {
                [id] if other.is_none() => self.ids[usize::from(symbol & 0x7f)] = *id,
                _ => {
                    return Err(CorpusError::new(format!(
                        "The tokeniser, {}, has no id of its own for `{}`, which recall needs for each of its {} symbols: choose characters and a vocabulary of {}.",
                        tokenizer.describe(),
                        char::from(symbol),
                        symbols.len(),
                        symbols.len() + 1
                    )));
                }
            }
        }
        Ok(())
    }

    fn chance_accuracy(&self) -> Option<f64> {
        Some(self.examples.chance_accuracy())
    }

    fn batch(&self, _: &Tokenizer, at: &Position, rows: usize, len: usize) -> Result<Windows, CorpusError> {
        let first = at.drawn.wrapping_mul(rows as u64);
        self.windows((0..rows as u64).map(|row| (Subset::Train, at.seed, first.wrapping_add(row))), len)
    }

    fn held_out(&self, _: &Tokenizer, count: usize, len: usize) -> Result<Windows, CorpusError> {
        self.windows((0..count as u64).map(|i| (Subset::HeldOut, 0, i)), len)
    }

    /// A held-out example of this length, or of the minimum length if that is greater.
    fn passage(&self, _: &Tokenizer, index: u64, len: usize) -> Vec<u32> {
        let (mut ids, _) = self.row(Subset::HeldOut, 0, index, len.max(self.examples.min_len()));
        ids.pop();
        ids
    }
}
