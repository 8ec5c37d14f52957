//! An action that would end a training waits until the user has agreed: a preset, opened settings, a pasted session,
//! trained weights, a replay, the letter R. The button Reset does not ask, since beginning again is its meaning; Ctrl Z
//! opens the record of what it ended.

use crate::{
    experiments::permalink::Permalink,
    ui::{app::prelude::*, panels::stop_sheet::StopSheet},
};

/// The action that follows once the training may end.
pub(in crate::ui) enum Waiting {
    Action(Action),
    Settings(Box<Config>, Option<Box<Layout>>),
    Replay(Box<Run>),
    /// A link; whoever is asked about files of this machine has seen which.
    Page(Box<Permalink>),
}

/// True if the action must wait until the user has agreed that the lab's training ends; then a sheet asks, and the
/// caller leaves the action in [`App::waiting`]. `doing` goes on from "to": "begin the preset Needed".
pub(in crate::ui) fn waits(app: &mut App, lab: &str, doing: &str) -> bool {
    if !is_training(app, lab) {
        return false;
    }
    let page = app.pages.get(lab);
    let (title, step) = page.map_or((lab, 0), |p| (p.lab.title, p.newest()));
    let total = page.map_or(0, |p| p.total());
    app.overlay = Some(Overlay::StopFirst(StopSheet { lab: title.to_owned(), step, total, doing: doing.to_owned() }));
    true
}

/// True if the lab's run trains, and the user has not agreed that it ends.
fn is_training(app: &App, lab: &str) -> bool {
    !app.has_agreed && app.pages.get(lab).and_then(|p| p.run.as_ref()).is_some_and(Run::is_running)
}
