//! `orrery follow ssh://host/path`: the system's `ssh` hands a script to the other side's `sh`, which starts `orrery stream` there
//! or, where there is none, writes the same frames with `tail`. What comes is kept in a folder here, which is followed like any
//! other. After a cut it continues where the folder ends. No port is opened and nothing is installed.

mod address;
mod question;
mod ssh;

use std::{
    fs::{File, TryLockError},
    io::{Read, Seek, SeekFrom, Write},
};

use self::ssh::{Configuration, ConnectionOptions, Frames, SharedSocket, Ssh, SshExit, script};
use super::{
    interrupt,
    process::spawn,
    stream::{COMPARED_BYTES, LocalPart},
};
use crate::{
    cli::prelude::*,
    files::{create_inside, open_inside, open_inside_to_write, read_text_inside, remove_folder_inside},
    store::{
        LOCK,
        frames::{FolderCopy, Frame, LOGS, MAX_LINE, WHOLE},
    },
};

pub use address::Address;
pub use question::RemoteQuestion;

/// The file in the copy that says whose copy it is.
const SOURCE_FILE: &str = ".source";
/// The longest silent wait for the first part of a run, for the last before a question, and for `ssh`'s configuration.
const SILENT_WAIT: Duration = Duration::from_secs(5);
/// The longest pause between two tries.
const MAX_PAUSE: Duration = Duration::from_secs(10);
/// The interval between two looks for new data.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Starts `orrery stream`, or writes what it writes with what every Unix has.
const SCRIPT: &str = include_str!("remote/stream.sh");

/// A run that the command line follows.
#[derive(Debug, Clone)]
pub struct FollowedRun {
    /// Its folder, or the copy of it.
    pub folder: PathBuf,
    /// The address of a run on another machine.
    pub remote: Option<RemoteSource>,
}

/// The address of a copied run on another machine, and the state of the copy.
#[derive(Debug, Clone)]
pub struct RemoteSource {
    pub address: Address,
    copied: Arc<CopyState>,
    /// The options of further connections, which share the socket of the copy's connection.
    options: ConnectionOptions,
}

impl RemoteSource {
    /// True if all that was there has come and the connection is up. The end of an older copy says nothing: the run
    /// may have continued since. Of a copy that another Orrery writes it is not known, and false.
    pub fn is_up_to_date(&self) -> bool {
        self.copied.is_up_to_date.load(Ordering::SeqCst)
    }

    /// True if the description of the run was received in this process, so that it is current about what the program
    /// allows.
    pub fn is_described(&self) -> bool {
        self.copied.is_described.load(Ordering::SeqCst)
    }
}

/// The address that the run in a folder is copied from; `None` where it is not a copy.
pub fn source_of(folder: &Path) -> Option<String> {
    let source = read_text_inside(folder, SOURCE_FILE, MAX_LINE).ok()?;
    Address::parse(source.trim())?.ok().map(|address| address.to_string())
}

/// A copy that is being written. Dropped, it ends `ssh`, and removes the folder if nothing has come into it.
pub struct RemoteRun {
    pub folder: PathBuf,
    pub source: RemoteSource,
    /// The socket by which its connection is shared, which is removed with it.
    _socket: Option<SharedSocket>,
}

impl Drop for RemoteRun {
    fn drop(&mut self) {
        self.source.copied.ssh.end();
        let is_ours = |name: &std::ffi::OsStr| name == SOURCE_FILE || name == LOCK;
        if files::entries(&self.folder).is_ok_and(|mut all| all.all(|entry| is_ours(&entry.file_name())))
            && let (Some(parent), Some(name)) = (self.folder.parent(), self.folder.file_name())
        {
            // a later call continues a copy that could not be removed
            let _ = remove_folder_inside(parent, name);
        }
    }
}

#[derive(Debug, Default)]
struct CopyState {
    ssh: Ssh,
    /// The description of the run has come over a connection of this process.
    is_described: AtomicBool,
    /// All data that was there has come too, and the connection is open.
    is_up_to_date: AtomicBool,
}

