//! Builds a [`Plan`] from what a lab compares: variants times seeds, training and run settings.

use super::corpus::CorpusSettings;
use crate::{
    config::{Arguments, CheckedValues, Config, ConfigError, Field, Knob, SettingKey},
    corpus,
    models::{ModelSpec, gpt::AlibiGptSpec},
    trainer::{Plan, ProbeSchedule, RunSettings, TrainSettings, VariantSpec},
};

/// A model that a lab compares with others; each seed trains one of it.
pub struct Variant {
    pub id: String,
    /// The name in a legend.
    pub label: String,
    pub model: ModelSpec,
}

impl Variant {
    pub fn new(id: impl Into<String>, label: &str, model: ModelSpec) -> Self {
        Self { id: id.into(), label: label.to_owned(), model }
    }

    /// The variants that are switched on, of a table of switches, ids, labels and models.
    pub fn switched_on<'a>(all: impl IntoIterator<Item = (bool, &'a str, &'a str, ModelSpec)>) -> Vec<Self> {
        let chosen = all.into_iter().filter(|(is_on, ..)| *is_on);
        chosen.map(|(_, id, label, model)| Self::new(id, label, model)).collect()
    }
}

/// A transformer of as many parameters as a model beside it, at this vocabulary. Errors: no width and number of layers
/// come near that count; the error names `key`, the setting that asks for it.
pub fn transformer_of_size(parameters: usize, vocab: usize, key: &str) -> Result<AlibiGptSpec, ConfigError> {
    AlibiGptSpec::with_equal_parameters(parameters, vocab).ok_or_else(|| {
        let nearest = AlibiGptSpec::with_parameters_near(parameters, vocab).parameters(vocab);
        let why = format!(
            "`{key}` asks for a transformer of about {parameters} parameters at {vocab} tokens, and the nearest one has {nearest}; make the models larger, or switch it off"
        );
        ConfigError::inconsistent(key, why)
    })
}

/// The settings that every training lab's run shares, besides its text, models and probes.
pub struct Experiment<'a> {
    pub config: &'a Config,
    pub train: &'a TrainSettings,
    pub run: &'a RunSettings,
    /// Every variant is trained this many times, with the run's seed and the ones after it.
    pub seeds: u64,
}

impl<'a> Experiment<'a> {
    /// An experiment with the run's seed alone.
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
            accumulate: self.train.accumulate,
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

/// Schedules a probe with these arguments at step 0, every `every` steps and at the end; the setting `key` changes `every`.
pub fn ask_every<A: Arguments>(args: &A, key: &SettingKey<u64>, every: u64) -> ProbeSchedule {
    ProbeSchedule { probe: A::PROBE.to_owned(), every, interval_key: key.name.to_owned(), args: args.to_args() }
}

/// Asks with these arguments at step 0 and at the end alone.
pub fn ask_at_ends<A: Arguments>(args: &A, train: &TrainSettings) -> ProbeSchedule {
    ask_every(args, &SettingKey::new(""), train.steps.max(1))
}

/// The interval between two askings of a probe, and the setting that changes it while a run continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schedule {
    key: &'static str,
    /// Steps between two askings.
    every: u64,
}

impl Schedule {
    pub const fn new(key: &'static str, every: u64) -> Self {
        Self { key, every }
    }

    pub fn ask<A: Arguments>(self, args: &A) -> ProbeSchedule {
        ask_every(args, &SettingKey::new(self.key), self.every)
    }

    /// The knob that changes it; an empty `tip` stands for the usual one.
    pub fn knob(self, label: &'static str, tip: &'static str) -> Knob {
        let usual = "Steps between two runs of this probe. 0 runs it only when a view asks.";
        let tip = if tip.is_empty() { usual } else { tip };
        let field = Field::new(&SettingKey::new(self.key), label, tip, &self.every);
        field.range(0..=1_000_000).unit("steps").live().knob()
    }

    pub fn assign(&mut self, values: &CheckedValues) -> Result<(), ConfigError> {
        values.write(&SettingKey::new(self.key), &mut self.every)
    }
}

