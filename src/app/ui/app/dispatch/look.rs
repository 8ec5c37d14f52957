//! The effect of actions on the look of the window.

use eframe::egui::Context;

use crate::ui::{
    action::LookAction,
    app::App,
    frames::FrameTimes,
    theme::{self, Theme},
};

/// The scale of the interface in presenter mode.
const PRESENTER_SCALE: f32 = 1.5;

pub(super) fn dispatch(app: &mut App, action: LookAction, ctx: &Context) {
    match action {
        LookAction::Presenter => {
            app.presenter = !app.presenter;
            let factor = if app.presenter { PRESENTER_SCALE } else { 1.0 / PRESENTER_SCALE };
            ctx.set_zoom_factor((ctx.zoom_factor() * factor).clamp(0.5, 4.0));
        }
        LookAction::ToggleTheme => set_theme(app, !app.session.dark, ctx),
        LookAction::Zoom(factor) => ctx.set_zoom_factor(factor.clamp(0.5, 3.0)),
        LookAction::ToggleStill => {
            app.session.still = !app.session.still;
            set_theme(app, app.session.dark, ctx);
        }
        LookAction::FoldControls => app.session.controls_open = !app.session.controls_open,
        LookAction::FoldInspector => app.session.fold_inspector(ctx.content_rect().width()),
        LookAction::FrameTimes => toggle_frames(app),
    }
    app.session.zoom = ctx.zoom_factor() / if app.presenter { PRESENTER_SCALE } else { 1.0 };
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
