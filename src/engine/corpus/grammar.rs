//! Sentences whose words have grammatical roles, as three fixed sets: to learn from, to ask in the same vocabulary, and
//! to ask in the other one. A row of a batch is one sentence: its words, and their roles as targets. A treebank may take the
//! place of the grammar; it has the first two sets, and its tags are the roles. Sentences of a user's own file, whose roles
//! are unknown, are shown but never trained on or scored.

use super::{
    generated::grammar_roles::{self, Grammar, MAX_SENTENCE, Role, Sentence, Vocabulary},
    permutation::permute,
    prelude::*,
    stream::{IGNORE, SentenceSet, Stream, TaggedSentence},
    text_file::refused,
    tokenizer::Tokenizer,
    treebank::{Treebank, TreebankSentence, TreebankSentences},
};

/// The sets of sentences of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct GrammarRoles {
    /// The vocabulary and the structures of the sentences.
    pub grammar: Grammar,
    /// Sentences to learn from.
    pub train: usize,
    /// Sentences of each test.
    pub test: usize,
    /// The seed of all three sets; each has its own random stream.
    pub seed: u64,
    /// A text file of sentences to look at, one per line.
    pub own: Option<PathBuf>,
    /// The treebank that sentences are drawn from in place of the grammar.
    pub treebank: Option<Treebank>,
}

impl GrammarRoles {
    /// The tokens that sentences are made of: the 147 words, each with its place as id.
    pub fn tokenizer() -> TokenizerSpec {
        TokenizerSpec::Listed { words: grammar_roles::words().into_iter().map(str::to_owned).collect() }
    }

    /// The number of sentences of a set.
    pub fn count(&self, set: SentenceSet) -> usize {
        match set {
            SentenceSet::Train => self.train,
            SentenceSet::TestTransfer if self.treebank.is_some() => 0,
            SentenceSet::TestWithin | SentenceSet::TestTransfer => self.test,
        }
    }

    /// The names of the roles that words may have, in the order of their numbers.
    pub fn roles(&self) -> Vec<&'static str> {
        match &self.treebank {
            Some(treebank) => treebank.tags.tags().to_vec(),
            None => Role::ALL.into_iter().map(Role::name).collect(),
        }
    }

    /// True for each role that can only be recognised across a relative clause; false for all roles of a treebank.
    pub fn deep_roles(&self) -> Vec<bool> {
        match &self.treebank {
            Some(treebank) => vec![false; treebank.tags.tags().len()],
            None => Role::ALL.into_iter().map(Role::is_deep).collect(),
        }
    }

    /// True if words are read in lower case, as the grammar has them.
    pub fn lowercase(&self) -> bool {
        self.treebank.as_ref().is_none_or(|treebank| treebank.lowercase)
    }

    /// Checks the treebank and the file of sentences by themselves, whatever the number of sentences that a run draws.
    pub(super) fn check_files(&self) -> Result<(), CorpusError> {
        self.treebank.as_ref().map_or(Ok(()), |treebank| treebank.read().map(drop))?;
        self.own.as_ref().map_or(Ok(()), |path| lines_of(path, self.lowercase()).map(drop))
    }

    /// Words of the longest sentence.
    fn longest_sentence(&self) -> usize {
        self.treebank.as_ref().map_or(MAX_SENTENCE, |treebank| treebank.longest)
    }

    /// The sentence of the grammar at this place of a set: a pure function of seed, set and place.
    pub fn sentence(&self, set: SentenceSet, index: usize) -> Sentence {
        let key = scramble(scramble(scramble(self.seed) ^ set as u64) ^ index as u64);
        let vocabulary = if set == SentenceSet::TestTransfer { Vocabulary::Vehicles } else { Vocabulary::Animals };
        self.grammar.sentence(vocabulary, &mut ChaCha8Rng::seed_from_u64(key))
    }

    /// The training sentence that comes as number `drawn`: the first pass is in order, every later one shuffled again.
    fn training_index(&self, drawn: u64) -> usize {
        let count = self.train.max(1) as u64;
        match (drawn / count, drawn % count) {
            (0, index) => index as usize,
            (pass, index) => permute(index, count, scramble(self.seed ^ pass)) as usize,
        }
    }
}

