//! The memory of a run, estimated from its plan alone and compared with that of this machine before a folder is made, a
//! text opened or a weight drawn.

use super::{Plan, TrainSettings};
use crate::{
    models::step_memory::StepSizes,
    nn::memory::{available_memory, size},
};

/// Bytes of a number.
const BYTES_PER_NUMBER: f64 = 4.0;

/// The bytes that a run holds, by purpose.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MemoryEstimate {
    /// The texts and the data of their tokenisers.
    pub texts: f64,
    /// Weights and optimiser moments of all variants, which stay from the first step to the last.
    pub models: f64,
    /// The largest amount needed on top of that at any time: a variant's step, an evaluation, or a checkpoint that is
    /// being written.
    pub working: f64,
}

impl MemoryEstimate {
    /// An estimate from the sizes of a plan. A vocabulary that only its text decides is taken at its largest.
    pub fn new(plan: &Plan) -> Self {
        let step = StepSizes {
            vocab: plan.corpus.largest_vocab() as f64,
            rows: plan.batch as f64,
            tokens: plan.window as f64,
        };
        let mut estimate = Self { texts: plan.texts().map(|t| t.memory() as f64).sum(), models: 0.0, working: 0.0 };
        let logits = if plan.texts().any(|t| t.asks_questions()) { 2.0 * step.positions() * step.vocab } else { 0.0 };
        for variant in &plan.variants {
            let memory = variant.model.memory(&step);
            // a model without updates has no gradients or moments: it holds its weights, and loading them needs memory
            let (resting, step) = match plan.steps {
                0 => (memory.weights_bytes(), memory.forward_bytes()),
                _ => (memory.resting_bytes(), memory.peak_bytes() - memory.resting_bytes()),
            };
            // the sum of gradients is held in addition to those of the current batch
            let step = step + if plan.accumulate > 1 { memory.weights_bytes() } else { 0.0 };
            let working = step.max(BYTES_PER_NUMBER * logits).max(resting);
            estimate.models += resting;
            estimate.working = estimate.working.max(working);
        }
        estimate
    }

    /// The sum in bytes, saturating at the largest integer.
    pub fn bytes(&self) -> u64 {
        (self.texts + self.models + self.working) as u64
    }

    /// The settings that determine the size.
    fn advice(&self, plan: &Plan) -> String {
        let (batch, window) = (TrainSettings::batch.name, TrainSettings::window.name);
        let variants = if plan.variants.len() > 1 { ", or train fewer variants or seeds at once" } else { "" };
        match self.working > self.models {
            true => format!("lower `{batch}` or `{window}`, or the widths and layers under `model`"),
            false => format!("lower the widths and layers under `model`{variants}"),
        }
    }
}

/// The reason why a run does not begin.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "this run would hold about {} of memory, and {} are free here: {advice}",
    size(*.needed), size(*.available)
)]
pub struct TooLittleMemory {
    /// Needed bytes.
    pub needed: u64,
    /// Available bytes.
    pub available: u64,
    /// The settings to lower.
    pub advice: String,
}

/// The estimate of a plan, if the machine has that much memory or the user insists.
///
/// # Errors
/// If the machine has less.
pub fn check_plan_memory(plan: &Plan, insists: bool) -> Result<MemoryEstimate, TooLittleMemory> {
    check_plan_memory_against(plan, available_memory().filter(|_| !insists))
}

/// Same as [`check_plan_memory`], for this many free bytes, or an unknown number.
///
/// # Errors
/// If the estimate is more.
pub fn check_plan_memory_against(plan: &Plan, available: Option<u64>) -> Result<MemoryEstimate, TooLittleMemory> {
    let estimate = MemoryEstimate::new(plan);
    match available {
        Some(available) if estimate.bytes() > available => {
            Err(TooLittleMemory { needed: estimate.bytes(), available, advice: estimate.advice(plan) })
        }
        _ => Ok(estimate),
    }
}
