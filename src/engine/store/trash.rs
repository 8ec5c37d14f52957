//! Deleted runs stay in a folder beside the others until they are restored or the folder is emptied by hand.

use super::{lock::is_being_written, prelude::*};

/// Its folder within the folder of runs.
pub const TRASH: &str = ".trash";

/// Moves a run to the trash beside it; returns its new path.
///
/// # Errors
/// If it is not a run folder, is a link to one, is being written, or the system refuses. Then it stays where it was.
pub fn discard(run: &Path) -> Result<PathBuf, StoreError> {
    names::check_run(run)?;
    let shown = run.display();
    if names::is_link(run) {
        return Err(StoreError::new(format!(
            "`{shown}` is a link to a run elsewhere: delete the run by its own folder, or remove the link by hand"
        )));
    }
    if is_being_written(run) {
        return Err(StoreError::new(format!("`{shown}` is being written: stop the run first, then delete it")));
    }
    let run = run.canonicalize().at("delete", run)?;
    let (Some(runs), Some(name)) = (run.parent(), run.file_name()) else {
        return Err(StoreError::new(format!("`{shown}` lies in no folder")));
    };
    let trash = runs.join(TRASH);
    files::make_folder_inside(runs, TRASH).at("make", &trash)?;
    // a name that is not UTF-8 stays as it is: as text it could be that of another run
    let (mut free, mut n) = (name.to_owned(), 1);
    while trash.join(&free).exists() {
        n += 1;
        free = name.to_owned();
        free.push(format!(".{n}"));
    }
    files::rename_inside(runs, name, Path::new(TRASH).join(&free)).at("delete", &run)?;
    Ok(trash.join(free))
}

/// Moves a run out of the trash, to where it was; where it lies now.
///
/// # Errors
/// If it is not a folder in a trash, something else has its place, or the system refuses. Then it stays in the trash.
pub fn restore(place: &Path) -> Result<PathBuf, StoreError> {
    let shown = place.display();
    let no_trash = || StoreError::new(format!("`{shown}` is not in the trash: give a folder within `{TRASH}`"));
    let trash = place.parent().filter(|t| t.file_name().is_some_and(|n| n == TRASH)).ok_or_else(no_trash)?;
    let name = place.file_name().ok_or_else(no_trash)?;
    names::check_folder(place)?;
    let runs = files::folder_of(trash);
    let run = runs.join(name);
    ensure!(!run.exists(), StoreError::new(format!("`{}` is there already: move it away first", run.display())));
    files::rename_inside(runs, Path::new(TRASH).join(name), name).at("take back", place)?;
    Ok(run)
}

#[cfg(test)]
mod tests {
    #[cfg(unix)]
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn a_run_whose_name_is_not_utf8_is_deleted_itself() {
        use std::{ffi::OsStr, os::unix::ffi::OsStrExt};
        let dir = tempfile::tempdir().unwrap();
        let [run, other] = [&b"a\xff"[..], "a\u{fffd}".as_bytes()].map(|name| dir.path().join(OsStr::from_bytes(name)));
        for folder in [&run, &other] {
            std::fs::create_dir(folder).unwrap();
            std::fs::write(folder.join("config.toml"), "lab = \"x\"").unwrap();
        }
        let place = discard(&run).unwrap();
        assert!(place.join("config.toml").is_file() && !run.exists() && other.is_dir(), "{place:?}");
        assert_eq!(place.file_name(), run.file_name());
        assert_eq!(restore(&place).unwrap().file_name(), run.file_name());
        std::fs::create_dir(&place).unwrap();
        let numbered = discard(&run).unwrap();
        assert_eq!(numbered.file_name(), Some(OsStr::from_bytes(b"a\xff.2")));
    }

    #[cfg(unix)]
    #[test]
    fn a_link_to_a_run_deletes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let (run, runs) = (dir.path().join("elsewhere/run"), dir.path().join("runs"));
        std::fs::create_dir_all(&run).unwrap();
        std::fs::create_dir(&runs).unwrap();
        std::fs::write(run.join("config.toml"), "lab = \"x\"").unwrap();
        let link = runs.join("link");
        std::os::unix::fs::symlink(&run, &link).unwrap();
        for path in [link.clone(), link.join(""), link.join(".")] {
            let error = discard(&path).unwrap_err().to_string();
            assert!(error.contains("is a link"), "{error}");
        }
        assert!(run.join("config.toml").is_file() && link.is_symlink() && !runs.join(TRASH).exists());
        let place = discard(&run).unwrap();
        assert!(place.starts_with(dir.path().canonicalize().unwrap().join("elsewhere").join(TRASH)), "{place:?}");
    }
}
