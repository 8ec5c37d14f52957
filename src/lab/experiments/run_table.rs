//! The table of runs: one row per run folder, the filters for it, and the order of rows.

pub mod filter;
pub mod order;
pub mod query;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use serde::{Deserialize, Serialize};

use super::{
    headline_values::HeadlineValues,
    run_terms::{RunTerms, loss_unit},
};
use crate::{
    analysis::statistics::mean,
    config::{Config, Value},
    labs::{
        self, Lab, RunSettings,
        headline::{Headline, common},
    },
    telemetry::{RunNote, number},
};

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RowState {
    /// A process is training the run.
    Running,
    /// A process holds the folder but is not training now.
    Paused,
    Finished,
    /// Ended by a person, with a checkpoint.
    Stopped,
    Failed(String),
    /// No end is recorded, and no process writes the folder.
    Killed,
    /// The folder of the run cannot be read.
    #[default]
    Unreadable,
}

impl RowState {
    pub const ALL: [Self; 7] = [
        Self::Running,
        Self::Paused,
        Self::Finished,
        Self::Stopped,
        Self::Failed(String::new()),
        Self::Killed,
        Self::Unreadable,
    ];

    /// The state as a single word, for a filter.
    pub fn id(&self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Paused => "paused",
            Self::Finished => "finished",
            Self::Stopped => "stopped",
            Self::Failed(_) => "failed",
            Self::Killed => "killed",
            Self::Unreadable => "unreadable",
        }
    }

    /// True if some process has the run, so that no other may write its folder.
    pub fn is_in_use(&self) -> bool {
        matches!(self, Self::Running | Self::Paused)
    }
}

/// The last losses of one variant's seeds, nats per token; NaN where there is none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GroupLoss {
    pub group: String,
    /// The name in a legend.
    pub label: String,
    #[serde(with = "number::Float")]
    pub train: f64,
    #[serde(with = "number::Float")]
    pub held_out: f64,
    /// The step at which the held-out loss was measured; `None` without one.
    pub held_out_step: Option<u64>,
}

impl GroupLoss {
    /// The held-out loss with its step where it was measured, else that of training; `None` without either.
    pub fn last(&self) -> Option<(f64, Option<u64>)> {
        let last = if self.held_out.is_nan() { (self.train, None) } else { (self.held_out, self.held_out_step) };
        Some(last).filter(|(loss, _)| !loss.is_nan())
    }
}

/// A run folder in the table.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RunRow {
    /// The folder's name.
    pub folder: String,
    /// Path of the folder; no index keeps it.
    #[serde(skip)]
    pub path: PathBuf,
    #[serde(skip)]
    pub note: RunNote,
    /// The sweep whose run it is, by its name; empty for a run of its own. No index keeps it.
    #[serde(skip)]
    pub sweep: String,
    /// Problems of the folder, a sentence each.
    pub problems: Vec<String>,
    /// The problems by which a part of the record is lost, a sentence each.
    pub damage: Vec<String>,
    pub lab: String,
    pub preset: String,
    pub seed: u64,
    /// Every setting, by key.
    pub settings: BTreeMap<String, Value>,
    /// The settings that differ from the preset, by key, with their last values.
    pub changed: BTreeMap<String, Value>,
    /// The settings that were changed while it trained, by key, with their last values; also those that are the preset's
    /// again.
    pub changed_in_training: BTreeMap<String, Value>,
    /// Seconds since 1970.
    pub began: i64,
    /// The local time of the start: "2026-01-31 14:25".
    pub when: String,
    /// Newest recorded step.
    pub steps: u64,
    pub total_steps: u64,
    /// The losses in the order of the run's variants.
    pub losses: Vec<GroupLoss>,
    pub headlines: HeadlineValues,
    pub state: RowState,
    /// Size of everything in the folder.
    pub bytes: u64,
}

/// Settings in which a config differs from its preset, or from the lab's defaults where the preset is not known. Another
/// program's run has neither, so that all of its settings are its own.
pub fn changed_settings(lab: &Lab, config: &Config) -> BTreeMap<String, Value> {
    changed_at_last(lab, config, &BTreeMap::new())
}

