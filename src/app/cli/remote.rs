//! `orrery follow ssh://host/path`: the system's `ssh` runs `orrery stream` there, or, where there is none, a script for `sh`
//! and `tail` that writes the same frames. What comes is kept in a folder here, which is followed like any other. After a cut
//! it goes on where the folder ends. No port is opened and nothing is installed.

mod address;
mod question;

use std::{
    fs::{File, TryLockError},
    io::{BufRead, BufReader, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Stdio},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use serde::de::DeserializeOwned;

use super::{
    failure::Failure,
    stream::{Frame, Have, LOGS, MARK, MOST, VERSION, WHOLE},
    terminal::notice,
};
use crate::{
    files::{self, FileError, create_inside, open_inside, open_inside_to_write, read_text_inside},
    store::LOCK,
};

pub use address::Address;
pub use question::RemoteQuestion;

/// The file in the copy that says whose copy it is.
const SOURCE: &str = ".source";
/// Most bytes of a frame's line.
const LONGEST_LINE: u64 = 64 << 10;
/// How long the first part of a run is waited for before it is said that it is.
const SOON: Duration = Duration::from_secs(5);
/// The longest pause between two tries.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// Writes what `orrery stream` writes, with what every Unix has.
const SCRIPT: &str = include_str!("remote/stream.sh");
/// Said of output that was not written by the program that was asked for.
const STRANGE: &str = "what came is not from `orrery stream`, or from the script in its place";
/// The exit code of a shell that does not find a command.
const NOT_FOUND: i32 = 127;

/// The program that reads the folder on the other machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Streamer {
    /// `orrery stream`.
    Orrery,
    /// [`SCRIPT`], which the other side's `sh` reads from its standard input.
    Shell,
}

impl Streamer {
    /// The command that streams the folder.
    fn command(self, address: &Address, have: &[Have]) -> Command {
        let path = address.quoted_path();
        match self {
            Self::Orrery => {
                let have: String = have.iter().map(|have| format!(" --have {have}")).collect();
                let mut command = address.ssh(&format!("orrery stream --stdio{have} {path}"));
                command.stdin(Stdio::null());
                command
            }
            Self::Shell => {
                // in the order of LOGS
                let have: String = have.iter().map(|have| format!(" {}", have.place())).collect();
                let mut command = address.ssh(&format!("exec sh -s -- {path}{have}"));
                command.stdin(Stdio::piped());
                command
            }
        }
    }
}

/// A run that the command line follows.
#[derive(Debug, Clone)]
pub struct FollowedRun {
    /// Its folder, or the copy of it.
    pub folder: PathBuf,
    /// Where it lies, of a run of another machine.
    pub address: Option<Address>,
}

/// The address that the run in a folder is copied from; `None` where it is no copy.
pub fn source_of(folder: &Path) -> Option<String> {
    let source = read_text_inside(folder, SOURCE, LONGEST_LINE).ok()?;
    Address::parse(source.trim())?.ok().map(|address| address.to_string())
}

/// A copy that is being written. Dropped, it ends `ssh`.
pub struct RemoteRun {
    pub folder: PathBuf,
    /// Where the run itself lies.
    pub address: Address,
    shared: Arc<Shared>,
}

/// A running `ssh`, which two threads may end.
#[derive(Default)]
struct Shared {
    is_over: AtomicBool,
    /// The description of the run has come, or another process sees to it.
    is_described: AtomicBool,
    ssh: Mutex<Option<Child>>,
}

impl Drop for RemoteRun {
    fn drop(&mut self) {
        self.shared.end();
    }
}

