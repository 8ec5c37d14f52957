//! Bytes to ids to batches: text files, tokenisers and generated text. Plain numbers: no tensor.
//!
//! A corpus is a [`Source`] opened as a stream of windows, and a tokeniser. A text (a file or generated, [`text`]) is
//! cut once into a training part and a held-out part; the windows of a task ([`Task`], [`Steering`]) are generated on demand.
//! The window at a position is a pure function of the position.

mod character_list;
mod characters;
mod chunks;
mod file_bytes;
mod fitting;
mod folder;
pub mod generated;
mod grammar;
mod labelled_lines;
mod labels;
mod model_tokenizers;
mod omission;
mod permutation;
mod prelude;
mod recall;
mod source;
mod steering;
mod stream;
mod subword;
mod task;
mod text;
mod text_file;
mod text_tokenizer;
mod tokenizer;
mod treebank;
mod typed;
mod visible;
mod windows;

use file_bytes::MAX_CACHED;
use omission::{OWN_TEXT_ADVICE, Omission};
use stream::{BatchShape, Stream};
use subword::Subword;
use text_file::TextFile;
use tokenizer::Tokenizer;

pub use chunks::{TextChunk, TextSpan};
pub use fitting::{BYTES, tokenizer_beside};
pub use grammar::GrammarRoles;
pub use labelled_lines::{LabelledLine, LabelledLines, MIN_GROUPS};
pub use labels::Labels;
pub use model_tokenizers::{NamedTokenizer, TokenizerChoice, TokenizerError, TokenizerKind, fitting_tokenizers};
pub use source::Source;
pub use steering::Steering;
pub use stream::{SentenceSet, TaggedSentence};
pub use task::Task;
pub use text_tokenizer::TextTokenizer;
pub use treebank::{TagColumn, Treebank};

/// The training data as plain data, enough to open the corpus again.
#[derive(Debug, Clone, PartialEq)]
pub struct CorpusSpec {
    /// The source of the text.
    pub source: Source,
    /// The number of bytes of a running text that are read, from its start; none reads all of it.
    pub length: Option<usize>,
    /// The tokeniser that turns the text into ids.
    pub tokenizer: TokenizerSpec,
    /// The last fraction of the text is held out (0.1 for the paper's tenth).
    pub held_out: f64,
    /// The seed of the generated text, not of the batches.
    pub seed: u64,
}

impl CorpusSpec {
    /// The whole text of a source, with a tenth held out; generated sources use seed 1.
    pub fn new(source: Source, tokenizer: TokenizerSpec) -> Self {
        Self { source, length: None, tokenizer, held_out: 0.1, seed: 1 }
    }

    /// The largest number of tokens that its tokeniser may come to know, without opening anything: of one that counts
    /// characters or words, no more than the text has.
    pub fn largest_vocab(&self) -> u64 {
        // Windows that are generated on demand have no text of a known size; that of generated texts stands in for it.
        let text = match self.bytes() {
            0 => generated::SIZE as u64,
            bytes => bytes,
        };
        match &self.tokenizer {
            TokenizerSpec::Byte { vocab } | TokenizerSpec::Bpe { vocab } => *vocab as u64,
            TokenizerSpec::Char { max_vocab } | TokenizerSpec::SortedChar { max_vocab } => {
                (*max_vocab as u64).min(text)
            }
            TokenizerSpec::Word { max_vocab }
            | TokenizerSpec::Spaced { max_vocab }
            | TokenizerSpec::Whitespace { max_vocab } => (*max_vocab as u64).min(text / LETTERS),
            TokenizerSpec::Characters(path) => source::length(path).min(TYPICAL_MAX_CHARS),
            TokenizerSpec::Listed { words } => words.len() as u64,
            TokenizerSpec::HuggingFace(path) => source::length(path) / MIN_ENTRY_BYTES,
        }
    }

    /// Bytes of the text that are read of its source.
    fn bytes(&self) -> u64 {
        let length = self.length.filter(|_| self.source.is_running_text());
        self.source.bytes().min(length.map_or(u64::MAX, |length| length as u64))
    }

    /// An estimate of the bytes that an open corpus holds: the text, which is in memory as a whole if the file is of
    /// moderate size, as much again at most for the sample that a tokeniser is trained on, and a tokenizer.json.
    pub fn memory(&self) -> u64 {
        let copies = if self.tokenizer.learns() { 2 } else { 1 };
        let text = self.source.bytes().min(MAX_CACHED) * copies;
        match &self.tokenizer {
            TokenizerSpec::HuggingFace(path) => text.saturating_add(Subword::memory(source::length(path))),
            _ => text,
        }
    }

