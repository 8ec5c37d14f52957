//! The effect of actions on the shown step.

use crate::ui::app::prelude::*;

pub(super) fn dispatch(app: &mut App, action: TimeAction, ctx: &Context) {
    let Some(page) = app.page_mut() else { return };
    match action {
        TimeAction::Play => {
            let outcome = play::play_or_pause(page, ctx.input(|i| i.time));
            app.warn_on_error(outcome);
        }
        TimeAction::Next => {
            let outcome = play::show_next(page);
            app.warn_on_error(outcome);
        }
        TimeAction::PlaySpeed(seconds) => page.play.seconds = seconds,
        TimeAction::PlayLoops(loops) => page.play.loops = loops,
        TimeAction::Follow => play::follow(page),
        TimeAction::Scrub(step) => play::scrub_to(page, step),
    }
}
