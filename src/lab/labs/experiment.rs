//! From what a lab compares to a [`Plan`]: variants times seeds, training and run settings. It does not
//! know which lab.

use super::corpus::CorpusSettings;
use crate::{
    config::{Arguments, Config, Setting, SettingKey, Value},
    corpus,
    models::ModelSpec,
    telemetry::Args,
    trainer::{Plan, ProbeSchedule, RunSettings, TrainSettings, VariantSpec},
};

/// A model that a lab compares with others, before seeds.
pub struct Variant {
    pub id: String,
    /// What a legend calls it.
    pub label: String,
    pub model: ModelSpec,
}

impl Variant {
    pub fn new(id: impl Into<String>, label: &str, model: ModelSpec) -> Self {
        Self { id: id.into(), label: label.to_owned(), model }
    }
}

/// What every training lab's run is made of besides its text, models and probes.
pub struct Experiment<'a> {
    pub config: &'a Config,
    pub train: &'a TrainSettings,
    pub run: &'a RunSettings,
    /// Every variant is trained so many times, with the run's seed and the ones after it.
    pub seeds: u64,
}

impl<'a> Experiment<'a> {
    /// With the run's seed alone.
    pub fn new(config: &'a Config, train: &'a TrainSettings, run: &'a RunSettings) -> Self {
        Self { config, train, run, seeds: 1 }
    }

    /// These variants, each with every seed, on this corpus.
    pub fn plan(&self, corpus: corpus::CorpusSpec, variants: &[Variant], probes: Vec<ProbeSchedule>) -> Plan {
        Plan {
            config: self.config.clone(),
            corpus,
            token_keys: CorpusSettings::token_keys(),
            more_texts: vec![],
            stages: vec![],
            batch: self.train.batch,
            window: self.train.window,
            tbptt_steps: 0,
            steps: self.train.steps,
            optimisation: self.train.optimisation(),
            variants: self.with_seeds(variants),
            probes,
            probe_args_group: String::new(),
            runtime_params: vec![],
            eval_every: self.run.eval_every,
            eval_windows: self.run.eval_windows,
            checkpoint_every: self.run.checkpoint_every,
            device: self.run.device.clone(),
            threads: self.run.threads,
        }
    }

    /// Seed by seed, in each the variants in order. With one seed ids and labels are the variants' own.
    fn with_seeds(&self, variants: &[Variant]) -> Vec<VariantSpec> {
        let pairs = (0..self.seeds).flat_map(|s| variants.iter().map(move |v| (s, v)));
        pairs
            .map(|(s, Variant { id, label, model })| {
                let seed = self.config.seed.wrapping_add(s);
                let (id_of_seed, label) = match self.seeds {
                    1 => (id.clone(), label.clone()),
                    _ => (format!("{id}-s{s}"), format!("{label}, seed {seed}")),
                };
                VariantSpec { id: id_of_seed, label, group: id.clone(), seed, model: model.clone() }
            })
            .collect()
    }
}

/// This probe at step 0, at the end and `every` so many steps between, which the setting `key` changes.
pub fn schedule(probe: &str, key: &SettingKey<u64>, every: u64, args: Args) -> ProbeSchedule {
    ProbeSchedule { probe: probe.to_owned(), every, every_key: key.name.to_owned(), args }
}

/// Asks with these arguments every so many steps; `key` is the setting that says how many.
pub fn ask_every<A: Arguments>(args: &A, key: &SettingKey<u64>, every: u64) -> ProbeSchedule {
    schedule(A::PROBE, key, every, args.to_args())
}

/// An argument of a probe from a setting, by the name of its field.
pub fn arg<T: Setting>(key: &SettingKey<T>, value: &T) -> (String, Value) {
    let name = key.name.rsplit('.').next().unwrap_or(key.name);
    (name.to_owned(), value.to_value())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::plane::PlaneSpec;

    #[test]
    fn seeds_repeat_every_variant() {
        let config = Config::defaults("x", &[]);
        let (train, run) = (TrainSettings::default(), RunSettings::default());
        let model = || ModelSpec::Plane(PlaneSpec::default());
        let variants = [Variant::new("a", "A", model()), Variant::new("b", "B", model())];
        let specs = Experiment { seeds: 2, ..Experiment::new(&config, &train, &run) }.with_seeds(&variants);
        let shown: Vec<_> = specs.iter().map(|v| (v.id.as_str(), v.label.as_str(), v.group.as_str(), v.seed)).collect();
        let (first, second) = (("a-s0", "A, seed 7", "a", 7), ("b-s0", "B, seed 7", "b", 7));
        assert_eq!(shown, [first, second, ("a-s1", "A, seed 8", "a", 8), ("b-s1", "B, seed 8", "b", 8)]);
        let one = Experiment::new(&config, &train, &run).with_seeds(&variants);
        assert_eq!((one[1].id.as_str(), one[1].label.as_str(), one[1].seed), ("b", "B", 7));
    }
}
