//! Tokenisers through the `tokenizers` crate: byte pairs learned from a text, and Hugging Face `tokenizer.json` files.

mod bounds;

use std::{
    cell::Cell,
    panic::{self, AssertUnwindSafe},
    sync::Once,
};

use tokenizers::{
    DecoderWrapper, NormalizerWrapper, PostProcessorWrapper, PreTokenizerWrapper, TokenizerBuilder,
    models::bpe::{BPE, BpeTrainer},
    pre_tokenizers::byte_level::ByteLevel,
};

use super::{prelude::*, text_file::read_whole, visible::visible};

/// A tokenizer.json larger than this is something else; the largest that are known have a fifth of it.
const LARGEST_JSON: u64 = 128 << 20;
/// The library's memory for a tokenizer.json, at most about this many times its bytes.
const JSON_GROWTH: u64 = 48;
/// Text is handed to the trainer in pieces of about this many bytes.
const TRAINER_CHUNK_BYTES: usize = 4 << 10;

pub(super) struct Subword {
    inner: tokenizers::Tokenizer,
    kind: &'static str,
    /// Its name in messages: its file, or its kind.
    name: String,
    vocab: usize,
    /// The byte each character of a byte-level token stands for; none where tokens are plain text.
    bytes: Option<HashMap<char, u8>>,
}

impl Subword {
    /// Learns byte pairs; the same text gives the same tokens.
    pub(super) fn train(text: &str, vocab: usize) -> Result<Self, CorpusError> {
        let failed = |e: tokenizers::Error| {
            CorpusError::with_source(format!("The byte-pair tokeniser could not be trained: {e}."), e)
        };
        let level = ByteLevel::new(false, true, true);
        let mut inner =
            TokenizerBuilder::<BPE, NormalizerWrapper, PreTokenizerWrapper, PostProcessorWrapper, DecoderWrapper>::new(
            )
            .with_model(BPE::default())
            .with_pre_tokenizer(Some(PreTokenizerWrapper::ByteLevel(level)))
            .with_decoder(Some(DecoderWrapper::ByteLevel(level)))
            .build()
            .map_err(failed)?;
        let mut trainer = BpeTrainer::builder()
            .vocab_size(vocab)
            .show_progress(false)
            .initial_alphabet(ByteLevel::alphabet().into_iter().collect())
            .build();
        inner.train(&mut trainer, pieces(text)).map_err(failed)?;
        let json = inner.to_string(false).map_err(failed)?;
        Self::from_json(json.as_bytes(), "byte pairs").map_err(failed)
    }

    /// An estimate of the memory, in bytes, of a loaded tokenizer.json of this length.
    pub(super) fn memory(length: u64) -> u64 {
        length.saturating_mul(JSON_GROWTH)
    }

    /// Loads a tokenizer.json. Errors: missing, not readable, too large, not valid.
    pub(super) fn load(path: &Path) -> Result<Self, CorpusError> {
        let here = path.display();
        let misfit =
            |e: &FileError| format!("{here} is not a tokenizer.json: {e}. Choose the file named tokenizer.json.");
        let json = read_whole(path, LARGEST_JSON, JSON_GROWTH, misfit)?;
        Self::from_bytes(&json, &here.to_string())
    }

    /// Builds a tokeniser from the text of a tokenizer.json that is called `name` in messages.
    pub(super) fn from_bytes(json: &[u8], name: &str) -> Result<Self, CorpusError> {
        let checked = bounds::check(json).and_then(|()| guarded(|| Self::from_json(json, "tokenizer.json")));
        checked.map(|made| Self { name: name.to_owned(), ..made }).map_err(|e| {
            let words =
                format!("{name} is not a valid Hugging Face tokenizer.json ({e}): download it again, or choose bytes.");
            CorpusError::with_source(words, e)
        })
    }

    fn from_json(json: &[u8], kind: &'static str) -> tokenizers::Result<Self> {
        let mut inner = tokenizers::Tokenizer::from_bytes(json)?;
        // Windows are cut by us: a file's own truncation or padding must not act on them.
        inner.with_truncation(None)?;
        inner.with_padding(None);
        let tokens = inner.get_vocab(true);
        let vocab = bounds::vocabulary(tokens.len(), tokens.into_values().max())?;
        let byte_level = matches!(inner.get_decoder(), Some(DecoderWrapper::ByteLevel(_)));
        Ok(Self { inner, kind, name: kind.to_owned(), vocab, bytes: byte_level.then(byte_of_char) })
    }

