//! `orrery stream`: the growth of a run folder on standard output, for `orrery follow ssh://..` on another machine.
//!
//! It is sent in frames ([`frames`](crate::store::frames)). A reader that continues after a cut states for each log how
//! much of it is there, and how that ends.

use std::{
    io::{Read, Seek, SeekFrom, Write},
    str::FromStr,
};

use crate::{
    cli::prelude::*,
    files::{open_inside, read_inside},
    store::frames::{Frame, LOGS, MAX_PART, VERSION, WHOLE},
};

/// The interval at which a folder is checked by size and content, since network file systems report no changes.
pub const POLL_INTERVAL: Duration = Duration::from_millis(250);
const EVENTS_FILE: &str = "events.jsonl";
/// The number of bytes before the read position that are compared, to notice that a log was replaced.
pub const COMPARED_BYTES: u64 = 32;
/// The longest time between two frames, so that both sides notice a lost connection.
pub const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(2);

#[derive(Args)]
pub struct StreamArgs {
    /// A run folder
    run: PathBuf,
    /// Write to standard output, the only destination that is supported
    #[arg(long, required = true)]
    stdio: bool,
    /// Continue after this many bytes of a log; END holds the last ones, in hexadecimal digits
    #[arg(long = "have", value_name = "LOG=BYTES:END")]
    have: Vec<LocalPart>,
}

/// The part of a log that the other side has.
#[derive(Debug, Clone, PartialEq)]
pub struct LocalPart {
    pub log: String,
    pub bytes: u64,
    /// The last bytes of that part, [`COMPARED_BYTES`] or fewer.
    pub end: Vec<u8>,
}

impl FromStr for LocalPart {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = || {
            let (log, rest) = text.split_once('=')?;
            let (bytes, end) = rest.split_once(':')?;
            let bytes = bytes.parse().ok()?;
            let is_log = LOGS.contains(&log) && end.len() as u64 == 2 * COMPARED_BYTES.min(bytes) && end.is_ascii();
            let digits = |i: usize| u8::from_str_radix(end.get(2 * i..2 * i + 2)?, 16).ok();
            let end = (0..end.len() / 2).map(digits).collect::<Option<Vec<u8>>>()?;
            is_log.then(|| Self { log: log.to_owned(), bytes, end })
        };
        parts().ok_or_else(|| format!("`{text}` is not of the form LOG=BYTES:END"))
    }
}

impl LocalPart {
    /// The local part of a log while nothing of it is held yet.
    pub fn empty(log: &str) -> Self {
        Self { log: log.to_owned(), bytes: 0, end: vec![] }
    }

    /// `BYTES:END`
    pub fn place(&self) -> String {
        let end: String = self.end.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{}:{end}", self.bytes)
    }
}

pub fn run(args: &StreamArgs) -> Result<(), Failure> {
    store::check_folder(&args.run).map_err(Failure::wrong)?;
    let have = |log: &str| args.have.iter().find(|have| have.log == log).cloned();
    let sent = LOGS.map(|log| have(log).unwrap_or_else(|| LocalPart::empty(log)));
    let out = output::stream()?;
    Streamer { folder: &args.run, out, sent, whole: BTreeMap::new(), last_sent: Instant::now() }.run()
}

struct Streamer<'a, W> {
    folder: &'a Path,
    out: W,
    sent: [LocalPart; LOGS.len()],
    /// The content of the files that are sent whole, as last sent.
    whole: BTreeMap<&'static str, Vec<u8>>,
    last_sent: Instant,
}

