//! Writes what another tool has logged as a run folder.

use std::io::{BufWriter, Write};

use serde_json::json;

use super::{
    super::{
        Environment, RunRecord,
        names::{MAX_CONFIG, safe_name},
        record::{EventRecordRef, FORMAT, MetricsRecordRef, PROTOCOL, local_timestamp},
        run_index::modified_and_length,
    },
    Source, Tool,
    logged::{Logged, LoggedRun},
};
use crate::{
    config::{Config, Value},
    files::sha256,
    store::prelude::*,
    telemetry::{FOREIGN, Level, StepStats, VariantInfo},
};

/// The file in the folder that says what it was read from.
const SOURCE: &str = ".imported";
const MAX_SOURCE: u64 = 1 << 20;
/// Numbers of one line: a step with more has several.
const MAX_IN_A_LINE: usize = 1000;

/// A run folder that holds what another tool has logged.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportedRun {
    /// The run folder.
    pub folder: PathBuf,
    /// A sentence that says what was read; `None` if the folder was already up to date.
    pub summary: Option<String>,
    /// A sentence that says by which other path the log was imported before, if it was.
    pub recognised: Option<String>,
}

/// The origin of an imported folder. If any part of it has changed, the source is read again.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Origin {
    source: String,
    tool: String,
    /// The version of the program that read it.
    version: String,
    /// The times of the last change in nanoseconds since 1970 and the lengths in bytes.
    files: Vec<(String, u64, u64)>,
}

/// The content of [`SOURCE`].
#[derive(Serialize, Deserialize)]
struct ImportRecord {
    origin: Origin,
    /// The lengths of what was written. The disk is waited for with this record alone: after a loss of power another file
    /// may be empty, and all is read again.
    lengths: Vec<(String, u64)>,
}

/// The record of an earlier import in a folder.
enum EarlierImport {
    /// Nothing was imported into the folder.
    Missing,
    /// The folder was imported, but its record cannot be read for this reason, for instance after a loss of power.
    Unreadable(String),
    Found(ImportRecord),
}

impl EarlierImport {
    /// # Errors
    /// If there is a record that cannot be read, or something else in its place: the folder may then belong to anybody.
    fn read(folder: &Path) -> Result<Self, StoreError> {
        match read_text_inside(folder, SOURCE, MAX_SOURCE) {
            Err(e) if e.is_missing() => Ok(Self::Missing),
            Err(e @ (FileError::NotUtf8 { .. } | FileError::TooLong { .. })) => Ok(Self::Unreadable(e.to_string())),
            Err(e) => {
                let words = format!("`{}` is in the way, whose `{SOURCE}` cannot be read: {e}", folder.display());
                Err(StoreError::with_source(words, e))
            }
            Ok(text) => Ok(serde_json::from_str(&text).map_or_else(|e| Self::Unreadable(e.to_string()), Self::Found)),
        }
    }
}

impl ImportRecord {
    /// True if the folder holds all that was written.
    fn is_whole(&self, folder: &Path) -> bool {
        !self.lengths.is_empty()
            && self.lengths.iter().all(|(name, bytes)| modified_and_length(&folder.join(name)).1 == *bytes)
    }
}

impl Origin {
    fn new(source: &Source) -> Result<Self, StoreError> {
        let path = source.path.canonicalize().at("find", &source.path)?;
        let mut files = vec![];
        for file in &source.files {
            let name = name_of(file);
            for beside in [name.clone(), format!("{name}-wal"), "hparams.yaml".to_owned()] {
                let file = file.with_file_name(&beside);
                let (time, bytes) = modified_and_length(&source.folder.join(&file));
                if time > 0 || beside == name {
                    files.push((file.display().to_string(), time, bytes));
                }
            }
        }
        Ok(Self {
            source: path.display().to_string(),
            tool: source.tool.id().to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            files,
        })
    }

    /// The log that it is of, whose other notices are those of `opened`.
    fn log_like(&self, opened: &Source) -> Source {
        let path = PathBuf::from(&self.source);
        let folder = if path.is_file() { files::folder_of(&path).to_owned() } else { path.clone() };
        let is_log = |file: &PathBuf| Tool::named(&name_of(file)) == Some(opened.tool);
        let files = self.files.iter().map(|(file, ..)| PathBuf::from(file)).filter(is_log).collect();
        Source { path, folder, files, ..opened.clone() }
    }

