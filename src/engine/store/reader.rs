//! Opens a run folder and tells it again: the events in order, line by line, whatever the size.
//!
//! A folder may have lost something: a line cut short by a crash, a file, its description. Each is a
//! notice that names the file and the line, and everything else is told.

use std::{
    collections::{HashMap, VecDeque},
    fmt,
    io::{self, BufRead, BufReader, Cursor, Read},
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    StoreError, checkpoint,
    description::{Description, describe},
    error::At,
    names::{EVENTS, METRICS, RUN, SAMPLES},
    packed::{PackedRun, unpack},
    record::{self, MetricsIn, SampleIn, VariantRef},
};
use crate::{
    files::{check_memory, memory::size, open_inside, reading_budget},
    telemetry::{Channel, Event, Level, Payload, RunInfo, RunState, Sample, StepStats},
};

/// A longer line of steps or events than this is not one of ours, and is passed over without being held in memory.
const LONGEST_LINE: u64 = 4 << 20;
/// The limit of a measurement's line in bytes, which may hold many thousand numbers.
const LONGEST_SAMPLE: u64 = 512 << 20;
/// The memory for a parsed measurement, at most so many times the bytes of its line.
const SAMPLE_GROWTH: u64 = 16;
/// Same as [`SAMPLE_GROWTH`], for an unknown channel, which is kept as it was read.
const UNKNOWN_GROWTH: u64 = 128;
/// No run has more channels.
const MAX_CHANNELS: usize = 1 << 14;
/// Bad lines of one file that are told of one by one.
const TOLD: u64 = 5;

/// Sentences that a [`Damage`] shows.
const SHOWN: usize = 3;

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
        let shown = &self.0[..self.0.len().min(SHOWN)];
        f.write_str(&shown.join("; "))?;
        match self.0.len() - shown.len() {
            0 => Ok(()),
            more => write!(f, "; and {more} more"),
        }
    }
}

/// The events of a run folder, in order: its start, then steps, samples and what happened, merged by
/// step.
pub struct Reader {
    start: VecDeque<Event>,
    notices: VecDeque<Event>,
    names: NameTable,
    /// Steps, samples, happenings: of equal steps the earlier kind is told first.
    feeds: [LogFile; 3],
    end: Option<RunEnd>,
}

/// The facts that only the end of the logs tells.
#[derive(Default)]
struct RunEnd {
    step: u64,
    state: Option<RunState>,
    checkpoint: Option<u64>,
}

impl Reader {
    /// Errors only if this is not a run folder at all.
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        let description = describe(folder)?;
        let has_typed_samples = description.has_typed_samples();
        let Description { mut info, notices, .. } = description;
        info.folder = Some(folder.display().to_string());
        let names = NameTable::new(&info);
        let mut reader = Self {
            start: [Event::Started(Arc::new(info))].into(),
            notices: notices.into_iter().map(warning).collect(),
            names,
            feeds: [
                LogFile::new(folder, METRICS, "the curves", parse_metrics),
                match has_typed_samples {
                    true => LogFile::new(folder, SAMPLES, "everything but the curves", parse_sample),
                    false => LogFile::without_file(folder, SAMPLES, parse_sample),
                },
                LogFile::new(folder, EVENTS, "what happened (pauses, changed settings)", parse_event),
            ],
            end: Some(RunEnd::default()),
        };
        reader.notices.extend(reader.feeds.iter().flat_map(|feed| feed.damage.clone()).map(warning));
        Ok(reader)
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
                LogFile::from_bytes(METRICS, metrics, parse_metrics),
                LogFile::from_bytes(SAMPLES, samples, parse_sample),
                LogFile::from_bytes(EVENTS, events, parse_event),
            ],
            end: None,
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
    /// If the system refuses to read a part of it. What was lost or damaged is no error: its notices are among the
    /// events too.
    pub fn read_through(mut self, mut each: impl FnMut(Event)) -> Result<Damage, StoreError> {
        self.by_ref().for_each(&mut each);
        let mut damage = Damage::default();
        for feed in self.feeds {
            damage.0.extend(feed.damage);
            if let Some(failure) = feed.failure {
                return Err(failure);
            }
        }
        Ok(damage)
    }

    fn note(&mut self, event: &Event) {
        let Some(end) = &mut self.end else { return };
        match event {
            Event::Step(s) => end.step = end.step.max(s.step),
            Event::State(s) => end.state = Some(s.clone()),
            Event::Checkpoint { step } => end.checkpoint = Some(*step),
            _ => {}
        }
    }

    /// Words about a run that did not end by itself, once.
    fn closing(&mut self) -> Option<Event> {
        let end = self.end.take()?;
        let folder = self.feeds[0].folder.clone();
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
        let ended = matches!(end.state, Some(RunState::Finished | RunState::Stopped | RunState::Failed { .. }));
        if !ended && end.step > 0 {
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
        for feed in &mut self.feeds {
            feed.fill(&mut self.names, &mut self.notices);
        }
        if let Some(notice) = self.notices.pop_front() {
            return Some(notice);
        }
        let first =
            self.feeds.iter().enumerate().filter_map(|(i, f)| f.head.as_ref().map(|(step, _)| (*step, i))).min();
        let Some((_, i)) = first else { return self.closing() };
        let (_, event) = self.feeds[i].head.take()?;
        self.note(&event);
        Some(event)
    }
}

