//! The rule of a claim, fixed before its runs: what is run, which number is read, and when the claim stands.

use std::collections::{BTreeMap, btree_map::Entry};

use serde::{Deserialize, Serialize};

use super::criterion::{Region, Statistic};
use crate::{
    analysis::student::CONFIDENCE,
    config::{Config, Value, did_you_mean},
    experiments::{
        run_terms::{NATS, unit_of},
        sweep::{AxisFile, Seeds, Sweep, SweepFile},
    },
    files::sha256,
    labs::{LABS, Lab, TrainSettings, headline::common},
    telemetry::channels,
};

/// An experiment and its decision. Its text, in this order, is hashed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// The lab or preset that is run.
    pub base: String,
    /// The number of updates; without it, that of the preset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<u64>,
    /// Runs with different seeds, from the preset's on; fewer give no verdict.
    pub seeds: u64,
    /// The probe that is asked of the models at the end of their run; without it a headline number is read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ask: Option<String>,
    /// The number that is read: `gate of coupled`; a headline number or a recorded scalar, such as `time/step_ms of euler`. Of an
    /// answer it is a field, as `orrery ask --csv` names it, and its values are averaged: `layers.sink of euler`, or
    /// `layers.sink@0 of euler` for the values whose place begins with 0.
    pub read: String,
    /// The number that `read` is compared with: `held_out_loss of frozen`; of several variants, `within of sanger or
    /// foldiak`, the largest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<String>,
    /// The step at which numbers are read; the end without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<u64>,
    /// A summary of all recorded steps, used in place of the number at one step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over_steps: Option<OverSteps>,
    pub statistic: Statistic,
    /// The confidence level of the interval; 1 minus this is the family-wise error rate of Holm's correction.
    #[serde(default = "default_confidence")]
    pub confidence: f64,
    /// The paper's number on the scale of the statistic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<f64>,
    /// The region in which the effect must lie for the claim to stand. With both ends it is a margin of equivalence.
    pub stands: Region,
    /// For a count: where a seed's number, or its difference, must lie to be counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted: Option<Region>,
    /// Settings that differ from the base.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub set: BTreeMap<String, Value>,
    /// Arguments of the question.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub args: BTreeMap<String, Value>,
    /// The setting that varies, with its values along which a slope or a rank correlation runs. A difference or a ratio is that
    /// of the second value's run to the first's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over: Option<VariedSetting>,
    /// The field of the answer along which a slope or a rank correlation runs, value by value: `u0`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub along: Option<String>,
    /// The sizes at which the effect is found, each by runs of its own: a setting with its numbers. The claim is judged at the
    /// largest, and the effect at each is shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sizes: Option<VariedSetting>,
    /// True where `published` is not on the scale of the effect: `off_scale` of the claim, which the hash leaves out.
    #[serde(skip)]
    pub is_off_scale: bool,
    /// The unit of the losses of its runs, which follows from their settings.
    #[serde(skip, default = "declared_loss_unit")]
    pub loss_unit: &'static str,
}

/// The summary of a number over the recorded steps of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OverSteps {
    /// The median: for times, which vary.
    Median,
    /// The first number outside the range in which a seed counts, otherwise the last: a seed counts if all its steps
    /// do.
    Every,
    /// The last number less the lowest of all: how much is lost after the best step.
    Rise,
}

/// A setting that varies within each seed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VariedSetting {
    pub key: String,
    pub values: Vec<Value>,
}

fn default_confidence() -> f64 {
    CONFIDENCE
}

fn declared_loss_unit() -> &'static str {
    NATS
}

/// The variants of runs, by the name of their sweep: a plan may take as long as its text takes to open.
pub type PlannedVariants = BTreeMap<String, Vec<String>>;

/// A number of a variant, as a rule names it: `gate of coupled`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VariantNumber<'a> {
    /// The key of a headline number, the channel of a scalar, or the field of an answer with the place of its values.
    pub key: &'a str,
    /// The variants over which the maximum is taken, each by the name that its seeds share.
    pub groups: Vec<&'a str>,
}

