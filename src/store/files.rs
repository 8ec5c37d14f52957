//! The names of a run folder's files, and writing a file so that a crash leaves the old one or the new one,
//! never half of one.

use std::{
    fs::{self, File},
    io::Write,
    path::Path,
};

use super::error::{At, StoreError};

pub(super) const METRICS: &str = "metrics.jsonl";
pub(super) const SAMPLES: &str = "samples.jsonl";
pub(super) const EVENTS: &str = "events.jsonl";
pub(super) const CONFIG: &str = "config.toml";
pub(super) const RUN: &str = "run.json";

/// Longer ones are not ours: a run's settings are some kilobytes.
pub(super) const MOST_CONFIG: u64 = 256 << 10;
/// As [`MOST_CONFIG`]: a kilobyte a variant, and one each time the run was taken up again.
pub(super) const MOST_RUN: u64 = 4 << 20;

/// Writes and forces to the disk.
pub(super) fn write_synced(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let mut file = File::create(path).at("write", path)?;
    file.write_all(bytes).at("write", path)?;
    file.sync_all().at("write", path)
}

/// Writes beside the file, then puts it in its place.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".tmp");
    let beside = path.with_file_name(name);
    write_synced(&beside, bytes)?;
    fs::rename(&beside, path).at("write", path)?;
    sync_folder(path.parent().unwrap_or(Path::new(".")));
    Ok(())
}

/// Forces a folder's list of names to the disk. Not every system can; then it is left to it.
pub(super) fn sync_folder(folder: &Path) {
    if let Ok(f) = File::open(folder) {
        let _ = f.sync_all();
    }
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

/// A safe name that is not yet in `taken`; adds it.
pub(super) fn unique_name(name: &str, taken: &mut Vec<String>) -> String {
    let base = safe_name(name);
    let mut unique = base.clone();
    let mut n = 1;
    while taken.contains(&unique) {
        n += 1;
        unique = format!("{base}-{n}");
    }
    taken.push(unique.clone());
    unique
}
