//! The numbers that a rule reads of its runs, of those that have ended: headline numbers of their record, or what their models
//! answer to a probe.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use super::super::{
    ask,
    failure::Failure,
    sweep::folder::{SweepFolder, TaskState},
};
use crate::{
    config::{Value, nearest},
    experiments::{
        claims::{
            curve::{RunSteps, SeedSteps},
            result::{PointNumbers, SeedNumbers, StepValues},
            rule::{Read, Rule},
        },
        series::{self, RunNumbers},
    },
    telemetry::table,
};

/// The numbers of the runs that have ended.
pub struct EndedRuns {
    /// Seeds of which every run has its number.
    pub seeds: Vec<SeedNumbers>,
    /// Seeds of which one has not.
    pub missing: Vec<u64>,
    /// The values of the first over steps.
    pub curve: Vec<StepValues>,
    /// Seconds of training, all runs together.
    pub seconds: f64,
}

/// The numbers of runs by the hash of the rule that reads them and by their folder: a run that has ended does not change.
#[derive(Default)]
pub struct NumbersCache {
    known: Mutex<HashMap<(String, PathBuf), Arc<RunPoint>>>,
}

/// The numbers of one run, if it has them, at the rule's step and at every recorded one.
struct RunPoint {
    numbers: Option<PointNumbers>,
    steps: BTreeMap<u64, PointNumbers>,
    seconds: f64,
}

impl EndedRuns {
    /// # Errors
    /// If a run cannot be read, or the probe of the rule cannot be asked.
    pub fn read(rule: &Rule, sweep: &SweepFolder, states: &[TaskState], cache: &NumbersCache) -> Result<Self, Failure> {
        let (mut seeds, mut series, mut missing, mut seconds) = (vec![], vec![], vec![], 0.0);
        let hash = rule.hash();
        for seed in &sweep.sweep.seeds {
            let of_seed: Vec<&TaskState> = states.iter().filter(|state| state.task.seed == *seed).collect();
            let (mut points, mut runs) = (vec![], vec![]);
            for state in &of_seed {
                let Some(row) = state.finished() else { continue };
                let point = cache.point(&hash, &row.path, rule)?;
                seconds += point.seconds;
                let config = sweep.sweep.config(state.task);
                let at = rule.over.as_ref().and_then(|over| config.get(&over.key)).and_then(Value::as_f64);
                points.extend(point.numbers.map(|numbers| PointNumbers { at, ..numbers }));
                runs.push(RunSteps { at, numbers: point.steps.clone() });
            }
            if points.len() == of_seed.len() && !points.is_empty() {
                seeds.push(SeedNumbers { seed: *seed, points });
                series.push(SeedSteps { seed: *seed, runs });
            } else {
                missing.push(*seed);
            }
        }
        let curve = rule.curve(&series, &seeds);
        Ok(Self { seeds, missing, curve, seconds })
    }
}

impl NumbersCache {
    fn point(&self, hash: &str, run: &Path, rule: &Rule) -> Result<Arc<RunPoint>, Failure> {
        let key = (hash.to_owned(), run.to_owned());
        if let Some(known) = self.known.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return Ok(Arc::clone(known));
        }
        let point = Arc::new(RunPoint::read(run, rule)?);
        self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(key, Arc::clone(&point));
        Ok(point)
    }
}

impl RunPoint {
    fn read(folder: &Path, rule: &Rule) -> Result<Self, Failure> {
        let run = series::read(folder, |_| false).map_err(Failure::wrong)?;
        let value = |read: Read| match &rule.ask {
            Some(probe) => answered(folder, probe, rule, read),
            None => Ok(recorded(&run, rule.at, read)),
        };
        let seconds = run.times.last().map_or(0.0, |(_, at)| *at);
        Ok(Self { numbers: numbers(rule, value)?, steps: steps(&run, rule)?, seconds })
    }
}

/// The numbers at every step that has them.
fn steps(run: &RunNumbers, rule: &Rule) -> Result<BTreeMap<u64, PointNumbers>, Failure> {
    if !rule.has_curve() {
        return Ok(BTreeMap::new());
    }
    let (first, _) = rule.numbers().map_err(Failure::usage)?;
    let series = run.numbers.iter().find(|s| s.key == first.key && s.group == first.group);
    let mut all = BTreeMap::new();
    for point in series.map(|series| series.points.as_slice()).unwrap_or_default() {
        let step = point[0] as u64;
        if let Some(numbers) = numbers(rule, |read| Ok(recorded(run, Some(step), read)))? {
            all.insert(step, numbers);
        }
    }
    Ok(all)
}

/// The number of a rule, and the one beside it; `None` where a run has none, or one that is not finite.
fn numbers(rule: &Rule, value: impl Fn(Read) -> Result<Option<f64>, Failure>) -> Result<Option<PointNumbers>, Failure> {
    let (first, second) = rule.numbers().map_err(Failure::usage)?;
    let finite = |read| Ok::<_, Failure>(value(read)?.filter(|number| number.is_finite()));
    let Some(number) = finite(first)? else { return Ok(None) };
    let Some(second) = second else { return Ok(Some(PointNumbers { at: None, number, beside: None })) };
    Ok(finite(second)?.map(|beside| PointNumbers { at: None, number, beside: Some(beside) }))
}

/// A headline number of a run, at its end or at a step.
fn recorded(run: &RunNumbers, at: Option<u64>, read: Read) -> Option<f64> {
    let series = run.numbers.iter().find(|s| s.key == read.key && s.group == read.group)?;
    let point = match at {
        Some(step) => series.points.iter().find(|[at, ..]| *at == step as f64)?,
        None => series.points.last()?,
    };
    Some(point[1])
}

/// The mean of a field of a probe's answer, over the values whose place begins as it is asked.
fn answered(run: &Path, probe: &str, rule: &Rule, read: Read) -> Result<Option<f64>, Failure> {
    let (field, place) = read.key.split_once('@').unwrap_or((read.key, ""));
    let places: Vec<&str> = place.split_whitespace().collect();
    let (mut values, mut fields) = (vec![], BTreeSet::new());
    for sample in ask::answer(run, probe, &rule.args, read.group)? {
        for cell in table::cells(&sample.payload).map_err(Failure::failed)? {
            let is_meant = places.iter().zip(&cell.index).filter(|(asked, i)| **asked == i.to_string()).count();
            if cell.field == field && is_meant == places.len() {
                values.extend(cell.value.parse::<f64>().ok());
            }
            fields.insert(cell.field);
        }
    }
    if !fields.contains(field) {
        let near = nearest(field, fields.iter().map(String::as_str));
        let meant = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
        return Err(Failure::run(format!("the answer of `{probe}` has no field `{field}`{meant}")));
    }
    Ok((!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64))
}