impl Rule {
    /// The text that is hashed: TOML in a fixed order, whatever the order in the file.
    pub fn text(&self) -> Result<String, String> {
        toml::to_string(self).map_err(|e| e.to_string())
    }

    /// SHA-256 of its text.
    pub fn hash(&self) -> String {
        self.text().map(|text| sha256(&text)).unwrap_or_default()
    }

    /// The paper's number, if it has one on the scale of the effect.
    pub fn published_on_scale(&self) -> Option<f64> {
        self.published.filter(|_| !self.is_off_scale)
    }

    /// The setting that varies within each seed.
    pub fn varied(&self) -> Option<&VariedSetting> {
        self.over.as_ref().or(self.sizes.as_ref())
    }

    /// The sweep that makes its runs. Rules that need the same runs, up to their seeds, have sweeps of the same name.
    pub fn sweep(&self, seeds: Seeds) -> Result<SweepFile, String> {
        let (_, config) = self.lab_and_config()?;
        let key = TrainSettings::steps.name;
        let steps = self.steps.map_or_else(|| config.get(key).cloned(), |steps| Some(Value::Int(steps as i64)));
        let steps = steps.ok_or_else(|| format!("names `{}`, which trains nothing", self.base))?;
        let mut file = SweepFile {
            base: self.base.clone(),
            name: None,
            seeds: Some(seeds),
            objective: None,
            samples: None,
            set: self.set.clone(),
            axes: BTreeMap::new(),
        };
        let (axis, values) = match self.varied() {
            Some(over) => (over.key.as_str(), over.values.clone()),
            // a sweep needs an axis, so this one has a single point
            None => (key, vec![steps.clone()]),
        };
        if axis != key {
            file.set.insert(key.to_owned(), steps);
        }
        file.axes.insert(axis.to_owned(), AxisFile::List(values));
        // the hash leaves out the seeds, because runs of further seeds are added to those that exist
        let hash = sha256(&SweepFile { seeds: None, ..file.clone() }.to_toml()?);
        file.name = Some(format!("{}-{}", self.base, &hash[..8]));
        Ok(file)
    }

    /// The rule in one sentence: "the paired difference of gate of coupled beside gate of frozen lies below 0.01".
    pub fn sentence(&self) -> String {
        let listed = |over: &VariedSetting| over.values.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let over = self.over.as_ref().map(|over| format!(" over {} = {}", over.key, listed(over))).unwrap_or_default();
        let along = self.along.as_ref().map(|along| format!(" along {along}")).unwrap_or_default();
        let sizes = self.sizes.as_ref().map(|sizes| format!(" at the largest {} of {}", sizes.key, listed(sizes)));
        let sizes = sizes.unwrap_or_default();
        let at = match (self.at, self.over_steps) {
            (Some(step), _) => format!(" at step {step}"),
            (None, Some(OverSteps::Median)) => ", its median over steps,".to_owned(),
            (None, Some(OverSteps::Every)) => ", at every step,".to_owned(),
            (None, Some(OverSteps::Rise)) => ", its rise from the lowest step to the last,".to_owned(),
            (None, None) => String::new(),
        };
        let (statistic, numbers, stands) = (self.statistic.label(), self.numbers_label(), self.stands.label());
        let with: Vec<String> =
            self.set.iter().chain(&self.args).map(|(key, value)| format!("{key} = {value}")).collect();
        let with = if with.is_empty() { String::new() } else { format!(", with {}", with.join(", ")) };
        format!("the {statistic} of {numbers}{over}{along}{sizes}{at} lies {stands}{with}")
    }

    /// "gate of coupled beside gate of frozen"; of two numbers of one variant "hybrid beside baseline, both of hybrid,".
    fn numbers_label(&self) -> String {
        match (self.numbers(), &self.beside) {
            (Ok((first, Some(second))), _) if first.groups == second.groups => {
                format!("{} beside {}, both of {},", first.key, second.key, first.groups.join(" or "))
            }
            (_, Some(beside)) => format!("{} beside {beside}", self.read),
            (_, None) => self.read.clone(),
        }
    }

