//! The system's `ssh` as a child process: its options, what it writes, and how it ends.

use std::{
    env,
    ffi::OsStr,
    fmt,
    io::{self, BufReader, Cursor, IsTerminal, Read, Write},
    path::Path,
    process::{Child, ChildStdout, Command, Stdio},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use crossbeam::channel::{Receiver, RecvTimeoutError, bounded};
use serde::de::DeserializeOwned;
use tempfile::TempDir;

use super::{super::stream::HEARTBEAT_INTERVAL, Address, POLL_INTERVAL};
use crate::{
    cli::{
        failure::Failure,
        process::{spawn, terminate},
    },
    store::frames::{self, CONNECTION_LOST},
};

/// The exit code of a shell that cannot run a command.
const CANNOT_RUN: i32 = 126;
/// The exit code of a shell that does not find a command.
const NOT_FOUND: i32 = 127;
/// The exit code of our scripts if the folder does not exist.
pub(super) const NO_FOLDER: i32 = 66;
/// The exit code of an `ssh` that has no connection.
const NO_CONNECTION: i32 = 255;
/// A connection that is silent for this long is given up, because a frame is due every two seconds. `ssh` itself
/// notices sooner, unless the user's configuration shares one connection among several and does not watch it.
const MAX_SILENCE: Duration = Duration::from_secs(30);
/// A child that was asked to end is killed after this time.
const EXIT_GRACE: Duration = Duration::from_millis(500);
/// Bytes of the path of a socket that every Unix takes, with the ending that `ssh` gives it while it is made.
const MAX_SOCKET_PATH: usize = 80;

/// Only one `ssh` of this process connects at a time, so that no two ask for a password at once.
static CONNECT_LOCK: Mutex<()> = Mutex::new(());

/// How `ssh` asks for a password or a passphrase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Prompt {
    Terminal,
    /// `ssh` calls the program that the user has set for prompts.
    Program,
    /// `ssh` does not ask: nobody would see the prompt, and it would wait for ever.
    Never,
}

impl Prompt {
    fn new(is_terminal: bool, askpass: Option<&OsStr>) -> Self {
        match (is_terminal, askpass) {
            (true, _) => Self::Terminal,
            (false, Some(program)) if !program.is_empty() => Self::Program,
            (false, _) => Self::Never,
        }
    }

    /// The prompt that is possible where this process runs.
    fn from_env() -> Self {
        Self::new(io::stdin().is_terminal(), env::var_os("SSH_ASKPASS").as_deref())
    }
}

/// An `ssh` command that connects to the other machine; the caller adds what is to run there.
fn ssh(address: &Address, prompt: Prompt) -> Command {
    let mut command = Command::new("ssh");
    command.arg("-T");
    match prompt {
        Prompt::Terminal => {}
        // not at the terminal that this process may still belong to, in the background
        Prompt::Program => _ = command.env("SSH_ASKPASS_REQUIRE", "force"),
        Prompt::Never => _ = command.args(["-o", "BatchMode=yes"]),
    }
    if let Some(port) = address.port {
        command.args(["-p", &port.to_string()]);
    }
    command
}

/// The script for the other side's `sh`, which reads it from standard input, with arguments as on a command line.
pub(super) fn script(address: &Address, arguments: &str, options: &ConnectionOptions) -> Command {
    let mut command = ssh(address, Prompt::from_env());
    let words = format!("exec sh -s -- {} {arguments}", address.quoted_path());
    command.args(&options.words).args(["--", &address.host, &words]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    command
}

/// The user's configuration of `ssh` for an address.
#[derive(Debug)]
pub(super) struct Configuration(String);

impl Configuration {
    /// Asks `ssh`, which connects to nothing; `None` if a command of its configuration hangs for longer than `limit`.
    pub fn read(address: &Address, limit: Duration) -> Option<Self> {
        // not in batch mode, where Debian's `ssh` sets a keepalive that is not the user's
        let mut command = ssh(address, Prompt::Terminal);
        command.args(["-G", "--", &address.host]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().ok()?;
        if !ends_within(&mut child, limit) {
            kill(child);
            return None;
        }
        let output = child.wait_with_output().ok().filter(|output| output.status.success())?;
        Some(Self(String::from_utf8_lossy(&output.stdout).into_owned()))
    }

    fn value(&self, key: &str) -> Option<&str> {
        self.0.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' '))
    }

    /// The time without an answer after which a connection is closed, if the user set one.
    fn max_silence(&self) -> Option<Duration> {
        let number = |key: &str| self.value(key)?.parse::<u32>().ok();
        let seconds = number("serveraliveinterval")?.saturating_mul(number("serveralivecountmax")?);
        (seconds > 0).then(|| Duration::from_secs(seconds.into()))
    }
}

