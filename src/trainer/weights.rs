//! What one variant computes with at one step: a copy of its weights and of its live parameters, which another
//! model of the same kind can take on. It does not know why it was taken.

use std::sync::Arc;

use super::{Run, RunError, run::Variant};
use crate::{
    models::Model,
    nn,
    store::{KeptWeights, tensors::Named},
};

/// A copy of a variant's weights, which training does not change.
#[derive(Debug)]
pub struct Weights {
    /// The run's step that they are of.
    pub step: u64,
    tensors: Named,
    /// Live parameters of the model, by name.
    runtime_params: Vec<(String, f64)>,
}

impl Weights {
    fn copy(model: &dyn Model, step: u64) -> nn::Result<Self> {
        let copy = |(name, weight): (&str, &candle_core::Var)| Ok((name.to_owned(), weight.as_tensor().copy()?));
        Ok(Self {
            step,
            tensors: model.params().iter().map(copy).collect::<nn::Result<_>>()?,
            runtime_params: model.runtime_params().into_iter().map(|p| (p.name.to_owned(), p.value)).collect(),
        })
    }

    pub fn bytes(&self) -> u64 {
        self.tensors.iter().map(|(_, t)| (t.elem_count() * t.dtype().size_in_bytes()) as u64).sum()
    }

    /// Gives them to a model built from the same specification.
    ///
    /// # Errors
    /// If a tensor is missing or has another shape.
    pub fn give_to(&self, model: &mut dyn Model) -> nn::Result<()> {
        for (name, _) in model.params().iter() {
            let Some((_, value)) = self.tensors.iter().find(|(n, _)| n == name) else {
                candle_core::bail!("the weights kept of step {} lack the tensor `{name}`", self.step)
            };
            model.params().load(name, value)?;
        }
        for (name, value) in &self.runtime_params {
            // a parameter of another version is no hindrance
            let _: bool = model.set_runtime_param(name, *value);
        }
        Ok(())
    }

    /// As the store keeps them.
    pub(super) fn to_kept(&self, variant: &str) -> KeptWeights {
        KeptWeights {
            variant: variant.to_owned(),
            step: self.step,
            tensors: self.tensors.clone(),
            runtime_params: self.runtime_params.clone(),
        }
    }

    pub(super) fn of_kept(kept: KeptWeights) -> Self {
        Self { step: kept.step, tensors: kept.tensors, runtime_params: kept.runtime_params }
    }
}

/// Finished updates, and the bits of the live parameters: equal ones mean equal answers.
pub type Version = (u64, Vec<u64>);

impl Variant {
    fn version(&self) -> Version {
        let params = self.model.runtime_params();
        (self.optimiser.step, params.iter().map(|p| p.value.to_bits()).collect())
    }
}

impl Run {
    /// A copy of what variant `i` computes with now; the same one as long as that has not changed.
    ///
    /// # Errors
    /// If it has yet to take over its weights, or they cannot be copied.
    pub fn weights(&mut self, i: usize) -> Result<Arc<Weights>, RunError> {
        let stage = self.plan.stage(i);
        let variant = &mut self.variants[i];
        if stage.from > self.step {
            return Err(RunError::Refused(format!("{} begins at step {}", variant.spec.label, stage.from)));
        }
        let version = variant.version();
        if let Some((_, weights)) = variant.copied.as_ref().filter(|(of, _)| *of == version) {
            return Ok(weights.clone());
        }
        let weights = Arc::new(Weights::copy(variant.model.as_ref(), stage.from + variant.optimiser.step)?);
        variant.copied = Some((version, weights.clone()));
        Ok(weights)
    }

    /// Of every variant that has begun.
    ///
    /// # Errors
    /// If weights cannot be copied.
    pub fn all_weights(&mut self) -> Result<Vec<Option<Arc<Weights>>>, RunError> {
        let has_begun = |run: &Self, i| run.plan.stage(i).from <= run.step;
        (0..self.variants.len())
            .map(|i| if has_begun(self, i) { self.weights(i).map(Some) } else { Ok(None) })
            .collect()
    }
}
