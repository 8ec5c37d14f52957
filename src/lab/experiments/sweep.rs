//! A sweep: one preset over values of some of its settings and over seeds. From its file it is made into points, each a
//! complete config.

pub mod draft;
pub mod exponent;
pub mod results;
pub mod series;

use std::{collections::BTreeMap, fmt};

use serde::{
    Deserialize, Deserializer, Serialize,
    de::{
        MapAccess, SeqAccess, Visitor,
        value::{MapAccessDeserializer, SeqAccessDeserializer},
    },
};

use crate::{
    analysis::distinct::distinct,
    config::{Config, ConfigError, Setting, Value, did_you_mean, toml_error_message},
    labs::{Lab, RunSettings, headline::split_key},
};

/// The number of seeds of a sweep that does not name them, from the seed of its base on.
const DEFAULT_SEEDS: u64 = 3;
/// Points of a sweep over more than two settings that says nothing of them.
const DEFAULT_SAMPLES: usize = 32;
/// Larger sweeps are refused, because so many runs are more likely a typing error than an intention.
pub const MAX_RUNS: usize = 10_000;
const MAX_VALUES: usize = 1000;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SweepFile {
    /// The base that all points share: a lab, a preset or a config file.
    pub base: String,
    /// The name of the sweep's folder; absent, it is the name of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The number of seeds, counted from the base's, or a list of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seeds: Option<Seeds>,
    /// The headline number that ranks the points: `accuracy`, `accuracy@16`, or `accuracy of coupled` for one variant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objective: Option<String>,
    /// Points drawn between the ends of the axes; a grid of one or two axes without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples: Option<usize>,
    /// Settings that differ from the base at every point.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub set: BTreeMap<String, Value>,
    pub axes: BTreeMap<String, AxisFile>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "`seeds` is a number of seeds, such as 3, or a list of whole numbers from 0, such as [7, 8, 9]"
)]
pub enum Seeds {
    Count(u64),
    Each(Vec<u64>),
}

/// An axis in a file: its values one by one, or a range of numbers.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum AxisFile {
    List(Vec<Value>),
    Range(AxisRange),
}

/// By hand, because serde says of an untagged enum only that nothing fits, and not which part of a range is wrong.
impl<'de> Deserialize<'de> for AxisFile {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(AxisVisitor)
    }
}

struct AxisVisitor;

impl<'de> Visitor<'de> for AxisVisitor {
    type Value = AxisFile;

    fn expecting(&self, words: &mut fmt::Formatter<'_>) -> fmt::Result {
        words.write_str("a list of values, such as [1e-3, 1e-2], or a range, such as { from = 1e-3, to = 1e-2 }")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, values: A) -> Result<AxisFile, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(values)).map(AxisFile::List)
    }

    fn visit_map<A: MapAccess<'de>>(self, range: A) -> Result<AxisFile, A::Error> {
        AxisRange::deserialize(MapAccessDeserializer::new(range)).map(AxisFile::Range)
    }
}

/// Numbers from one end to another.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AxisRange {
    pub from: f64,
    pub to: f64,
    /// Values of a grid, both ends among them.
    #[serde(default = "default_points")]
    pub points: usize,
    #[serde(default)]
    pub scale: AxisScale,
}

fn default_points() -> usize {
    5
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AxisScale {
    #[default]
    Linear,
    Log,
}

#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    #[error("the specification cannot be read: {}", toml_error_message(.0))]
    Syntax(toml::de::Error),
    #[error("a sweep needs an axis: write the settings that vary under [axes], such as \"train.lr\" = [1e-3, 1e-2]")]
    NoAxis,
    #[error("the axis `{key}`: {source}")]
    Axis { key: String, source: ConfigError },
    #[error("the axis `{key}` {why}")]
    Values { key: String, why: String },
    #[error("`seeds` is empty: give a number of seeds, or some seeds")]
    NoSeeds,
    #[error("`samples` is 0: give a number of points, or leave it out")]
    NoSamples,
    #[error("{runs} runs are too many; {MAX_RUNS} is the most: give fewer values, samples or seeds")]
    TooMany { runs: usize },
    #[error("point {point} ({values}) cannot be run: {source}")]
    Point { point: usize, values: String, source: ConfigError },
    #[error("no headline number of the lab {lab} is called `{asked}`; it has {known}")]
    Objective { lab: &'static str, asked: String, known: String },
    #[error(transparent)]
    Base(#[from] ConfigError),
}

/// A setting that varies, with the values or the range that it takes.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    pub key: String,
    pub values: AxisFile,
}

/// The headline number that ranks points.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Objective {
    /// The key of the number, with a position such as a layer if the number has several.
    pub key: String,
    /// The group of variants; without one, the first that has the number.
    pub group: Option<String>,
}

