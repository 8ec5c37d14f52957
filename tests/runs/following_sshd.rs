//! Tests following a run over a real `sshd` on the loopback interface, with a lost connection.

use std::{
    collections::BTreeMap,
    env, fs,
    net::{TcpListener, TcpStream},
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use serde_json::json;

use crate::{command::command, foreign_run::ForeignRun, foreign_runs::check_follower};

const SSHD: [&str; 3] = ["/usr/sbin/sshd", "/usr/local/sbin/sshd", "/usr/bin/sshd"];
const LIMIT: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(20);

/// An `sshd` of this user on a free port of 127.0.0.1 with its own keys and settings, and an `ssh` command in which its
/// host name is `loopback`.
struct LoopbackSshd {
    process: Child,
    here: PathBuf,
}

impl LoopbackSshd {
    /// Starts the server.
    ///
    /// # Errors
    /// The reason why no server can be started on this machine.
    fn begin(here: &Path) -> Result<Self, String> {
        let program = SSHD.iter().find(|path| Path::new(path).exists()).ok_or("there is no sshd here")?;
        let ssh = env::split_paths(&env::var_os("PATH").unwrap_or_default())
            .map(|folder| folder.join("ssh"))
            .find(|path| path.is_file())
            .ok_or("there is no ssh here")?;
        for name in ["host_key", "user_key"] {
            let mut keygen = Command::new("ssh-keygen");
            keygen.args(["-q", "-t", "ed25519", "-N", "", "-f", name]).current_dir(here).stdin(Stdio::null());
            let is_made = keygen.status().is_ok_and(|status| status.success());
            is_made.then_some(()).ok_or("ssh-keygen makes no keys here")?;
        }
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let shown = here.display();
        // commands on the other side find the binary of this build
        fs::create_dir(here.join("there_bin")).unwrap();
        symlink(env!("CARGO_BIN_EXE_orrery"), here.join("there_bin/orrery")).unwrap();
        let settings = format!(
            "ListenAddress 127.0.0.1\nPort {port}\nHostKey {shown}/host_key\nAuthorizedKeysFile {shown}/user_key.pub\n\
             StrictModes no\nUsePAM no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\nPidFile none\n\
             SetEnv PATH={shown}/there_bin:/usr/bin:/bin\n"
        );
        fs::write(here.join("sshd_config"), settings).unwrap();
        let configuration = format!(
            "Host loopback\n  HostName 127.0.0.1\n  Port {port}\n  IdentityFile {shown}/user_key\n  IdentitiesOnly yes\n  \
             IdentityAgent none\n  UserKnownHostsFile {shown}/known_hosts\n  GlobalKnownHostsFile /dev/null\n  \
             StrictHostKeyChecking accept-new\n"
        );
        fs::write(here.join("ssh_config"), configuration).unwrap();
        // `ssh` reads the account's home folder, not $HOME, so the configuration must be given as an option
        let script = format!(
            "#!/bin/sh\necho \"$*\" >>'{shown}/commands'\nexec '{}' -F '{shown}/ssh_config' \"$@\"\n",
            ssh.display()
        );
        fs::create_dir(here.join("bin")).unwrap();
        fs::write(here.join("bin/ssh"), script).unwrap();
        fs::set_permissions(here.join("bin/ssh"), fs::Permissions::from_mode(0o755)).unwrap();
        // for root, `sshd` needs this folder, which otherwise only a service manager creates
        if fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0) {
            let _ = fs::create_dir("/run/sshd");
        }
        let log = here.join("sshd.log");
        let mut command = Command::new(program);
        command.args(["-D", "-e", "-f"]).arg(here.join("sshd_config"));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(fs::File::create(&log).unwrap());
        let process = command.spawn().map_err(|e| format!("sshd cannot be run: {e}"))?;
        let mut sshd = Self { process, here: here.to_owned() };
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            if sshd.process.try_wait().is_ok_and(|ended| ended.is_some()) || begun.elapsed() > LIMIT {
                return Err(format!("sshd does not begin: {}", fs::read_to_string(&log).unwrap_or_default()));
            }
            sleep(POLL);
        }
        Ok(sshd)
    }

    /// Kills the processes of every session, so that the connections end. The listening process stays.
    fn cut(&self) {
        let processes = sshd_processes();
        let listener = self.process.id();
        let is_session = |pid: &u32| {
            let parent = |pid: u32| processes.get(&pid).copied();
            std::iter::successors(parent(*pid), |pid| parent(*pid)).any(|pid| pid == listener)
        };
        let sessions: Vec<String> = processes.keys().filter(|pid| is_session(pid)).map(u32::to_string).collect();
        assert!(!sessions.is_empty(), "no session stands");
        // a process may end by itself as soon as the one before it is killed, so errors are ignored
        let _ = Command::new("sh").args(["-c", "kill -9 \"$@\" 2>/dev/null", "sh"]).args(&sessions).status().unwrap();
    }

    /// The commands that `ssh` was to run on the other side.
    fn commands(&self) -> Vec<String> {
        let said = fs::read_to_string(self.here.join("commands")).unwrap_or_default();
        said.lines().filter(|line| line.contains(" exec sh -s ")).map(str::to_owned).collect()
    }
}

impl Drop for LoopbackSshd {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", fs::read_to_string(self.here.join("sshd.log")).unwrap_or_default());
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The parent of each process of `sshd`. Newer versions consist of several programs.
fn sshd_processes() -> BTreeMap<u32, u32> {
    let read = |entry: fs::DirEntry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        // `12 (sshd-session) S 1 ..`
        let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
        let (name, rest) = stat.split_once('(')?.1.rsplit_once(')')?;
        let parent = rest.split_whitespace().nth(1)?.parse().ok()?;
        name.starts_with("sshd").then_some((pid, parent))
    };
    fs::read_dir("/proc").unwrap().filter_map(|entry| read(entry.ok()?)).collect()
}

/// Skipped if this user cannot start an `sshd`, unless ORRERY_REQUIRE_SSHD is set.
#[test]
fn a_run_behind_a_real_sshd_goes_on_by_bytes_after_a_cut() {
    let here = tempfile::tempdir().unwrap();
    let sshd = match LoopbackSshd::begin(here.path()) {
        Ok(sshd) => sshd,
        Err(why) => {
            assert!(env::var_os("ORRERY_REQUIRE_SSHD").is_none(), "ORRERY_REQUIRE_SSHD is set: {why}");
            eprintln!("no run is followed over a real sshd: {why}");
            return;
        }
    };
    let run = ForeignRun::begin(&here.path().join("there"), "it's a run", &json!({"lr": 0.1}));
    (1..=3).for_each(|step| run.step(step));
    let address = format!("ssh://loopback{}", run.folder.display());
    let path = format!("{}/bin:{}", here.path().display(), env::var("PATH").unwrap());
    let mut command = command(here.path(), ["follow", &address, "--headless"]);
    command.env("PATH", path).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let copy = here.path().join("runs/it_s_a_run-at-loopback");
    check_follower(command.spawn().unwrap(), &run, &copy, || sshd.cut(), || sshd.commands());
}
