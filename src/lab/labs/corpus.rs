//! The settings of what a lab's models read: `corpus.*`, and their way into a [`CorpusSpec`].

use crate::{
    config::{
        Choice, Config, ConfigError, TextFile, TextFolder, TokenizerFile, Value, VocabularyFile, choices, settings,
    },
    corpus::{
        CorpusSpec, Source, Task, TokenizerSpec,
        generated::{self, CORPORA, Generated, Questions, domains},
    },
    trainer::TokenKeys,
};

/// A generated corpus, chosen by its id: those of [`CORPORA`], each and in that order.
#[derive(Clone, Copy)]
pub struct GeneratedCorpus(&'static Generated);

impl GeneratedCorpus {
    /// Finds the corpus with this id, or the first one if there is none.
    pub fn by_id(id: &str) -> Self {
        Self(generated::by_id(id).unwrap_or(CORPORA[0]))
    }
}

impl Choice for GeneratedCorpus {
    fn all() -> Vec<Self> {
        CORPORA.iter().copied().map(Self).collect()
    }

    fn id(self) -> &'static str {
        self.0.id
    }
}

impl PartialEq for GeneratedCorpus {
    fn eq(&self, other: &Self) -> bool {
        self.id() == other.id()
    }
}

impl std::fmt::Debug for GeneratedCorpus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.id())
    }
}

choices! {
    /// The unit that one token stands for.
    pub enum TokenKind {
        Byte = "byte",
        Char = "char",
        /// By code point, as in char-rnn and nanoGPT; or those of `corpus.vocabulary_file`.
        SortedChar = "sorted_char",
        Word = "word",
        Spaced = "spaced",
        Bpe = "bpe",
        HuggingFace = "huggingface",
    }
}

settings! {
    /// The text that is read, and its tokens.
    pub struct CorpusSettings in "corpus" {
        /// Which generated text to learn from. A file of your own, below, takes its place.
        source: GeneratedCorpus = GeneratedCorpus::by_id("mixture")
            => "Corpus", without(Self::file), without(Self::folder);
        /// A text file of your own, of any size: a book, code, a log. Leave it empty to use the generated corpus.
        file: TextFile = TextFile::default() => "Text file";
        /// A folder of your own text files, each a domain. All give as much, mixed by documents of a few hundred letters; files in folders inside it, and those whose names begin with a dot, are ignored.
        folder: TextFolder = TextFolder::default() => "Folder of domains";
        /// How many domains the text mixes; 1 is coherent. Acts on the corpus `domains` and on a folder, where the first files by name are used; the text is as long whatever the number.
        domains: usize = domains::MAX_DOMAINS => "Domains", range(1..=domains::MAX_DOMAINS);
        /// How much of the text is read, from its start. 0 reads all of it. Acts on running text, not on windows generated on demand.
        length: usize = 0 => "Text length", range(0..=(1 << 40)), unit("bytes");
        /// The kind of token. Bytes need no vocabulary; characters and words are easier to read; sorted_char numbers the characters of the whole text by code point, as char-rnn and nanoGPT do, or as the vocabulary file below lists them; spaced has words and the spaces between them; BPE is learned from the text.
        tokenizer: TokenKind = TokenKind::Byte => "Tokens";
        /// Rows of the embedding. Bytes use 256 of them (the fast-slow paper keeps 320); for characters, words and BPE this is the most there may be.
        vocab: usize = 320 => "Vocabulary", range(16..=65536), symbol("V"), unit("tokens");
        /// A Hugging Face tokenizer.json, used when Tokens is `huggingface`. The vocabulary is then the file's.
        tokenizer_file: TokenizerFile = TokenizerFile::default() => "tokenizer.json";
        /// The characters that a model trained elsewhere knows, used when Tokens is `sorted_char`: a .json list of characters, a .json object from character to id (or one with `stoi`), nanoGPT's meta.pkl, or the text that it was trained on. A text of your own with any other character is refused, and a generated text is read without them.
        vocabulary_file: VocabularyFile = VocabularyFile::default() => "Vocabulary file";
        /// The last part of the text, never trained on. Held-out losses are measured there; the fast-slow paper keeps a tenth. Acts on running text: windows that are generated on demand, such as those of facts, are never the same.
        held_out: f64 = 0.1 => "Held out", range(0.01..=0.5);
        /// Train on the positions that ask a question and nothing else. Acts on the fact corpora; prose has no questions, and recall always counts answers only.
        answers_only: bool = false => "Only answers count";
        /// The fewest tokens between a statement of the fact and the next question, in the fact corpora. 0 is the corpus's own: 32 in symbols, 36 in stories.
        spacing: usize = 0 => "Question spacing", range(0..=4096), unit("tokens");
        /// Seed of the generated text. Another seed gives other people and other facts, in the same language.
        seed: u64 = 1 => "Text seed", range(0..=(1 << 53));
    }
}