    /// The name of the run folder: the same for the same place, however its path is written.
    fn folder_name(&self, source: &Source) -> String {
        let hash = sha256(&self.source);
        safe_name(&format!(
            "{}-{}-{}",
            source.tool.id(),
            source.title().chars().take(40).collect::<String>(),
            &hash[..8]
        ))
    }
}

impl Source {
    /// The last part of its path, of a file without its ending.
    fn title(&self) -> String {
        let path = self.path.canonicalize().unwrap_or_else(|_| self.path.clone());
        let last = if self.path.is_file() { path.file_stem() } else { path.file_name() };
        let last = last.unwrap_or_default().to_string_lossy().into_owned();
        // an event file's name is a time and a machine's, a table's is always the same
        match path.parent().and_then(Path::file_name) {
            Some(folder) if last.contains("tfevents") || last == "metrics" => folder.to_string_lossy().into_owned(),
            _ => last,
        }
    }

    /// Its files, the same however the path to them is written; `None` if one is not there.
    fn whole_files(&self) -> Option<Vec<PathBuf>> {
        let mut files: Vec<PathBuf> =
            self.files.iter().map(|file| self.folder.join(file).canonicalize().ok()).collect::<Option<_>>()?;
        files.sort();
        Some(files)
    }

    /// The log by another path by which the same files were read before, such as that of their folder, and the name of its
    /// run folder in `runs`. Earlier versions of the program gave such folders other names.
    fn imported_before(&self, runs: &Path) -> Option<(Self, PathBuf)> {
        let (own, begin) = (self.whole_files()?, format!("{}-", self.tool.id()));
        let names = files::entries(runs).ok()?.map(|entry| PathBuf::from(entry.file_name()));
        let mut names: Vec<PathBuf> = names.filter(|name| name.to_string_lossy().starts_with(&begin)).collect();
        names.sort();
        names.into_iter().find_map(|name| {
            let Ok(EarlierImport::Found(record)) = EarlierImport::read(&runs.join(&name)) else { return None };
            let source = record.origin.log_like(self);
            let is_same = source.files.len() == own.len() && source.whole_files()? == own;
            is_same.then_some((source, name))
        })
    }

    /// Reads it into a run folder in `runs`, unless it was read before, by this or another path, and has not changed since.
    ///
    /// # Errors
    /// If it cannot be read, holds no numbers or more than are read, or the folder cannot be written.
    pub fn import(&self, runs: &Path) -> Result<ImportedRun, StoreError> {
        let origin = Origin::new(self)?;
        let name = PathBuf::from(origin.folder_name(self));
        let is_new = matches!(EarlierImport::read(&runs.join(&name))?, EarlierImport::Missing);
        let Some((known, name)) = is_new.then(|| self.imported_before(runs)).flatten() else {
            return self.import_as(origin, &name, runs);
        };
        let run = known.import_as(Origin::new(&known)?, &name, runs)?;
        let [opened, known, shown] = [&self.path, &known.path, &run.folder].map(|path| path.display());
        let words = format!("{opened} was imported before, as {known}: it is the run {shown}");
        Ok(ImportedRun { recognised: Some(words), ..run })
    }

