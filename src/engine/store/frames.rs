//! The frames in which a run folder is sent to another machine while it grows, and the copy that they make there:
//! `orrery stream` writes them, or a script in its place, and `orrery follow ssh://..` reads them.
//!
//! Each frame is a line of JSON ([`Frame`]), and after one that names a file this many bytes of it.

use std::io::{BufRead, Read, Seek, SeekFrom, Write};

use serde::de::DeserializeOwned;

use super::{
    names::{MAX_CONFIG, MAX_RUN},
    prelude::*,
};
use crate::files::{create_inside, open_inside_to_write};

/// The version of the frames.
pub const VERSION: u32 = 1;
/// The files that are sent whole whenever they change, with the largest number of bytes of each.
pub const WHOLE: [(&str, u64); 2] = [(RUN, MAX_RUN), (CONFIG, MAX_CONFIG)];
/// The logs: only appended bytes of them are sent. The log that records the end of a run comes last, so that the
/// others are complete by then.
pub const LOGS: [&str; 3] = [METRICS, SAMPLES, EVENTS];
/// The maximum number of bytes of a log in one frame.
pub const MAX_PART: u64 = 256 << 10;
/// The maximum number of bytes of a frame's line.
pub const MAX_LINE: u64 = 64 << 10;
/// The message if the other side ends in the middle of a frame.
pub const CONNECTION_LOST: &str = "the connection was cut";
/// The message if something other than the requested program wrote the output.
const NOT_A_STREAM: &str = "the data that arrived are not from `orrery stream` or the script in its place";

/// A frame's line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the docs of the variants name their fields")]
pub enum Frame {
    /// The first frame, with the version of the protocol.
    Hello { version: u32 },
    /// A whole file, whose bytes follow: this many.
    Whole { file: String, bytes: u64 },
    /// A part of a log, whose bytes follow: this many, which are at this offset in the log.
    Part { file: String, from: u64, bytes: u64 },
    /// The folder holds another run now, or the logs were truncated: they are sent again from the start.
    Anew,
    /// Everything has been sent and nothing has been appended since; it keeps the connection alive.
    Beat,
}

/// Reads the next line, which describes what follows it; `None` at the end.
///
/// # Errors
/// If the line was cut off, is longer than [`MAX_LINE`] or is no such frame, in words.
pub fn read_frame<F: DeserializeOwned>(from: &mut impl BufRead) -> Result<Option<F>, String> {
    let mut line = vec![];
    let read = from.by_ref().take(MAX_LINE).read_until(b'\n', &mut line);
    match read.map_err(|e| e.to_string())? as u64 {
        0 => Ok(None),
        read if read < MAX_LINE && line.last() != Some(&b'\n') => Err(CONNECTION_LOST.to_owned()),
        _ => serde_json::from_slice(&line).map(Some).map_err(|_| NOT_A_STREAM.to_owned()),
    }
}

/// Reads this many bytes, which follow a line.
///
/// # Errors
/// If there are fewer, in words.
pub fn read_bytes(from: &mut impl Read, bytes: u64) -> Result<Vec<u8>, String> {
    let mut content = vec![];
    match from.by_ref().take(bytes).read_to_end(&mut content) {
        Ok(read) if read as u64 == bytes => Ok(content),
        Ok(_) => Err(CONNECTION_LOST.to_owned()),
        Err(e) => Err(e.to_string()),
    }
}

/// A copy of a run folder that is written from the frames of one connection.
#[derive(Debug)]
pub struct FolderCopy<'a> {
    folder: &'a Path,
    /// The other side has sent its first frame, in a version that is known.
    pub has_begun: bool,
}

impl<'a> FolderCopy<'a> {
    /// The copy in this folder, while the connection has sent nothing of it yet.
    pub fn new(folder: &'a Path) -> Self {
        Self { folder, has_begun: false }
    }

    /// Writes what a frame brings, whose bytes are read from `from`.
    ///
    /// # Errors
    /// If the frame is not one of this version or does not continue the copy, or its bytes cannot be read or written, in
    /// words.
    pub fn receive(&mut self, frame: &Frame, from: &mut impl Read) -> Result<(), String> {
        if !self.has_begun && !matches!(frame, Frame::Hello { .. }) {
            return Err(NOT_A_STREAM.to_owned());
        }
        let not_read = |file: &str| format!("`{file}` was sent, which is not read");
        match frame {
            Frame::Hello { version } if *version > VERSION => {
                return Err(format!("the other side streams in version {version}, and this one reads up to {VERSION}"));
            }
            Frame::Hello { .. } => self.has_begun = true,
            Frame::Beat => {}
            Frame::Anew => {
                let restarted = LOGS.iter().try_for_each(|log| create_inside(self.folder, log).map(|_| ()));
                restarted.map_err(|e| self.write_error(&e))?;
            }
            Frame::Whole { file, bytes } => {
                let known = WHOLE.iter().find(|(name, most)| *name == file && bytes <= most);
                let (name, _) = known.ok_or_else(|| not_read(file))?;
                let content = read_bytes(from, *bytes)?;
                files::replace(&self.folder.join(name), &content).map_err(|e| self.write_error(&e))?;
            }
            Frame::Part { file, from: at, bytes } => {
                let known = LOGS.iter().find(|log| **log == file && *bytes <= MAX_PART);
                let log = known.ok_or_else(|| not_read(file))?;
                let content = read_bytes(from, *bytes)?;
                self.append(log, *at, &content)?;
            }
        }
        Ok(())
    }

