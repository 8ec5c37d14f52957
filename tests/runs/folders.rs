//! Helpers for tests that disturb a folder and compare it with its earlier content.

use std::fs;

use tempfile::TempDir;

pub use super::copy_folder::{contents, copy_folder as copy};

/// A temporary folder, in memory if possible, because on a disk most of the time is spent waiting for `fsync`.
pub fn scratch_folder() -> TempDir {
    let in_memory = fs::canonicalize("/dev/shm").and_then(tempfile::tempdir_in);
    in_memory.or_else(|_| tempfile::tempdir()).unwrap()
}
