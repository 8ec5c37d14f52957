//! Past runs in a folder, for a list to choose from. Reads the head and the tail of each, not the
//! whole.

use std::{
    fs,
    io::{BufRead, BufReader, Read},
    time::SystemTime,
};

use super::{
    checkpoint,
    description::{self, Description},
    lock::is_being_written,
    prelude::*,
    record::{MetricsRecord, event_from_line},
    run_index::run_folders,
};
use crate::files::read_end_inside;

/// Bytes at the end of a log that hold its last lines; the first and the last of them may be cut off.
const TAIL_BYTES: u64 = 64 << 10;
/// Bytes of the first line of a log; of a longer one the time is not read.
const MAX_FIRST_LINE: u64 = 64 << 10;

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
    /// The time of the start in seconds since 1970, to sort by.
    pub began: i64,
}

/// An end that no event announced: the process was killed, or the machine stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interruption {
    /// The local time of the last line: "yesterday 14:03".
    pub when: String,
    /// The step of the newest checkpoint; `None` where there is none.
    pub checkpoint: Option<u64>,
}

/// The interruption of a run; `None` if its end is recorded, or if it is being written.
pub fn interruption(folder: &Path) -> Option<Interruption> {
    if is_being_written(folder) || has_ended(folder) {
        return None;
    }
    let last = last_change(folder)?;
    let here = |t: jiff::Timestamp| t.to_zoned(jiff::tz::TimeZone::system());
    let (last, now) = (here(last.try_into().ok()?), here(jiff::Timestamp::now()));
    Some(Interruption { when: day_and_time(&last, now.date()), checkpoint: checkpoint::newest_step(folder) })
}

/// The time at which a log of the run was last written; `None` if the run has no logs.
pub fn last_change(folder: &Path) -> Option<SystemTime> {
    let changed = |log: &&str| fs::metadata(folder.join(log)).and_then(|m| m.modified()).ok();
    [METRICS, SAMPLES, EVENTS].iter().filter_map(changed).max()
}

/// True if the last recorded state of a run is one from which it does not continue by itself.
pub fn has_ended(folder: &Path) -> bool {
    matches!(last_state(folder), Some(RunState::Finished | RunState::Stopped | RunState::Failed { .. }))
}

/// True if the last recorded state of a run is that all of its steps are done.
pub fn has_finished(folder: &Path) -> bool {
    last_state(folder) == Some(RunState::Finished)
}

fn last_state(folder: &Path) -> Option<RunState> {
    let state = |line: &[u8]| match event_from_line(line) {
        Ok(Some((_, Event::State(state)))) => Some(state),
        _ => None,
    };
    let tail = read_end_inside(folder, EVENTS, TAIL_BYTES).unwrap_or_default();
    tail.rsplit(|b| *b == b'\n').find_map(state)
}

/// "today 14:03", "yesterday 14:03" or "2026-01-31 14:03".
fn day_and_time(t: &jiff::Zoned, today: jiff::civil::Date) -> String {
    let day = match t.date() {
        day if day == today => "today".to_owned(),
        day if today.yesterday().is_ok_and(|yesterday| day == yesterday) => "yesterday".to_owned(),
        day => day.to_string(),
    };
    format!("{day} {}", t.strftime("%H:%M"))
}

/// The runs in `folder`, newest first. A missing folder has none; whatever is not a run is skipped.
pub fn list(folder: &Path) -> Result<Vec<RunSummary>, StoreError> {
    let summaries = run_folders(folder)?.into_iter().map(|name| summary(&folder.join(name)));
    let mut runs: Vec<RunSummary> = summaries.flatten().collect();
    runs.sort_by(|a, b| (b.began, &b.folder).cmp(&(a.began, &a.folder)));
    Ok(runs)
}

/// The summary of a run folder.
pub fn summary(folder: &Path) -> Result<RunSummary, StoreError> {
    let Description { info, started_at, .. } = description::describe(folder)?;
    let began = start_time(folder, started_at.as_deref());
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

/// The start time in run.json, or else that of the first event, or at which the folder was last changed.
pub(super) fn start_time(folder: &Path, started_at: Option<&str>) -> jiff::Timestamp {
    started_at
        .and_then(|text| text.parse().ok())
        .or_else(|| first_event_time(folder))
        .or_else(|| fs::metadata(folder).and_then(|m| m.modified()).ok().and_then(|t| t.try_into().ok()))
        .unwrap_or(jiff::Timestamp::UNIX_EPOCH)
}

fn first_event_time(folder: &Path) -> Option<jiff::Timestamp> {
    let mut line = vec![];
    BufReader::new(open_inside(folder, EVENTS).ok()?).take(MAX_FIRST_LINE).read_until(b'\n', &mut line).ok()?;
    let event: serde_json::Value = serde_json::from_slice(&line).ok()?;
    event.get("at")?.as_str()?.parse().ok()
}

/// "2026-01-31 14:25", in the time of this place.
pub fn local_text(t: jiff::Timestamp) -> String {
    t.to_zoned(jiff::tz::TimeZone::system()).strftime("%Y-%m-%d %H:%M").to_string()
}

/// Reads the newest step from the last lines of the metrics.
fn last_step(folder: &Path) -> Option<u64> {
    let tail = read_end_inside(folder, METRICS, TAIL_BYTES).ok()?;
    tail.rsplit(|b| *b == b'\n').find_map(|line| serde_json::from_slice::<MetricsRecord>(line).ok()).map(|m| m.step)
}

#[cfg(test)]
mod tests {
    use jiff::{civil::date, tz::TimeZone};

    use super::*;

    #[test]
    fn recent_days_are_shown_as_today_and_yesterday() {
        let at = date(2026, 3, 1).at(14, 3, 0, 0).to_zoned(TimeZone::UTC).unwrap();
        assert_eq!(day_and_time(&at, date(2026, 3, 1)), "today 14:03");
        assert_eq!(day_and_time(&at, date(2026, 3, 2)), "yesterday 14:03");
        assert_eq!(day_and_time(&at, date(2026, 3, 3)), "2026-03-01 14:03");
    }
}
