//! An index of the runs in a folder: what was made of each, until one of its files changes. It is a cache and nothing
//! more: deleted, damaged or of another version it is made again.

use std::{ffi::OsString, fs, io::Write, time::UNIX_EPOCH};

use serde::de::DeserializeOwned;

use super::{
    names::{FIGURES, INDEX, is_run},
    prelude::*,
};

/// The limit of an index in bytes; a run takes a few kilobytes.
const MAX_INDEX: u64 = 256 << 20;
/// The memory for the parsed index, at most this many times its bytes.
const GROWTH: u64 = 16;
/// The largest depth of folders in a run.
const MAX_DEPTH: usize = 16;

/// The times of the last changes and the length of each part of a run folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp(Vec<(u64, u64, u64)>);

impl Stamp {
    /// Reads the times and sizes of the files of a folder; no file is opened.
    pub fn read(run: &Path) -> Self {
        let parts = [RUN, CONFIG, METRICS, SAMPLES, EVENTS, CHECKPOINTS, SNAPSHOTS, FIGURES];
        let stamp = |data: fs::Metadata| {
            let (modified, length) = times_and_length(&data);
            (modified, status_changed(&data), length)
        };
        Self(parts.map(|part| fs::symlink_metadata(run.join(part)).map_or((0, 0, 0), stamp)).into())
    }
}

/// Nanoseconds since 1970 and bytes; zeros of what is not there.
pub(super) fn modified_and_length(path: &Path) -> (u64, u64) {
    fs::symlink_metadata(path).map_or((0, 0), |data| times_and_length(&data))
}

fn times_and_length(data: &fs::Metadata) -> (u64, u64) {
    let since = data.modified().ok().and_then(|t| t.duration_since(UNIX_EPOCH).ok());
    (since.map_or(1, |s| s.as_nanos() as u64), data.len())
}

/// When the system last changed what it knows of a file, nanoseconds since 1970. No program can set it, so an index that came
/// with a copy of its runs does not hold for the copy, whose other times and lengths may be the same.
#[cfg(unix)]
fn status_changed(data: &fs::Metadata) -> u64 {
    use std::os::unix::fs::MetadataExt;
    (data.ctime() as u64).wrapping_mul(1_000_000_000).wrapping_add(data.ctime_nsec() as u64)
}

/// Returns 0, because this system does not report the time.
#[cfg(not(unix))]
fn status_changed(_: &fs::Metadata) -> u64 {
    0
}

/// The cached summary of each run, by the name of its folder.
#[derive(Serialize, Deserialize)]
#[serde(bound(deserialize = "T: DeserializeOwned"))]
pub struct RunIndex<T> {
    /// The version of the program, on which the summaries depend too.
    version: String,
    runs: BTreeMap<String, (Stamp, T)>,
}

impl<T: Serialize + DeserializeOwned> RunIndex<T> {
    /// The index of a folder of runs; an empty one where there is none that can be used.
    pub fn open(runs: &Path, version: &str) -> Self {
        let bytes = read_inside(runs, INDEX, MAX_INDEX).ok();
        let bytes = bytes.filter(|bytes| check_memory(GROWTH * bytes.len() as u64).is_ok());
        let kept = bytes.and_then(|bytes| serde_json::from_slice::<Self>(&bytes).ok());
        kept.filter(|index| index.version == version)
            .unwrap_or_else(|| Self { version: version.to_owned(), runs: BTreeMap::new() })
    }

    /// The cached summary of this run, if nothing has changed since.
    pub fn get(&self, name: &str, stamp: &Stamp) -> Option<&T> {
        self.runs.get(name).filter(|(kept, _)| kept == stamp).map(|(_, made)| made)
    }

    /// Keeps the summary of a run.
    pub fn set(&mut self, name: String, stamp: Stamp, made: T) {
        self.runs.insert(name, (stamp, made));
    }

    /// Forgets runs that are not among these; whether there were any.
    pub fn keep_only(&mut self, names: &[String]) -> bool {
        let before = self.runs.len();
        let names: std::collections::HashSet<&str> = names.iter().map(String::as_str).collect();
        self.runs.retain(|name, _| names.contains(name.as_str()));
        self.runs.len() < before
    }

    /// Writes it whole, or leaves what was there.
    ///
    /// # Errors
    /// If the system refuses: the next list then takes longer, and nothing else is lost.
    pub fn save(&self, runs: &Path) -> Result<(), StoreError> {
        let path = runs.join(INDEX);
        let text = serde_json::to_vec(self)
            .map_err(|e| StoreError::with_source(format!("cannot write `{}`: {e}", path.display()), e))?;
        let mut file = Replacement::create(&path).at("write", &path)?;
        // A damaged one is built again, so that it need not be synced to the disk.
        file.write_all(&text).and_then(|()| file.commit_unforced()).at("write", &path)
    }
}

/// The names of the run folders in `runs`, in the order of their names: whatever has a description, settings or logs of a
/// run. A missing folder has none.
///
/// # Errors
/// If the system refuses to list it.
pub fn run_folders(runs: &Path) -> Result<Vec<OsString>, StoreError> {
    if !runs.exists() {
        return Ok(vec![]);
    }
    let entries = files::entries(runs).at("list the runs in", runs)?;
    let mut names: Vec<OsString> = entries
        .filter(|e| !e.file_name().to_string_lossy().starts_with('.') && is_run(&e.path()))
        .map(|e| e.file_name())
        .collect();
    names.sort();
    Ok(names)
}

/// Bytes on disk of everything in a run folder. A file whose metadata cannot be read counts nothing; links are not
/// followed.
pub fn bytes(run: &Path) -> u64 {
    bytes_within(run, MAX_DEPTH)
}

fn bytes_within(folder: &Path, depth: usize) -> u64 {
    let Ok(entries) = files::entries(folder) else { return 0 };
    let of = |e: fs::DirEntry| match e.file_type() {
        Ok(kind) if kind.is_dir() && depth > 0 => bytes_within(&e.path(), depth - 1),
        Ok(kind) if kind.is_dir() => 0,
        _ => e.metadata().map_or(0, |data| data.len()),
    };
    entries.map(of).sum()
}
