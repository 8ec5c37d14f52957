//! Carries out each action, with one file per area. Only here does the window change more than its appearance.

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
mod stop_first;
mod time;

use crate::ui::app::prelude::*;

pub(super) fn dispatch(app: &mut App, action: impl Into<Action>, ctx: &Context) {
    match action.into() {
        Action::Run(action) => run::dispatch(app, action, ctx),
        Action::Time(action) => time::dispatch(app, action, ctx),
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
