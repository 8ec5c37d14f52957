//! The folder of a sweep: its specification, its points' common settings, and its runs, matched by recorded settings.

use std::{
    ffi::{OsStr, OsString},
    io,
};

use super::super::{
    damage,
    settings::{self, ResolvedName},
    sweep_names::BASE,
};
use crate::{
    cli::prelude::*,
    experiments::sweep::{AxisFile, Sweep, SweepFile, SweepTask},
    store::run_index::run_folders,
};

pub use super::super::sweep_names::SPEC;

/// The folders of its runs.
pub const RUNS: &str = "runs";
/// The output of each run, by its number.
pub const LOGS: &str = "logs";
/// The maximum number of bytes read from the end of a run's output to find its last lines.
pub const MAX_OUTPUT: u64 = 1 << 20;

pub struct SweepFolder {
    /// The absolute path of the folder.
    pub path: PathBuf,
    pub sweep: Sweep,
}

/// A run of a sweep as its folder has it.
pub struct TaskState {
    pub task: SweepTask,
    /// The row of the run that has come furthest; `None` where none has begun.
    pub row: Option<RunRow>,
}

impl TaskState {
    /// Its row, once it has come to its end.
    pub fn finished(&self) -> Option<&RunRow> {
        self.row.as_ref().filter(|row| row.state == RowState::Finished)
    }

    /// True for a run that has not ended and that no process is making.
    pub fn is_pending(&self) -> bool {
        self.row.as_ref().is_none_or(|row| row.state != RowState::Finished && !row.state.is_in_use())
    }
}

impl SweepFolder {
    /// The folder under `out` that a specification makes; made, if it is not there.
    pub fn make(spec: &Path, out: &Path) -> Result<Self, Failure> {
        let text = files::read_text(spec, store::MAX_CONFIG).map_err(|e| Failure::unreadable(spec, &e))?;
        Self::with_files(&text, spec, out)
    }

    /// Makes a sweep like [`SweepFolder::from_text`], with absolute paths in place of the relative ones of the specification, so
    /// that its folder can be used from anywhere. A relative path leads from beside `spec`, or else from the current folder.
    pub fn with_files(text: &str, spec: &Path, out: &Path) -> Result<Self, Failure> {
        let file = parsed(text, spec)?;
        let base = base(&file.base, spec)?;
        let absolute = with_absolute_paths(&file, &base, spec)?;
        match absolute == file {
            true => Self::with_base(&file, text, &base, spec, out),
            false => Self::with_base(&absolute, &absolute.to_toml().map_err(Failure::usage)?, &base, spec, out),
        }
    }

    /// Makes a sweep like [`SweepFolder::make`], from the text of a specification that need not be a file yet; its base
    /// is looked for beside `spec`, and its name is that of `spec` where it gives none.
    pub fn from_text(text: &str, spec: &Path, out: &Path) -> Result<Self, Failure> {
        let file = parsed(text, spec)?;
        Self::with_base(&file, text, &base(&file.base, spec)?, spec, out)
    }

    /// Makes the folder of a specification, with its text, that builds on `base`.
    fn with_base(file: &SweepFile, text: &str, base: &Config, spec: &Path, out: &Path) -> Result<Self, Failure> {
        let sweep = sweep(file, base, spec)?;
        let stem = spec.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let name = file.name.clone().unwrap_or(stem);
        let is_plain = |c: char| c.is_alphanumeric() || "-_. ".contains(c);
        if name.is_empty() || name.starts_with('.') || !name.chars().all(is_plain) {
            return Err(Failure::usage(format!("`{name}` is not a valid folder name: use letters, digits, - and _")));
        }
        let path = std::path::absolute(out.join(name)).map_err(Failure::wrong)?;
        ensure!(!path.is_symlink(), "{} is a link to another folder: give the sweep another `name`", path.display());
        let folder = Self { path, sweep };
        if folder.path.join(SPEC).exists() {
            let (known, held) = (read_inside(&folder.path, SPEC)?, read_inside(&folder.path, BASE)?);
            ensure!(
                known == text && held == base.to_toml(),
                "{} holds a sweep of another specification: give this one another `name`",
                folder.path.display()
            );
            folder.check_inner()?;
            return Ok(folder);
        }
        files::make_folders(&folder.path).map_err(|e| folder.unwritable(&e))?;
        for inner in [RUNS, LOGS] {
            files::make_folder_inside(&folder.path, inner).map_err(|e| folder.unwritable(&e.into()))?;
        }
        for (name, text) in [(BASE, base.to_toml().as_str()), (SPEC, text)] {
            output::write(&folder.path.join(name), text.as_bytes(), &[])?;
        }
        Ok(folder)
    }