/// The generated text that settings choose, each found by its key; `None` for a text of the user's own.
pub fn generated_text<'v>(setting: impl Fn(&str) -> Option<&'v Value>) -> Option<&'static Generated> {
    let text = |key| setting(key).map(ToString::to_string).filter(|t| !t.trim().is_empty());
    match text(CorpusSettings::file.name).or_else(|| text(CorpusSettings::folder.name)) {
        Some(_) => None,
        None => generated::by_id(&text(CorpusSettings::source.name)?),
    }
}

/// The questions of the text of these settings, if it is a task.
pub fn questions(config: &Config) -> Option<Questions> {
    generated_text(|key| config.get(key))?.questions()
}

impl CorpusSettings {
    pub fn token_keys() -> TokenKeys {
        TokenKeys {
            kind: Self::tokenizer.name.into(),
            characters: Self::vocabulary_file.name.into(),
            huggingface: Self::tokenizer_file.name.into(),
        }
    }

    /// The corpus that these settings name. Errors name the key.
    pub fn spec(&self) -> Result<CorpusSpec, ConfigError> {
        let Some(path) = self.folder.path() else { return self.spec_of(self.source, &self.file) };
        if self.file.path().is_some() {
            return Err(ConfigError::inconsistent(
                Self::folder.name,
                "`corpus.folder` and `corpus.file` each name what is to be read; leave one of them empty",
            ));
        }
        self.reading(Source::Folder { path, domains: self.domains })
    }

    /// Refuses a text of the user's own for a task that reads none; `why` says so. Errors: a folder or a file is named;
    /// the error names its key.
    pub fn refuse_own_text(&self, why: &str) -> Result<(), ConfigError> {
        let named = [(Self::folder.name, self.folder.path().is_some()), (Self::file.name, self.file.path().is_some())];
        match named.into_iter().find(|(_, is_named)| *is_named) {
            Some((key, _)) => Err(ConfigError::inconsistent(key, format!("`{key}` must be empty: {why}"))),
            None => Ok(()),
        }
    }

    /// True for texts of associative recall: pairs of a key and a value, and then the keys again.
    pub fn asks_for_pairs(&self) -> bool {
        let is_generated = self.folder.path().is_none() && self.file.path().is_none();
        is_generated && self.source.0.asks_for_pairs()
    }

    /// This generated text, or this file if one is named, in the tokens of these settings.
    pub fn spec_of(&self, source: GeneratedCorpus, file: &TextFile) -> Result<CorpusSpec, ConfigError> {
        let source = match file.path() {
            Some(path) => Source::File(path),
            None if source.0.is_task() => Source::Task(Task {
                id: source.id().to_owned(),
                spacing: self.spacing,
                answers_only: self.answers_only,
            }),
            None if source.0.mixes_domains() => Source::Domains(self.domains),
            None => Source::Generated(source.id().to_owned()),
        };
        self.reading(source)
    }