/// Same as [`changed_settings`], with the last values of the settings that were changed while the run trained.
pub fn changed_at_last(lab: &Lab, config: &Config, live: &BTreeMap<String, Value>) -> BTreeMap<String, Value> {
    let begun_with = config.iter().map(|(key, value)| (key.to_owned(), value.clone()));
    let all: BTreeMap<String, Value> = begun_with.chain(live.clone()).collect();
    if !lab.makes_runs() {
        return all;
    }
    let preset = lab.preset(&config.preset).map(|p| p.id);
    let usual = preset.and_then(|id| lab.config(Some(id)).ok());
    let usual = usual.unwrap_or_else(|| Config::defaults(lab.id, &(lab.knobs)()));
    // A setting that this version no longer has differs from nothing.
    let differs = |key: &str, value: &Value| usual.get(key).is_some_and(|usual| usual != value);
    all.into_iter().filter(|(key, value)| differs(key, value)).collect()
}

/// The value of a setting, of one that was changed while the run trained behind the one that it began with: "0.003 → 0.001";
/// empty without either.
pub fn value_label(key: &str, first: Option<&Value>, last: Option<&Value>) -> String {
    let label = |value: &Value| match value {
        Value::Int(0) if key == RunSettings::threads.name => "auto".to_owned(),
        value => value.to_string(),
    };
    match (first, last) {
        (Some(first), Some(last)) if first != last => format!("{} \u{2192} {}", label(first), label(last)),
        (first, last) => first.or(last).map_or_else(String::new, label),
    }
}

impl RunRow {
    /// The name in the table.
    pub fn title(&self) -> &str {
        if self.note.name.is_empty() { &self.folder } else { &self.note.name }
    }

    /// The state as text: "killed at step 412".
    pub fn state_label(&self) -> String {
        let id = self.state.id();
        match &self.state {
            RowState::Running | RowState::Paused if self.total_steps == 0 => format!("{id}, step {}", self.steps),
            RowState::Running | RowState::Paused => format!("{id}, step {} of {}", self.steps, self.total_steps),
            RowState::Finished => id.to_owned(),
            RowState::Failed(_) | RowState::Stopped | RowState::Killed => format!("{id} at step {}", self.steps),
            RowState::Unreadable => "cannot be read".to_owned(),
        }
    }

    /// The settings that differ from the preset or from those that the run began with: "train.lr 0.003 → 0.001,
    /// train.steps 200"; empty where none does.
    pub fn changed_label(&self) -> String {
        let words = self.changed_or_moved().into_iter().map(|(key, last)| self.change_label(key, last));
        words.collect::<Vec<_>>().join(", ")
    }

    /// The settings that differ from the preset or from those that the run began with, with their last values.
    pub fn changed_or_moved(&self) -> BTreeMap<&String, &Value> {
        self.changed.iter().chain(self.later_changes()).collect()
    }

    /// The settings that have another value at last than the run began with.
    fn later_changes(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.changed_in_training.iter().filter(move |(key, last)| self.settings.get(*key) != Some(*last))
    }

    /// True if the run differs from another in nothing but the preset's name and the seed.
    pub fn has_settings_of(&self, other: &Self) -> bool {
        self.lab == other.lab && self.settings == other.settings && self.later_changes().eq(other.later_changes())
    }

    /// The settings that were changed while it trained: "changed while training: train.lr 0.003 → 0.001"; empty where
    /// none was.
    pub fn changed_in_training_label(&self) -> String {
        let all: Vec<String> = self.changed_in_training.keys().map(|key| self.setting_label(key)).collect();
        if all.is_empty() { String::new() } else { format!("changed while training: {}", all.join(", ")) }
    }

    /// A setting with its [value](value_label), or "train.lr (back at 0.003)" where it was changed while the run trained
    /// and put back.
    pub fn setting_label(&self, key: &str) -> String {
        match self.changed_in_training.get(key) {
            Some(last) if self.settings.get(key) == Some(last) => format!("{key} (back at {last})"),
            _ => format!("{key} {}", self.value_label(key)),
        }
    }

