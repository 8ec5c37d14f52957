//! Carries out each action, in files by area. Only here does the window change more than its appearance.
//!
//! An action that would end a training waits until the user has agreed: a preset, opened settings, a pasted session,
//! trained weights, a replay, the letter R. Reset does not ask, and Ctrl Z opens the record of what it ended.

pub(super) mod deliveries;
pub(super) mod file;
pub(super) mod lesson;
pub(super) mod link;
mod look;
pub(super) mod message;
pub(super) mod open;
pub(super) mod open_file;
pub(super) mod open_lab;
pub(super) mod open_run;
mod page;
mod run;
mod runs;
mod setting;

use crate::ui::{app::prelude::*, panels::consent_sheets::StopSheet};

pub(super) fn dispatch(app: &mut App, action: impl Into<Action>, ctx: &Context) {
    match action.into() {
        Action::Run(action) => run::dispatch(app, action, ctx),
        Action::Time(action) => run::dispatch_time(app, action, ctx),
        Action::Setting(action) => setting::dispatch(app, action, ctx),
        Action::Page(action) => page::dispatch(app, action, ctx),
        Action::Look(action) => look::dispatch(app, action, ctx),
        Action::Open(action) => open::dispatch(app, action, ctx),
        Action::File(action) => file::dispatch(app, action, ctx),
        Action::Runs(action) => runs::dispatch(app, action),
        Action::Lesson(action) => lesson::dispatch(app, action, ctx),
        Action::Message(action) => message::dispatch(app, action, ctx),
    }
}

impl App {
    /// True if the action must wait until the user has agreed that the lab's training ends; then a sheet asks, and the
    /// caller leaves the action in [`App::waiting`]. `action` continues from "to": "begin the preset Needed".
    pub(in crate::ui) fn must_wait(&mut self, lab: &str, action: &str) -> bool {
        let is_training = |page: &&Page| page.run.as_ref().is_some_and(Run::is_running);
        let training = self.pages.get(lab).filter(is_training);
        let Some(page) = training.filter(|_| !self.has_stop_consent) else { return false };
        let (step, total, action) = (page.newest(), page.total(), action.to_owned());
        let (id, lab) = (page.lab.id, page.lab.title);
        self.overlay = Some(Overlay::StopFirst(StopSheet { id, lab, step, total, action }));
        true
    }

    /// True if the training that the sheet asks about has ended meanwhile, so that the action needs no agreement.
    pub(in crate::ui) fn may_proceed(&self) -> bool {
        let Some(Overlay::StopFirst(sheet)) = &self.overlay else { return false };
        !self.pages.get(sheet.id).and_then(|page| page.run.as_ref()).is_some_and(Run::is_running)
    }
}
