//! A run's scalars in other programs' formats: one CSV or TensorBoard event files.

use std::{
    collections::{BTreeMap, HashMap},
    fs, io,
    path::{Path, PathBuf},
};

use csv::Writer;

use super::{
    Reader, StoreError, description, error::At, listing, names, sample_scalars::sample_scalars, tensorboard::EventFile,
};
use crate::files::Replacement;
use crate::telemetry::{Channel, Event, StepStats, table};

/// Writes every scalar of a run as one CSV: `step, variant, wall_secs`, then a column a channel, in
/// the order of their first appearance; one row a (step, variant). Absent values are empty, others in full precision (`NaN`,
/// `inf`, `-inf` for what is not finite). Returns the number of rows.
pub fn csv(run: &Path, to: &Path) -> Result<u64, StoreError> {
    // Twice over the file rather than the whole of it in memory.
    let mut columns: HashMap<Channel, usize> = HashMap::new();
    let mut channels = vec![];
    each_step(run, |stats| {
        for (channel, _) in stats.scalars {
            columns.entry(channel).or_insert_with_key(|c| {
                channels.push(c.clone());
                channels.len() - 1
            });
        }
        Ok(())
    })?;
    let ids = variant_ids(run)?;
    let mut out = Writer::from_writer(Replacement::create(to).at("write", to)?);
    let first = ["step", "variant", "wall_secs"];
    let header = first.into_iter().chain(channels.iter().map(Channel::as_str));
    out.write_record(header).map_err(io::Error::from).at("write", to)?;
    // A step's training and held-out values are told apart; here they share a row.
    let mut table = Table { out, columns, ids, open: BTreeMap::new(), step: 0, rows: 0 };
    each_step(run, |stats| table.add(&stats).at("write", to))?;
    table.close_rows().at("write", to)?;
    commit(table.out, to)?;
    Ok(table.rows)
}

/// The rows of the present step, by variant, until a later step comes.
struct Table {
    out: Writer<Replacement>,
    columns: HashMap<Channel, usize>,
    ids: Vec<String>,
    open: BTreeMap<usize, (f64, Vec<Option<f64>>)>,
    step: u64,
    rows: u64,
}

impl Table {
    fn add(&mut self, stats: &StepStats) -> io::Result<()> {
        if stats.step != self.step {
            self.close_rows()?;
            self.step = stats.step;
        }
        let empty = || (stats.wall_secs, vec![None; self.columns.len()]);
        let (wall_secs, row) = self.open.entry(stats.variant).or_insert_with(empty);
        *wall_secs = wall_secs.max(stats.wall_secs);
        for (channel, value) in &stats.scalars {
            if let Some(place) = self.columns.get(channel).and_then(|i| row.get_mut(*i)) {
                *place = Some(*value);
            }
        }
        Ok(())
    }

    fn close_rows(&mut self) -> io::Result<()> {
        for (variant, (wall_secs, row)) in std::mem::take(&mut self.open) {
            let first = [self.step.to_string(), id_of(&self.ids, variant), wall_secs.to_string()];
            let values = row.into_iter().map(|value| value.map_or(String::new(), |v| v.to_string()));
            self.out.write_record(first.into_iter().chain(values))?;
            self.rows += 1;
        }
        Ok(())
    }
}

/// Writes what is buffered and gives the file its name.
fn commit(out: Writer<Replacement>, path: &Path) -> Result<(), StoreError> {
    let file = out.into_inner().map_err(|e| e.into_error()).at("write", path)?;
    file.commit().at("write", path)
}

