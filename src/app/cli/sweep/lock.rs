//! Locks in the folder of a sweep: one process makes its runs at a time, and each run is made once, whoever was asked for
//! it: the runs of a Slurm array and of printed commands are processes of their own, possibly on several machines.

use std::{
    fs::TryLockError,
    io::{self, Write as _},
};

use super::folder::{LOGS, SweepFolder, task_name};
use crate::{cli::prelude::*, experiments::sweep::SweepTask, files::WatchedFile};

/// Held by the process that makes the runs of a sweep.
const LOCK_FILE: &str = ".lock";
/// Bytes of a lock, which names its process.
const MAX_LOCK: u64 = 1 << 10;
/// Locks that are removed by those who held them before this one gets one that stays.
const MAX_ATTEMPTS: usize = 100;

/// A lock that this process holds until it is dropped; the system releases it when the process dies.
pub struct SweepLock {
    folder: PathBuf,
    name: PathBuf,
    /// Closed before its file is removed only where open files cannot be.
    _file: WatchedFile,
}

impl Drop for SweepLock {
    fn drop(&mut self) {
        // a lock file that stays, as after a killed process, blocks nobody
        let _ = files::remove_file_inside(&self.folder, &self.name);
    }
}

pub enum LockOutcome {
    Held(SweepLock),
    /// Another process holds it: "process 4711 on athena".
    Taken(String),
}

/// Takes the lock of the process that makes the runs of a sweep.
pub fn lock_sweep(folder: &Path) -> Result<SweepLock, Failure> {
    match lock(folder, Path::new(LOCK_FILE))? {
        LockOutcome::Held(held) => Ok(held),
        LockOutcome::Taken(who) => Err(lock_taken(folder, &who)),
    }
}

/// Takes the lock of one run of a sweep.
pub fn lock_task(sweep: &SweepFolder, task: SweepTask) -> Result<LockOutcome, Failure> {
    files::make_folder_inside(&sweep.path, LOGS).map_err(|e| lock_failure(&sweep.path.join(LOGS), &e.into()))?;
    lock(&sweep.path, &Path::new(LOGS).join(format!("{}.lock", task_name(task))))
}

/// Checks that no process is making the runs of a sweep.
pub fn check_free(folder: &Path) -> Result<(), Failure> {
    let file = files::open_inside(folder, LOCK_FILE);
    match file.map(|file| file.try_lock_shared()) {
        Ok(Err(TryLockError::WouldBlock)) => Err(lock_taken(folder, &lock_holder(folder, Path::new(LOCK_FILE)))),
        _ => Ok(()),
    }
}

fn lock_taken(folder: &Path, who: &str) -> Failure {
    let shown = folder.display();
    usage!("the runs of {shown} are being made by {who}: wait for it, or stop it there")
}

fn lock_failure(path: &Path, e: &io::Error) -> Failure {
    usage!("{} cannot be locked: {e}", path.display())
}

fn lock(folder: &Path, name: &Path) -> Result<LockOutcome, Failure> {
    let path = folder.join(name);
    for _ in 0..MAX_ATTEMPTS {
        let mut watched = WatchedFile::open(folder, name).map_err(|e| lock_failure(&path, &e))?;
        match watched.file.try_lock() {
            Err(TryLockError::WouldBlock) => return Ok(LockOutcome::Taken(lock_holder(folder, name))),
            // the previous holder removed the file after it was opened here, so that this lock would exclude nobody
            Ok(()) if watched.check_same_file().is_err() => continue,
            Ok(()) => {}
            Err(TryLockError::Error(e)) => notice!("{}", watched.lock_warning(&e, "no other process makes these runs")),
        }
        let written = watched.truncate_to(0).and_then(|()| writeln!(watched.file, "{}", this_process()));
        written.map_err(|e| lock_failure(&path, &e))?;
        return Ok(LockOutcome::Held(SweepLock { folder: folder.to_owned(), name: name.to_owned(), _file: watched }));
    }
    Ok(LockOutcome::Taken(lock_holder(folder, name)))
}

/// The process that a lock names.
fn lock_holder(folder: &Path, name: &Path) -> String {
    let text = files::read_text_inside(folder, name, MAX_LOCK).unwrap_or_default();
    let line: String = text.lines().next().unwrap_or_default().chars().filter(|c| !c.is_control()).collect();
    if line.is_empty() { "another process".to_owned() } else { line }
}

fn this_process() -> String {
    let host = files::read_text(Path::new("/proc/sys/kernel/hostname"), MAX_LOCK).unwrap_or_default();
    let host = if host.trim().is_empty() { String::new() } else { format!(" on {}", host.trim()) };
    format!("process {}{host}", std::process::id())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_held_once_and_names_its_process() {
        let folder = tempfile::tempdir().unwrap();
        let held = lock_sweep(folder.path()).unwrap();
        let refused = lock_sweep(folder.path()).map(|_| ()).unwrap_err();
        assert!(refused.message.contains("are being made by"), "{refused}");
        #[cfg(unix)]
        assert!(refused.message.contains(&format!("process {}", std::process::id())), "{refused}");
        assert!(check_free(folder.path()).is_err());
        drop(held);
        check_free(folder.path()).unwrap();
        lock_sweep(folder.path()).unwrap();
        assert!(!folder.path().join(LOCK_FILE).exists(), "a lock that was let go is removed");
    }
}