/// The options of a connection, and the silence that ends it.
#[derive(Debug, Clone)]
pub(super) struct ConnectionOptions {
    words: Vec<String>,
    pub max_silence: Duration,
}

impl ConnectionOptions {
    /// The options of the first connection over a socket, or of later ones. A keepalive set by the user is kept.
    pub fn new(configured: Option<&Configuration>, socket: Option<&SharedSocket>, is_first: bool) -> Self {
        let own = configured.and_then(Configuration::max_silence);
        let keepalive: &[&str] = if own.is_some() { &[] } else { &["ServerAliveInterval=5", "ServerAliveCountMax=3"] };
        let options = keepalive.iter().map(|option| (*option).to_owned());
        let options = options.chain(socket.into_iter().flat_map(|socket| socket.options(is_first)));
        let words = options.flat_map(|option| ["-o".to_owned(), option]).collect();
        Self { words, max_silence: own.map_or(MAX_SILENCE, |own| own.max(MAX_SILENCE)) }
    }
}

/// A socket by which later connections to a machine go over the first one, so that a password is typed once.
#[derive(Debug)]
pub(super) struct SharedSocket {
    folder: TempDir,
}

impl SharedSocket {
    /// Makes a socket for sharing connections. `None` if the user's configuration already shares them, if this `ssh`
    /// cannot, or if no folder with a short enough path can be made.
    pub fn new(configured: &Configuration) -> Option<Self> {
        if !cfg!(unix) {
            return None;
        }
        let is_shared = configured.value("controlmaster").is_some_and(|master| !matches!(master, "false" | "no"));
        let is_path_taken = |path: &str| path != "none" && (is_shared || Path::new(path).exists());
        if configured.value("controlpath").is_some_and(is_path_taken) {
            return None;
        }
        let folder = tempfile::Builder::new().prefix("orrery-").tempdir().ok()?;
        let path = folder.path().to_str()?;
        // `ssh` splits an option at blanks and puts names in the place of `%`
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
        (path.len() <= MAX_SOCKET_PATH && path.chars().all(is_plain)).then_some(Self { folder })
    }

    fn options(&self, is_first: bool) -> [String; 3] {
        let master = if is_first { "auto" } else { "no" };
        let path = self.folder.path().join("ssh");
        // kept by the user's own setting, the first one would continue in the background and outlive this process
        ["ControlPersist=no".to_owned(), format!("ControlMaster={master}"), format!("ControlPath={}", path.display())]
    }
}

