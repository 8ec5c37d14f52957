//! A run's scalars in other programs' formats: one CSV or TensorBoard event files.

use std::io;

use csv::Writer;

use super::{Damage, Reader, description, listing, prelude::*, record::id_of, tensorboard::EventFile};
use crate::{
    files::{make_folder_inside, make_folders},
    telemetry::{
        Measurement, StepStats,
        measurements::{Activity, LayerActivity, ModularityAtStep},
        table,
    },
};

/// The run that is exported.
#[derive(Debug, Clone, Copy)]
pub struct Record<'a> {
    /// Its folder.
    pub run: &'a Path,
    /// Export what can be read of a record that is damaged.
    pub allows_damage: bool,
}

impl<'a> Record<'a> {
    /// A run whose record must be undamaged.
    pub fn intact(run: &'a Path) -> Self {
        Self { run, allows_damage: false }
    }

    /// Checks that the record is undamaged, or that damage is allowed; returns the damage.
    ///
    /// # Errors
    /// If it is not allowed.
    pub fn check(&self, damage: Damage) -> Result<Damage, StoreError> {
        if damage.is_empty() || self.allows_damage {
            return Ok(damage);
        }
        let shown = self.run.display();
        Err(StoreError::new(format!("{shown}: {damage}: nothing was written; `--partial` writes what can be read")))
    }
}

/// An export, and what of the record is not in it.
#[derive(Debug)]
pub struct Exported<T> {
    /// The files or the number of rows.
    pub written: T,
    /// The sentences about the damage.
    pub damage: Damage,
}

/// Writes every scalar of a run as one CSV: `step, variant, wall_secs`, then one column per channel, in
/// the order of their first appearance; one row a (step, variant). Absent values are empty, others in full precision (`NaN`,
/// `inf`, `-inf` for what is not finite). Returns the number of rows.
///
/// # Errors
/// If the run cannot be read, or not whole, or the file cannot be written.
pub fn csv(record: Record<'_>, to: &Path) -> Result<Exported<u64>, StoreError> {
    // Twice over the file rather than the whole of it in memory.
    let mut columns: HashMap<Channel, usize> = HashMap::new();
    let mut channels = vec![];
    let damage = for_each_step(record, |stats| {
        for (channel, _) in stats.scalars {
            columns.entry(channel).or_insert_with_key(|c| {
                channels.push(c.clone());
                channels.len() - 1
            });
        }
        Ok(())
    })?;
    let ids = variant_ids(record.run)?;
    let mut out = Writer::from_writer(Replacement::create(to).at("write", to)?);
    let first = ["step", "variant", "wall_secs"];
    let header = first.into_iter().chain(channels.iter().map(Channel::as_str));
    out.write_record(header).map_err(io::Error::from).at("write", to)?;
    // A step's training and held-out values are separate events; here they share a row.
    let mut table = Table { out, columns, ids, open: BTreeMap::new(), step: 0, rows: 0 };
    // the damage was already reported by the first pass
    let _ = for_each_step(record, |stats| table.add(&stats).at("write", to))?;
    table.close_rows().at("write", to)?;
    commit(table.out, to)?;
    Ok(Exported { written: table.rows, damage })
}

/// The rows of the current step, by variant, until a later step comes.
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
            let first = [self.step.to_string(), id_of(&self.ids, variant).into_owned(), wall_secs.to_string()];
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

/// Writes every sample of a run, one CSV per channel: `step,variant,request,field,index,value`, one row per value (see
/// [`table::cells`]). Returns the files.
///
/// # Errors
/// If the run cannot be read, or not completely, or a file cannot be written.
pub fn samples(record: Record<'_>, to: &Path) -> Result<Exported<Vec<PathBuf>>, StoreError> {
    let ids = variant_ids(record.run)?;
    let mut taken = names::TakenNames::new();
    let mut open: BTreeMap<Channel, (PathBuf, Writer<Replacement>)> = BTreeMap::new();
    make_folders(to).at("make", to)?;
    let damage = for_each_event(record.run, |event| {
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
        let (step, variant) = (sample.step.to_string(), id_of(&ids, sample.variant).into_owned());
        let request = sample.request.map_or(String::new(), |r| r.to_string());
        for cell in cells {
            let row = [&step, &variant, &request, &cell.field, &cell.place(), &cell.value];
            writer.write_record(row).map_err(io::Error::from).at("write", path)?;
        }
        Ok(())
    })?;
    let damage = record.check(damage)?;
    let mut paths = vec![];
    for (path, writer) in open.into_values() {
        commit(writer, &path)?;
        paths.push(path);
    }
    Ok(Exported { written: paths, damage })
}

