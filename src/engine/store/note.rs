//! `note.toml`: the user's name and note for a run, stored next to its record.

use super::{names::NOTE, prelude::*};
use crate::{files::replace, telemetry::RunNote};

/// The limit of a note in bytes; a longer file is not a note.
const MAX_NOTE: u64 = 256 << 10;

/// The note of a run folder; an empty one if there is none.
///
/// # Errors
/// If the file is there and cannot be read, or is not a note.
pub fn read(folder: &Path) -> Result<RunNote, StoreError> {
    let path = folder.join(NOTE);
    match read_text_inside(folder, NOTE, MAX_NOTE) {
        Ok(text) => toml::from_str(&text).map_err(|e| {
            StoreError::new(format!("`{}` is not a valid note ({}): repair or delete it", path.display(), e.message()))
        }),
        Err(e) if e.is_missing() => Ok(RunNote::default()),
        Err(e) => Err(e).at("read", &path),
    }
}

/// Writes it whole, or leaves what was there.
///
/// # Errors
/// If this is not a run folder or a link to one, the note is too long, or the system refuses.
pub fn write(folder: &Path, note: &RunNote) -> Result<(), StoreError> {
    names::check_run(folder)?;
    if names::is_link(folder) {
        return Err(StoreError::new(format!(
            "`{}` is a link to a run elsewhere: write the note by the run's own folder",
            folder.display()
        )));
    }
    let path = folder.join(NOTE);
    let text = toml::to_string(note).map_err(|e| StoreError::with_source(format!("cannot write a note: {e}"), e))?;
    if text.len() as u64 > MAX_NOTE {
        return Err(StoreError::new(format!(
            "a note of {} bytes is too long: at most {MAX_NOTE} are kept",
            text.len()
        )));
    }
    replace(&path, text.as_bytes()).at("write", &path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_comes_back_and_a_damaged_one_is_reported() {
        let dir = tempfile::tempdir().unwrap();
        let note = RunNote {
            name: "wide \"one\"".into(),
            note: "two\nlines".into(),
            tags: vec!["talk".into(), "wide gate".into()],
            pinned: true,
            archived: false,
        };
        assert!(write(dir.path(), &note).unwrap_err().to_string().contains("not a run folder"));
        std::fs::write(dir.path().join("config.toml"), "lab = \"x\"").unwrap();
        assert!(read(dir.path()).unwrap().is_empty());
        write(dir.path(), &note).unwrap();
        assert_eq!(read(dir.path()).unwrap(), note);
        std::fs::write(dir.path().join(NOTE), "name = ").unwrap();
        assert!(read(dir.path()).unwrap_err().to_string().contains("note.toml"));
    }

    #[cfg(unix)]
    #[test]
    fn no_note_is_written_over_a_link() {
        let dir = tempfile::tempdir().unwrap();
        let (run, link) = (dir.path().join("run"), dir.path().join("link"));
        std::fs::create_dir(&run).unwrap();
        std::fs::write(run.join("config.toml"), "lab = \"x\"").unwrap();
        std::os::unix::fs::symlink(&run, &link).unwrap();
        for path in [link.clone(), link.join("")] {
            let error = write(&path, &RunNote { pinned: true, ..RunNote::default() }).unwrap_err().to_string();
            assert!(error.contains("is a link"), "{error}");
        }
        assert!(!run.join(NOTE).exists());
    }
}