    /// A setting with its last value, behind the one that the run began with where that was another.
    fn change_label(&self, key: &str, last: &Value) -> String {
        format!("{key} {}", value_label(key, self.settings.get(key), Some(last)))
    }

    /// The [label](value_label) of a setting's value.
    pub fn value_label(&self, key: &str) -> String {
        value_label(key, self.settings.get(key), self.changed_in_training.get(key))
    }

    /// The step of a measurement, " (step 0)", where it is not the run's newest.
    pub fn step_label(&self, measured: Option<u64>) -> String {
        measured.filter(|step| *step != self.steps).map_or(String::new(), |step| format!(" (step {step})"))
    }

    /// Values briefly: "1.37 / 1.38"; where they were not measured at the run's newest step, with the step of their
    /// measurement: "5.55 / 5.56 (step 0)".
    fn values_label(&self, values: &[(String, Option<u64>)]) -> String {
        const MAX_SHOWN: usize = 3;
        let first = values.first().map_or(String::new(), |(_, step)| self.step_label(*step));
        let has_one_step = values.iter().all(|(_, step)| self.step_label(*step) == first);
        let cell = |(value, step): &(String, Option<u64>)| match has_one_step {
            true => value.clone(),
            false => format!("{value}{}", self.step_label(*step)),
        };
        let mut words: Vec<String> = values.iter().take(MAX_SHOWN).map(cell).collect();
        if values.len() > MAX_SHOWN {
            words.push("…".to_owned());
        }
        format!("{}{}", words.join(" / "), if has_one_step { &first } else { "" })
    }

    /// The headline number of each group of variants, mean over seeds, in the order of the run's variants.
    pub fn headline(&self, key: &str) -> Vec<(&str, f64)> {
        let groups = self.losses.iter().map(|l| (l.label.as_str(), l.group.as_str()));
        groups.filter_map(|(label, group)| Some((label, self.headlines.group(key, group)?.mean))).collect()
    }

    /// A headline number of every variant briefly: "0.0001 / 2.3145".
    pub fn headline_label(&self, key: &str) -> String {
        let Some(headline) = self.headline_of(key) else { return String::new() };
        let step = |group: &str| self.headlines.step(key, group);
        let of_group =
            |l: &GroupLoss| Some((headline.digits.format(self.headlines.group(key, &l.group)?.mean), step(&l.group)));
        self.values_label(&self.losses.iter().filter_map(of_group).collect::<Vec<_>>())
    }

    /// The terms in which the run's numbers are named.
    pub fn terms(&self) -> RunTerms {
        let groups = self.losses.iter().map(|loss| (loss.group.clone(), loss.label.clone())).collect();
        RunTerms::new(loss_unit(&self.lab, |key| self.settings.get(key)), groups)
    }