/// Writes TensorBoard event files, one folder per variant, so that `tensorboard --logdir <to>` shows
/// each as a run. Values become 32-bit floats (the format's type). Returns the files.
///
/// # Errors
/// If the run cannot be read or is incomplete, or a file cannot be written.
pub fn tensorboard(record: Record<'_>, to: &Path) -> Result<Exported<Vec<PathBuf>>, StoreError> {
    let ids = variant_ids(record.run)?;
    let started_at = description::describe(record.run)?.started_at;
    let began = listing::start_time(record.run, started_at.as_deref()).as_second();
    let mut taken = names::TakenNames::new();
    let mut open: HashMap<usize, EventFile> = HashMap::new();
    let mut paths = vec![];
    let damage = for_each_step(record, |stats| {
        let file = match open.entry(stats.variant) {
            std::collections::hash_map::Entry::Occupied(e) => e.into_mut(),
            std::collections::hash_map::Entry::Vacant(e) => {
                let name = names::unique_name(&id_of(&ids, stats.variant), &mut taken);
                make_folders(to).at("make", to)?;
                let folder = make_folder_inside(to, &name).at("make", &to.join(&name))?;
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
    Ok(Exported { written: paths, damage })
}

/// Hands every event of the run to `each`, until one fails.
fn for_each_event(run: &Path, mut each: impl FnMut(Event) -> Result<(), StoreError>) -> Result<Damage, StoreError> {
    let mut result = Ok(());
    let damage = Reader::open(run)?.read_through(|event| {
        if result.is_ok() {
            result = each(event);
        }
    })?;
    result.map(|()| damage)
}

/// Hands every step's scalars to `each`, those of scheduled measurements among them: in the first of a step's and
/// variant's, or alone where the step has none. A record that is not whole is refused before the first one, unless that is
/// allowed.
fn for_each_step(
    record: Record<'_>,
    mut each: impl FnMut(StepStats) -> Result<(), StoreError>,
) -> Result<Damage, StoreError> {
    let mut measured: BTreeMap<(u64, usize), Vec<(Channel, f64)>> = BTreeMap::new();
    let damage = for_each_event(record.run, |event| {
        if let Event::Sample(sample) = event {
            let scalars = sample_scalars(&sample);
            if !scalars.is_empty() {
                measured.entry((sample.step, sample.variant)).or_default().extend(scalars);
            }
        }
        Ok(())
    })?;
    let damage = record.check(damage)?;
    let mut wall = 0.0;
    let _ = for_each_event(record.run, |event| {
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
        .try_for_each(|((step, variant), scalars)| each(StepStats { step, variant, scalars, wall_secs: wall }))?;
    Ok(damage)
}

/// The few numbers of a measurement that are drawn over training, as scalars by channel: what a table of scalars, or
/// TensorBoard, can show beside the losses. An answer to a question is not part of a curve.
fn sample_scalars(sample: &Sample) -> Vec<(Channel, f64)> {
    if sample.request.is_some() {
        return vec![];
    }
    if let Some(activity) = sample.measurement::<Activity>() {
        return activity_scalars(activity);
    }
    match sample.measurement::<ModularityAtStep>() {
        Some(found) => [
            ("modularity", found.model),
            ("modularity/degree_preserving", found.degree_preserving),
            ("carrying", found.carrying),
            ("edges", found.edges as f64),
        ]
        .map(|(name, value)| (Channel::new(format!("{}/{name}", ModularityAtStep::CHANNEL)), value))
        .into(),
        None => vec![],
    }
}

/// Shares of neurons above zero by layer, from 0.
fn activity_scalars(activity: &Activity) -> Vec<(Channel, f64)> {
    let layer = |(layer, LayerActivity { trained, random_weights, .. }): (usize, &LayerActivity)| {
        [
            (format!("x/{layer}"), trained.x),
            (format!("y/{layer}"), trained.y),
            (format!("x/{layer}/random_weights"), random_weights.x),
            (format!("y/{layer}/random_weights"), random_weights.y),
        ]
        .map(|(name, value)| (Channel::new(format!("{}/{name}", Activity::CHANNEL)), value))
    };
    activity.layers.iter().enumerate().flat_map(layer).collect()
}

fn variant_ids(run: &Path) -> Result<Vec<String>, StoreError> {
    Ok(description::describe(run)?.info.variant_ids())
}
