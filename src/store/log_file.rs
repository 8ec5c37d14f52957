//! One append-only log of a run folder: a JSON object a line.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use serde::Serialize;

use super::error::{At, StoreError};

/// Appends whole lines, each with one `write` to the system.
pub(super) struct Log {
    path: PathBuf,
    file: File,
    length: u64,
    /// Bytes that should have been there when it was opened, and were not.
    pub lacking: u64,
    line: Vec<u8>,
}

impl Log {
    /// Opens (makes) the log and cuts it to `length`; what lies beyond is first copied to
    /// `<stem>.superseded.jsonl`. A log that is shorter keeps its whole lines.
    pub fn open(folder: &Path, name: &str, length: u64) -> Result<Self, StoreError> {
        let path = folder.join(name);
        let mut file =
            OpenOptions::new().create(true).truncate(false).read(true).write(true).open(&path).at("write", &path)?;
        let actual = file.metadata().at("read", &path)?.len();
        let keep = whole_lines(&mut file, length.min(actual)).at("read", &path)?;
        if keep < actual {
            put_aside(&mut file, &path, keep)?;
            file.set_len(keep).at("cut", &path)?;
            file.sync_all().at("write", &path)?;
        }
        file.seek(SeekFrom::Start(keep)).at("write", &path)?;
        Ok(Self { path, file, length: keep, lacking: length.saturating_sub(keep), line: vec![] })
    }

    pub fn line(&mut self, object: &impl Serialize) -> Result<(), StoreError> {
        self.line.clear();
        serde_json::to_writer(&mut self.line, object)
            .map_err(|e| StoreError::because(format!("cannot write a line of `{}`: {e}", self.path.display()), e))?;
        self.line.push(b'\n');
        if let Err(e) = self.file.write_all(&self.line) {
            // A full disk took half a line: it is taken back, so that a later line stands alone.
            let _ = self.file.set_len(self.length).and_then(|()| self.file.seek(SeekFrom::Start(self.length)));
            return Err(StoreError::io("write", &self.path, e));
        }
        self.length += self.line.len() as u64;
        // One huge sample must not keep its memory for the rest of the run.
        self.line.shrink_to(1 << 20);
        Ok(())
    }

    /// Forces the log to the disk; its length in bytes.
    pub fn sync(&mut self) -> Result<u64, StoreError> {
        self.file.sync_data().at("write", &self.path)?;
        Ok(self.length)
    }
}

/// The end of the last line that ends at or before `length`.
fn whole_lines(file: &mut File, length: u64) -> io::Result<u64> {
    const CHUNK: u64 = 64 * 1024;
    let mut end = length;
    let mut chunk = vec![];
    while end > 0 {
        let start = end.saturating_sub(CHUNK);
        chunk.clear();
        file.seek(SeekFrom::Start(start))?;
        (&*file).take(end - start).read_to_end(&mut chunk)?;
        if let Some(i) = chunk.iter().rposition(|b| *b == b'\n') {
            return Ok(start + i as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}

fn put_aside(file: &mut File, path: &Path, from: u64) -> Result<(), StoreError> {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let aside = path.with_file_name(format!("{stem}.superseded.jsonl"));
    let mut to = OpenOptions::new().create(true).append(true).open(&aside).at("write", &aside)?;
    file.seek(SeekFrom::Start(from)).at("read", path)?;
    let copied = io::copy(file, &mut to).at("write", &aside)?;
    log::debug!("{copied} bytes of {} are superseded", path.display());
    if !ends_with_newline(file).at("read", path)? {
        to.write_all(b"\n").at("write", &aside)?;
    }
    to.sync_all().at("write", &aside)
}

fn ends_with_newline(file: &mut File) -> io::Result<bool> {
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last[0] == b'\n')
}
