//! Opens and reads untrusted files: only ordinary files, never more bytes than a limit, and through no link inside an
//! untrusted folder. Callers add to the error messages which file it was and what to do.

pub(super) mod inside;

use std::{
    fs::{self, File, FileType},
    io::{self, Read, Seek, SeekFrom},
    path::{Component, Path, PathBuf},
};

use super::memory::{TooMuchMemory, check_memory, size};

/// The reason why a file is not opened or not read; completes "`path` cannot be read: ".
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the variants are")]
pub enum FileError {
    #[error("it is a folder, not a file")]
    Folder,
    #[error("it is a pipe, not a file: save what comes out of it to a file")]
    Pipe,
    #[error("it is a device, not a file")]
    Device,
    #[error("it is a socket, not a file")]
    Socket,
    /// A link where a file inside a run folder should be.
    #[error("it is a link, and a run folder's files must lie in the folder: replace the link by the file itself")]
    Link,
    /// A file with several hard links, so that writing it would change it under all of its names.
    #[error("it has a second name (a hard link), under which it would change as well: replace it with a copy")]
    HardLink,
    #[error("its name leads out of the folder")]
    Outside,
    #[error("it is longer than {}, the most that is read of such a file", size(*.limit))]
    TooLong { limit: u64 },
    /// A text that is not UTF-8 from byte `at` on.
    #[error("it is not UTF-8 (byte {at})")]
    NotUtf8 { at: usize },
    /// A file that needs more memory than is free.
    #[error(transparent)]
    Memory(#[from] TooMuchMemory),
    /// Any other error of the system.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl FileError {
    /// The kind of the system's error, if it was the system that refused.
    pub fn kind(&self) -> Option<io::ErrorKind> {
        match self {
            Self::Io(e) => Some(e.kind()),
            _ => None,
        }
    }

    /// Returns true if there is something that is not an ordinary file of its folder.
    pub fn is_not_regular_file(&self) -> bool {
        !matches!(self, Self::TooLong { .. } | Self::NotUtf8 { .. } | Self::Memory(_) | Self::Io(_))
    }

    /// Returns true if there is no such file.
    pub fn is_missing(&self) -> bool {
        self.kind() == Some(io::ErrorKind::NotFound)
    }
}

impl From<FileError> for io::Error {
    fn from(e: FileError) -> Self {
        match e {
            FileError::Io(e) => e,
            other => Self::new(io::ErrorKind::InvalidInput, other),
        }
    }
}

/// Opens an ordinary file for reading. A pipe without a writer does not block, and a device is not touched.
///
/// # Errors
/// If it is anything else, or the system refuses.
pub fn open(path: &Path) -> Result<File, FileError> {
    check_type(fs::metadata(path)?.file_type())?;
    let mut options = File::options();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        // The path may have become a pipe since it was checked; opening one would block.
        options.custom_flags((rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY).bits() as i32);
    }
    let file = options.open(path)?;
    check_type(file.metadata()?.file_type())?;
    Ok(file)
}

/// Opens an ordinary file inside an untrusted folder: `name` is relative to it, and neither the file nor
/// a folder on the way may be a link. The folder itself may be reached by one.
///
/// # Errors
/// Those of [`open`]; and if the name leads out of the folder or over a link.
pub fn open_inside(folder: &Path, name: impl AsRef<Path>) -> Result<File, FileError> {
    inside::open(folder, name.as_ref(), false)
}

/// Same as [`open_inside`], for reading and writing; makes the file if there is none, and never cuts it.
///
/// # Errors
/// Those of [`open_inside`]; and on Unix if the file has another name (a hard link), which may lie outside of the folder.
pub fn open_inside_to_write(folder: &Path, name: impl AsRef<Path>) -> Result<File, FileError> {
    inside::open(folder, name.as_ref(), true)
}

/// Checks that a file is missing, or such as [`open_inside_to_write`] opens; changes nothing.
pub fn check_inside_to_write(folder: &Path, name: impl AsRef<Path>) -> Result<(), FileError> {
    match open_inside(folder, name) {
        Ok(file) => inside::check_only_name(&file),
        Err(e) if e.is_missing() => Ok(()),
        Err(e) => Err(e),
    }
}

/// Opens a file like [`open_inside_to_write`] and empties it.
pub fn create_inside(folder: &Path, name: impl AsRef<Path>) -> Result<File, FileError> {
    let file = open_inside_to_write(folder, name)?;
    file.set_len(0)?;
    Ok(file)
}

/// Returns the path of a folder inside an untrusted folder, if it is a folder and no link leads to it.
///
/// # Errors
/// Those of [`open_inside`]; if it is not a folder, [`io::ErrorKind::NotADirectory`].
pub fn folder_inside(folder: &Path, name: impl AsRef<Path>) -> Result<PathBuf, FileError> {
    let mut path = folder.to_owned();
    for part in parts(name.as_ref())? {
        path.push(part);
        let kind = fs::symlink_metadata(&path)?.file_type();
        ensure!(!kind.is_symlink(), FileError::Link);
        ensure!(kind.is_dir(), io::Error::from(io::ErrorKind::NotADirectory).into());
    }
    Ok(path)
}