    /// A folder that was made before.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let path = std::path::absolute(path).map_err(Failure::wrong)?;
        let spec = path.join(SPEC);
        ensure!(spec.is_file(), "`{}` is not the folder of a sweep: it has no {SPEC}", path.display());
        let text = read_inside(&path, SPEC)?;
        let file = parsed(&text, &spec)?;
        let held = path.join(BASE);
        let (_, base) = settings::config_of(&held, files::read_text_inside(&path, BASE, store::MAX_CONFIG))?;
        let sweep = sweep(&file, &base, &spec)?;
        let folder = Self { path, sweep };
        folder.check_inner()?;
        Ok(folder)
    }

    /// Refuses a folder whose own folders are links: what is written into it would end up elsewhere.
    fn check_inner(&self) -> Result<(), Failure> {
        [RUNS, LOGS].iter().try_for_each(|inner| inner_folder(&self.path, inner).map(|_| ()))
    }

    pub fn name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    pub fn runs(&self) -> PathBuf {
        self.path.join(RUNS)
    }

    fn unwritable(&self, error: &io::Error) -> Failure {
        Failure::usage(format!("no folder can be made at {}: {error}", self.path.display()))
    }

    /// The reason that a run itself gave for not starting.
    pub fn refusal(&self, task: SweepTask) -> Option<String> {
        self.printed(task)?.lines().rev().find_map(|line| line.strip_prefix("orrery: ")).map(str::to_owned)
    }

    /// The name of the run's folder, as the run itself printed it at its end.
    pub fn printed_run(&self, task: SweepTask) -> Option<String> {
        let (printed, runs) = (self.printed(task)?, self.runs());
        let name = |line: &str| Path::new(line).strip_prefix(&runs).ok().map(|name| name.display().to_string());
        printed.lines().rev().find_map(name)
    }

    fn printed(&self, task: SweepTask) -> Option<String> {
        let log = Path::new(LOGS).join(format!("{}.txt", task_name(task)));
        let said = files::read_end_inside(&self.path, log, MAX_OUTPUT).ok()?;
        Some(String::from_utf8_lossy(&said).into_owned())
    }

    /// Returns the state of every run of the sweep, in the order of their numbers.
    pub fn states(&self) -> Result<Vec<TaskState>, Failure> {
        let rows = SweepRuns::find(&self.path)?.rows();
        let state = |task| {
            let config = self.sweep.config(task);
            let own = rows.iter().filter(|row| was_run_with(row, &config));
            // rows are newest first, and of several maxima `max_by_key` takes the last
            let row = own.rev().max_by_key(|row| progress(row)).cloned();
            TaskState { task, row }
        };
        Ok(self.sweep.tasks().into_iter().map(state).collect())
    }
}

/// The run folders in a sweep's folder. Symbolic links are listed apart, because the sweep would write where they lead.
pub struct SweepRuns {
    /// The folder in which they lie; `None` if there is none yet.
    folder: Option<PathBuf>,
    names: Vec<OsString>,
    linked: Vec<OsString>,
}

impl SweepRuns {
    /// Lists those of the sweep in this folder.
    pub fn find(sweep: &Path) -> Result<Self, Failure> {
        let Some(folder) = inner_folder(sweep, RUNS)? else {
            return Ok(Self { folder: None, names: vec![], linked: vec![] });
        };
        let found = run_folders(&folder).map_err(Failure::failed)?;
        let (linked, names) = found.into_iter().partition(|name| folder.join(name).is_symlink());
        Ok(Self { folder: Some(folder), names, linked })
    }

    pub fn count(&self) -> usize {
        self.names.len()
    }

    /// Their rows, newest first.
    pub fn rows(self) -> Vec<RunRow> {
        self.folder.map_or_else(Vec::new, |folder| run_rows::list_named(&folder, self.names).rows)
    }

    /// Checks that no run is left out for its name: a run that is made would be that one again.
    pub fn check_names(&self) -> Result<(), Failure> {
        let unreadable = self.names.iter().find(|name| name.to_str().is_none()).map(|name| self.shown_path(name));
        unreadable.map_or(Ok(()), |path| {
            let words = "is not UTF-8, so that it may be made a second time: rename its folder";
            Err(usage!("the name of the run {path} {words}"))
        })
    }

    pub fn report_linked(&self) {
        for path in self.linked.iter().map(|name| self.shown_path(name)) {
            notice!("{path} is a link to a run elsewhere, and not a run of this sweep: it is left out");
        }
    }

    fn shown_path(&self, name: &OsStr) -> String {
        path_label(&self.folder.as_deref().unwrap_or(Path::new("")).join(name))
    }

