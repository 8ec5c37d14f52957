//! The rows of the table of runs: what each run folder holds in short, read once and kept in an index beside them until it
//! changes.

use std::{
    collections::{BTreeMap, HashMap},
    ffi::{OsStr, OsString},
    path::Path,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use super::{
    headlines::{self, RunHeadlines},
    run_table::{self, RowState, RunRow},
};
use crate::{
    config::Value,
    labs::LABS,
    store::{
        self, StoreError, note,
        run_index::{self, RunIndex, Stamp},
    },
    telemetry::{Event, FOREIGN, Level, RunInfo, RunState, channels},
};

/// The maximum number of recorded warnings that a row keeps; losses of the record are kept in addition.
const MAX_PROBLEMS: usize = 3;
/// The maximum number of threads that read folders, kept small so that a training run beside them is not slowed.
const MAX_READER_THREADS: usize = 4;

pub struct Listing {
    /// The rows, newest first.
    pub rows: Vec<RunRow>,
    /// The number of folders whose logs were read because the index was missing or outdated.
    pub read: usize,
}

/// An index is valid for one version and one list of headline numbers, since a row depends on both.
fn version() -> String {
    let ids = LABS.iter().flat_map(|lab| std::iter::once(lab.id).chain(lab.headlines.iter().map(|h| h.id)));
    format!("{} 10 {}", env!("CARGO_PKG_VERSION"), ids.collect::<Vec<_>>().join(" "))
}

/// Lists every run in `runs`. A folder that cannot be read has a row that says so. `on_known` is called at once with
/// the rows of the index, before any folder is read.
pub fn list(runs: &Path, on_known: impl FnOnce(&[RunRow])) -> Result<Listing, StoreError> {
    list_with_progress(runs, on_known, |_, _| ())
}

/// Same as [`list`], and calls `progress` after each folder with the number read and the number to read. Folders that the
/// index has are not read and not reported.
pub fn list_with_progress(
    runs: &Path,
    on_known: impl FnOnce(&[RunRow]),
    progress: impl Fn(usize, usize) + Sync,
) -> Result<Listing, StoreError> {
    Ok(list_names(runs, run_index::run_folders(runs)?, on_known, progress))
}

/// Same as [`list`], but only for the folders with these names.
pub fn list_named(runs: &Path, names: Vec<OsString>) -> Listing {
    list_names(runs, names, |_| {}, |_, _| ())
}

fn list_names(
    runs: &Path,
    names: Vec<OsString>,
    on_known: impl FnOnce(&[RunRow]),
    progress: impl Fn(usize, usize) + Sync,
) -> Listing {
    let (unnamed, names): (Vec<OsString>, Vec<OsString>) = names.into_iter().partition(|name| name.to_str().is_none());
    let names: Vec<String> = names.into_iter().filter_map(|name| name.into_string().ok()).collect();
    let mut index = RunIndex::<RunRow>::open(runs, &version());
    let (mut rows, mut stale) = (vec![], vec![]);
    for name in &names {
        let stamp = Stamp::read(&runs.join(name));
        match index.get(name, &stamp) {
            // A row of the index holds for the content of a folder; the folder's name is the current one, since it may
            // have been moved.
            Some(row) => rows.push(RunRow { folder: name.clone(), ..row.clone() }),
            None => stale.push((name.clone(), stamp)),
        }
    }
    rows.iter_mut().for_each(|row| finish(row, runs));
    rows.extend(unnamed.iter().map(|name| unnamed_row(runs, name)));
    if !stale.is_empty() {
        sort(&mut rows);
        on_known(&rows);
    }
    let read = stale.len();
    for (name, stamp, mut row) in read_all(runs, stale, &|done| progress(done, read)) {
        if let Some(stamp) = stamp {
            index.set(name, stamp, row.clone());
        }
        finish(&mut row, runs);
        rows.push(row);
    }
    if index.keep_only(&names) || read > 0 {
        // It is only a cache: a folder that cannot be written is listed all the same.
        if let Err(e) = index.save(runs) {
            log::debug!("the index of runs could not be saved: {e}");
        }
    }
    sort(&mut rows);
    Listing { rows, read }
}

/// Adds the runs of a sweep to the rows of others: each is called by the sweep and its own folder.
pub fn add_sweep(rows: &mut Vec<RunRow>, sweep: &str, runs: Vec<RunRow>) {
    let named = |row: RunRow| RunRow { folder: format!("{sweep}/{}", row.folder), sweep: sweep.to_owned(), ..row };
    rows.extend(runs.into_iter().map(named));
    sort(rows);
}

fn sort(rows: &mut [RunRow]) {
    rows.sort_by(|a, b| (b.began, &b.folder).cmp(&(a.began, &a.folder)));
}

/// Each with its stamp, or without one where it could not be read and must be tried again.
/// `progress` is called in order with the number of those that have been read.
fn read_all(
    runs: &Path,
    stale: Vec<(String, Stamp)>,
    progress: &(dyn Fn(usize) + Sync),
) -> Vec<(String, Option<Stamp>, RunRow)> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(MAX_READER_THREADS).min(stale.len());
    let (waiting, made) = (Mutex::new(stale.into_iter()), Mutex::new(vec![]));
    let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).next();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some((name, stamp)) = next() {
                    let row = row(runs, &name);
                    let stamp = (row.state != RowState::Unreadable).then_some(stamp);
                    let mut made = made.lock().unwrap_or_else(PoisonError::into_inner);
                    made.push((name, stamp, row));
                    progress(made.len());
                }
            });
        }
    });
    made.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Fills in what no index keeps: its path, a person's note, and whether a process still has it.