/// The bytes of an ordinary file of at most `limit` bytes, whatever length the system claims.
///
/// # Errors
/// Those of [`open`]; and if the file is longer, or longer than memory allows.
pub fn read(path: &Path, limit: u64) -> Result<Vec<u8>, FileError> {
    read_all(open(path)?, limit)
}

/// Same as [`read`], for a text.
///
/// # Errors
/// Those of [`read`]; and if it is not UTF-8.
pub fn read_text(path: &Path, limit: u64) -> Result<String, FileError> {
    text(read(path, limit)?)
}

/// Same as [`read`], for a file that [`open_inside`] opens.
pub fn read_inside(folder: &Path, name: impl AsRef<Path>, limit: u64) -> Result<Vec<u8>, FileError> {
    read_all(open_inside(folder, name)?, limit)
}

/// Same as [`read_inside`], for a text.
///
/// # Errors
/// Those of [`read_inside`]; and if it is not UTF-8.
pub fn read_text_inside(folder: &Path, name: impl AsRef<Path>, limit: u64) -> Result<String, FileError> {
    text(read_inside(folder, name, limit)?)
}

/// Returns the last bytes of a file inside an untrusted folder, at most `limit`.
///
/// # Errors
/// Those of [`open_inside`], and if the system refuses.
pub fn read_end_inside(folder: &Path, name: impl AsRef<Path>, limit: u64) -> Result<Vec<u8>, FileError> {
    let mut file = open_inside(folder, name)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(limit)))?;
    let mut bytes = vec![];
    file.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Everything from the current place of an open file on, if it is at most `limit` bytes.
pub fn read_all(file: File, limit: u64) -> Result<Vec<u8>, FileError> {
    let length = file.metadata()?.len();
    ensure!(length <= limit, FileError::TooLong { limit });
    check_memory(length)?;
    let mut bytes = Vec::with_capacity(length as usize);
    // Files of /proc claim no length and may have no end.
    let read = file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if read as u64 > limit { Err(FileError::TooLong { limit }) } else { Ok(bytes) }
}

fn text(bytes: Vec<u8>) -> Result<String, FileError> {
    String::from_utf8(bytes).map_err(|e| FileError::NotUtf8 { at: e.utf8_error().valid_up_to() })
}

/// Same as [`folder_inside`], but makes the folder if there is none.
pub fn make_folder_inside(folder: &Path, name: impl AsRef<Path>) -> Result<PathBuf, FileError> {
    let name = name.as_ref();
    match folder_inside(folder, name) {
        Err(e) if e.is_missing() => {
            // another process may have created the folder in the meantime
            let made = inside::make_folder(folder, name);
            folder_inside(folder, name).map_err(|e| made.err().unwrap_or(e))
        }
        found => found,
    }
}

fn check_type(kind: FileType) -> Result<(), FileError> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        ensure!(!kind.is_fifo(), FileError::Pipe);
        ensure!(!kind.is_socket(), FileError::Socket);
    }
    match () {
        () if kind.is_file() => Ok(()),
        () if kind.is_dir() => Err(FileError::Folder),
        () if kind.is_symlink() => Err(FileError::Link),
        () => Err(FileError::Device),
    }
}

