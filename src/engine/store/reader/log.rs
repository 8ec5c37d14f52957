//! One log of a run folder: its lines as events, and the sentences about lost parts.

use std::{collections::VecDeque, io::Cursor};

use super::{
    FolderStatus, MAX_CHANNELS, MAX_REPORTED_LINES, SAMPLE_GROWTH, StoreError, UNKNOWN_GROWTH,
    lines::{Line, Lines, longest},
    warning,
};
use crate::{
    config::json_error_message,
    store::{
        error::truncated_message,
        names::MAX_NAME,
        prelude::*,
        record::{self, MAX_STEP, MetricsRecord, SampleRecord, VariantRef},
    },
    telemetry::{Payload, StepStats},
};

/// Maps ids of variants to indices, and shares the names of channels between lines.
pub(super) struct NameTable {
    variants: HashMap<String, usize>,
    /// True if a line names a variant that is not among them.
    pub has_unknown_variant: bool,
    channels: HashMap<String, Channel>,
    /// Channels of the measurements that are wanted; all, if none are named.
    pub measurements: Option<Vec<&'static str>>,
}

impl NameTable {
    pub fn new(info: &RunInfo) -> Self {
        let variants = info.variants.iter().enumerate().map(|(i, v)| (v.id.clone(), i)).collect();
        Self { variants, has_unknown_variant: false, channels: HashMap::new(), measurements: None }
    }

    fn wants(&self, channel: &str) -> bool {
        self.measurements.as_ref().is_none_or(|wanted| wanted.contains(&channel))
    }

    fn variant(&mut self, v: VariantRef) -> Result<usize, String> {
        let id = match v {
            VariantRef::Index(i) => return Ok(i),
            VariantRef::Id(id) => id,
        };
        let known = self.variants.get(&id).copied().or_else(|| id.parse().ok());
        known.ok_or_else(|| {
            self.has_unknown_variant = true;
            format!("its variant `{id}` is not one that {RUN} names")
        })
    }

    fn channel(&mut self, name: String) -> Result<Channel, String> {
        let bytes = name.len();
        ensure!(bytes <= MAX_NAME, format!("the name of a channel has {bytes} bytes, and at most {MAX_NAME} are read"));
        let has_room = self.channels.len() < MAX_CHANNELS || self.channels.contains_key(&name);
        ensure!(has_room, format!("the run has more than {MAX_CHANNELS} channels, more than any run records"));
        Ok(self.channels.entry(name).or_insert_with_key(|n| Channel::new(n)).clone())
    }
}

/// The reason why a line is skipped if its step or the number of its question is too high.
fn limit_message(what: &str, number: u64) -> String {
    format!("its {what} is {number}, and at most {MAX_STEP} is read")
}

type Parsed = Result<Option<(u64, Event)>, String>;

fn parse_metrics(line: &[u8], names: &mut NameTable) -> Parsed {
    let m: MetricsRecord = serde_json::from_slice(line).map_err(|e| json_error_message(&e))?;
    let variant = names.variant(m.variant)?;
    let scalars = m.scalars.into_iter().map(|(name, v)| Ok((names.channel(name)?, v)));
    let scalars = scalars.collect::<Result<_, String>>()?;
    Ok(Some((m.step, Event::Step(StepStats { step: m.step, variant, scalars, wall_secs: m.wall_secs }))))
}

fn parse_sample(line: &[u8], names: &mut NameTable) -> Parsed {
    let s: SampleRecord = serde_json::from_slice(line).map_err(|e| json_error_message(&e))?;
    if !names.wants(&s.channel) {
        return Ok(None);
    }
    let request = s.request.unwrap_or(0);
    ensure!(request <= MAX_STEP, limit_message("request", request));
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
    let found = record::event_from_line(line).map_err(|e| json_error_message(&e))?;
    Ok(found.map(|(step, event)| match event {
        Event::Notice { level, text } => (step, Event::Notice { level, text: truncated_message(text) }),
        Event::State(RunState::Failed { message }) => {
            (step, Event::State(RunState::Failed { message: truncated_message(message) }))
        }
        event => (step, event),
    }))
}

/// A log with its next event read ahead.
pub(super) struct LogFile {
    pub folder: PathBuf,
    kind: LogKind,
    lines: Lines,
    bad: u64,
    /// The number of bad lines in the last report.
    bad_reported: u64,
    /// The bytes that the log had when it was opened, if it must be complete: later ones are not read.
    pub length: Option<u64>,
    pub head: Option<(u64, Event)>,
    /// Sentences about what could not be read, for the user.
    pub damage: Vec<String>,
    /// The sentence about a last line that is cut short, which is damage only in a run that recorded its end: any other was
    /// interrupted while it wrote the line (docs/protocol.md, rule 4).
    torn: Option<String>,
    /// The reason why the rest of it could not be read, if the system refused.
    pub failure: Option<StoreError>,
}

/// A log of a run folder: the name of its file and how its lines are read.
#[derive(Clone, Copy)]
pub(super) struct LogKind {
    pub name: &'static str,
    /// The content of the log, by which a message names what is lost with it, such as "the curves".
    pub contents: &'static str,
    pub parse: fn(&[u8], &mut NameTable) -> Parsed,
}

pub(super) const METRICS_LOG: LogKind = LogKind { name: METRICS, contents: "the curves", parse: parse_metrics };
pub(super) const SAMPLES_LOG: LogKind =
    LogKind { name: SAMPLES, contents: "everything but the curves", parse: parse_sample };
pub(super) const EVENTS_LOG: LogKind =
    LogKind { name: EVENTS, contents: "what happened (pauses, changed settings)", parse: parse_event };

