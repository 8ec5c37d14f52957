//! Tokenisers that fit a model's number of tokens.

use super::{BYTES, TextTokenizer, character_list, prelude::*, tokenizer_beside};

/// The reason why no tokeniser is found for a model.
#[derive(Debug, thiserror::Error)]
pub enum TokenizerError {
    /// A file cannot be read.
    #[error(transparent)]
    Corpus(#[from] CorpusError),
    /// The text, the tokeniser and the model do not belong together.
    #[error("{0}")]
    Mismatch(String),
}

/// The kind of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenizerKind {
    /// Each byte is a token.
    Byte,
    /// The distinct characters of the text by code point.
    SortedChar,
    /// The characters of a file.
    Vocabulary,
    /// A `tokenizer.json`.
    HuggingFace,
}

/// The known facts about a model's tokens.
#[derive(Debug, Clone, Default)]
pub struct TokenizerChoice {
    /// The kind of tokens; without one, every kind that fits is tried.
    pub kind: Option<TokenizerKind>,
    /// A list of characters, or the text that the model was trained on.
    pub vocabulary: Option<PathBuf>,
    /// A Hugging Face `tokenizer.json`.
    pub json: Option<PathBuf>,
}

impl TokenizerChoice {
    /// The list of tokens beside a checkpoint of `vocab` tokens, used if the user chose none.
    pub fn or_tokenizer_beside(mut self, checkpoint: &Path, vocab: usize) -> Self {
        if self.kind.is_none() && self.vocabulary.is_none() && self.json.is_none() {
            match tokenizer_beside(checkpoint, vocab) {
                Some(TokenizerSpec::Characters(path)) => self.vocabulary = Some(path),
                Some(TokenizerSpec::HuggingFace(path)) => self.json = Some(path),
                _ => {}
            }
        }
        self
    }
}

/// A tokeniser with its name.
pub struct NamedTokenizer {
    /// The kind of its tokens.
    pub kind: TokenizerKind,
    /// The tokeniser itself.
    pub tokenizer: TextTokenizer,
}

impl NamedTokenizer {
    /// Ids below this can be in a text.
    pub fn decodable_vocab(&self) -> usize {
        match self.kind {
            TokenizerKind::Byte => BYTES,
            TokenizerKind::SortedChar | TokenizerKind::Vocabulary | TokenizerKind::HuggingFace => {
                self.tokenizer.vocab()
            }
        }
    }

    /// Bytes of the text that all tokens but the first stand for.
    pub fn scored_bytes(&self, ids: &[u32], text: &[u8]) -> usize {
        let first = self.tokenizer.decode(&ids[..ids.len().min(1)]).len();
        text.len().saturating_sub(first)
    }

    /// "bytes", "the text's 65 characters by code point".
    pub fn label(&self) -> String {
        let vocab = self.tokenizer.vocab();
        match self.kind {
            TokenizerKind::Byte => "bytes".to_owned(),
            TokenizerKind::SortedChar => format!("the text's {vocab} characters by code point"),
            TokenizerKind::Vocabulary => format!("the vocabulary's {vocab} characters"),
            TokenizerKind::HuggingFace => format!("tokenizer.json ({vocab})"),
        }
    }
}

