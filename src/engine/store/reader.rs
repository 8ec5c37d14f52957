//! Opens a run folder and replays it: the events in order, line by line, whatever the size.
//!
//! A folder may have lost something: a line cut short by a crash, a file, its description. Each loss
//! becomes a notice that names the file and the line, and everything else is replayed.

mod lines;
mod log;

use std::{collections::VecDeque, fmt, path::Path, sync::Arc};

use super::{
    Lengths, StoreError, checkpoint,
    description::{Description, DescriptionStamp, describe},
    error::truncated_message,
    names::{CONFIG, METRICS, RUN},
    packed::{PackedRun, unpack},
    run_index::modified_and_length,
};
use crate::telemetry::{Event, FOREIGN, Level, RunInfo, RunState};
use log::{EVENTS_LOG, LogFile, LogKind, METRICS_LOG, NameTable, SAMPLES_LOG};

/// A longer line of steps or events is not written by Orrery and is skipped without being held in memory.
const LONGEST_LINE: u64 = 4 << 20;
/// The limit of a measurement's line in bytes, which may hold many thousand numbers.
const LONGEST_SAMPLE: u64 = 512 << 20;
/// The memory for a parsed measurement, at most this many times the bytes of its line.
const SAMPLE_GROWTH: u64 = 16;
/// Same as [`SAMPLE_GROWTH`], for an unknown channel, which is kept as it was read.
const UNKNOWN_GROWTH: u64 = 128;
/// No run has more channels.
pub(super) const MAX_CHANNELS: usize = 1 << 14;
/// The number of bad lines of a file that are reported one by one.
const MAX_REPORTED_LINES: u64 = 5;

/// Sentences that a [`Damage`] shows.
const MAX_SHOWN: usize = 3;

/// The parts of a record that could not be read, a sentence each; empty if the record is whole.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[must_use]
pub struct Damage(pub Vec<String>);

impl Damage {
    /// True if nothing was lost.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = &self.0[..self.0.len().min(MAX_SHOWN)];
        f.write_str(&shown.join("; "))?;
        match self.0.len() - shown.len() {
            0 => Ok(()),
            more => write!(f, "; and {more} more"),
        }
    }
}

/// The events of a run folder, in order: its start, then steps, samples and other events, merged by step. In a folder that
/// is followed ([`Reader::follow`]), more may come after the last.
pub struct Reader {
    start: VecDeque<Event>,
    notices: VecDeque<Event>,
    names: NameTable,
    /// Steps, samples and events; at equal steps the earlier kind in this list is sent first.
    feeds: [LogFile; 3],
    end: Option<RunEnd>,
    followed: Option<ReadDescription>,
    /// The lost parts of the description.
    damage: Damage,
}

/// The facts that are known only at the end of the logs.
#[derive(Default)]
struct RunEnd {
    step: u64,
    state: Option<RunState>,
    /// The step at which that state was recorded.
    state_step: u64,
    checkpoint: Option<u64>,
}

impl RunEnd {
    /// True if the run does not continue by itself.
    fn is_recorded(&self) -> bool {
        matches!(self.state, Some(RunState::Finished | RunState::Stopped | RunState::Failed { .. }))
    }
}

/// The description of a followed folder as it was last read.
struct ReadDescription {
    stamp: DescriptionStamp,
    info: Arc<RunInfo>,
}

/// The state in which a followed folder was found.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs, reason = "the docs of the variants name their fields")]
pub enum FolderStatus {
    /// It is the same folder; it may have grown, and its description may say more.
    Same,
    /// The folder is incomplete at the moment, as while a copy is put in place. The message names the file that is missing
    /// or cannot be read.
    Missing { why: String },
    /// Another run is there, or the same one was cut: it is to be read from its beginning.
    Replaced,
}

