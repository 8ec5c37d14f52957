//! The sink that keeps a run: makes its folder at the first step, appends to its logs, writes its checkpoints.
//!
//! Looking at a lab leaves nothing on disk: until the first step, events wait in memory
//! (bounded). From then on each event is one `write` to the system, so a killed process loses
//! nothing, and nothing is forced to the disk except at a checkpoint and at the end: the worker does not wait.
//!
//! No failure is ignored: every error of the system is returned, and the caller then ends the run, so that a run that ends
//! well has a complete record.
//!
//! Answers to questions can come sixty times a second while a user drags a slider. Of those on the same channel and
//! variant, the newest in each second is kept, and always the last.

use std::{
    fs, io,
    sync::{Mutex, MutexGuard},
    time::{Duration, Instant},
};

use jiff::tz::TimeZone;

use super::{
    Checkpoint, Environment, Lengths, RunRecord, checkpoint,
    description::describe,
    listing,
    lock::{FolderLock, lock_folder},
    log_file::Log,
    names::{FIGURES, INCOMPLETE_PREFIX, MAX_RUN},
    prelude::*,
    record::{self, EventRecordRef, FORMAT, MetricsRecordRef, Resumed, SampleRecordRef, id_of},
    snapshots,
    superseded::Superseded,
};
use crate::{
    files::folder_beside,
    telemetry::{Level, Sink},
};

/// The largest number of events that wait for the first step, apart from samples, which replace each other.
const MAX_PENDING_EVENTS: usize = 1000;
/// The interval during which at most one answer on each channel is written.
const ANSWER_EVERY: Duration = Duration::from_secs(1);
/// Unfinished folders of processes that were killed are removed when they are older than this.
const ABANDONED_AGE: Duration = Duration::from_secs(3600);

/// A run folder being written. Cheap to clone: all clones write the same folder, so one can be a
/// sink while another writes checkpoints.
#[derive(Clone)]
pub struct Writer(Arc<Mutex<WriterState>>);

struct WriterState {
    place: FolderState,
    info: Option<Arc<RunInfo>>,
    waiting: Vec<Event>,
}

enum FolderState {
    /// The path of a folder that has not been created yet, and whether it is created as soon as the run is announced.
    Planned {
        out: PathBuf,
        at_once: bool,
    },
    Open(Box<OpenFolder>),
}

struct OpenFolder {
    path: PathBuf,
    metrics: Log,
    samples: Log,
    events: Log,
    /// The ids of the variants, by index.
    ids: Vec<String>,
    step: u64,
    /// Set until `Started` comes again after a resume.
    resumed_from: Option<u64>,
    superseded: Superseded,
    answers: HashMap<(Channel, usize), Answer>,
    lock: FolderLock,
}

struct Answer {
    written: Instant,
    pending: Option<Sample>,
}

impl Writer {
    /// Will make the run's folder in `out` at the first step.
    pub fn new(out: impl Into<PathBuf>) -> Self {
        Self::planned(out.into(), false)
    }

    /// Same as [`Writer::new`], but makes the folder at the run's first event: for a run without a window, which was
    /// started on purpose.
    pub fn at_once(out: impl Into<PathBuf>) -> Self {
        Self::planned(out.into(), true)
    }

    fn planned(out: PathBuf, at_once: bool) -> Self {
        Self::wrap(WriterState { place: FolderState::Planned { out, at_once }, info: None, waiting: vec![] })
    }

    fn wrap(inner: WriterState) -> Self {
        Self(Arc::new(Mutex::new(inner)))
    }

