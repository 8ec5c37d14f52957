//! The bytes of a corpus: a file or generated text. A few positions of a file are sampled to distinguish text from
//! binary data and UTF-8 from Latin-1.

use std::{borrow::Cow, io};

use super::{
    file_bytes::{FileBytes, FileChange},
    prelude::*,
};

/// The bytes read at each of the places where a file is probed.
const PROBE_BYTES: usize = 64 << 10;
/// A file is not text if more than one in this many characters is a control character.
const MIN_CHARS_PER_CONTROL: usize = 20;

/// The number of bytes that are read at a time to count their characters.
const COUNT_BLOCK_BYTES: usize = 1 << 20;

/// The encoding of bytes as characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    Utf8,
    /// Every byte is the character of the same number (what old western texts use).
    Latin1,
}

impl Encoding {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Utf8 => "UTF-8",
            Self::Latin1 => "Latin-1",
        }
    }

    /// Bytes as text; bytes that are not UTF-8 become the replacement character.
    pub(super) fn text(self, bytes: &[u8]) -> Cow<'_, str> {
        match self {
            Self::Utf8 => String::from_utf8_lossy(bytes),
            Self::Latin1 => Cow::Owned(bytes.iter().map(|&b| char::from(b)).collect()),
        }
    }

    /// Text as bytes of this encoding; a character Latin-1 does not have becomes `?`.
    pub(super) fn bytes(self, text: &str) -> Vec<u8> {
        match self {
            Self::Utf8 => text.as_bytes().to_vec(),
            Self::Latin1 => text.chars().map(|c| u8::try_from(u32::from(c)).unwrap_or(b'?')).collect(),
        }
    }

    /// Returns true if a character may begin at this byte.
    pub(super) fn is_char_start(self, byte: u8) -> bool {
        match self {
            Self::Utf8 => byte & 0xC0 != 0x80,
            Self::Latin1 => true,
        }
    }
}

enum Store {
    Made(Vec<u8>),
    File { path: PathBuf, bytes: FileBytes },
}

/// A text whose bytes can be read from any position.
pub(super) struct TextFile {
    store: Store,
    /// The position after a byte-order mark.
    start: usize,
    /// The number of bytes after the text that are ignored, because only its beginning was requested.
    unread_bytes: usize,
    pub(super) encoding: Encoding,
}

/// A part of a text; only the requested bytes are read.
#[derive(Clone, Copy)]
pub(super) struct TextSlice<'a> {
    file: &'a TextFile,
    from: usize,
    to: usize,
}

impl<'a> TextSlice<'a> {
    pub(super) fn len(&self) -> usize {
        self.to - self.from
    }

    pub(super) fn encoding(&self) -> Encoding {
        self.file.encoding
    }

    /// The first character that is wanted, in the order of the text; it is read part by part.
    pub(super) fn find_char(&self, wanted: &mut dyn FnMut(char) -> bool) -> Result<Option<CharPosition>, CorpusError> {
        let (encoding, mut cursor, mut from) = (self.encoding(), CharCursor::default(), 0);
        while from < self.len() {
            let bytes = self.bytes(from, from + COUNT_BLOCK_BYTES)?;
            let mut end = bytes.len();
            // a character is not cut between two parts
            while from + bytes.len() < self.len() && end > 1 && !encoding.is_char_start(bytes[end - 1]) {
                end -= 1;
            }
            let end = if from + bytes.len() < self.len() && end > 1 { end - 1 } else { bytes.len() };
            if let Some(place) = cursor.find(&encoding.text(&bytes[..end]), wanted) {
                return Ok(Some(place));
            }
            from += end;
        }
        Ok(None)
    }

    /// The bytes from one place of the part to another, or to its end if that comes first.
    pub(super) fn bytes(&self, from: usize, to: usize) -> Result<Cow<'a, [u8]>, CorpusError> {
        let to = to.min(self.len());
        self.file.read(self.from + from.min(to), self.from + to)
    }
}

/// A character and its position in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CharPosition {
    pub char: char,
    /// The number of characters before it.
    pub at: usize,
    /// The line number, from 1.
    pub line: usize,
}

/// Counts characters and lines of a text that comes part by part.
#[derive(Debug, Default)]
pub(super) struct CharCursor {
    chars: usize,
    line_breaks: usize,
}

impl CharCursor {
    /// The first character of the next part that is wanted.
    pub(super) fn find(&mut self, text: &str, wanted: &mut dyn FnMut(char) -> bool) -> Option<CharPosition> {
        for char in text.chars() {
            if wanted(char) {
                return Some(CharPosition { char, at: self.chars, line: self.line_breaks + 1 });
            }
            self.chars += 1;
            self.line_breaks += usize::from(char == '\n');
        }
        None
    }
}

