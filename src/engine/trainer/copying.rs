//! Copies the weights and buffers of a run's variants, each only when it has changed.

use std::sync::Arc;

use super::{Run, RunError, snapshots::Snapshot, variant::Variant, weights::Version};
use crate::store::VariantWeights;

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
    ///
    /// # Errors
    /// If weights cannot be copied.
    pub(super) fn all_weights(&mut self) -> Result<Snapshot, RunError> {
        let has_begun = |run: &Self, i| run.plan.stage(i).from <= run.step;
        (0..self.variants.len())
            .map(|i| if has_begun(self, i) { self.weights(i).map(Some) } else { Ok(None) })
            .collect()
    }
}