    pub fn first_run(&self) -> Result<Config, String> {
        let (lab, mut config) = self.lab_and_config()?;
        let knobs = (lab.knobs)();
        let steps = self.steps.map(|steps| (TrainSettings::steps.name, Value::Int(steps as i64)));
        let set = self.set.iter().map(|(key, value)| (key.as_str(), value.clone()));
        let over = self.varied().and_then(|over| Some((over.key.as_str(), over.values.first()?.clone())));
        for (key, value) in steps.into_iter().chain(set).chain(over) {
            config.set(&knobs, key, value).map_err(|e| e.to_string())?;
        }
        Ok(config)
    }

    /// The settings of its first run that are not the defaults of its lab, with lab and seed: JSON in the order of their keys.
    /// A setting that is added to the lab later does not change it.
    pub fn settings_text(&self) -> Result<String, String> {
        let ((lab, _), config) = (self.lab_and_config()?, self.first_run()?);
        let defaults = Config::defaults(lab.id, &(lab.knobs)());
        let is_set = |(key, value): &(&str, &Value)| defaults.get(key) != Some(*value);
        let set: BTreeMap<&str, &Value> = config.iter().filter(is_set).collect();
        serde_json::to_string(&(lab.id, config.seed, set)).map_err(|e| e.to_string())
    }

    /// The unit of its effect, that of the headline numbers that it reads; of a ratio, a share or a correlation what it is. Empty
    /// where nothing declares one: of the field of an answer and of a recorded scalar, except for the training loss.
    pub fn unit(&self) -> String {
        let of_numbers = self.unit_of_numbers();
        match (self.statistic, self.axis()) {
            (Statistic::PairedDifference | Statistic::Area | Statistic::Mean, _) => {
                of_numbers.unwrap_or_default().to_owned()
            }
            (Statistic::Ratio | Statistic::SpreadRatio, _) => "times".to_owned(),
            (Statistic::RankCorrelation, _) => "rank correlation".to_owned(),
            (Statistic::Count, _) => "of seeds".to_owned(),
            (Statistic::Slope, Some(axis)) => {
                of_numbers.map_or(String::new(), |unit| format!("{unit} per {axis}").trim_start().to_owned())
            }
            // of a logarithm the unit of the number is left out
            (Statistic::LogSlope, Some(axis)) => format!("per {axis}"),
            (Statistic::Slope | Statistic::LogSlope, None) => String::new(),
        }
    }