fn warning(text: String) -> Event {
    Event::Notice { level: Level::Warning, text }
}

/// Variants' ids to indices; channels' names shared between lines.
struct NameTable {
    variants: HashMap<String, usize>,
    channels: HashMap<String, Channel>,
    /// Channels of the measurements that are wanted; all, if none are named.
    measurements: Option<Vec<&'static str>>,
}

impl NameTable {
    fn new(info: &RunInfo) -> Self {
        let variants = info.variants.iter().enumerate().map(|(i, v)| (v.id.clone(), i)).collect();
        Self { variants, channels: HashMap::new(), measurements: None }
    }

    fn wants(&self, channel: &str) -> bool {
        self.measurements.as_ref().is_none_or(|wanted| wanted.contains(&channel))
    }

    fn variant(&self, v: VariantRef) -> Result<usize, String> {
        match v {
            VariantRef::Index(i) => Ok(i),
            VariantRef::Id(id) => self
                .variants
                .get(&id)
                .copied()
                .or_else(|| id.parse().ok())
                .ok_or_else(|| format!("its variant `{id}` is not one that {RUN} names")),
        }
    }

    fn channel(&mut self, name: String) -> Result<Channel, String> {
        if self.channels.len() >= MAX_CHANNELS && !self.channels.contains_key(&name) {
            return Err(format!("the run has more than {MAX_CHANNELS} channels, more than any run records"));
        }
        Ok(self.channels.entry(name).or_insert_with_key(|n| Channel::new(n)).clone())
    }
}

type Parsed = Result<Option<(u64, Event)>, String>;

fn parse_metrics(line: &[u8], names: &mut NameTable) -> Parsed {
    let m: MetricsIn = serde_json::from_slice(line).map_err(|e| e.to_string())?;
    let variant = names.variant(m.variant)?;
    let scalars = m.scalars.into_iter().map(|(name, v)| Ok((names.channel(name)?, v)));
    let scalars = scalars.collect::<Result<_, String>>()?;
    Ok(Some((m.step, Event::Step(StepStats { step: m.step, variant, scalars, wall_secs: m.wall_secs }))))
}

fn parse_sample(line: &[u8], names: &mut NameTable) -> Parsed {
    let s: SampleIn = serde_json::from_slice(line).map_err(|e| e.to_string())?;
    if !names.wants(&s.channel) {
        return Ok(None);
    }
    let variant = names.variant(s.variant)?;
    let channel = names.channel(s.channel)?;
    let growth = if Payload::is_known(channel.as_str()) { SAMPLE_GROWTH } else { UNKNOWN_GROWTH };
    check_memory(growth * line.len() as u64).map_err(|e| format!("channel `{channel}`: {e}"))?;
    let payload = Payload::decode_line(channel.as_str(), line).map_err(|e| format!("channel `{channel}`: {e}"))?;
    let payload = Arc::new(payload);
    let sample =
        Sample { step: s.step, variant, channel, about: s.about, tokens: s.tokens, request: s.request, payload };
    Ok(Some((s.step, Event::Sample(sample))))
}

fn parse_event(line: &[u8], _: &mut NameTable) -> Parsed {
    record::event_in(line).map_err(|e| e.to_string())
}

/// One log, with its next event at hand.
struct LogFile {
    folder: PathBuf,
    name: &'static str,
    file: Option<Box<dyn BufRead + Send>>,
    line_number: u64,
    bad: u64,
    parse: fn(&[u8], &mut NameTable) -> Parsed,
    head: Option<(u64, Event)>,
    line: Vec<u8>,
    /// The sentences about what is lost.
    damage: Vec<String>,
    /// The reason why the rest of it could not be read, if the system refused.
    failure: Option<StoreError>,
}

impl LogFile {
    fn new(folder: &Path, name: &'static str, holds: &str, parse: fn(&[u8], &mut NameTable) -> Parsed) -> Self {
        let mut feed = Self::without_file(folder, name, parse);
        match open_inside(folder, name) {
            Ok(file) => feed.file = Some(Box::new(BufReader::with_capacity(1 << 16, file))),
            Err(e) => {
                feed.damage.push(format!("{name} cannot be opened ({e}): the run is shown without {holds}"));
                // A log that is not there is a loss that the notice tells of; one that cannot be read is there.
                if !e.is_missing() {
                    feed.failure = Err::<(), _>(e).at("read", &folder.join(name)).err();
                }
            }
        }
        feed
    }

