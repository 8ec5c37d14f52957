//! Text to ids and back: bytes, characters, words; characters of fixed ids are in [`super::characters`], byte pairs and
//! Hugging Face files are in [`super::subword`].

use super::{
    CorpusError, TokenizerSpec,
    characters::Characters,
    subword::Subword,
    text_file::Encoding,
    visible::{join_bytes, visible},
};
use std::collections::HashMap;

pub(super) enum Tokenizer {
    Byte { vocab: usize, encoding: Encoding },
    Char(Inventory<char>),
    Characters(Characters),
    Word(Inventory<String>),
    Spaced(Inventory<String>),
    Whitespace(Inventory<String>),
    Listed(WordList),
    Subword(Box<Subword>),
}

/// The symbols of a character or word tokeniser. Id 0 stands for every symbol that is not listed.
pub(super) struct Inventory<S> {
    pub(super) symbols: Vec<S>,
    ids: HashMap<S, u32>,
}

impl<S: Clone + Eq + std::hash::Hash + Ord> Inventory<S> {
    /// The most frequent symbols, at most `max - 1` of them; ties in their natural order.
    fn count(symbols: impl Iterator<Item = S>, max: usize) -> Self {
        let mut counts: HashMap<S, u64> = HashMap::new();
        for s in symbols {
            *counts.entry(s).or_default() += 1;
        }
        let mut all: Vec<(S, u64)> = counts.into_iter().collect();
        all.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        all.truncate(max.saturating_sub(1));
        let symbols: Vec<S> = all.into_iter().map(|(s, _)| s).collect();
        let ids = symbols.iter().cloned().zip(1..).collect();
        Self { symbols, ids }
    }

    fn id(&self, symbol: &S) -> u32 {
        self.ids.get(symbol).copied().unwrap_or(0)
    }

    fn symbol(&self, id: u32) -> Option<&S> {
        self.symbols.get((id as usize).checked_sub(1)?)
    }
}

/// Words that are known beforehand; a word's id is its place.
pub(super) struct WordList {
    words: Vec<String>,
    ids: HashMap<String, u32>,
}

impl WordList {
    fn new(words: &[String]) -> Result<Self, CorpusError> {
        let ids: HashMap<String, u32> = words.iter().cloned().zip(0..).collect();
        if words.is_empty() || ids.len() < words.len() {
            return Err(CorpusError::new("A list of words needs at least one word, and none of them twice."));
        }
        Ok(Self { words: words.to_vec(), ids })
    }

    fn encode(&self, text: &str) -> Result<Vec<u32>, CorpusError> {
        let id = |word: &str| {
            self.ids.get(word).copied().ok_or_else(|| {
                let count = self.words.len();
                CorpusError::new(format!(
                    "`{word}` is not among the {count} words of this vocabulary: use one of them."
                ))
            })
        };
        words(text).filter(|word| *word != "\n").map(id).collect()
    }

    fn word(&self, id: u32) -> Option<&str> {
        self.words.get(id as usize).map(String::as_str)
    }
}