impl<W: Write> Streamer<'_, W> {
    /// Writes frames until the reader leaves.
    fn run(&mut self) -> Result<(), Failure> {
        self.frame(&Frame::Hello { version: VERSION }, &[])?;
        let mut has_sent_all = false;
        loop {
            if self.round()? {
                continue;
            }
            if !has_sent_all || self.last_sent.elapsed() >= HEARTBEAT_INTERVAL {
                has_sent_all = true;
                self.frame(&Frame::Beat, &[])?;
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// Sends what is new; true if there is more.
    fn round(&mut self) -> Result<bool, Failure> {
        for (file, most) in WHOLE {
            let Ok(bytes) = read_inside(self.folder, file, most) else { continue };
            if self.whole.get(file) != Some(&bytes) {
                self.frame(&Frame::Whole { file: file.to_owned(), bytes: bytes.len() as u64 }, &bytes)?;
                self.whole.insert(file, bytes);
            }
        }
        // The end of a run is read first and sent last, so that everything before it has been sent.
        let mut parts = vec![];
        for i in (0..self.sent.len()).rev() {
            match next_part(self.folder, &self.sent[i]) {
                // a file that cannot be read now is tried again
                Err(_) => {}
                Ok(None) => {
                    self.sent = LOGS.map(LocalPart::empty);
                    self.frame(&Frame::Anew, &[])?;
                    return Ok(true);
                }
                Ok(Some(bytes)) if bytes.is_empty() => {}
                Ok(Some(bytes)) => parts.push((i, bytes)),
            }
        }
        let mut is_more = false;
        for (i, bytes) in parts.into_iter().rev() {
            if is_more && LOGS[i] == EVENTS_FILE {
                break;
            }
            let (file, from) = (LOGS[i].to_owned(), self.sent[i].bytes);
            self.frame(&Frame::Part { file, from, bytes: bytes.len() as u64 }, &bytes)?;
            is_more |= bytes.len() as u64 == MAX_PART;
            let sent = &mut self.sent[i];
            sent.bytes += bytes.len() as u64;
            sent.end.extend(&bytes);
            sent.end.drain(..sent.end.len().saturating_sub(COMPARED_BYTES as usize));
        }
        Ok(is_more)
    }

    fn frame(&mut self, frame: &Frame, bytes: &[u8]) -> Result<(), Failure> {
        self.last_sent = Instant::now();
        let mut line = serde_json::to_vec(frame).map_err(Failure::failed)?;
        line.push(b'\n');
        let written =
            self.out.write_all(&line).and_then(|()| self.out.write_all(bytes)).and_then(|()| self.out.flush());
        written.map_err(|e| output::print_failure(&e))
    }
}

/// The bytes of a log after those that were sent; `None` if the file is a log other than the one sent so far.
fn next_part(folder: &Path, sent: &LocalPart) -> Result<Option<Vec<u8>>, FileError> {
    let mut file = match open_inside(folder, &sent.log) {
        Err(e) if e.is_missing() => return Ok(Some(vec![])),
        opened => opened?,
    };
    if file.metadata()?.len() < sent.bytes {
        return Ok(None);
    }
    file.seek(SeekFrom::Start(sent.bytes - sent.end.len() as u64))?;
    let mut end = vec![0; sent.end.len()];
    file.read_exact(&mut end)?;
    if end != sent.end {
        return Ok(None);
    }
    let mut bytes = vec![];
    file.take(MAX_PART).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn streamer(folder: &Path) -> Streamer<'_, Vec<u8>> {
        let sent = LOGS.map(LocalPart::empty);
        Streamer { folder, out: vec![], sent, whole: BTreeMap::new(), last_sent: Instant::now() }
    }

    fn round(streamer: &mut Streamer<'_, Vec<u8>>) -> String {
        streamer.round().unwrap();
        String::from_utf8(std::mem::take(&mut streamer.out)).unwrap()
    }

    #[test]
    fn what_is_appended_is_sent_once_and_another_log_begins_anew() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("metrics.jsonl");
        fs::write(folder.path().join("run.json"), "{}").unwrap();
        fs::write(&log, "one\n").unwrap();
        let mut s = streamer(folder.path());
        let sent = "{\"whole\":{\"file\":\"run.json\",\"bytes\":2}}\n{}\
                    {\"part\":{\"file\":\"metrics.jsonl\",\"from\":0,\"bytes\":4}}\none\n";
        assert_eq!(round(&mut s), sent);
        assert_eq!(round(&mut s), "");
        fs::write(&log, "one\ntwo\n").unwrap();
        assert_eq!(round(&mut s), "{\"part\":{\"file\":\"metrics.jsonl\",\"from\":4,\"bytes\":4}}\ntwo\n");
        fs::write(&log, "another log\n").unwrap();
        assert_eq!(round(&mut s), "\"anew\"\n");
        assert!(round(&mut s).ends_with("another log\n"));
    }

    #[test]
    fn the_local_part_of_a_log_is_written_and_parsed_back() {
        let have = LocalPart { log: "metrics.jsonl".into(), bytes: 3, end: b"o\n\xff".to_vec() };
        assert_eq!(have.place(), "3:6f0aff");
        assert_eq!(format!("metrics.jsonl={}", have.place()).parse(), Ok(have));
        assert!("metrics.jsonl=0:".parse::<LocalPart>().is_ok());
        for wrong in ["", "metrics.jsonl", "secret=0:", "metrics.jsonl=3:6f", "metrics.jsonl=1:zz", "metrics.jsonl=-1:"]
        {
            assert!(wrong.parse::<LocalPart>().is_err(), "{wrong}");
        }
    }
}
