//! Bytes to ids to batches: text files, tokenisers and generated text. Plain numbers: no tensor.

use serde::{Deserialize, Serialize};

/// What to train on: plain data, enough to open the corpus again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Spec {
    pub source: Source,
    pub tokenizer: TokenizerSpec,
    /// The last fraction of the windows is held out (0.1 for the paper's tenth).
    pub held_out: f64,
    /// Of the generated text, not of the batches.
    pub seed: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// Generated: an id of [`generated::CORPORA`].
    Generated(String),
    /// A text file of any size.
    File(std::path::PathBuf),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenizerSpec {
    /// Bytes; `vocab` >= 256 (the paper pads to 320).
    Byte { vocab: usize },
    /// Characters of the training part by frequency, at most this many, one for all others.
    Char { max_vocab: usize },
    /// Byte-pair encoding trained on the training part.
    Bpe { vocab: usize },
    /// A Hugging Face `tokenizer.json`.
    HuggingFace(std::path::PathBuf),
}

/// An error in words: what, where, what to do.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{0}")]
pub struct CorpusError(pub String);

/// Rows of ids: `inputs` and `targets` hold `rows * len` values each; a target may be `u32::MAX`
/// (asks nothing).
#[derive(Debug, Clone, PartialEq)]
pub struct Windows {
    pub rows: usize,
    pub len: usize,
    pub inputs: Vec<u32>,
    pub targets: Vec<u32>,
}

/// Where a batch stream stands; enough to go on exactly.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Position {
    pub seed: u64,
    /// Batches drawn so far.
    pub drawn: u64,
}

/// An opened corpus.
pub struct Corpus {}

impl Corpus {
    /// Opens (maps, generates, trains the tokeniser). Errors: missing, empty, binary, too short.
    pub fn open(_spec: &Spec) -> Result<Self, CorpusError> {
        Err(CorpusError("unwritten".into()))
    }

    /// In words: "mixture (generated), 1.2 MB, bytes".
    pub fn describe(&self) -> String {
        String::new()
    }

    pub fn vocab(&self) -> usize {
        0
    }

    /// Text to ids; what the tokeniser cannot say becomes its unknown id.
    pub fn encode(&self, _text: &str) -> Vec<u32> {
        vec![]
    }

    pub fn decode(&self, _ids: &[u32]) -> String {
        String::new()
    }

    /// How one id is shown on a token axis (a space as a visible mark, a newline as its sign).
    pub fn token_text(&self, _id: u32) -> String {
        String::new()
    }

    /// The batch at this position of the training part: `rows` windows of `len` ids; a pure function of (position, rows,
    /// len), so that any run can be resumed exactly. Errors when the text is shorter than a window.
    pub fn batch(&self, _at: &Position, _rows: usize, _len: usize) -> Result<Windows, CorpusError> {
        Err(CorpusError("unwritten".into()))
    }

    /// The first `count` held-out windows (fewer if there are fewer; at least one or an error).
    pub fn held_out(&self, _count: usize, _len: usize) -> Result<Windows, CorpusError> {
        Err(CorpusError("unwritten".into()))
    }

    /// A held-out passage to look at, about `len` ids, beginning at a sentence; `index` picks which.
    pub fn passage(&self, _index: u64, _len: usize) -> Vec<u32> {
        vec![]
    }
}
