//! A sweep as one makes it by hand: settings that are ticked, each with values as they are typed, seeds, an objective. It is
//! checked while it is made, and becomes the same file that one would write.

use std::collections::BTreeMap;

use super::{
    Axis, AxisFile, AxisRange, AxisScale, DEFAULT_SAMPLES, DEFAULT_SEEDS, Seeds, Sweep, SweepError, SweepFile,
};
use crate::{
    analysis::distinct::distinct,
    config::{Config, Knob, Range, Value, counted},
    labs::{
        Lab,
        headline::{Better, Headline},
    },
};

/// Sweeps with at most this many points are checked while the user types; larger ones before they are written.
const MAX_CHECKED_POINTS: usize = 256;

#[derive(Debug, Clone, PartialEq)]
pub struct DraftAxis {
    pub key: String,
    pub is_range: bool,
    /// Values with commas between them, as typed.
    pub list: String,
    /// Ends of a range, as typed.
    pub from: String,
    pub to: String,
    pub points: usize,
    pub is_log: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct SweepDraft {
    pub name: String,
    pub axes: Vec<DraftAxis>,
    pub seeds: u64,
    /// The number of points that are drawn if the sweep varies more than two settings.
    pub samples: usize,
    /// The headline number that ranks the points; empty if there is none.
    pub objective: String,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct DraftCheck {
    /// Errors of the axes, by key.
    pub axes: BTreeMap<String, String>,
    pub general_error: Option<String>,
    pub points: usize,
    pub runs: usize,
    /// True if every point was tried; otherwise all are tried before anything is written.
    pub is_checked: bool,
    /// The specification, where nothing is wrong.
    pub file: Option<SweepFile>,
}

impl DraftAxis {
    /// A setting with values around the one it has.
    fn new(knob: &Knob, value: &Value) -> Self {
        let (list, ends) = match (&knob.range, value) {
            (Range::Switch, _) => ("true, false".to_owned(), None),
            (Range::Choice(of), _) => (of.join(", "), None),
            (Range::Int { min, max }, Value::Int(v)) => {
                let around = [(v / 2).max(*min), *v, v.saturating_mul(2).min(*max)];
                (joined(&around), Some([around[0] as f64, around[2] as f64]))
            }
            (Range::Float { min, max, log }, Value::Float(v)) => {
                let around = match *log && *v > 0.0 {
                    true => [(v / 3.0).max(*min), (v * 3.0).min(*max)],
                    false => [(v * 0.5).max(*min), if *v == 0.0 { *max } else { (v * 1.5).min(*max) }],
                };
                let around = around.map(rounded);
                (joined(&[around[0], *v, around[1]]), Some(around))
            }
            (_, value) => (value.to_string(), None),
        };
        let is_log = matches!(knob.range, Range::Float { log: true, .. });
        let [from, to] = ends.map_or([String::new(), String::new()], |ends| ends.map(|v| v.to_string()));
        let is_range = matches!(knob.range, Range::Float { .. }) && from != to;
        Self { key: knob.key.to_owned(), is_range, list, from, to, points: 4, is_log }
    }

    /// True if the knob may be a range.
    pub fn is_number(knob: &Knob) -> bool {
        matches!(knob.range, Range::Int { .. } | Range::Float { .. })
    }

    fn file(&self, knob: &Knob) -> Result<AxisFile, String> {
        if !self.is_range {
            let is_text = matches!(knob.range, Range::Text | Range::File(_) | Range::Choice(_));
            let words = self.list.split(',').map(str::trim).filter(|word| !word.is_empty());
            return Ok(AxisFile::List(words.map(|word| Value::parse(word, is_text)).collect()));
        }
        let end = |text: &str| text.trim().parse::<f64>().map_err(|_| format!("`{}` is not a number", text.trim()));
        let scale = if self.is_log { AxisScale::Log } else { AxisScale::Linear };
        Ok(AxisFile::Range(AxisRange { from: end(&self.from)?, to: end(&self.to)?, points: self.points, scale }))
    }
}

fn joined(values: &[impl ToString]) -> String {
    distinct(values.iter().map(ToString::to_string)).join(", ")
}

/// Two digits, as one would type it.
fn rounded(v: f64) -> f64 {
    format!("{v:.1e}").parse().unwrap_or(v)
}

impl SweepDraft {
    /// A draft without axes, named after the settings' preset.
    pub fn new(lab: &Lab, config: &Config) -> Self {
        let name = if config.preset.is_empty() { lab.id } else { config.preset.as_str() };
        let objective = objectives(lab, config).into_iter().next().map(|first| first.id).unwrap_or_default();
        Self { name: name.to_owned(), axes: vec![], seeds: DEFAULT_SEEDS, samples: DEFAULT_SAMPLES, objective }
    }

    pub fn axis(&self, key: &str) -> Option<&DraftAxis> {
        self.axes.iter().find(|axis| axis.key == key)
    }

    /// Adds a setting as an axis, or removes its axis.
    pub fn toggle(&mut self, knob: &Knob, value: &Value) {
        match self.axes.iter().position(|axis| axis.key == knob.key) {
            Some(place) => _ = self.axes.remove(place),
            None => self.axes.push(DraftAxis::new(knob, value)),
        }
    }

    pub fn check(&self, lab: &'static Lab, config: &Config) -> DraftCheck {
        let mut check = DraftCheck::default();
        let knobs = (lab.knobs)();
        let (base, base_name) = match lab.config(Some(&config.preset)) {
            Ok(base) => (base, config.preset.as_str()),
            Err(_) => match lab.config(None) {
                Ok(base) => (base, lab.id),
                Err(e) => return DraftCheck { general_error: Some(e.to_string()), ..check },
            },
        };
        let mut axes = BTreeMap::new();
        let mut count = 1usize;
        for draft in &self.axes {
            let Some(knob) = knobs.iter().find(|knob| knob.key == draft.key) else { continue };
            let made = draft.file(knob).and_then(|file| {
                let axis = Axis::new(&draft.key, &file, lab, config).map_err(|e| e.about_axis())?;
                Ok((file, axis.len()))
            });
            match made {
                Ok((file, len)) => {
                    count = count.saturating_mul(len);
                    axes.insert(draft.key.clone(), file);
                }
                Err(words) => _ = check.axes.insert(draft.key.clone(), words),
            }
        }
        let samples = (self.axes.len() > 2).then_some(self.samples);
        check.points = samples.unwrap_or(count);
        check.runs = check.points.saturating_mul(self.seeds as usize);
        if !check.axes.is_empty() || self.axes.is_empty() {
            return check;
        }
        let changed = config.changed_keys(&base).into_iter().filter(|key| !axes.contains_key(key));
        let set = changed.filter_map(|key| config.get(&key).map(|value| (key.clone(), value.clone()))).collect();
        let each = || (config.seed..config.seed.saturating_add(self.seeds)).collect();
        let file = SweepFile {
            base: base_name.to_owned(),
            name: Some(self.name.trim().to_owned()),
            seeds: Some(if config.seed == base.seed { Seeds::Count(self.seeds) } else { Seeds::Each(each()) }),
            objective: (!self.objective.is_empty()).then(|| self.objective.clone()),
            samples,
            set,
            axes,
        };
        check.try_points(file, lab, &base);
        check
    }
}

impl DraftCheck {
    /// Tries the points, if they are few.
    fn try_points(&mut self, file: SweepFile, lab: &'static Lab, base: &Config) {
        self.is_checked = self.points <= MAX_CHECKED_POINTS;
        let made = if self.is_checked {
            Sweep::new(&file, lab, base).map(|s| (s.points.len(), s.seeds.len()))
        } else {
            Ok((self.points, self.runs / self.points.max(1)))
        };
        match made {
            Ok((points, seeds)) => {
                (self.points, self.runs) = (points, points * seeds);
                self.file = Some(file);
            }
            Err(e) => match e.axis() {
                Some(key) => _ = self.axes.insert(key.to_owned(), e.about_axis()),
                None => self.general_error = Some(e.to_string()),
            },
        }
    }

    /// A sentence with the number of runs: "4 points × 3 seeds = 12 runs".
    pub fn sentence(&self) -> String {
        let seeds = self.runs / self.points.max(1);
        format!("{} × {} = {}", counted(self.points, "point"), counted(seeds, "seed"), counted(self.runs, "run"))
    }
}

impl SweepError {
    fn axis(&self) -> Option<&str> {
        match self {
            Self::Axis { key, .. } | Self::Values { key, .. } => Some(key),
            _ => None,
        }
    }

    /// The message without the axis' name, which is shown beside it.
    fn about_axis(&self) -> String {
        match self {
            Self::Axis { source, .. } => source.to_string(),
            Self::Values { why, .. } => format!("it {why}"),
            other => other.to_string(),
        }
    }
}

/// A number that may rank the points.
#[derive(Debug, Clone, PartialEq)]
pub struct ObjectiveChoice {
    /// The name in a specification's file: "held_out_loss of coupled".
    pub id: String,
    /// For example "held-out loss (nats), coupled".
    pub label: String,
}

/// The numbers that may rank the points of a sweep of these settings: headline numbers with a better direction, for each group of variants.
pub fn objectives(lab: &Lab, config: &Config) -> Vec<ObjectiveChoice> {
    let variants = (lab.plan)(config).map(|plan| plan.variants).unwrap_or_default();
    let groups = distinct(variants.iter().map(|variant| variant.group.as_str()));
    let group_label = |group: &str| {
        let mut members = variants.iter().filter(|variant| variant.group == group);
        match (members.next(), members.next()) {
            (Some(only), None) => only.label.clone(),
            _ => group.to_owned(),
        }
    };
    let ranks = lab.headlines.iter().filter(|h| h.better != Better::Neither);
    let choices = |h: &Headline| -> Vec<ObjectiveChoice> {
        let (id, heading) = (h.id, h.heading(h.id));
        let of_group = |group: &&str| ObjectiveChoice {
            id: format!("{id} of {group}"),
            label: format!("{heading}, {}", group_label(group)),
        };
        match groups.len() {
            0 | 1 if h.is_paired() => vec![],
            0 | 1 => vec![ObjectiveChoice { id: id.to_owned(), label: heading }],
            _ => groups.iter().skip(usize::from(h.is_paired())).map(of_group).collect(),
        }
    };
    ranks.flat_map(choices).collect()
}

#[cfg(test)]
mod tests;