    /// The declaration of a headline number of this run's lab.
    pub fn headline_of(&self, key: &str) -> Option<&'static Headline> {
        labs::find(&self.lab)?.headline(key)
    }

    /// The last loss of every variant: held-out where it was measured, else that of training. In words: "1.37 / 1.37".
    pub fn loss_label(&self) -> String {
        let known = self.losses.iter().filter_map(GroupLoss::last);
        self.values_label(&known.map(|(loss, step)| (common::LOSS.digits.format(loss), step)).collect::<Vec<_>>())
    }

    /// The numbers that a key names, one per variant where variants have their own: `steps`, `seed`, `size`, `loss`, a
    /// setting by its whole key or its last part, a headline number; of one group of variants alone in `accuracy:coupled`.
    /// A setting that was changed while the run trained has two. `None`: the run has none of that name.
    pub fn numbers(&self, key: &str) -> Option<Vec<f64>> {
        self.measured_numbers(key).or_else(|| {
            let set: Vec<f64> = self.set_values(key).into_iter().filter_map(Value::as_f64).collect();
            Some(set).filter(|set| !set.is_empty())
        })
    }

    /// The number that a run is sorted by: that of the first variant that has it, the last one of a setting.
    pub fn sort_number(&self, key: &str) -> Option<f64> {
        let number = match self.measured_numbers(key) {
            Some(all) => all.into_iter().find(|v| !v.is_nan()),
            None => self.last_setting(key).and_then(Value::as_f64),
        };
        number.filter(|v| !v.is_nan())
    }

    /// The [numbers](Self::numbers) of a key that is not a setting.
    fn measured_numbers(&self, key: &str) -> Option<Vec<f64>> {
        let last = |l: &GroupLoss| l.last().map_or(f64::NAN, |(loss, _)| loss);
        let is_of =
            |l: &GroupLoss, group: &str| [&l.group, &l.label].iter().any(|name| name.eq_ignore_ascii_case(group));
        let of_group = key.rsplit_once(':').filter(|(_, group)| self.losses.iter().any(|l| is_of(l, group)));
        let name = of_group.map_or(key, |(name, _)| name);
        let losses = || self.losses.iter().filter(move |l| of_group.is_none_or(|(_, group)| is_of(l, group)));
        let known: Vec<f64> = match name {
            "steps" => vec![self.steps as f64],
            "seed" => vec![self.seed as f64],
            "size" => vec![self.bytes as f64],
            "loss" => losses().map(last).collect(),
            name => {
                let mean = |l: &GroupLoss| Some(self.headlines.group(name, &l.group)?.mean);
                let of_headline: Vec<f64> = losses().filter_map(mean).collect();
                return Some(of_headline).filter(|known| !known.is_empty());
            }
        };
        Some(known)
    }

    /// The values of a setting, by its key or by the key's last part: the one that the run began with, then the last one that
    /// was set while it trained.
    pub fn set_values(&self, key: &str) -> Vec<&Value> {
        let all = [&self.settings, &self.changed_in_training];
        let by_name = || all.iter().flat_map(|set| set.keys()).find(|k| k.rsplit('.').next() == Some(key));
        let is_whole = all.iter().any(|set| set.contains_key(key));
        let whole = if is_whole { Some(key) } else { by_name().map(String::as_str) };
        whole.map_or_else(Vec::new, |whole| all.iter().filter_map(|set| set.get(whole)).collect())
    }

    /// The last of the [values](Self::set_values) of a setting.
    pub fn last_setting(&self, key: &str) -> Option<&Value> {
        self.set_values(key).last().copied()
    }
}

/// A setting in which runs differ, with each one's value; empty where a run has no such setting.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    pub key: String,
    pub values: Vec<String>,
}

/// Lab, preset, seed and settings in which these runs differ, by key; a setting also in the value that it was changed to while
/// a run trained.
pub fn differences(rows: &[&RunRow]) -> Vec<Difference> {
    let own = [
        ("lab", rows.iter().map(|r| r.lab.clone()).collect::<Vec<_>>()),
        ("preset", rows.iter().map(|r| r.preset.clone()).collect()),
        ("seed", rows.iter().map(|r| r.seed.to_string()).collect()),
    ];
    let keys: BTreeSet<&String> =
        rows.iter().flat_map(|r| r.settings.keys().chain(r.changed_in_training.keys())).collect();
    let settings = keys.into_iter().map(|key| (key.as_str(), rows.iter().map(|r| r.value_label(key)).collect()));
    let all = own.into_iter().chain(settings);
    let differs = |values: &Vec<String>| values.windows(2).any(|pair| pair[0] != pair[1]);
    all.filter(|(_, v)| differs(v)).map(|(key, values)| Difference { key: key.to_owned(), values }).collect()
}

