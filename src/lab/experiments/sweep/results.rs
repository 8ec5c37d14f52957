//! The results of a sweep: the numbers of its runs over steps, as of any step, and as means over seeds.

pub mod brush;
pub mod order;
pub mod plane;

use std::{path::PathBuf, sync::Arc};

use super::{Axis, AxisFile, AxisScale, Sweep};
use crate::{
    analysis::distinct::distinct,
    config::{Config, Knob, Range, Value},
    experiments::{
        run_table::RowState,
        seeds::{SeedSummary, over_seeds},
        series::every_nth,
    },
    labs::headline::{Better, Digits},
};

/// Steps, rising, each with its value.
pub type Series = Arc<Vec<(u64, f64)>>;

/// A setting that varies in the sweep, as an axis of a plot.
#[derive(Debug, Clone, PartialEq)]
pub struct ResultAxis {
    /// The key of the setting, such as `train.lr`.
    pub key: String,
    pub kind: AxisKind,
}

/// The scale on which the values of an axis lie.
#[derive(Debug, Clone, PartialEq)]
pub enum AxisKind {
    Numbers {
        is_log: bool,
    },
    /// Words or switches, in the order of the specification.
    Words(Vec<String>),
}

impl AxisKind {
    /// The position of a value on the axis; NaN if it is neither a number nor a word of the axis.
    pub fn position(&self, text: &str, number: Option<f64>) -> f64 {
        let place = match self {
            Self::Numbers { .. } => number,
            Self::Words(words) => words.iter().position(|w| w == text).map(|i| i as f64),
        };
        place.unwrap_or(f64::NAN)
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct ResultPoint {
    /// Its value on each axis, as text.
    pub values: Vec<String>,
    /// Its value on each axis as a number: the value itself, or the index of a word among the axis's words.
    pub places: Vec<f64>,
}

/// A run of the sweep, made or not.
#[derive(Debug, Clone, PartialEq)]
pub struct SweepRun {
    pub point: usize,
    pub seed: u64,
    /// `None` if the run has not begun.
    pub made: Option<MadeRun>,
    /// The reason why it could not be started, if that was tried.
    pub refusal: Option<String>,
}

/// The folder and the state of a run that was made.
#[derive(Debug, Clone, PartialEq)]
pub struct MadeRun {
    pub path: PathBuf,
    pub state: RowState,
    /// For example "killed at step 412".
    pub state_label: String,
}

/// A number by its headline key or its channel of scalars, and its group of variants.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct NumberId {
    pub key: String,
    /// Variants that differ only by seed.
    pub group: String,
}

/// A number that runs have recorded over their steps.
#[derive(Debug, Clone)]
pub struct Number {
    pub id: NumberId,
    /// For example "held-out loss (nats), coupled".
    pub heading: String,
    pub better: Better,
    /// `None` for a scalar that is not a headline number.
    pub digits: Option<Digits>,
    /// It compares variants of one seed, so that its spread over seeds is that of a paired difference.
    pub is_paired: bool,
    /// The series of each run; empty if a run has none.
    pub series: Vec<Series>,
}

/// The process of this window that makes the runs of a sweep.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum SweepProcess {
    /// There was none, or it has made every run.
    #[default]
    Absent,
    Running,
    /// It was asked to stop, before which its runs write a checkpoint.
    Stopping,
    /// It ended because it was asked to.
    Stopped,
    /// It ended by itself before it had made every run: its last line of output, or its exit status.
    Failed(String),
}

impl SweepProcess {
    /// True until it has ended.
    pub fn is_alive(&self) -> bool {
        matches!(self, Self::Running | Self::Stopping)
    }
}

