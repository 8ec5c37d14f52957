//! Copies of models for sweeps that are not finished: a sweep that is asked for point by point uses the weights with
//! which it began, however far the run has got meanwhile.

use std::sync::{Mutex, PoisonError};

use crate::{
    config::Arguments,
    nn::params,
    probe::{prelude::*, subject::copy_of},
};

/// A model whose weights stay those of one step.
pub struct FrozenModel {
    pub step: u64,
    pub weights: Box<dyn Trainable>,
}

/// Frozen models by their question. The oldest is dropped first; a sweep whose model was dropped begins again.
static FROZEN_MODELS: Mutex<Vec<(u64, FrozenModel)>> = Mutex::new(vec![]);
/// The largest number of frozen models, each as large as a trained one: one for each variant and kind of sweep in
/// progress.
const MAX_MODELS: usize = 4;

pub fn take(question: u64) -> Option<FrozenModel> {
    let mut all = FROZEN_MODELS.lock().unwrap_or_else(PoisonError::into_inner);
    let at = all.iter().position(|(q, _)| *q == question)?;
    Some(all.remove(at).1)
}

pub fn keep(question: u64, model: FrozenModel) {
    let mut all = FROZEN_MODELS.lock().unwrap_or_else(PoisonError::into_inner);
    if all.len() == MAX_MODELS {
        all.remove(0);
    }
    all.push((question, model));
}

/// The model as it is now, weights and runtime parameters.
pub fn copy(model: &dyn Trainable, cx: &ProbeInputs<'_>) -> Result<FrozenModel> {
    Ok(FrozenModel { step: cx.step, weights: copy_of(model, cx.seed, cx)? })
}

/// Tells questions apart, but not how far they are asked for nor what the weights are: of which model (by
/// where it lies) and arguments.
pub fn question(model: &dyn Trainable, args: &FlowSweepArgs) -> u64 {
    let mut hash = params::hash(args.kind.id()) ^ std::ptr::from_ref(model.params()).addr() as u64;
    for (name, value) in super::question(args).to_args() {
        hash = hash.wrapping_mul(0x0000_0100_0000_01b3) ^ params::hash(&name) ^ params::hash(&value.to_string());
    }
    hash
}
