//! A file that is written for hours: it notices when its path no longer leads to it, because the file or a folder above
//! it was moved, deleted or replaced.

use std::{
    fs::{self, File, Metadata},
    io::{self, Seek, SeekFrom},
    path::{Path, PathBuf},
};

use super::open_inside_to_write;

/// An ordinary file, open for reading and writing, and the path that must lead to it.
pub struct WatchedFile {
    /// The path at which the file was opened.
    pub path: PathBuf,
    /// The open file.
    pub file: File,
}

impl WatchedFile {
    /// Opens the file `name` of a folder, or makes it; see [`open_inside_to_write`].
    ///
    /// # Errors
    /// If the system refuses, or if a link, folder, device or pipe is there.
    pub fn open(folder: &Path, name: impl AsRef<Path>) -> io::Result<Self> {
        let name = name.as_ref();
        Ok(Self { path: folder.join(name), file: open_inside_to_write(folder, name)? })
    }

    /// Checks that the path still leads to this very file.
    ///
    /// # Errors
    /// If it does not: nothing is there any more, or another file is.
    pub fn check_same_file(&self) -> io::Result<()> {
        let there = match fs::symlink_metadata(&self.path) {
            Ok(there) => there,
            Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Err(moved("it was moved or deleted"));
            }
            Err(e) => return Err(e),
        };
        if is_same(&there, &self.file.metadata()?) { Ok(()) } else { Err(moved("something else was put in its place")) }
    }

    /// Cuts the file and goes to its new end.
    pub fn truncate_to(&mut self, length: u64) -> io::Result<()> {
        self.file.set_len(length)?;
        self.file.seek(SeekFrom::Start(length)).map(|_| ())
    }

    /// The warning where the file system has no locks; `advice` says what the user must take care of instead.
    pub fn lock_warning(&self, error: &io::Error, advice: &str) -> String {
        let path = self.path.display();
        format!("{path} cannot be locked, as its file system has no locks ({error}): take care that {advice}")
    }
}

/// The error for a path that no longer leads to the open file; `what` says what happened.
fn moved(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, format!("{what} while it was being written"))
}

#[cfg(unix)]
fn is_same(a: &Metadata, b: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (a.dev(), a.ino()) == (b.dev(), b.ino())
}

/// On this system an open file can be neither moved nor replaced, so that the file at its path is the open one.
#[cfg(not(unix))]
fn is_same(_: &Metadata, _: &Metadata) -> bool {
    true
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_moved_deleted_or_replaced_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("run");
        let open = || {
            fs::create_dir_all(&inner).unwrap();
            WatchedFile::open(&inner, "log").unwrap()
        };
        let file = open();
        file.check_same_file().unwrap();
        fs::rename(&inner, folder.path().join("elsewhere")).unwrap();
        assert!(file.check_same_file().is_err(), "its folder was moved");
        fs::create_dir(&inner).unwrap();
        fs::write(inner.join("log"), "").unwrap();
        assert!(file.check_same_file().is_err(), "its folder was replaced");
        let file = open();
        fs::remove_dir_all(&inner).unwrap();
        assert!(file.check_same_file().is_err(), "its folder was deleted");
        let file = open();
        fs::remove_file(inner.join("log")).unwrap();
        std::os::unix::fs::symlink("elsewhere", inner.join("log")).unwrap();
        assert!(file.check_same_file().is_err(), "a link took its place");
        assert!(WatchedFile::open(&inner, "log").is_err(), "no link is followed");
    }
}
