//! Makes, lists, renames and removes folders and their entries. Inside an untrusted folder no link is followed, neither on
//! the path nor at its end.

use std::{
    fs::{self, DirEntry, File, ReadDir},
    io,
    path::Path,
};

use super::opening::{FileError, folder_inside, inside};

/// Makes a folder that the user has named, with those above it. The way to it may lead over links.
///
/// # Errors
/// If the system refuses, or something else has its name.
pub fn make_folders(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path)
}

/// Checks that [`make_folders`] would find nothing but folders on the way. Nothing is made.
///
/// # Errors
/// If something else has its name, or that of a folder above it.
pub fn check_folders(path: &Path) -> io::Result<()> {
    match path.ancestors().find(|above| above.is_symlink() || above.exists()) {
        Some(other) if !other.is_dir() => {
            let words = format!("something that is not a folder is in the way: {}", other.display());
            Err(io::Error::new(io::ErrorKind::NotADirectory, words))
        }
        _ => Ok(()),
    }
}

/// Lists the entries of a folder in an unspecified order, without opening any of them.
pub fn all_entries(folder: &Path) -> io::Result<ReadDir> {
    fs::read_dir(folder)
}

/// The entries of a folder like [`all_entries`], without those that cannot be read.
pub fn entries(folder: &Path) -> io::Result<impl Iterator<Item = DirEntry>> {
    Ok(all_entries(folder)?.flatten())
}

/// Makes a new file inside an untrusted folder; it is an error if the file exists.
///
/// # Errors
/// Those of [`super::open_inside`]; if something has its name, [`io::ErrorKind::AlreadyExists`].
pub fn create_new_inside(folder: &Path, name: impl AsRef<Path>) -> Result<File, FileError> {
    let name = name.as_ref();
    let parent = match name.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        Some(parent) => folder_inside(folder, parent)?,
        None => folder.to_owned(),
    };
    let last = name.file_name().ok_or(FileError::Outside)?;
    // with O_EXCL no link is followed at the end
    Ok(File::options().write(true).create_new(true).open(parent.join(last))?)
}

/// Renames a file or a folder within an untrusted folder; a link itself is renamed, not its target.
///
/// # Errors
/// Those of [`super::open_inside`] for the folders on both ways, and if the system refuses.
pub fn rename_inside(folder: &Path, from: impl AsRef<Path>, to: impl AsRef<Path>) -> Result<(), FileError> {
    inside::rename(folder, from.as_ref(), to.as_ref())
}

/// Removes a file inside an untrusted folder; a link itself is removed, not its target.
///
/// # Errors
/// Those of [`super::open_inside`] for the folders on the way, and if the system refuses.
pub fn remove_file_inside(folder: &Path, name: impl AsRef<Path>) -> Result<(), FileError> {
    inside::remove_file(folder, name.as_ref())
}

/// Removes a folder inside an untrusted folder with its content; links themselves are removed, not their targets.
///
/// # Errors
/// Those of [`folder_inside`], and if the system refuses.
pub fn remove_folder_inside(folder: &Path, name: impl AsRef<Path>) -> Result<(), FileError> {
    let path = folder_inside(folder, name)?;
    Ok(fs::remove_dir_all(path)?)
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn only_folders_may_be_on_the_way_to_a_folder() {
        let here = tempfile::tempdir().unwrap();
        fs::write(here.path().join("file"), "").unwrap();
        symlink("missing", here.path().join("link")).unwrap();
        symlink(".", here.path().join("linked")).unwrap();
        for (name, is_refused) in
            [("", false), ("a/b", false), ("linked/a", false), ("file", true), ("file/a", true), ("link", true)]
        {
            let path = here.path().join(name);
            assert_eq!(check_folders(&path).is_err(), is_refused, "{name}");
            assert_eq!(make_folders(&path).is_err(), is_refused, "{name}");
        }
    }

    #[test]
    fn no_file_outside_the_folder_is_made_renamed_or_removed() {
        let (here, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (folder, target) = (here.path(), outside.path().join("a"));
        fs::write(&target, "kept").unwrap();
        symlink(outside.path(), folder.join("linked")).unwrap();
        symlink(&target, folder.join("link")).unwrap();
        fs::write(folder.join("own"), "").unwrap();
        let over_link: [Result<(), FileError>; 5] = [
            remove_file_inside(folder, "linked/a"),
            remove_folder_inside(folder, "linked"),
            rename_inside(folder, "own", "linked/b"),
            rename_inside(folder, "linked/a", "b"),
            create_new_inside(folder, "linked/b").map(|_| ()),
        ];
        assert!(over_link.iter().all(|result| matches!(result, Err(FileError::Link))), "{over_link:?}");
        assert!(create_new_inside(folder, "link").is_err());
        for out in ["../a", "/tmp/a", ".."] {
            assert!(matches!(remove_file_inside(folder, out), Err(FileError::Outside)), "{out}");
            assert!(matches!(rename_inside(folder, "own", out), Err(FileError::Outside)), "{out}");
        }
        // the link is removed, and its target remains
        remove_file_inside(folder, "link").unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), "kept");
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);

        fs::create_dir(folder.join("sub")).unwrap();
        symlink(outside.path(), folder.join("sub/linked")).unwrap();
        rename_inside(folder, "own", "sub/own").unwrap();
        create_new_inside(folder, "sub/new").unwrap();
        remove_folder_inside(folder, "sub").unwrap();
        assert!(!folder.join("sub").exists() && target.exists());
    }
}