/// A sweep with what its runs have recorded.
#[derive(Debug, Clone, Default)]
pub struct SweepResults {
    pub name: String,
    pub folder: PathBuf,
    pub lab: String,
    pub axes: Vec<ResultAxis>,
    pub points: Vec<ResultPoint>,
    /// The name of each point; empty where its settings are its name.
    pub names: Vec<String>,
    pub seeds: Vec<u64>,
    /// Point by point, seed by seed.
    pub runs: Vec<SweepRun>,
    /// Headline numbers first, in the lab's order; then scalars.
    pub numbers: Vec<Number>,
    /// The index of the number that ranks the points.
    pub objective: Option<usize>,
    /// The command that completes the sweep.
    pub command: String,
    pub process: SweepProcess,
    /// The stride at which steps of long series are kept, besides the last; 1 keeps all.
    pub every: usize,
}

/// A number of a point as of a step, over its seeds.
#[derive(Debug, Clone, PartialEq)]
pub struct PointValue {
    pub mean: f64,
    /// Standard deviation over seeds; `None` of one, whose spread is not known.
    pub sd: Option<f64>,
    /// The 95% interval of the mean over seeds; `None` of one.
    pub interval: Option<(f64, f64)>,
    /// The value of each seed, with the index of its run.
    pub each: Vec<(usize, f64)>,
    /// The oldest and the newest step at which a value was measured.
    pub steps: [u64; 2],
}

impl PointValue {
    /// The value of this number, by [`SeedSummary::label`].
    pub fn label(&self, number: &Number) -> String {
        let Self { mean, sd, interval, .. } = *self;
        SeedSummary { mean, sd, interval, seeds: self.each.len() }.label(number.digits, number.is_paired)
    }
}

/// A number of every point as of a step.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ValuesAtStep {
    pub step: u64,
    /// The oldest and the newest step at which any value was measured.
    pub steps: Option<[u64; 2]>,
    /// The value of each point; `None` if no seed has recorded one so far.
    pub values: Vec<Option<PointValue>>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RunCounts {
    pub finished: usize,
    pub running: usize,
    /// Held by a process that does not train them now.
    pub paused: usize,
    /// Stopped or killed before their end.
    pub unfinished: usize,
    pub failed: usize,
    pub missing: usize,
}

/// True for a value on an axis of numbers that is not a number, but two with an arrow between them.
fn is_changed(value: &str) -> bool {
    value.parse::<f64>().is_err()
}

/// The value at the newest step at or before this one.
pub fn value_at(series: &[(u64, f64)], step: u64) -> Option<(u64, f64)> {
    series.partition_point(|(s, _)| *s <= step).checked_sub(1).map(|i| series[i])
}

/// Keeps every n-th point and the last, so that at most about `most` remain; also returns n.
pub fn downsampled(series: &[(u64, f64)], most: usize) -> (Vec<(u64, f64)>, usize) {
    let every = series.len().div_ceil(most.max(2)).max(1);
    (every_nth(series, every).collect(), every)
}

impl ResultAxis {
    /// Returns the axes of a sweep, and the values of each point on them.
    pub fn from_sweep(sweep: &Sweep) -> (Vec<Self>, Vec<ResultPoint>) {
        let knobs = (sweep.lab.knobs)();
        let axes: Vec<Self> = sweep.axes.iter().map(|axis| Self::new(axis, &knobs, &sweep.points)).collect();
        let point = |config: &Config| {
            let values: Vec<String> = sweep.axes.iter().map(|axis| sweep.value(config, axis)).collect();
            let place = |(axis, text): (&Self, &String)| {
                axis.kind.position(text, config.get(&axis.key).and_then(Value::as_f64))
            };
            ResultPoint { places: axes.iter().zip(&values).map(place).collect(), values }
        };
        let points = sweep.points.iter().map(point).collect();
        (axes, points)
    }

