//! The numbers that a rule reads of runs that have ended: headline numbers, or what their models answer to a probe.

use super::super::{
    ask,
    sweep::folder::{SweepFolder, TaskState},
};
use crate::{
    analysis::statistics::{self, upper_quantile},
    cli::prelude::*,
    experiments::{
        claims::{
            criterion::Statistic,
            curve::{RunSteps, SeedSteps},
            result::{ClaimResult, PointNumbers, ResultProvenance, SeedNumbers, StepValues},
            rule::{OverSteps, Rule, VariantNumber},
        },
        series::{self, NumberSeries, RunNumbers},
    },
    store::Environment,
    telemetry::table::{self, Cell},
};

pub struct EndedRuns {
    /// The seeds whose runs all have their numbers.
    pub seeds: Vec<SeedNumbers>,
    /// The seeds with a run whose number is missing.
    pub missing: Vec<u64>,
    /// The values of `seeds` at each step.
    pub curve: Vec<StepValues>,
    /// Seconds of training, all runs together.
    pub seconds: f64,
    machines: Vec<Environment>,
    /// The devices that held the models.
    devices: BTreeSet<String>,
}

/// The numbers of runs by the hash of the rule that reads them and by their folder: a run that has ended does not change.
#[derive(Default)]
pub struct NumbersCache {
    known: Mutex<HashMap<(String, PathBuf), Arc<RunPoint>>>,
}

/// The numbers of one run at the rule's step, or along a field of its answer, and at every recorded step.
struct RunPoint {
    /// Empty if it has none, or if a part of the record is lost.
    numbers: Vec<PointNumbers>,
    steps: BTreeMap<u64, PointNumbers>,
    seconds: f64,
    machines: Vec<Environment>,
    device: String,
}

impl EndedRuns {
    /// Reads the numbers of the seeds `asked`: the sweep may have more.
    pub fn read(
        rule: &Rule,
        sweep: &SweepFolder,
        asked: &[u64],
        states: &[TaskState],
        cache: &NumbersCache,
    ) -> Result<Self, Failure> {
        let (mut seeds, mut series, mut missing, mut seconds) = (vec![], vec![], vec![], 0.0);
        let (mut machines, mut devices) = (vec![], BTreeSet::new());
        let hash = rule.hash();
        for seed in asked {
            let of_seed: Vec<&TaskState> = states.iter().filter(|state| state.task.seed == *seed).collect();
            let (mut points, mut runs, mut has_all) = (vec![], vec![], !of_seed.is_empty());
            for state in &of_seed {
                let Some(row) = state.finished() else {
                    has_all = false;
                    continue;
                };
                let point = cache.point(&hash, &row.path, rule)?;
                seconds += point.seconds;
                machines.extend(point.machines.iter().cloned());
                devices.insert(point.device.clone());
                let config = sweep.sweep.config(state.task);
                let at = rule.varied().and_then(|over| config.get(&over.key)).and_then(Value::as_f64);
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
        Ok(Self { seeds, missing, curve, seconds, machines, devices })
    }

    /// The result of a claim by its rule, without terms and digest, which is yet to be judged with the other claims of its paper.
    pub fn into_result(self, claim: &str, rule: &Rule, commit: Option<String>) -> ClaimResult {
        let Self { seeds, missing, curve, seconds, machines, mut devices } = self;
        devices.remove("cpu");
        let list = |names: BTreeSet<String>| names.into_iter().collect::<Vec<_>>().join(" and ");
        let made = ResultProvenance {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            commit,
            cores: machines.iter().map(|part| part.cores).max().unwrap_or(0),
            cpu: list(machines.into_iter().map(|part| part.cpu).collect()),
            device: Some(list(devices)).filter(|names| !names.is_empty()),
            minutes: (seconds / 6.0).round() / 10.0,
        };
        ClaimResult {
            claim: claim.to_owned(),
            rule: rule.hash(),
            seeds,
            missing,
            curve,
            made,
            ..ClaimResult::default()
        }
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
        // a probe's answer needs nothing that was recorded except the time
        let keeps: fn(&str) -> bool = if rule.ask.is_some() { |_| false } else { |_| true };
        let run = series::read(folder, keeps).map_err(Failure::wrong)?;
        let seconds = run.times.last().map_or(0.0, |(_, at)| *at);
        let (machines, device) = (store::machines(folder), run.info.device.clone());
        if !run.damage.is_empty() {
            notice!("{}: {}: its seed counts as missing", folder.display(), run.damage);
            return Ok(Self { numbers: vec![], steps: BTreeMap::new(), seconds, machines, device });
        }
        let (numbers, steps) = match &rule.ask {
            Some(probe) => (Answers::ask(folder, probe, rule)?.points(rule)?, BTreeMap::new()),
            None => {
                let value = |key: &str, group: &str| Ok(recorded(&run, rule, key, group));
                (numbers(rule, value)?.into_iter().collect(), steps(&run, rule)?)
            }
        };
        Ok(Self { numbers, steps, seconds, machines, device })
    }
}

fn steps(run: &RunNumbers, rule: &Rule) -> Result<BTreeMap<u64, PointNumbers>, Failure> {
    if !rule.has_curve() {
        return Ok(BTreeMap::new());
    }
    let (first, _) = rule.numbers().map_err(Failure::usage)?;
    let series = first.groups.first().and_then(|group| series_of(run, first.key, group));
    let at_step = |step: f64| -> Result<Option<(u64, PointNumbers)>, Failure> {
        let value = |key: &str, group: &str| Ok(series_of(run, key, group).and_then(|series| value_at(series, step)));
        Ok(numbers(rule, value)?.map(|numbers| (step as u64, numbers)))
    };
    let points = series.map(|series| series.points.as_slice()).unwrap_or_default();
    points.iter().filter_map(|point| at_step(point[0]).transpose()).collect()
}

fn value_at(series: &NumberSeries, step: f64) -> Option<f64> {
    let place = series.points.partition_point(|point| point[0] < step);
    series.points.get(place).filter(|point| point[0] == step).map(|point| point[1])
}

fn series_of<'a>(run: &'a RunNumbers, key: &str, group: &str) -> Option<&'a NumberSeries> {
    run.numbers.iter().find(|series| series.key == key && series.group == group)
}