impl Objective {
    /// Parses "accuracy of coupled", or "accuracy" for the first group that has it.
    pub fn parse(text: &str) -> Self {
        let (key, group) = text.split_once(" of ").map_or((text, None), |(key, group)| (key, Some(group.trim())));
        Self { key: key.trim().to_owned(), group: group.map(str::to_owned) }
    }

    /// Returns true if the objective is this number of a group. A key without a position matches every position.
    pub fn is_number(&self, key: &str, group: &str) -> bool {
        (key == self.key || split_key(key).0 == self.key) && self.group.as_ref().is_none_or(|own| own == group)
    }
}

/// A sweep whose every point can be run.
pub struct Sweep {
    pub lab: &'static Lab,
    pub axes: Vec<Axis>,
    pub seeds: Vec<u64>,
    pub objective: Option<Objective>,
    /// The config of each point with the first seed.
    pub points: Vec<Config>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SweepTask {
    /// Index of the point, from 0.
    pub point: usize,
    pub seed: u64,
}

impl SweepFile {
    pub fn parse(text: &str) -> Result<Self, SweepError> {
        toml::from_str(text).map_err(SweepError::Syntax)
    }

    /// Writes the text from which [`SweepFile::parse`] makes an equal value.
    pub fn to_toml(&self) -> Result<String, String> {
        toml::to_string(self).map_err(|e| e.to_string())
    }
}

impl Sweep {
    /// The sweep of a file whose `base` is this config.
    pub fn new(file: &SweepFile, lab: &'static Lab, base: &Config) -> Result<Self, SweepError> {
        let knobs = (lab.knobs)();
        let mut base = base.clone();
        // The runs of a sweep share the cores; a point or the base may say otherwise.
        if base.value(RunSettings::threads).is_ok_and(|threads| threads == 0) {
            base.set(&knobs, RunSettings::threads.name, 1usize.to_value())?;
        }
        for (key, value) in &file.set {
            base.set(&knobs, key, value.clone())?;
        }
        let axes: Vec<Axis> =
            file.axes.iter().map(|(key, axis)| Axis::new(key, axis, lab, &base)).collect::<Result<_, _>>()?;
        if axes.is_empty() {
            return Err(SweepError::NoAxis);
        }
        let seeds = match &file.seeds {
            None => (base.seed..base.seed.saturating_add(DEFAULT_SEEDS)).collect(),
            Some(Seeds::Count(count)) => {
                (base.seed..base.seed.saturating_add((*count).min(MAX_RUNS as u64 + 1))).collect()
            }
            Some(Seeds::Each(each)) => distinct(each.iter().copied()),
        };
        let objective = file.objective.as_deref().map(|asked| objective(asked, lab)).transpose()?;
        if seeds.is_empty() {
            return Err(SweepError::NoSeeds);
        }
        let samples = match file.samples {
            Some(0) => return Err(SweepError::NoSamples),
            None if axes.len() > 2 => Some(DEFAULT_SAMPLES),
            samples => samples,
        };
        let count = samples.unwrap_or_else(|| axes.iter().map(Axis::len).fold(1, usize::saturating_mul));
        let runs = count.saturating_mul(seeds.len());
        if runs > MAX_RUNS {
            return Err(SweepError::TooMany { runs });
        }
        let places = samples.map_or_else(|| grid(&axes, &base), |n| quasi_random(&axes, &base, n));
        let mut sweep = Self { lab, axes, seeds, objective, points: vec![] };
        for values in places {
            sweep.add(values, &base)?;
        }
        Ok(sweep)
    }

    /// Adds a point with these values, unless the sweep has it already.
    fn add(&mut self, values: Vec<Value>, base: &Config) -> Result<(), SweepError> {
        let knobs = (self.lab.knobs)();
        let mut config = base.clone();
        config.seed = self.seeds[0];
        for (axis, value) in self.axes.iter().zip(values) {
            let set = config.set(&knobs, &axis.key, value);
            set.map_err(|source| SweepError::Axis { key: axis.key.clone(), source })?;
        }
        if self.points.contains(&config) {
            return Ok(());
        }
        if let Err(source) = (self.lab.plan)(&config) {
            let values = self.values_label(&config);
            return Err(SweepError::Point { point: self.points.len() + 1, values, source });
        }
        self.points.push(config);
        Ok(())
    }

    /// For example "train.lr = 0.001, model.d_model = 64".
    pub fn values_label(&self, config: &Config) -> String {
        let word = |axis: &Axis| format!("{} = {}", axis.key, self.value(config, axis));
        self.axes.iter().map(word).collect::<Vec<_>>().join(", ")
    }

    /// The value of a config on an axis, as text.
    pub fn value(&self, config: &Config, axis: &Axis) -> String {
        config.get(&axis.key).map(ToString::to_string).unwrap_or_default()
    }

