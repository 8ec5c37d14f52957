//! Windows of ids from one part of a text: packed, shuffled without a list, read on demand.

use super::{CorpusError, Position, permutation::permute, text_file::TextSlice, tokenizer::Tokenizer};
use crate::random::scramble;

/// The number of bytes from which a tokeniser is trained, and the number of stretches, spread over the part, that they
/// come from.
const SAMPLE: usize = 1 << 20;
const STRETCHES: usize = 16;
/// Text on which the mean length of a token is measured.
const LENGTH_SAMPLE_BYTES: usize = 64 << 10;
/// The distances in bytes within which the start of a word, a paragraph or a sentence is searched for.
const WORD_REACH: usize = 64;
const PARAGRAPH_REACH: usize = 900;
const SENTENCE_REACH: usize = 4 << 10;
/// The largest number of bytes that are read to cut one window, unless 64 per token is more.
const MAX_WINDOW_BYTES: usize = 16 << 20;

/// The first byte of the held-out part: at white space near the fraction, or at least at a character.
pub(super) fn split(text: TextSlice<'_>, held_out: f64) -> Result<usize, CorpusError> {
    let at = (text.len() as f64 * (1.0 - held_out)) as usize;
    word_start(text, at.min(text.len()))
}

/// The next start of a word at or after `at`, or of a character if none is near.
fn word_start(text: TextSlice<'_>, at: usize) -> Result<usize, CorpusError> {
    let Some(before) = at.checked_sub(1) else { return Ok(at) };
    let (bytes, encoding) = (text.bytes(before, at.saturating_add(WORD_REACH))?, text.encoding());
    let Some((before, near)) = bytes.split_first() else { return Ok(at) };
    if near.first().is_some_and(|&b| encoding.is_char_start(b)) && before.is_ascii_whitespace() {
        return Ok(at);
    }
    Ok(match near.windows(2).position(|w| w[0].is_ascii_whitespace() && !w[1].is_ascii_whitespace()) {
        Some(gap) => at + gap + 1,
        None => at + near.iter().position(|&b| encoding.is_char_start(b)).unwrap_or(0),
    })
}

/// Text for a tokeniser to learn from: all of a small part, stretches of a large one.
pub(super) fn sample(part: TextSlice<'_>) -> Result<String, CorpusError> {
    let encoding = part.encoding();
    if part.len() <= SAMPLE {
        return Ok(encoding.text(&part.bytes(0, part.len())?).into_owned());
    }
    let mut out = String::with_capacity(SAMPLE + SAMPLE / 8);
    for i in 0..STRETCHES {
        let from = word_start(part, (part.len() - SAMPLE / STRETCHES) / (STRETCHES - 1) * i)?;
        let to = word_start(part, (from + SAMPLE / STRETCHES).min(part.len()))?;
        out.push_str(&encoding.text(&part.bytes(from, to)?));
    }
    Ok(out)
}

/// The mean number of bytes of an id (1 for bytes, exactly).
pub(super) fn bytes_per_id(part: TextSlice<'_>, tokenizer: &Tokenizer) -> Result<f64, CorpusError> {
    if matches!(tokenizer, Tokenizer::Byte { .. }) {
        return Ok(1.0);
    }
    let head = part.bytes(0, word_start(part, part.len().min(LENGTH_SAMPLE_BYTES))?)?;
    let ids = tokenizer.encode(&part.encoding().text(&head))?;
    Ok(head.len().max(1) as f64 / ids.len().max(1) as f64)
}

/// The training or the held-out part, ready to be cut.
pub(super) struct TextPart<'a> {
    /// The name of the corpus and the part, for messages.
    pub name: &'a str,
    pub span_name: &'static str,
    pub text: TextSlice<'a>,
    pub tokenizer: &'a Tokenizer,
    pub bytes_per_id: f64,
}

