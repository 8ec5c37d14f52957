//! Past runs in a folder, for a list to choose from. Reads the head and the tail of each, not the
//! whole.

use std::{
    fs,
    io::{Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

use super::{
    StoreError,
    description::{self, Description},
    error::At,
    names::{CONFIG, METRICS, RUN},
    record::MetricsIn,
};
use crate::files::open_inside;

/// A run folder in a list.
#[derive(Debug, Clone, PartialEq)]
pub struct RunSummary {
    /// The folder of the run.
    pub folder: PathBuf,
    /// The id of the lab.
    pub lab: String,
    /// The preset that it began with; empty if none.
    pub preset: String,
    /// The seed of the run.
    pub seed: u64,
    /// Newest recorded step.
    pub steps: u64,
    /// Number of training steps of the whole run.
    pub total_steps: u64,
    /// The local time of the start: "2026-01-31 14:25".
    pub when: String,
    /// The same in seconds since 1970, to sort by.
    pub began: i64,
}

/// The runs in `folder`, newest first. A missing folder has none; what is not a run is passed over.
pub fn list(folder: &Path) -> Result<Vec<RunSummary>, StoreError> {
    if !folder.exists() {
        return Ok(vec![]);
    }
    let mut runs: Vec<RunSummary> = fs::read_dir(folder)
        .at("list the runs in", folder)?
        .flatten()
        .filter(|e| !e.file_name().to_string_lossy().starts_with('.'))
        .map(|e| e.path())
        .filter(|p| p.join(RUN).is_file() || p.join(CONFIG).is_file())
        .filter_map(|p| summary(&p).ok())
        .collect();
    runs.sort_by(|a, b| (b.began, &b.folder).cmp(&(a.began, &a.folder)));
    Ok(runs)
}

/// One run folder in short.
pub fn summary(folder: &Path) -> Result<RunSummary, StoreError> {
    let Description { info, started_at, .. } = description::describe(folder)?;
    let began = began(folder, started_at.as_deref());
    Ok(RunSummary {
        folder: folder.to_owned(),
        lab: info.lab,
        preset: info.config.preset,
        seed: info.config.seed,
        steps: last_step(folder).unwrap_or(0),
        total_steps: info.total_steps,
        when: local_text(began),
        began: began.as_second(),
    })
}

/// From run.json, or else the time the folder was last changed.
pub(super) fn began(folder: &Path, started_at: Option<&str>) -> jiff::Timestamp {
    started_at
        .and_then(|text| text.parse().ok())
        .or_else(|| fs::metadata(folder).and_then(|m| m.modified()).ok().and_then(|t| t.try_into().ok()))
        .unwrap_or(jiff::Timestamp::UNIX_EPOCH)
}

/// "2026-01-31 14:25", in the time of this place.
pub fn local_text(t: jiff::Timestamp) -> String {
    t.to_zoned(jiff::tz::TimeZone::system()).strftime("%Y-%m-%d %H:%M").to_string()
}

/// Reads the newest step from the last lines of the metrics; the last one may be cut off.
fn last_step(folder: &Path) -> Option<u64> {
    const TAIL: u64 = 64 * 1024;
    let mut file = open_inside(folder, METRICS).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL))).ok()?;
    let mut tail = vec![];
    file.take(TAIL).read_to_end(&mut tail).ok()?;
    tail.rsplit(|b| *b == b'\n').find_map(|line| serde_json::from_slice::<MetricsIn>(line).ok()).map(|m| m.step)
}