    /// Every run, point by point.
    pub fn tasks(&self) -> Vec<SweepTask> {
        let of_point = |point| self.seeds.iter().map(move |seed| SweepTask { point, seed: *seed });
        (0..self.points.len()).flat_map(of_point).collect()
    }

    pub fn config(&self, task: SweepTask) -> Config {
        let mut config = self.points[task.point].clone();
        config.seed = task.seed;
        config
    }
}

/// Every combination, the last axis fastest.
fn grid(axes: &[Axis], base: &Config) -> Vec<Vec<Value>> {
    axes.iter().fold(vec![vec![]], |points, axis| {
        let with = |point: &Vec<Value>, i| point.iter().cloned().chain([axis.at(i, base)]).collect();
        points.iter().flat_map(|point| (0..axis.len()).map(move |i| with(point, i))).collect()
    })
}

/// `count` points of an Owen-scrambled Sobol sequence (Burley, J. Comput. Graph. Tech. 9(4), 2020), which fill the space
/// evenly and any axis by itself too. The same sweep has the same points, and a longer one begins with those of a shorter.
fn quasi_random(axes: &[Axis], base: &Config, count: usize) -> Vec<Vec<Value>> {
    let value = |axis: &Axis, dimension: usize, i: usize| {
        let share = f64::from(sobol_burley::sample(i as u32, dimension as u32, 0));
        match &axis.values {
            AxisFile::List(values) => values[((share * values.len() as f64) as usize).min(values.len() - 1)].clone(),
            AxisFile::Range(range) => range.value(share, matches!(base.get(&axis.key), Some(Value::Int(_)))),
        }
    };
    let point = |i| axes.iter().enumerate().map(|(dimension, axis)| value(axis, dimension, i)).collect();
    (0..count).map(point).collect()
}

/// Checks an objective such as "accuracy of coupled" against the lab.
fn objective(asked: &str, lab: &'static Lab) -> Result<Objective, SweepError> {
    let objective = Objective::parse(asked);
    if lab.headline(&objective.key).is_none() {
        let known: Vec<&str> = lab.headlines.iter().map(|h| h.id).collect();
        let hint = did_you_mean(split_key(&objective.key).0, known.iter().copied());
        let known = format!("{}{hint}", known.join(", "));
        return Err(SweepError::Objective { lab: lab.title, asked: asked.to_owned(), known });
    }
    Ok(objective)
}

impl Axis {
    fn new(key: &str, file: &AxisFile, lab: &Lab, base: &Config) -> Result<Self, SweepError> {
        let why = match file {
            AxisFile::List(list) if list.is_empty() => Some("has no values: give at least one"),
            AxisFile::List(list) if list.len() > MAX_VALUES => Some("has more than 1,000 values"),
            AxisFile::Range(r) if !(r.from.is_finite() && r.to.is_finite()) => {
                Some("needs ends that are numbers: from = 1e-4, to = 1e-2")
            }
            AxisFile::Range(r) if r.scale == AxisScale::Log && (r.from <= 0.0 || r.to <= 0.0) => {
                Some("is logarithmic and must lie above 0")
            }
            AxisFile::Range(r) if !(2..=MAX_VALUES).contains(&r.points) => Some("needs 2 to 1,000 points"),
            AxisFile::List(_) | AxisFile::Range(_) => None,
        };
        if let Some(why) = why {
            return Err(SweepError::Values { key: key.to_owned(), why: why.to_owned() });
        }
        let axis = Self { key: key.to_owned(), values: file.clone() };
        // each value is checked alone, so that the message names its axis
        let knobs = (lab.knobs)();
        for value in (0..axis.len()).map(|i| axis.at(i, base)) {
            let set = base.clone().set(&knobs, key, value);
            set.map_err(|source| SweepError::Axis { key: key.to_owned(), source })?;
        }
        Ok(axis)
    }

    fn len(&self) -> usize {
        match &self.values {
            AxisFile::List(values) => values.len(),
            AxisFile::Range(range) => range.points,
        }
    }

    fn at(&self, i: usize, base: &Config) -> Value {
        match &self.values {
            AxisFile::List(values) => values[i].clone(),
            AxisFile::Range(range) => {
                range.value(i as f64 / (range.points - 1) as f64, matches!(base.get(&self.key), Some(Value::Int(_))))
            }
        }
    }
}

impl AxisRange {
    /// The value at a share of the way from one end to the other; `is_whole` rounds to whole numbers.
    fn value(&self, share: f64, is_whole: bool) -> Value {
        let between = match self.scale {
            AxisScale::Linear => self.from + share * (self.to - self.from),
            AxisScale::Log => (self.from.ln() + share * (self.to.ln() - self.from.ln())).exp(),
        };
        match is_whole {
            true => Value::Int(between.round() as i64),
            // twelve digits, so that both ends are what was written
            false => Value::Float(format!("{between:.11e}").parse().unwrap_or(between)),
        }
    }
}

#[cfg(test)]
mod tests;