    /// Returns true if the windows ask questions, so that answers are scored one by one.
    pub fn asks_questions(&self) -> bool {
        self.source.asks_questions()
    }

    /// Checks that the files that it names can be read: the text at a quick look; a treebank, sentences of a
    /// grammar and a tokeniser's file as a whole, and whether it can say the beginning of the text.
    pub fn check_file(&self) -> Result<(), CorpusError> {
        match (&self.tokenizer, &self.source) {
            (TokenizerSpec::HuggingFace(_) | TokenizerSpec::Characters(_), _) => Corpus::open(self).map(drop),
            (_, Source::File(path)) => TextFile::open(path).map(drop),
            (_, Source::GrammarRoles(sets)) if sets.treebank.is_some() => sets.check_files(),
            (_, Source::GrammarRoles(sets)) if sets.own.is_some() => Corpus::open(self).map(drop),
            (_, Source::Labels(labels)) if labels.own.is_some() => Corpus::open(self).map(drop),
            (_, Source::Folder { path, domains }) => folder::open(path, *domains, self.seed).map(drop),
            _ => Ok(()),
        }
    }
}

/// Letters that words which are all different have at least, on average.
const LETTERS: u64 = 4;
/// Distinct characters that a file's vocabulary seldom exceeds.
const TYPICAL_MAX_CHARS: u64 = 1 << 12;
/// Bytes of a tokenizer.json for each of its tokens, at least.
const MIN_ENTRY_BYTES: u64 = 24;

/// The kind of a tokeniser with its size, enough to build it again.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "the docs of the variants name their fields")]
pub enum TokenizerSpec {
    /// Bytes, with this many ids, at least 256 (the paper pads to 320).
    Byte { vocab: usize },
    /// Characters of the training part by frequency, at most this many; one token stands for all others.
    Char { max_vocab: usize },
    /// The distinct characters of the whole text by code point, ids from 0 (as in char-rnn and nanoGPT), no id for any
    /// other; a text with more than this many is refused.
    SortedChar { max_vocab: usize },
    /// The characters of this file and no others: a list or an object from character to id, as JSON or as a pickle, or a text
    /// whose distinct characters are taken by code point.
    Characters(std::path::PathBuf),
    /// Words and marks of the training part by frequency, at most this many, one for all others. White
    /// space but line breaks is not kept.
    Word { max_vocab: usize },
    /// Words, at most this many, with white space kept, each space a token of its own: a bare space then follows a word,
    /// whatever the next word is.
    Spaced { max_vocab: usize },
    /// Words as white space separates them, the most frequent of the training part, at most this many, one for all others.
    Whitespace { max_vocab: usize },
    /// These words, each with its place as id, and no others.
    Listed { words: Vec<String> },
    /// Byte-pair encoding trained on the training part, with this many tokens.
    Bpe { vocab: usize },
    /// A Hugging Face `tokenizer.json`.
    HuggingFace(std::path::PathBuf),
}

impl TokenizerSpec {
    /// Returns true if the tokeniser builds its vocabulary from a sample of the training part.
    fn learns(&self) -> bool {
        matches!(
            self,
            Self::Char { .. } | Self::Word { .. } | Self::Spaced { .. } | Self::Whitespace { .. } | Self::Bpe { .. }
        )
    }

    /// The kind of tokeniser, by the name that settings use.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Byte { .. } => "byte",
            Self::Char { .. } => "char",
            Self::SortedChar { .. } | Self::Characters(_) => "sorted_char",
            Self::Word { .. } | Self::Whitespace { .. } | Self::Listed { .. } => "word",
            Self::Spaced { .. } => "spaced",
            Self::Bpe { .. } => "bpe",
            Self::HuggingFace(_) => "huggingface",
        }
    }
}

/// The reason why a corpus cannot be opened or read: a sentence that says what is wrong, where, and what to do.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct CorpusError {
    message: String,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl CorpusError {
    fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), source: None }
    }

    /// The same error with the name of its subject in front.
    fn with_subject(self, name: &str) -> Self {
        Self { message: format!("{name}: {}", self.message), ..self }
    }

    /// An error with the error of the system or library as its source.
    fn with_source(message: impl Into<String>, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self { message: message.into(), source: Some(source.into()) }
    }
}

/// Rows of ids: `inputs` and `targets` hold `rows * len` values each; a target `u32::MAX` is ignored by the loss.
#[derive(Debug, Clone, PartialEq)]
pub struct Windows {
    /// The number of windows.
    pub rows: usize,
    /// The number of ids in a window.
    pub len: usize,
    /// The ids that the model reads, `(rows, len)`.
    pub inputs: Vec<u32>,
    /// The ids that the model is to predict, `(rows, len)`.
    pub targets: Vec<u32>,
    /// True where the target answers a question of a task; same shape as `targets`.
    pub answers: Option<Vec<bool>>,
}

