//! A tokeniser for one text that is read and not learned from.

use super::{CorpusError, TokenizerSpec, text_file::Encoding, tokenizer::Tokenizer};

/// A tokeniser without a corpus.
pub struct TextTokenizer(Tokenizer);

impl TextTokenizer {
    /// `text` is what a tokeniser takes its vocabulary from where `spec` names no file.
    ///
    /// # Errors
    /// If a file that `spec` names cannot be read, or its size is impossible.
    pub fn open(spec: &TokenizerSpec, text: &str) -> Result<Self, CorpusError> {
        Tokenizer::open(spec, Encoding::Utf8, || Ok(text.to_owned())).map(Self)
    }

    /// The number of ids: one more than the largest.
    pub fn vocab(&self) -> usize {
        self.0.vocab()
    }

    /// A description: "bytes", "65 characters".
    pub fn describe(&self) -> String {
        self.0.describe()
    }

    /// The ids of a text in UTF-8; as bytes, of any file.
    ///
    /// # Errors
    /// If it is not text, or holds what the tokeniser has no id for; the error names it and its place.
    pub fn encode(&self, text: &[u8]) -> Result<Vec<u32>, CorpusError> {
        if matches!(self.0, Tokenizer::Byte { .. }) {
            return Ok(text.iter().map(|b| u32::from(*b)).collect());
        }
        let text = std::str::from_utf8(text).map_err(|e| {
            let words = format!(
                "The text is not UTF-8 (byte {}), and this tokeniser reads characters: save it as UTF-8, or read bytes.",
                e.valid_up_to()
            );
            CorpusError::with_source(words, e)
        })?;
        self.0.encode(text)
    }

    /// The bytes that these ids stand for; of words without what was between them.
    pub fn decode(&self, ids: &[u32]) -> Vec<u8> {
        self.0.decode_bytes(ids)
    }

    /// The text of each id on a token axis; where tokens are bytes and several make a character, the first shows it and the others
    /// are empty.
    pub fn token_texts(&self, ids: &[u32]) -> Vec<String> {
        self.0.token_texts(ids)
    }

    /// The text of one id on a token axis: a space as a visible mark, a newline as its sign.
    pub fn token_text(&self, id: u32) -> String {
        self.0.token_text(id)
    }
}