    /// Checks that several texts of a run are read in the same tokens; `why` says why they must be. Errors: the tokens
    /// are made again for each text.
    pub fn check_shared_tokens(&self, why: &str) -> Result<(), ConfigError> {
        match self.tokenizer {
            TokenKind::Byte | TokenKind::HuggingFace => Ok(()),
            TokenKind::SortedChar if self.vocabulary_file.path().is_some() => Ok(()),
            made @ (TokenKind::Char | TokenKind::SortedChar | TokenKind::Word | TokenKind::Spaced | TokenKind::Bpe) => {
                let why = format!(
                    "`corpus.tokenizer` = {} is rebuilt for each text, and {why}; choose byte, huggingface, or sorted_char with `corpus.vocabulary_file`",
                    made.id()
                );
                Err(ConfigError::inconsistent(Self::tokenizer.name, why))
            }
        }
    }

    fn reading(&self, source: Source) -> Result<CorpusSpec, ConfigError> {
        Ok(CorpusSpec {
            source,
            tokenizer: self.tokenizer_spec()?,
            length: (self.length > 0).then_some(self.length),
            held_out: self.held_out,
            seed: self.seed,
        })
    }

    fn tokenizer_spec(&self) -> Result<TokenizerSpec, ConfigError> {
        let vocab = self.vocab;
        Ok(match self.tokenizer {
            TokenKind::Byte if vocab < 256 => {
                return Err(ConfigError::OutOfRange {
                    key: Self::vocab.name.into(),
                    got: format!("`{vocab}`"),
                    want: "at least 256 when `corpus.tokenizer` is byte".into(),
                });
            }
            TokenKind::Byte => TokenizerSpec::Byte { vocab },
            TokenKind::Char => TokenizerSpec::Char { max_vocab: vocab },
            TokenKind::SortedChar => match self.vocabulary_file.path() {
                Some(path) => TokenizerSpec::Characters(path),
                None => TokenizerSpec::SortedChar { max_vocab: vocab },
            },
            TokenKind::Word => TokenizerSpec::Word { max_vocab: vocab },
            TokenKind::Spaced => TokenizerSpec::Spaced { max_vocab: vocab },
            TokenKind::Bpe => TokenizerSpec::Bpe { vocab },
            TokenKind::HuggingFace => TokenizerSpec::HuggingFace(self.tokenizer_file.path().ok_or_else(|| {
                ConfigError::inconsistent(
                    Self::tokenizer_file.name,
                    "`corpus.tokenizer` is huggingface but `corpus.tokenizer_file` is empty; give the path of a tokenizer.json",
                )
            })?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Range, Settings};

    #[test]
    fn every_generated_corpus_is_a_choice() {
        let knobs = CorpusSettings::schema();
        let source = knobs.iter().find(|k| k.key == CorpusSettings::source.name).unwrap();
        assert_eq!(source.range, Range::Choice(CORPORA.iter().map(|c| c.id).collect()));
    }

    #[test]
    fn a_generated_text_has_no_control_beside_a_text_of_ones_own() {
        let knobs = CorpusSettings::schema();
        let source = knobs.iter().find(|k| k.key == CorpusSettings::source.name).unwrap();
        for (key, path) in [(CorpusSettings::file.name, "own.txt"), (CorpusSettings::folder.name, "texts")] {
            let mut config = Config::defaults("any", &knobs);
            assert!(source.has_effect(&config));
            config.set_text(&knobs, key, path).unwrap();
            assert!(!source.has_effect(&config), "{key}");
        }
    }

    /// A run records the tokens that it fits to a trained model under the names that the settings know.
    #[test]
    fn kinds_of_tokens_are_called_alike_in_settings_and_texts() {
        let knobs = CorpusSettings::schema();
        let mut config = Config::defaults("any", &knobs);
        config.set_text(&knobs, CorpusSettings::tokenizer_file.name, "tokenizer.json").unwrap();
        for kind in TokenKind::ALL {
            config.set_text(&knobs, CorpusSettings::tokenizer.name, kind.id()).unwrap();
            let settings: CorpusSettings = config.group().unwrap();
            assert_eq!(settings.tokenizer_spec().unwrap().kind(), kind.id());
        }
        let keys = CorpusSettings::token_keys();
        for key in [keys.kind, keys.characters, keys.huggingface] {
            assert!(knobs.iter().any(|k| k.key == key), "{key}");
        }
    }
}
