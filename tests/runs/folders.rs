//! Helpers for tests that disturb a folder and compare it with its earlier content.

use std::{
    fs,
    path::{Path, PathBuf},
};

use tempfile::TempDir;

pub use super::copy_folder::copy_folder as copy;

/// Every file of a folder with its bytes, sorted by path.
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

/// A temporary folder, in memory if possible, because on a disk most of the time is spent waiting for `fsync`.
pub fn scratch_folder() -> TempDir {
    let in_memory = fs::canonicalize("/dev/shm").and_then(tempfile::tempdir_in);
    in_memory.or_else(|_| tempfile::tempdir()).unwrap()
}
