//! A text as a stream of windows: cut once into a training part and a held-out part. Windows are read out of
//! it when they are asked for, so that a file may be larger than the memory.

use super::{
    CorpusError, Position, Windows,
    chunks::{self, TextChunk, TextSpan},
    omission::Omission,
    stream::{BatchShape, Stream},
    text_file::{CharPosition, Encoding, TextFile, TextSlice},
    tokenizer::Tokenizer,
    windows::{self, TextPart},
};
use crate::files::memory::size;

/// A text and the byte that separates its training part from its held-out part.
pub(super) struct Text {
    /// The name of the corpus, for messages.
    name: String,
    file: TextFile,
    /// The first held-out byte.
    split: usize,
    /// Mean number of bytes of an id, once the tokeniser is known.
    bytes_per_id: f64,
}

impl Text {
    /// Holds out the last fraction of the text.
    pub(super) fn split(name: String, file: TextFile, held_out: f64) -> Result<Self, CorpusError> {
        let split = windows::split(file.full_text(), held_out)?;
        Ok(Self { name, file, split, bytes_per_id: 1.0 })
    }

    fn span(&self, span: TextSpan) -> TextSlice<'_> {
        match span {
            TextSpan::Training => self.file.slice(0, self.split),
            TextSpan::HeldOut => self.file.slice(self.split, self.file.len()),
            TextSpan::Whole => self.file.full_text(),
        }
    }

    /// The result of reading, if the text was the same before and after.
    fn read_unchanged<T>(&self, read: impl FnOnce() -> Result<T, CorpusError>) -> Result<T, CorpusError> {
        self.file.check_unchanged()?;
        let read = read()?;
        self.file.check_unchanged()?;
        Ok(read)
    }

    fn part<'a>(&'a self, span: TextSpan, tokenizer: &'a Tokenizer) -> TextPart<'a> {
        TextPart {
            name: &self.name,
            span_name: if span == TextSpan::HeldOut { "held-out" } else { "training" },
            text: self.span(span),
            tokenizer,
            bytes_per_id: self.bytes_per_id,
        }
    }
}

impl Stream for Text {
    fn describe(&self) -> String {
        let size = size(self.file.len() as u64);
        let encoding = self.file.encoding;
        if encoding == Encoding::Latin1 { format!("{size}, {}", encoding.name()) } else { size }
    }

    fn sample(&self) -> Result<String, CorpusError> {
        windows::sample(self.span(TextSpan::Training))
    }

    /// Finds a character in the whole text, its held-out part too.
    fn find_char(&self, wanted: &mut dyn FnMut(char) -> bool) -> Result<Option<CharPosition>, CorpusError> {
        self.read_unchanged(|| self.file.full_text().find_char(wanted))
    }

    /// The remaining text is kept in memory. The held-out part of the whole text stays held out.
    fn leave_out(&mut self, is_known: &dyn Fn(char) -> bool) -> Result<Option<Omission>, CorpusError> {
        let mut omission = Omission::default();
        let mut strip = |part: TextSlice<'_>| -> Result<String, CorpusError> {
            Ok(omission.strip(&part.encoding().text(&part.bytes(0, part.len())?), is_known))
        };
        let mut rest = strip(self.span(TextSpan::Training))?;
        let split = rest.len();
        rest.push_str(&strip(self.span(TextSpan::HeldOut))?);
        (self.file, self.split) = (TextFile::from_string(rest), split);
        Ok(Some(omission))
    }

    fn encoding(&self) -> Encoding {
        self.file.encoding
    }

    fn measure(&mut self, tokenizer: &Tokenizer) -> Result<(), CorpusError> {
        self.bytes_per_id = windows::bytes_per_id(self.span(TextSpan::Training), tokenizer)?;
        Ok(())
    }

    fn batch(&self, tokenizer: &Tokenizer, at: &Position, rows: usize, len: usize) -> Result<Windows, CorpusError> {
        let ids = self.read_unchanged(|| self.part(TextSpan::Training, tokenizer).batch(at, rows, len))?;
        Ok(Windows::from_rows(&ids, len))
    }

    fn batch_along(
        &self,
        tokenizer: &Tokenizer,
        at: &Position,
        BatchShape { rows, len }: BatchShape,
        every: u64,
    ) -> Result<Option<Windows>, CorpusError> {
        let every = every.max(1);
        let stretch = usize::try_from(every).ok().and_then(|n| n.checked_mul(len)).unwrap_or(usize::MAX / 4);
        let position = Position { seed: at.seed, drawn: at.drawn / every };
        let training = self.part(TextSpan::Training, tokenizer);
        let stretches = self.read_unchanged(|| training.batch(&position, rows, stretch))?;
        let from = (at.drawn % every) as usize * len;
        let ids: Vec<Vec<u32>> = stretches.into_iter().map(|row| row[from..=from + len].to_vec()).collect();
        Ok(Some(Windows::from_rows(&ids, len)))
    }

    fn held_out(&self, tokenizer: &Tokenizer, count: usize, len: usize) -> Result<Windows, CorpusError> {
        let ids = self.read_unchanged(|| self.part(TextSpan::HeldOut, tokenizer).first(count, len))?;
        Ok(Windows::from_rows(&ids, len))
    }

    fn passage(&self, tokenizer: &Tokenizer, index: u64, len: usize) -> Vec<u32> {
        self.read_unchanged(|| self.part(TextSpan::HeldOut, tokenizer).passage(index, len)).unwrap_or_default()
    }

    fn span_bytes(&self, span: TextSpan) -> usize {
        self.span(span).len()
    }

    fn chunk(&self, tokenizer: &Tokenizer, span: TextSpan, from: usize) -> Result<Option<TextChunk>, CorpusError> {
        self.read_unchanged(|| chunks::chunk(self.span(span), from, tokenizer))
    }
}