    /// Reports the links and the runs that cannot be read, whose settings are not known: the sweep has neither.
    pub fn report_left_out(self) {
        self.report_linked();
        for row in self.rows().iter().filter(|row| row.state == RowState::Unreadable) {
            damage::report_on_one_line("a run is left out", row.problems.join("; "));
        }
    }
}

/// The text of a file of a sweep's own.
fn read_inside(sweep: &Path, name: &str) -> Result<String, Failure> {
    let text = files::read_text_inside(sweep, name, store::MAX_CONFIG);
    text.map_err(|e| Failure::unreadable(&sweep.join(name), &e))
}

/// A folder inside of one that may be somebody else's; `None` if it is not there.
pub fn inner_folder(folder: &Path, name: &str) -> Result<Option<PathBuf>, Failure> {
    match files::folder_inside(folder, name) {
        Ok(inner) => Ok(Some(inner)),
        Err(e) if e.is_missing() => Ok(None),
        Err(e) => Err(Failure::usage(format!("{} cannot be used: {e}", folder.join(name).display()))),
    }
}

pub fn was_run_with(row: &RunRow, config: &Config) -> bool {
    let is_same = |(key, value)| row.settings.get(key) == Some(value);
    row.lab == config.lab && row.seed == config.seed && config.iter().all(is_same)
}

/// Ranks several runs of the same settings: the one that got furthest counts.
fn progress(row: &RunRow) -> (u8, u64) {
    let rank = match row.state {
        RowState::Finished => 3,
        RowState::Running | RowState::Paused => 2,
        RowState::Stopped | RowState::Killed | RowState::Failed(_) => 1,
        RowState::Unreadable => 0,
    };
    (rank, row.steps)
}

/// "p3-s7": the point, from 1, and the seed.
pub fn task_name(task: SweepTask) -> String {
    format!("p{}-s{}", task.point + 1, task.seed)
}

fn parsed(text: &str, spec: &Path) -> Result<SweepFile, Failure> {
    SweepFile::parse(text).map_err(|e| Failure::usage(format!("{}: {e}", spec.display())))
}

/// The specification with absolute paths in place of relative ones, as settings and as values of an axis.
fn with_absolute_paths(file: &SweepFile, base: &Config, spec: &Path) -> Result<SweepFile, Failure> {
    let knobs = (labs::find_in(labs::LABS, &base.lab)?.knobs)();
    let is_path = |key: &str| knobs.iter().any(|knob| knob.key == key && knob.file_kind().is_some());
    let (mut file, beside) = (file.clone(), spec.parent().unwrap_or(Path::new("")));
    let lists = file.axes.iter_mut().filter_map(|(key, axis)| match axis {
        AxisFile::List(values) => Some((key, values.as_mut_slice())),
        AxisFile::Range(_) => None,
    });
    let set = file.set.iter_mut().map(|(key, value)| (key, std::slice::from_mut(value)));
    for (key, values) in set.chain(lists).filter(|(key, _)| is_path(key)) {
        for value in values {
            if let Value::Text(path) = value
                && !path.is_empty()
            {
                let place = |e: Failure| Failure::usage(format!("{}: {key}: {e}", spec.display()));
                *path = settings::existing_path(path, beside).map_err(place)?;
            }
        }
    }
    Ok(file)
}

fn sweep(file: &SweepFile, base: &Config, spec: &Path) -> Result<Sweep, Failure> {
    let lab = crate::labs::find_in(crate::labs::LABS, &base.lab)?;
    let mut sweep = Sweep::new(file, lab, base).map_err(|e| Failure::usage(format!("{}: {e}", spec.display())))?;
    // runs record absolute paths, and a run is of the point that has its settings
    for point in &mut sweep.points {
        *point = settings::with_absolute_paths(lab, point, None)?;
    }
    Ok(sweep)
}

/// The settings that a specification builds on: a config file is looked for beside it first. An error names the
/// specification.
fn base(name: &str, spec: &Path) -> Result<Config, Failure> {
    let beside = spec.parent().map(|folder| folder.join(name)).filter(|path| path.is_file());
    let path = beside.as_ref().and_then(|path| path.to_str()).unwrap_or(name);
    let found = match settings::resolve(path) {
        Ok(ResolvedName::Config(lab, config)) => settings::with_absolute_paths(lab, &config, None),
        Ok(_) => {
            Err(usage!("`{path}` is not a lab, preset or config file; a text is given under [set], as corpus.file"))
        }
        Err(e) => Err(e),
    };
    found.map_err(|e| Failure { message: format!("{}: the base: {e}", spec.display()), ..e })
}