impl TextPart<'_> {
    /// Bytes from one window to the next.
    fn stride(&self, len: usize) -> usize {
        ((len + 1) as f64 * self.bytes_per_id).ceil() as usize
    }

    /// Rows of `len + 1` ids: draws `rows * drawn ..` of the endless shuffled order.
    pub(super) fn batch(&self, at: &Position, rows: usize, len: usize) -> Result<Vec<Vec<u32>>, CorpusError> {
        ensure!(self.text.len() >= len, self.too_short(len.saturating_add(1)));
        let stride = self.stride(len);
        // One window fewer than fits leaves slack, so that each epoch can start its windows at another offset.
        let count = (self.text.len() / stride).saturating_sub(1).max(1);
        let slack = self.text.len().saturating_sub(count * stride).min(stride - 1) as u64;
        (0..rows as u64)
            .map(|row| {
                let draw = at.drawn.wrapping_mul(rows as u64).wrapping_add(row);
                let key = scramble(at.seed ^ scramble(draw / count as u64));
                let phase = scramble(key ^ 1) % (slack + 1);
                let which = permute(draw % count as u64, count as u64, key);
                self.window_at(phase as usize + which as usize * stride, len)
            })
            .collect()
    }

    /// The first windows, packed one behind the other.
    pub(super) fn first(&self, count: usize, len: usize) -> Result<Vec<Vec<u32>>, CorpusError> {
        let stride = self.stride(len);
        let count = count.min((self.text.len() / stride).max(1));
        (0..count).map(|i| self.window_at(i * stride, len)).collect()
    }

    /// The window at this byte: exactly `len + 1` ids. Begins at a word where words are ids, and earlier
    /// if the part would end before the window does.
    fn window_at(&self, at: usize, len: usize) -> Result<Vec<u32>, CorpusError> {
        let need = len + 1;
        if matches!(self.tokenizer, Tokenizer::Byte { .. }) {
            let window = self.text.bytes(at, at.saturating_add(need))?;
            ensure!(window.len() >= need, self.too_short(need));
            return Ok(window.iter().map(|&b| u32::from(b)).collect());
        }
        let mut at = at.min(self.text.len());
        loop {
            let ids = self.ids_from(word_start(self.text, at)?, need)?;
            if ids.len() == need {
                return Ok(ids);
            }
            ensure!(at > 0, self.too_short(need));
            at = at.saturating_sub(self.stride(len).div_ceil(4));
        }
    }

    /// At most `need` ids from this byte on; fewer at the end of the part.
    fn ids_from(&self, from: usize, need: usize) -> Result<Vec<u32>, CorpusError> {
        let mut take = (need as f64 * self.bytes_per_id * 1.3) as usize + 16;
        loop {
            let to = from.saturating_add(take).min(self.text.len());
            let to = if to < self.text.len() { word_start(self.text, to)? } else { to };
            let mut ids = self.tokenizer.encode(&self.text.encoding().text(&self.text.bytes(from, to)?))?;
            if ids.len() >= need || to == self.text.len() {
                ids.truncate(need);
                return Ok(ids);
            }
            if take > MAX_WINDOW_BYTES.max(64 * need) {
                return Err(CorpusError::new(format!(
                    "{} has a stretch of {} bytes with only {} tokens: choose another tokeniser or take that stretch out.",
                    self.name,
                    to - from,
                    ids.len()
                )));
            }
            take *= 2;
        }
    }

    /// About `len` ids from the start of a paragraph or sentence; from the start of the part if it has neither. Empty
    /// if the tokeniser lacks their characters.
    pub(super) fn passage(&self, index: u64, len: usize) -> Result<Vec<u32>, CorpusError> {
        let last = self.text.len().saturating_sub(self.stride(len) + PARAGRAPH_REACH);
        let at = if index == 0 { 0 } else { (scramble(index) % (last as u64 + 1)) as usize };
        let near = self.text.bytes(at, at.saturating_add(SENTENCE_REACH))?;
        let from = paragraph_start(&near).or_else(|| sentence_start(&near)).map_or(at, |gap| at + gap);
        if matches!(self.tokenizer, Tokenizer::Byte { .. }) {
            return Ok(self.text.bytes(from, from.saturating_add(len))?.iter().map(|&b| u32::from(b)).collect());
        }
        self.ids_from(word_start(self.text, from)?, len)
    }

    fn too_short(&self, need: usize) -> CorpusError {
        let have = (self.text.len() as f64 / self.bytes_per_id) as usize;
        CorpusError::new(format!(
            "{} is too short: its {} part has about {have} tokens and one window needs {need}. Choose a longer text, a shorter window{}.",
            self.name,
            self.span_name,
            if self.span_name == "held-out" { ", or hold out more" } else { "" }
        ))
    }
}

/// Bytes to the next paragraph that begins with a letter, or nearly so.
fn paragraph_start(bytes: &[u8]) -> Option<usize> {
    let near = &bytes[..bytes.len().min(PARAGRAPH_REACH)];
    let starts = |w: &[u8]| w.starts_with(b"\n\n") && (w[2].is_ascii_uppercase() || w[2] == b'"');
    near.windows(3).position(starts).map(|gap| gap + 2)
}

/// Bytes to the next sentence: a capital after a closing mark and white space.
fn sentence_start(bytes: &[u8]) -> Option<usize> {
    let near = &bytes[..bytes.len().min(SENTENCE_REACH)];
    let starts = |w: &[u8]| {
        let ended = matches!(w[0], b'.' | b'?' | b'!') || (w[0] == b'"');
        ended && w[1].is_ascii_whitespace() && (w[2].is_ascii_uppercase() || w[2] == b'"')
    };
    near.windows(3).position(starts).map(|gap| gap + 2)
}
