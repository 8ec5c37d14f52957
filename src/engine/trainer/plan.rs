//! The plan of a run: plain data, made by a lab from a config.

use std::collections::BTreeMap;

use crate::{
    config::{Config, choices},
    corpus, models,
    nn::optimiser::AdamWSpec,
    telemetry::{Args, StageStart},
};

/// The form of the learning rate's decay after warm-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Decay {
    /// The rate follows half a cosine.
    #[default]
    Cosine,
    /// The rate falls along a straight line.
    Linear,
}

choices! { for Decay { Cosine = "cosine", Linear = "linear" } }

/// Learning rate over steps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Schedule {
    /// The learning rate after warm-up.
    pub lr: f64,
    /// Steps of linear warm-up from 0.
    pub warmup: u64,
    /// After warm-up: down to this fraction of `lr` at the last step; 1 keeps it constant.
    pub floor: f64,
    /// The form of that decay.
    pub decay: Decay,
}

impl Schedule {
    /// Learning rate of the update that makes step `step` (from 1) of `total`.
    pub fn at(&self, step: u64, total: u64) -> f64 {
        if step <= self.warmup {
            return self.lr * step as f64 / self.warmup as f64;
        }
        let span = total.saturating_sub(self.warmup).max(1) as f64;
        let done = ((step - self.warmup) as f64 / span).min(1.0);
        let left = match self.decay {
            Decay::Cosine => 0.5 * (1.0 + (std::f64::consts::PI * done).cos()),
            Decay::Linear => 1.0 - done,
        };
        self.lr * (self.floor + (1.0 - self.floor) * left)
    }
}

/// The optimiser of a run: AdamW under a schedule of learning rates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Optimisation {
    /// The parameters of AdamW.
    pub adamw: AdamWSpec,
    /// The learning rate over steps.
    pub schedule: Schedule,
}

/// One model of the run.
#[derive(Debug, Clone, PartialEq)]
pub struct VariantSpec {
    /// The unique id of the variant.
    pub id: String,
    /// The name of the variant on screen.
    pub label: String,
    /// Variants that differ only by seed share it.
    pub group: String,
    /// Seeds its weights and its batches: equal seeds see the same batches.
    pub seed: u64,
    /// The family and the sizes of the model.
    pub model: models::ModelSpec,
}

/// A scheduled question.
#[derive(Debug, Clone, PartialEq)]
pub struct ProbeSchedule {
    /// The id of the probe.
    pub probe: String,
    /// The steps between two scheduled questions, with one more at step 0 and at the end; 0 schedules none.
    pub every: u64,
    /// The live setting that changes `every`; empty if none does.
    pub interval_key: String,
    /// The arguments of the question by name.
    pub args: Args,
}

/// A parameter of the model that a person holds while it runs ([`models::Trainable::set_runtime_param`]).
#[derive(Debug, Clone, PartialEq)]
pub struct RuntimeParam {
    /// The name of the parameter.
    pub name: String,
    /// The value when the run begins.
    pub value: f64,
}

/// The part of one variant in a run of several stages.
#[derive(Debug, Clone, PartialEq)]
pub struct Stage {
    /// The stage makes the updates after step `from`, up to step `until`.
    pub from: u64,
    /// The step of its last update.
    pub until: u64,
    /// The variants whose weights it starts from at `from`, by index in [`Plan::variants`]: none (its own random weights),
    /// one, or two that are merged.
    pub init_from: Vec<usize>,
    /// The indices of the texts that it reads, one after another from update to update: 0 is [`Plan::corpus`], 1 the
    /// first of [`Plan::more_texts`].
    pub texts: Vec<usize>,
    /// Its share of the learning rate. Warm-up and cosine span its own updates.
    pub lr_share: f64,
}

impl Stage {
    /// The only stage of a variant, on the run's own text.
    pub fn only(until: u64) -> Self {
        Self { from: 0, until, init_from: vec![], texts: vec![0], lr_share: 1.0 }
    }

    /// Returns true if it makes the update that leads to `step`.
    pub fn trains_at(&self, step: u64) -> bool {
        self.from < step && step <= self.until
    }

    /// Returns true if it is measured at `step` by schedule: from its beginning to its end.
    pub fn is_active_at(&self, step: u64) -> bool {
        self.from <= step && step <= self.until
    }
}

/// The keys of the settings that choose the tokens of a text. Where tokens are chosen to match a trained model, these
/// settings record the choice.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TokenKeys {
    /// The kind that [`corpus::TokenizerSpec::kind`] names.
    pub kind: String,
    /// A file that lists characters.
    pub characters: String,
    /// A Hugging Face `tokenizer.json`.
    pub huggingface: String,
}

