//! What can go wrong with a run folder, in words: what, where, what to do.

use std::{io, path::Path};

/// An error in words.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{0}")]
pub struct StoreError(pub String);

impl StoreError {
    /// `doing` completes "cannot ...": "write".
    pub(super) fn io(doing: &str, path: &Path, e: &io::Error) -> Self {
        let next = match e.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                "you may not write there: choose another folder (`--out DIR`) or change its permissions"
            }
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                "the disk is full: free some space; what was recorded so far is kept"
            }
            io::ErrorKind::NotFound => "there is no such file or folder",
            io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => {
                "something that is not a folder is in the way: choose another folder (`--out DIR`)"
            }
            _ => "the system refused",
        };
        Self(format!("cannot {doing} `{}`: {next} ({e})", path.display()))
    }
}

impl From<StoreError> for String {
    fn from(e: StoreError) -> String {
        e.0
    }
}

/// Names the file in an error of the file system.
pub(super) trait At<T> {
    fn at(self, doing: &str, path: &Path) -> Result<T, StoreError>;
}

impl<T> At<T> for io::Result<T> {
    fn at(self, doing: &str, path: &Path) -> Result<T, StoreError> {
        self.map_err(|e| StoreError::io(doing, path, &e))
    }
}
