//! Operations inside an untrusted folder. A path is opened part by part from the opened folder, so that nothing on it can
//! be replaced by a link between the check and the use.

#[cfg(unix)]
pub use descriptors::{check_only_name, make_folder, open, remove_file, rename};
#[cfg(not(unix))]
pub use paths::{check_only_name, make_folder, open, remove_file, rename};

#[cfg(unix)]
mod descriptors {
    use std::{ffi::OsStr, fs::File, os::fd::OwnedFd, path::Path};

    use rustix::fs::{AtFlags, FileType, Mode, OFlags, fstat, mkdirat, openat, renameat, statat, unlinkat};

    use super::super::{FileError, check_type, parts};

    /// Opens a file for reading and, if `writing`, also for writing; then a missing file is created.
    pub fn open(folder: &Path, name: &Path, writing: bool) -> Result<File, FileError> {
        let (at, last) = parent(folder, name)?;
        // A device must not be opened to find out that it is one.
        match statat(&at, last, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => check_kind(FileType::from_raw_mode(found.st_mode))?,
            Err(rustix::io::Errno::NOENT) if writing => {}
            Err(e) => return Err(refused(e)),
        }
        let access = if writing { OFlags::RDWR | OFlags::CREATE } else { OFlags::RDONLY };
        let flags = access | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = openat(&at, last, flags, Mode::from_raw_mode(0o666)).map_err(refused)?;
        check_kind(FileType::from_raw_mode(fstat(&file).map_err(refused)?.st_mode))?;
        let file = File::from(file);
        check_type(file.metadata()?.file_type())?;
        if writing {
            check_only_name(&file)?;
        }
        Ok(file)
    }

    /// Refuses a file with several hard links, because writing to it would also change the file under its other names,
    /// which may lie outside of the folder.
    pub fn check_only_name(file: &File) -> Result<(), FileError> {
        match fstat(file).map_err(refused)?.st_nlink {
            0 | 1 => Ok(()),
            _ => Err(FileError::HardLink),
        }
    }

    /// Makes a folder, which must not exist yet.
    pub fn make_folder(folder: &Path, name: &Path) -> Result<(), FileError> {
        let (at, last) = parent(folder, name)?;
        mkdirat(&at, last, Mode::from_raw_mode(0o777)).map_err(refused)
    }

    /// Removes a file, or a link itself.
    pub fn remove_file(folder: &Path, name: &Path) -> Result<(), FileError> {
        let (at, last) = parent(folder, name)?;
        unlinkat(&at, last, AtFlags::empty()).map_err(refused)
    }

    /// Renames a file or a folder, or a link itself.
    pub fn rename(folder: &Path, from: &Path, to: &Path) -> Result<(), FileError> {
        let ((from_at, from), (to_at, to)) = (parent(folder, from)?, parent(folder, to)?);
        renameat(&from_at, from, &to_at, to).map_err(refused)
    }

    /// The opened folder in which the last part of a name lies, and that part.
    fn parent<'a>(folder: &Path, name: &'a Path) -> Result<(OwnedFd, &'a OsStr), FileError> {
        let parts = parts(name)?;
        let (last, way) = parts.split_last().ok_or(FileError::Outside)?;
        let as_folder = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let mut at = rustix::fs::open(folder, as_folder, Mode::empty()).map_err(refused)?;
        for part in way {
            let kind = FileType::from_raw_mode(statat(&at, *part, AtFlags::SYMLINK_NOFOLLOW).map_err(refused)?.st_mode);
            ensure!(kind != FileType::Symlink, FileError::Link);
            at = openat(&at, *part, as_folder | OFlags::NOFOLLOW, Mode::empty()).map_err(refused)?;
        }
        Ok((at, *last))
    }

    fn check_kind(kind: FileType) -> Result<(), FileError> {
        match kind {
            FileType::RegularFile => Ok(()),
            FileType::Directory => Err(FileError::Folder),
            FileType::Symlink => Err(FileError::Link),
            FileType::Fifo => Err(FileError::Pipe),
            FileType::Socket => Err(FileError::Socket),
            _ => Err(FileError::Device),
        }
    }

    fn refused(e: rustix::io::Errno) -> FileError {
        match e {
            rustix::io::Errno::LOOP => FileError::Link,
            e => FileError::Io(e.into()),
        }
    }
}

#[cfg(not(unix))]
mod paths {
    use std::{
        fs::{self, File},
        io,
        path::{Path, PathBuf},
    };

    use super::super::{self as opening, FileError, check_type, parts};

    pub fn open(folder: &Path, name: &Path, writing: bool) -> Result<File, FileError> {
        let path = checked(folder, name, writing, LastComponent::NoLink)?;
        let file = match writing {
            true => File::options().read(true).write(true).create(true).truncate(false).open(&path)?,
            false => opening::open(&path)?,
        };
        check_type(file.metadata()?.file_type())?;
        Ok(file)
    }

    /// The names of a file are not counted here.
    pub fn check_only_name(_: &File) -> Result<(), FileError> {
        Ok(())
    }

    pub fn make_folder(folder: &Path, name: &Path) -> Result<(), FileError> {
        Ok(fs::create_dir(checked(folder, name, true, LastComponent::NoLink)?)?)
    }

    pub fn remove_file(folder: &Path, name: &Path) -> Result<(), FileError> {
        Ok(fs::remove_file(checked(folder, name, false, LastComponent::Any)?)?)
    }

    pub fn rename(folder: &Path, from: &Path, to: &Path) -> Result<(), FileError> {
        let from = checked(folder, from, false, LastComponent::Any)?;
        Ok(fs::rename(from, checked(folder, to, true, LastComponent::Any)?)?)
    }

    #[derive(Clone, Copy, PartialEq)]
    enum LastComponent {
        NoLink,
        Any,
    }

    /// The path of a name over which no link leads.
    fn checked(folder: &Path, name: &Path, may_be_missing: bool, last: LastComponent) -> Result<PathBuf, FileError> {
        let mut path = folder.to_owned();
        let parts = parts(name)?;
        for (i, part) in parts.iter().enumerate() {
            path.push(part);
            match fs::symlink_metadata(&path) {
                Ok(_) if i + 1 == parts.len() && last == LastComponent::Any => {}
                Ok(found) if found.file_type().is_symlink() => return Err(FileError::Link),
                Ok(_) => {}
                Err(e) if may_be_missing && e.kind() == io::ErrorKind::NotFound => {}
                Err(e) => return Err(e.into()),
            }
        }
        Ok(path)
    }
}
