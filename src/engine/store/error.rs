//! Errors of run folders, in words: what, where, what to do.

use std::{error::Error, io, path::Path, sync::Arc};

use crate::files::FileError;

/// A sentence for the user, and the error of the system or library behind it.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{words}")]
pub struct StoreError {
    words: String,
    source: Option<Arc<dyn Error + Send + Sync>>,
}

impl StoreError {
    pub(super) fn new(words: impl Into<String>) -> Self {
        Self { words: words.into(), source: None }
    }

    pub(super) fn with_source(words: impl Into<String>, source: impl Error + Send + Sync + 'static) -> Self {
        Self { words: words.into(), source: Some(Arc::new(source)) }
    }

    /// `doing` completes "cannot ...": "write".
    pub(super) fn io(doing: &str, path: &Path, e: io::Error) -> Self {
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
        Self::with_source(format!("cannot {doing} `{}`: {next} ({e})", path.display()), e)
    }
}

impl StoreError {
    /// A file of a run folder that its path no longer leads to.
    pub(super) fn moved(path: &Path, e: io::Error) -> Self {
        Self::with_source(
            format!(
                "the run can no longer be recorded: `{}`: {e}. Put the run folder back and `orrery resume` it",
                path.display()
            ),
            e,
        )
    }
}

impl From<StoreError> for String {
    fn from(e: StoreError) -> String {
        e.words
    }
}

/// Names the file in an error of the file system.
pub(super) trait At<T> {
    fn at(self, doing: &str, path: &Path) -> Result<T, StoreError>;
}

impl<T> At<T> for Result<T, FileError> {
    fn at(self, doing: &str, path: &Path) -> Result<T, StoreError> {
        self.map_err(|e| match e {
            FileError::Io(e) => StoreError::io(doing, path, e),
            other => StoreError::with_source(format!("cannot {doing} `{}`: {other}", path.display()), other),
        })
    }
}

impl<T> At<T> for io::Result<T> {
    fn at(self, doing: &str, path: &Path) -> Result<T, StoreError> {
        self.map_err(|e| StoreError::io(doing, path, e))
    }
}