/// The parts of a name that stays inside its folder.
fn parts(name: &Path) -> Result<Vec<&std::ffi::OsStr>, FileError> {
    let parts: Option<Vec<_>> = name
        .components()
        .map(|c| match c {
            Component::Normal(part) => Some(part),
            _ => None,
        })
        .collect();
    parts.filter(|p| !p.is_empty()).ok_or(FileError::Outside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longer_files_than_the_limit_are_refused_whatever_they_claim() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, [b'a'; 100]).unwrap();
        assert_eq!(read(&path, 100).unwrap().len(), 100);
        assert!(matches!(read(&path, 99), Err(FileError::TooLong { limit: 99 })));
        fs::write(&path, b"of a longer output").unwrap();
        assert_eq!(read_end_inside(folder.path(), "a", 6).unwrap(), b"output");
        assert_eq!(read_end_inside(folder.path(), "a", 99).unwrap(), b"of a longer output");
        // claims no length and holds some hundred bytes
        #[cfg(target_os = "linux")]
        assert!(matches!(read(Path::new("/proc/self/status"), 99), Err(FileError::TooLong { limit: 99 })));
    }

    #[cfg(unix)]
    #[test]
    fn nothing_is_made_or_emptied_over_a_link() {
        let (here, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (folder, target) = (here.path(), outside.path().join("a"));
        fs::write(&target, "kept").unwrap();
        for (name, to) in [("file", target.clone()), ("dangling", outside.path().join("new"))] {
            std::os::unix::fs::symlink(to, folder.join(name)).unwrap();
            assert!(matches!(create_inside(folder, name), Err(FileError::Link)), "{name}");
        }
        std::os::unix::fs::symlink(outside.path(), folder.join("folder")).unwrap();
        assert!(matches!(create_inside(folder, "folder/a"), Err(FileError::Link)));
        assert!(matches!(make_folder_inside(folder, "folder"), Err(FileError::Link)));
        assert_eq!(fs::read_to_string(&target).unwrap(), "kept");
        assert!(!outside.path().join("new").exists());

        let made = make_folder_inside(folder, "logs").unwrap();
        fs::write(made.join("a"), "of an earlier run").unwrap();
        assert_eq!(make_folder_inside(folder, "logs").unwrap(), made);
        assert_eq!(create_inside(folder, "logs/a").unwrap().metadata().unwrap().len(), 0);
    }

    #[cfg(unix)]
    #[test]
    fn a_file_of_another_name_is_read_and_not_written() {
        let (here, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let target = outside.path().join("a");
        fs::write(&target, "kept").unwrap();
        fs::hard_link(&target, here.path().join("log")).unwrap();
        let refused = [
            open_inside_to_write(here.path(), "log").map(|_| ()),
            create_inside(here.path(), "log").map(|_| ()),
            check_inside_to_write(here.path(), "log"),
        ];
        assert!(refused.iter().all(|result| matches!(result, Err(FileError::HardLink))), "{refused:?}");
        assert_eq!(read_inside(here.path(), "log", 9).unwrap(), b"kept");
        fs::remove_file(&target).unwrap();
        check_inside_to_write(here.path(), "log").unwrap();
        check_inside_to_write(here.path(), "missing").unwrap();
        create_inside(here.path(), "log").unwrap();
    }

    #[test]
    fn texts_must_be_utf8() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, b"ab\xff").unwrap();
        assert!(matches!(read_text(&path, 9), Err(FileError::NotUtf8 { at: 2 })));
    }

    #[cfg(unix)]
    #[test]
    fn pipes_sockets_and_folders_are_refused_by_kind() {
        let folder = tempfile::tempdir().unwrap();
        let here = folder.path();
        rustix::fs::mknodat(rustix::fs::CWD, here.join("pipe"), rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        let _listener = std::os::unix::net::UnixListener::bind(here.join("socket")).unwrap();
        fs::create_dir(here.join("folder")).unwrap();
        let both = |name: &str| [open(&here.join(name)).unwrap_err(), open_inside(here, name).unwrap_err()];
        assert!(both("pipe").iter().all(|e| matches!(e, FileError::Pipe)));
        assert!(both("socket").iter().all(|e| matches!(e, FileError::Socket)));
        assert!(both("folder").iter().all(|e| matches!(e, FileError::Folder)));
        assert!(both("nothing").iter().all(FileError::is_missing));
        let devices = Path::new("/dev");
        for device in ["zero", "null", "tty"] {
            assert!(matches!(open(&devices.join(device)), Err(FileError::Device)), "{device}");
            assert!(matches!(open_inside(devices, device), Err(FileError::Device)), "{device}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn opening_inside_a_folder_follows_no_link() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let (run, elsewhere) = (folder.path().join("run"), folder.path().join("elsewhere"));
        [&run, &elsewhere, &run.join("sub")].into_iter().for_each(|path| fs::create_dir(path).unwrap());
        fs::write(elsewhere.join("a"), "secret").unwrap();
        fs::write(run.join("sub/a"), "own").unwrap();
        symlink(elsewhere.join("a"), run.join("link")).unwrap();
        symlink(&elsewhere, run.join("linked")).unwrap();
        symlink(run.join("sub/a"), run.join("even_to_itself")).unwrap();
        for name in ["link", "linked/a", "even_to_itself"] {
            assert!(matches!(open_inside(&run, name), Err(FileError::Link)), "{name}");
            assert!(matches!(open_inside_to_write(&run, name), Err(FileError::Link)), "{name}");
        }
        for name in ["../elsewhere/a", "sub/../../elsewhere/a", "/etc/passwd", "", ".", ".."] {
            assert!(matches!(open_inside(&run, name), Err(FileError::Outside)), "{name}");
        }
        assert!(matches!(folder_inside(&run, "linked"), Err(FileError::Link)));
        assert_eq!(folder_inside(&run, "sub").unwrap(), run.join("sub"));
        assert_eq!(read_inside(&run, "sub/a", 9).unwrap(), b"own");
        // the user may name the folder by a link
        symlink(&run, folder.path().join("latest")).unwrap();
        assert_eq!(read_inside(&folder.path().join("latest"), "sub/a", 9).unwrap(), b"own");
        open_inside_to_write(&run, "new").unwrap();
        assert_eq!(fs::read(elsewhere.join("a")).unwrap(), b"secret");
    }
}
