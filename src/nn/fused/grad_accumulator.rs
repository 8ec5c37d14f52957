//! Gradients of weights that operations add up themselves, beside candle's graph.
//!
//! candle's way back gives every use of a tensor one of zeros and a sum, and those of weights that were gathered from
//! several tensors are taken apart again: five passes over all weights for each use. While a ledger is open, gathered
//! weights stay out of the graph, and an operation adds their gradient to an entry. [`Ledger::backward`] puts the
//! entries beside what candle found.
//!
//! It is open on one thread, from before the loss is formed until its way back begins. What goes back over a graph of
//! its own within another's way back does so [`silently`].

use std::{
    cell::{Cell, RefCell},
    marker::PhantomData,
    sync::{Arc, Mutex, PoisonError},
};

use candle_core::{DType, Result, Tensor, backprop::GradStore};

use super::storage;
use crate::nn::kernels::buffers::build_vec;

thread_local! {
    static OPEN: RefCell<Option<Vec<Arc<Entry>>>> = const { RefCell::new(None) };
    static SILENT: Cell<bool> = const { Cell::new(false) };
}

/// The one that is open on this thread.
pub struct Ledger(PhantomData<*const ()>);

impl Ledger {
    /// Opens it; another that was open is forgotten.
    pub fn open() -> Self {
        OPEN.set(Some(vec![]));
        Self(PhantomData)
    }

    /// All gradients of a loss that was formed since, as [`Tensor::backward`] would find them.
    ///
    /// # Errors
    /// Those of the operations' ways back.
    pub fn backward(self, loss: &Tensor) -> Result<GradStore> {
        let entries = OPEN.take().unwrap_or_default();
        let mut grads = loss.backward()?;
        for entry in entries {
            let Some(sums) = entry.sums.lock().unwrap_or_else(PoisonError::into_inner).take() else { continue };
            let all = Tensor::from_vec(sums, entry.len(), entry.all.device())?;
            let mut from = 0;
            for w in &entry.weights {
                let mut grad = all.narrow(0, from, w.elem_count())?.reshape(w.shape())?;
                from += w.elem_count();
                if let Some(other) = grads.get(w) {
                    grad = (grad + other)?;
                }
                grads.insert(w, grad);
            }
        }
        Ok(grads)
    }
}

impl Drop for Ledger {
    fn drop(&mut self) {
        OPEN.set(None);
    }
}

/// With no entry written, for a way back that is not the loss's.
pub fn silently<R>(f: impl FnOnce() -> R) -> R {
    struct Back(bool);
    impl Drop for Back {
        fn drop(&mut self) {
            SILENT.set(self.0);
        }
    }
    let _back = Back(SILENT.replace(true));
    f()
}

/// Weights that were gathered while a ledger was open, and their gradient.
#[derive(Debug)]
pub struct Entry {
    weights: Vec<Tensor>,
    /// One after the other.
    all: Tensor,
    sums: Mutex<Option<Vec<f32>>>,
}

impl Entry {
    /// If a ledger is open, and these are variables in host memory.
    pub fn of(weights: &[&Tensor]) -> Result<Option<Arc<Self>>> {
        if OPEN.with_borrow(Option::is_none) || SILENT.get() {
            return Ok(None);
        }
        let ours = |w: &&Tensor| w.is_variable() && w.device().is_cpu() && w.dtype() == DType::F32;
        let (Some(first), true) = (weights.first(), weights.iter().all(ours)) else { return Ok(None) };
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
        let entry = Arc::new(Self { weights, all, sums: Mutex::new(None) });
        OPEN.with_borrow_mut(|open| open.iter_mut().for_each(|open| open.push(entry.clone())));
        Ok(Some(entry))
    }

    /// The weights in one tensor, which no graph knows.
    pub fn all(&self) -> &Tensor {
        &self.all
    }

    pub fn weights(&self) -> &[Tensor] {
        &self.weights
    }

    fn len(&self) -> usize {
        self.all.elem_count()
    }

    /// `write` writes the gradient, or, if told so, adds it to what is there. Not while others go back
    /// [`silently`].
    pub fn add(&self, write: impl FnOnce(Option<(&mut [f32], bool)>)) {
        if SILENT.get() {
            return write(None);
        }
        let mut sums = self.sums.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *sums {
            Some(sums) => write(Some((sums, true))),
            None => *sums = Some(build_vec(self.len(), |sums| write(Some((sums, false))))),
        }
    }
}