    /// The unit of the headline numbers, or the training loss, that it reads, empty for one without; `None` unless both are such and
    /// have the same.
    fn unit_of_numbers(&self) -> Option<&'static str> {
        let lab = self.lab().filter(|_| self.ask.is_none())?;
        let (first, second) = self.numbers().ok()?;
        let unit = |number: &VariantNumber<'_>| match lab.headline(number.key) {
            Some(headline) => Some(unit_of(headline, self.loss_unit)),
            None => (number.key == channels::LOSS_TRAIN).then(|| unit_of(&common::LOSS, self.loss_unit)),
        };
        unit(&first).filter(|of_first| second.is_none_or(|second| unit(&second) == Some(*of_first)))
    }

    /// The lab that has its base.
    fn lab(&self) -> Option<&'static Lab> {
        LABS.iter().copied().find(|lab| lab.preset(&self.base).is_some())
    }

    /// The lab and the settings of its base.
    fn lab_and_config(&self) -> Result<(&'static Lab, Config), String> {
        if let Some(lab) = self.lab() {
            return Ok((lab, lab.config(Some(&self.base)).map_err(|e| e.to_string())?));
        }
        let presets = LABS.iter().flat_map(|lab| lab.presets.iter().map(|p| p.id));
        Err(format!("names `{}`, which is not a preset{}", self.base, did_you_mean(&self.base, presets)))
    }

    /// The two numbers that it compares.
    pub fn numbers(&self) -> Result<(VariantNumber<'_>, Option<VariantNumber<'_>>), String> {
        let beside = self.beside.as_deref().map(parse_variant_number).transpose()?;
        Ok((parse_variant_number(&self.read)?, beside))
    }

    /// Checks it against the labs; the error is a phrase that follows the claim's id. Runs that several rules ask for
    /// are planned once.
    pub fn check(&self, planned: &mut PlannedVariants) -> Result<(), String> {
        self.stands.check("stands")?;
        if !(0.5..1.0).contains(&self.confidence) {
            return Err(format!("has a confidence of {}; give .5 to 1, such as .95", self.confidence));
        }
        let (asks, is_at, is_over_steps) = (self.ask.is_some(), self.at.is_some(), self.over_steps.is_some());
        refuse_if(!asks && !self.args.is_empty(), "has `args` and asks nothing: give `ask`, the name of a probe")?;
        let at_the_end = "has `ask` and `at` or `over_steps`: probes are asked at the end of a run";
        refuse_if(asks && (is_at || is_over_steps), at_the_end)?;
        refuse_if(is_at && is_over_steps, "has `at` and `over_steps`: leave one out")?;
        let is_every_of_one = self.counted.is_some() && self.beside.is_none();
        let is_every = self.over_steps == Some(OverSteps::Every);
        let of_one = "has `over_steps = \"every\"`, which is for a count of one number";
        refuse_if(is_every && !is_every_of_one, of_one)?;
        let is_of_one_field = asks && self.over.is_none() && self.beside.is_none();
        let of_one_field = "has `along`, which is for one field of an answer: give `ask`, no `over` and no `beside`";
        refuse_if(self.along.is_some() && !is_of_one_field, of_one_field)?;
        if let Some(sizes) = &self.sizes {
            let is_along = self.over.is_some() || self.along.is_some();
            refuse_if(is_along, "has `sizes` and `over` or `along`: leave one out")?;
            let numbers: Vec<f64> = sizes.values.iter().filter_map(Value::as_f64).collect();
            let differ = numbers.len() == sizes.values.len() && numbers.iter().any(|n| Some(n) != numbers.first());
            refuse_if(!differ, "needs two different numbers or more in `sizes`")?;
        }
        refuse_if(self.seeds < 2, "has a rule with fewer than two seeds, which tell nothing about chance")?;
        self.check_statistic()?;
        let (lab, base) = self.lab_and_config()?;
        let (first, second) = self.numbers()?;
        let file = self.sweep(Seeds::Count(self.seeds))?;
        let name = file.name.clone().unwrap_or_default();
        let groups = match planned.entry(name) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let unrunnable = |e: &dyn std::fmt::Display| format!("cannot be run: {e}");
                let sweep = Sweep::new(&file, lab, &base).map_err(|e| unrunnable(&e))?;
                let point = sweep.points.first().ok_or("has no runs")?;
                let plan = (lab.plan)(point).map_err(|e| unrunnable(&e))?;
                new.insert(plan.variants.into_iter().map(|v| v.group).collect())
            }
        };
        let groups: Vec<&str> = groups.iter().map(String::as_str).collect();
        for number in [Some(first), second].into_iter().flatten() {
            if self.ask.is_none() {
                check_number(lab, number.key)?;
            }
            for group in &number.groups {
                check_variant(&groups, group)?;
            }
        }
        Ok(())
    }

    fn check_statistic(&self) -> Result<(), String> {
        let name = self.statistic.label();
        let is_pair = matches!(self.statistic, Statistic::PairedDifference | Statistic::Area | Statistic::Ratio);
        let is_along = self.statistic.is_along_axis();
        if self.statistic == Statistic::Area && (self.ask.is_some() || self.at.is_some() || self.over_steps.is_some()) {
            return Err(format!("has a {name}: leave out `ask`, `at` and `over_steps`"));
        }
        let wrong = match (&self.over, &self.beside) {
            (None, None) if is_pair => format!("has a {name} of one number: give `beside`, or two values in `over`"),
            (Some(_), Some(_)) if is_pair => format!("has a {name} with `beside` and `over`: leave one out"),
            (Some(over), None) if is_pair && over.values.len() != 2 => {
                format!("has a {name} over {} values: give two", over.values.len())
            }
            (None, None) if self.statistic == Statistic::SpreadRatio => {
                format!("has a {name} of one number: give `beside`")
            }
            (None, _) if is_along && self.along.is_none() => {
                format!("has a {name}: give the setting that varies, `over`, or a field of an answer, `along`")
            }
            _ if !is_along && self.along.is_some() => format!("has `along`, which a {name} does not read"),
            (Some(over), _) if is_along && over.values.iter().filter_map(Value::as_f64).count() < 2 => {
                "needs two numbers or more in `over`".to_owned()
            }
            (Some(_), _) if !is_pair && !is_along => format!("has `over`, which a {name} does not read"),
            (_, Some(_)) if self.statistic == Statistic::Mean => format!("has a {name} and `beside`: leave one out"),
            _ => String::new(),
        };
        refuse_if(!wrong.is_empty(), &wrong)?;
        match (&self.counted, self.statistic) {
            (None, Statistic::Count) => Err("has a count: say in `counted` where a number counts".to_owned()),
            (Some(counted), Statistic::Count) => counted.check("counted"),
            (Some(_), _) => Err(format!("has `counted`, which a {name} does not read")),
            (None, _) => Ok(()),
        }
    }
}