    fn new(axis: &Axis, knobs: &[Knob], points: &[Config]) -> Self {
        let values: Vec<&Value> = points.iter().filter_map(|config| config.get(&axis.key)).collect();
        let numbers: Vec<f64> = values.iter().filter_map(|value| value.as_f64()).collect();
        let kind = if numbers.len() == points.len() {
            let is_positive = numbers.iter().all(|v| *v > 0.0);
            let is_log = match &axis.values {
                AxisFile::Range(range) => range.scale == AxisScale::Log,
                AxisFile::List(_) => {
                    let range = knobs.iter().find(|k| k.key == axis.key).map(|k| &k.range);
                    matches!(range, Some(Range::Float { log: true, .. })) && is_positive
                }
            };
            AxisKind::Numbers { is_log }
        } else {
            AxisKind::Words(distinct(values.iter().map(ToString::to_string)))
        };
        Self { key: axis.key.clone(), kind }
    }

    /// The last part of its key: "lr".
    pub fn name(&self) -> &str {
        self.key.rsplit('.').next().unwrap_or(&self.key)
    }

    pub fn is_log(&self) -> bool {
        matches!(self.kind, AxisKind::Numbers { is_log: true })
    }
}

impl ValuesAtStep {
    /// The newest step of any value, at which points are compared.
    pub fn newest_step(&self) -> Option<u64> {
        self.steps.map(|[_, newest]| newest)
    }

    /// The steps at which the values of a point were measured, if any differs from the newest step, as in a run that
    /// was cut off.
    pub fn other_steps(&self, point: usize) -> Option<[u64; 2]> {
        let newest = self.newest_step()?;
        self.values.get(point)?.as_ref().map(|value| value.steps).filter(|steps| *steps != [newest; 2])
    }

    /// The value of a point, if all its runs reached the newest step.
    pub fn mean_at_newest_step(&self, point: usize) -> Option<f64> {
        self.mean(point).filter(|_| self.other_steps(point).is_none())
    }

    /// Points without a value so far.
    pub fn points_without_value(&self) -> Vec<usize> {
        (0..self.values.len()).filter(|i| self.values[*i].is_none()).collect()
    }

    pub fn mean(&self, point: usize) -> Option<f64> {
        self.values.get(point)?.as_ref().map(|v| v.mean).filter(|v| v.is_finite())
    }

    /// The smallest and the largest value of a seed that is a number.
    pub fn extent(&self) -> Option<[f64; 2]> {
        let each = self.values.iter().flatten().flat_map(|v| v.each.iter().map(|(_, x)| *x)).filter(|x| x.is_finite());
        each.fold(None, |ends: Option<[f64; 2]>, x| Some(ends.map_or([x, x], |[a, b]| [a.min(x), b.max(x)])))
    }
}

impl SweepResults {
    pub fn number(&self, id: &NumberId) -> Option<usize> {
        self.numbers.iter().position(|n| n.id == *id)
    }

    /// The number that is shown first: the objective, else the first headline number.
    pub fn first_number(&self) -> Option<usize> {
        self.objective.or((!self.numbers.is_empty()).then_some(0))
    }

    /// The newest step that some run has recorded a number of.
    pub fn last_step(&self) -> u64 {
        let series = self.numbers.iter().flat_map(|n| &n.series);
        series.filter_map(|s| s.last()).map(|(step, _)| *step).max().unwrap_or(0)
    }

    pub fn runs_of(&self, point: usize) -> impl Iterator<Item = (usize, &SweepRun)> {
        self.runs.iter().enumerate().filter(move |(_, run)| run.point == point)
    }

