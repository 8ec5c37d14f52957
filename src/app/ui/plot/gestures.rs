//! Gestures on a picture: the wheel and two fingers as a zoom, arrow keys as steps, a click on the label of a number that a
//! claim of the ledger states.

use eframe::egui::{
    CursorIcon, EventFilter, Key, Rect, Response, Sense, Stroke, StrokeKind, Ui, WidgetInfo, accesskit::Role,
};

use crate::ui::theme::Theme;

/// The factor by which scrolling and pinching bring a picture closer: e for every this many points, else 1.
pub fn zoom_factor(ui: &Ui, points: f32) -> f32 {
    ui.input(|i| i.zoom_delta() * (i.smooth_scroll_delta().y / points).exp())
}

/// How often a key was pressed in this frame; the presses are consumed.
pub fn count_presses(ui: &Ui, key: Key) -> i32 {
    ui.input_mut(|i| i.count_and_consume_key(Default::default(), key)) as i32
}

/// Steps to the right and upwards by the arrow keys in this frame, of a picture that has the focus: they do not move the focus.
pub fn arrow_steps(ui: &Ui, focused: &Response) -> [i32; 2] {
    let filter = EventFilter { horizontal_arrows: true, vertical_arrows: true, ..Default::default() };
    ui.memory_mut(|m| m.set_focus_lock_filter(focused.id, filter));
    let [right, left, up, down] =
        [Key::ArrowRight, Key::ArrowLeft, Key::ArrowUp, Key::ArrowDown].map(|key| count_presses(ui, key));
    [right - left, up - down]
}

/// Turns the label `words` in `rect` into a link; true if it was clicked. `chart` distinguishes equal labels in a view.
pub fn claim_link_ui(ui: &Ui, theme: &Theme, rect: Rect, claim: &str, words: &str, chart: &str) -> bool {
    let response = ui.interact(rect, ui.scope_id().with((chart, "claim", claim, words)), Sense::click());
    response.widget_info(|| WidgetInfo::labeled(Role::Link, true, format!("claim {claim}: {words}")));
    if response.has_focus() {
        ui.painter().rect_stroke(rect.expand(2.0), 2.0, Stroke::new(1.0, theme.accent), StrokeKind::Outside);
    }
    let tip = format!("Opens the claim {claim}: its rule, and what runs have found.");
    response.on_hover_cursor(CursorIcon::PointingHand).on_hover_text(tip).clicked()
}
