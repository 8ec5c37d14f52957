//! Lists the system calls of a process that concern a folder, and runs the process again while one of them fails or
//! kills it, with `strace`.

use std::{
    collections::HashMap,
    path::Path,
    process::{Command, Output},
};

use crate::command::stderr_of;

/// The `nth` call of this name that a thread makes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Call {
    pub name: String,
    pub nth: usize,
}

/// The fault that is injected at a call.
#[derive(Debug, Clone, Copy)]
pub enum Fault {
    /// The call fails with this error.
    Error(&'static str),
    /// The process is killed.
    Kill,
}

/// The calls that read or write a folder. Failures of others (`close`, `fstat`, `statx`, `unlink`) cannot damage the
/// record.
const CALLS: &str = "openat,read,pread64,write,pwrite64,writev,copy_file_range,fsync,fdatasync,rename,renameat,\
                     renameat2,mkdir,mkdirat,ftruncate,lseek,linkat";

/// True if `strace` works on this machine.
///
/// # Panics
/// If it does not and `ORRERY_REQUIRE_STRACE` is set.
pub fn can_trace() -> bool {
    let can = Command::new("strace").args(["-qq", "-o", "/dev/null", "true"]).status().is_ok_and(|s| s.success());
    assert!(can || std::env::var_os("ORRERY_REQUIRE_STRACE").is_none(), "strace is missing or may not trace");
    can
}

/// Runs the command, which must succeed, and returns its calls that name something under `folder`, in order and without
/// repetition.
pub fn trace(command: &[&str], folder: &Path) -> Vec<Call> {
    let log = tempfile::NamedTempFile::new().unwrap();
    let output = strace(&["-y", "-s", "0", "-e", &format!("trace={CALLS}")], log.path(), command);
    assert!(output.status.success(), "{}", stderr_of(&output));
    let text = String::from_utf8_lossy(&std::fs::read(log.path()).unwrap()).into_owned();
    let folder = folder.to_str().unwrap();
    let mut made: HashMap<(&str, &str), usize> = HashMap::new();
    let mut calls: Vec<Call> = vec![];
    for line in text.lines() {
        let Some((thread, rest)) = line.split_once(' ') else { continue };
        let Some((name, _)) = rest.trim_start().split_once('(') else { continue };
        if name.starts_with(['<', '+', '-']) {
            continue; // this line ends a call that another thread interrupted, or a thread
        }
        let nth = made.entry((thread, name)).or_default();
        *nth += 1;
        let call = Call { name: name.to_owned(), nth: *nth };
        if rest.contains(folder) && !calls.contains(&call) {
            calls.push(call);
        }
    }
    calls
}

/// Runs the command while this call fails in each of its threads, or kills it.
pub fn with_fault(command: &[&str], call: &Call, fault: Fault) -> Output {
    let Call { name, nth } = call;
    let fault = match fault {
        Fault::Error(error) => format!("error={error}"),
        Fault::Kill => "signal=KILL".to_owned(),
    };
    let (trace, inject) = (format!("trace={name}"), format!("inject={name}:{fault}:when={nth}"));
    strace(&["-e", &trace, "-e", &inject], Path::new("/dev/null"), command)
}

/// Runs the command while all calls of this name fail with this error.
pub fn with_each_failing(command: &[&str], name: &str, error: &str) -> Output {
    let (trace, inject) = (format!("trace={name}"), format!("inject={name}:error={error}"));
    strace(&["-e", &trace, "-e", &inject], Path::new("/dev/null"), command)
}

fn strace(options: &[&str], log: &Path, command: &[&str]) -> Output {
    let mut p = Command::new("strace");
    p.args(["-f", "-qq", "-o"]).arg(log).args(options);
    p.arg(env!("CARGO_BIN_EXE_orrery")).args(command);
    p.env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY").env("RUST_BACKTRACE", "0");
    p.output().unwrap()
}
