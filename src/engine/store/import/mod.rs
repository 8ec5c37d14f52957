//! Logs of other tools: TensorBoard's event files, W&B's offline logs, Lightning's tables and Trackio's databases. Each is
//! read once into a run folder of the lab `foreign` beside the user's runs, so that whatever reads a run folder reads it.
//!
//! ```text
//! a tool's files -> find (Source) -> read (Logged: settings, numbers, texts) -> write (run folder)
//! ```
//!
//! Nothing of the source is changed and no link inside it is followed. A folder may hold several runs (one a subfolder, or
//! a database of them): they become the variants of one run.

mod json;
mod lightning;
mod logged;
mod protobuf;
mod sqlite;
mod tensorboard;
mod trackio;
mod wandb;
mod write;

use std::{
    fmt,
    fs::File,
    io::{self, Read},
};

use self::{
    logged::{Logged, TooManyNumbers},
    protobuf::MalformedMessage,
};
use super::names::is_run;
use crate::{files::reading_budget, store::prelude::*};

pub use write::ImportedRun;

/// The largest number of runs that are read from one source; each becomes a variant.
const MAX_RUNS: usize = 64;
/// The largest number of event files of one run, which has one for each time that its writer was started.
const MAX_FILES: usize = 1000;
/// The largest number of entries that are read in a folder and those below it.
const MAX_ENTRIES: usize = 20_000;
/// The depth to which folders below the named one are searched.
const MAX_DEPTH: usize = 4;
/// The limit of `hparams.yaml` in bytes.
const MAX_SETTINGS: u64 = 256 << 10;
/// The limit of a record, or of a row of a database, in bytes; a record of numbers has some kilobytes.
const MAX_RECORD: u64 = 64 << 20;
/// The bytes of a file's beginning, by which its tool is told; the column names of a table are not longer than this.
const MAX_BEGINNING: u64 = 64 << 10;
/// The column that the tables of `orrery export` have and those of other tools lack.
const VARIANT: &str = "variant";
/// The memory that reading a record takes, in multiples of its length: a growing buffer, and the texts parsed from it.
const RECORD_GROWTH: u64 = 6;

/// The largest record that may be held in memory now, in bytes. Longer ones are skipped.
fn max_record() -> u64 {
    MAX_RECORD.min(reading_budget() / RECORD_GROWTH)
}

/// The damaged parts of a file, which are skipped: their number, and the error of the first.
#[derive(Default)]
struct DamagedParts {
    count: u64,
    first: String,
}

impl DamagedParts {
    fn add(&mut self, why: impl fmt::Display) {
        if self.count == 0 {
            self.first = why.to_string();
        }
        self.count += 1;
    }

    /// Adds a warning with the number of skipped parts, if any; `what` names them.
    fn report(&self, name: &str, what: &str, logged: &mut Logged) {
        let first = if self.count > 1 { "the first: " } else { "" };
        if self.count > 0 {
            logged.warn(format!("{name}: passed over {} ({first}{})", counted(self.count as usize, what), self.first));
        }
    }
}

/// The tool that wrote a log. A folder may hold logs of several: the first one in this order is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Tool {
    Wandb,
    TensorBoard,
    Lightning,
    Trackio,
}

impl fmt::Display for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Wandb => "W&B",
            Self::TensorBoard => "TensorBoard",
            Self::Lightning => "Lightning's CSV logger",
            Self::Trackio => "Trackio",
        })
    }
}

impl Tool {
    /// The word for it in names of folders.
    fn id(self) -> &'static str {
        match self {
            Self::Wandb => "wandb",
            Self::TensorBoard => "tensorboard",
            Self::Lightning => "lightning",
            Self::Trackio => "trackio",
        }
    }

    /// The tool that a file's name alone points to.
    fn named(name: &str) -> Option<Self> {
        match name {
            _ if name.contains(".tfevents.") => Some(Self::TensorBoard),
            _ if name.ends_with(".wandb") => Some(Self::Wandb),
            "metrics.csv" => Some(Self::Lightning),
            _ if name.ends_with(".db") => Some(Self::Trackio),
            _ => None,
        }
    }

    /// Returns true if the beginning of an opened file has the format of this tool.
    fn begins(self, file: File) -> bool {
        let mut head = vec![];
        let read = file.take(MAX_BEGINNING).read_to_end(&mut head);
        read.is_ok()
            && match self {
                // a name is enough: a file that was just begun is empty
                Self::TensorBoard => true,
                Self::Wandb => head.starts_with(&wandb::MAGIC),
                Self::Trackio => head.starts_with(sqlite::MAGIC),
                Self::Lightning => lightning::columns(head.as_slice()).is_ok_and(|columns| {
                    let has = |name: &str| columns.iter().any(|column| column == name);
                    has("step") && !has(VARIANT)
                }),
            }
    }
}

