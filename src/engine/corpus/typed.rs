//! Text that the user typed for a model to read: if the vocabulary lacks it, the error suggests text that it contains.

use super::{
    Corpus, CorpusError,
    tokenizer::{Inventory, Tokenizer},
};

/// The maximum number of tokens in the suggested text.
const MAX_SUGGESTED_TOKENS: usize = 10;

impl Corpus {
    /// Encodes a typed text. If all tokens of the vocabulary are single symbols, the text may be written without blanks
    /// between them, and blanks that the vocabulary lacks are dropped.
    ///
    /// # Errors
    /// If the vocabulary knows nothing of the text, or, if its tokens are single symbols, not all of it.
    pub fn encode_typed(&self, text: &str) -> Result<Vec<u32>, CorpusError> {
        let symbols = self.tokenizer.symbols();
        let text = match &symbols {
            Some(symbols) => {
                let kept = text.chars().filter(|c| !c.is_whitespace() || symbols.contains(*c));
                // a tokeniser of words takes symbols without blanks between them for one word
                let separator = if matches!(self.tokenizer, Tokenizer::Word(_)) { " " } else { "" };
                kept.map(String::from).collect::<Vec<_>>().join(separator)
            }
            None => text.to_owned(),
        };
        let ids = self.try_encode(&text)?;
        let unknown = ids.iter().filter(|id| self.tokenizer.is_unknown(**id)).count();
        let passage = self.passage(0, MAX_SUGGESTED_TOKENS);
        // if a single token is requested, a longer suggestion would not help
        let offered = &passage[..passage.len().min(MAX_SUGGESTED_TOKENS).min(ids.len())];
        let message = match symbols {
            Some(symbols) if unknown > 0 => {
                let example: String = offered.iter().map(|id| self.token_text(*id)).collect();
                format!("The model reads the symbols {symbols} and no others: type for example {example}")
            }
            None if unknown > 0 && unknown == ids.len() => {
                let example = self.decode(offered);
                format!("Nothing of this is in the vocabulary of the text: type for example {example}")
            }
            _ => return Ok(ids),
        };
        Err(CorpusError::new(message))
    }
}

impl Inventory<String> {
    /// True if every word is a single character, some letter or digit among them.
    fn is_symbolic(&self) -> bool {
        let is_single = |s: &String| s.chars().nth(1).is_none();
        self.symbols.iter().all(is_single) && self.symbols.iter().any(|s| s.chars().all(char::is_alphanumeric))
    }
}

impl Tokenizer {
    /// The symbols, in their order, of a vocabulary whose tokens are single characters other than white space; `None`
    /// for other vocabularies.
    fn symbols(&self) -> Option<String> {
        let mut symbols: Vec<char> = match self {
            Self::Char(known) => known.symbols.clone(),
            // the end of a line is a word of its own
            Self::Word(known) if known.is_symbolic() => {
                known.symbols.iter().flat_map(|s| s.chars()).filter(|c| !c.is_whitespace()).collect()
            }
            _ => return None,
        };
        symbols.sort_unstable();
        let has_space = symbols.iter().any(|c| c.is_whitespace());
        (!has_space && !symbols.is_empty()).then(|| symbols.into_iter().collect())
    }

    fn is_unknown(&self, id: u32) -> bool {
        id == 0 && matches!(self, Self::Char(_) | Self::Word(_) | Self::Spaced(_) | Self::Whitespace(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::{CorpusSpec, Source, Task, TokenizerSpec, generated};

    fn open(id: &str, tokenizer: TokenizerSpec) -> Corpus {
        let source = Source::Task(Task { id: id.to_owned(), spacing: 0, answers_only: true });
        Corpus::open(&CorpusSpec::new(source, tokenizer)).unwrap()
    }

    #[test]
    fn what_a_hint_quotes_can_be_typed() {
        let word = TokenizerSpec::Word { max_vocab: 64 };
        let char = TokenizerSpec::Char { max_vocab: 64 };
        for (id, tokenizer) in
            [("facts_symbols", &word), ("facts_symbols", &char), ("mqar_easy", &char), ("repeat_after_me", &char)]
        {
            let corpus = open(id, tokenizer.clone());
            let hint = generated::by_id(id).and_then(|g| g.questions()).unwrap().how_to_read;
            let quoted: Vec<&str> = hint.split('\u{201c}').skip(1).filter_map(|q| q.split('\u{201d}').next()).collect();
            assert!(!quoted.is_empty(), "{id}");
            for text in quoted {
                let ids = corpus.encode_typed(text).unwrap();
                assert_eq!(ids.len(), text.chars().count(), "{id}: {text}");
                if corpus.tokenizer.symbols().is_none() {
                    continue; // a blank is a symbol of its own
                }
                let spaced: String = text.chars().flat_map(|c| [c, ' ']).collect();
                assert_eq!(corpus.encode_typed(&spaced).unwrap(), ids, "{id}: {spaced}");
            }
        }
    }

    #[test]
    fn a_sentence_is_refused_by_symbols_with_text_that_they_take() {
        let corpus = open("facts_symbols", TokenizerSpec::Word { max_vocab: 64 });
        let said = corpus.encode_typed("the zebra sleeps").unwrap_err().to_string();
        assert!(said.contains("#0123456789?abcdefghijklmnop"), "{said}");
        let offered = said.rsplit(' ').next().unwrap();
        assert_eq!(corpus.encode_typed(offered).unwrap().len(), MAX_SUGGESTED_TOKENS);
        let said = corpus.encode_typed("x").unwrap_err().to_string();
        let offered = said.rsplit(' ').next().unwrap();
        assert_eq!(corpus.encode_typed(offered).unwrap().len(), 1, "one token for one: {said}");
    }
}
