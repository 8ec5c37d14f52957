//! Gestures on a picture: the wheel and two fingers as a zoom, arrow keys as steps.

use eframe::egui::{EventFilter, Key, Response, Ui};

/// The factor by which scrolling and pinching bring a picture closer: e for every this many points, else 1.
pub fn zoom_factor(ui: &Ui, points: f32) -> f32 {
    ui.input(|i| i.zoom_delta() * (i.smooth_scroll_delta().y / points).exp())
}

/// How often a key was pressed in this frame; the presses are consumed.
pub fn presses(ui: &Ui, key: Key) -> i32 {
    ui.input_mut(|i| i.count_and_consume_key(Default::default(), key)) as i32
}

/// Steps to the right and upwards by the arrow keys in this frame, of a picture that has the focus: they do not move the focus.
pub fn arrow_steps(ui: &Ui, focused: &Response) -> [i32; 2] {
    let filter = EventFilter { horizontal_arrows: true, vertical_arrows: true, ..Default::default() };
    ui.memory_mut(|m| m.set_focus_lock_filter(focused.id, filter));
    let [right, left, up, down] =
        [Key::ArrowRight, Key::ArrowLeft, Key::ArrowUp, Key::ArrowDown].map(|key| presses(ui, key));
    [right - left, up - down]
}
