//! Saves a run as a checkpoint and restores it, bit for bit.

use super::{Run, RunError};
use crate::{
    nn::Tensor,
    store::{Checkpoint, DataPosition, Lengths, checkpoint},
};

impl Run {
    /// Everything that the next update depends on.
    pub fn checkpoint(&self) -> Checkpoint {
        let variants = self
            .variants
            .iter()
            .map(|v| checkpoint::Variant {
                id: v.spec.id.clone(),
                optimiser_step: v.optimiser.step,
                data: DataPosition { seed: v.spec.seed, drawn: self.step },
                weights: v.model.params().iter().map(|(n, p)| (n.to_owned(), p.as_tensor().clone())).collect(),
                moments: v.optimiser.state(v.model.params()),
            })
            .collect();
        Checkpoint {
            step: self.step,
            wall_secs: self.wall_secs,
            live_settings: self.changed.clone(),
            variants,
            lengths: Lengths::default(),
        }
    }

    /// Puts a checkpoint back. Errors name the variant or tensor that does not fit this run's models.
    pub fn restore(&mut self, from: &Checkpoint) -> Result<(), RunError> {
        for v in &mut self.variants {
            let id = &v.spec.id;
            let saved = from.variants.iter().find(|k| k.id == *id).ok_or_else(|| {
                RunError::Refused(format!("the checkpoint of step {} does not hold the variant `{id}`", from.step))
            })?;
            let named =
                |of: &[(String, Tensor)], name: &str| of.iter().find(|(n, _)| n == name).map(|(_, t)| t.clone());
            for (name, _) in v.model.params().iter() {
                let value = named(&saved.weights, name).ok_or_else(|| {
                    RunError::Refused(format!(
                        "the checkpoint of step {} lacks the tensor `{name}` of `{id}`",
                        from.step
                    ))
                })?;
                v.model.params().load(name, &value)?;
            }
            v.copied = None;
            v.optimiser.load_state(v.model.params(), saved.optimiser_step, &|name| named(&saved.moments, name))?;
        }
        self.step = from.step;
        self.wall_secs = from.wall_secs;
        for (key, value) in &from.live_settings {
            self.set(key, value)?;
        }
        Ok(())
    }
}
