//! The lock of a run folder: one process writes it at a time.

use std::{fs::TryLockError, path::Path};

use super::{
    error::{PathContext, StoreError},
    names::LOCK,
};
use crate::files::{WatchedFile, open_inside};

/// Returns true if a process, this one or another, is writing in this run folder now. Systems that cannot lock are
/// trusted.
pub fn is_being_written(folder: &Path) -> bool {
    let lock = open_inside(folder, LOCK);
    lock.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

/// Takes the lock until the returned file is dropped.
pub(super) fn lock_folder(folder: &Path) -> Result<WatchedFile, StoreError> {
    let path = folder.join(LOCK);
    let file = WatchedFile::open(folder, LOCK).at("write in", &path)?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(StoreError::new(format!(
            "the run `{}` is being written by another Orrery (or another lab of this one): stop it there first",
            folder.display()
        ))),
        _ => Ok(file),
    }
}