/// True for a table that is not of `orrery export`, so that it is Lightning's, or refused as one of its name.
fn is_foreign_table(file: File) -> bool {
    !lightning::columns(file.take(MAX_BEGINNING)).is_ok_and(|columns| columns.iter().any(|column| column == VARIANT))
}

/// The reason why a log could not be read.
#[derive(Debug, thiserror::Error)]
enum ReadError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A malformed record, which is skipped.
    #[error(transparent)]
    Malformed(#[from] MalformedMessage),
    #[error(transparent)]
    TooManyNumbers(#[from] TooManyNumbers),
    #[error("it has more than {} runs, the most that are read at once: give the folder of one of them", MAX_RUNS)]
    TooManyRuns,
    #[error("{0}")]
    Other(String),
}

/// The message for a skipped record of this many bytes.
fn too_long(what: &str, bytes: u64) -> String {
    let most = size(max_record());
    format!("{what} has {}, and at most {most} are held in memory here", size(bytes))
}

/// The files of a log of another tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Source {
    /// The file or folder that was named.
    path: PathBuf,
    tool: Tool,
    /// The folder in which the files lie.
    folder: PathBuf,
    /// The paths below that folder, in the order of their names.
    files: Vec<PathBuf>,
    /// Sentences about what else is there.
    notices: Vec<String>,
}

/// True if a file is the log of another tool, by its name and its first bytes.
pub fn is_log(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    Tool::named(&name).is_some_and(|tool| files::open(path).is_ok_and(|file| tool.begins(file)))
}

impl Source {
    /// Finds the logs of another tool at a path; `None` where there are none, and for a run folder. A table by Lightning's name
    /// is found alone also without steps: to read it is an error that says so.
    ///
    /// # Errors
    /// If a folder with logs holds more than is looked through.
    pub fn find(path: &Path) -> Result<Option<Self>, StoreError> {
        if path.is_file() {
            return Ok(Self::find_file(path));
        }
        if !path.is_dir() || is_run(path) {
            return Ok(None);
        }
        let mut search = Search { root: path, entries: 0, found: vec![], other_tables: vec![] };
        search.search_folder(Path::new(""), 0)?;
        let (mut tables, mut notices) = (std::mem::take(&mut search.other_tables), vec![]);
        tables.sort();
        if search.found.is_empty() {
            // the first is refused with the reason
            search.found.extend(tables.into_iter().take(1).map(|table| (Tool::Lightning, table)));
        } else if let Some(first) = tables.first() {
            let (tables, first) = (counted(tables.len(), "table"), first.display());
            notices.push(format!("{tables} without a column `step` not read (the first: {first})"));
        }
        search.found.sort();
        let Some(tool) = search.found.iter().map(|(tool, _)| *tool).min() else { return Ok(None) };
        let (files, others): (Vec<_>, Vec<_>) = search.found.into_iter().partition(|(of, _)| *of == tool);
        if let Some((other, _)) = others.first() {
            notices
                .push(format!("{} files of {other} beside it are not read: name one of them to read it", others.len()));
        }
        let files = files.into_iter().map(|(_, file)| file).collect();
        Ok(Some(Self { path: path.to_owned(), tool, folder: path.to_owned(), files, notices }))
    }

    /// The log that is this file. Its folder is not searched, because it may hold very much; if its log is the same, the
    /// record of an import tells.
    fn find_file(path: &Path) -> Option<Self> {
        let name = path.file_name().unwrap_or_default();
        let tool = Tool::named(&name.to_string_lossy())?;
        let is_table = tool == Tool::Lightning && files::open(path).is_ok_and(is_foreign_table);
        if !is_table && !is_log(path) {
            return None;
        }
        // what lies beside a log, such as its settings, lies beside the target of a link
        let whole = path.canonicalize().ok()?;
        Some(Self {
            path: path.to_owned(),
            tool,
            folder: files::folder_of(&whole).to_owned(),
            files: vec![PathBuf::from(whole.file_name()?)],
            notices: vec![],
        })
    }

    /// Opens a file of it.
    fn open(&self, file: &Path) -> Result<File, FileError> {
        // the user may name a file by a link
        if self.path.is_file() { files::open(&self.path) } else { open_inside(&self.folder, file) }
    }