    /// Continues a run folder from one of its checkpoints, or from the beginning without one. Lines of the logs after that
    /// step move to `<name>.superseded.jsonl`, except for answers to questions about earlier steps, because training does
    /// not produce those again.
    pub fn resume(folder: &Path, from: Option<&Checkpoint>) -> Result<Self, StoreError> {
        let lock = lock_folder(folder)?;
        let description = describe(folder)?;
        if !description.has_typed_samples() {
            return Err(StoreError::new(format!(
                "`{}` is of format {}, and this version writes format {FORMAT}: go on with the version that wrote it, or run its config.toml again",
                folder.display(),
                description.format
            )));
        }
        for log in [METRICS, SAMPLES, EVENTS] {
            files::check_inside_to_write(folder, log).at("go on with", &folder.join(log))?;
        }
        let step = from.map(|c| c.step);
        let lengths = from.map_or_else(Lengths::default, |c| c.lengths);
        checkpoint::move_aside_after(folder, from)?;
        snapshots::remove_after(folder, step);
        [CHECKPOINTS, SNAPSHOTS].into_iter().try_for_each(|name| names::make_folder(folder, name))?;
        let mut open = OpenFolder::open_logs(folder.to_owned(), lock, lengths, step.unwrap_or(0))?;
        open.resumed_from = Some(open.step);
        let words = match step {
            Some(step) => {
                // The line that recorded this checkpoint was written after it, so that it was truncated with the rest.
                open.write(&Event::Checkpoint { step })?;
                format!("resumed from the checkpoint of step {step}")
            }
            None => "taken up again from the beginning: there was no checkpoint".to_owned(),
        };
        for text in std::iter::once(words).chain(open.superseded.words(&open.path)) {
            open.write(&Event::Notice { level: Level::Info, text })?;
        }
        // the description is written again, after which nothing else says that one was lost
        for lost in description.damage {
            let text = format!("resumed without its description: {lost}");
            open.write(&Event::Notice { level: Level::Warning, text })?;
        }
        Ok(Self::wrap(WriterState { place: FolderState::Open(Box::new(open)), info: None, waiting: vec![] }))
    }

    /// The records of later steps that the resume has removed and that training does not write again: answers to
    /// questions, and changes of settings. `None` if there were none.
    pub fn set_aside(&self) -> Option<String> {
        self.lock().opened().and_then(|open| open.superseded.words(&open.path))
    }

    /// A sentence where the file system of the folder has no locks, so that another process may write this run too.
    pub fn lock_warning(&self) -> Option<String> {
        self.lock().opened().and_then(|open| open.lock.warning.clone())
    }

    /// The run's folder, or `None` before it is created.
    pub fn folder(&self) -> Option<PathBuf> {
        self.lock().opened().map(|open| open.path.clone())
    }

    /// Writes a checkpoint with the lengths of the logs, and returns its path. To be called when everything up to its
    /// step has been sent to the writer; the caller then sends [`Event::Checkpoint`].
    pub fn checkpoint(&self, mut checkpoint: Checkpoint) -> Result<PathBuf, StoreError> {
        let mut inner = self.lock();
        let open = inner.open()?;
        checkpoint.lengths = open.sync()?;
        if !open.path.join(CHECKPOINTS).exists() {
            // Deleted by hand, if the run's folder is still this one.
            open.events.check_same_file()?;
            names::make_folder(&open.path, CHECKPOINTS)?;
        }
        // A folder that is gone is the reason, whatever could not be written in it first.
        checkpoint::save(&open.path, &checkpoint).map_err(|e| open.events.check_same_file().err().unwrap_or(e))
    }

    /// Makes the run's folder now, if it is not there: to be called before the first update, so that a run that
    /// cannot be recorded is not begun.
    ///
    /// # Errors
    /// If the folder cannot be made.
    pub fn begin(&self) -> Result<(), StoreError> {
        self.lock().open().map(|_| ())
    }

    /// Records one event.
    ///
    /// # Errors
    /// If the system refuses, or the folder is no longer where it was: then the record has ended, and the run
    /// must end too.
    pub fn record(&self, event: &Event) -> Result<(), StoreError> {
        self.lock().record(event)
    }

