//! The bytes of an opened file: a small file is held in memory, a large one is read on demand. A change of the file
//! meanwhile is noticed.

use std::{
    borrow::Cow,
    fs::{File, Metadata},
    io,
    path::Path,
    sync::{Mutex, PoisonError},
    time::SystemTime,
};

use crate::files::{self, FileError, reading_budget};

/// Files up to this size are held whole.
pub(super) const MAX_CACHED: u64 = 32 << 20;
/// A file is read into memory only if it takes at most [`reading_budget`] divided by this.
const IN_MEMORY_DIVISOR: u64 = 4;

pub(super) struct FileBytes {
    file: File,
    held: Option<Vec<u8>>,
    stamp: Mutex<FileStamp>,
}

/// The identity, length and time of a file, to notice that it is another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileStamp {
    length: u64,
    modified: Option<SystemTime>,
}

impl From<Metadata> for FileStamp {
    fn from(meta: Metadata) -> Self {
        Self { length: meta.len(), modified: meta.modified().ok() }
    }
}

/// A change of a file since it was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileChange {
    Shorter,
    Altered,
}

impl FileBytes {
    /// # Errors
    /// If it is not an ordinary file, cannot be read, or is being written to.
    pub fn open(path: &Path) -> Result<Self, FileError> {
        let file = files::open(path)?;
        let stamp = FileStamp::from(file.metadata()?);
        let hold = stamp.length <= MAX_CACHED.min(reading_budget() / IN_MEMORY_DIVISOR);
        let held = if hold { Some(read_at(&file, 0, stamp.length as usize)?) } else { None };
        Ok(Self { file, held, stamp: Mutex::new(stamp) })
    }

    pub fn len(&self) -> usize {
        match &self.held {
            Some(held) => held.len(),
            None => usize::try_from(self.stamp().length).unwrap_or(usize::MAX),
        }
    }

    /// The bytes from one place to another, both inside the file.
    pub fn read(&self, from: usize, to: usize) -> io::Result<Cow<'_, [u8]>> {
        match &self.held {
            Some(held) => held.get(from..to).map(Cow::Borrowed).ok_or_else(|| io::ErrorKind::UnexpectedEof.into()),
            None => read_at(&self.file, from as u64, to.saturating_sub(from)).map(Cow::Owned),
        }
    }

    /// Checks if the file has changed since it was opened. A file that was only touched counts as
    /// unchanged if its bytes are held and can be compared.
    pub fn change(&self) -> Option<FileChange> {
        let opened = self.stamp();
        let Ok(now) = self.file.metadata().map(FileStamp::from) else { return Some(FileChange::Altered) };
        if now == opened {
            return None;
        }
        if now.length < opened.length {
            return Some(FileChange::Shorter);
        }
        let held = self.held.as_ref().filter(|_| now.length == opened.length);
        if held.is_some_and(|held| read_at(&self.file, 0, held.len()).is_ok_and(|bytes| bytes == *held)) {
            *self.stamp.lock().unwrap_or_else(PoisonError::into_inner) = now;
            return None;
        }
        Some(FileChange::Altered)
    }

    fn stamp(&self) -> FileStamp {
        *self.stamp.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Exactly `length` bytes from `from` on; a file that ends before is an error and no signal.
fn read_at(file: &File, from: u64, length: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; length];
    let mut done = 0;
    while done < length {
        match read_some(file, &mut bytes[done..], from + done as u64) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(n) => done += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(bytes)
}

#[cfg(unix)]
fn read_some(file: &File, into: &mut [u8], at: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, into, at)
}

#[cfg(windows)]
fn read_some(file: &File, into: &mut [u8], at: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, into, at)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn open_temp_file(held: bool) -> (tempfile::TempDir, std::path::PathBuf, FileBytes) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "the quick brown fox").unwrap();
        let mut bytes = FileBytes::open(&path).unwrap();
        if !held {
            bytes.held = None;
        }
        (folder, path, bytes)
    }

    #[test]
    fn held_or_not_the_bytes_are_the_same() {
        for held in [true, false] {
            let (_folder, _, bytes) = open_temp_file(held);
            assert_eq!((bytes.len(), &*bytes.read(4, 9).unwrap()), (19, &b"quick"[..]));
            assert!(bytes.read(10, 20).is_err());
            assert_eq!(bytes.change(), None);
        }
    }

    #[test]
    fn a_change_is_noticed_and_reading_beyond_the_end_is_an_error() {
        for held in [true, false] {
            let (_folder, path, bytes) = open_temp_file(held);
            let later = SystemTime::now() + std::time::Duration::from_secs(5);
            let file = File::options().write(true).open(&path).unwrap();
            file.set_modified(later).unwrap();
            assert_eq!(bytes.change(), if held { None } else { Some(FileChange::Altered) }, "only touched");
            fs::write(&path, "the quick brown box").unwrap();
            file.set_modified(later + std::time::Duration::from_secs(5)).unwrap();
            assert_eq!(bytes.change(), Some(FileChange::Altered));
            file.set_len(3).unwrap();
            assert_eq!(bytes.change(), Some(FileChange::Shorter));
            assert_eq!(bytes.read(4, 9).is_ok(), held);
        }
    }
}
