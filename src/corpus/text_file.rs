//! The bytes of a corpus: a file mapped into memory, or text made by us. Looks at a few places of a
//! file to tell text from binary and UTF-8 from Latin-1; never reads a file whole. Knows no tokens.

use super::CorpusError;
use std::{
    borrow::Cow,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

/// Bytes looked at in each of the places where a file is probed.
const PROBE: usize = 64 << 10;
/// More control characters than one in this many, and the file is not text.
const CONTROL_ONE_IN: usize = 20;

/// How bytes become characters.
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

    /// Bytes as text; what is no UTF-8 becomes the replacement character.
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

    /// Whether a character may begin at this byte.
    pub(super) fn begins(self, byte: u8) -> bool {
        match self {
            Self::Utf8 => byte & 0xC0 != 0x80,
            Self::Latin1 => true,
        }
    }
}

enum Store {
    Made(Vec<u8>),
    Mapped { file: File, path: PathBuf, map: memmap2::Mmap },
}

/// Text that can be read anywhere at once.
pub(super) struct TextFile {
    store: Store,
    /// Past a byte-order mark.
    start: usize,
    pub(super) encoding: Encoding,
}

impl TextFile {
    /// Text made in memory, UTF-8.
    pub(super) fn made(text: String) -> Self {
        Self { store: Store::Made(text.into_bytes()), start: 0, encoding: Encoding::Utf8 }
    }

    /// Maps a file. Errors, each with the next step: missing, a directory, not readable, empty, binary,
    /// UTF-16, blank, or one symbol only.
    pub(super) fn open(path: &Path) -> Result<Self, CorpusError> {
        let here = path.display();
        let meta = fs::metadata(path).map_err(|e| refused(path, e))?;
        if meta.is_dir() {
            return Err(CorpusError::new(format!(
                "{here} is a folder, not a text file: choose one file inside it, or join its files into one."
            )));
        }
        if !meta.is_file() {
            return Err(CorpusError::new(format!(
                "{here} is neither a file nor a folder (a pipe or a device): save its text to a file and choose that."
            )));
        }
        if meta.len() == 0 {
            return Err(CorpusError::new(format!("{here} is empty: choose a file that has text in it.")));
        }
        let file = File::open(path).map_err(|e| refused(path, e))?;
        let map = map(&file).map_err(|e| refused(path, e))?;
        let (start, encoding) = examine(&map, path)?;
        Ok(Self { store: Store::Mapped { file, path: path.to_owned(), map }, start, encoding })
    }

    /// All of the text. Of a mapped file nothing is read until it is looked at.
    pub(super) fn bytes(&self) -> &[u8] {
        match &self.store {
            Store::Made(text) => text,
            Store::Mapped { map, .. } => &map[self.start..],
        }
    }

    /// Checks that the file is still as long as it was when it was opened: reading a map beyond the
    /// end of a file that has been cut would end the program.
    pub(super) fn still_there(&self) -> Result<(), CorpusError> {
        let Store::Mapped { file, path, map } = &self.store else { return Ok(()) };
        match file.metadata() {
            Ok(meta) if meta.len() >= map.len() as u64 => Ok(()),
            _ => Err(CorpusError::new(format!(
                "{} has become shorter since it was opened: put the text back or choose another, then start again.",
                path.display()
            ))),
        }
    }
}

/// Maps a file read-only.
fn map(file: &File) -> io::Result<memmap2::Mmap> {
    // SAFETY: the map is only read, as plain bytes of which every value is valid; `still_there` is
    // asked before windows are read, so that a file cut short by another program is noticed.
    unsafe { memmap2::Mmap::map(file) }
}

/// The operating system's refusal in words, with the next step.
pub(super) fn refused(path: &Path, error: io::Error) -> CorpusError {
    let here = path.display();
    let words = match error.kind() {
        io::ErrorKind::NotFound => {
            let from = std::env::current_dir().map(|d| format!(" (looked from {})", d.display())).unwrap_or_default();
            let from = if path.is_relative() { from } else { String::new() };
            format!("{here} does not exist{from}: check the path, or choose a file by the dialog.")
        }
        io::ErrorKind::PermissionDenied => {
            format!("{here} may not be read by you: change its permissions (chmod +r), or copy it to your own folder.")
        }
        _ => format!("{here} cannot be read ({error}): copy it to a local disk and choose the copy."),
    };
    CorpusError::because(words, error)
}

/// The places of a file that are looked at: its head, its middle and its tail.
fn probes(bytes: &[u8]) -> Vec<&[u8]> {
    if bytes.len() <= 3 * PROBE {
        return vec![bytes];
    }
    let middle = bytes.len() / 2;
    vec![&bytes[..PROBE], &bytes[middle..middle + PROBE], &bytes[bytes.len() - PROBE..]]
}

/// Tells text from what is not; gives where the text starts and how it is encoded.
fn examine(bytes: &[u8], path: &Path) -> Result<(usize, Encoding), CorpusError> {
    let here = path.display();
    if bytes.starts_with(&[0xFF, 0xFE]) || bytes.starts_with(&[0xFE, 0xFF]) {
        return Err(CorpusError::new(format!(
            "{here} is UTF-16 text: save it as UTF-8 (iconv -f UTF-16 -t UTF-8) and choose that file."
        )));
    }
    let start = if bytes.starts_with(&[0xEF, 0xBB, 0xBF]) { 3 } else { 0 };
    let probes = probes(&bytes[start..]);
    let seen: usize = probes.iter().map(|p| p.len()).sum();
    if seen == 0 {
        return Err(CorpusError::new(format!(
            "{here} is empty but for a byte-order mark: choose a file that has text in it."
        )));
    }
    let count = |wanted: fn(u8) -> bool| probes.iter().flat_map(|p| p.iter()).filter(|&&b| wanted(b)).count();
    let nuls = count(|b| b == 0);
    let controls = count(|b| (b < 0x20 && !matches!(b, b'\t' | b'\n' | b'\r' | 0x0b | 0x0c | 0x1b)) || b == 0x7f);
    if nuls > 0 || controls * CONTROL_ONE_IN > seen {
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

/// UTF-8 unless the probes hold more broken sequences than whole ones.
fn encoding(probes: &[&[u8]]) -> Encoding {
    let (mut broken, mut whole) = (0usize, 0usize);
    for probe in probes {
        // A probe may cut a character at either end; at most three bytes of it.
        let cut = probe.iter().take(3).take_while(|&&b| b & 0xC0 == 0x80).count();
        for chunk in probe[cut..].utf8_chunks() {
            whole += chunk.valid().chars().filter(|c| !c.is_ascii()).count();
            broken += usize::from(!chunk.invalid().is_empty());
        }
        // The sequence cut at the probe's end counts as broken above: take it back.
        let tail = &probe[probe.len().saturating_sub(3)..];
        broken -= usize::from(probes.len() > 1 && broken > 0 && tail.iter().any(|&b| b >= 0xC0));
    }
    if broken > whole { Encoding::Latin1 } else { Encoding::Utf8 }
}