/// Waits for the child; true if it ends by itself in this time.
fn ends_within(child: &mut Child, limit: Duration) -> bool {
    let begun = Instant::now();
    while matches!(child.try_wait(), Ok(None)) {
        if begun.elapsed() >= limit {
            return false;
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    true
}

/// Ends a child that may have ended; its exit code.
fn kill(mut child: Child) -> Option<i32> {
    let _ = child.kill();
    child.wait().ok()?.code()
}

/// A running `ssh` process, which two threads may end.
#[derive(Debug, Default)]
pub(super) struct Ssh {
    is_over: AtomicBool,
    child: Mutex<Option<Child>>,
}

impl Ssh {
    pub fn is_over(&self) -> bool {
        self.is_over.load(Ordering::SeqCst)
    }

    /// Starts an `ssh`, keeps it so that it can be ended, writes `input` to it, and returns its output; `None` if it is
    /// over. Waits while another one connects. A later silence of more than `max_silence` is an error of the frames.
    pub fn connect(&self, mut command: Command, input: &[u8], max_silence: Duration) -> Result<Option<Frames>, String> {
        let connecting = CONNECT_LOCK.lock().unwrap_or_else(PoisonError::into_inner);
        // locked while it starts, so that another thread that ends it either finds the child or prevents its start
        let mut held = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_over() {
            return Ok(None);
        }
        let mut child = command.spawn().map_err(|e| format!("`ssh` cannot be run: {e}"))?;
        let (to_shell, out) = (child.stdin.take(), child.stdout.take());
        *held = Some(child);
        drop(held);
        if let Some(mut to_shell) = to_shell {
            // an `ssh` that refuses the input reports the reason itself
            let _ = to_shell.write_all(input);
        }
        let output = out.map(|out| Output::begin(out, max_silence)).transpose().inspect_err(|_| {
            self.exit();
        })?;
        Ok(output.map(|output| Frames { out: BufReader::new(output), connecting: Some(connecting) }))
    }

    /// Ends it. It is first asked to end, so that it can restore a terminal in which it asks for a password and end its
    /// own children.
    pub fn end(&self) {
        self.is_over.store(true, Ordering::SeqCst);
        if let Some(mut child) = self.child.lock().unwrap_or_else(PoisonError::into_inner).take() {
            terminate(&mut child, false);
            ends_within(&mut child, EXIT_GRACE);
            kill(child);
        }
    }

    /// The exit code of the child, whose output has ended.
    pub fn exit(&self) -> SshExit {
        let Some(mut child) = self.child.lock().unwrap_or_else(PoisonError::into_inner).take() else {
            return SshExit(None);
        };
        // `ssh` ends by itself if the other side has ended
        ends_within(&mut child, Duration::from_secs(1));
        SshExit(kill(child))
    }
}

/// The output of a child, which a thread reads, so that it is noticed when nothing comes.
struct Output {
    chunks: Receiver<io::Result<Vec<u8>>>,
    chunk: Cursor<Vec<u8>>,
    max_silence: Duration,
    /// Something has come. What comes first may wait for a password.
    has_begun: bool,
}

impl Output {
    fn begin(mut out: ChildStdout, max_silence: Duration) -> Result<Self, String> {
        let (sender, chunks) = bounded(4);
        spawn("ssh output", move || {
            let mut bytes = vec![0; 64 << 10];
            loop {
                let chunk = match out.read(&mut bytes) {
                    Ok(0) => return,
                    Ok(read) => Ok(bytes[..read].to_vec()),
                    Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                    Err(e) => Err(e),
                };
                let is_last = chunk.is_err();
                if sender.send(chunk).is_err() || is_last {
                    return;
                }
            }
        })?;
        Ok(Self { chunks, chunk: Cursor::default(), max_silence, has_begun: false })
    }
}

impl Read for Output {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.chunk.read(into)?;
        if read > 0 {
            return Ok(read);
        }
        let next = match self.has_begun {
            true => match self.chunks.recv_timeout(self.max_silence) {
                // this process and its `ssh` may have been suspended meanwhile, with data waiting to be read
                Err(RecvTimeoutError::Timeout) => self.chunks.recv_timeout(2 * HEARTBEAT_INTERVAL),
                next => next,
            },
            false => self.chunks.recv().map_err(RecvTimeoutError::from),
        };
        match next {
            Ok(chunk) => {
                self.has_begun = true;
                self.chunk = Cursor::new(chunk?);
                self.chunk.read(into)
            }
            Err(RecvTimeoutError::Disconnected) => Ok(0),
            Err(RecvTimeoutError::Timeout) => {
                let seconds = self.max_silence.as_secs_f64();
                let words = format!("nothing has come from the other side for {seconds} s");
                Err(io::Error::new(io::ErrorKind::TimedOut, words))
            }
        }
    }
}

/// The output of a child: lines of JSON, some with bytes behind them.
pub(super) struct Frames {
    out: BufReader<Output>,
    /// Held until the first line has come or the child has ended.
    connecting: Option<MutexGuard<'static, ()>>,
}

impl Frames {
    /// The next line, which describes what follows it; `None` at the end.
    pub fn read_frame<F: DeserializeOwned>(&mut self) -> Result<Option<F>, String> {
        let frame = frames::read_frame(&mut self.out);
        self.connecting = None;
        frame
    }
}

impl Read for Frames {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.out.read(into)
    }
}

/// The exit code of an `ssh`, if it had one; it is that of the command on the other side where there was a connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct SshExit(Option<i32>);

impl fmt::Display for SshExit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(NO_FOLDER) => f.write_str("there is no such folder there"),
            Some(CANNOT_RUN | NOT_FOUND) => {
                f.write_str("there is no `sh` on the path of that machine, or an `orrery` that cannot be run")
            }
            Some(code) => write!(f, "`ssh` ended with code {code}"),
            None => f.write_str(CONNECTION_LOST),
        }
    }
}

impl SshExit {
    /// The failure of a command whose `ssh` has ended so, in these words: a folder that is not there is a wrong argument.
    pub fn failure(self, words: String) -> Failure {
        if self.0 == Some(NO_FOLDER) { Failure::usage(words) } else { Failure::run(words) }
    }