    fn append(&self, log: &str, at: u64, content: &[u8]) -> Result<(), String> {
        let mut file = open_inside_to_write(self.folder, log).map_err(|e| self.write_error(&e))?;
        let there = file.seek(SeekFrom::End(0)).map_err(|e| self.write_error(&e))?;
        ensure!(there == at, format!("{log} has {there} bytes here, and the data that arrived continue after {at}"));
        file.write_all(content).map_err(|e| self.write_error(&e))
    }

    fn write_error(&self, e: &dyn std::fmt::Display) -> String {
        format!("{} cannot be written: {e}", self.folder.display())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Copies what is sent into an empty folder; returns it with how the connection ended.
    fn copied(mut sent: &[u8]) -> (tempfile::TempDir, Result<(), String>) {
        let folder = tempfile::tempdir().unwrap();
        let mut copy = FolderCopy::new(folder.path());
        let mut receive_all = || -> Result<(), String> {
            while let Some(frame) = read_frame::<Frame>(&mut sent)? {
                copy.receive(&frame, &mut sent)?;
            }
            Ok(())
        };
        let end = receive_all();
        (folder, end)
    }

    const HELLO: &str = "{\"hello\":{\"version\":1}}\n";

    #[test]
    fn a_folder_is_copied_frame_by_frame() {
        let part = |from: u64, line: &str| {
            let frame = Frame::Part { file: METRICS.to_owned(), from, bytes: line.len() as u64 };
            format!("{}\n{line}", serde_json::to_string(&frame).unwrap())
        };
        let whole = "{\"whole\":{\"file\":\"run.json\",\"bytes\":2}}\n{}";
        let (one, two, three) = (part(0, "one\n"), part(0, "two\n"), part(4, "three\n"));
        let sent = [HELLO, whole, &one, "\"anew\"\n", &two, &three, "\"beat\"\n"].concat();
        let (folder, end) = copied(sent.as_bytes());
        assert_eq!(end, Ok(()));
        assert_eq!(std::fs::read_to_string(folder.path().join(METRICS)).unwrap(), "two\nthree\n");
        assert_eq!(std::fs::read_to_string(folder.path().join(RUN)).unwrap(), "{}");
    }

    #[test]
    fn what_no_stream_sends_writes_nothing() {
        let with_hello = |frame: &str| format!("{HELLO}{frame}");
        for (sent, words) in [
            ("\"anew\"\n".to_owned(), NOT_A_STREAM),
            ("{\"hello\":{\"version\":2}}\n".to_owned(), "streams in version 2"),
            ("welcome to this machine\n".to_owned(), NOT_A_STREAM),
            (with_hello("{\"whole\":{\"file\":\"../run.json\",\"bytes\":0}}\n"), "is not read"),
            (with_hello("{\"whole\":{\"file\":\"run.json\",\"bytes\":4194305}}\n"), "is not read"),
            (with_hello("{\"whole\":{\"file\":\"run.json\",\"bytes\":3}}\n{}"), CONNECTION_LOST),
            (with_hello("{\"part\":{\"file\":\"run.json\",\"from\":0,\"bytes\":0}}\n"), "is not read"),
            (with_hello("{\"part\":{\"file\":\"metrics.jsonl\",\"from\":0,\"bytes\":262145}}\n"), "is not read"),
            (with_hello("\"beat\""), CONNECTION_LOST),
            (with_hello(&"1".repeat(MAX_LINE as usize)), NOT_A_STREAM),
        ] {
            let (folder, end) = copied(sent.as_bytes());
            assert!(end.as_ref().is_err_and(|said| said.contains(words)), "{words}: {end:?}");
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "{words}");
        }
        let elsewhere = with_hello("{\"part\":{\"file\":\"metrics.jsonl\",\"from\":9,\"bytes\":0}}\n");
        let (_, end) = copied(elsewhere.as_bytes());
        assert!(end.is_err_and(|said| said.contains("has 0 bytes here")));
    }
}
