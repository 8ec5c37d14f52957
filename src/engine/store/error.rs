//! Errors of run folders. Each message says what is wrong, where, and what to do.

use std::{error::Error, io, path::Path, sync::Arc};

use crate::files::FileError;

/// A sentence for the user, and the error of the system or library behind it.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{words}")]
pub struct StoreError {
    words: String,
    source: Option<Arc<dyn Error + Send + Sync>>,
}

/// The largest number of bytes in a message. A quotation from a foreign folder may be megabytes long, which no window
/// could lay out.
const MAX_MESSAGE_BYTES: usize = 8 << 10;

/// The message; a longer one is cut to the largest length and ends with "…".
pub(super) fn truncated_message(message: String) -> String {
    if message.len() <= MAX_MESSAGE_BYTES {
        return message;
    }
    format!("{}…", &message[..message.floor_char_boundary(MAX_MESSAGE_BYTES)])
}

impl StoreError {
    pub(super) fn new(words: impl Into<String>) -> Self {
        Self { words: truncated_message(words.into()), source: None }
    }

    pub(super) fn with_source(words: impl Into<String>, source: impl Error + Send + Sync + 'static) -> Self {
        Self { words: truncated_message(words.into()), source: Some(Arc::new(source)) }
    }

    /// `doing` completes "cannot ...": "write".
    pub(super) fn io(doing: &str, path: &Path, e: io::Error) -> Self {
        let is_reading = ["read", "list", "find", "ask"].iter().any(|verb| doing.starts_with(verb));
        // "make a run folder in": a run that is new may as well lie elsewhere
        let is_made = doing.starts_with("make ");
        let next = match (e.kind(), is_made) {
            (io::ErrorKind::PermissionDenied, _) if is_reading => "you may not read it: change its permissions",
            (io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem, true) => {
                "you may not write there: choose another folder (`--out DIR`) or change its permissions"
            }
            (io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem, false) => {
                "you may not write there: change its permissions"
            }
            (io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded, _) => {
                "the disk is full: free some space; what was recorded so far is kept"
            }
            (io::ErrorKind::NotFound, _) => "there is no such file or folder",
            (io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists, true) => {
                "something that is not a folder is in the way: choose another folder (`--out DIR`)"
            }
            (io::ErrorKind::NotADirectory, false) if is_reading => "a part of that path is a file, not a folder",
            (io::ErrorKind::NotADirectory, false) => "something that is not a folder is in the way: move it away",
            (io::ErrorKind::AlreadyExists, false) => "something else has that name: move it away",
            _ => "the system refused",
        };
        Self::with_source(format!("cannot {doing} `{}`: {next} ({e})", path.display()), e)
    }
}

impl StoreError {
    /// True if the system has refused, as where a disk is full; false of what is wrong in a folder or in what was asked.
    pub fn is_system_error(&self) -> bool {
        let source = self.source.as_deref().and_then(|source| source.downcast_ref::<io::Error>());
        source.is_some_and(|e| e.get_ref().is_none_or(|own| !own.is::<FileError>()))
    }

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
pub(super) trait PathContext<T> {
    fn at(self, doing: &str, path: &Path) -> Result<T, StoreError>;
}

impl<T> PathContext<T> for Result<T, FileError> {
    fn at(self, doing: &str, path: &Path) -> Result<T, StoreError> {
        self.map_err(|e| match e {
            FileError::Io(e) => StoreError::io(doing, path, e),
            other => StoreError::with_source(format!("cannot {doing} `{}`: {other}", path.display()), other),
        })
    }
}

impl<T> PathContext<T> for io::Result<T> {
    fn at(self, doing: &str, path: &Path) -> Result<T, StoreError> {
        self.map_err(|e| StoreError::io(doing, path, e))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_folder_is_advised_where_one_is_made() {
        let words = |doing: &str, kind: io::ErrorKind| StoreError::io(doing, Path::new("a"), kind.into()).to_string();
        for kind in [io::ErrorKind::PermissionDenied, io::ErrorKind::NotADirectory] {
            assert!(words("make the run folder", kind).contains("--out"));
            for doing in ["ask in", "read", "write", "make"] {
                assert!(!words(doing, kind).contains("--out"), "{doing}");
            }
        }
        assert!(words("read", io::ErrorKind::PermissionDenied).contains("you may not read it"));
        assert!(words("read", io::ErrorKind::NotADirectory).contains("a part of that path is a file"));
        assert!(words("write", io::ErrorKind::NotADirectory).contains("move it away"));
        assert!(words("write", io::ErrorKind::PermissionDenied).contains("you may not write there"));
    }
}