/// The position of a batch stream; enough to continue exactly.
#[derive(Debug, Clone, PartialEq)]
pub struct Position {
    /// The seed of the stream.
    pub seed: u64,
    /// The number of batches drawn so far.
    pub drawn: u64,
}

/// An opened corpus.
pub struct Corpus {
    /// The spec that the corpus was opened from, with the number of sentences that its treebank actually has.
    spec: CorpusSpec,
    name: String,
    tokenizer: Tokenizer,
    stream: Box<dyn Stream>,
    /// The characters that a generated text is read without; `None` where it is read whole.
    omission: Option<Omission>,
}

impl Corpus {
    /// Opens (reads, generates, trains the tokeniser). A generated text is read without the characters that a given
    /// vocabulary lacks ([`Corpus::omission`]). Errors: missing, empty, binary, too short, a fraction or vocabulary out of
    /// range, an unknown id, an invalid tokenizer.json, a character that the vocabulary lacks.
    pub fn open(spec: &CorpusSpec) -> Result<Self, CorpusError> {
        if !(spec.held_out > 0.0 && spec.held_out <= 0.9) {
            return Err(CorpusError::new(format!(
                "The held-out fraction must be above 0 and at most 0.9, not {}: 0.1 holds out the last tenth.",
                spec.held_out
            )));
        }
        let source::OpenedSource { name, mut stream } = spec.source.open(spec)?;
        let tokenizer = Tokenizer::open(&spec.tokenizer, stream.encoding(), || match spec.tokenizer {
            TokenizerSpec::SortedChar { .. } => stream.alphabet(),
            _ => stream.sample(),
        })?;
        let mut omission = None;
        if let Tokenizer::Characters(known) = &tokenizer
            && let Some(unknown) = stream.find_char(&mut |c| !known.knows(c))?
        {
            ensure!(spec.source.is_generated(), known.unknown(unknown).with_subject(&name));
            match stream.leave_out(&|c| known.knows(c))? {
                None => return Err(known.unknown_in_generated(unknown).with_subject(&name)),
                Some(omission) if omission.exceeds_half() => {
                    let words = format!("the vocabulary lacks {omission}: read {OWN_TEXT_ADVICE} instead.");
                    return Err(CorpusError::new(words).with_subject(&name));
                }
                found => omission = found,
            }
        }
        stream.measure(&tokenizer)?;
        let mut source = spec.source.clone();
        if let Source::GrammarRoles(sets) = &mut source {
            // a treebank may have fewer sentences than were asked for
            (sets.train, sets.test) = (stream.count(SentenceSet::Train), stream.count(SentenceSet::TestWithin));
        }
        Ok(Self { spec: CorpusSpec { source, ..spec.clone() }, name, tokenizer, stream, omission })
    }

    /// Opens the same text in other tokens.
    pub fn in_tokens(&self, tokenizer: TokenizerSpec) -> Result<Self, CorpusError> {
        Self::open(&CorpusSpec { tokenizer, ..self.spec.clone() })
    }

    /// The origin of the text, with as many sentences of a treebank as it has.
    pub fn source(&self) -> &Source {
        &self.spec.source
    }

    /// "mixture (generated)", or the file's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A description: "mixture (generated), 1.4 MB, bytes".
    pub fn describe(&self) -> String {
        let without = match &self.omission {
            Some(omission) => format!(" without {} of its characters", omission.len()),
            None => String::new(),
        };
        format!("{}{without}, {}, {}", self.name, self.stream.describe(), self.tokenizer.describe())
    }

    /// A sentence about the characters that the vocabulary lacks and a generated text is read without; `None` where the text
    /// is read whole.
    pub fn omission(&self) -> Option<String> {
        let omission = self.omission.as_ref()?;
        Some(format!(
            "{} is read without {omission}, which the vocabulary lacks; {OWN_TEXT_ADVICE} takes its place",
            self.name
        ))
    }

    /// The accuracy of guessing the answers; `None` if this corpus has no questions.
    pub fn chance_accuracy(&self) -> Option<f64> {
        self.stream.chance_accuracy()
    }

    /// Returns the number of ids of the vocabulary.
    pub fn vocab(&self) -> usize {
        self.tokenizer.vocab()
    }

