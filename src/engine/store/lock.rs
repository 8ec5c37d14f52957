//! The lock of a run folder: one process writes it at a time.

use std::{
    fs::TryLockError,
    time::{Duration, Instant},
};

use super::{names::LOCK, prelude::*};
use crate::files::{WatchedFile, read_text};

/// The limit in bytes of the text in which a lock names its holder.
const MAX_LOCK: u64 = 1 << 10;
/// The file with the id of the current boot, which only Linux has.
const BOOT: &str = "/proc/sys/kernel/random/boot_id";
/// The time for which a lock that another process holds is retried.
const RETRY_TIME: Duration = Duration::from_millis(500);

/// Returns true if a process, this one or another, is writing in this run folder now. Systems that cannot lock are
/// trusted.
pub fn is_being_written(folder: &Path) -> bool {
    let lock = open_inside(folder, LOCK);
    lock.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

/// Returns true if this run folder has a lock and no process holds it. False also where the system cannot lock.
pub fn is_unlocked(folder: &Path) -> bool {
    open_inside(folder, LOCK).is_ok_and(|file| file.try_lock_shared().is_ok())
}

/// Returns true if the program that last held this run folder ran on this machine, as its lock says, and holds it no
/// more. False where that cannot be determined: the lock is empty, or names another machine or an earlier start of this
/// one, or the system cannot lock.
pub fn was_abandoned_here(folder: &Path) -> bool {
    let holder = read_text_inside(folder, LOCK, MAX_LOCK).unwrap_or_default();
    let is_of_here = || read_text(Path::new(BOOT), MAX_LOCK).is_ok_and(|boot| boot.trim() == holder.trim());
    !holder.trim().is_empty() && is_of_here() && is_unlocked(folder)
}

/// The lock of a run folder, until it is dropped; the system releases it when the process dies.
pub(super) struct FolderLock {
    _file: WatchedFile,
    /// A warning sentence if the file system has no locks.
    pub warning: Option<String>,
}

/// Takes the lock. A process that this one starts meanwhile has copies of its open files until its own program begins, and
/// with them a lock that was given back: it is waited for.
pub(super) fn lock_folder(folder: &Path) -> Result<FolderLock, StoreError> {
    let path = folder.join(LOCK);
    let watched = WatchedFile::open(folder, LOCK).at("write in", &path)?;
    let began = Instant::now();
    let mut lock = watched.file.try_lock();
    while matches!(lock, Err(TryLockError::WouldBlock)) && began.elapsed() < RETRY_TIME {
        std::thread::sleep(RETRY_TIME / 50);
        lock = watched.file.try_lock();
    }
    let warning = match lock {
        Err(TryLockError::WouldBlock) => {
            return Err(StoreError::new(format!(
                "the run `{}` is being written by another Orrery (or another lab of this one): stop it there first",
                folder.display()
            )));
        }
        Err(TryLockError::Error(e)) => Some(watched.lock_warning(&e, "nothing else writes this run")),
        Ok(()) => None,
    };
    Ok(FolderLock { _file: watched, warning })
}