impl Tokenizer {
    /// Makes the tokeniser; those that learn from text ask `sample` for some of the training part.
    /// Errors: vocabulary too small, tokenizer.json missing or invalid.
    pub(super) fn open(
        spec: &TokenizerSpec,
        encoding: Encoding,
        sample: impl FnOnce() -> Result<String, CorpusError>,
    ) -> Result<Self, CorpusError> {
        let at_least = |vocab: usize, least: usize, what: &str| {
            if vocab >= least {
                return Ok(());
            }
            Err(CorpusError::new(format!("A {what} tokeniser needs a vocabulary of at least {least}, not {vocab}.")))
        };
        Ok(match spec {
            TokenizerSpec::Byte { vocab } => {
                at_least(*vocab, 256, "byte")?;
                Self::Byte { vocab: *vocab, encoding }
            }
            TokenizerSpec::Char { max_vocab } => {
                at_least(*max_vocab, 2, "character")?;
                Self::Char(Inventory::count(sample()?.chars(), *max_vocab))
            }
            TokenizerSpec::SortedChar { max_vocab } => {
                let all = Characters::sorted(sample()?.chars());
                let has = all.len();
                if has > *max_vocab {
                    return Err(CorpusError::new(format!(
                        "The text has {has} distinct characters, and the vocabulary may have {max_vocab}: allow more \
                         (`corpus.vocab`), or read bytes."
                    )));
                }
                Self::Characters(all)
            }
            TokenizerSpec::Characters(path) => Self::Characters(Characters::load(path)?),
            TokenizerSpec::Word { max_vocab } => {
                at_least(*max_vocab, 2, "word")?;
                Self::Word(Inventory::count(words(&sample()?).map(str::to_owned), *max_vocab))
            }
            TokenizerSpec::Spaced { max_vocab } => {
                at_least(*max_vocab, 3, "word-and-space")?;
                Self::Spaced(Inventory::count(pieces(&sample()?).map(str::to_owned), *max_vocab))
            }
            TokenizerSpec::Whitespace { max_vocab } => {
                at_least(*max_vocab, 2, "whitespace")?;
                Self::Whitespace(Inventory::count(sample()?.split_whitespace().map(str::to_owned), *max_vocab))
            }
            TokenizerSpec::Listed { words } => Self::Listed(WordList::new(words)?),
            TokenizerSpec::Bpe { vocab } => {
                at_least(*vocab, 257, "byte-pair")?;
                Self::Subword(Box::new(Subword::train(&sample()?, *vocab)?))
            }
            TokenizerSpec::HuggingFace(path) => Self::Subword(Box::new(Subword::load(path)?)),
        })
    }

    /// A description: "bytes", "characters (66)".
    pub(super) fn describe(&self) -> String {
        match self {
            Self::Byte { .. } => "bytes".into(),
            Self::Char(_) => format!("characters ({})", self.vocab()),
            Self::Characters(all) => format!("{} characters by code point or list", all.len()),
            Self::Word(_) | Self::Whitespace(_) => format!("words ({})", self.vocab()),
            Self::Spaced(_) => format!("words and spaces ({})", self.vocab()),
            Self::Listed(_) => format!("{} listed words", self.vocab()),
            Self::Subword(s) => format!("{} ({})", s.kind(), self.vocab()),
        }
    }

    pub(super) fn vocab(&self) -> usize {
        match self {
            Self::Byte { vocab, .. } => *vocab,
            Self::Char(i) => i.symbols.len() + 1,
            Self::Characters(all) => all.len(),
            Self::Word(i) | Self::Spaced(i) | Self::Whitespace(i) => i.symbols.len() + 1,
            Self::Listed(list) => list.words.len(),
            Self::Subword(s) => s.vocab(),
        }
    }

    pub(super) fn encode(&self, text: &str) -> Result<Vec<u32>, CorpusError> {
        Ok(match self {
            Self::Byte { encoding, .. } => encoding.bytes(text).into_iter().map(u32::from).collect(),
            Self::Char(i) => text.chars().map(|c| i.id(&c)).collect(),
            Self::Characters(all) => all.encode(text)?,
            Self::Word(i) => words(text).map(|w| i.ids.get(w).copied().unwrap_or(0)).collect(),
            Self::Spaced(i) => pieces(text).map(|w| i.ids.get(w).copied().unwrap_or(0)).collect(),
            Self::Whitespace(i) => text.split_whitespace().map(|w| i.ids.get(w).copied().unwrap_or(0)).collect(),
            Self::Listed(list) => list.encode(text)?,
            Self::Subword(s) => s.encode(text)?,
        })
    }

