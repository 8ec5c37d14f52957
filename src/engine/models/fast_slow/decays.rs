//! The decays that a slow path with linear attention took in the last training step.

use std::cell::RefCell;

use crate::{models::prelude::*, nn::attention::effective_memory};

/// The logarithms of the decays, of all rounds and slow blocks.
#[derive(Default)]
pub(super) struct Decays(RefCell<Vec<Tensor>>);

impl Decays {
    /// Keeps the decays that a pass through the slow path offers; round 0 begins again.
    pub(super) fn follow(&self, round: usize, pass: impl FnOnce(&mut Tap) -> Result<Tensor>) -> Result<Tensor> {
        let mut tap = Tap::on(&["slow."]);
        let y = pass(&mut tap)?;
        let mut kept = self.0.borrow_mut();
        if round == 0 {
            kept.clear();
        }
        kept.extend(
            tap.found().iter().filter(|(path, _)| path.ends_with(".log_decay")).map(|(_, decays)| decays.clone()),
        );
        Ok(y)
    }

    /// The effective memory in slow tokens: its first decile, median and last decile. Nothing before the first step.
    pub(super) fn scalars(&self) -> Result<Vec<(&'static str, f64)>> {
        let mut memory = vec![];
        for decays in self.0.borrow().iter() {
            memory.extend(effective_memory(decays)?);
        }
        let Some(last) = memory.len().checked_sub(1) else { return Ok(vec![]) };
        let deciles = [(channels::MEMORY_LOW, 1), (channels::MEMORY_MEDIAN, 5), (channels::MEMORY_HIGH, 9)];
        Ok(deciles
            .map(|(channel, tenths)| {
                let (_, value, _) = memory.select_nth_unstable_by(last * tenths / 10, f64::total_cmp);
                (channel, *value)
            })
            .to_vec())
    }
}