/// Begins to copy a run of another machine into its [`copy_folder`], and waits until there is a run in it, be it an older copy.
/// With `patience` it waits this long at most, and until the description of the run is the current one.
pub fn begin(address: &Address, folder: PathBuf, patience: Option<Duration>) -> Result<RemoteRun, Failure> {
    let begun = Instant::now();
    // a copy has one writer; without file locks there may be two, and each checks the offset that it appends at
    let lock = open_inside_to_write(&folder, LOCK).map_err(|e| output::write_failure(&folder, &e))?;
    let is_copied = matches!(lock.try_lock(), Err(TryLockError::WouldBlock));
    if is_copied && !has_description(&folder) {
        return Err(Failure::run(format!("another Orrery is about to copy {address}: try again when it has")));
    }
    let copied = Arc::<CopyState>::default();
    let is_asked_to_end = interrupt::cancel_flag();
    let configured = Configuration::read(address, patience.unwrap_or(SILENT_WAIT).min(SILENT_WAIT));
    let socket = configured.as_ref().and_then(SharedSocket::new);
    let options = |is_first| ConnectionOptions::new(configured.as_ref(), socket.as_ref(), is_first);
    let copy = Copy {
        folder: folder.clone(),
        address: address.clone(),
        copied: Arc::clone(&copied),
        options: options(true),
        // an earlier call's copy is followed even while the other machine is unreachable
        is_enough: patience.is_none() && has_description(&folder),
    };
    let source = RemoteSource { address: address.clone(), copied: Arc::clone(&copied), options: options(false) };
    let run = RemoteRun { folder, source, _socket: socket };
    let worker = spawn("ssh", move || copy.copy_when_unlocked(&lock)).map_err(Failure::run)?;
    if is_copied {
        notice!("another Orrery is already copying this run: what it has copied is shown here");
        return Ok(run);
    }
    let is_late = || patience.is_some_and(|patience| begun.elapsed() >= patience);
    let has_come = || match patience {
        None => has_description(&run.folder),
        Some(_) => copied.is_described.load(Ordering::SeqCst),
    };
    // also while `ssh` asks for a password
    let check_interrupt = || match is_asked_to_end.load(Ordering::SeqCst) {
        true => Err(Failure::interrupted(format!("{address} was not copied"))),
        false => Ok(()),
    };
    let mut is_told = false;
    while !has_come() {
        check_interrupt()?;
        if worker.is_finished() {
            // the ssh of the same terminal may end by an interrupt before this process has seen it
            std::thread::sleep(5 * POLL_INTERVAL);
            check_interrupt()?;
            let why = worker.join().ok().and_then(Result::err);
            return Err(why.unwrap_or_else(|| Failure::run(format!("{address} is no longer copied"))));
        }
        if is_late() {
            let secs = begun.elapsed().as_secs();
            return Err(Failure::run(format!(
                "nothing has come from {address} within {secs} s: --wait gives it more time"
            )));
        }
        if begun.elapsed() > SILENT_WAIT && !is_told {
            notice!("waiting for the run at the other end");
            is_told = true;
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    // a long log may still be arriving: until all of it is here, it is unknown if the run has ended
    let described = Instant::now();
    while patience.is_some() && !run.source.is_up_to_date() && described.elapsed() < SILENT_WAIT && !is_late() {
        check_interrupt()?;
        std::thread::sleep(POLL_INTERVAL);
    }
    Ok(run)
}

/// The folder in `out` for the copy of this run, made if absent. `advice` ends the error if another is in its place.
pub fn copy_folder(address: &Address, out: &Path, advice: &str) -> Result<PathBuf, Failure> {
    let folder = out.join(address.copy_name());
    let failed = |e: &dyn std::fmt::Display| output::write_failure(&folder, e);
    files::make_folders(&folder).map_err(|e| failed(&e))?;
    match read_text_inside(&folder, SOURCE_FILE, MAX_LINE) {
        Ok(source) if source.trim_end() == address.to_string() => {}
        Err(e) if e.is_missing() && files::entries(&folder).is_ok_and(|mut all| all.next().is_none()) => {
            let mut file = create_inside(&folder, SOURCE_FILE).map_err(|e| failed(&e))?;
            writeln!(file, "{address}").map_err(|e| failed(&e))?;
        }
        _ => {
            let shown = folder.display();
            return Err(Failure::usage(format!("{shown} is not a copy of {address}: move it away{advice}")));
        }
    }
    Ok(folder)
}

/// True if the copy can be opened as a run.
fn has_description(folder: &Path) -> bool {
    WHOLE.iter().any(|(file, _)| folder.join(file).is_file())
}

/// A connection that has ended.
struct Connection {
    /// A description of how the connection ended.
    end: String,
    exit: SshExit,
    /// The other side has sent something.
    answered: bool,
}

/// The state of the thread that writes the copy.
struct Copy {
    folder: PathBuf,
    address: Address,
    copied: Arc<CopyState>,
    options: ConnectionOptions,
    /// An older copy is enough for the user while the other side does not answer.
    is_enough: bool,
}

impl Copy {
    /// Copies once no other Orrery does: one that only put a question to the run ends before this one.
    fn copy_when_unlocked(&self, lock: &File) -> Result<(), Failure> {
        while matches!(lock.try_lock(), Err(TryLockError::WouldBlock)) {
            if self.copied.ssh.is_over() {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(200));
        }
        self.reconnect_loop()
    }

    /// Copies until the run ends, and reconnects after a lost connection. It is an error if the first attempt gets no
    /// answer.
    fn reconnect_loop(&self) -> Result<(), Failure> {
        let (mut pause, mut told) = (Duration::from_secs(1), String::new());
        let mut has_answered = self.is_enough;
        loop {
            let begun = Instant::now();
            let Connection { end, exit, answered } = self.connect_once();
            self.copied.is_up_to_date.store(false, Ordering::SeqCst);
            if self.copied.ssh.is_over() {
                return Ok(());
            }
            has_answered |= answered;
            if !has_answered {
                return Err(exit.failure(format!("{}: {end}{}", self.address, exit.advice())));
            }
            if answered || begun.elapsed() > MAX_PAUSE {
                pause = Duration::from_secs(1);
            }
            if answered || end != told {
                notice!("orrery: {end}; it is tried again");
            }
            told = end;
            std::thread::sleep(pause);
            pause = (2 * pause).min(MAX_PAUSE);
        }
    }

    /// Connects, and copies until the connection ends.
    fn connect_once(&self) -> Connection {
        let refused = |end: String| Connection { end, exit: SshExit::default(), answered: false };
        let have = match LOGS.iter().map(|log| self.local_part(log)).collect::<Result<Vec<LocalPart>, FileError>>() {
            Ok(have) => have,
            Err(e) => return refused(format!("{} cannot be read: {e}", self.folder.display())),
        };
        let command = script(&self.address, &arguments(&have), &self.options);
        let frames = match self.copied.ssh.connect(command, SCRIPT.as_bytes(), self.options.max_silence) {
            Ok(frames) => frames,
            Err(words) => return refused(words),
        };
        let mut copy = FolderCopy::new(&self.folder);
        let end = frames.and_then(|frames| self.read(frames, &mut copy).err());
        let exit = self.copied.ssh.exit();
        let end = end.unwrap_or_else(|| exit.to_string());
        Connection { end, exit, answered: copy.has_begun }
    }

    fn local_part(&self, log: &str) -> Result<LocalPart, FileError> {
        let mut file = match open_inside(&self.folder, log) {
            Err(e) if e.is_missing() => return Ok(LocalPart::empty(log)),
            opened => opened?,
        };
        let bytes = file.metadata()?.len();
        let mut end = vec![0; COMPARED_BYTES.min(bytes) as usize];
        file.seek(SeekFrom::Start(bytes - end.len() as u64))?;
        file.read_exact(&mut end)?;
        Ok(LocalPart { log: log.to_owned(), bytes, end })
    }

    /// Writes the frames as they arrive, until the connection ends.
    fn read(&self, mut frames: Frames, copy: &mut FolderCopy<'_>) -> Result<(), String> {
        let CopyState { is_described, is_up_to_date, .. } = &*self.copied;
        while let Some(frame) = frames.read_frame::<Frame>()? {
            if self.copied.ssh.is_over() {
                return Ok(());
            }
            if frame == Frame::Anew {
                is_up_to_date.store(false, Ordering::SeqCst);
            }
            copy.receive(&frame, &mut frames)?;
            match frame {
                Frame::Beat => is_up_to_date.store(true, Ordering::SeqCst),
                // the first one that is sent is `run.json`, where there is one
                Frame::Whole { .. } => is_described.store(true, Ordering::SeqCst),
                Frame::Hello { .. } | Frame::Anew | Frame::Part { .. } => {}
            }
        }
        Ok(())
    }
}

/// The arguments of [`SCRIPT`], in the order of [`LOGS`].
fn arguments(have: &[LocalPart]) -> String {
    have.iter().map(LocalPart::place).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::{ssh::NO_FOLDER, *};
    use crate::store::frames::{MAX_PART, VERSION};

    #[test]
    fn the_script_knows_the_same_files_and_bounds() {
        let whole = WHOLE.iter().map(|(file, most)| format!("whole {file} {most}"));
        let logs = LOGS.iter().map(|log| format!("part {log} "));
        let have = LOGS.iter().enumerate().map(|(i, log)| format!("--have \"{log}=${}\"", i + 1));
        let numbers =
            [format!("|| exit {NO_FOLDER}"), format!("most={MAX_PART}"), format!("{{\"version\":{VERSION}}}")];
        for line in whole.chain(logs).chain(have).chain(numbers) {
            assert!(SCRIPT.contains(&line), "{line}");
        }
    }

    #[test]
    fn the_script_gets_length_and_end_of_each_local_log() {
        let have = LOGS.map(|log| LocalPart { log: log.to_owned(), bytes: 2, end: b"}\n".to_vec() });
        assert_eq!(arguments(&have), "2:7d0a 2:7d0a 2:7d0a");
    }
}