    /// Reads all of it.
    fn read(&self) -> Result<Logged, StoreError> {
        let mut logged = Logged::new();
        self.notices.iter().for_each(|notice| logged.note(notice.clone()));
        let refused = |file: &Path, e: ReadError| {
            let shown = self.folder.join(file);
            match e {
                ReadError::Io(e) => StoreError::io("read", &shown, e),
                e => StoreError::with_source(format!("`{}` cannot be read: {e}", shown.display()), e),
            }
        };
        let is_only = |e: &ReadError| self.files.len() == 1 || !matches!(e, ReadError::File(_) | ReadError::Other(_));
        for file in &self.files {
            match self.read_file(file, &mut logged) {
                Ok(()) => {}
                Err(e) if is_only(&e) => return Err(refused(file, e)),
                Err(e) => logged.warn(format!("{} is not read: {e}", file.display())),
            }
        }
        logged.finish();
        if logged.scalars.is_empty() {
            let shown = self.path.display();
            let mut words = format!("`{shown}` is a log of {} that holds no numbers", self.tool);
            logged.notices.iter().for_each(|(_, notice)| words = format!("{words}; {notice}"));
            return Err(StoreError::new(words));
        }
        if let [only] = logged.runs.as_mut_slice() {
            "model".clone_into(&mut only.id);
        }
        Ok(logged)
    }

    fn read_file(&self, file: &Path, logged: &mut Logged) -> Result<(), ReadError> {
        let opened = self.open(file)?;
        let name = file.display().to_string();
        let beside = |name: &str| open_inside(&self.folder, file.with_file_name(name));
        if self.tool == Tool::Trackio {
            let log = format!("{}-wal", file.file_name().unwrap_or_default().to_string_lossy());
            return trackio::read(opened, optional(beside(&log))?, &name, logged);
        }
        let id = self.run_id(file);
        ensure!(logged.runs.len() < MAX_RUNS || logged.runs.iter().any(|run| run.id == id), ReadError::TooManyRuns);
        let run = logged.run(&id);
        match self.tool {
            Tool::TensorBoard => tensorboard::read(opened, &name, run, logged),
            Tool::Wandb => wandb::read(opened, &name, run, logged),
            Tool::Lightning | Tool::Trackio => {
                lightning::read(opened, &name, run, logged)?;
                match optional(beside("hparams.yaml")).map(|file| file.map(|file| files::read_all(file, MAX_SETTINGS)))
                {
                    Ok(None) => {}
                    Ok(Some(Ok(bytes))) => lightning::settings(&String::from_utf8_lossy(&bytes), run, logged),
                    Ok(Some(Err(e))) | Err(e) => logged.warn(format!("hparams.yaml is not read: {e}")),
                }
                Ok(())
            }
        }
    }

    /// The name of the run of a file among those of this source: its folder, of W&B the file too.
    fn run_id(&self, file: &Path) -> String {
        let id = match self.tool {
            Tool::Wandb => file.with_extension(""),
            _ => file.parent().map(ToOwned::to_owned).unwrap_or_default(),
        };
        let id = id.to_string_lossy();
        if id.is_empty() { ".".to_owned() } else { id.into_owned() }
    }
}

/// `None` of a file that is not there.
fn optional(file: Result<File, FileError>) -> Result<Option<File>, FileError> {
    match file {
        Err(e) if e.is_missing() => Ok(None),
        file => file.map(Some),
    }
}

/// Looks for logs in a folder and those below it.
struct Search<'a> {
    root: &'a Path,
    entries: usize,
    found: Vec<(Tool, PathBuf)>,
    /// Tables that have Lightning's name and no steps.
    other_tables: Vec<PathBuf>,
}

impl Search<'_> {
    /// Searches a folder below the root. Hidden folders, run folders and links are skipped.
    fn search_folder(&mut self, below: &Path, depth: usize) -> Result<(), StoreError> {
        let folder = self.root.join(below);
        let entries = match files::entries(&folder) {
            Err(e) if depth > 0 => {
                log::debug!("{} cannot be listed: {e}", folder.display());
                return Ok(());
            }
            entries => entries.at("list", &folder)?,
        };
        for entry in entries {
            self.entries += 1;
            // a folder with that many entries and no log is something else
            if self.entries > MAX_ENTRIES && self.found.is_empty() {
                return Ok(());
            }
            if self.entries > MAX_ENTRIES || self.found.len() > MAX_FILES {
                let shown = self.root.display();
                let words = format!(
                    "`{shown}` holds more than {MAX_ENTRIES} files or {MAX_FILES} logs: give the folder of one run in it"
                );
                return Err(StoreError::new(words));
            }
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = below.join(entry.file_name());
            match entry.file_type() {
                Ok(kind) if kind.is_file() => {
                    let is = |holds: &dyn Fn(File) -> bool| open_inside(self.root, &path).is_ok_and(holds);
                    match Tool::named(&name) {
                        Some(tool) if is(&|file| tool.begins(file)) => self.found.push((tool, path)),
                        Some(Tool::Lightning) if is(&is_foreign_table) => self.other_tables.push(path),
                        _ => {}
                    }
                }
                Ok(kind) if kind.is_dir() && depth < MAX_DEPTH && !name.starts_with('.') && !is_run(&entry.path()) => {
                    self.search_folder(&path, depth + 1)?;
                }
                _ => {}
            }
        }
        Ok(())
    }
}
