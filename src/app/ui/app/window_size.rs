//! The window fits the desktop that it opens on.

use eframe::egui::{Context, Id, Vec2, ViewportCommand, vec2};

/// The size of a window on a desktop that has room for it, points.
pub(super) const DEFAULT_SIZE: [f32; 2] = [1280.0, 800.0];
/// Smaller than this, a window cannot be made: half of 1080 lines, less the bars, has to fit.
pub(super) const MIN_SIZE: [f32; 2] = [640.0, 400.0];
/// Height that a desktop keeps for the window's title bar and its own bars, points.
const BARS_HEIGHT: f32 = 72.0;

/// Makes the window small enough for its monitor once the size of that is known, if it is larger.
pub(super) fn fit_to_monitor(ctx: &Context) {
    let done = Id::unique("orrery window fitted");
    if ctx.data(|d| d.get_temp::<bool>(done)).unwrap_or(false) {
        return;
    }
    let (monitor, is_full) = ctx.input(|i| {
        let viewport = i.viewport();
        (viewport.monitor_size, viewport.maximized == Some(true) || viewport.fullscreen == Some(true))
    });
    let Some(monitor) = monitor.filter(|size| size.x > 0.0 && size.y > 0.0) else { return };
    ctx.data_mut(|d| d.insert_temp(done, true));
    if let Some(size) = fitting(ctx.content_rect().size(), monitor).filter(|_| !is_full) {
        ctx.send_viewport_cmd(ViewportCommand::InnerSize(size));
    }
}

/// The size that a window gets if it is too large for its monitor.
fn fitting(window: Vec2, monitor: Vec2) -> Option<Vec2> {
    let fits = window.min(monitor - vec2(0.0, BARS_HEIGHT)).max(MIN_SIZE.into());
    (fits != window).then_some(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_no_larger_than_its_desktop() {
        let usual = Vec2::from(DEFAULT_SIZE);
        assert_eq!(fitting(usual, vec2(1920.0, 1080.0)), None);
        assert_eq!(fitting(usual, vec2(1024.0, 700.0)), Some(vec2(1024.0, 628.0)));
        assert_eq!(fitting(usual, vec2(960.0, 540.0)), Some(vec2(960.0, 468.0)), "1920 x 1080 at two pixels a point");
        assert_eq!(fitting(usual, vec2(1280.0, 800.0)), Some(vec2(1280.0, 728.0)), "its bars have room");
        assert_eq!(fitting(usual, vec2(320.0, 200.0)), Some(MIN_SIZE.into()));
    }
}