/// Writes every sample of a run, a CSV a channel: `step,variant,request,field,index,value`, one row a value
/// (see [`table::cells`]). Returns the files.
///
/// # Errors
/// If the run cannot be read or a file cannot be written.
pub fn samples(run: &Path, to: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let ids = variant_ids(run)?;
    let mut taken = vec![];
    let mut open: BTreeMap<Channel, (PathBuf, Writer<Replacement>)> = BTreeMap::new();
    fs::create_dir_all(to).at("make", to)?;
    each_event(run, |event| {
        let Event::Sample(sample) = event else { return Ok(()) };
        let (path, writer) = match open.entry(sample.channel.clone()) {
            std::collections::btree_map::Entry::Occupied(e) => e.into_mut(),
            std::collections::btree_map::Entry::Vacant(e) => {
                let path = to.join(format!("{}.csv", names::unique_name(sample.channel.as_str(), &mut taken)));
                let mut writer = Writer::from_writer(Replacement::create(&path).at("write", &path)?);
                let header = ["step", "variant", "request", "field", "index", "value"];
                writer.write_record(header).map_err(io::Error::from).at("write", &path)?;
                e.insert((path, writer))
            }
        };
        let cells = table::cells(&sample.payload).map_err(io::Error::from).at("write", path)?;
        let (step, variant) = (sample.step.to_string(), id_of(&ids, sample.variant));
        let request = sample.request.map_or(String::new(), |r| r.to_string());
        for cell in cells {
            let row = [&step, &variant, &request, &cell.field, &cell.place(), &cell.value];
            writer.write_record(row).map_err(io::Error::from).at("write", path)?;
        }
        Ok(())
    })?;
    let mut paths = vec![];
    for (path, writer) in open.into_values() {
        commit(writer, &path)?;
        paths.push(path);
    }
    Ok(paths)
}

/// Writes TensorBoard event files, one folder a variant, so that `tensorboard --logdir <to>` shows
/// each as a run. Values become 32-bit floats (the format's type). Returns the files.
pub fn tensorboard(run: &Path, to: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let ids = variant_ids(run)?;
    let started_at = description::describe(run)?.started_at;
    let began = listing::began(run, started_at.as_deref()).as_second();
    let mut taken = vec![];
    let mut open: HashMap<usize, EventFile> = HashMap::new();
    let mut paths = vec![];
    each_step(run, |stats| {
        let file = match open.entry(stats.variant) {
            std::collections::hash_map::Entry::Occupied(e) => e.into_mut(),
            std::collections::hash_map::Entry::Vacant(e) => {
                let folder = to.join(names::unique_name(&id_of(&ids, stats.variant), &mut taken));
                fs::create_dir_all(&folder).at("make", &folder)?;
                let path = folder.join(format!("events.out.tfevents.{began:010}.orrery"));
                paths.push(path.clone());
                e.insert(EventFile::create(&path, began as f64)?)
            }
        };
        let wall = if stats.wall_secs.is_finite() { stats.wall_secs } else { 0.0 };
        file.scalars(began as f64 + wall, stats.step, &stats.scalars)
    })?;
    for file in open.into_values() {
        file.finish()?;
    }
    Ok(paths)
}

/// Hands every event of the run to `each`, until one fails.
fn each_event(run: &Path, mut each: impl FnMut(Event) -> Result<(), StoreError>) -> Result<(), StoreError> {
    let mut result = Ok(());
    Reader::open(run)?.read_through(|event| {
        if result.is_ok() {
            result = each(event);
        }
    })?;
    result
}

/// Hands every step's scalars to `each`, those of scheduled measurements among them: in the first of a step's and
/// variant's, or alone where the step has none.
fn each_step(run: &Path, mut each: impl FnMut(StepStats) -> Result<(), StoreError>) -> Result<(), StoreError> {
    let mut measured: BTreeMap<(u64, usize), Vec<(Channel, f64)>> = BTreeMap::new();
    each_event(run, |event| {
        if let Event::Sample(sample) = event {
            let scalars = sample_scalars(&sample);
            if !scalars.is_empty() {
                measured.entry((sample.step, sample.variant)).or_default().extend(scalars);
            }
        }
        Ok(())
    })?;
    let mut wall = 0.0;
    each_event(run, |event| {
        let Event::Step(mut stats) = event else { return Ok(()) };
        let later = measured.split_off(&(stats.step, 0));
        for ((step, variant), scalars) in std::mem::replace(&mut measured, later) {
            each(StepStats { step, variant, scalars, wall_secs: wall })?;
        }
        stats.scalars.extend(measured.remove(&(stats.step, stats.variant)).unwrap_or_default());
        wall = stats.wall_secs;
        each(stats)
    })?;
    measured
        .into_iter()
        .try_for_each(|((step, variant), scalars)| each(StepStats { step, variant, scalars, wall_secs: wall }))
}

fn variant_ids(run: &Path) -> Result<Vec<String>, StoreError> {
    Ok(description::describe(run)?.info.variants.into_iter().map(|v| v.id).collect())
}

fn id_of(ids: &[String], variant: usize) -> String {
    ids.get(variant).cloned().unwrap_or_else(|| variant.to_string())
}
