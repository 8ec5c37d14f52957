//! Writes a file so that every reader finds either the old one or the complete new one: to a temporary file of a random
//! name in the same folder, forced to the disk, then renamed.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

use tempfile::{Builder, NamedTempFile, TempDir};

/// A file that is being written beside the one that it will replace. Dropped before [`Replacement::commit`],
/// it leaves nothing behind.
pub struct Replacement {
    path: PathBuf,
    temporary: NamedTempFile,
}

impl Replacement {
    /// A temporary file in the folder of `path`, which must exist. A link at `path` will be replaced itself;
    /// what it points to is not touched.
    ///
    /// # Errors
    /// If `path` is a folder or something else that is not a file, or its folder cannot be written.
    pub fn create(path: &Path) -> io::Result<Self> {
        check_kind(path, fs::symlink_metadata(path))?;
        let mut builder = Builder::new();
        builder.prefix(".writing-").suffix(".tmp");
        set_default_permissions(&mut builder, 0o666);
        let folder = folder_of(path);
        let temporary = builder.tempfile_in(folder).map_err(|e| creation_error(folder, &e))?;
        Ok(Self { path: path.to_owned(), temporary })
    }

    /// Gives it its name without waiting for the disk: after a loss of power it may be damaged, or not there.
    ///
    /// # Errors
    /// If the system refuses; then the old file stands as it was.
    pub fn commit_unforced(self) -> io::Result<()> {
        self.temporary.persist(&self.path).map(|_| ()).map_err(|e| e.error)
    }

    /// Forces what was written to the disk and gives it its name.
    ///
    /// # Errors
    /// If the system refuses; then the old file stands as it was.
    pub fn commit(self) -> io::Result<()> {
        self.temporary.as_file().sync_all()?;
        self.temporary.persist(&self.path).map_err(|e| e.error)?;
        sync_folder(folder_of(&self.path))
    }
}

impl Write for Replacement {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.temporary.as_file_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.temporary.as_file_mut().flush()
    }
}

impl io::Seek for Replacement {
    fn seek(&mut self, to: io::SeekFrom) -> io::Result<u64> {
        self.temporary.as_file_mut().seek(to)
    }
}

/// Checks, before what is to be written is there, that a file can be made or replaced at this path. Nothing is written.
///
/// # Errors
/// If `path` is, or links to, a folder, something else that is not a file, or an open file of a process
/// (`/dev/stdout`); if there is no folder for it, or the system refuses to look.
pub fn check_replaceable(path: &Path) -> io::Result<()> {
    let folder = folder_of(path);
    ensure!(folder.is_dir(), creation_error(folder, &io::ErrorKind::NotFound.into()));
    check_kind(path, fs::symlink_metadata(path))?;
    // a link whose target is missing or may not be looked at is replaced like any other
    if let Ok(target) = fs::metadata(path) {
        check_kind(path, Ok(target))?;
    }
    let words = "it leads to an open file of this process, such as its standard output: name the file itself";
    ensure!(!is_open_file(path), io::Error::new(io::ErrorKind::InvalidInput, words));
    Ok(())
}

/// Checks that what is at `path` is nothing yet, a file, or a link.
fn check_kind(path: &Path, there: io::Result<fs::Metadata>) -> io::Result<()> {
    let words = match there {
        Ok(there) if there.is_file() || there.is_symlink() => return Ok(()),
        Ok(there) if there.is_dir() => "it is a folder",
        Ok(_) => "it is a device or a pipe, not a file",
        Err(e) => match e.kind() {
            io::ErrorKind::NotFound => return Ok(()),
            io::ErrorKind::PermissionDenied | io::ErrorKind::NotADirectory => {
                return Err(creation_error(folder_of(path), &e));
            }
            _ => return Err(e),
        },
    };
    Err(io::Error::new(io::ErrorKind::InvalidInput, words))
}

/// The largest number of links on a path that Linux follows.
const MAX_LINKS: usize = 40;

/// Returns true if the path, or a link on the way to its target, is an open file of a process, which looks like an
/// ordinary file where standard output goes into one.
fn is_open_file(path: &Path) -> bool {
    let next = |link: &PathBuf| fs::read_link(link).ok().map(|target| folder_of(link).join(target));
    std::iter::successors(Some(path.to_owned()), next).take(MAX_LINKS).any(|path| {
        let folder = folder_of(&path).canonicalize();
        folder.is_ok_and(|folder| folder.starts_with("/proc") || folder.starts_with("/dev/fd"))
    })
}

/// Creates a temporary folder beside `folder`, with a random name that begins with `prefix`. The caller fills it and
/// renames it; if it is dropped before, it is removed.
pub fn folder_beside(folder: &Path, prefix: &str) -> io::Result<TempDir> {
    let mut builder = Builder::new();
    builder.prefix(prefix);
    set_default_permissions(&mut builder, 0o777);
    builder.tempdir_in(folder).map_err(|e| creation_error(folder, &e))
}

