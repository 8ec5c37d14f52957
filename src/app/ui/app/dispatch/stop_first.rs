//! An action that would end a training waits until the user has agreed: a preset, opened settings, a pasted session,
//! trained weights, a replay, the letter R. Reset does not ask, and Ctrl Z opens the record of what it ended.

use crate::{
    experiments::permalink::Permalink,
    ui::{app::prelude::*, panels::stop_sheet::StopSheet},
};

/// The action that follows once the training may end.
pub(in crate::ui) enum PendingAction {
    Action(Action),
    Settings(Box<Config>, Option<Box<Layout>>),
    Replay(Box<Run>),
    /// A link; if it names files of this machine, the user has agreed to them.
    Page(Box<Permalink>),
}

/// True if the action must wait until the user has agreed that the lab's training ends; then a sheet asks, and the
/// caller leaves the action in [`App::waiting`]. `doing` continues from "to": "begin the preset Needed".
pub(in crate::ui) fn must_wait(app: &mut App, lab: &str, doing: &str) -> bool {
    let is_training = |page: &&Page| page.run.as_ref().is_some_and(Run::is_running);
    let Some(page) = app.pages.get(lab).filter(is_training).filter(|_| !app.has_stop_consent) else { return false };
    let (step, total, doing) = (page.newest(), page.total(), doing.to_owned());
    let (id, lab) = (page.lab.id, page.lab.title);
    app.overlay = Some(Overlay::StopFirst(StopSheet { id, lab, step, total, doing }));
    true
}

/// True if the training that the sheet asks about has ended meanwhile, so that the pending action needs no agreement.
pub(in crate::ui) fn may_proceed(app: &App) -> bool {
    let Some(Overlay::StopFirst(sheet)) = &app.overlay else { return false };
    !app.pages.get(sheet.id).and_then(|page| page.run.as_ref()).is_some_and(Run::is_running)
}
