//! Copies what one variant computes with, its weights and its live parameters, only when it has changed, and gives it to
//! another model of the same kind.

use std::sync::Arc;

use super::{
    Run, RunError,
    snapshots::Snapshot,
    variant::{Variant, Version},
};
use crate::{models::Trainable, nn, store::VariantWeights};

impl Variant {
    fn version(&self) -> Version {
        let params = self.model.runtime_params();
        (self.optimiser.step, params.iter().map(|p| p.value.to_bits()).collect())
    }
}

impl Run {
    /// A copy of the weights and buffers of variant `i`; the same copy as long as they have not changed.
    ///
    /// # Errors
    /// If it has yet to take over its weights, or they cannot be copied.
    pub fn weights(&mut self, i: usize) -> Result<Arc<VariantWeights>, RunError> {
        let stage = self.begun_stage(i, self.step)?;
        let variant = &mut self.variants[i];
        let (version, step) = (variant.version(), stage.from + variant.optimiser.step);
        if let Some((_, weights)) = variant.copied.as_ref().filter(|(of, _)| *of == version) {
            return Ok(weights.clone());
        }
        let weights = Arc::new(VariantWeights::copy(&variant.spec.id, step, variant.model.as_ref())?);
        variant.copied = Some((version, weights.clone()));
        Ok(weights)
    }

    /// The weights of every variant that has begun.
    pub(super) fn all_weights(&mut self) -> Result<Snapshot, RunError> {
        let has_begun = |run: &Self, i| run.plan.stage(i).from <= run.step;
        (0..self.variants.len())
            .map(|i| if has_begun(self, i) { self.weights(i).map(Some) } else { Ok(None) })
            .collect()
    }
}

impl VariantWeights {
    pub(super) fn copy(variant: &str, step: u64, model: &dyn Trainable) -> nn::Result<Self> {
        let copy = |(name, weight): (&str, &candle_core::Var)| Ok((name.to_owned(), weight.as_tensor().copy()?));
        Ok(Self {
            variant: variant.to_owned(),
            step,
            tensors: model.params().iter().map(copy).collect::<nn::Result<_>>()?,
            runtime_params: model.runtime_params().into_iter().map(|p| (p.name.to_owned(), p.value)).collect(),
        })
    }

    /// Gives them to a model built from the same specification. Errors: a tensor is missing or has another shape.
    pub(super) fn apply_to(&self, model: &mut dyn Trainable) -> nn::Result<()> {
        for (name, _) in model.params().iter() {
            let Some((_, value)) = self.tensors.iter().find(|(n, _)| n == name) else {
                candle_core::bail!("the weights kept of step {} lack the tensor `{name}`", self.step)
            };
            model.params().load(name, value)?;
        }
        for (name, value) in &self.runtime_params {
            // a parameter of another version is ignored
            let _: bool = model.set_runtime_param(name, *value);
        }
        Ok(())
    }
}
