//! The weights that each variant starts from in a run of several stages, and the text of such a run.

use super::{Run, RunError};
use crate::{corpus::Corpus, models::Trainable, nn::AdamW};

impl Run {
    /// Loads the weights of variants that begin at this step from their parents, with a fresh optimiser;
    /// returns notes on what was done.
    pub(super) fn init_stages(&mut self) -> Result<Vec<String>, RunError> {
        let mut notes = vec![];
        for i in 0..self.variants.len() {
            let stage = self.plan.stage(i);
            if stage.from != self.step || stage.init_from.is_empty() {
                continue;
            }
            let child = &self.variants[i];
            let parents: Vec<&dyn Trainable> =
                stage.init_from.iter().map(|&p| self.variants[p].model.as_ref()).collect();
            let lines = child.model.load_from(&parents)?;
            notes.extend(lines.into_iter().map(|line| format!("{}: {line}", child.spec.label)));
            self.variants[i].optimiser = AdamW::new(self.variants[i].model.params(), self.plan.optimisation.adamw)?;
        }
        Ok(notes)
    }

    /// The names of the texts: the run's own corpus, and the others.
    pub(super) fn text_names(&self) -> String {
        match &self.texts[..] {
            [] => String::new(),
            [one] => one.describe(),
            [first, others @ ..] => {
                let names: Vec<&str> = others.iter().map(Corpus::name).collect();
                format!("{}, then {}", first.name(), names.join(" and "))
            }
        }
    }
}