    /// The text between two sentences that are read as one: the separator of a tokenizer.json that has one, a line
    /// break, or a space where the vocabulary has no line break.
    pub(super) fn separator(&self) -> Result<Vec<u32>, CorpusError> {
        if let Self::Subword(subword) = self
            && let Some(id) = subword.separator()
        {
            return Ok(vec![id]);
        }
        match self.encode("\n") {
            Ok(ids) if !ids.is_empty() => Ok(ids),
            _ => self.encode(" "),
        }
    }

    pub(super) fn decode(&self, ids: &[u32]) -> String {
        match self {
            Self::Byte { encoding, .. } => {
                let bytes: Vec<u8> = ids.iter().filter_map(|&id| u8::try_from(id).ok()).collect();
                encoding.text(&bytes).into_owned()
            }
            Self::Char(i) => ids.iter().map(|&id| i.symbol(id).copied().unwrap_or('\u{FFFD}')).collect(),
            Self::Characters(all) => ids.iter().map(|&id| all.symbol(id).unwrap_or("\u{FFFD}")).collect(),
            Self::Word(i) | Self::Whitespace(i) => {
                join_words(ids.iter().map(|&id| i.symbol(id).map_or("\u{FFFD}", String::as_str)))
            }
            Self::Spaced(i) => ids.iter().map(|&id| i.symbol(id).map_or("\u{FFFD}", String::as_str)).collect(),
            Self::Listed(list) => join_words(ids.iter().map(|&id| list.word(id).unwrap_or("\u{FFFD}"))),
            Self::Subword(s) => s.decode(ids),
        }
    }

    /// The bytes that these ids stand for; of words without what was between them.
    pub(super) fn decode_bytes(&self, ids: &[u32]) -> Vec<u8> {
        match self {
            Self::Byte { .. } => ids.iter().filter_map(|id| u8::try_from(*id).ok()).collect(),
            _ => self.decode(ids).into_bytes(),
        }
    }

    /// The text of one id on a token axis: never empty, never a bare space or line break.
    pub(super) fn token_text(&self, id: u32) -> String {
        match self {
            Self::Byte { encoding, .. } => match u8::try_from(id) {
                Ok(byte) if byte.is_ascii() || *encoding == Encoding::Latin1 => visible(&char::from(byte).to_string()),
                Ok(byte) => format!("\\x{byte:02x}"),
                Err(_) => format!("<{id}>"),
            },
            Self::Char(i) => i.symbol(id).map_or_else(|| unknown(id), |c| visible(&c.to_string())),
            Self::Characters(all) => all.symbol(id).map_or_else(|| format!("<{id}>"), visible),
            Self::Word(i) | Self::Spaced(i) | Self::Whitespace(i) => {
                i.symbol(id).map_or_else(|| unknown(id), |w| visible(w))
            }
            Self::Listed(list) => list.word(id).map_or_else(|| format!("<{id}>"), visible),
            Self::Subword(s) => s.token_text(id),
        }
    }

    /// The text of each id on a token axis: that of [`Tokenizer::token_text`], except for bytes that make a character
    /// together: the first shows it and the others are empty.
    pub(super) fn token_texts(&self, ids: &[u32]) -> Vec<String> {
        let mut shown: Vec<String> = ids.iter().map(|id| self.token_text(*id)).collect();
        if matches!(self, Self::Byte { encoding: Encoding::Utf8, .. }) {
            join_bytes(ids, &mut shown);
        }
        shown
    }

    /// Ids below this can be in a text.
    pub(super) fn decodable_vocab(&self) -> usize {
        match self {
            Self::Byte { .. } => 256,
            _ => self.vocab(),
        }
    }
}

fn unknown(id: u32) -> String {
    if id == 0 { "<unk>".into() } else { format!("<{id}>") }
}

/// Cuts text into words (with inner hyphens and apostrophes), single marks, and line breaks; other
/// white space only separates.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() && c != '\n');
        take_word(&mut rest)
    })
}

/// Same as [`words`], with every white space between them.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || take_word(&mut rest))
}

