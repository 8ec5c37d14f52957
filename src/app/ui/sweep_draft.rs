//! A sweep that is being made on a lab's page, with what was found of it.

use crate::{
    config::Config,
    experiments::sweep::draft::{DraftCheck, ObjectiveChoice, SweepDraft, objectives},
    labs::Lab,
};

#[derive(Debug, Clone)]
pub struct SweepDraftState {
    pub draft: SweepDraft,
    /// The numbers that may rank the points.
    pub objectives: Vec<ObjectiveChoice>,
    pub check: DraftCheck,
    /// The draft and the settings that were checked last.
    checked: Option<(SweepDraft, Config)>,
    pub refusal: Option<String>,
    /// The sweep is being written.
    pub is_waiting: bool,
}

impl SweepDraftState {
    pub fn new(lab: &'static Lab, config: &Config) -> Self {
        Self {
            draft: SweepDraft::new(lab, config),
            objectives: objectives(lab, config),
            check: DraftCheck::default(),
            checked: None,
            refusal: None,
            is_waiting: false,
        }
    }

    pub fn refuse(&mut self, words: String) {
        (self.refusal, self.is_waiting) = (Some(words), false);
    }

    /// Checks the draft again, if it or the settings have changed.
    pub fn renew(&mut self, lab: &'static Lab, config: &Config) {
        if self.checked.as_ref().is_some_and(|(draft, of)| *draft == self.draft && of == config) {
            return;
        }
        self.check = self.draft.check(lab, config);
        self.checked = Some((self.draft.clone(), config.clone()));
        self.refusal = None;
    }
}