    /// Writes what is pending and forces the logs to the disk: the record is complete up to here.
    pub fn sync(&self) -> Result<(), StoreError> {
        match &mut self.lock().place {
            FolderState::Open(open) => open.sync().map(|_| ()),
            FolderState::Planned { .. } => Ok(()),
        }
    }

    fn lock(&self) -> MutexGuard<'_, WriterState> {
        self.0.lock().unwrap_or_else(|p| p.into_inner())
    }
}

impl Sink for Writer {
    fn event(&mut self, event: &Event) -> Result<(), String> {
        self.record(event).map_err(String::from)
    }
}

impl WriterState {
    fn opened(&self) -> Option<&OpenFolder> {
        match &self.place {
            FolderState::Open(open) => Some(open),
            FolderState::Planned { .. } => None,
        }
    }

    fn record(&mut self, event: &Event) -> Result<(), StoreError> {
        match (event, &self.place) {
            (
                Event::Described(_)
                | Event::Question { .. }
                | Event::Partial(_)
                | Event::Snapshots(_)
                | Event::Folder(_)
                | Event::Resumed { .. }
                | Event::Set { .. },
                _,
            ) => Ok(()),
            (Event::Started(info), place) => {
                self.info = Some(info.clone());
                match place {
                    FolderState::Planned { at_once: false, .. } => Ok(()),
                    FolderState::Planned { .. } => self.open().map(|_| ()),
                    FolderState::Open(_) => {
                        let info = info.clone();
                        self.open()?.restarted(&info)
                    }
                }
            }
            (Event::Step(_), _) | (_, FolderState::Open(_)) => self.open()?.write(event),
            _ => {
                self.queue_event(event);
                Ok(())
            }
        }
    }

    /// The folder, made now if need be; then what waited is written.
    fn open(&mut self) -> Result<&mut OpenFolder, StoreError> {
        if let FolderState::Planned { out, .. } = &self.place {
            let Some(info) = self.info.clone() else {
                return Err(StoreError::new("the run folder cannot be made: the run has not started"));
            };
            let mut open = OpenFolder::create(out, &info)?;
            for event in std::mem::take(&mut self.waiting) {
                open.write(&event)?;
            }
            self.place = FolderState::Open(Box::new(open));
        }
        match &mut self.place {
            FolderState::Open(open) => Ok(open),
            FolderState::Planned { .. } => Err(StoreError::new("the run folder is not open")),
        }
    }

    fn queue_event(&mut self, event: &Event) {
        match event {
            Event::Sample(new) => self.waiting.retain(|e| match e {
                Event::Sample(old) => {
                    (&old.channel, old.variant, old.request.is_some())
                        != (&new.channel, new.variant, new.request.is_some())
                }
                _ => true,
            }),
            _ if self.waiting.len() >= MAX_PENDING_EVENTS => {
                self.waiting.remove(0);
            }
            _ => {}
        }
        self.waiting.push(event.clone());
    }
}

impl OpenFolder {
    fn create(out: &Path, info: &RunInfo) -> Result<Self, StoreError> {
        files::make_folders(out).at("make the folder of runs", out)?;
        let stamp = jiff::Zoned::now().strftime("%Y%m%d-%H%M%S").to_string();
        let config = &info.config;
        let preset = if config.preset.is_empty() { "custom" } else { &config.preset };
        let name = names::safe_name(&format!("{stamp}-{}-{preset}-s{}", config.lab, config.seed));
        remove_abandoned(out);
        // Made under a hidden name, so that a run folder that can be seen is whole.
        let making = folder_beside(out, INCOMPLETE_PREFIX).at("make a run folder in", out)?;
        fill(making.path(), info)?;
        let path = rename_into_place(making.path(), out, &name)?;
        // Renamed, there is nothing left to remove.
        let _ = making.keep();
        let lock = lock_folder(&path)?;
        let mut open = Self::open_logs(path, lock, Lengths::default(), 0)?;
        open.ids = info.variant_ids();
        Ok(open)
    }

