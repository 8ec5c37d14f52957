//! Chooses a tokeniser for a text that is read by a given model: one with as many tokens as the model's vocabulary.
//! Only an exact fit is taken, and it is reported.
//!
//! **Rule.** A vocabulary that was given, by a setting or as a list beside the checkpoint, is the model's. Without one, a text
//! that the user gave may supply its characters, where there are as many as the model knows. A generated text never does,
//! however many it has, because the model was not trained on it; it is read as far as a given vocabulary goes
//! ([`Corpus::omission`]).

use super::{Corpus, CorpusSpec, TextTokenizer, omission::OWN_TEXT_ADVICE, prelude::*};

/// The smallest vocabulary of a model of bytes.
pub const BYTES: usize = 256;
/// A model of bytes may have padded its embedding up to this many rows, as the paper of the fast-slow gate does.
const PADDED_BYTES: usize = 320;
/// Common names of files that list a model's tokens.
const TOKENIZER_FILES: [&str; 7] =
    ["meta.pkl", "stoi.json", "vocab.json", "vocabulary.json", "characters.json", "chars.json", "tokenizer.json"];

/// The file beside a checkpoint that lists as many tokens as the model has, as a tokeniser.
pub fn tokenizer_beside(checkpoint: &Path, rows: usize) -> Option<TokenizerSpec> {
    let folder = checkpoint.parent()?;
    TOKENIZER_FILES.iter().map(|name| folder.join(name)).filter(|path| path.is_file()).find_map(|path| {
        let spec = tokenizer_from_file(path);
        let knows = TextTokenizer::open(&spec, "").ok()?.vocab();
        (knows == rows).then_some(spec)
    })
}

fn tokenizer_from_file(path: PathBuf) -> TokenizerSpec {
    match path.file_name().is_some_and(|name| name == "tokenizer.json") {
        true => TokenizerSpec::HuggingFace(path),
        false => TokenizerSpec::Characters(path),
    }
}

impl CorpusSpec {
    /// Matches the default tokens, bytes, to a model with `rows` rows of embedding. Bytes are kept if the rows suffice, with
    /// as many ids as rows. A model with too few rows for bytes, or too many, reads the tokens that a file beside its
    /// checkpoint lists; one with too few, the characters of a text of the user's if their number fits. Returns the choice in
    /// words.
    ///
    /// # Errors
    /// If the model knows too few tokens for bytes and nothing else fits.
    pub fn match_vocab_to_model(
        &mut self,
        rows: usize,
        checkpoint: Option<&Path>,
    ) -> Result<Option<String>, CorpusError> {
        if !matches!(self.tokenizer, TokenizerSpec::Byte { .. }) {
            return Ok(None);
        }
        let listed = || tokenizer_beside(checkpoint?, rows);
        if !(BYTES..=PADDED_BYTES).contains(&rows)
            && let Some(list) = listed()
        {
            let words = match &list {
                TokenizerSpec::HuggingFace(path) | TokenizerSpec::Characters(path) => path.display().to_string(),
                _ => String::new(),
            };
            self.tokenizer = list;
            return Ok(Some(format!("the model knows {rows} tokens: those of {words}, beside it, are read")));
        }
        if rows >= BYTES {
            self.tokenizer = TokenizerSpec::Byte { vocab: rows };
            return Ok(None);
        }
        let refused = |why: String| {
            CorpusError::new(format!(
                "The model knows {rows} tokens, too few for bytes, and {why}: give the text that it was trained on as \
                 {OWN_TEXT_ADVICE}, or its list of characters (`corpus.vocabulary_file`: .json or meta.pkl, with \
                 `corpus.tokenizer` = sorted_char)."
            ))
        };
        ensure!(!self.source.is_generated(), refused("a generated text does not tell its characters".to_owned()));
        let characters = Self { tokenizer: TokenizerSpec::SortedChar { max_vocab: usize::MAX }, ..self.clone() };
        let has = Corpus::open(&characters)?.vocab();
        ensure!(has == rows, refused(format!("this text has {has} distinct characters")));
        self.tokenizer = characters.tokenizer;
        Ok(Some(format!(
            "the model knows {rows} tokens, and the text has {rows} distinct characters: they are read by code point, as \
             char-rnn and nanoGPT number them"
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::Source;

    fn bytes_of(text: &str, folder: &Path) -> CorpusSpec {
        let path = folder.join("text.txt");
        std::fs::write(&path, text.repeat(400)).unwrap();
        CorpusSpec::new(Source::File(path), TokenizerSpec::Byte { vocab: 256 })
    }

    #[test]
    fn only_a_vocabulary_of_exactly_the_model_size_is_accepted() {
        let folder = tempfile::tempdir().unwrap();
        let checkpoint = folder.path().join("ckpt.pt");
        let fresh = || bytes_of("abc\n", folder.path());
        let mut spec = fresh();
        let said = spec.match_vocab_to_model(4, Some(&checkpoint)).unwrap().unwrap();
        assert!(said.contains("code point"), "{said}");
        assert_eq!(spec.tokenizer, TokenizerSpec::SortedChar { max_vocab: usize::MAX });
        let said = fresh().match_vocab_to_model(5, Some(&checkpoint)).unwrap_err().to_string();
        assert!(said.contains("knows 5 tokens") && said.contains("4 distinct"), "{said}");
        let mut spec = fresh();
        assert_eq!(spec.match_vocab_to_model(300, Some(&checkpoint)).unwrap(), None);
        assert_eq!(spec.tokenizer, TokenizerSpec::Byte { vocab: 300 });
        // a list beside the checkpoint belongs to the model, while the text may be any
        let list = folder.path().join("vocab.json");
        std::fs::write(&list, r#"{"c": 0, "b": 1, "a": 2, "\n": 3}"#).unwrap();
        let mut spec = fresh();
        let said = spec.match_vocab_to_model(4, Some(&checkpoint)).unwrap().unwrap();
        assert!(said.contains("vocab.json"), "{said}");
        assert_eq!(spec.tokenizer, TokenizerSpec::Characters(list));
        // a generated text supplies no characters, though it has as many, and reads those of a list
        let generated = || CorpusSpec::new(Source::Generated("harbour".into()), TokenizerSpec::Byte { vocab: 256 });
        let sorted = CorpusSpec { tokenizer: TokenizerSpec::SortedChar { max_vocab: usize::MAX }, ..generated() };
        let has = Corpus::open(&sorted).unwrap().vocab();
        let said = generated().match_vocab_to_model(has, Some(&checkpoint)).unwrap_err().to_string();
        assert!(said.contains("generated text") && said.contains("a text of your own"), "{said}");
        let mut spec = generated();
        assert!(spec.match_vocab_to_model(4, Some(&checkpoint)).unwrap().is_some());
        assert_eq!(spec.tokenizer, TokenizerSpec::Characters(folder.path().join("vocab.json")));
        // a tokenizer that the user chose stays
        let chosen = TokenizerSpec::SortedChar { max_vocab: 256 };
        let mut spec = CorpusSpec { tokenizer: chosen.clone(), ..fresh() };
        assert_eq!((spec.match_vocab_to_model(4, Some(&checkpoint)).unwrap(), spec.tokenizer), (None, chosen));
    }
}