    /// A log that is in memory.
    fn from_bytes(name: &'static str, bytes: Vec<u8>, parse: fn(&[u8], &mut NameTable) -> Parsed) -> Self {
        let log = Self::without_file(Path::new(""), name, parse);
        Self { file: Some(Box::new(Cursor::new(bytes))), ..log }
    }

    /// A log that is not read.
    fn without_file(folder: &Path, name: &'static str, parse: fn(&[u8], &mut NameTable) -> Parsed) -> Self {
        Self {
            folder: folder.to_owned(),
            name,
            file: None,
            line_number: 0,
            bad: 0,
            parse,
            head: None,
            line: vec![],
            damage: vec![],
            failure: None,
        }
    }

    fn fill(&mut self, names: &mut NameTable, notices: &mut VecDeque<Event>) {
        while self.head.is_none() && self.file.is_some() {
            match self.next_line() {
                Ok(Line::RunEnd) => {
                    self.file = None;
                    if self.bad > TOLD {
                        self.lose(format!("{}: {} lines could not be read", self.name, self.bad), notices);
                    }
                }
                Ok(Line::Whole { ended }) => self.take_line(ended, names, notices),
                Ok(Line::TooLong) => {
                    let limit = size(longest(self.name));
                    self.skip(
                        &format!("it is longer than {limit}, the most that is read of a line of this file"),
                        notices,
                    );
                }
                Err(e) => {
                    let words = format!("{} cannot be read beyond line {}: {e}", self.name, self.line_number);
                    self.lose(words, notices);
                    self.file = None;
                    self.failure = Some(StoreError::io("read", &self.folder.join(self.name), e));
                }
            }
        }
    }

    fn take_line(&mut self, ended: bool, names: &mut NameTable, notices: &mut VecDeque<Event>) {
        let line = self.line.trim_ascii();
        if line.is_empty() {
            return;
        }
        match (self.parse)(line, names) {
            Ok(head) => self.head = head,
            Err(_) if !ended => {
                self.skip("the last line is cut short (the run was interrupted while writing it)", notices)
            }
            Err(e) => self.skip(&e, notices),
        }
    }

    fn skip(&mut self, why: &str, notices: &mut VecDeque<Event>) {
        self.bad += 1;
        if self.bad <= TOLD {
            self.lose(format!("{} line {} is passed over: {why}", self.name, self.line_number), notices);
        }
    }

    /// Notes that something is lost, and says so.
    fn lose(&mut self, words: String, notices: &mut VecDeque<Event>) {
        self.damage.push(words.clone());
        notices.push_back(warning(words));
    }

    fn next_line(&mut self) -> io::Result<Line> {
        self.line.clear();
        self.line.shrink_to(1 << 20);
        let Some(file) = &mut self.file else { return Ok(Line::RunEnd) };
        let is_ended = |line: &[u8]| line.last() == Some(&b'\n');
        let mut most = LONGEST_LINE;
        let mut n = file.by_ref().take(most).read_until(b'\n', &mut self.line)? as u64;
        if n == most && !is_ended(&self.line) {
            // How much memory is free is asked for long lines alone.
            most = longest(self.name);
            n += file.by_ref().take(most - n).read_until(b'\n', &mut self.line)? as u64;
        }
        if n == 0 {
            return Ok(Line::RunEnd);
        }
        self.line_number += 1;
        let ended = is_ended(&self.line);
        if !ended && n == most {
            skip_line(file)?;
            return Ok(Line::TooLong);
        }
        Ok(Line::Whole { ended })
    }
}

/// Bytes of a line that are held in memory; fewer where there is little of it.
fn longest(log: &str) -> u64 {
    match log {
        SAMPLES => LONGEST_SAMPLE.min(reading_budget() / SAMPLE_GROWTH).max(LONGEST_LINE),
        _ => LONGEST_LINE,
    }
}

enum Line {
    Whole { ended: bool },
    TooLong,
    RunEnd,
}

/// Reads on to the next line without keeping anything.
fn skip_line(file: &mut impl BufRead) -> io::Result<()> {
    loop {
        let chunk = file.fill_buf()?;
        if chunk.is_empty() {
            return Ok(());
        }
        let (used, done) = match chunk.iter().position(|b| *b == b'\n') {
            Some(i) => (i + 1, true),
            None => (chunk.len(), false),
        };
        file.consume(used);
        if done {
            return Ok(());
        }
    }
}