/// Refuses what is wrong, in these words.
pub(super) fn refuse_if(is_wrong: bool, words: &str) -> Result<(), String> {
    if is_wrong { Err(words.to_owned()) } else { Ok(()) }
}

/// The parts of `gate of coupled`.
fn parse_variant_number(text: &str) -> Result<VariantNumber<'_>, String> {
    let (key, group) = text
        .split_once(" of ")
        .ok_or_else(|| format!("reads `{text}`: write a headline number and a variant, such as `gate of coupled`"))?;
    Ok(VariantNumber { key: key.trim(), groups: group.split(" or ").map(str::trim).collect() })
}

/// Refuses a number that the lab does not have. A channel of a scalar, `time/step_ms`, is known when a run has recorded it.
fn check_number(lab: &Lab, key: &str) -> Result<(), String> {
    if lab.headline(key).is_some() || key.contains('/') {
        return Ok(());
    }
    let near = did_you_mean(key, lab.headlines.iter().map(|h| h.id));
    Err(format!("reads `{key}`, which is not a headline number of {}{near}", lab.title))
}

/// Refuses a variant that the runs will not have, and seeds that they would share.
fn check_variant(groups: &[&str], asked: &str) -> Result<(), String> {
    match groups.iter().filter(|group| **group == asked).count() {
        1 => Ok(()),
        0 => {
            let (near, known) = (did_you_mean(asked, groups.iter().copied()), groups.join(", "));
            Err(format!("reads the variant `{asked}`{near}; its runs have {known}"))
        }
        _ => Err("trains several seeds in a run, which would be counted twice: set variants.seeds = 1".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::small_ledger::{self, varied},
        *,
    };

    fn rule() -> Rule {
        Rule {
            steps: Some(20),
            read: "held_out_loss of coupled".to_owned(),
            beside: Some("held_out_loss of frozen".to_owned()),
            stands: Region { above: Some(-0.01), below: Some(0.01) },
            ..small_ledger::rule("statistic = \"paired_difference\"")
        }
    }

    fn changed(change: impl FnOnce(&mut Rule)) -> Rule {
        let mut rule = rule();
        change(&mut rule);
        rule
    }

    fn refusal(change: impl FnOnce(&mut Rule)) -> String {
        changed(change).check(&mut PlannedVariants::new()).unwrap_err()
    }

    #[test]
    fn unknown_names_are_refused_with_the_nearest() {
        assert_eq!(rule().check(&mut PlannedVariants::new()), Ok(()));
        assert!(refusal(|r| r.base = "fast_slw".to_owned()).contains("did you mean `fast_slow`?"));
        assert!(refusal(|r| r.read = "held_out_los of coupled".to_owned()).contains("did you mean `held_out_loss`?"));
        assert!(refusal(|r| r.read = "gate of cuopled".to_owned()).contains("did you mean `coupled`?"));
        let wrong = refusal(|r| drop(r.set.insert("model.pol".to_owned(), Value::Int(2))));
        assert!(wrong.contains("did you mean `model.pool`?"), "{wrong}");
    }

    #[test]
    fn a_statistic_has_what_it_needs() {
        assert!(refusal(|r| r.beside = None).contains("`beside`"));
        assert!(refusal(|r| r.statistic = Statistic::Slope).contains("`over`"));
        assert!(refusal(|r| (r.statistic, r.at) = (Statistic::Area, Some(5))).contains("leave out"));
        assert_eq!(Rule { statistic: Statistic::Area, ..rule() }.check(&mut PlannedVariants::new()), Ok(()));
        assert!(refusal(|r| r.statistic = Statistic::Count).contains("`counted`"));
        assert!(refusal(|r| r.stands = Region { above: None, below: None }).contains("`stands`"));
        assert!(refusal(|r| r.stands = Region { above: Some(1.0), below: Some(0.0) }).contains("empty"));
        let over = |values: &[i64]| Some(varied("model.pool", values));
        assert!(refusal(|r| r.over = over(&[2, 4])).contains("leave one out"));
        assert!(refusal(|r| (r.over, r.beside) = (over(&[2, 4, 8]), None)).contains("give two"));
        let pair = Rule { over: over(&[2, 4]), beside: None, ..rule() };
        assert_eq!(pair.check(&mut PlannedVariants::new()), Ok(()));
        assert!(refusal(|r| r.seeds = 1).contains("two seeds"));
        assert!(refusal(|r| r.along = Some("u0".to_owned())).contains("`ask`"));
        assert!(refusal(|r| r.over_steps = Some(OverSteps::Every)).contains("a count"));
        assert!(refusal(|r| (r.at, r.over_steps) = (Some(5), Some(OverSteps::Median))).contains("leave one out"));
        let timed = Rule {
            read: "time/step_ms of coupled".to_owned(),
            beside: Some("time/step_ms of frozen or coupled".to_owned()),
            over_steps: Some(OverSteps::Median),
            statistic: Statistic::Ratio,
            ..rule()
        };
        assert_eq!(timed.check(&mut PlannedVariants::new()), Ok(()));
        let misspelt = refusal(|r| r.beside = Some("gate of frozen or cupled".to_owned()));
        assert!(misspelt.contains("did you mean `coupled`?"), "{misspelt}");
    }

    #[test]
    fn two_numbers_of_one_variant_name_it_once() {
        let words = Rule { beside: Some("gate of coupled".to_owned()), ..rule() }.sentence();
        assert!(words.contains("of held_out_loss beside gate, both of coupled, lies between"), "{words}");
        assert!(rule().sentence().contains("of held_out_loss of coupled beside held_out_loss of frozen lies between"));
    }

    #[test]
    fn an_effect_has_the_unit_that_its_numbers_declare() {
        let unit = |change: &dyn Fn(&mut Rule)| changed(change).unit();
        let over = || Some(varied("model.pool", &[2, 4]));
        assert_eq!(unit(&|_| ()), "nats");
        assert_eq!(unit(&|r| r.beside = Some("gate of frozen".to_owned())), "", "not of one unit");
        assert_eq!(unit(&|r| r.beside = Some("loss/train of frozen".to_owned())), "nats", "both are losses");
        assert_eq!(unit(&|r| (r.read, r.beside) = ("accuracy of coupled".to_owned(), None)), "");
        assert_eq!(unit(&|r| (r.read, r.beside) = ("time/step_ms of coupled".to_owned(), None)), "");
        assert_eq!(unit(&|r| r.ask = Some("staircase".to_owned())), "", "no headline number is read");
        assert_eq!(unit(&|r| r.statistic = Statistic::Ratio), "times");
        assert_eq!(unit(&|r| r.statistic = Statistic::Count), "of seeds");
        assert_eq!(unit(&|r| (r.statistic, r.over) = (Statistic::Slope, over())), "nats per model.pool");
        assert_eq!(unit(&|r| (r.statistic, r.over) = (Statistic::LogSlope, over())), "per model.pool");
    }

    #[test]
    fn sizes_are_numbers_that_differ() {
        let sizes = |values: &[i64]| Some(varied("model.d_model", values));
        let rule = Rule { sizes: sizes(&[32, 64]), ..rule() };
        assert_eq!(rule.check(&mut PlannedVariants::new()), Ok(()));
        assert!(rule.sentence().contains(" at the largest model.d_model of 32, 64 lies "), "{}", rule.sentence());
        assert_eq!(rule.first_run().unwrap().get("model.d_model"), Some(&Value::Int(32)));
        let axes = rule.sweep(Seeds::Count(3)).unwrap().axes;
        assert_eq!(axes.keys().collect::<Vec<_>>(), ["model.d_model"]);
        assert!(refusal(|r| r.sizes = sizes(&[32])).contains("two different numbers"));
        assert!(refusal(|r| r.sizes = sizes(&[32, 32])).contains("two different numbers"));
        assert!(refusal(|r| (r.sizes, r.over) = (sizes(&[32, 64]), sizes(&[2, 4]))).contains("leave one out"));
        let along = refusal(|r| (r.sizes, r.statistic) = (sizes(&[32, 64]), Statistic::Slope));
        assert!(along.contains("`over`"), "{along}");
    }

    /// The seeds of a run beside those of the sweep would be the same ones, counted twice.
    #[test]
    fn seeds_are_those_of_the_sweep() {
        let several = |r: &mut Rule| drop(r.set.insert("variants.seeds".to_owned(), Value::Int(3)));
        assert!(refusal(several).contains("variants.seeds = 1"));
    }

    /// A setting that equals its default is left out, as a setting that a later version adds will.
    #[test]
    fn settings_are_those_that_differ_from_the_lab() {
        let text = |change: &dyn Fn(&mut Rule)| changed(change).settings_text().unwrap();
        let lab = LABS.iter().find(|lab| lab.id == "fast_slow").unwrap();
        let default = Config::defaults(lab.id, &(lab.knobs)()).get("model.d_model").cloned().unwrap();
        let with_width = |value: Value| text(&|r| drop(r.set.insert("model.d_model".to_owned(), value.clone())));
        assert!(text(&|_| ()).starts_with("[\"fast_slow\",7,{"), "{}", text(&|_| ()));
        assert!(text(&|_| ()).contains("\"train.steps\":20"), "{}", text(&|_| ()));
        assert!(!with_width(default).contains("model.d_model"));
        assert!(with_width(Value::Int(16)).contains("\"model.d_model\":16"));
        assert_ne!(text(&|_| ()), text(&|r| r.base = "fast_slow_needed".to_owned()), "another preset");
        assert_eq!(text(&|_| ()), text(&|r| r.seeds = 5), "no setting of a run");
    }

    #[test]
    fn rules_of_the_same_runs_share_a_folder_and_not_a_hash() {
        let other = Rule { read: "gate of coupled".to_owned(), statistic: Statistic::Mean, beside: None, ..rule() };
        let name = |r: &Rule| r.sweep(Seeds::Count(3)).unwrap().name;
        assert_eq!(name(&rule()), name(&other));
        assert_ne!(rule().hash(), other.hash());
        assert_ne!(name(&rule()), name(&Rule { steps: Some(21), ..rule() }));
        assert_eq!(rule().sweep(Seeds::Each(vec![20, 21])).unwrap().name, name(&rule()), "seeds are added to it");
        let read: Rule = toml::from_str(&rule().text().unwrap()).unwrap();
        assert_eq!((&read, read.hash()), (&rule(), rule().hash()));
    }
}