/// The smallest number of sentences with which a treebank that has fewer than requested is accepted.
const MIN_SENTENCES: usize = 30;
/// The largest number of bytes of a file of sentences, and of words of a sentence.
const MAX_BYTES: u64 = 1 << 20;
const MAX_WORDS: usize = 24;

pub(super) struct SentenceStream {
    sets: GrammarRoles,
    about: String,
    /// The sentences of a treebank, those to learn from first, and the same in ids once the tokeniser is known.
    treebank: Vec<TreebankSentence>,
    tagged: Vec<TaggedSentence>,
    /// The lines of the user's file; their ids follow once the tokeniser is known.
    lines: Vec<String>,
    own: Vec<Vec<u32>>,
}

impl SentenceStream {
    /// Reads the treebank and the file of sentences, as far as there are any. Errors: one cannot be read, or has too
    /// few sentences.
    pub(super) fn open(sets: &GrammarRoles) -> Result<Self, CorpusError> {
        let lines = match &sets.own {
            Some(path) => lines_of(path, sets.lowercase())?,
            None => vec![],
        };
        let GrammarRoles { train, test, .. } = *sets;
        let about = format!("{train} sentences, {test} of animals and {test} of vehicles to test");
        let mut all = Self { sets: sets.clone(), about, treebank: vec![], tagged: vec![], lines, own: vec![] };
        if let Some(treebank) = &sets.treebank {
            all.draw(treebank)?;
        }
        Ok(all)
    }

    /// Draws as many sentences of a treebank as are asked for, none twice. If it has fewer, at most a third of them
    /// test, and the others are learned from. Errors: it cannot be read, or has too few even so.
    fn draw(&mut self, treebank: &Treebank) -> Result<(), CorpusError> {
        let TreebankSentences { mut sentences, too_long } = treebank.read()?;
        let GrammarRoles { train, test, seed, .. } = self.sets;
        let (count, longest) = (sentences.len(), treebank.longest);
        let mut asked = String::new();
        if count < train + test {
            if count < MIN_SENTENCES {
                let name = treebank.path.display();
                return Err(CorpusError::new(format!(
                    "{name} has {count} sentences of at most {longest} words ({too_long} are longer), and a run needs {MIN_SENTENCES}: raise `train.window`, or choose a larger treebank."
                )));
            }
            asked = format!(" ({train} and {test} were asked for)");
            self.sets.test = test.min(count / 3);
            self.sets.train = train.min(count - self.sets.test);
        }
        let GrammarRoles { train, test, .. } = self.sets;
        let place = |index: usize| permute(index as u64, count as u64, scramble(seed)) as usize;
        self.treebank = (0..train + test).map(|index| std::mem::take(&mut sentences[place(index)])).collect();
        self.about = format!(
            "{train} sentences, {test} to test{asked}, of {} in the file; left out: {too_long} longer than {longest} words, {} not drawn",
            count + too_long,
            count - train - test
        );
        Ok(())
    }

    /// The lines in ids. Errors: a line has a word that the tokeniser lacks, or too many.
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

    /// The treebank's sentences in ids. Errors: the tokeniser cuts words.
    fn tag(&self, tokenizer: &Tokenizer) -> Result<Vec<TaggedSentence>, CorpusError> {
        let tagged = |sentence: &TreebankSentence| {
            let words = tokenizer.encode(&sentence.words)?;
            match words.len() == sentence.tags.len() {
                true => Ok(TaggedSentence { words, roles: sentence.tags.clone() }),
                false => Err(CorpusError::new(format!(
                    "The words of a treebank have a tag each, and the tokeniser, {}, cuts them: take words as white space separates them.",
                    tokenizer.describe()
                ))),
            }
        };
        self.treebank.iter().map(tagged).collect()
    }