fn finish(row: &mut RunRow, runs: &Path) {
    row.path = runs.join(&row.folder);
    match note::read(&row.path) {
        Ok(note) => row.note = note,
        Err(e) => row.problems.push(e.to_string()),
    }
    if row.state.is_in_use() && !may_have_writer(&row.lab, &row.path) {
        row.state = RowState::Killed;
    }
}

/// True if a process holds the folder of a run. Another program's may have no lock, or run on another machine: as long as its
/// logs have changed recently, it may continue.
pub fn may_have_writer(lab: &str, folder: &Path) -> bool {
    const RECENT: Duration = Duration::from_secs(120);
    let has_changed = || store::last_change(folder).and_then(|t| t.elapsed().ok()).is_some_and(|age| age < RECENT);
    store::is_being_written(folder) || lab == FOREIGN && !store::was_abandoned_here(folder) && has_changed()
}

/// The row of one run folder, wherever it lies.
pub fn row_of(folder: &Path) -> Result<RunRow, StoreError> {
    let whole = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let name = whole.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
    let mut row = read_whole(folder, &name)?;
    finish(&mut row, whole.parent().unwrap_or(Path::new(".")));
    Ok(row)
}

/// The row of a folder, or the reason why it cannot be read.
fn row(runs: &Path, name: &str) -> RunRow {
    let path = runs.join(name);
    read_whole(&path, name).unwrap_or_else(|e| unreadable(&path, name, e.to_string()))
}

/// The row of a folder whose name is not UTF-8, so that no command could name it. It shows a lossy form of the name.
fn unnamed_row(runs: &Path, name: &OsStr) -> RunRow {
    let (path, shown) = (runs.join(name), name.to_string_lossy());
    let problem = format!("the name of the folder `{}` is not UTF-8: rename it", path.display());
    RunRow { path: runs.join(&*shown), ..unreadable(&path, &shown, problem) }
}

fn unreadable(path: &Path, name: &str, problem: String) -> RunRow {
    RunRow {
        folder: name.to_owned(),
        problems: vec![problem],
        began: changed_at(path),
        when: local_time(changed_at(path)),
        bytes: run_index::bytes(path),
        ..RunRow::default()
    }
}

fn read_whole(folder: &Path, name: &str) -> Result<RunRow, StoreError> {
    let mut gathered = EventSummary::default();
    let run = headlines::read(folder, |event| gathered.event(event))?;
    Ok(gathered.row(folder, name, run))
}

fn changed_at(path: &Path) -> i64 {
    let time = std::fs::metadata(path).and_then(|m| m.modified()).ok().and_then(|t| jiff::Timestamp::try_from(t).ok());
    time.map_or(0, jiff::Timestamp::as_second)
}

