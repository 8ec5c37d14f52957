//! One append-only log of a run folder: a JSON object a line.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write},
};

use serde::de::IgnoredAny;

use super::prelude::*;
use crate::files::{WatchedFile, reading_budget};

const CHUNK: u64 = 64 * 1024;
/// The longest line that is kept; a longer one is dropped without reading it into memory.
const LONGEST_LINE: u64 = 512 << 20;

/// Appends whole lines, each with one `write` to the system.
pub(super) struct Log {
    watched: WatchedFile,
    length: u64,
    /// A line that failed could not be taken back: the file's end is not an end of a line.
    has_partial_line: bool,
    line: Vec<u8>,
}

impl Log {
    /// Opens (makes) the log and cuts it to `length`, except for the lines beyond that `is_kept` wants; the others are
    /// first copied to [`superseded_name`].
    ///
    /// # Errors
    /// If the log ends before `length` or within a line there, so that continuing would leave a hole; if something that
    /// is not an ordinary file is in its place; if the system refuses.
    pub fn open(
        folder: &Path,
        name: &str,
        length: u64,
        is_kept: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<Self, StoreError> {
        let path = folder.join(name);
        let mut watched = WatchedFile::open(folder, name).at("write", &path)?;
        let actual = watched.file.metadata().at("read", &path)?.len();
        if lines_end(&mut watched.file, length.min(actual)).at("read", &path)? != length {
            return Err(StoreError::new(format!(
                "`{}` has lost lines from before the checkpoint ({actual} bytes, at least {length} expected): going on would leave a hole in the record",
                path.display()
            )));
        }
        let mut length = length;
        if length < actual {
            (watched, length) = supersede(watched, length, is_kept)?;
        }
        watched.file.seek(SeekFrom::Start(length)).at("write", &path)?;
        Ok(Self { watched, length, has_partial_line: false, line: vec![] })
    }

    /// Returns true if the log of `folder` still has everything up to `length`. The lines are read too, because a disk may
    /// damage them and keep the length.
    pub fn is_intact_up_to(folder: &Path, name: &str, length: u64) -> bool {
        let file = open_inside(folder, name).map_err(io::Error::from);
        file.and_then(|file| json_lines_end(file.take(length))).is_ok_and(|end| end == length)
    }

    /// Appends one line, if the path of the log still leads to it.
    ///
    /// # Errors
    /// If the log was moved, deleted or replaced, or the system refuses. The log then ends with the line before.
    pub fn line(&mut self, object: &impl Serialize) -> Result<(), StoreError> {
        self.check_same_file()?;
        if self.has_partial_line {
            let broken = std::io::Error::other("its last line is torn");
            return Err(StoreError::io("write", &self.watched.path, broken));
        }
        self.line.clear();
        serde_json::to_writer(&mut self.line, object).map_err(|e| {
            StoreError::with_source(format!("cannot write a line of `{}`: {e}", self.watched.path.display()), e)
        })?;
        self.line.push(b'\n');
        if let Err(e) = self.watched.file.write_all(&self.line) {
            // A full disk may have cut a line; the part is removed so that no later line is appended to it.
            self.has_partial_line = self.watched.truncate_to(self.length).is_err();
            return Err(StoreError::io("write", &self.watched.path, e));
        }
        self.length += self.line.len() as u64;
        // The memory of a huge sample is released again.
        self.line.shrink_to(1 << 20);
        Ok(())
    }

    /// Checks that the path still leads to this log; an error says what has happened to the file.
    pub fn check_same_file(&self) -> Result<(), StoreError> {
        self.watched.check_same_file().map_err(|e| StoreError::moved(&self.watched.path, e))
    }

    /// Forces the log to the disk; its length in bytes.
    pub fn sync(&mut self) -> Result<u64, StoreError> {
        self.check_same_file()?;
        self.watched.file.sync_all().at("write", &self.watched.path)?;
        Ok(self.length)
    }
}

/// The end of the whole lines of JSON at the beginning of a log.
fn json_lines_end(log: impl Read) -> io::Result<u64> {
    let mut reader = BufReader::with_capacity(CHUNK as usize, log);
    let longest = LONGEST_LINE.min(reading_budget());
    let (mut line, mut end) = (vec![], 0);
    loop {
        line.clear();
        Read::by_ref(&mut reader).take(longest).read_until(b'\n', &mut line)?;
        let text = std::str::from_utf8(&line).ok().filter(|text| text.ends_with('\n'));
        if text.is_none_or(|text| serde_json::from_str::<IgnoredAny>(text).is_err()) {
            return Ok(end);
        }
        end += line.len() as u64;
    }
}

/// The end of the last line that ends at or before `length`.
fn lines_end(file: &mut (impl Read + Seek), length: u64) -> io::Result<u64> {
    let mut end = length;
    let mut chunk = vec![];
    while end > 0 {
        let start = end.saturating_sub(CHUNK);
        chunk.clear();
        file.seek(SeekFrom::Start(start))?;
        Read::by_ref(file).take(end - start).read_to_end(&mut chunk)?;
        if let Some(i) = chunk.iter().rposition(|b| *b == b'\n') {
            return Ok(start + i as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}

/// Lines of a log that follow one another.
struct Part {
    start: u64,
    end: u64,
    is_kept: bool,
}

/// The file beside the log of this name to which its superseded lines go.
pub(super) fn superseded_name(log: &str) -> String {
    format!("{}.superseded.jsonl", log.strip_suffix(".jsonl").unwrap_or(log))
}

/// Copies the lines beyond `from` to the log's file of superseded lines and takes them out, except for those that are
/// kept; returns the log and the length that is left. Whenever it is interrupted, the log has all of these lines or
/// those that are kept.
fn supersede(
    mut watched: WatchedFile,
    from: u64,
    is_kept: &mut dyn FnMut(&[u8]) -> bool,
) -> Result<(WatchedFile, u64), StoreError> {
    let path = watched.path.clone();
    let parts = parts(&mut watched.file, from, is_kept).at("read", &path)?;
    if parts.iter().any(|part| !part.is_kept) {
        copy_superseded(&mut watched, &parts)?;
    }
    let in_place = parts.first().filter(|part| part.is_kept).map_or(from, |part| part.end);
    if parts.iter().any(|part| part.is_kept && part.start > in_place) {
        return replaced(watched, in_place, &parts).at("write", &path);
    }
    watched.truncate_to(in_place).at("cut", &path)?;
    watched.file.sync_all().at("write", &path)?;
    Ok((watched, in_place))
}

/// Splits the lines beyond `from` into runs of lines that are kept and runs of lines that are not. A line without an
/// end is not kept.
fn parts(file: &mut File, from: u64, is_kept: &mut dyn FnMut(&[u8]) -> bool) -> io::Result<Vec<Part>> {
    file.seek(SeekFrom::Start(from))?;
    let mut reader = BufReader::with_capacity(CHUNK as usize, file);
    let (mut parts, mut line, mut start): (Vec<Part>, Vec<u8>, u64) = (vec![], vec![], from);
    loop {
        line.clear();
        let length = Read::by_ref(&mut reader).take(LONGEST_LINE).read_until(b'\n', &mut line)? as u64;
        if length == 0 {
            return Ok(parts);
        }
        let (end, is_kept) = (start + length, line.ends_with(b"\n") && is_kept(&line));
        match parts.last_mut() {
            Some(last) if last.is_kept == is_kept => last.end = end,
            _ => parts.push(Part { start, end, is_kept }),
        }
        start = end;
    }
}

/// Copies the parts that are not kept to the log's file of superseded lines.
fn copy_superseded(watched: &mut WatchedFile, parts: &[Part]) -> Result<(), StoreError> {
    let path = watched.path.clone();
    let name = superseded_name(&path.file_name().unwrap_or_default().to_string_lossy());
    let aside = path.with_file_name(&name);
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut to = WatchedFile::open(folder, &name).at("write", &aside)?;
    let before = to.file.seek(SeekFrom::End(0)).at("write", &aside)?;
    let copied = append(&mut watched.file, parts, &mut to.file).at("write", &aside).inspect_err(|_| {
        // A partial copy is cut off, so that another attempt does not append it twice.
        let _ = to.truncate_to(before);
    })?;
    log::debug!("{copied} bytes of {} are superseded", path.display());
    Ok(())
}

/// Copies the parts that are not kept to the end; the last line gets its end if it lacks one.
fn append(file: &mut File, parts: &[Part], to: &mut File) -> io::Result<u64> {
    let mut copied = 0;
    for part in parts.iter().filter(|part| !part.is_kept) {
        file.seek(SeekFrom::Start(part.start))?;
        copied += io::copy(&mut Read::by_ref(file).take(part.end - part.start), to)?;
    }
    let mut last = [0];
    to.seek(SeekFrom::End(-1))?;
    to.read_exact(&mut last)?;
    if last != *b"\n" {
        to.write_all(b"\n")?;
    }
    to.sync_all()?;
    Ok(copied)
}

/// Replaces the log by a file with all bytes up to `in_place` and the kept parts beyond; returns that file and its length.
fn replaced(watched: WatchedFile, in_place: u64, parts: &[Part]) -> io::Result<(WatchedFile, u64)> {
    let WatchedFile { path, mut file } = watched;
    let mut whole = Replacement::create(&path)?;
    let mut length = 0;
    let before = Part { start: 0, end: in_place, is_kept: true };
    let beyond = parts.iter().filter(|part| part.is_kept && part.start > in_place);
    for part in [&before].into_iter().chain(beyond) {
        file.seek(SeekFrom::Start(part.start))?;
        length += io::copy(&mut Read::by_ref(&mut file).take(part.end - part.start), &mut whole)?;
    }
    // some systems replace no file that is open
    drop(file);
    whole.commit()?;
    let folder = path.parent().unwrap_or(Path::new("."));
    Ok((WatchedFile::open(folder, path.file_name().unwrap_or_default())?, length))
}