/// The losses of a group from those of its seeds; `held_out_step`: the step of their newest held-out loss.
pub fn group_loss(group: &str, label: &str, train: &[f64], held_out: &[f64], held_out_step: Option<u64>) -> GroupLoss {
    let (group, label) = (group.to_owned(), label.to_owned());
    GroupLoss { group, label, train: mean(train), held_out: mean(held_out), held_out_step }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(steps: u64, held_out_steps: &[Option<u64>]) -> RunRow {
        let loss = |step: &Option<u64>| group_loss("a", "a", &[2.0], &[step.map_or(f64::NAN, |_| 3.0)], *step);
        RunRow { steps, losses: held_out_steps.iter().map(loss).collect(), ..RunRow::default() }
    }

    #[test]
    fn a_loss_of_an_earlier_step_is_shown_with_its_step() {
        assert_eq!(row(78, &[Some(78), Some(78)]).loss_label(), "3.0000 / 3.0000");
        assert_eq!(row(78, &[Some(0), Some(0)]).loss_label(), "3.0000 / 3.0000 (step 0)");
        assert_eq!(row(78, &[Some(50), Some(78)]).loss_label(), "3.0000 (step 50) / 3.0000");
        assert_eq!(row(78, &[None]).loss_label(), "2.0000", "a training loss is of the newest step");
    }

    #[test]
    fn a_setting_that_was_put_back_differs_from_nothing() {
        let lab = labs::find("fast_slow").unwrap();
        let mut config = lab.config(None).unwrap();
        let usual = config.get("train.lr").cloned().unwrap();
        let live = |value: &Value| BTreeMap::from([("train.lr".to_owned(), value.clone())]);
        let other = Value::Float(0.0123);
        assert_eq!(changed_at_last(lab, &config, &live(&usual)), BTreeMap::new());
        assert_eq!(changed_at_last(lab, &config, &live(&other)), live(&other));
        config.set(&(lab.knobs)(), "train.lr", other).unwrap();
        assert_eq!(changed_at_last(lab, &config, &live(&usual)), BTreeMap::new());
        let row = |first: &Value, last: &Value| RunRow {
            settings: live(first),
            changed: BTreeMap::from([("train.steps".to_owned(), Value::Int(200))]),
            changed_in_training: live(last),
            ..RunRow::default()
        };
        let back = row(&usual, &usual);
        assert_eq!(back.changed_in_training_label(), format!("changed while training: train.lr (back at {usual})"));
        assert_eq!(back.changed_label(), "train.steps 200");
        let moved = row(&Value::Float(0.0123), &usual);
        assert_eq!(
            moved.changed_in_training_label(),
            format!("changed while training: train.lr 0.0123 \u{2192} {usual}")
        );
        assert_eq!(moved.changed_label(), format!("train.lr 0.0123 \u{2192} {usual}, train.steps 200"));
        assert_eq!(RunRow::default().changed_in_training_label(), "");
        let all = differences(&[&back, &moved]);
        assert_eq!(all.len(), 1, "{all:?}");
        assert_eq!(all[0].values, [usual.to_string(), format!("0.0123 \u{2192} {usual}")]);
        let whole = RunRow { changed_in_training: BTreeMap::new(), ..moved.clone() };
        let halved = &differences(&[&whole, &moved])[0];
        assert_eq!((halved.key.as_str(), halved.values[0].as_str()), ("train.lr", "0.0123"));
        assert!(!whole.has_settings_of(&moved), "seeds of a changed and an unchanged run are not one point");
        assert!(back.has_settings_of(&RunRow { seed: 9, changed_in_training: BTreeMap::new(), ..back.clone() }));
    }

    #[test]
    fn zero_threads_are_shown_as_auto() {
        let with = |threads: i64| RunRow {
            settings: BTreeMap::from([(RunSettings::threads.name.to_owned(), Value::Int(threads))]),
            ..RunRow::default()
        };
        assert_eq!(differences(&[&with(0), &with(4)])[0].values, ["auto", "4"]);
    }

    #[test]
    fn a_paused_run_is_not_called_running() {
        let row = RunRow { state: RowState::Paused, total_steps: 100, ..row(78, &[]) };
        assert_eq!((row.state_label().as_str(), row.state.is_in_use()), ("paused, step 78 of 100", true));
    }
}
