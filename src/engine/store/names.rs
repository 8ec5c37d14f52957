//! The names of a run folder's files and folders, and making them.

use std::{
    collections::HashMap,
    io::Write,
    path::{Path, PathBuf},
};

use super::error::{PathContext, StoreError};
use crate::files;

/// The index of a folder of runs.
pub(super) const INDEX: &str = ".index.json";
pub(super) const METRICS: &str = "metrics.jsonl";
pub(super) const SAMPLES: &str = "samples.jsonl";
pub(super) const EVENTS: &str = "events.jsonl";
pub(super) const CONFIG: &str = "config.toml";
pub(super) const RUN: &str = "run.json";
/// Locked by the process that writes the folder; empty, or the start of its machine (docs/protocol.md).
pub const LOCK: &str = ".lock";
pub(super) const NOTE: &str = "note.toml";
pub(super) const CHECKPOINTS: &str = "checkpoints";
pub(super) const SNAPSHOTS: &str = "snapshots";
pub(super) const FIGURES: &str = "figures";
pub(super) const ASK: &str = "ask";
pub(super) const ANSWER: &str = "answer";

/// The limit of a config file, of a sweep or of a task's log in bytes; a run's settings are some kilobytes.
pub const MAX_CONFIG: u64 = 256 << 10;
/// The limit of `run.json` in bytes: a kilobyte per variant, and one each time the run was resumed.
pub(super) const MAX_RUN: u64 = 4 << 20;

/// Bytes of the name of a channel or of a variant.
pub(super) const MAX_NAME: usize = 1 << 10;

/// The prefix of the name of a folder that is still incomplete.
pub(super) const INCOMPLETE_PREFIX: &str = ".making-";

/// Returns true if the folder holds a file of a run.
pub fn is_run(folder: &Path) -> bool {
    [RUN, CONFIG, METRICS].iter().any(|part| folder.join(part).is_file())
}

/// # Errors
/// If there is no folder of this name.
pub fn check_folder(folder: &Path) -> Result<(), StoreError> {
    let what = match folder.try_exists() {
        _ if folder.is_dir() => return Ok(()),
        Ok(false) => "does not exist",
        _ => "is not a folder",
    };
    Err(StoreError::new(format!("`{}` {what}: give the folder of a run", folder.display())))
}

/// # Errors
/// If the folder holds no file of a run.
pub(super) fn check_run(folder: &Path) -> Result<(), StoreError> {
    match is_run(folder) {
        true => Ok(()),
        false => Err(StoreError::new(format!("`{}` is not a run folder: give the folder of a run", folder.display()))),
    }
}

/// Returns true if the folder itself is a link, whether or not a slash at its end leads through it.
pub(super) fn is_link(folder: &Path) -> bool {
    folder.components().collect::<PathBuf>().is_symlink()
}

/// Makes a file that must not exist, and forces it to the disk.
pub(super) fn write_new(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let (folder, name) = (path.parent().unwrap_or(Path::new(".")), path.file_name().unwrap_or_default());
    let mut file = files::create_new_inside(folder, name).at("write", path)?;
    file.write_all(bytes).at("write", path)?;
    file.sync_all().at("write", path)
}

/// Makes a folder of a run, if it does not exist. Errors: the system refuses, or something else has its name.
pub(super) fn make_folder(run: &Path, name: &str) -> Result<(), StoreError> {
    let folder = run.join(name);
    files::make_folder_inside(run, name).map(|_| ()).at("make", &folder)
}

/// Returns true if an absolute path leads to the index of a folder of runs, or into a run folder, to something that its
/// writer keeps there: a log, a description, a checkpoint.
pub fn is_record(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == INDEX)
        || path.ancestors().skip(1).any(|run| path.strip_prefix(run).is_ok_and(is_kept) && has_record(run))
}

/// Returns true if a folder holds a log or the description of a run, be it alone: a program that has only begun to write its
/// run may have made its events and nothing else. `config.toml` alone may be settings that a person saved.
fn has_record(folder: &Path) -> bool {
    [RUN, METRICS, SAMPLES, EVENTS].iter().any(|name| folder.join(name).is_file())
}