    /// A number of every point at the newest recorded step at or before `step`.
    pub fn values_at_step(&self, number: usize, step: u64) -> ValuesAtStep {
        let mut each: Vec<Vec<(usize, u64, f64)>> = vec![vec![]; self.points.len()];
        if let Some(number) = self.numbers.get(number) {
            for (i, (run, series)) in self.runs.iter().zip(&number.series).enumerate() {
                if let (Some(place), Some((at, value))) = (each.get_mut(run.point), value_at(series, step)) {
                    place.push((i, at, value));
                }
            }
        }
        let value = |each: Vec<(usize, u64, f64)>| {
            let steps = || each.iter().map(|(_, step, _)| *step);
            let (first, last) = (steps().min()?, steps().max()?);
            let summary = SeedSummary::new(&each.iter().map(|(.., v)| *v).collect::<Vec<_>>())?;
            let SeedSummary { mean, sd, interval, .. } = summary;
            let each = each.into_iter().map(|(i, _, v)| (i, v)).collect();
            Some(PointValue { mean, sd, interval, each, steps: [first, last] })
        };
        let values: Vec<Option<PointValue>> = each.into_iter().map(value).collect();
        let known = values.iter().flatten().map(|v| v.steps);
        let steps = known.reduce(|a, b| [a[0].min(b[0]), a[1].max(b[1])]);
        ValuesAtStep { step, steps, values }
    }

    /// Step, mean and standard deviation over the seeds of a point.
    pub fn curve(&self, number: usize, point: usize) -> Vec<[f64; 3]> {
        let Some(number) = self.numbers.get(number) else { return vec![] };
        let of_point = self.runs_of(point).filter_map(|(i, _)| number.series.get(i));
        over_seeds(&of_point.map(|s| s.as_slice()).collect::<Vec<_>>())
    }

    /// The name of a point: "lr 0.001, pool 4".
    pub fn point_name(&self, point: usize) -> String {
        if let Some(name) = self.names.get(point) {
            return name.clone();
        }
        let word = |(i, axis): (usize, &ResultAxis)| format!("{} {}", axis.name(), self.value_label(point, i));
        self.axes.iter().enumerate().map(word).collect::<Vec<_>>().join(", ")
    }

    /// True if the setting of an axis of numbers was changed while a run trained: the run is at the last value.
    fn has_changed_values(&self, axis: usize) -> bool {
        let is_numeric = matches!(self.axes.get(axis).map(|a| &a.kind), Some(AxisKind::Numbers { .. }));
        let mut texts = self.points.iter().filter_map(|point| point.values.get(axis));
        is_numeric && texts.any(|text| is_changed(text))
    }

    /// The title of an axis: its setting, which is the last one of a run where it was changed.
    pub fn axis_title(&self, axis: usize) -> String {
        let last = if self.has_changed_values(axis) { " (last value)" } else { "" };
        self.axes.get(axis).map_or_else(String::new, |a| format!("{}{last}", a.key))
    }

    /// The value of a point on an axis, with at most four digits; both values of a setting that was changed while the
    /// run trained.
    pub fn value_label(&self, point: usize, axis: usize) -> String {
        const MAX_SHORT_CHARS: usize = 7;
        let Some(found) = self.points.get(point) else { return String::new() };
        let text = found.values.get(axis).map_or("", String::as_str);
        let place = found.places.get(axis).copied().unwrap_or(f64::NAN);
        let is_number = matches!(self.axes.get(axis).map(|a| &a.kind), Some(AxisKind::Numbers { .. }));
        if text.len() <= MAX_SHORT_CHARS || !is_number || is_changed(text) {
            return text.to_owned();
        }
        let scientific = format!("{place:.3e}");
        let plain = scientific.parse::<f64>().unwrap_or(place).to_string();
        if plain.len() <= scientific.len() { plain } else { scientific }
    }

    /// True if points can be marked as best at a number: one way is better, there are several, and their spread over seeds can be known.
    pub fn can_mark_best(&self, number: &Number) -> bool {
        number.better.sign().is_some() && self.points.len() > 1 && self.seeds.len() > 1
    }

