//! The lines of a log, one after another, however long the log is. Of a log that is followed, a line without its end waits
//! for the rest, and only new bytes are read.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read, Seek, SeekFrom},
};

use super::{super::names::SAMPLES, LONGEST_LINE, LONGEST_SAMPLE, SAMPLE_GROWTH};
use crate::files::reading_budget;

/// The last bytes that were read, at most this many, distinguish a file that has grown from another one at the same
/// path.
const MARK_BYTES: u64 = 256;

/// Bytes of a log, in a file or in memory.
pub(super) trait Source: BufRead + Seek + Send {}

impl<T: BufRead + Seek + Send> Source for T {}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Line {
    /// A line; one that is not ended is the last.
    Whole { ended: bool },
    /// A line that is too long to be held in memory.
    TooLong,
    /// There are no more complete lines at present.
    End,
}

#[derive(Default)]
pub(super) struct Lines {
    source: Option<Box<dyn Source>>,
    /// The log grows: its last line may not be whole yet.
    pub is_followed: bool,
    /// The line that was read last, or the part of it that is there.
    pub line: Vec<u8>,
    /// The number of whole lines that were read.
    pub number: u64,
    /// True if only a part of the line has been read.
    is_partial: bool,
    /// The line is too long, and its end was not there.
    is_skipping: bool,
    offset: u64,
    /// The bytes before `marked_at`, at most [`MARK_BYTES`].
    mark: Vec<u8>,
    /// `offset` when all that was there had been read; it lies before `offset` if reading broke off since.
    marked_at: u64,
}

impl Lines {
    pub fn new(source: Option<Box<dyn Source>>, is_followed: bool) -> Self {
        Self { source, is_followed, ..Self::default() }
    }

    /// The lines of a file that is whole.
    pub fn from_file(file: File) -> Self {
        Self::new(Some(Box::new(BufReader::with_capacity(1 << 16, file))), false)
    }

    /// True while there may be more to read.
    pub fn is_open(&self) -> bool {
        self.source.is_some()
    }

    /// True if nothing was read yet.
    pub fn is_at_start(&self) -> bool {
        self.offset == 0
    }

    /// Reads no more for now.
    pub fn close(&mut self) {
        self.source = None;
    }

    /// Continues with the file of this log, opened again: false, and nothing is read, if it is not the one that was
    /// read so far with more at its end.
    ///
    /// # Errors
    /// If the system refuses to read it.
    pub fn resume(&mut self, mut file: File) -> io::Result<bool> {
        let length = file.metadata()?.len();
        if length < self.offset {
            return Ok(false);
        }
        file.seek(SeekFrom::Start(self.marked_at - self.mark.len() as u64))?;
        let mut found = vec![0; self.mark.len()];
        match file.read_exact(&mut found) {
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
            read => read?,
        }
        if found != self.mark {
            return Ok(false);
        }
        if length > self.offset {
            file.seek(SeekFrom::Start(self.offset))?;
            self.source = Some(Box::new(BufReader::with_capacity(1 << 16, file)));
        }
        Ok(true)
    }

    /// Reads the next line of the log with this name.
    ///
    /// # Errors
    /// If the system refuses to read on.
    pub fn next(&mut self, log: &str) -> io::Result<Line> {
        if !self.is_partial {
            self.line.clear();
            self.line.shrink_to(1 << 20);
        }
        if self.is_skipping {
            return self.skip();
        }
        let mut most = LONGEST_LINE;
        self.fill(most)?;
        if self.line.len() as u64 >= most && !self.is_ended() {
            // Free memory is queried only for long lines.
            most = longest(log);
            self.fill(most)?;
        }
        let (length, ended) = (self.line.len() as u64, self.is_ended());
        if ended || length > 0 && length < most && !self.is_followed {
            self.number += 1;
            self.is_partial = false;
            return Ok(Line::Whole { ended });
        }
        self.is_partial = length > 0;
        if length >= most {
            (self.is_skipping, self.line) = (true, vec![]);
            return self.skip();
        }
        self.end()
    }

    fn is_ended(&self) -> bool {
        self.line.last() == Some(&b'\n')
    }

    /// Reads on to the end of the line, until it has `most` bytes.
    fn fill(&mut self, most: u64) -> io::Result<()> {
        let Some(source) = &mut self.source else { return Ok(()) };
        let before = self.line.len() as u64;
        let read = source.by_ref().take(most.saturating_sub(before)).read_until(b'\n', &mut self.line);
        self.offset += self.line.len() as u64 - before;
        if read.is_err() {
            // the bytes read so far are kept for the next attempt
            self.is_partial = !self.line.is_empty();
        }
        read.map(|_| ())
    }