impl LogFile {
    /// Opens the log of a folder. One that is missing is a loss, unless the run `may_lack` it or a part of it.
    pub fn open(folder: &Path, kind: LogKind, may_lack: bool) -> Self {
        let mut log = Self::unopened(folder, kind, false);
        match open_inside(folder, kind.name) {
            Ok(file) => {
                log.length = file.metadata().ok().filter(|_| !may_lack).map(|data| data.len());
                log.lines = Lines::from_file(file);
            }
            Err(e) if e.is_missing() && may_lack => {}
            Err(e) => {
                let (name, holds) = (kind.name, kind.contents);
                log.damage.push(format!("{name} cannot be opened ({e}): the run is shown without {holds}"));
                // A log that is absent is a loss that the notice mentions; one that cannot be read is not absent.
                if !e.is_missing() {
                    log.failure = Err::<(), _>(e).at("read", &folder.join(name)).err();
                }
            }
        }
        log
    }

    /// Records a loss if the log has fewer bytes than it had at the checkpoint of `step`.
    pub fn check_length(&mut self, step: u64, written: u64) {
        if let Some(length) = self.length.filter(|length| *length < written) {
            self.damage.push(format!(
                "{} has lost lines: it has {length} bytes, and had {written} at the checkpoint of step {step}",
                self.kind.name
            ));
        }
    }

    /// A log that is in memory.
    pub fn from_bytes(kind: LogKind, bytes: Vec<u8>) -> Self {
        Self::new(Path::new(""), kind, Lines::new(Some(Box::new(Cursor::new(bytes))), false))
    }

    /// A log that is not open: one that grows is opened by [`LogFile::poll`], any other is not read at all.
    pub fn unopened(folder: &Path, kind: LogKind, is_followed: bool) -> Self {
        Self::new(folder, kind, Lines::new(None, is_followed))
    }

    fn new(folder: &Path, kind: LogKind, lines: Lines) -> Self {
        Self {
            folder: folder.to_owned(),
            kind,
            lines,
            bad: 0,
            bad_reported: 0,
            length: None,
            head: None,
            damage: vec![],
            torn: None,
            failure: None,
        }
    }

    /// Looks at a log that grows, so that what was appended is read next.
    ///
    /// # Errors
    /// If there is something that is not a file, or the system refuses.
    pub fn poll(&mut self) -> Result<FolderStatus, StoreError> {
        if !self.lines.is_followed {
            return Ok(FolderStatus::Same);
        }
        match open_inside(&self.folder, self.kind.name) {
            Ok(file) => match self.lines.resume(file).at("read", &self.folder.join(self.kind.name))? {
                true => Ok(FolderStatus::Same),
                false => Ok(FolderStatus::Replaced),
            },
            Err(e) if e.is_missing() && self.lines.is_at_start() => Ok(FolderStatus::Same),
            Err(e) if e.is_missing() => Ok(FolderStatus::Missing { why: format!("{} is gone", self.kind.name) }),
            Err(e) => Err(e).at("read", &self.folder.join(self.kind.name)),
        }
    }

    pub fn fill(&mut self, names: &mut NameTable, notices: &mut VecDeque<Event>) {
        while self.head.is_none() && self.lines.is_open() {
            match self.lines.next(self.kind.name) {
                Ok(Line::End) => {
                    self.lines.close();
                    if self.bad > self.bad_reported.max(MAX_REPORTED_LINES) {
                        self.bad_reported = self.bad;
                        self.warn_of_loss(format!("{}: {} lines could not be read", self.kind.name, self.bad), notices);
                    }
                }
                Ok(Line::Whole { ended }) => self.take_line(ended, names, notices),
                Ok(Line::TooLong) => {
                    let limit = size(longest(self.kind.name));
                    self.skip_line(
                        &format!("it is longer than {limit}, the most that is read of a line of this file"),
                        notices,
                    );
                }
                Err(e) => {
                    let words = format!("{} cannot be read beyond line {}: {e}", self.kind.name, self.lines.number);
                    self.warn_of_loss(words, notices);
                    self.lines.close();
                    self.failure = Some(StoreError::io("read", &self.folder.join(self.kind.name), e));
                }
            }
        }
    }

    fn take_line(&mut self, ended: bool, names: &mut NameTable, notices: &mut VecDeque<Event>) {
        let line = self.lines.line.trim_ascii();
        if line.is_empty() {
            return;
        }
        match (self.kind.parse)(line, names) {
            Ok(Some((step, _))) if step > MAX_STEP => self.skip_line(&limit_message("step", step), notices),
            Ok(head) => self.head = head,
            Err(_) if !ended => {
                let why = "the last line is cut short (the run was interrupted while writing it)";
                let words = self.skipped_line_message(why);
                self.torn = Some(words.clone());
                notices.push_back(warning(words));
            }
            Err(e) => self.skip_line(&e, notices),
        }
    }

    fn skip_line(&mut self, why: &str, notices: &mut VecDeque<Event>) {
        self.bad += 1;
        if self.bad <= MAX_REPORTED_LINES {
            self.warn_of_loss(self.skipped_line_message(why), notices);
        }
    }

    fn skipped_line_message(&self, why: &str) -> String {
        format!("{} line {} is passed over: {why}", self.kind.name, self.lines.number)
    }

    /// Counts a last line that is cut short as damage.
    pub fn record_torn_line(&mut self) {
        self.damage.extend(self.torn.take());
    }

    /// Records that something is lost, and emits a notice.
    pub fn warn_of_loss(&mut self, words: String, notices: &mut VecDeque<Event>) {
        let words = truncated_message(words);
        self.damage.push(words.clone());
        notices.push_back(warning(words));
    }
}