fn is_kept(within_run: &Path) -> bool {
    let mut parts = within_run.components();
    let first = parts.next().map(|c| c.as_os_str().to_string_lossy().into_owned());
    let is_direct = parts.next().is_none();
    first.is_some_and(|name| {
        is_direct && name.starts_with('.')
            || name.ends_with(".jsonl")
            || [CONFIG, RUN, NOTE, CHECKPOINTS, SNAPSHOTS, ASK, ANSWER].contains(&name.as_str())
    })
}

/// Letters, digits, `.`, `-` and `_`; anything else becomes `_`. Never empty, never hidden.
pub(super) fn safe_name(name: &str) -> String {
    let safe: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' }).take(80).collect();
    match safe.strip_prefix('.') {
        Some(rest) => format!("_{rest}"),
        None if safe.is_empty() => "_".to_owned(),
        None => safe,
    }
}

/// The safe names in use, in lower case, each with the last number that was appended to it, so that many equal names do
/// not make the search slow.
pub type TakenNames = HashMap<String, usize>;

/// A safe name that is not yet in `taken`, in letters of either case, which some file systems take for one; adds it.
pub fn unique_name(name: &str, taken: &mut TakenNames) -> String {
    let base = safe_name(name);
    let key = base.to_ascii_lowercase();
    let Some(last) = taken.get(&key).copied() else {
        taken.insert(key, 1);
        return base;
    };
    let mut n = last + 1;
    while taken.contains_key(&format!("{key}-{n}")) {
        n += 1;
    }
    taken.insert(format!("{key}-{n}"), 1);
    taken.insert(key, n);
    format!("{base}-{n}")
}

/// The name, or where it is taken the first of `name-2`, `name-3`, .. that is not.
pub(super) fn numbered(name: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let (mut free, mut n) = (name.to_owned(), 1);
    while is_taken(&free) {
        n += 1;
        free = format!("{name}-{n}");
    }
    free
}

/// The last part of a path.
pub(super) fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_known_by_any_of_its_files() {
        let folder = tempfile::tempdir().unwrap();
        let is_kept = |name: &str| is_record(&folder.path().join(name));
        let is_kept_beside = |there: &[&str]| {
            there.iter().for_each(|name| std::fs::write(folder.path().join(name), "").unwrap());
            let kept = [RUN, CONFIG, METRICS, EVENTS, NOTE, "checkpoints/a"].map(is_kept);
            assert!(!is_kept("a.csv") && !is_kept("figures/a.png"), "beside {there:?}");
            there.iter().for_each(|name| std::fs::remove_file(folder.path().join(name)).unwrap());
            assert!(kept.iter().all(|one| *one == kept[0]), "beside {there:?}");
            kept[0]
        };
        assert!(!is_kept_beside(&[]) && !is_kept_beside(&[CONFIG]), "settings that were saved");
        for there in [&[RUN][..], &[METRICS], &[SAMPLES], &[EVENTS], &[CONFIG, EVENTS], &[RUN, CONFIG, METRICS]] {
            assert!(is_kept_beside(there), "{there:?}");
        }
        assert!(is_kept(".index.json"));
    }

    #[test]
    fn equal_names_are_numbered_past_those_taken() {
        let mut taken = TakenNames::new();
        let named = ["a", "a-2", "a", "a/", "a", "\u{e9}", "\u{e8}"].map(|name| unique_name(name, &mut taken));
        assert_eq!(named, ["a", "a-2", "a-3", "a_", "a-4", "_", "_-2"]);
        assert_eq!(["A", "B", "b"].map(|name| unique_name(name, &mut taken)), ["A-5", "B", "b-2"], "in either case");
        (0..20_000).for_each(|_| drop(unique_name("\u{ea}", &mut taken)));
        assert_eq!(unique_name("\u{eb}", &mut taken), "_-20003");
    }
}
