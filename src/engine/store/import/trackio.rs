//! Trackio's database of a project: a table `metrics` with a row per call, whose numbers are a JSON object, and a table
//! `configs` with the settings of each run. Every run of the project is read.

use std::fs::File;

use serde_json::Value as Json;

use super::{
    MAX_RUNS, ReadError,
    json::numbers,
    logged::{Logged, LoggedAt, MAX_NAME, SkippedPart},
    sqlite::{Cell, Database, Table},
};
use crate::store::names::numbered;

/// Reads the database `name`; `wal` is its write-ahead log, if there is one. Errors: the system refuses, it is no such
/// database, it has more runs or numbers than are read.
pub(super) fn read(file: File, wal: Option<File>, name: &str, logged: &mut Logged) -> Result<(), ReadError> {
    let mut database = Database::open(file, wal)?;
    let metrics = database.table("metrics")?;
    let metrics = metrics.ok_or_else(|| ReadError::Other("it has no table `metrics` as Trackio makes".to_owned()))?;
    let places = ColumnIndices::new(&metrics, "metrics").ok_or_else(|| {
        ReadError::Other("its table `metrics` has no columns `run_name`, `step` and `metrics`".to_owned())
    })?;
    let mut runs = Runs::default();
    let read = database.rows(&metrics, |row| {
        let Some(entry) = places.entry(row) else {
            logged.skip(SkippedPart::NoNumber);
            return Ok(());
        };
        if entry.run_name.len() > MAX_NAME || entry.run_id.len() > MAX_NAME {
            logged.skip(SkippedPart::LongName);
            return Ok(());
        }
        let run = runs.index(&entry, logged)?;
        let at = entry.step.map(|step| LoggedAt { step, wall: entry.wall });
        let is_object = numbers(&entry.json, |name, value| logged.value(run, name, at, value))?;
        if !is_object {
            logged.skip(SkippedPart::NoNumber);
        }
        Ok(())
    });
    tolerate(read, name, logged)?;
    // versions before 0.3 had no settings
    let configs = database.table("configs").unwrap_or_default();
    if let Some(configs) = configs
        && let Some(places) = ColumnIndices::new(&configs, "config")
    {
        let read = database.rows(&configs, |row| {
            let Some(entry) = places.entry(row) else { return Ok(()) };
            if let Some(run) = runs.find(&entry)
                && let Some(Json::Object(values)) = logged.parse_settings(&entry.json)
            {
                // keys that Trackio itself adds begin with `_`
                for (key, value) in values.iter().filter(|(key, _)| !key.starts_with('_')) {
                    logged.setting(run, key, value);
                }
            }
            Ok(())
        });
        tolerate(read, name, logged)?;
    }
    database.long_rows.report(name, "row", logged);
    Ok(())
}

/// Says that a table is damaged; what was read of it counts.
fn tolerate(read: Result<(), ReadError>, name: &str, logged: &mut Logged) -> Result<(), ReadError> {
    match read {
        Err(ReadError::Other(why)) if !logged.scalars.is_empty() => {
            let words = format!("{name} is damaged or is being written ({why}): what could be read of it is here");
            logged.warn(words);
            Ok(())
        }
        read => read,
    }
}

/// The index of each column in a table; `None` for a column that the table lacks.
struct ColumnIndices {
    run_id: Option<usize>,
    run_name: usize,
    step: Option<usize>,
    time: Option<usize>,
    json: usize,
}

impl ColumnIndices {
    fn new(table: &Table, json: &str) -> Option<Self> {
        let place = |name: &str| table.columns.iter().position(|column| column == name);
        let step = place("step");
        if json == "metrics" && step.is_none() {
            return None;
        }
        Some(Self {
            run_id: place("run_id"),
            run_name: place("run_name")?,
            step,
            time: place("timestamp"),
            json: place(json)?,
        })
    }

    /// `None` if the row lacks a run or its values.
    fn entry(&self, row: Vec<Cell>) -> Option<Entry> {
        let mut row = row;
        let mut text = |place: usize| row.get_mut(place).map(|cell| std::mem::replace(cell, Cell::Null))?.into_text();
        let (run_name, json) = (text(self.run_name)?, text(self.json)?);
        let run_id = self.run_id.and_then(&mut text);
        let time = self.time.and_then(text);
        let step = match self.step.and_then(|place| row.get(place)) {
            Some(Cell::Int(step)) => Some(*step),
            _ => None,
        };
        let at = time.and_then(|time| time.parse::<jiff::Timestamp>().ok());
        let wall = at.map_or(f64::NAN, |at| at.as_millisecond() as f64 / 1000.0);
        Some(Entry { run_id: run_id.unwrap_or_else(|| run_name.clone()), run_name, json, step, wall })
    }
}

struct Entry {
    run_id: String,
    run_name: String,
    json: String,
    step: Option<i64>,
    /// Seconds since 1970.
    wall: f64,
}

/// The runs by Trackio's own ids.
#[derive(Default)]
struct Runs(Vec<(String, usize)>);

impl Runs {
    fn find(&self, entry: &Entry) -> Option<usize> {
        self.0.iter().find(|(id, _)| *id == entry.run_id).map(|(_, run)| *run)
    }

    /// The index of a row's run; a second run of the same name gets a number appended to its name.
    fn index(&mut self, entry: &Entry, logged: &mut Logged) -> Result<usize, ReadError> {
        if let Some(run) = self.find(entry) {
            return Ok(run);
        }
        ensure!(logged.runs.len() < MAX_RUNS, ReadError::TooManyRuns);
        let id = numbered(&entry.run_name, |id| logged.runs.iter().any(|run| run.id == id));
        let run = logged.run(&id);
        logged.runs[run].name.clone_from(&entry.run_name);
        self.0.push((entry.run_id.clone(), run));
        Ok(run)
    }
}
