//! Whole folders, for tests that disturb one and compare it with what it was.

use std::{
    fs,
    path::{Path, PathBuf},
};

use tempfile::TempDir;

pub use super::copy_folder::copy_folder as copy;

/// Every file of a folder with its bytes, in the order of their paths.
pub fn contents(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut all = vec![];
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_dir() {
            all.extend(contents(&entry.path()));
        } else {
            all.push((entry.path(), fs::read(entry.path()).unwrap()));
        }
    }
    all.sort();
    all
}

/// A folder of its own in memory, where there is one: a disk that is waited for at every `fsync` takes most of the time.
pub fn scratch_folder() -> TempDir {
    let in_memory = fs::canonicalize("/dev/shm").and_then(tempfile::tempdir_in);
    in_memory.or_else(|_| tempfile::tempdir()).unwrap()
}