    /// Reads on to the next line without keeping anything.
    fn skip(&mut self) -> io::Result<Line> {
        while let Some(source) = &mut self.source {
            let chunk = source.fill_buf()?;
            let found = chunk.iter().position(|b| *b == b'\n');
            let (used, is_done) = (found.map_or(chunk.len(), |i| i + 1), found.is_some());
            source.consume(used);
            self.offset += used as u64;
            if is_done || used == 0 && !self.is_followed {
                (self.is_skipping, self.is_partial) = (false, false);
                self.number += 1;
                return Ok(Line::TooLong);
            }
            if used == 0 {
                break;
            }
        }
        self.end()
    }

    /// Ends reading at the current end of the log, and keeps the bytes that identify it.
    fn end(&mut self) -> io::Result<Line> {
        if let Some(mut source) = self.source.take().filter(|_| self.is_followed) {
            let length = self.offset.min(MARK_BYTES);
            source.seek(SeekFrom::Start(self.offset - length))?;
            self.mark = vec![0; length as usize];
            self.marked_at = self.offset;
            source.read_exact(&mut self.mark)?;
        }
        Ok(Line::End)
    }
}

/// The largest number of bytes of a line that are held in memory; fewer where memory is short.
pub(super) fn longest(log: &str) -> u64 {
    match log {
        SAMPLES => LONGEST_SAMPLE.min(reading_budget() / SAMPLE_GROWTH).max(LONGEST_LINE),
        _ => LONGEST_LINE,
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, io::Write, path::Path};

    use super::*;

    fn read(lines: &mut Lines, log: &str) -> Vec<String> {
        let mut all = vec![];
        loop {
            match lines.next(log).unwrap() {
                Line::Whole { .. } => all.push(String::from_utf8_lossy(lines.line.trim_ascii()).into_owned()),
                Line::TooLong => all.push("too long".to_owned()),
                Line::End => return all,
            }
        }
    }

    fn resumed(lines: &mut Lines, path: &Path) -> Option<Vec<String>> {
        lines.resume(File::open(path).unwrap()).unwrap().then(|| read(lines, "metrics.jsonl"))
    }

    #[test]
    fn a_torn_line_waits_for_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let mut file = File::create(&path).unwrap();
        let mut lines = Lines::new(None, true);
        for (written, told) in
            [("one\ntw", vec!["one"]), ("", vec![]), ("o", vec![]), ("\nthree\n\n", vec!["two", "three", ""])]
        {
            file.write_all(written.as_bytes()).unwrap();
            assert_eq!(resumed(&mut lines, &path).unwrap(), told, "after `{written}`");
        }
        assert_eq!(lines.number, 4);
    }

    #[test]
    fn a_log_that_was_left_midway_goes_on_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        fs::write(&path, "one\ntwo\nthree\n").unwrap();
        let mut lines = Lines::new(None, true);
        assert!(lines.resume(File::open(&path).unwrap()).unwrap());
        assert_eq!(lines.next("metrics.jsonl").unwrap(), Line::Whole { ended: true });
        lines.close();
        assert_eq!(resumed(&mut lines, &path).unwrap(), ["two", "three"]);
    }

    #[test]
    fn another_file_in_the_place_of_the_log_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        fs::write(&path, "one\ntwo\n").unwrap();
        let mut lines = Lines::new(None, true);
        assert_eq!(resumed(&mut lines, &path).unwrap(), ["one", "two"]);
        // a copy that has grown is the same log
        fs::remove_file(&path).unwrap();
        fs::write(&path, "one\ntwo\nthree\n").unwrap();
        assert_eq!(resumed(&mut lines, &path).unwrap(), ["three"]);
        for other in ["", "one\n", "a line of quite another log\n"] {
            fs::write(&path, other).unwrap();
            assert_eq!(resumed(&mut lines, &path), None, "`{other}`");
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_passed_over_though_it_comes_in_parts() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let mut file = File::create(&path).unwrap();
        let mut lines = Lines::new(None, true);
        file.write_all(&vec![b'a'; LONGEST_LINE as usize + 1]).unwrap();
        assert_eq!(resumed(&mut lines, &path).unwrap(), [""; 0]);
        file.write_all(b"aaa").unwrap();
        assert_eq!(resumed(&mut lines, &path).unwrap(), [""; 0]);
        file.write_all(b"a\nnext\n").unwrap();
        assert_eq!(resumed(&mut lines, &path).unwrap(), ["too long", "next"]);
        assert!(lines.line.capacity() <= 1 << 20, "what was too long is not kept");
    }
}