/// The plan of a run: everything that beginning and resuming it need.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The settings that the plan was made from.
    pub config: Config,
    /// The training data.
    pub corpus: corpus::CorpusSpec,
    /// The keys of the settings that describe the tokens.
    pub token_keys: TokenKeys,
    /// Further texts that stages read, in the same tokens.
    pub more_texts: Vec<corpus::CorpusSpec>,
    /// The stage of each variant, in a run of several stages. Empty: all do the same from the first step to the last.
    pub stages: Vec<Stage>,
    /// The number of windows in a batch.
    pub batch: usize,
    /// The number of batches whose gradients make an update.
    pub accumulate: usize,
    /// The number of ids in a window.
    pub window: usize,
    /// The number of updates in a row whose batches continue each other row by row, for truncated backpropagation through
    /// time; 0 makes all batches independent.
    pub tbptt_steps: u64,
    /// The number of updates of the run.
    pub steps: u64,
    /// The optimiser and its learning rate.
    pub optimisation: Optimisation,
    /// The models of the run.
    pub variants: Vec<VariantSpec>,
    /// The scheduled questions.
    pub probes: Vec<ProbeSchedule>,
    /// The group of settings that are arguments of scheduled questions, so that a live change of one reaches the question.
    /// Empty if there is none.
    pub probe_args_group: String,
    /// The initial values of the runtime parameters.
    pub runtime_params: Vec<RuntimeParam>,
    /// The number of steps between evaluations of the held-out loss.
    pub eval_every: u64,
    /// The number of held-out windows of an evaluation.
    pub eval_windows: usize,
    /// The number of steps between scheduled checkpoints; 0 schedules none.
    pub checkpoint_every: u64,
    /// The device that trains: `auto`, `cpu`, `cuda:0`, `metal`.
    pub device: String,
    /// The number of worker threads; 0 takes all cores but one.
    pub threads: usize,
}

impl Plan {
    /// Windows that an update reads.
    pub fn windows_per_update(&self) -> usize {
        self.batch * self.accumulate.max(1)
    }

    /// The stage of variant `i`.
    pub fn stage(&self, i: usize) -> Stage {
        self.stages.get(i).cloned().unwrap_or_else(|| Stage::only(self.steps))
    }

    /// Ends models that read their sentences once after a pass over this many. Those that are told the roles go on until the
    /// run's last step; without one the run ends with the pass.
    pub fn end_after_pass(&mut self, sentences: usize) {
        let pass = (sentences / self.windows_per_update()) as u64;
        let goes_on = |v: &VariantSpec| matches!(v.model, models::ModelSpec::BiGru(_));
        if !self.variants.iter().any(goes_on) {
            self.steps = self.steps.min(pass);
        }
        let until = |v: &VariantSpec| if goes_on(v) { self.steps } else { self.steps.min(pass) };
        self.stages = self.variants.iter().map(|v| Stage::only(until(v))).collect();
    }

    /// The first steps of the stages after the first, for a person to see.
    pub fn stage_starts(&self) -> Vec<StageStart> {
        let mut starts: BTreeMap<u64, Vec<&str>> = BTreeMap::new();
        for (stage, variant) in self.stages.iter().zip(&self.variants).filter(|(stage, _)| stage.from > 0) {
            starts.entry(stage.from).or_default().push(&variant.label);
        }
        let named = starts.into_iter().map(|(step, who)| {
            let verb = if who.len() == 1 { "begins" } else { "begin" };
            StageStart { step, label: format!("{} {verb}", who.join(" and ")) }
        });
        let steering = match &self.corpus.source {
            corpus::Source::Steering(s) if (1..self.steps).contains(&s.language_batches) => {
                Some(StageStart { step: s.language_batches, label: "steering begins".into() })
            }
            _ => None,
        };
        named.chain(steering).collect()
    }

    /// Returns true if a stage begins or ends at `step`.
    pub fn is_stage_boundary(&self, step: u64) -> bool {
        step == self.steps || self.stages.iter().any(|p| p.from == step || p.until == step)
    }

    /// All that is read: the run's own corpus first.
    pub fn texts(&self) -> impl Iterator<Item = &corpus::CorpusSpec> {
        std::iter::once(&self.corpus).chain(&self.more_texts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_decays_warm_up_and_end_at_the_floor() {
        for decay in [Decay::Cosine, Decay::Linear] {
            let schedule = Schedule { lr: 1e-3, warmup: 100, floor: 0.1, decay };
            let close = |step, expected: f64| (schedule.at(step, 1100) - expected).abs() < 1e-12;
            assert!(close(50, 5e-4) && close(100, 1e-3) && close(1100, 1e-4), "{decay:?}");
            assert!(close(600, 5.5e-4), "halfway both are halfway: {decay:?}");
            let quarter = schedule.at(350, 1100);
            let expected = if decay == Decay::Linear { 7.75e-4 } else { 1e-4 + 9e-4 * 0.853_553_390_593 };
            assert!((quarter - expected).abs() < 1e-12, "{quarter}");
        }
    }
}
