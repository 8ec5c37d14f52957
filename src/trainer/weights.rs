//! What one variant computes with at one step: a copy of its weights and of its live parameters, which another
//! model of the same kind can take on. It does not know why it was taken.

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
    pub(super) fn copy(model: &dyn Model, step: u64) -> nn::Result<Self> {
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