    /// The logs of a folder at this step, cut to these lengths except for answers about steps up to it.
    fn open_logs(path: PathBuf, lock: FolderLock, lengths: Lengths, step: u64) -> Result<Self, StoreError> {
        let mut superseded = Superseded::default();
        let metrics = Log::open(&path, METRICS, lengths.metrics, &mut |_| false)?;
        let mut is_kept_answer = |line: &[u8]| superseded.keeps_sample(line, step);
        let samples = Log::open(&path, SAMPLES, lengths.samples, &mut is_kept_answer)?;
        let mut is_kept_event = |line: &[u8]| superseded.keeps_event(line);
        let events = Log::open(&path, EVENTS, lengths.events, &mut is_kept_event)?;
        Ok(Self {
            metrics,
            samples,
            events,
            path,
            ids: vec![],
            step,
            resumed_from: None,
            superseded,
            answers: HashMap::new(),
            lock,
        })
    }

    /// Records the start of a resumed run: the settings may ask for more steps, the machine may be another.
    fn restarted(&mut self, info: &RunInfo) -> Result<(), StoreError> {
        self.ids = info.variant_ids();
        let Some(from_step) = self.resumed_from.take() else { return Ok(()) };
        let file = self.path.join(RUN);
        let old = match files::read_inside(&self.path, RUN, MAX_RUN) {
            // Damage needs no notice here: there was one when the folder was resumed.
            Ok(text) => serde_json::from_slice::<RunRecord>(&text).ok(),
            Err(e) if e.is_missing() => None,
            Err(e) => return Err(e).at("read", &file),
        };
        let mut run = old.unwrap_or_else(|| RunRecord {
            // the logs may still say when it began
            started_at: record::time_text(&listing::start_time(&self.path, None).to_zoned(TimeZone::system())),
            ..RunRecord::new(info)
        });
        (run.asks, run.run) = (info.asks.clone(), record::stored(info));
        run.resumed.push(Resumed { at: record::local_timestamp(), from_step, environment: Environment::current() });
        self.events.check_same_file()?;
        files::replace(&file, &json(&run)?).at("write", &file)?;
        let settings = self.path.join(CONFIG);
        files::replace(&settings, info.config.to_toml().as_bytes()).at("write", &settings)
    }

    fn write(&mut self, event: &Event) -> Result<(), StoreError> {
        match event {
            Event::Started(_) => Ok(()),
            Event::Step(stats) => {
                self.step = self.step.max(stats.step);
                self.metrics.line(&MetricsRecordRef { variant: &id_of(&self.ids, stats.variant), stats })?;
                self.flush_answers(ANSWER_EVERY)
            }
            Event::Sample(s) if s.request.is_some() => self.answer(s),
            Event::Sample(s) => self.sample(s),
            other => {
                self.flush_answers(Duration::ZERO)?;
                self.events.line(&EventRecordRef { step: self.step, at: &record::local_timestamp(), event: other })
            }
        }
    }

    fn sample(&mut self, s: &Sample) -> Result<(), StoreError> {
        self.samples.line(&SampleRecordRef::new(s, &id_of(&self.ids, s.variant)))
    }

    /// Writes the answer if none was written lately; otherwise it replaces the pending one.
    fn answer(&mut self, s: &Sample) -> Result<(), StoreError> {
        let key = (s.channel.clone(), s.variant);
        match self.answers.get_mut(&key) {
            Some(answer) if answer.written.elapsed() < ANSWER_EVERY => answer.pending = Some(s.clone()),
            _ => {
                self.answers.insert(key, Answer { written: Instant::now(), pending: None });
                self.sample(s)?;
            }
        }
        Ok(())
    }