/// Cuts off the first word, or the first character if the text does not begin with a word.
fn take_word<'t>(rest: &mut &'t str) -> Option<&'t str> {
    let first = rest.chars().next()?;
    let end = if first.is_alphanumeric() { word_end(rest) } else { first.len_utf8() };
    let (word, after) = rest.split_at(end);
    *rest = after;
    Some(word)
}

/// Bytes of the word that `text` begins with.
fn word_end(text: &str) -> usize {
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let joins = matches!(c, '-' | '\'' | '\u{2019}') && chars.peek().is_some_and(|(_, n)| n.is_alphanumeric());
        if !c.is_alphanumeric() && !joins {
            return at;
        }
    }
    text.len()
}

/// Joins words into text: no space before a closing mark or after an opening one; straight quotes open and close in
/// turn and start again with each line.
fn join_words<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let mut out = String::new();
    let (mut glue, mut quoted) = (true, false);
    for word in words {
        let closing = matches!(word, "." | "," | ";" | ":" | "?" | "!" | ")" | "]" | "\u{201D}" | "\n");
        let closing = closing || (word == "\"" && quoted);
        if !glue && !closing {
            out.push(' ');
        }
        out.push_str(word);
        match word {
            "\n" => (glue, quoted) = (true, false),
            "\"" => {
                quoted = !quoted;
                glue = quoted;
            }
            _ => glue = matches!(word, "(" | "[" | "\u{201C}"),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn open(spec: TokenizerSpec, text: &str) -> Tokenizer {
        Tokenizer::open(&spec, Encoding::Utf8, || Ok(text.to_owned())).unwrap()
    }

    const PAGE: &str =
        "\"Is it far?\" asked Mara. \"No,\" said Ivo, \"not far.\"\n\nThe well-kept path (it's old) led on.";

    #[test]
    fn words_keep_hyphens_and_apostrophes_and_join_back() {
        let t = open(TokenizerSpec::Word { max_vocab: 100 }, PAGE);
        let ids = t.encode(PAGE).unwrap();
        assert_eq!(t.decode(&ids), PAGE);
        assert!(words(PAGE).any(|w| w == "well-kept") && words(PAGE).any(|w| w == "it's"));
        assert_eq!(t.encode("zebra").unwrap(), [0]);
        assert_eq!(t.token_text(0), "<unk>");
    }

    #[test]
    fn spaces_between_words_can_be_tokens() {
        let t = open(TokenizerSpec::Spaced { max_vocab: 100 }, PAGE);
        assert_eq!(t.decode(&t.encode(PAGE).unwrap()), PAGE);
        let shown: Vec<String> = t.encode(" far (it's").unwrap().iter().map(|&id| t.token_text(id)).collect();
        assert_eq!(shown, ["\u{b7}", "far", "\u{b7}", "(", "it's"]);
    }

    #[test]
    fn words_may_be_taken_as_white_space_separates_them() {
        let t = open(TokenizerSpec::Whitespace { max_vocab: 3 }, "do n't 's ... 's\nn't");
        assert_eq!((t.encode("'s  n't\n... U.S.").unwrap(), t.vocab()), (vec![1, 2, 0, 0], 3));
    }

    #[test]
    fn the_rarest_characters_share_one_id() {
        let t = open(TokenizerSpec::Char { max_vocab: 3 }, "aaabbc");
        assert_eq!(t.encode("abcz").unwrap(), [1, 2, 0, 0]);
        assert_eq!(t.vocab(), 3);
    }

    #[test]
    fn no_token_is_shown_as_blank() {
        let t = open(TokenizerSpec::Byte { vocab: 320 }, "");
        for id in 0..320 {
            let shown = t.token_text(id);
            assert!(
                !shown.is_empty() && !shown.chars().any(|c| c.is_whitespace() || c.is_control()),
                "{id}: {shown:?}"
            );
        }
        assert_eq!([t.token_text(32), t.token_text(10), t.token_text(0xE9)], ["·", "¶", "\\xe9"]);
    }

    #[test]
    fn bytes_that_make_a_character_show_it_together() {
        let t = open(TokenizerSpec::Byte { vocab: 320 }, "");
        let ids = t.encode("a \u{e9}\u{20ac}.").unwrap();
        assert_eq!(t.token_texts(&ids), ["a", "\u{b7}", "\u{e9}", "", "\u{20ac}", "", "", "."]);
        let latin =
            Tokenizer::open(&TokenizerSpec::Byte { vocab: 256 }, Encoding::Latin1, || Ok(String::new())).unwrap();
        assert_eq!(latin.token_texts(&[0xE9]), ["\u{e9}"]);
        assert_eq!((t.decodable_vocab(), t.vocab()), (256, 320));
    }

    #[test]
    fn a_separator_is_one_of_the_vocabulary() {
        let bytes = open(TokenizerSpec::Byte { vocab: 256 }, "");
        assert_eq!(bytes.separator().unwrap(), [10]);
        let lines = open(TokenizerSpec::SortedChar { max_vocab: 9 }, "a b\n");
        assert_eq!(lines.decode(&lines.separator().unwrap()), "\n");
        let spaces = open(TokenizerSpec::SortedChar { max_vocab: 9 }, "a b");
        assert_eq!(spaces.decode(&spaces.separator().unwrap()), " ");
        let neither = open(TokenizerSpec::SortedChar { max_vocab: 9 }, "ab");
        assert!(neither.separator().unwrap_err().to_string().contains("missing from the vocabulary"));
    }

    #[test]
    fn a_list_of_words_knows_those_alone() {
        let list = |words: &[&str]| TokenizerSpec::Listed { words: words.iter().map(|w| (*w).to_owned()).collect() };
        let t = open(list(&["the", "cat", "sleeps"]), "");
        assert_eq!((t.encode("the cat\nsleeps").unwrap(), t.vocab()), (vec![0, 1, 2], 3));
        assert_eq!((t.decode(&[2, 0]), t.token_text(1)), ("sleeps the".into(), "cat".into()));
        let unknown = t.encode("the zebra sleeps").unwrap_err().to_string();
        assert!(unknown.contains("`zebra`") && unknown.contains("3 words"), "{unknown}");
        let open_twice = Tokenizer::open(&list(&["the", "the"]), Encoding::Utf8, || Ok(String::new()));
        assert!(open_twice.err().unwrap().to_string().contains("twice"));
    }

    #[test]
    fn too_small_a_vocabulary_says_so() {
        let error =
            Tokenizer::open(&TokenizerSpec::Byte { vocab: 100 }, Encoding::Utf8, || Ok(String::new())).err().unwrap();
        assert!(error.to_string().contains("at least 256"), "{error}");
    }

    proptest! {
        #[test]
        fn bytes_and_characters_come_back(text in "\\PC{0,80}") {
            let bytes = open(TokenizerSpec::Byte { vocab: 256 }, "");
            prop_assert_eq!(bytes.decode(&bytes.encode(&text).unwrap()), text.clone());
            let chars = open(TokenizerSpec::Char { max_vocab: 1000 }, &text);
            prop_assert_eq!(chars.decode(&chars.encode(&text).unwrap()), text);
        }

        #[test]
        fn word_ids_come_back(picks in prop::collection::vec(1u32..18, 0..40)) {
            let t = open(TokenizerSpec::Word { max_vocab: 100 }, PAGE);
            prop_assert_eq!(t.encode(&t.decode(&picks)).unwrap(), picks);
        }

        #[test]
        fn latin1_comes_back(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let t = Tokenizer::open(&TokenizerSpec::Byte { vocab: 256 }, Encoding::Latin1, || Ok(String::new())).unwrap();
            let ids: Vec<u32> = bytes.iter().map(|&b| u32::from(b)).collect();
            prop_assert_eq!(t.encode(&t.decode(&ids)).unwrap(), ids);
        }
    }
}
