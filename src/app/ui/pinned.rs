//! A run whose curves stay visible behind those of later runs of its page.

use std::{collections::HashMap, sync::Arc};

use super::{curve::Curve, identity::RunNumber};
use crate::{
    config::Knob,
    telemetry::{Channel, RunInfo},
};

/// The curves of a run, and the settings that it was made from.
#[derive(Debug)]
pub struct PinnedRun {
    pub run: RunNumber,
    pub info: Arc<RunInfo>,
    scalars: HashMap<(usize, Channel), Curve>,
}

impl PinnedRun {
    pub fn new(run: RunNumber, info: Arc<RunInfo>, scalars: HashMap<(usize, Channel), Curve>) -> Self {
        Self { run, info, scalars }
    }

    /// A scalar channel of one variant.
    pub fn curve(&self, variant: usize, channel: &str) -> Option<&Curve> {
        self.scalars.get(&(variant, Channel::new(channel)))
    }

    /// Its name in a legend: "pinned: needed, seed 7".
    pub fn name(&self) -> String {
        format!("pinned: {}", run_name(&self.info))
    }

    /// The settings in which a later run differs, by their labels: "Learning rate: 3e-3 \u{2192} 1e-3".
    pub fn differences(&self, later: &RunInfo, knobs: &[Knob]) -> Vec<String> {
        let (mine, its) = (&self.info.config, &later.config);
        let words = |value: Option<&crate::config::Value>| value.map_or("none".to_owned(), ToString::to_string);
        let line = |key: &str| {
            let label = knobs.iter().find(|k| k.key == key).map_or(key, |k| k.label);
            format!("{label}: {} \u{2192} {}", words(mine.get(key)), words(its.get(key)))
        };
        let mut lines: Vec<String> = its.changed_keys(mine).iter().map(|key| line(key)).collect();
        if mine.seed != its.seed {
            lines.push(format!("Seed: {} \u{2192} {}", mine.seed, its.seed));
        }
        lines
    }
}

/// The preset without the name of its lab, and the seed: "needed, seed 7".
pub fn run_name(info: &RunInfo) -> String {
    let preset = info.config.preset.as_str();
    let preset = preset.strip_prefix(info.lab.as_str()).unwrap_or(preset).trim_start_matches('_');
    let seed = format!("seed {}", info.config.seed);
    if preset.is_empty() { seed } else { format!("{}, {seed}", preset.replace('_', " ")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, Range, Value};

    fn rate_knob() -> Knob {
        Knob::new("train.lr", "Learning rate", Range::Float { min: 1e-6, max: 1.0, log: false }, Value::Float(1e-3))
    }

    fn info(preset: &str, seed: u64, rate: &str) -> RunInfo {
        let knobs = [rate_knob()];
        let mut config = Config::defaults("fast_slow", &knobs);
        config.set_text(&knobs, "train.lr", rate).unwrap();
        (config.preset, config.seed) = (preset.into(), seed);
        RunInfo { lab: "fast_slow".into(), config, ..RunInfo::default() }
    }

    #[test]
    fn a_run_is_named_by_preset_and_seed() {
        assert_eq!(run_name(&info("fast_slow_needed", 7, "0.001")), "needed, seed 7");
        assert_eq!(run_name(&info("fast_slow", 3, "0.001")), "seed 3");
    }

    #[test]
    fn the_settings_that_differ_are_named() {
        let knobs = [rate_knob()];
        let pinned = PinnedRun::new(RunNumber::default(), Arc::new(info("fast_slow", 7, "0.25")), HashMap::new());
        assert!(pinned.differences(&info("fast_slow", 7, "0.25"), &knobs).is_empty());
        let lines = pinned.differences(&info("fast_slow", 8, "0.5"), &knobs);
        assert_eq!(lines, ["Learning rate: 0.25 \u{2192} 0.5", "Seed: 7 \u{2192} 8"]);
    }
}