    fn windows(&self, sentences: impl Iterator<Item = TaggedSentence>, len: usize) -> Result<Windows, CorpusError> {
        let longest = self.sets.longest_sentence();
        if len < longest {
            return Err(CorpusError::new(format!(
                "A window of {len} words has no room for a sentence of {longest}: make the window at least {longest} long."
            )));
        }
        let mut windows = Windows { rows: 0, len, inputs: vec![], targets: vec![], answers: None };
        for TaggedSentence { words, roles } in sentences {
            windows.rows += 1;
            windows.inputs.extend(words);
            windows.inputs.resize(windows.rows * len, 0);
            windows.targets.extend(roles.into_iter().map(u32::from));
            windows.targets.resize(windows.rows * len, IGNORE);
        }
        Ok(windows)
    }
}

fn lines_of(path: &Path, lowercase: bool) -> Result<Vec<String>, CorpusError> {
    let text = files::read_text(path, MAX_BYTES).map_err(|e| refused(path, e))?;
    let lines: Vec<String> =
        text.lines().map(|line| if lowercase { line.to_lowercase() } else { line.to_owned() }).collect();
    match lines.iter().any(|line| !line.trim().is_empty()) {
        true => Ok(lines),
        false => Err(CorpusError::new(format!("{} has no sentence: write one a line.", path.display()))),
    }
}

impl Stream for SentenceStream {
    fn describe(&self) -> String {
        self.about.clone()
    }

    /// The grammar's words, or the sentences of a treebank to learn from.
    fn sample(&self) -> Result<String, CorpusError> {
        if self.treebank.is_empty() {
            return Ok(grammar_roles::words().join(" "));
        }
        let train = self.treebank.iter().take(self.sets.train);
        Ok(train.map(|sentence| sentence.words.as_str()).collect::<Vec<_>>().join(" "))
    }

    /// Every word of the grammar must be an id of its own, since what is made here are ids.
    fn measure(&mut self, tokenizer: &Tokenizer) -> Result<(), CorpusError> {
        if !self.treebank.is_empty() {
            self.tagged = self.tag(tokenizer)?;
            return self.measure_own(tokenizer);
        }
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
        let index = |row: u64| self.sets.training_index(first.wrapping_add(row));
        self.windows((0..rows as u64).filter_map(|row| self.sentence(SentenceSet::Train, index(row))), len)
    }

    fn held_out(&self, _: &Tokenizer, count: usize, len: usize) -> Result<Windows, CorpusError> {
        let count = count.min(self.sets.test).max(1);
        self.windows((0..count).filter_map(|index| self.sentence(SentenceSet::TestWithin, index)), len)
    }

    fn count(&self, set: SentenceSet) -> usize {
        self.sets.count(set)
    }

    fn sentence(&self, set: SentenceSet, index: usize) -> Option<TaggedSentence> {
        if index >= self.sets.count(set) {
            return None;
        }
        if self.sets.treebank.is_some() {
            let first = if set == SentenceSet::Train { 0 } else { self.sets.train };
            return self.tagged.get(first + index).cloned();
        }
        let Sentence { words, roles, .. } = self.sets.sentence(set, index);
        Some(TaggedSentence { words, roles: roles.into_iter().map(|role| role as u8).collect() })
    }

    /// Returns a sentence of the user's file, or of the first test set without one, whatever its length.
    fn passage(&self, _: &Tokenizer, index: u64, _len: usize) -> Vec<u32> {
        if !self.own.is_empty() {
            return self.own[(index % self.own.len() as u64) as usize].clone();
        }
        let place = index % self.sets.test.max(1) as u64;
        self.sentence(SentenceSet::TestWithin, place as usize).map_or_else(Vec::new, |sentence| sentence.words)
    }
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::corpus::{Corpus, CorpusSpec, Source, TagColumn};