    /// The points that the number is best at by [`best_within_spread`], among those with a value of the newest step.
    ///
    /// # Errors
    /// [`ONE_SEED`], where one of them has the value of one seed.
    pub fn best(&self, number: usize, values_at_step: &ValuesAtStep) -> Result<Vec<usize>, &'static str> {
        let Some(number) = self.numbers.get(number) else { return Ok(vec![]) };
        let value = |i: usize| {
            let value = values_at_step.values.get(i)?.as_ref().filter(|_| values_at_step.other_steps(i).is_none())?;
            Some((i, value.mean, value.sd))
        };
        best_within_spread(number.better, (0..self.points.len()).filter_map(value))
    }

    pub fn progress(&self) -> RunCounts {
        let mut progress = RunCounts::default();
        for run in &self.runs {
            let count = match run.made.as_ref().map(|m| &m.state) {
                None => &mut progress.missing,
                Some(RowState::Finished) => &mut progress.finished,
                Some(RowState::Running) => &mut progress.running,
                Some(RowState::Paused) => &mut progress.paused,
                Some(RowState::Stopped | RowState::Killed) => &mut progress.unfinished,
                Some(RowState::Failed(_) | RowState::Unreadable) => &mut progress.failed,
            };
            *count += 1;
        }
        progress
    }

    /// The progress of the runs: "5 of 8 runs finished, 1 running, 2 not begun".
    pub fn progress_label(&self) -> String {
        let p = self.progress();
        let others = [
            (p.running, "running"),
            (p.paused, "paused"),
            (p.unfinished, "cut off"),
            (p.failed, "failed"),
            (p.missing, "not begun"),
        ];
        let others = others.into_iter().filter(|(n, _)| *n > 0).map(|(n, words)| format!(", {n} {words}"));
        format!("{} of {} runs finished{}", p.finished, self.runs.len(), others.collect::<String>())
    }

    /// The reasons for which runs failed, each listed once.
    pub fn failures(&self) -> Vec<String> {
        let why = |run: &SweepRun| match run.made.as_ref().map(|m| &m.state) {
            Some(RowState::Failed(why)) => Some(why.clone()),
            Some(_) => None,
            None => run.refusal.clone(),
        };
        distinct(self.runs.iter().filter_map(why))
    }
}

/// The rule of [`best_within_spread`], shown beside its marks.
pub const BEST_RULE: &str = "Every point is marked whose mean \u{b1} standard deviation over seeds overlaps with that of the best \
                             mean; none where all do.";

/// The reason why no point is marked where one has one seed.
pub const ONE_SEED: &str = "no point is marked as best: the spread of one seed is not known";

/// The place of the best mean, and every one whose mean and standard deviation overlap with the best one's, of places with mean
/// and standard deviation: no test, but none is called best on a difference within the spread. None where all overlap, and where
/// neither way is better.
///
/// # Errors
/// [`ONE_SEED`], where the standard deviation of one is not known: it may overlap with any.
pub fn best_within_spread(
    better: Better,
    numbers: impl Iterator<Item = (usize, f64, Option<f64>)>,
) -> Result<Vec<usize>, &'static str> {
    let Some(sign) = better.sign() else { return Ok(vec![]) };
    let finite = numbers.filter(|(_, mean, _)| mean.is_finite());
    let numbers = finite.map(|(place, mean, sd)| Some((place, mean, sd?))).collect::<Option<Vec<(usize, f64, f64)>>>();
    let numbers = numbers.ok_or(ONE_SEED)?;
    let best = numbers.iter().min_by(|a, b| (sign * a.1).total_cmp(&(sign * b.1)));
    let Some(&(_, best, spread)) = best else { return Ok(vec![]) };
    let is_as_good = |(_, mean, sd): &(usize, f64, f64)| (mean - best).abs() <= spread + sd;
    let count = numbers.len();
    let as_good: Vec<usize> = numbers.into_iter().filter(is_as_good).map(|(place, ..)| place).collect();
    Ok(if count > 1 && as_good.len() == count { vec![] } else { as_good })
}

impl RunCounts {
    /// Runs that `--missing` would make or continue.
    pub fn to_make(&self) -> usize {
        self.unfinished + self.failed + self.missing
    }
}

#[cfg(test)]
mod tests;