    /// Writes the answers to channels that were not written for at least `since`.
    fn flush_answers(&mut self, since: Duration) -> Result<(), StoreError> {
        let mut due = vec![];
        for answer in self.answers.values_mut().filter(|a| a.written.elapsed() >= since) {
            if let Some(pending) = answer.pending.take() {
                answer.written = Instant::now();
                due.push(pending);
            }
        }
        due.sort_by(|a, b| (a.step, &a.channel, a.variant).cmp(&(b.step, &b.channel, b.variant)));
        due.iter().try_for_each(|s| self.sample(s))
    }

    /// Writes what is pending and forces the logs to the disk; their lengths.
    fn sync(&mut self) -> Result<Lengths, StoreError> {
        self.flush_answers(Duration::ZERO)?;
        Ok(Lengths { metrics: self.metrics.sync()?, samples: self.samples.sync()?, events: self.events.sync()? })
    }
}

impl Drop for OpenFolder {
    /// After a panic or a failure no caller syncs the logs, but pending lines can still be written.
    fn drop(&mut self) {
        if let Err(e) = self.flush_answers(Duration::ZERO) {
            log::warn!("the last answers of a run could not be saved: {e}");
        }
    }
}

/// Checks that runs can be recorded in this folder, which is created if missing, before a run is made ready.
///
/// # Errors
/// If nothing can be made in it.
pub fn check_writable(out: &Path) -> Result<(), StoreError> {
    files::make_folders(out).at("make the folder of runs", out)?;
    folder_beside(out, INCOMPLETE_PREFIX).at("make a run folder in", out).map(drop)
}

/// Writes the files and folders of a run that has not begun.
fn fill(folder: &Path, info: &RunInfo) -> Result<(), StoreError> {
    for inner in [CHECKPOINTS, SNAPSHOTS, FIGURES] {
        files::make_folder_inside(folder, inner).at("make the run folder", &folder.join(inner))?;
    }
    for log in [METRICS, SAMPLES, EVENTS] {
        names::write_new(&folder.join(log), b"")?;
    }
    names::write_new(&folder.join(CONFIG), info.config.to_toml().as_bytes())?;
    names::write_new(&folder.join(RUN), &json(&RunRecord::new(info))?)?;
    files::sync_folder(folder).at("write", folder)
}

fn remove_abandoned(out: &Path) {
    let is_old = |entry: &fs::DirEntry| {
        let changed = entry.metadata().and_then(|m| m.modified());
        changed.is_ok_and(|t| t.elapsed().is_ok_and(|age| age > ABANDONED_AGE))
    };
    for entry in files::entries(out).into_iter().flatten() {
        if entry.file_name().to_string_lossy().starts_with(INCOMPLETE_PREFIX) && is_old(&entry) {
            let _ = files::remove_folder_inside(out, entry.file_name());
        }
    }
}

/// Renames to the first free name among `name`, `name-2`, ...
fn rename_into_place(making: &Path, out: &Path, name: &str) -> Result<PathBuf, StoreError> {
    let mut path = out.join(name);
    let mut n = 1;
    loop {
        // A rename onto a folder with something in it fails, so two runs never share one.
        let renamed = match path.exists() {
            true => Err(io::ErrorKind::AlreadyExists.into()),
            false => {
                let name_of = |path: &Path| path.file_name().unwrap_or_default().to_owned();
                files::rename_inside(out, name_of(making), name_of(&path)).map_err(io::Error::from)
            }
        };
        match renamed {
            Ok(()) => {
                files::sync_folder(out).at("write", out)?;
                return Ok(path);
            }
            Err(e) if n < 10_000 && path.exists() => {
                log::debug!("{} is taken ({e})", path.display());
                n += 1;
                path = out.join(format!("{name}-{n}"));
            }
            Err(e) => return Err(StoreError::io("make the run folder", &path, e)),
        }
    }
}

fn json(run: &RunRecord) -> Result<Vec<u8>, StoreError> {
    let mut text = serde_json::to_vec_pretty(run)
        .map_err(|e| StoreError::with_source(format!("cannot write the run's description: {e}"), e))?;
    text.push(b'\n');
    Ok(text)
}