fn local_time(seconds: i64) -> String {
    store::local_text(jiff::Timestamp::from_second(seconds).unwrap_or_default())
}

/// The facts that a row takes from a run's events besides headline numbers.
#[derive(Default)]
struct EventSummary {
    steps: u64,
    state: Option<RunState>,
    losses: HashMap<usize, LastLosses>,
    problems: Vec<String>,
    /// Live settings that were changed while the run trained, with their last values.
    live: BTreeMap<String, Value>,
}

/// The last losses that a variant has recorded, that of held-out text with its step.
#[derive(Default)]
struct LastLosses {
    train: Option<f64>,
    held_out: Option<(f64, u64)>,
}

impl EventSummary {
    fn event(&mut self, event: &Event) {
        match event {
            Event::Step(stats) => {
                self.steps = self.steps.max(stats.step);
                let last = self.losses.entry(stats.variant).or_default();
                for (channel, value) in &stats.scalars {
                    match channel.as_str() {
                        channels::LOSS_TRAIN => last.train = Some(*value),
                        channels::LOSS_HELD_OUT => last.held_out = Some((*value, stats.step)),
                        _ => {}
                    }
                }
            }
            Event::State(state) => self.state = Some(state.clone()),
            Event::Changed { key, value, .. } => _ = self.live.insert(key.clone(), value.clone()),
            Event::Notice { level: Level::Warning | Level::Error, text } if self.problems.len() < MAX_PROBLEMS => {
                self.problems.push(text.clone());
            }
            _ => {}
        }
    }

    fn row(self, path: &Path, name: &str, run: RunHeadlines) -> RunRow {
        let RunHeadlines { info, lab, found, damage } = run;
        let began = store::summary(path).map_or(0, |s| s.began);
        let state = match self.state {
            Some(RunState::Finished) => RowState::Finished,
            Some(RunState::Stopped) => RowState::Stopped,
            Some(RunState::Failed { message }) => RowState::Failed(message),
            Some(RunState::Paused) => RowState::Paused,
            Some(RunState::Running | RunState::Followed(_)) | None => RowState::Running,
        };
        let mut problems = self.problems;
        let unsaid: Vec<String> = damage.0.iter().filter(|lost| !problems.contains(lost)).cloned().collect();
        problems.extend(unsaid);
        let live = &self.live;
        let changed = lab.map_or_else(|| live.clone(), |lab| run_table::changed_at_last(lab, &info.config, live));
        if lab.is_none() {
            problems.push(format!("this version has no lab `{}`: its headline numbers are not known", info.lab));
        }
        RunRow {
            folder: name.to_owned(),
            problems,
            damage: damage.0,
            lab: info.lab.clone(),
            preset: info.config.preset.clone(),
            seed: info.config.seed,
            settings: info.config.iter().map(|(key, value)| (key.to_owned(), value.clone())).collect(),
            changed,
            changed_in_training: self.live,
            began,
            when: local_time(began),
            steps: self.steps,
            total_steps: info.total_steps,
            losses: losses(&info, &self.losses),
            headlines: found,
            state,
            bytes: run_index::bytes(path),
            ..RunRow::default()
        }
    }
}

/// Over the seeds of each group, in the order of the run's variants.
fn losses(info: &RunInfo, last: &HashMap<usize, LastLosses>) -> Vec<run_table::GroupLoss> {
    let group_loss = |group: &&str| {
        let members = (0..info.variants.len()).filter(|i| info.variants[*i].group == **group);
        let seeds: Vec<&LastLosses> = members.filter_map(|i| last.get(&i)).collect();
        let train: Vec<f64> = seeds.iter().map(|l| l.train.unwrap_or(f64::NAN)).collect();
        let held_out: Vec<f64> = seeds.iter().map(|l| l.held_out.map_or(f64::NAN, |(loss, _)| loss)).collect();
        let step = seeds.iter().filter_map(|l| l.held_out).map(|(_, step)| step).max();
        run_table::group_loss(group, info.group_label(group), &train, &held_out, step)
    };
    info.groups().iter().map(group_loss).collect()
}