    /// Encodes a text; characters that the tokeniser lacks become its unknown token. The result is empty if a
    /// tokenizer.json has no unknown token either.
    pub fn encode(&self, text: &str) -> Vec<u32> {
        self.tokenizer.encode(text).unwrap_or_default()
    }

    /// Same as [`Corpus::encode`], with an error that names the characters that the tokeniser lacks.
    pub fn try_encode(&self, text: &str) -> Result<Vec<u32>, CorpusError> {
        self.tokenizer.encode(text)
    }

    /// Returns the text of these ids.
    pub fn decode(&self, ids: &[u32]) -> String {
        self.tokenizer.decode(ids)
    }

    /// The number of bytes that these ids stand for; of words without what was between them.
    pub fn byte_length(&self, ids: &[u32]) -> usize {
        self.tokenizer.decode_bytes(ids).len()
    }

    /// The text of one id on a token axis (a space as a visible mark, a newline as its sign).
    pub fn token_text(&self, id: u32) -> String {
        self.tokenizer.token_text(id)
    }

    /// The batch at this position of the training part: `rows` windows of `len` ids; a pure function of (position, rows,
    /// len), so that any run can be resumed exactly. Within an epoch (as long as `rows` and `len` stay)
    /// no window comes twice; each epoch cuts the text elsewhere. Errors when the text is shorter than a
    /// window, or the file has been cut since it was opened.
    pub fn batch(&self, at: &Position, rows: usize, len: usize) -> Result<Windows, CorpusError> {
        self.stream.batch(&self.tokenizer, at, rows, len)
    }

    /// Same as [`Corpus::batch`], but each row continues where the batch before has left it, over `every` batches; then
    /// all rows begin elsewhere. Tasks have windows that nothing follows, and are refused.
    pub fn batch_along(&self, at: &Position, rows: usize, len: usize, every: u64) -> Result<Windows, CorpusError> {
        self.stream.batch_along(&self.tokenizer, at, BatchShape { rows, len }, every)?.ok_or_else(|| {
            CorpusError::new(format!(
                "{} is made window by window, so that no batch goes on where another ended: choose a text, or carry no state.",
                self.name
            ))
        })
    }

    /// The first `count` held-out windows (fewer if there are fewer; at least one or an error).
    pub fn held_out(&self, count: usize, len: usize) -> Result<Windows, CorpusError> {
        self.stream.held_out(&self.tokenizer, count.max(1), len)
    }

    /// The sentence with this index in a set, with the roles of its words; `None` past the end, and for texts without roles.
    pub fn sentence(&self, set: SentenceSet, index: usize) -> Option<TaggedSentence> {
        self.stream.sentence(set, index)
    }

    /// All sentences of a set.
    pub fn sentences(&self, set: SentenceSet) -> Vec<TaggedSentence> {
        (0..).map_while(|index| self.sentence(set, index)).collect()
    }

    /// Bytes of a span of the text; 0 where windows are generated on demand.
    pub fn span_bytes(&self, span: TextSpan) -> usize {
        self.stream.span_bytes(span)
    }

    /// The ids from byte `from` of a span on, some tens of thousands of them; `None` at its end, and where windows are
    /// generated on demand. A tokeniser of byte pairs may cut two words apart at a chunk's end that it would otherwise have
    /// joined.
    ///
    /// # Errors
    /// If the file cannot be read or has changed since it was opened.
    pub fn chunk(&self, span: TextSpan, from: usize) -> Result<Option<TextChunk>, CorpusError> {
        self.stream.chunk(&self.tokenizer, span, from)
    }

    /// The text of each id on a token axis, that of [`Corpus::token_text`]; where tokens are bytes and several make a character, the
    /// first shows it and the others are empty.
    pub fn token_texts(&self, ids: &[u32]) -> Vec<String> {
        self.tokenizer.token_texts(ids)
    }

    /// Ids below this can be in a text: of bytes 256, however many rows the embedding has.
    pub fn decodable_vocab(&self) -> usize {
        self.tokenizer.decodable_vocab()
    }

    /// A held-out passage to look at, about `len` ids, beginning at a sentence; `index` picks which.
    pub fn passage(&self, index: u64, len: usize) -> Vec<u32> {
        self.stream.passage(&self.tokenizer, index, len)
    }
}

impl Windows {
    /// Rows of `len + 1` ids into inputs and targets, shifted by one.
    fn from_rows(rows: &[Vec<u32>], len: usize) -> Self {
        let inputs = rows.iter().flat_map(|r| &r[..len]).copied().collect();
        let targets = rows.iter().flat_map(|r| &r[1..=len]).copied().collect();
        Self { rows: rows.len(), len, inputs, targets, answers: None }
    }
}