impl Reader {
    /// Errors only if this is not a run folder at all.
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        let description = describe(folder)?;
        let may_lack = description.info.lab == FOREIGN;
        // before the logs are opened: they only grow after it
        let recorded = checkpoint::newest_lengths(folder);
        let mut reader = Self::described(folder, description, |kind| LogFile::open(folder, kind, may_lack));
        if let Some((step, Lengths { metrics, samples, events })) = recorded {
            let lengths = [metrics, samples, events];
            let is_short = |(feed, written): (&LogFile, u64)| feed.length.is_some_and(|length| length < written);
            // a run that is being resumed has put checkpoints aside before it cuts its logs
            if reader.feeds.iter().zip(lengths).any(is_short) && checkpoint::newest_lengths(folder) == recorded {
                reader.feeds.iter_mut().zip(lengths).for_each(|(feed, written)| feed.check_length(step, written));
            }
        }
        reader.notices.extend(reader.feeds.iter().flat_map(|feed| feed.damage.clone()).map(warning));
        Ok(reader)
    }

    /// Opens a run folder that may still be written: reads the current content, and after each [`Reader::poll`] what
    /// was appended since. A line without its end waits for the rest.
    pub fn follow(folder: &Path) -> Result<Self, StoreError> {
        let stamp = DescriptionStamp::read(folder);
        let mut reader = Self::described(folder, describe(folder)?, |kind| LogFile::unopened(folder, kind, true));
        reader.followed = reader.info().map(|info| ReadDescription { stamp, info });
        reader.poll()?;
        Ok(reader)
    }

    /// A reader of a folder with a description, whose logs are opened by `open`.
    fn described(folder: &Path, description: Description, open: impl Fn(LogKind) -> LogFile) -> Self {
        let has_typed_samples = description.has_typed_samples();
        let Description { mut info, notices, damage, .. } = description;
        info.folder = Some(folder.display().to_string());
        Self {
            names: NameTable::new(&info),
            start: [Event::Started(Arc::new(info))].into(),
            notices: notices.into_iter().chain(damage.clone()).map(warning).collect(),
            feeds: [METRICS_LOG, SAMPLES_LOG, EVENTS_LOG].map(|kind| {
                match has_typed_samples || kind.name != SAMPLES_LOG.name {
                    true => open(kind),
                    false => LogFile::unopened(folder, kind, false),
                }
            }),
            end: Some(RunEnd::default()),
            followed: None,
            damage: Damage(damage),
        }
    }

    /// Checks a followed folder again; what was appended is read next, after a description that has changed. No file
    /// stays open in between, so that it works on network file systems too.
    ///
    /// # Errors
    /// If the system refuses to read a file of it, or there is something else in its place.
    pub fn poll(&mut self) -> Result<FolderStatus, StoreError> {
        let Some(followed) = &self.followed else { return Ok(FolderStatus::Same) };
        let folder = self.feeds[0].folder.clone();
        let stamp = DescriptionStamp::read(&folder);
        if stamp.is_missing() {
            return Ok(FolderStatus::Missing { why: format!("it has neither {RUN} nor {CONFIG}") });
        }
        let mut described = None;
        // without a description the variants are those whose lines were there
        if stamp != followed.stamp || self.names.has_unknown_variant {
            // a description that is still being written is tried again at the next poll
            let mut info = match describe(&folder) {
                Ok(description) => description.info,
                Err(e) => return Ok(FolderStatus::Missing { why: e.to_string() }),
            };
            info.folder.clone_from(&followed.info.folder);
            if info.lab != followed.info.lab || info.variant_ids() != followed.info.variant_ids() {
                return Ok(FolderStatus::Replaced);
            }
            described = Some(info);
        }
        let mut found = FolderStatus::Same;
        for feed in &mut self.feeds {
            match feed.poll()? {
                FolderStatus::Replaced => return Ok(FolderStatus::Replaced),
                FolderStatus::Missing { why } => found = FolderStatus::Missing { why },
                FolderStatus::Same => {}
            }
        }
        // the logs are those that were read so far, so the description is one of the same run
        if let (FolderStatus::Same, Some(info)) = (&found, described) {
            self.take_description(stamp, info);
        }
        Ok(found)
    }

    /// Takes over the description that the files of this stamp hold, and emits it if it has changed.
    fn take_description(&mut self, stamp: DescriptionStamp, info: RunInfo) {
        self.names.has_unknown_variant = false;
        let Some(followed) = &mut self.followed else { return };
        followed.stamp = stamp;
        if info != *followed.info {
            followed.info = Arc::new(info);
            self.start.push_back(Event::Described(Arc::clone(&followed.info)));
        }
    }

    /// The state that was recorded last of what was read so far.
    pub fn recorded_state(&self) -> Option<&RunState> {
        self.end.as_ref()?.state.as_ref()
    }

    /// True if the run that was read so far has an end on record.
    pub fn has_ended(&self) -> bool {
        self.end.as_ref().is_some_and(RunEnd::is_recorded)
    }

    /// True if that end is a failure.
    pub fn has_failed(&self) -> bool {
        self.end.as_ref().is_some_and(|end| matches!(end.state, Some(RunState::Failed { .. })))
    }

    /// Stops following: events that only the end of a record gives, such as an interruption, are sent next.
    pub fn end_following(&mut self) {
        self.followed = None;
    }

    /// Reads a packed run folder, which holds no checkpoints: `scripts/examples` packs them.
    ///
    /// # Errors
    /// If these are not the bytes of one, or of one of an earlier or later format.
    pub fn packed(bytes: &[u8]) -> Result<Self, StoreError> {
        let PackedRun { info, metrics, samples, events } = unpack(bytes)?;
        Ok(Self {
            names: NameTable::new(&info),
            start: [Event::Started(Arc::new(info))].into(),
            notices: VecDeque::new(),
            feeds: [
                LogFile::from_bytes(METRICS_LOG, metrics),
                LogFile::from_bytes(SAMPLES_LOG, samples),
                LogFile::from_bytes(EVENTS_LOG, events),
            ],
            end: None,
            followed: None,
            damage: Damage::default(),
        })
    }

    /// Reads the measurements of these channels alone, which is much faster where others are large.
    pub fn only(mut self, measurements: Vec<&'static str>) -> Self {
        self.names.measurements = Some(measurements);
        self
    }

    /// The description of the run.
    pub fn info(&self) -> Option<Arc<RunInfo>> {
        self.start.iter().find_map(|e| if let Event::Started(info) = e { Some(info.clone()) } else { None })
    }

    /// Reads to the end and hands every event to `each`; says what of it is lost or damaged on the disk.
    ///
    /// # Errors
    /// If the system refuses to read a part of it. What was lost or damaged is not an error: its notices are among the
    /// events too.
    pub fn read_through(mut self, mut each: impl FnMut(Event)) -> Result<Damage, StoreError> {
        self.by_ref().for_each(&mut each);
        let mut damage = self.damage;
        for feed in self.feeds {
            damage.0.extend(feed.damage);
            if let Some(failure) = feed.failure {
                return Err(failure);
            }
        }
        Ok(damage)
    }

    fn note(&mut self, step: u64, event: &Event) {
        let Some(end) = &mut self.end else { return };
        match event {
            Event::Step(s) => end.step = end.step.max(s.step),
            Event::State(s) => (end.state, end.state_step) = (Some(s.clone()), step),
            Event::Checkpoint { step } => end.checkpoint = Some(*step),
            _ => {}
        }
    }

    /// Words about a run that did not end by itself, or whose curves end before it did, once.
    fn end_notice(&mut self) -> Option<Event> {
        let end = self.end.take()?;
        if end.is_recorded() {
            self.feeds.iter_mut().for_each(LogFile::record_torn_line);
        }
        let folder = self.feeds[0].folder.clone();
        let metrics = &mut self.feeds[0];
        let is_early = end.state == Some(RunState::Finished) && end.step < end.state_step;
        // a log that has grown meanwhile may hold the rest, and a damaged one has reported why it ends early
        let is_complete = || metrics.length == Some(modified_and_length(&folder.join(METRICS)).1);
        if is_early && metrics.damage.is_empty() && is_complete() {
            let (last, finished) = (end.step, end.state_step);
            let words =
                format!("{METRICS} has lost lines: it ends at step {last}, and the run finished at step {finished}");
            metrics.warn_of_loss(words, &mut self.notices);
        }
        let resumable = match (end.checkpoint, checkpoint::latest(&folder)) {
            (Some(step), None) => {
                self.notices.push_back(warning(format!(
                    "the checkpoint of step {step} is no longer in `{}`: the run can be replayed, but resuming begins again at step 0",
                    folder.join("checkpoints").display()
                )));
                false
            }
            (_, found) => found.is_some(),
        };
        if !end.is_recorded() && end.step > 0 {
            let go_on = if resumable { "; it can be resumed from its last checkpoint" } else { "" };
            self.notices.push_back(Event::Notice {
                level: Level::Info,
                text: format!(
                    "no end is recorded after step {}: the run was interrupted, or still goes on{go_on}",
                    end.step
                ),
            });
        }
        self.notices.pop_front()
    }
}

impl Iterator for Reader {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        if let Some(e) = self.start.pop_front() {
            return Some(e);
        }
        self.feeds.iter_mut().for_each(|feed| feed.fill(&mut self.names, &mut self.notices));
        if let Some(notice) = self.notices.pop_front() {
            return Some(notice);
        }
        let first =
            self.feeds.iter().enumerate().filter_map(|(i, f)| f.head.as_ref().map(|(step, _)| (*step, i))).min();
        let Some((_, i)) = first else {
            return if self.followed.is_some() { None } else { self.end_notice() };
        };
        let (step, event) = self.feeds[i].head.take()?;
        self.note(step, &event);
        Some(event)
    }
}

fn warning(text: String) -> Event {
    Event::Notice { level: Level::Warning, text: truncated_message(text) }
}