impl RemoteRun {
    /// Waits until the description is the present one, and not that of an earlier call; some seconds at most.
    pub fn wait_for_description(&self) {
        let begun = Instant::now();
        while !self.shared.is_described.load(Ordering::SeqCst) && begun.elapsed() < SOON {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Shared {
    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::SeqCst)
    }

    /// Starts an `ssh`, keeps it so that it can be ended, and writes `input` to it, if it reads any; its output. If it is
    /// over already, the child is ended.
    fn connect(&self, mut command: Command, input: &[u8]) -> Result<Option<ChildStdout>, String> {
        let mut child = command.spawn().map_err(|e| format!("`ssh` cannot be run: {e}"))?;
        let (to_shell, out) = (child.stdin.take(), child.stdout.take());
        *self.ssh.lock().unwrap_or_else(PoisonError::into_inner) = Some(child);
        if self.is_over() {
            self.end();
        }
        if let Some(mut to_shell) = to_shell {
            // an `ssh` that does not take it says why itself
            let _ = to_shell.write_all(input);
        }
        Ok(out)
    }

    fn end(&self) {
        self.is_over.store(true, Ordering::SeqCst);
        if let Some(mut child) = self.ssh.lock().unwrap_or_else(PoisonError::into_inner).take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// The exit code of the child, whose output has ended.
    fn exit_code(&self) -> Option<i32> {
        let mut child = self.ssh.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        let begun = Instant::now();
        // it ends by itself where the other side has ended
        while begun.elapsed() < Duration::from_secs(1) && matches!(child.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ = child.kill();
        child.wait().ok()?.code()
    }
}

/// How an `ssh` with this exit code has ended.
fn end_words(code: Option<i32>) -> String {
    match code {
        Some(NOT_FOUND) => "there is neither `orrery` nor `sh` on the path of that machine".to_owned(),
        Some(code) => format!("`ssh` ended with code {code}"),
        None => "the connection was cut".to_owned(),
    }
}

/// Begins to copy a run of another machine into a folder in `out`, and waits until there is a run in it.
///
/// # Errors
/// If the folder is something else's copy, or the other machine cannot be asked at all.
pub fn begin(address: &Address, out: &Path) -> Result<RemoteRun, Failure> {
    let folder = out.join(address.name());
    let failed = |e: &dyn std::fmt::Display| Failure::run(format!("{} cannot be written: {e}", folder.display()));
    files::make_folders(&folder).map_err(|e| failed(&e))?;
    match read_text_inside(&folder, SOURCE, LONGEST_LINE) {
        Ok(source) if source.trim_end() == address.to_string() => {}
        Err(e) if e.is_missing() && files::entries(&folder).is_ok_and(|mut all| all.next().is_none()) => {
            let mut file = create_inside(&folder, SOURCE).map_err(|e| failed(&e))?;
            writeln!(file, "{address}").map_err(|e| failed(&e))?;
        }
        _ => {
            let shown = folder.display();
            return Err(Failure::usage(format!(
                "{shown} is no copy of {address}: move it away, or give another place by --out"
            )));
        }
    }
    // one writer a copy; where the system has no locks there may be two, and each checks where what it appends begins
    let lock = open_inside_to_write(&folder, LOCK).map_err(|e| failed(&e))?;
    let is_copied = matches!(lock.try_lock(), Err(TryLockError::WouldBlock));
    let shared = Arc::<Shared>::default();
    let run = RemoteRun { folder, address: address.clone(), shared: Arc::clone(&shared) };
    if is_copied && !has_description(&run.folder) {
        return Err(Failure::run(format!("another Orrery is about to copy {address}: try again when it has")));
    }
    let (address, copy) = (address.clone(), Copy { folder: run.folder.clone(), shared });
    let worker = std::thread::Builder::new().name("ssh".to_owned()).spawn(move || copy.keep_on_alone(&address, &lock));
    let worker = worker.map_err(|e| Failure::run(format!("no thread could be started: {e}")))?;
    if is_copied {
        run.shared.is_described.store(true, Ordering::SeqCst);
        notice!("another Orrery copies this run already: it shows here what that one has copied");
        return Ok(run);
    }
    let begun = Instant::now();
    let mut is_told = false;
    while !has_description(&run.folder) {
        if worker.is_finished() {
            let why = worker.join().ok().and_then(Result::err).unwrap_or_default();
            return Err(Failure::run(why));
        }
        if begun.elapsed() > SOON && !is_told {
            notice!("waiting for the run at the other end");
            is_told = true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(run)
}

/// True if the copy can be opened as a run.
fn has_description(folder: &Path) -> bool {
    WHOLE.iter().any(|(file, _)| folder.join(file).is_file())
}

/// A connection that has ended.
struct Connection {
    /// How, in words.
    end: String,
    /// The exit code of `ssh`, which is that of the command on the other side.
    code: Option<i32>,
    /// The other side has sent something.
    answered: bool,
}

/// The writing side.
struct Copy {
    folder: PathBuf,
    shared: Arc<Shared>,
}

impl Copy {
    /// Copies once no other Orrery does: one that only put a question to the run ends before this one.
    fn keep_on_alone(&self, address: &Address, lock: &File) -> Result<(), String> {
        while matches!(lock.try_lock(), Err(TryLockError::WouldBlock)) {
            if self.shared.is_over() {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(200));
        }
        self.keep_on(address)
    }

    /// Copies until it is over; after a cut it tries again. A first try without an answer is an error.
    fn keep_on(&self, address: &Address) -> Result<(), String> {
        let (mut pause, mut told) = (Duration::from_secs(1), String::new());
        let mut streamer = Streamer::Orrery;
        // a copy of an earlier call is followed also while the other side is away
        let mut has_answered = has_description(&self.folder);
        loop {
            let begun = Instant::now();
            let Connection { end, code, answered } = self.once(address, streamer);
            if self.shared.is_over() {
                return Ok(());
            }
            if streamer == Streamer::Orrery && code == Some(NOT_FOUND) && !answered {
                streamer = Streamer::Shell;
                notice!("there is no `orrery` on the path of that machine: its `sh` and `tail` read the run instead");
                continue;
            }
            has_answered |= answered;
            if !has_answered {
                return Err(format!("{address}: {end}"));
            }
            if answered || begun.elapsed() > LONGEST_PAUSE {
                pause = Duration::from_secs(1);
            }
            if answered || end != told {
                notice!("orrery: {end}; it is tried again");
            }
            told = end;
            std::thread::sleep(pause);
            pause = (2 * pause).min(LONGEST_PAUSE);
        }
    }

    /// One connection.
    fn once(&self, address: &Address, streamer: Streamer) -> Connection {
        let refused = |end: String| Connection { end, code: None, answered: false };
        let have = match LOGS.iter().map(|log| self.have(log)).collect::<Result<Vec<Have>, FileError>>() {
            Ok(have) => have,
            Err(e) => return refused(format!("{} cannot be read: {e}", self.folder.display())),
        };
        let out = match self.shared.connect(streamer.command(address, &have), SCRIPT.as_bytes()) {
            Ok(out) => out,
            Err(words) => return refused(words),
        };
        let mut answered = false;
        let end = out.and_then(|out| self.read(out, &mut answered).err());
        let code = self.shared.exit_code();
        let end = end.unwrap_or_else(|| end_words(code));
        Connection { end, code, answered }
    }

    /// The part of a log that is here.
    fn have(&self, log: &str) -> Result<Have, FileError> {
        let mut file = match open_inside(&self.folder, log) {
            Err(e) if e.is_missing() => return Ok(Have { log: log.to_owned(), bytes: 0, end: vec![] }),
            opened => opened?,
        };
        let bytes = file.metadata()?.len();
        let mut end = vec![0; MARK.min(bytes) as usize];
        file.seek(SeekFrom::Start(bytes - end.len() as u64))?;
        file.read_exact(&mut end)?;
        Ok(Have { log: log.to_owned(), bytes, end })
    }

    /// Writes what comes, until it ends.
    fn read(&self, out: ChildStdout, has_answered: &mut bool) -> Result<(), String> {
        let mut out = BufReader::new(out);
        while let Some(frame) = next_frame::<Frame>(&mut out)? {
            if !*has_answered && !matches!(frame, Frame::Hello { .. }) {
                return Err(STRANGE.to_owned());
            }
            match frame {
                Frame::Hello { version } if version > VERSION => {
                    return Err(format!(
                        "the other side streams in version {version}, and this one reads up to {VERSION}"
                    ));
                }
                Frame::Hello { .. } => *has_answered = true,
                Frame::Beat => {}
                Frame::Anew => self.begin_anew().map_err(|e| self.unwritten(&e))?,
                Frame::Whole { file, bytes } => {
                    let known = WHOLE.iter().find(|(name, most)| *name == file && bytes <= *most);
                    let (name, _) = known.ok_or_else(|| format!("`{file}` was sent, which is not read"))?;
                    let content = exactly(&mut out, bytes)?;
                    files::replace(&self.folder.join(name), &content).map_err(|e| self.unwritten(&e))?;
                    // the first one that is sent is `run.json`, where there is one
                    self.shared.is_described.store(true, Ordering::SeqCst);
                }
                Frame::Part { file, from, bytes } => {
                    let known = LOGS.iter().find(|log| **log == file && bytes <= MOST);
                    let log = known.ok_or_else(|| format!("`{file}` was sent, which is not read"))?;
                    let content = exactly(&mut out, bytes)?;
                    self.append(log, from, &content)?;
                }
            }
        }
        Ok(())
    }

    fn append(&self, log: &str, from: u64, content: &[u8]) -> Result<(), String> {
        let mut file = open_inside_to_write(&self.folder, log).map_err(|e| self.unwritten(&e))?;
        let there = file.seek(SeekFrom::End(0)).map_err(|e| self.unwritten(&e))?;
        if there != from {
            return Err(format!("{log} has {there} bytes here, and what came goes on after {from}"));
        }
        file.write_all(content).map_err(|e| self.unwritten(&e))
    }

    fn begin_anew(&self) -> Result<(), FileError> {
        LOGS.iter().try_for_each(|log| create_inside(&self.folder, log).map(|_| ()))
    }

    fn unwritten(&self, e: &dyn std::fmt::Display) -> String {
        format!("{} cannot be written: {e}", self.folder.display())
    }
}

/// The next line of a stream, which describes what follows it; `None` at its end.
fn next_frame<F: DeserializeOwned>(out: &mut impl BufRead) -> Result<Option<F>, String> {
    let mut line = vec![];
    match out.take(LONGEST_LINE).read_until(b'\n', &mut line).map_err(|e| e.to_string())? {
        0 => Ok(None),
        _ => serde_json::from_slice(&line).map(Some).map_err(|_| STRANGE.to_owned()),
    }
}

/// So many bytes.
fn exactly(from: &mut impl Read, bytes: u64) -> Result<Vec<u8>, String> {
    let mut content = vec![];
    match from.take(bytes).read_to_end(&mut content) {
        Ok(read) if read as u64 == bytes => Ok(content),
        Ok(_) => Err("the connection was cut".to_owned()),
        Err(e) => Err(e.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_is_one_word_of_the_other_sides_shell() {
        let address = Address::parse("ssh://box/a'; rm -rf $HOME").unwrap().unwrap();
        let words = |streamer: Streamer, have: &[Have]| -> Vec<String> {
            let command = streamer.command(&address, have);
            command.get_args().map(|word| word.to_string_lossy().into_owned()).skip_while(|word| word != "--").collect()
        };
        let path = r"'/a'\''; rm -rf $HOME'";
        assert_eq!(words(Streamer::Orrery, &[]), ["--", "box", &format!("orrery stream --stdio {path}")]);
        let have = LOGS.map(|log| Have { log: log.to_owned(), bytes: 2, end: b"}\n".to_vec() });
        assert_eq!(words(Streamer::Shell, &have), ["--", "box", &format!("exec sh -s -- {path} 2:7d0a 2:7d0a 2:7d0a")]);
    }

    #[test]
    fn the_script_knows_the_same_files_and_bounds() {
        let whole = WHOLE.iter().map(|(file, most)| format!("whole {file} {most}"));
        let logs = LOGS.iter().map(|log| format!("part {log} "));
        for line in whole.chain(logs).chain([format!("most={MOST}"), format!("{{\"version\":{VERSION}}}")]) {
            assert!(SCRIPT.contains(&line), "{line}");
        }
    }
}
