//! A text read from one end to the other, chunk by chunk, so that it may be larger than the memory.

use super::{CorpusError, text_file::Encoding, text_file::TextSlice, tokenizer::Tokenizer};

/// The part of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextSpan {
    /// The training part.
    Training,
    /// The part that is held out of the training.
    HeldOut,
    /// The whole text.
    Whole,
}

/// Some ids in the order of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextChunk {
    /// The ids of the chunk's tokens.
    pub ids: Vec<u32>,
    /// The byte of the span at which the next chunk begins.
    pub end: usize,
}

/// The largest number of bytes of a chunk.
const CHUNK: usize = 64 << 10;
/// The number of bytes before the end of a chunk that are searched for white space, so that no word is split.
const SPLIT_SEARCH: usize = 256;

/// The ids from byte `from` of a span on, about this many bytes of them; `None` at its end. A chunk ends before white space
/// where there is some near, else at a character, so that no token of bytes, characters or words is cut.
pub(super) fn chunk(span: TextSlice<'_>, from: usize, tokenizer: &Tokenizer) -> Result<Option<TextChunk>, CorpusError> {
    if from >= span.len() {
        return Ok(None);
    }
    let (bytes, encoding) = (span.bytes(from, from + CHUNK)?, span.encoding());
    let is_last = from + bytes.len() >= span.len();
    let taken = if is_last { bytes.len() } else { end_of(&bytes, encoding) };
    let ids = match tokenizer {
        Tokenizer::Byte { .. } => bytes[..taken].iter().map(|b| u32::from(*b)).collect(),
        _ => tokenizer.encode(&encoding.text(&bytes[..taken]))?,
    };
    Ok(Some(TextChunk { ids, end: from + taken }))
}

/// The end of a chunk that is cut out of a longer text.
fn end_of(bytes: &[u8], encoding: Encoding) -> usize {
    let near = bytes.len().saturating_sub(SPLIT_SEARCH).max(1);
    let gap = |at: &usize| bytes[*at].is_ascii_whitespace() && !bytes[at - 1].is_ascii_whitespace();
    let char = |at: &usize| encoding.is_char_start(bytes[*at]);
    let backwards = || (near..bytes.len()).rev();
    backwards().find(gap).or_else(|| backwards().find(char)).unwrap_or(bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::{Corpus, CorpusSpec, Source, TokenizerSpec};

    fn open(path: &std::path::Path, tokenizer: TokenizerSpec) -> Corpus {
        Corpus::open(&CorpusSpec { held_out: 0.2, ..CorpusSpec::new(Source::File(path.to_owned()), tokenizer) })
            .unwrap()
    }

    fn all_tokens(corpus: &Corpus, span: TextSpan) -> Vec<u32> {
        let (mut ids, mut from) = (vec![], 0);
        while let Some(chunk) = corpus.chunk(span, from).unwrap() {
            assert!(chunk.end > from);
            from = chunk.end;
            ids.extend(chunk.ids);
        }
        assert_eq!(from, corpus.span_bytes(span));
        ids
    }

    #[test]
    fn pieces_are_the_text_whatever_its_length_and_tokens() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("text.txt");
        let text: String = (0..30_000).map(|i| format!("w\u{e9}{} \u{4e2d}. ", i * 7 % 997)).collect();
        std::fs::write(&path, &text).unwrap();
        for tokenizer in [
            TokenizerSpec::Byte { vocab: 256 },
            TokenizerSpec::Char { max_vocab: 99 },
            TokenizerSpec::Word { max_vocab: 400 },
        ] {
            let corpus = open(&path, tokenizer);
            assert_eq!(all_tokens(&corpus, TextSpan::Whole), corpus.encode(&text));
            let parts = [all_tokens(&corpus, TextSpan::Training), all_tokens(&corpus, TextSpan::HeldOut)].concat();
            assert_eq!(parts, corpus.encode(&text));
        }
    }

    #[test]
    fn a_text_without_white_space_is_cut_at_characters() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("text.txt");
        let text = "\u{4e2d}\u{56fd}".repeat(40_000);
        std::fs::write(&path, &text).unwrap();
        let corpus = open(&path, TokenizerSpec::Char { max_vocab: 9 });
        assert_eq!(all_tokens(&corpus, TextSpan::Whole), corpus.encode(&text));
    }

    #[test]
    fn windows_made_to_order_have_no_pieces() {
        let source = Source::Generated("mqar_easy".into());
        let corpus = Corpus::open(&CorpusSpec::new(source, TokenizerSpec::Byte { vocab: 256 })).unwrap();
        assert_eq!((corpus.chunk(TextSpan::Whole, 0).unwrap(), corpus.span_bytes(TextSpan::Whole)), (None, 0));
    }
}
