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
            rule::{OverSteps, Read, Rule},
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

/// The numbers of one run at the rule's step, or along a field of its answer, and at every recorded step.
struct RunPoint {
    /// Empty if it has none.
    numbers: Vec<PointNumbers>,
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
            let (mut points, mut runs, mut has_all) = (vec![], vec![], !of_seed.is_empty());
            for state in &of_seed {
                let Some(row) = state.finished() else {
                    has_all = false;
                    continue;
                };
                let point = cache.point(&hash, &row.path, rule)?;
                seconds += point.seconds;
                let config = sweep.sweep.config(state.task);
                let at = rule.over.as_ref().and_then(|over| config.get(&over.key)).and_then(Value::as_f64);
                points.extend(point.numbers.iter().map(|numbers| PointNumbers { at: at.or(numbers.at), ..*numbers }));
                has_all &= !point.numbers.is_empty();
                runs.push(RunSteps { at, numbers: point.steps.clone() });
            }
            if has_all {
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
        let run = series::read(folder, |_| true).map_err(Failure::wrong)?;
        let value = |key: &str, group: &str| match &rule.ask {
            Some(probe) => Ok(mean(&answered(folder, probe, rule, key, group)?)),
            None => Ok(recorded(&run, rule, rule.at, key, group)),
        };
        let seconds = run.times.last().map_or(0.0, |(_, at)| *at);
        let numbers = match (&rule.ask, &rule.along) {
            (Some(probe), Some(along)) => along_field(folder, probe, rule, along)?,
            _ => numbers(rule, value)?.into_iter().collect(),
        };
        Ok(Self { numbers, steps: steps(&run, rule)?, seconds })
    }
}

/// The numbers at every step that has them.
fn steps(run: &RunNumbers, rule: &Rule) -> Result<BTreeMap<u64, PointNumbers>, Failure> {
    if !rule.has_curve() {
        return Ok(BTreeMap::new());
    }
    let (first, _) = rule.numbers().map_err(Failure::usage)?;
    let series = run.numbers.iter().find(|s| s.key == first.key && first.groups.contains(&s.group.as_str()));
    let mut all = BTreeMap::new();
    for point in series.map(|series| series.points.as_slice()).unwrap_or_default() {
        let step = point[0] as u64;
        if let Some(numbers) = numbers(rule, |key, group| Ok(recorded(run, rule, Some(step), key, group)))? {
            all.insert(step, numbers);
        }
    }
    Ok(all)
}

/// The number of a rule, and the one beside it; `None` where a run has none, or one that is not finite.
fn numbers(
    rule: &Rule,
    value: impl Fn(&str, &str) -> Result<Option<f64>, Failure>,
) -> Result<Option<PointNumbers>, Failure> {
    let (first, second) = rule.numbers().map_err(Failure::usage)?;
    // of several variants the largest, and none where one of them has none
    let largest = |read: &Read| {
        let values: Result<Vec<_>, _> = read.groups.iter().map(|group| value(read.key, group)).collect();
        let finite: Option<Vec<f64>> = values?.into_iter().map(|v| v.filter(|v| v.is_finite())).collect();
        Ok::<_, Failure>(finite.and_then(|values| values.into_iter().reduce(f64::max)))
    };
    let Some(number) = largest(&first)? else { return Ok(None) };
    let Some(second) = second else { return Ok(Some(PointNumbers { at: None, number, beside: None })) };
    Ok(largest(&second)?.map(|beside| PointNumbers { at: None, number, beside: Some(beside) }))
}

/// A number of a run, at its end, at a step, or over its steps.
fn recorded(run: &RunNumbers, rule: &Rule, at: Option<u64>, key: &str, group: &str) -> Option<f64> {
    let series = run.numbers.iter().find(|s| s.key == key && s.group == group)?;
    let mut values = series.points.iter().map(|point| point[1]);
    match (at, rule.over_steps) {
        (Some(step), _) => series.points.iter().find(|[at, ..]| *at == step as f64).map(|point| point[1]),
        (None, None) => values.next_back(),
        (None, Some(OverSteps::Median)) => {
            let mut sorted: Vec<f64> = values.collect();
            sorted.sort_by(f64::total_cmp);
            sorted.get(sorted.len() / 2).copied()
        }
        (None, Some(OverSteps::Every)) => {
            let counted = rule.counted?;
            values.clone().find(|value| !counted.contains(*value)).or_else(|| values.next_back())
        }
    }
}

/// The values of a field of a probe's answer along those of another.
fn along_field(run: &Path, probe: &str, rule: &Rule, along: &str) -> Result<Vec<PointNumbers>, Failure> {
    let (read, _) = rule.numbers().map_err(Failure::usage)?;
    let mut points = vec![];
    for group in &read.groups {
        let numbers = answered(run, probe, rule, read.key, group)?;
        let along = answered(run, probe, rule, along, group)?;
        if numbers.len() != along.len() {
            let (n, m) = (numbers.len(), along.len());
            return Err(Failure::run(format!("the answer of `{probe}` has {n} values of {} along {m}", read.key)));
        }
        let pairs = numbers.into_iter().zip(along).filter(|(number, at)| number.is_finite() && at.is_finite());
        points.extend(pairs.map(|(number, at)| PointNumbers { at: Some(at), number, beside: None }));
    }
    Ok(points)
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The values of a field of a probe's answer whose place begins as it is asked.
fn answered(run: &Path, probe: &str, rule: &Rule, key: &str, group: &str) -> Result<Vec<f64>, Failure> {
    let (field, place) = key.split_once('@').unwrap_or((key, ""));
    let places: Vec<&str> = place.split_whitespace().collect();
    let (mut values, mut fields) = (vec![], BTreeSet::new());
    for sample in ask::answer(run, probe, &rule.args, group)? {
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
    Ok(values)
}