    fn sets() -> GrammarRoles {
        GrammarRoles { grammar: Grammar::default(), train: 60, test: 30, seed: 5, own: None, treebank: None }
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
            assert_eq!(windows.targets[12 * row..][..n], roles);
            assert!(windows.targets[12 * row + n..][..12 - n].iter().all(|t| *t == IGNORE));
        }
        let too_short = corpus.batch(&Position { seed: 1, drawn: 0 }, 1, 10).unwrap_err().to_string();
        assert!(too_short.contains("at least 11"), "{too_short}");
    }

    #[test]
    fn every_pass_has_every_sentence_once() {
        let sets = sets();
        let pass = |n: u64| -> Vec<usize> { (60 * n..60 * (n + 1)).map(|i| sets.training_index(i)).collect() };
        assert!(pass(0).into_iter().eq(0..60), "the first is in order");
        for n in [1, 2] {
            assert_eq!(pass(n).into_iter().collect::<HashSet<_>>().len(), 60);
        }
        assert_ne!(pass(1), pass(2));
    }

    #[test]
    fn sets_are_drawn_apart() {
        let corpus = corpus();
        let [train, within, transfer] =
            [SentenceSet::Train, SentenceSet::TestWithin, SentenceSet::TestTransfer].map(|set| corpus.sentences(set));
        assert_eq!([train.len(), within.len(), transfer.len()], [60, 30, 30]);
        assert!(train[..30] != within[..]);
        assert!(transfer.iter().flat_map(|s| &s.words).all(|w| *w < 7 || *w >= 77), "content words are vehicles'");
        assert!(train.iter().flat_map(|s| &s.words).all(|w| *w < 77));
        let other = GrammarRoles { seed: 6, ..sets() };
        assert!(train.iter().enumerate().any(|(i, s)| s.words != other.sentence(SentenceSet::Train, i).words));
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

    /// Opens a treebank of 100 sentences, each of a word that all share and its own number, so that a test can tell which
    /// sentences were drawn. The third has one word more than `longest_sentence` allows.
    fn treebank(seed: u64, tokenizer: TokenizerSpec) -> Result<Corpus, CorpusError> {
        let file = tempfile::Builder::new().suffix(".conllu").tempfile().unwrap();
        let line = |id: usize, word: &str, tag: &str| format!("{id}\t{word}\t_\t{tag}\t_\t_\t0\troot\t_\t_\n");
        let long = line(3, "flows", "VERB");
        let sentence = |i: usize| {
            let tail = if i == 2 { long.as_str() } else { "" };
            format!("{}{}{tail}\n", line(1, "Tide", "NOUN"), line(2, &i.to_string(), "NUM"))
        };
        std::fs::write(file.path(), (0..100).map(sentence).collect::<String>()).unwrap();
        let path = file.path().to_owned();
        let treebank = Treebank { path, tags: TagColumn::Upos, lowercase: true, longest: 2 };
        let source = Source::GrammarRoles(GrammarRoles { treebank: Some(treebank), seed, ..sets() });
        Corpus::open(&CorpusSpec::new(source, tokenizer))
    }

    const WORDS: TokenizerSpec = TokenizerSpec::Whitespace { max_vocab: 200 };

    #[test]
    fn a_treebank_is_drawn_from_without_return() {
        let corpus = treebank(5, WORDS).unwrap();
        let about = "60 sentences, 30 to test, of 100 in the file; left out: 1 longer than 2 words, 9 not drawn";
        assert!(corpus.name().ends_with(".conllu") && corpus.describe().contains(about), "{}", corpus.describe());
        assert_eq!(corpus.vocab(), 62, "the common word, those of the sentences to learn from, and all others");
        let [train, within, transfer] =
            [SentenceSet::Train, SentenceSet::TestWithin, SentenceSet::TestTransfer].map(|set| corpus.sentences(set));
        assert_eq!([train.len(), within.len(), transfer.len()], [60, 30, 0]);
        let place = |tag: &str| TagColumn::Upos.tags().iter().position(|known| *known == tag).unwrap() as u8;
        assert!(train.iter().chain(&within).all(|s| s.roles == [place("NOUN"), place("NUM")]));
        let words: HashSet<u32> = train.iter().map(|s| s.words[1]).collect();
        assert!(words.len() == 60 && !words.contains(&0), "no sentence twice");
        assert!(within.iter().all(|s| s.words == [1, 0]), "words of the test alone are unknown: {within:?}");
        let windows = corpus.batch(&Position { seed: 1, drawn: 0 }, 1, 3).unwrap();
        assert_eq!(windows.inputs[..2], train[0].words);
        assert_eq!(windows.targets, [u32::from(place("NOUN")), u32::from(place("NUM")), IGNORE]);
        let texts = |corpus: &Corpus| corpus.decode(&corpus.sentence(SentenceSet::Train, 0).unwrap().words);
        assert_eq!(texts(&corpus), texts(&treebank(5, WORDS).unwrap()));
        let others: HashSet<String> = (6..12).map(|seed| texts(&treebank(seed, WORDS).unwrap())).collect();
        assert!(others.len() > 1, "another seed draws other sentences: {others:?}");
    }

    #[test]
    fn a_treebank_needs_words_as_they_are_and_enough_sentences() {
        let said = |opened: Result<Corpus, CorpusError>| opened.err().unwrap().to_string();
        let cut = said(treebank(5, TokenizerSpec::Byte { vocab: 256 }));
        assert!(cut.contains("bytes, cuts them"), "{cut}");
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/shared/treebank.conllu");
        let open = |longest, test| {
            let treebank = Treebank { path: path.clone(), tags: TagColumn::Deprel, lowercase: false, longest };
            let sets = GrammarRoles { treebank: Some(treebank), test, ..sets() };
            Corpus::open(&CorpusSpec::new(Source::GrammarRoles(sets), WORDS))
        };
        let few = said(open(7, 30));
        let words = "has 24 sentences of at most 7 words (18 are longer), and a run needs 30";
        assert!(few.contains(words) && few.contains("treebank.conllu"), "{few}");
        let counts = |corpus: &Corpus| {
            [SentenceSet::Train, SentenceSet::TestWithin].map(|set| corpus.sentences(set)).map(|all| all.len())
        };
        let corpus = open(11, 30).unwrap();
        let about = "27 sentences, 13 to test (60 and 30 were asked for), of 42 in the file; left out: 2 longer than 11 words, 0 not drawn";
        assert!(corpus.describe().contains(about), "{}", corpus.describe());
        assert_eq!(counts(&corpus), [27, 13], "at most a third tests");
        let Source::GrammarRoles(sets) = corpus.source() else { panic!("it is not a treebank") };
        assert_eq!((sets.train, sets.test), (27, 13), "whoever asks the corpus is told of as many as there are");
        assert_eq!(counts(&open(11, 5).unwrap()), [35, 5], "no more than are asked for");
    }

    #[test]
    fn sentences_beside_a_treebank_are_checked_too() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/shared/treebank.conllu");
        let check = |own: &Path| {
            let treebank = Treebank { path: path.clone(), tags: TagColumn::Upos, lowercase: true, longest: 11 };
            let sets = GrammarRoles { treebank: Some(treebank), own: Some(own.to_owned()), ..sets() };
            CorpusSpec::new(Source::GrammarRoles(sets), WORDS).check_file().map_err(|e| e.to_string())
        };
        let own = tempfile::NamedTempFile::new().unwrap();
        assert!(check(own.path()).unwrap_err().contains("has no sentence"));
        std::fs::write(own.path(), "The tide turns .\n").unwrap();
        assert_eq!(check(own.path()), Ok(()));
        assert!(check(Path::new("none.txt")).unwrap_err().contains("none.txt does not exist"));
    }

    #[test]
    fn a_word_outside_the_list_is_named() {
        let wrong = open(None, TokenizerSpec::Word { max_vocab: 200 }).err().unwrap().to_string();
        assert!(wrong.contains("grammar's own"), "{wrong}");
        assert_eq!(corpus().decode(&corpus().encode("the cat sleeps")), "the cat sleeps");
    }
}
