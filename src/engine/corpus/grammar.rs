//! Sentences whose words have grammatical roles, as three fixed sets: to learn from, to ask in the same vocabulary, and
//! to ask in the other one. A row of a batch is one sentence: its words, and their roles as targets. A treebank may take the
//! place of the grammar; it has the first two sets, and its tags are the roles. Sentences of a file of one's own, whose roles
//! nobody knows, are only looked at.

use std::path::{Path, PathBuf};

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::{
    CorpusError, Position, TokenizerSpec, Windows,
    generated::grammar_roles::{self, Grammar, MAX_SENTENCE, Role, Sentence, Vocabulary},
    permutation::{permute, scramble},
    stream::{IGNORE, Stream},
    text_file::refused,
    tokenizer::Tokenizer,
};
use crate::files;

/// The sets of sentences of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct GrammarRoles {
    /// The vocabulary and the structures of the sentences.
    pub grammar: Grammar,
    /// Sentences to learn from.
    pub train: usize,
    /// Sentences of each test.
    pub test: usize,
    /// The seed of all three sets, each of which has its own random stream.
    pub seed: u64,
    /// A text file of sentences to look at, one per line.
    pub own: Option<PathBuf>,
}

/// The set that sentences belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SentenceSet {
    /// Sentences about animals for training, to which probes are fitted too.
    Train = 1,
    /// Other sentences about animals.
    TestWithin = 2,
    /// Sentences about vehicles.
    TestTransfer = 3,
}

impl GrammarRoles {
    /// The tokens that sentences are made of: the 147 words, each with its place as id.
    pub fn tokenizer() -> TokenizerSpec {
        TokenizerSpec::Listed { words: grammar_roles::words().into_iter().map(str::to_owned).collect() }
    }

    /// The number of sentences of a set.
    pub fn count(&self, set: SentenceSet) -> usize {
        if set == SentenceSet::Train { self.train } else { self.test }
    }

    /// The sentence of the grammar at this place of a set: a pure function of seed, set and place.
    pub fn sentence(&self, set: SentenceSet, index: usize) -> Sentence {
        let key = scramble(scramble(scramble(self.seed) ^ set as u64) ^ index as u64);
        let vocabulary = if set == SentenceSet::TestTransfer { Vocabulary::Vehicles } else { Vocabulary::Animals };
        self.grammar.sentence(vocabulary, &mut ChaCha8Rng::seed_from_u64(key))
    }

    /// The sentences of a set.
    pub fn sentences(&self, set: SentenceSet) -> Vec<Sentence> {
        (0..self.count(set)).map(|index| self.sentence(set, index)).collect()
    }

    /// The training sentence that comes as number `drawn`: the first pass is in order, every later one shuffled again.
    fn drawn(&self, drawn: u64) -> usize {
        let count = self.train.max(1) as u64;
        match (drawn / count, drawn % count) {
            (0, index) => index as usize,
            (pass, index) => permute(index, count, scramble(self.seed ^ pass)) as usize,
        }
    }
}

/// Bytes of a file of sentences, and words of one of them.
const MAX_BYTES: u64 = 1 << 20;
const MAX_WORDS: usize = 24;

/// The sets as a stream.
pub(super) struct SentenceStream {
    sets: GrammarRoles,
    /// Lines of one's own file, and what they are in ids once the tokeniser is known.
    lines: Vec<String>,
    own: Vec<Vec<u32>>,
}

impl SentenceStream {
    /// Reads the treebank and the file of sentences, as far as there are any.
    ///
    /// # Errors
    /// If one cannot be read, or has too few sentences.
    pub(super) fn open(sets: &GrammarRoles) -> Result<Self, CorpusError> {
        let lines = match &sets.own {
            Some(path) => lines_of(path)?,
            None => vec![],
        };
        Ok(Self { sets: sets.clone(), lines, own: vec![] })
    }