    pub(super) fn kind(&self) -> &'static str {
        self.kind
    }

    pub(super) fn vocab(&self) -> usize {
        self.vocab
    }

    pub(super) fn encode(&self, text: &str) -> Result<Vec<u32>, CorpusError> {
        let encoding = guarded(|| self.inner.encode_fast(text, false)).map_err(|e| {
            CorpusError::new(format!(
                "The tokeniser ({}) cannot encode part of this text ({e}): choose bytes or byte pairs.",
                self.name
            ))
        })?;
        Ok(encoding.get_ids().to_vec())
    }

    /// The token that ends a sentence or text: BERT's, that of T5 and RoBERTa, or GPT's.
    pub(super) fn separator(&self) -> Option<u32> {
        ["[SEP]", "</s>", "<|endoftext|>"].into_iter().find_map(|token| self.inner.token_to_id(token))
    }

    pub(super) fn decode(&self, ids: &[u32]) -> String {
        guarded(|| self.inner.decode(ids, false)).unwrap_or_default()
    }

    pub(super) fn token_text(&self, id: u32) -> String {
        let Some(token) = self.inner.id_to_token(id) else { return format!("<{id}>") };
        let Some(table) = &self.bytes else { return visible(&token.replace('\u{2581}', " ")) };
        let Some(bytes) = token.chars().map(|c| table.get(&c).copied()).collect::<Option<Vec<u8>>>() else {
            return visible(&token);
        };
        // Whole characters as themselves, pieces of characters as their codes.
        let mut out = String::new();
        for chunk in bytes.utf8_chunks() {
            out.push_str(&visible(chunk.valid()));
            chunk.invalid().iter().for_each(|b| out.push_str(&format!("\\x{b:02x}")));
        }
        if out.is_empty() { format!("<{id}>") } else { out }
    }
}

thread_local! {
    /// True while this thread is inside the library, whose panics become errors of the file.
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// The result of the library; a panic inside it is an error of the file that it works from.
fn guarded<T>(work: impl FnOnce() -> tokenizers::Result<T>) -> tokenizers::Result<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !GUARDED.get() {
                before(info);
            }
        }));
    });
    let outer = GUARDED.replace(true);
    let result = panic::catch_unwind(AssertUnwindSafe(work));
    GUARDED.set(outer);
    result.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().map(|s| (*s).to_owned());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
        Err(format!("the tokenizers library cannot work with it: {text}").into())
    })
}

/// The inverse of GPT-2's table of printable stand-ins for bytes: printable Latin-1 bytes are
/// themselves, the others stand from U+0100 on in their order.
fn byte_of_char() -> HashMap<char, u8> {
    let mut next = 0x100u32;
    let mut table = HashMap::with_capacity(256);
    for byte in 0..=255u8 {
        let itself = matches!(byte, b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF);
        let code = if itself { u32::from(byte) } else { next };
        next += u32::from(!itself);
        table.extend(char::from_u32(code).map(|c| (c, byte)));
    }
    table
}

/// Text in pieces that end at a white space where there is one.
fn pieces(text: &str) -> impl Iterator<Item = &str> + Send {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let mut end = rest.ceil_char_boundary(TRAINER_CHUNK_BYTES);
        end += rest[end..].find(char::is_whitespace).filter(|&gap| gap < TRAINER_CHUNK_BYTES).unwrap_or(0);
        let (piece, after) = rest.split_at(end);
        rest = after;
        Some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::sync::OnceLock;

    fn trained() -> &'static Subword {
        static ONE: OnceLock<Subword> = OnceLock::new();
        ONE.get_or_init(|| Subword::train(&"The tide turned, and the harbour filled again. ".repeat(40), 300).unwrap())
    }

    #[test]
    fn the_same_text_gives_the_same_tokens() {
        let again = Subword::train(&"The tide turned, and the harbour filled again. ".repeat(40), 300).unwrap();
        assert_eq!(again.inner.to_string(false).unwrap(), trained().inner.to_string(false).unwrap());
    }

    #[test]
    fn a_separator_is_the_token_of_the_file() {
        let json = |tokens: &str| {
            format!(
                r#"{{"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"normalizer":null,
                "pre_tokenizer":{{"type":"Whitespace"}},"post_processor":null,"decoder":null,
                "model":{{"type":"WordLevel","vocab":{{{tokens}}},"unk_token":"<unk>"}}}}"#
            )
        };
        let separator = |tokens: &str| Subword::from_bytes(json(tokens).as_bytes(), "here").unwrap().separator();
        assert_eq!(separator(r#""<unk>":0,"</s>":1,"[SEP]":2"#), Some(2));
        assert_eq!(separator(r#""<unk>":0,"</s>":1"#), Some(1));
        assert_eq!((separator(r#""<unk>":0"#), trained().separator()), (None, None));
    }

    #[test]
    fn pairs_are_merged_and_shown() {
        let ids = trained().encode(" harbour").unwrap();
        assert!(ids.len() < 8, "{ids:?}");
        assert!(trained().token_text(ids[0]).starts_with('·'));
    }

    proptest! {
        #[test]
        fn any_text_survives_encoding(text in "\\PC{0,60}") {
            let t = trained();
            prop_assert_eq!(t.decode(&t.encode(&text).unwrap()), text);
        }
    }
}
