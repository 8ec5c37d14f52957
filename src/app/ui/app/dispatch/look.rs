//! The effect of actions on the look of the window.

use crate::ui::{
    app::prelude::*,
    frames::FrameTimes,
    session::{MAX_ZOOM, MIN_ZOOM},
    theme,
};

pub(super) fn dispatch(app: &mut App, action: LookAction, ctx: &Context) {
    match action {
        LookAction::Presenter => {
            app.presenter = !app.presenter;
            ctx.set_zoom_factor(app.session.scale(app.presenter));
        }
        LookAction::ToggleTheme => set_theme(app, !app.session.dark, ctx),
        LookAction::Zoom(factor) => {
            app.session.zoom = factor.clamp(MIN_ZOOM, MAX_ZOOM);
            ctx.set_zoom_factor(app.session.scale(app.presenter));
        }
        LookAction::ToggleStill => {
            app.session.still = !app.session.still;
            set_theme(app, app.session.dark, ctx);
        }
        LookAction::FoldControls => app.session.controls_open = !app.session.controls_open,
        LookAction::FoldInspector => app.session.fold_inspector(ctx.content_rect().width()),
        LookAction::FrameTimes => toggle_frames(app),
    }
}

pub(in crate::ui) fn set_theme(app: &mut App, dark: bool, ctx: &Context) {
    app.session.dark = dark;
    app.theme = Theme::new(dark);
    theme::apply(&app.theme, app.session.still, ctx);
}

pub(in crate::ui) fn toggle_frames(app: &mut App) {
    app.frames_shown = !app.frames_shown;
    app.frames = FrameTimes::default();
}