    /// The lines in ids.
    ///
    /// # Errors
    /// If a line has a word that the tokeniser lacks, or too many.
    fn measure_own(&mut self, tokenizer: &Tokenizer) -> Result<(), CorpusError> {
        let name = self.sets.own.as_deref().unwrap_or(Path::new("")).display().to_string();
        for (i, line) in self.lines.iter().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let at = format!("Line {} of {name}", i + 1);
            let ids = tokenizer.encode(line).map_err(|e| CorpusError::with_source(format!("{at}: {e}"), e))?;
            if ids.len() > MAX_WORDS {
                let n = ids.len();
                return Err(CorpusError::new(format!("{at} has {n} words: a sentence may have {MAX_WORDS}.")));
            }
            self.own.push(ids);
        }
        Ok(())
    }

    fn windows(&self, sentences: impl Iterator<Item = Sentence>, len: usize) -> Result<Windows, CorpusError> {
        if len < MAX_SENTENCE {
            return Err(CorpusError::new(format!(
                "A window of {len} words has no room for a sentence of {MAX_SENTENCE}: make the window at least {MAX_SENTENCE} long."
            )));
        }
        let mut windows = Windows { rows: 0, len, inputs: vec![], targets: vec![], answers: None };
        for Sentence { words, roles, .. } in sentences {
            windows.rows += 1;
            windows.inputs.extend(words);
            windows.inputs.resize(windows.rows * len, 0);
            windows.targets.extend(roles.iter().map(|role: &Role| *role as u32));
            windows.targets.resize(windows.rows * len, IGNORE);
        }
        Ok(windows)
    }
}

fn lines_of(path: &Path) -> Result<Vec<String>, CorpusError> {
    let text = files::read_text(path, MAX_BYTES).map_err(|e| refused(path, e))?;
    let lines: Vec<String> = text.lines().map(str::to_lowercase).collect();
    match lines.iter().any(|line| !line.trim().is_empty()) {
        true => Ok(lines),
        false => Err(CorpusError::new(format!("{} has no sentence: write one a line.", path.display()))),
    }
}

impl Stream for SentenceStream {
    fn describe(&self) -> String {
        let GrammarRoles { train, test, .. } = &self.sets;
        format!("{train} sentences, {test} of animals and {test} of vehicles to test")
    }

    fn sample(&self) -> Result<String, CorpusError> {
        Ok(grammar_roles::words().join(" "))
    }

    /// Every word of the grammar must be an id of its own, since what is made here are ids.
    fn measure(&mut self, tokenizer: &Tokenizer) -> Result<(), CorpusError> {
        let words = grammar_roles::words();
        let ids = tokenizer.encode(&words.join(" "))?;
        match ids.iter().copied().eq(0..words.len() as u32) {
            true => self.measure_own(tokenizer),
            false => Err(CorpusError::new(format!(
                "Sentences with roles are made of ids of the grammar's {} words, and the tokeniser, {}, has others: take the grammar's own.",
                words.len(),
                tokenizer.describe()
            ))),
        }
    }

    /// The seed of the position is ignored: all variants learn from the same sentences.
    fn batch(&self, _: &Tokenizer, at: &Position, rows: usize, len: usize) -> Result<Windows, CorpusError> {
        let first = at.drawn.wrapping_mul(rows as u64);
        let index = |row: u64| self.sets.drawn(first.wrapping_add(row));
        self.windows((0..rows as u64).map(|row| self.sets.sentence(SentenceSet::Train, index(row))), len)
    }

    fn held_out(&self, _: &Tokenizer, count: usize, len: usize) -> Result<Windows, CorpusError> {
        let count = count.min(self.sets.test).max(1);
        self.windows((0..count).map(|index| self.sets.sentence(SentenceSet::TestWithin, index)), len)
    }