/// The schedules of a lab's probes as a group of settings: `name: "Label" = steps`, each with the key `probe.name_every`. A
/// doc comment takes the place of the usual tooltip.
macro_rules! schedules {
    ($(#[$meta:meta])* $vis:vis struct $name:ident { $(
        $(#[doc = $tip:literal])*
        $field:ident: $label:literal = $every:literal
    ),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq)]
        $vis struct $name { $(pub $field: $crate::labs::experiment::Schedule),+ }

        impl Default for $name {
            fn default() -> Self {
                use $crate::labs::experiment::Schedule;
                Self { $($field: Schedule::new(concat!("probe.", stringify!($field), "_every"), $every)),+ }
            }
        }

        impl $crate::config::Group for $name {
            fn knobs(&self) -> Vec<$crate::config::Knob> {
                vec![$(self.$field.knob($label, concat!($($tip),*))),+]
            }

            fn assign(&mut self, values: &$crate::config::CheckedValues) -> Result<(), $crate::config::ConfigError> {
                $(self.$field.assign(values)?;)+
                Ok(())
            }
        }
    };
}
pub(crate) use schedules;

/// Checks that a setting is a multiple of `of`, described by `what`: "a multiple of `model.heads` = 4". The error
/// suggests the next smaller multiple.
pub fn check_multiple(key: &str, value: usize, of: usize, what: &str) -> Result<(), ConfigError> {
    if value.is_multiple_of(of) {
        return Ok(());
    }
    let fits = (value / of).max(1) * of;
    Err(ConfigError::inconsistent(key, format!("`{key}` = {value} must be {what}; try {fits}")))
}

/// Refuses settings that contradict each other so: the error names `key`, and `why` says what to do.
pub fn refuse_if(is_so: bool, key: &str, why: impl std::fmt::Display) -> Result<(), ConfigError> {
    if is_so { Err(ConfigError::inconsistent(key, why.to_string())) } else { Ok(()) }
}

/// # Errors
/// If batches are accumulated to one update: a model that draws its own points would draw the same ones for each.
pub fn refuse_accumulation(train: &TrainSettings) -> Result<(), ConfigError> {
    let why = "the model draws its own points, and would sum the same ones; make `train.batch` larger";
    let refused = TrainSettings::refused_sum(train.accumulate, why);
    refuse_if(train.accumulate != 1, TrainSettings::accumulate.name, refused)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{config::Settings, models::plane::PlaneSpec, telemetry::measurements::CausalityArgs};

    #[test]
    fn a_table_of_schedules_is_a_group_of_live_settings() {
        schedules! {
            struct Probes {
                residual: "Residual every" = 50,
                /// Its own tooltip.
                gate: "Gate every" = 0,
            }
        }
        let knobs = Probes::schema();
        assert_eq!(knobs.iter().map(|k| k.key).collect::<Vec<_>>(), ["probe.residual_every", "probe.gate_every"]);
        assert_eq!(knobs[1].tip, "Its own tooltip.");
        let mut config = Config::defaults("x", &knobs);
        config.set_text(&knobs, "probe.gate_every", "5").unwrap();
        let probes = Probes::read(&config).unwrap();
        let gate = probes.gate.ask(&CausalityArgs::default());
        assert_eq!((gate.every, gate.interval_key.as_str()), (5, "probe.gate_every"));
        assert_eq!(probes.residual, Probes::default().residual);
    }

    #[test]
    fn no_transformer_of_too_few_parameters() {
        let error = transformer_of_size(900, 256, "compare.transformer").unwrap_err();
        assert_eq!(error.key(), Some("compare.transformer"));
        assert!(error.to_string().contains("about 900 parameters at 256 tokens"), "{error}");
        for (parameters, vocab) in [(11_456, 256), (76_096, 30), (78_272, 64), (152_320, 64), (164_608, 256)] {
            let spec = transformer_of_size(parameters, vocab, "k").unwrap();
            let off = spec.parameters(vocab) as f64 / parameters as f64 - 1.0;
            assert!(off.abs() < 0.05, "{spec:?} is {off:.3} off {parameters}");
        }
    }

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
