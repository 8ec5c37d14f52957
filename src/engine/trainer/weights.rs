//! Copies what one variant computes with, its weights and its live parameters, and gives it to another model of the
//! same kind.

use crate::{models::Trainable, nn, store::VariantWeights};

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

    /// Gives them to a model built from the same specification.
    ///
    /// # Errors
    /// If a tensor is missing or has another shape.
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

/// Finished updates, and the bits of the live parameters: equal ones mean equal answers.
pub type Version = (u64, Vec<u64>);