    /// Returns a sentence of the user's file, or of the first test set without one, whatever its length.
    fn passage(&self, _: &Tokenizer, index: u64, _len: usize) -> Vec<u32> {
        if !self.own.is_empty() {
            return self.own[(index % self.own.len() as u64) as usize].clone();
        }
        self.sets.sentence(SentenceSet::TestWithin, index as usize).words
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::corpus::{Corpus, CorpusSpec, Source};

    fn sets() -> GrammarRoles {
        GrammarRoles { grammar: Grammar::default(), train: 60, test: 30, seed: 5, own: None }
    }

    fn open(own: Option<&Path>, tokenizer: TokenizerSpec) -> Result<Corpus, CorpusError> {
        let source = Source::GrammarRoles(GrammarRoles { own: own.map(Path::to_owned), ..sets() });
        Corpus::open(&CorpusSpec { seed: 5, ..CorpusSpec::new(source, tokenizer) })
    }

    fn corpus() -> Corpus {
        open(None, GrammarRoles::tokenizer()).unwrap()
    }

    #[test]
    fn rows_are_sentences_with_their_roles() {
        let (corpus, sets) = (corpus(), sets());
        let windows = corpus.batch(&Position { seed: 1, drawn: 2 }, 4, 12).unwrap();
        assert_eq!((windows.rows, windows.len, corpus.vocab()), (4, 12, 147));
        for row in 0..4 {
            let sentence = sets.sentence(SentenceSet::Train, 8 + row);
            let n = sentence.words.len();
            assert_eq!(windows.inputs[12 * row..][..n], sentence.words);
            let roles: Vec<u32> = sentence.roles.iter().map(|r| *r as u32).collect();
    /// The grammar's words, or the sentences of a treebank to learn from.
            assert_eq!(windows.targets[12 * row..][..n], roles);
            assert!(windows.targets[12 * row + n..][..12 - n].iter().all(|t| *t == IGNORE));
        }
        let too_short = corpus.batch(&Position { seed: 1, drawn: 0 }, 1, 10).unwrap_err().to_string();
        assert!(too_short.contains("at least 11"), "{too_short}");
    }

    #[test]
    fn every_pass_has_every_sentence_once() {
        let sets = sets();
        let pass = |n: u64| -> Vec<usize> { (60 * n..60 * (n + 1)).map(|i| sets.drawn(i)).collect() };
        assert!(pass(0).into_iter().eq(0..60), "the first is in order");
        for n in [1, 2] {
            assert_eq!(pass(n).into_iter().collect::<HashSet<_>>().len(), 60);
        }
        assert_ne!(pass(1), pass(2));
    }

    #[test]
    fn sets_are_drawn_apart() {
        let sets = sets();
        let [train, within, transfer] =
            [SentenceSet::Train, SentenceSet::TestWithin, SentenceSet::TestTransfer].map(|set| sets.sentences(set));
        assert_eq!([train.len(), within.len(), transfer.len()], [60, 30, 30]);
        assert!(train[..30] != within[..]);
        assert!(transfer.iter().flat_map(|s| &s.words).all(|w| *w < 7 || *w >= 77), "content words are vehicles'");
        assert!(train.iter().flat_map(|s| &s.words).all(|w| *w < 77));
        let other = GrammarRoles { seed: 6, ..sets }.sentences(SentenceSet::Train);
        assert_ne!(train, other);
    }

    #[test]
    fn sentences_of_ones_own_are_looked_at_or_refused_by_line() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let read = || open(Some(file.path()), GrammarRoles::tokenizer());
        let write_and_read = |text: &str| {
            std::fs::write(file.path(), text).unwrap();
            read()
        };
        let corpus = write_and_read("The cat sleeps\n\na dog that chases the cat sees a car\n").unwrap();
        assert_eq!(corpus.decode(&corpus.passage(0, 11)), "the cat sleeps");
        assert_eq!(corpus.decode(&corpus.passage(3, 11)), "a dog that chases the cat sees a car");
        for (text, words) in
            [("", "no sentence"), ("the cat sleeps\nthe zebra sleeps", "Line 2"), (&"cat ".repeat(25), "25 words")]
        {
            let error = write_and_read(text).err().unwrap().to_string();
            assert!(error.contains(words), "{error}");
        }
        std::fs::remove_file(file.path()).unwrap();
        assert!(read().is_err());
    }

    #[test]
    fn a_word_outside_the_list_is_named() {
        let wrong = open(None, TokenizerSpec::Word { max_vocab: 200 }).err().unwrap().to_string();
        assert!(wrong.contains("grammar's own"), "{wrong}");
        assert_eq!(corpus().decode(&corpus().encode("the cat sleeps")), "the cat sleeps");
    }
}