    /// Reads it into the run folder of this name.
    fn import_as(&self, origin: Origin, name: &Path, runs: &Path) -> Result<ImportedRun, StoreError> {
        let folder = runs.join(name);
        let (is_of_others, unreadable) = match EarlierImport::read(&folder)? {
            EarlierImport::Found(record) if record.origin == origin && record.is_whole(&folder) => {
                return Ok(ImportedRun { folder, summary: None, recognised: None });
            }
            EarlierImport::Found(record) => {
                let is_same_path = record.origin.source == origin.source;
                (!is_same_path && record.origin.log_like(self).whole_files() != self.whole_files(), None)
            }
            EarlierImport::Unreadable(why) => (false, Some(why)),
            EarlierImport::Missing => (true, None),
        };
        if is_of_others && folder.join(RUN).is_file() {
            let (shown, path) = (folder.display(), self.path.display());
            return Err(StoreError::new(format!(
                "`{shown}` is in the way, and was not imported from {path}: move it away"
            )));
        }
        let mut logged = self.read()?;
        if let Some(why) = unreadable {
            logged.warn(format!(
                "`{SOURCE}`, which says what was read before, cannot be read ({why}): all is read again"
            ));
        }
        files::make_folders(runs).at("make the folder of runs", runs)?;
        files::make_folder_inside(runs, name).at("make", &folder)?;
        let words = format!(
            "imported from {} ({}): {} of {}{}; it was read once, and is read again when it is opened after a change",
            self.path.display(),
            self.tool,
            counted(logged.scalars.len(), "number"),
            counted(logged.channels.len(), "channel"),
            if logged.runs.len() > 1 { format!(", {} runs as variants", logged.runs.len()) } else { String::new() },
        );
        let written = FolderWriter { source: self, logged: &logged, folder: &folder };
        let record_path = folder.join(SOURCE);
        let keep = |record: &ImportRecord| {
            files::replace(&record_path, &to_json(record, &record_path)?).at("write", &record_path)
        };
        // the marker is incomplete until the import is, so that an interrupted import is read again
        let mut record = ImportRecord { origin, lengths: vec![] };
        keep(&record)?;
        written.metrics()?;
        written.samples()?;
        written.events(&words)?;
        written.description()?;
        let length = |name: &str| (name.to_owned(), modified_and_length(&folder.join(name)).1);
        record.lengths = [METRICS, SAMPLES, EVENTS, CONFIG, RUN].map(length).into();
        keep(&record)?;
        let lost = logged.notices.iter().map(|(_, notice)| format!("\n  {notice}")).collect::<String>();
        let summary = Some(format!("{words}, into {}{lost}", folder.display()));
        Ok(ImportedRun { folder, summary, recognised: None })
    }
}

fn to_json(value: &impl Serialize, path: &Path) -> Result<Vec<u8>, StoreError> {
    let words = |e: serde_json::Error| StoreError::with_source(format!("cannot write `{}`: {e}", path.display()), e);
    serde_json::to_vec_pretty(value).map_err(words)
}

/// The folder that is being written.
struct FolderWriter<'a> {
    source: &'a Source,
    logged: &'a Logged,
    folder: &'a Path,
}