impl TextFile {
    /// The whole text.
    pub(super) fn full_text(&self) -> TextSlice<'_> {
        self.slice(0, self.len())
    }

    /// Text made in memory, UTF-8.
    pub(super) fn from_string(text: String) -> Self {
        Self { store: Store::Made(text.into_bytes()), start: 0, unread_bytes: 0, encoding: Encoding::Utf8 }
    }

    /// Opens a file. Errors say what to do: the file is missing, not an ordinary file, not readable,
    /// empty, binary, UTF-16 or blank, or it repeats a single symbol.
    pub(super) fn open(path: &Path) -> Result<Self, CorpusError> {
        let here = path.display();
        let bytes = FileBytes::open(path).map_err(|e| match e {
            FileError::Folder => CorpusError::new(format!(
                "{here} is a folder, not a text file: choose one file inside it, or join its files into one."
            )),
            e => refused(path, e),
        })?;
        ensure!(bytes.len() != 0, CorpusError::new(format!("{here} is empty: choose a file that has text in it.")));
        let store = Store::File { path: path.to_owned(), bytes };
        let mut text = Self { store, start: 0, unread_bytes: 0, encoding: Encoding::Utf8 };
        (text.start, text.encoding) = check_encoding(&text, path)?;
        Ok(text)
    }

    /// Bytes of the text.
    pub(super) fn len(&self) -> usize {
        let all = match &self.store {
            Store::Made(text) => text.len(),
            Store::File { bytes, .. } => bytes.len(),
        };
        all - self.start - self.unread_bytes
    }

    /// The first bytes of the text, as many as these or up to three fewer, since no character is cut.
    pub(super) fn beginning(mut self, bytes: usize) -> Result<Self, CorpusError> {
        if bytes < self.len() {
            // a character of UTF-8 has at most four bytes
            let from = bytes.saturating_sub(3);
            let last = self.read(from, bytes + 1)?;
            let cut = last.iter().rposition(|&byte| self.encoding.is_char_start(byte)).unwrap_or(bytes - from);
            self.unread_bytes += self.len() - from - cut;
        }
        Ok(self)
    }

    /// The part of the text between two byte offsets.
    pub(super) fn slice(&self, from: usize, to: usize) -> TextSlice<'_> {
        let to = to.min(self.len());
        TextSlice { file: self, from: from.min(to), to }
    }

    fn read(&self, from: usize, to: usize) -> Result<Cow<'_, [u8]>, CorpusError> {
        match &self.store {
            Store::Made(text) => Ok(Cow::Borrowed(text.get(from..to).unwrap_or_default())),
            Store::File { path, bytes } => bytes
                .read(self.start + from, self.start + to)
                .map_err(|e| self.check_unchanged().err().unwrap_or_else(|| refused(path, e.into()))),
        }
    }

    /// Checks that the file is still the one that was opened, so that all windows come from one text.
    pub(super) fn check_unchanged(&self) -> Result<(), CorpusError> {
        let Store::File { path, bytes } = &self.store else { return Ok(()) };
        let how = match bytes.change() {
            None => return Ok(()),
            Some(FileChange::Shorter) => "has become shorter since it was opened",
            Some(FileChange::Altered) => "has changed since it was opened",
        };
        Err(CorpusError::new(format!(
            "{} {how}: put the text back or choose another, then start again.",
            path.display()
        )))
    }
}

/// Reads a whole file of at most `longest` bytes, which takes `growth` times its size in memory. `misfit` words an
/// error in the content, as opposed to one of the file system or of memory.
pub(super) fn read_whole(
    path: &Path,
    longest: u64,
    growth: u64,
    misfit: impl FnOnce(&FileError) -> String,
) -> Result<Vec<u8>, CorpusError> {
    let bytes = files::read(path, longest).map_err(|e| match e {
        e @ (FileError::Io(_) | FileError::Memory(_)) => refused(path, e),
        e => CorpusError::with_source(misfit(&e), e),
    })?;
    files::check_memory(growth * bytes.len() as u64).map_err(|e| refused(path, e.into()))?;
    Ok(bytes)
}

/// The text of a whole file in UTF-8, without a byte-order mark. Errors: it is not UTF-8; the message says in which
/// line.
pub(super) fn utf8<'b>(name: &str, bytes: &'b [u8]) -> Result<&'b str, CorpusError> {
    let text = std::str::from_utf8(bytes).map_err(|e| {
        let line = bytes[..e.valid_up_to()].iter().filter(|b| **b == b'\n').count() + 1;
        CorpusError::with_source(format!("Line {line} of {name} is not UTF-8: save the file as UTF-8."), e)
    })?;
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
}