    /// Advice where a first connection has ended so; empty if there is none.
    pub fn advice(self) -> &'static str {
        match (self.0, Prompt::from_env()) {
            (Some(NO_CONNECTION), Prompt::Never) => {
                " (where standard input is not a terminal, `ssh` cannot ask for a password and refuses a host whose \
                 key it does not know: use a key or `ssh-agent`, and connect once by hand to make the host known)"
            }
            _ => "",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(command: &Command) -> Vec<String> {
        command.get_args().map(|word| word.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn the_path_is_one_word_of_the_other_sides_shell() {
        let address = Address::parse("ssh://box/a'; rm -rf $HOME").unwrap().unwrap();
        let words = arguments(&script(&address, "0001-ab", &ConnectionOptions::new(None, None, true)));
        let place = words.iter().position(|word| word == "--").unwrap();
        assert_eq!(words[place..], ["--", "box", r"exec sh -s -- '/a'\''; rm -rf $HOME' 0001-ab"]);
    }

    #[test]
    fn a_password_is_asked_for_where_somebody_can_type_it() {
        let program = OsStr::new("askpass");
        assert_eq!(Prompt::new(true, Some(program)), Prompt::Terminal);
        assert_eq!(Prompt::new(false, Some(program)), Prompt::Program);
        assert_eq!(Prompt::new(false, Some(OsStr::new(""))), Prompt::Never);
        assert_eq!(Prompt::new(false, None), Prompt::Never);
        let address = Address::parse("ssh://box:22/a").unwrap().unwrap();
        let is_batch = |prompt| arguments(&ssh(&address, prompt)).contains(&"BatchMode=yes".to_owned());
        assert_eq!([Prompt::Terminal, Prompt::Program, Prompt::Never].map(is_batch), [false, false, true]);
    }

    #[test]
    fn an_ended_connection_starts_no_ssh() {
        let ssh = Ssh::default();
        ssh.end();
        // there is no such program, which would be an error
        let connected = ssh.connect(Command::new("/nowhere/ssh"), b"", MAX_SILENCE);
        assert!(connected.is_ok_and(|frames| frames.is_none()));
    }

    #[test]
    fn user_keepalive_takes_precedence() {
        let options = |text: &str| ConnectionOptions::new(Some(&Configuration(text.to_owned())), None, true);
        for none in ["", "serveralivecountmax 3\nserveraliveinterval 0\n", "serveraliveinterval x\n"] {
            let ours = options(none);
            assert_eq!(ours.words, ["-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=3"], "{none}");
            assert_eq!(ours.max_silence, MAX_SILENCE);
        }
        let patient = options("serveralivecountmax 4\nserveraliveinterval 60\n");
        assert!(patient.words.is_empty(), "{patient:?}");
        assert_eq!(patient.max_silence, Duration::from_secs(240));
        // here `ssh` ends a silent connection before our own timeout does
        assert_eq!(options("serveralivecountmax 1\nserveraliveinterval 2\n").max_silence, MAX_SILENCE);
    }

    #[cfg(unix)]
    fn shell(words: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", words]).stdout(Stdio::piped());
        command
    }

    #[cfg(unix)]
    #[test]
    fn a_silent_connection_is_given_up_once_something_has_come() {
        let (ssh, silence) = (Ssh::default(), Duration::from_secs(1));
        let mut frames = ssh.connect(shell("sleep 2; echo 1; exec sleep 100"), b"", silence).unwrap().unwrap();
        assert_eq!(frames.read_frame::<u32>(), Ok(Some(1)), "the first may wait for a password");
        let begun = Instant::now();
        let words = frames.read_frame::<u32>().unwrap_err();
        assert!(words.contains("nothing has come from the other side for 1 s"), "{words}");
        assert!(begun.elapsed() >= silence && begun.elapsed() < Duration::from_secs(50));
        ssh.end();
    }

    #[cfg(unix)]
    #[test]
    fn a_line_without_its_end_was_cut() {
        let ssh = Ssh::default();
        let mut frames = ssh.connect(shell("printf '1\n{\"par'"), b"", MAX_SILENCE).unwrap().unwrap();
        assert_eq!(frames.read_frame::<u32>(), Ok(Some(1)));
        assert_eq!(frames.read_frame::<u32>(), Err(CONNECTION_LOST.to_owned()));
        ssh.exit();
    }

    #[cfg(unix)]
    #[test]
    fn one_connects_at_a_time() {
        let (first, second) = (Ssh::default(), Ssh::default());
        let mut frames = first.connect(shell("echo 1; exec sleep 100"), b"", MAX_SILENCE).unwrap().unwrap();
        let is_connected = AtomicBool::new(false);
        let has_begun = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                has_begun.store(true, Ordering::SeqCst);
                let frames = second.connect(shell("echo 2"), b"", MAX_SILENCE).unwrap();
                is_connected.store(true, Ordering::SeqCst);
                assert_eq!(frames.unwrap().read_frame::<u32>(), Ok(Some(2)));
            });
            while !has_begun.load(Ordering::SeqCst) {
                std::thread::yield_now();
            }
            std::thread::sleep(Duration::from_millis(200));
            assert!(!is_connected.load(Ordering::SeqCst));
            assert_eq!(frames.read_frame::<u32>(), Ok(Some(1)));
        });
        first.end();
        second.end();
    }
}
