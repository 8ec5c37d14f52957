//! What a run is to do: plain data, made by a lab from a config.

use serde::{Deserialize, Serialize};

use crate::{config::Config, corpus, models, nn::optimiser::AdamWSpec, telemetry::Args};

/// Learning rate over steps.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Schedule {
    pub lr: f64,
    /// Steps of linear warm-up from 0.
    pub warmup: u64,
    /// After warm-up: cosine down to this fraction of `lr` at the last step; 1 keeps it constant.
    pub floor: f64,
}

impl Schedule {
    /// Learning rate of the update that makes step `step` (from 1) of `total`, times a live `scale`.
    pub fn at(&self, step: u64, total: u64) -> f64 {
        if step <= self.warmup {
            return self.lr * step as f64 / self.warmup as f64;
        }
        let span = total.saturating_sub(self.warmup).max(1) as f64;
        let done = ((step - self.warmup) as f64 / span).min(1.0);
        let cosine = 0.5 * (1.0 + (std::f64::consts::PI * done).cos());
        self.lr * (self.floor + (1.0 - self.floor) * cosine)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Optimisation {
    pub adamw: AdamWSpec,
    pub schedule: Schedule,
}

/// One model of the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VariantSpec {
    pub id: String,
    pub label: String,
    /// Variants that differ only by seed share it.
    pub group: String,
    /// Seeds its weights and its batches: equal seeds see the same batches.
    pub seed: u64,
    pub model: models::Spec,
}

/// A scheduled question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cadence {
    pub probe: String,
    /// Steps between askings; also asked at step 0 and at the end. 0: only when asked.
    pub every: u64,
    pub args: Args,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    pub config: Config,
    pub corpus: corpus::Spec,
    /// Windows a batch, and ids a window.
    pub batch: usize,
    pub window: usize,
    /// Updates whose batches continue each other row by row; 0: each is of its own.
    #[serde(default)]
    pub along: u64,
    pub steps: u64,
    pub optimisation: Optimisation,
    pub variants: Vec<VariantSpec>,
    pub probes: Vec<Cadence>,
    /// Held-out loss every this many steps, on this many windows.
    pub eval_every: u64,
    pub eval_windows: usize,
    pub checkpoint_every: u64,
    /// `auto`, `cpu`, `cuda:0`, `metal`.
    pub device: String,
    /// Worker threads; 0: all cores but one.
    pub threads: usize,
}