/// The error message for a file that the operating system refuses, with the next step.
pub(super) fn refused(path: &Path, error: FileError) -> CorpusError {
    let here = path.display();
    let words = match error.kind() {
        Some(io::ErrorKind::NotFound) => {
            let from = std::env::current_dir().map(|d| format!(" (looked from {})", d.display())).unwrap_or_default();
            let from = if path.is_relative() { from } else { String::new() };
            format!("{here} does not exist{from}: check the path, or choose a file by the dialog.")
        }
        Some(io::ErrorKind::PermissionDenied) => {
            format!(
                "{here} cannot be read with your permissions: change them (chmod +r), or copy it to your own folder."
            )
        }
        Some(_) => format!("{here} cannot be read ({error}): copy it to a local disk and choose the copy."),
        None => format!("{here} cannot be read: {error}."),
    };
    CorpusError::with_source(words, error)
}

/// The probed places of a text: its head, its middle and its tail.
fn probes(text: TextSlice<'_>) -> Result<Vec<Cow<'_, [u8]>>, CorpusError> {
    let len = text.len();
    if len <= 3 * PROBE_BYTES {
        return Ok(vec![text.bytes(0, len)?]);
    }
    [0, len / 2, len - PROBE_BYTES].into_iter().map(|from| text.bytes(from, from + PROBE_BYTES)).collect()
}

/// Checks that a file is text; returns where the text starts and how it is encoded.
fn check_encoding(file: &TextFile, path: &Path) -> Result<(usize, Encoding), CorpusError> {
    let here = path.display();
    let head = file.slice(0, 3).bytes(0, 3)?;
    if head.starts_with(&[0xFF, 0xFE]) || head.starts_with(&[0xFE, 0xFF]) {
        return Err(CorpusError::new(format!(
            "{here} is UTF-16 text: save it as UTF-8 (iconv -f UTF-16 -t UTF-8) and choose that file."
        )));
    }
    let start = if head.starts_with(&[0xEF, 0xBB, 0xBF]) { 3 } else { 0 };
    let probes = probes(file.slice(start, file.len()))?;
    let seen: usize = probes.iter().map(|p| p.len()).sum();
    if seen == 0 {
        return Err(CorpusError::new(format!(
            "{here} is empty except for a byte-order mark: choose a file that has text in it."
        )));
    }
    let count = |wanted: fn(u8) -> bool| probes.iter().flat_map(|p| p.iter()).filter(|&&b| wanted(b)).count();
    let nuls = count(|b| b == 0);
    let controls = count(|b| (b < 0x20 && !matches!(b, b'\t' | b'\n' | b'\r' | 0x0b | 0x0c | 0x1b)) || b == 0x7f);
    if nuls > 0 || controls * MIN_CHARS_PER_CONTROL > seen {
        let what = if nuls > 0 { format!("{nuls} zero bytes") } else { format!("{controls} control characters") };
        return Err(CorpusError::new(format!(
            "{here} is binary, not text ({what} in the {seen} bytes looked at): choose a plain text file; save a document or a PDF as text first."
        )));
    }
    if count(|b| !b.is_ascii_whitespace()) == 0 {
        return Err(CorpusError::new(format!(
            "{here} holds only spaces and empty lines: choose a file that has text in it."
        )));
    }
    let first = probes[0][0];
    if probes.iter().all(|p| p.iter().all(|&b| b == first)) {
        return Err(CorpusError::new(format!(
            "{here} holds one symbol only ({:?}), so there is nothing to learn: choose a text with at least two.",
            char::from(first)
        )));
    }
    Ok((start, encoding(&probes)))
}

/// UTF-8, unless the probes hold more broken sequences than valid ones.
fn encoding(probes: &[Cow<'_, [u8]>]) -> Encoding {
    let (mut broken, mut whole) = (0usize, 0usize);
    for probe in probes {
        // A probe may cut a character at either end; at most three bytes of it.
        let cut = probe.iter().take(3).take_while(|&&b| b & 0xC0 == 0x80).count();
        for chunk in probe[cut..].utf8_chunks() {
            whole += chunk.valid().chars().filter(|c| !c.is_ascii()).count();
            broken += usize::from(!chunk.invalid().is_empty());
        }
        // The sequence cut at the probe's end was counted as broken above; it is subtracted again.
        let tail = &probe[probe.len().saturating_sub(3)..];
        broken -= usize::from(probes.len() > 1 && broken > 0 && tail.iter().any(|&b| b >= 0xC0));
    }
    if broken > whole { Encoding::Latin1 } else { Encoding::Utf8 }
}