/// The tokenisers that a model of `vocab` tokens may have been trained with: bytes, the distinct characters of `text`
/// where there are as many, and those of the files that are given.
///
/// # Errors
/// If a file that is given, or the kind that is asked for, does not fit; if nothing fits.
pub fn fitting_tokenizers(
    choice: &TokenizerChoice,
    text: &[u8],
    vocab: usize,
) -> Result<Vec<NamedTokenizer>, TokenizerError> {
    let kinds = [TokenizerKind::Byte, TokenizerKind::SortedChar, TokenizerKind::Vocabulary, TokenizerKind::HuggingFace];
    let mut all = vec![];
    for kind in kinds.into_iter().filter(|kind| choice.kind.is_none_or(|k| k == *kind)) {
        let opened = match kind {
            TokenizerKind::Byte => bytes(vocab),
            TokenizerKind::SortedChar => characters_of(text, vocab),
            TokenizerKind::Vocabulary => load_from_file(kind, choice.vocabulary.as_deref(), vocab),
            TokenizerKind::HuggingFace => load_from_file(kind, choice.json.as_deref(), vocab),
        };
        match opened {
            Ok(tokenizer) => all.push(NamedTokenizer { kind, tokenizer }),
            // a kind that the user did not ask for need not fit; a given file must
            Err(TokenizerMisfit::Mismatch(_)) if choice.kind.is_none() => {}
            Err(TokenizerMisfit::Mismatch(words)) => return Err(TokenizerError::Mismatch(words)),
            Err(TokenizerMisfit::Invalid(e)) => return Err(e),
        }
    }
    if all.is_empty() {
        return Err(TokenizerError::Mismatch(format!(
            "the model knows {vocab} tokens, too few for bytes, and the text has another number of distinct characters: \
             give the text or the list of characters that it was trained on as the vocabulary, or its tokenizer.json"
        )));
    }
    Ok(all)
}

/// The reason why a tokenizer does not suit the model.
enum TokenizerMisfit {
    /// The tokenizer does not fit; an error only if the user asked for it.
    Mismatch(String),
    Invalid(TokenizerError),
}

impl From<CorpusError> for TokenizerMisfit {
    fn from(e: CorpusError) -> Self {
        Self::Invalid(e.into())
    }
}

fn bytes(vocab: usize) -> Result<TextTokenizer, TokenizerMisfit> {
    if vocab < BYTES {
        let words = format!("the model knows {vocab} tokens, fewer than the {BYTES} bytes: it reads something else");
        return Err(TokenizerMisfit::Mismatch(words));
    }
    Ok(TextTokenizer::open(&TokenizerSpec::Byte { vocab }, "")?)
}

fn characters_of(text: &[u8], vocab: usize) -> Result<TextTokenizer, TokenizerMisfit> {
    let Ok(text) = std::str::from_utf8(text) else {
        return Err(TokenizerMisfit::Mismatch(
            "the text is not UTF-8, so it has no characters: save it as UTF-8".to_owned(),
        ));
    };
    let tokenizer = TextTokenizer::open(&TokenizerSpec::SortedChar { max_vocab: usize::MAX }, text)?;
    let has = tokenizer.vocab();
    if has != vocab {
        return Err(TokenizerMisfit::Mismatch(format!(
            "the text has {has} distinct characters and the model knows {vocab} tokens: give the text or the list of \
             characters that it was trained on as the vocabulary"
        )));
    }
    Ok(tokenizer)
}

fn load_from_file(kind: TokenizerKind, path: Option<&Path>, vocab: usize) -> Result<TextTokenizer, TokenizerMisfit> {
    let is_json = kind == TokenizerKind::HuggingFace;
    let Some(path) = path else {
        let what = if is_json { "a tokenizer.json" } else { "a list of characters or the text it was trained on" };
        return Err(TokenizerMisfit::Mismatch(format!("this kind of tokens needs a file: {what}")));
    };
    let spec = match is_json {
        true => TokenizerSpec::HuggingFace(path.to_owned()),
        false => TokenizerSpec::Characters(path.to_owned()),
    };
    let tokenizer = TextTokenizer::open(&spec, "")?;
    let has = tokenizer.vocab();
    // a list may be shorter than a padded embedding; a text that lacks characters would shift their ids
    let is_list = is_json || character_list::is_list(path);
    if has > vocab || (has < vocab && !is_list) {
        return Err(TokenizerMisfit::Invalid(TokenizerError::Mismatch(format!(
            "{} has {has} tokens and the model knows {vocab}: it is not what the model was trained with",
            path.display()
        ))));
    }
    Ok(tokenizer)
}
