//! Who takes over from whom in a run of several stages, and what such a run reads.

use super::{Run, RunError};
use crate::{corpus::Corpus, models::Model, nn::AdamW};

impl Run {
    /// Variants that begin at this step take over their weights and begin with a fresh optimiser; returns
    /// what was done, in words.
    pub(super) fn hand_down(&mut self) -> Result<Vec<String>, RunError> {
        let mut told = vec![];
        for i in 0..self.variants.len() {
            let part = self.plan.part(i);
            if part.from != self.step || part.heir_of.is_empty() {
                continue;
            }
            let heir = &self.variants[i];
            let parents: Vec<&dyn Model> = part.heir_of.iter().map(|&p| self.variants[p].model.as_ref()).collect();
            let lines = heir.model.load_from(&parents)?;
            told.extend(lines.into_iter().map(|line| format!("{}: {line}", heir.spec.label)));
            self.variants[i].optimiser = AdamW::new(self.variants[i].model.params(), self.plan.optimisation.adamw)?;
        }
        Ok(told)
    }

    /// What is read, in words: the run's own corpus, and the names of the others.
    pub(super) fn reads(&self) -> String {
        match self.texts.as_slice() {
            [] => String::new(),
            [one] => one.describe(),
            [first, others @ ..] => {
                let names: Vec<&str> = others.iter().map(Corpus::name).collect();
                format!("{}, then {}", first.name(), names.join(" and "))
            }
        }
    }
}
