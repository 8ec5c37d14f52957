//! Copies of models for sweeps that are not finished: a sweep that is asked for point by point uses the weights with
//! which it began, however far the run has got meanwhile.

use std::sync::{Mutex, PoisonError};

use crate::models::Trainable;

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
