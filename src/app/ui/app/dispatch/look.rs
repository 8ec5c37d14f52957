//! The effect of actions on the look of the window.

use crate::ui::{
    app::prelude::*,
    frames::FrameTimes,
    session::{MAX_ZOOM, MIN_ZOOM, Tab},
    theme,
};

pub(super) fn dispatch(app: &mut App, action: LookAction, ctx: &Context) {
    match action {
        LookAction::FoldInspector
            if app.session.is_presenting && app.page().is_some_and(|page| page.lesson.step().is_some()) =>
        {
            let is_open = app.session.is_lesson_open();
            (app.session.inspector_open, app.session.tab) = (!is_open, Tab::Lesson);
        }
        LookAction::FoldControls | LookAction::FoldInspector if app.session.is_presenting => {
            app.toasts.push(
                Level::Info,
                "Presenter mode has no controls, and a right panel only with a step of a lesson; P ends it.".into(),
            );
        }
        LookAction::Presenter => {
            app.session.is_presenting = !app.session.is_presenting;
            ctx.set_zoom_factor(app.session.scale());
        }
        LookAction::ToggleTheme => app.session.dark = !app.session.dark,
        LookAction::Zoom(factor) => {
            app.session.zoom = factor.clamp(MIN_ZOOM, MAX_ZOOM);
            ctx.set_zoom_factor(app.session.scale());
        }
        LookAction::ToggleStill => {
            app.session.still = !app.session.still;
            theme::apply(&app.theme, app.session.still, ctx);
        }
        LookAction::FoldControls => app.session.fold_controls(ctx.content_rect().width()),
        LookAction::FoldInspector => app.session.fold_inspector(ctx.content_rect().width()),
        LookAction::FrameTimes => {
            app.frames_shown = !app.frames_shown;
            app.frames = FrameTimes::default();
        }
    }
}
