//! One append-only log of a run folder: a JSON object a line.

use std::{
    io::{self, Read, Seek, SeekFrom, Write},
    path::Path,
};

use serde::Serialize;

use super::error::{At, StoreError};
use crate::files::{WatchedFile, open_inside};

/// Appends whole lines, each with one `write` to the system.
pub(super) struct Log {
    file: WatchedFile,
    length: u64,
    /// A line that failed could not be taken back: the file's end is no end of a line.
    is_torn: bool,
    line: Vec<u8>,
}

impl Log {
    /// Opens (makes) the log and cuts it to `length`; what lies beyond is first copied to
    /// `<stem>.superseded.jsonl`.
    ///
    /// # Errors
    /// If the log ends before `length` or within a line there, so that going on would leave a hole; if something
    /// that is not an ordinary file is in its place; if the system refuses.
    pub fn open(folder: &Path, name: &str, length: u64) -> Result<Self, StoreError> {
        let path = folder.join(name);
        let mut file = WatchedFile::open(folder, name).at("write", &path)?;
        let actual = file.length().at("read", &path)?;
        if lines_end(&mut file, length.min(actual)).at("read", &path)? != length {
            return Err(StoreError::new(format!(
                "`{}` has lost lines from before the checkpoint ({actual} bytes, at least {length} expected): going on would leave a hole in the record",
                path.display()
            )));
        }
        if length < actual {
            move_aside(&mut file, length)?;
            file.cut(length).at("cut", &path)?;
            file.sync().at("write", &path)?;
        }
        file.seek(SeekFrom::Start(length)).at("write", &path)?;
        Ok(Self { file, length, is_torn: false, line: vec![] })
    }

    /// Returns true if the log of `folder` still has everything up to `length`.
    pub fn is_intact_up_to(folder: &Path, name: &str, length: u64) -> bool {
        let end = open_inside(folder, name).map_err(io::Error::from).and_then(|mut file| {
            let actual = file.metadata()?.len();
            lines_end(&mut file, length.min(actual))
        });
        end.is_ok_and(|end| end == length)
    }

    /// Appends one line, if the path of the log still leads to it.
    ///
    /// # Errors
    /// If the log was moved, deleted or replaced, or the system refuses. The log then ends with the line before.
    pub fn line(&mut self, object: &impl Serialize) -> Result<(), StoreError> {
        self.check_place()?;
        if self.is_torn {
            let broken = std::io::Error::other("its last line is torn");
            return Err(StoreError::io("write", self.file.path(), broken));
        }
        self.line.clear();
        serde_json::to_writer(&mut self.line, object).map_err(|e| {
            StoreError::with_source(format!("cannot write a line of `{}`: {e}", self.file.path().display()), e)
        })?;
        self.line.push(b'\n');
        if let Err(e) = self.file.write_all(&self.line) {
            // A full disk took half a line: it is taken back, so that a later line stands alone.
            self.is_torn = self.file.cut(self.length).is_err();
            return Err(StoreError::io("write", self.file.path(), e));
        }
        self.length += self.line.len() as u64;
        // The memory of a huge sample is released again.
        self.line.shrink_to(1 << 20);
        Ok(())
    }

    /// Checks that the path still leads to this log; an error says what happened to it.
    pub fn check_place(&self) -> Result<(), StoreError> {
        self.file.check_place().map_err(|e| StoreError::moved(self.file.path(), e))
    }

    /// Forces the log to the disk; its length in bytes.
    pub fn sync(&mut self) -> Result<u64, StoreError> {
        self.check_place()?;
        self.file.sync().at("write", self.file.path())?;
        Ok(self.length)
    }
}

/// The end of the last line that ends at or before `length`.
fn lines_end(file: &mut (impl Read + Seek), length: u64) -> io::Result<u64> {
    const CHUNK: u64 = 64 * 1024;
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

/// Copies what lies beyond `from` to the log's file of superseded lines.
fn move_aside(file: &mut WatchedFile, from: u64) -> Result<(), StoreError> {
    let path = file.path().to_owned();
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let name = format!("{stem}.superseded.jsonl");
    let aside = path.with_file_name(&name);
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut to = WatchedFile::open(folder, &name).at("write", &aside)?;
    let before = to.seek(SeekFrom::End(0)).at("write", &aside)?;
    file.seek(SeekFrom::Start(from)).at("read", &path)?;
    let copied = append(file, &mut to).at("write", &aside).inspect_err(|_| {
        // A partial copy is cut off, so that another attempt does not append it twice.
        let _ = to.cut(before);
    })?;
    log::debug!("{copied} bytes of {} are superseded", path.display());
    Ok(())
}

/// Copies to the end; the last line gets its end if it lacks one.
fn append(file: &mut WatchedFile, to: &mut WatchedFile) -> io::Result<u64> {
    let copied = io::copy(file, to)?;
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    if last != *b"\n" {
        to.write_all(b"\n")?;
    }
    to.sync()?;
    Ok(copied)
}
