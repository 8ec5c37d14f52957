//! Gradients of weights that operations accumulate themselves, outside candle's graph.
//!
//! For every use of a tensor, candle's backward makes a tensor of zeros and a sum; gradients of weights that were
//! concatenated are taken apart again: five passes over all weights for each use. A trainer that wants to avoid them
//! creates a [`GradAccumulator`] for a step and passes it to the model's loss. The weights that the model flattens with
//! it stay out of the graph, their operations add gradients to it, and [`GradAccumulator::backward`] returns these
//! together with what candle finds.
//!
//! Nothing is hidden: a loss computed without an accumulator has its complete graph. One computed with an accumulator
//! is a [`PartialGraph`], which cannot be differentiated in any other way.

use std::sync::{Arc, Mutex, PoisonError};

use candle_core::backprop::GradStore;

use crate::{fused::prelude::*, threads::lock};

/// The gradients of one training step that do not go through the graph.
#[derive(Debug, Default)]
pub struct GradAccumulator {
    entries: Mutex<Vec<Arc<Entry>>>,
    collected: GradCollector,
}

/// Gradients of variables that an operation finds by a backward pass of its own, for the accumulator that made this.
#[derive(Debug, Default, Clone)]
pub struct GradCollector(Arc<Mutex<Vec<(Tensor, Tensor)>>>);

impl GradCollector {
    /// Adds `grad` to the gradient of the variable.
    pub fn add(&self, variable: &Tensor, grad: Tensor) {
        lock(&self.0).push((variable.clone(), grad));
    }
}

/// A scalar whose graph lacks the weights whose gradients an accumulator collects.
#[derive(Debug)]
pub struct PartialGraph(Tensor);

impl PartialGraph {
    /// Marks a scalar that was computed with an accumulator.
    pub fn new(scalar: Tensor) -> Self {
        Self(scalar)
    }

    /// The number, without its graph.
    pub fn value(&self) -> Tensor {
        self.0.detach()
    }
}

impl GradAccumulator {
    /// All gradients of a scalar that was computed with this accumulator, as [`Tensor::backward`] would find them had
    /// it been computed without.
    ///
    /// # Errors
    /// Those of the operations' backwards.
    pub fn backward(self, scalar: &PartialGraph) -> Result<GradStore> {
        let mut grads = scalar.0.backward()?;
        for entry in self.entries.into_inner().unwrap_or_else(PoisonError::into_inner) {
            let Some(sums) = lock(&entry.sums).take() else { continue };
            let all = Tensor::from_vec(sums, entry.len(), entry.all.device())?;
            let mut from = 0;
            for w in &entry.weights {
                add(&mut grads, w, all.narrow(0, from, w.elem_count())?.reshape(w.shape())?)?;
                from += w.elem_count();
            }
        }
        for (variable, grad) in lock(&self.collected.0).drain(..) {
            add(&mut grads, &variable, grad)?;
        }
        Ok(grads)
    }

    /// The collector in which operations of this step store the weight gradients of their backward passes.
    pub fn collector(&self) -> GradCollector {
        self.collected.clone()
    }

    /// Takes weights out of the graph; `None` if they are not variables of f32 in host memory, which stay in it.
    pub(super) fn take(&self, weights: &[&Tensor]) -> Result<Option<Arc<Entry>>> {
        let fits = |w: &&Tensor| w.is_variable() && w.device().is_cpu() && w.dtype() == DType::F32;
        let (Some(first), true) = (weights.first(), weights.iter().all(fits)) else { return Ok(None) };
        let len = weights.iter().map(|w| w.elem_count()).sum();
        let mut all = Vec::with_capacity(len);
        for w in weights {
            storage::read(w, |values| {
                all.extend_from_slice(values);
                Ok(())
            })?;
        }
        let all = Tensor::from_vec(all, len, first.device())?;
        let weights = weights.iter().map(|w| (*w).clone()).collect();
        let entry = Arc::new(Entry { weights, all, sums: Mutex::new(None) });
        lock(&self.entries).push(entry.clone());
        Ok(Some(entry))
    }
}

fn add(grads: &mut GradStore, variable: &Tensor, mut grad: Tensor) -> Result<()> {
    if let Some(other) = grads.get(variable) {
        grad = (grad + other)?;
    }
    grads.insert(variable, grad);
    Ok(())
}

/// Weights that an accumulator has taken, and their gradient.
#[derive(Debug)]
pub(super) struct Entry {
    weights: Vec<Tensor>,
    /// The weights, concatenated.
    all: Tensor,
    sums: Mutex<Option<Vec<f32>>>,
}

impl Entry {
    /// The weights in one tensor that no graph knows.
    pub(super) fn all(&self) -> &Tensor {
        &self.all
    }

    pub(super) fn weights(&self) -> &[Tensor] {
        &self.weights
    }

    fn len(&self) -> usize {
        self.all.elem_count()
    }

    /// Lets `write` store the gradient, or, if the flag is set, add it to the current one.
    pub(super) fn accumulate(&self, write: impl FnOnce((&mut [f32], bool))) {
        let mut sums = lock(&self.sums);
        match &mut *sums {
            Some(sums) => write((sums, true)),
            None => *sums = Some(build_vec(self.len(), |sums| write((sums, false)))),
        }
    }
}