/// The reason why nothing can be made in a folder, without the random name of what was to be made.
fn creation_error(folder: &Path, e: &io::Error) -> io::Error {
    let words = match e.kind() {
        io::ErrorKind::NotFound => format!("there is no folder {}", folder.display()),
        why => format!("nothing can be made in {}: {why}", folder.display()),
    };
    io::Error::new(e.kind(), words)
}

/// The mode of files and folders that a program makes without thinking: what the user's mask leaves of `mode`.
fn set_default_permissions(builder: &mut Builder<'_, '_>, mode: u32) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(mode));
    }
    #[cfg(not(unix))]
    let _ = (builder, mode);
}

/// Replaces the file at `path` by a new file that holds `bytes`.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = Replacement::create(path)?;
    file.write_all(bytes)?;
    file.commit()
}

/// Writes this many bytes into a file of a random name in a folder, forces them to the disk and removes them.
///
/// # Errors
/// If the system refuses, as where the disk is full.
pub fn try_writing(folder: &Path, bytes: usize) -> io::Result<()> {
    let mut file = NamedTempFile::new_in(folder)?;
    file.write_all(&vec![1; bytes])?;
    file.as_file().sync_data()
}

/// Forces a folder's list of names to the disk. Where folders cannot be opened as files, the system does that
/// on its own.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

/// The folder in which a path lies.
pub fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn an_uncommitted_replacement_leaves_only_the_old_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        replace(&path, b"old").unwrap();
        let mut file = Replacement::create(&path).unwrap();
        file.write_all(b"half").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        drop(file);
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(names(folder.path()), ["a.csv"]);
        replace(&path, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(names(folder.path()), ["a.csv"]);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_replaced_and_what_it_points_to_is_not_touched() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let (victim, link) = (folder.path().join("victim"), folder.path().join("link"));
        fs::write(&victim, "precious").unwrap();
        symlink(&victim, &link).unwrap();
        replace(&link, b"mine").unwrap();
        assert_eq!(fs::read(&victim).unwrap(), b"precious");
        assert_eq!(fs::read(&link).unwrap(), b"mine");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&link), mode(&victim), "the mode of any file that the user makes");
    }

    #[test]
    fn the_file_of_a_write_test_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        try_writing(folder.path(), 9).unwrap();
        assert!(names(folder.path()).is_empty());
        assert!(try_writing(&folder.path().join("missing"), 9).is_err());
    }

    #[test]
    fn an_error_names_the_folder_and_no_temporary_file() {
        let folder = tempfile::tempdir().unwrap().path().join("missing");
        for error in [replace(&folder.join("a.csv"), b"").unwrap_err(), folder_beside(&folder, ".making-").unwrap_err()]
        {
            let words = format!("there is no folder {}", folder.display());
            assert_eq!((error.kind(), error.to_string()), (io::ErrorKind::NotFound, words));
        }
    }

    #[test]
    fn a_folder_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let error = replace(folder.path(), b"").unwrap_err();
        assert!(error.to_string().contains("folder"), "{error}");
    }

    #[test]
    fn a_name_that_no_file_can_have_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a".repeat(300));
        assert!(check_replaceable(&path).is_err() && replace(&path, b"").is_err());
        assert!(names(folder.path()).is_empty());
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_refused_only_if_it_leads_to_an_open_file() {
        use std::os::{fd::AsRawFd, unix::fs::symlink};
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let file = File::create(at("open")).unwrap();
        let open = PathBuf::from(format!("/dev/fd/{}", file.as_raw_fd()));
        symlink(&open, at("link")).unwrap();
        symlink("link", at("link to a link")).unwrap();
        for refused in [open, at("link"), at("link to a link")] {
            let error = check_replaceable(&refused).unwrap_err();
            assert!(error.to_string().contains("name the file itself"), "{refused:?}: {error}");
        }
        symlink("open", at("link to the file")).unwrap();
        symlink("missing", at("link to nothing")).unwrap();
        symlink("circle", at("circle")).unwrap();
        for replaced in ["open", "link to the file", "link to nothing", "circle"] {
            check_replaceable(&at(replaced)).unwrap();
        }
    }

    #[test]
    fn a_path_is_refused_before_anything_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let (path, missing) = (folder.path().join("a.csv"), folder.path().join("missing/a.csv"));
        check_replaceable(&path).unwrap();
        let said = |result: io::Result<()>| result.unwrap_err().to_string();
        for refused in [folder.path(), missing.as_path()] {
            assert_eq!(said(check_replaceable(refused)), said(replace(refused, b"")));
        }
        assert!(names(folder.path()).is_empty());
    }
}