/// The number of a rule, and the one beside it; `None` where a run has none, or one that is not finite.
fn numbers(
    rule: &Rule,
    value: impl Fn(&str, &str) -> Result<Option<f64>, Failure>,
) -> Result<Option<PointNumbers>, Failure> {
    let (first, second) = rule.numbers().map_err(Failure::usage)?;
    // the largest value of several variants; `None` if any of them has no value
    let largest = |read: &VariantNumber| {
        let values: Result<Vec<_>, _> = read.groups.iter().map(|group| value(read.key, group)).collect();
        let finite: Option<Vec<f64>> = values?.into_iter().map(|v| v.filter(|v| v.is_finite())).collect();
        Ok::<_, Failure>(finite.and_then(|values| values.into_iter().reduce(f64::max)))
    };
    let Some(number) = largest(&first)? else { return Ok(None) };
    let Some(second) = second else { return Ok(Some(PointNumbers { at: None, number, beside: None })) };
    Ok(largest(&second)?.map(|beside| PointNumbers { at: None, number, beside: Some(beside) }))
}

/// A number of a run, at its end, at a step, or over its steps: for an area their mean.
fn recorded(run: &RunNumbers, rule: &Rule, key: &str, group: &str) -> Option<f64> {
    let series = series_of(run, key, group)?;
    let mut values = series.points.iter().map(|point| point[1]);
    match (rule.at, rule.over_steps) {
        (Some(step), _) => value_at(series, step as f64),
        (None, None) if rule.statistic == Statistic::Area => mean(&values.collect::<Vec<f64>>()),
        (None, None) => values.next_back(),
        (None, Some(OverSteps::Median)) => upper_quantile(values.collect(), 0.5),
        (None, Some(OverSteps::Rise)) => {
            let lowest = values.clone().reduce(f64::min)?;
            values.next_back().map(|last| last - lowest)
        }
        (None, Some(OverSteps::Every)) => {
            let counted = rule.counted?;
            values.clone().find(|value| !counted.contains(*value)).or_else(|| values.next_back())
        }
    }
}

/// The answers of a run's variants to the probe of a rule, each asked once, as the values of their fields.
struct Answers<'a> {
    probe: &'a str,
    cells: BTreeMap<&'a str, Vec<Cell>>,
}

impl<'a> Answers<'a> {
    fn ask(run: &Path, probe: &'a str, rule: &'a Rule) -> Result<Self, Failure> {
        let (first, second) = rule.numbers().map_err(Failure::usage)?;
        let groups: BTreeSet<&str> = [Some(first), second].into_iter().flatten().flat_map(|read| read.groups).collect();
        let mut cells = BTreeMap::<&str, Vec<Cell>>::new();
        for (group, samples) in ask::answers_by_variant(run, probe, &rule.args, groups)? {
            for sample in samples {
                cells.entry(group).or_default().extend(table::cells(&sample.payload).map_err(Failure::failed)?);
            }
        }
        Ok(Self { probe, cells })
    }

    /// The numbers that the rule reads; if the rule has an `along`, one for each value of that field.
    fn points(&self, rule: &Rule) -> Result<Vec<PointNumbers>, Failure> {
        let Some(along) = &rule.along else {
            return Ok(numbers(rule, |key, group| Ok(mean(&self.values(key, group)?)))?.into_iter().collect());
        };
        let (read, _) = rule.numbers().map_err(Failure::usage)?;
        let mut points = vec![];
        for group in &read.groups {
            let (numbers, along) = (self.values(read.key, group)?, self.values(along, group)?);
            if numbers.len() != along.len() {
                let (n, m) = (numbers.len(), along.len());
                let why = format!("the answer of `{}` has {n} values of {} along {m}", self.probe, read.key);
                return Err(Failure::run(why));
            }
            let pairs = numbers.into_iter().zip(along).filter(|(number, at)| number.is_finite() && at.is_finite());
            points.extend(pairs.map(|(number, at)| PointNumbers { at: Some(at), number, beside: None }));
        }
        Ok(points)
    }

    /// The values of a field at every place that begins with the requested one.
    fn values(&self, key: &str, group: &str) -> Result<Vec<f64>, Failure> {
        let (field, place) = key.split_once('@').unwrap_or((key, ""));
        let places: Vec<&str> = place.split_whitespace().collect();
        let cells = self.cells.get(group).map(Vec::as_slice).unwrap_or_default();
        let fields: BTreeSet<&str> = cells.iter().map(|cell| cell.field.as_str()).collect();
        if !fields.contains(field) {
            let meant = did_you_mean(field, fields.into_iter());
            return Err(Failure::run(format!("the answer of `{}` has no field `{field}`{meant}", self.probe)));
        }
        let is_meant = |cell: &&Cell| {
            let same = places.iter().zip(&cell.index).filter(|(asked, i)| **asked == i.to_string()).count();
            cell.field == field && same == places.len()
        };
        Ok(cells.iter().filter(is_meant).filter_map(|cell| cell.value.parse().ok()).collect())
    }
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| statistics::mean(values))
}