impl FolderWriter<'_> {
    fn replace(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let path = self.folder.join(name);
        let mut file = Replacement::create(&path).at("write", &path)?;
        file.write_all(bytes).and_then(|()| file.commit_unforced()).at("write", &path)
    }

    /// Writes a log of these lines.
    fn log<T: Serialize>(&self, name: &str, lines: impl Iterator<Item = T>) -> Result<(), StoreError> {
        let path = self.folder.join(name);
        let mut out = BufWriter::with_capacity(1 << 16, Replacement::create(&path).at("write", &path)?);
        for line in lines {
            // as bytes first, for which the measurements' writer is compiled already
            let mut line = serde_json::to_vec(&line).map_err(std::io::Error::from).at("write", &path)?;
            line.push(b'\n');
            out.write_all(&line).at("write", &path)?;
        }
        let file = out.into_inner().map_err(|e| e.into_error()).at("write", &path)?;
        file.commit_unforced().at("write", &path)
    }

    fn metrics(&self) -> Result<(), StoreError> {
        let Logged { runs, channels, scalars, .. } = self.logged;
        let channels: Vec<Channel> = channels.iter().map(Channel::new).collect();
        let mut begun = vec![f64::NAN; runs.len()];
        for scalar in scalars {
            let first = &mut begun[scalar.run as usize];
            *first = first.min(scalar.wall);
        }
        let same_step = scalars.chunk_by(|a, b| (a.step, a.run) == (b.step, b.run));
        let lines = same_step.flat_map(|step| step.chunks(MAX_IN_A_LINE)).filter_map(|line| {
            let first = line.first()?;
            let variant = first.run as usize;
            let wall = line.iter().fold(f64::NAN, |wall, scalar| scalar.wall.max(wall));
            let scalars = line.iter().map(|scalar| (channels[scalar.channel as usize].clone(), scalar.value)).collect();
            let stats = StepStats { step: first.step, variant, scalars, wall_secs: wall - begun[variant] };
            Some(MetricsRecordRef { variant: &runs[variant].id, stats })
        });
        self.log(METRICS, lines)
    }

    fn samples(&self) -> Result<(), StoreError> {
        let lines = self.logged.texts.iter().map(|text| {
            let payload = json!({"kind": "text", "text": text.text});
            json!({"step": text.step, "variant": self.logged.runs[text.run].id, "channel": format!("text/{}", text.name),
                   "about": format!("logged by {}", self.source.tool), "payload": payload})
        });
        self.log(SAMPLES, lines)
    }

    fn events(&self, words: &str) -> Result<(), StoreError> {
        let at = local_timestamp();
        let notice = |level, text: &str| Event::Notice { level, text: text.to_owned() };
        let mut events = vec![notice(Level::Info, words)];
        events.extend(self.logged.notices.iter().map(|(level, text)| notice(*level, text)));
        // a log without an end leaves the run stopped at the last step read
        let failed = self.logged.runs.iter().find_map(|run| run.end.clone().filter(|end| *end != RunState::Finished));
        let is_finished = self.logged.runs.iter().all(|run| run.end == Some(RunState::Finished));
        let end = if is_finished { RunState::Finished } else { failed.unwrap_or(RunState::Stopped) };
        let end = Event::State(end);
        let lines = events.iter().map(|event| (0, event)).chain([(self.last_step(), &end)]);
        self.log(EVENTS, lines.map(|(step, event)| EventRecordRef { step, at: &at, event }))
    }

    fn last_step(&self) -> u64 {
        self.logged.scalars.last().map_or(0, |scalar| scalar.step)
    }

    fn description(&self) -> Result<(), StoreError> {
        let config = self.config()?;
        let runs = &self.logged.runs;
        let variant = |run: &LoggedRun| VariantInfo {
            id: run.id.clone(),
            label: if run.name.is_empty() { run.id.clone() } else { run.name.clone() },
            group: run.id.clone(),
            ..VariantInfo::default()
        };
        let run = RunRecord {
            format: FORMAT,
            protocol: PROTOCOL,
            started_at: self.started_at(),
            seed: config.seed,
            environment: Environment { orrery: self.source.tool.to_string(), ..Environment::default() },
            run: RunInfo {
                lab: FOREIGN.to_owned(),
                variants: runs.iter().map(variant).collect(),
                total_steps: self.last_step(),
                config: config.clone(),
                ..RunInfo::default()
            },
            resumed: vec![],
            asks: vec![],
        };
        // more than is read of it is in the description alone
        let settings = config.to_toml();
        self.replace(
            CONFIG,
            if settings.len() as u64 <= MAX_CONFIG { settings.as_bytes() } else { b"lab = \"foreign\"\n" },
        )?;
        self.replace(RUN, &to_json(&run, &self.folder.join(RUN))?)
    }

    /// The settings of the only run; of several those that are the same in all under their own keys, and others with the
    /// run's name before them.
    fn config(&self) -> Result<Config, StoreError> {
        let mut values: BTreeMap<String, Value> = BTreeMap::new();
        let runs = &self.logged.runs;
        for run in runs {
            for (key, value) in &run.settings {
                let is_common = runs.iter().all(|other| other.settings.get(key) == Some(value));
                let key = if is_common { key.clone() } else { format!("{}.{key}", run.id) };
                values.insert(key, value.clone());
            }
        }
        let name = match runs.as_slice() {
            [run] if !run.name.is_empty() => run.name.clone(),
            _ => self.source.title(),
        };
        let seed = match values.get("config.seed") {
            Some(Value::Int(seed)) => u64::try_from(*seed).unwrap_or(0),
            _ => 0,
        };
        let config = json!({"lab": FOREIGN, "preset": name, "seed": seed, "values": values});
        let refused = |e: serde_json::Error| {
            StoreError::with_source(format!("the settings of `{}`: {e}", self.source.path.display()), e)
        };
        serde_json::from_value(config).map_err(refused)
    }

    /// The local time of the first number, or else of the last change of its file.
    fn started_at(&self) -> String {
        let first = self.logged.scalars.iter().map(|scalar| scalar.wall).fold(f64::NAN, f64::min);
        let logged = jiff::Timestamp::from_millisecond((first * 1000.0) as i64).ok().filter(|_| first.is_finite());
        let changed = || {
            let file = self.source.folder.join(self.source.files.first()?);
            jiff::Timestamp::from_second((modified_and_length(&file).0 / 1_000_000_000) as i64).ok()
        };
        let at = logged.or_else(changed).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
        at.to_zoned(jiff::tz::TimeZone::system()).strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
    }
}
