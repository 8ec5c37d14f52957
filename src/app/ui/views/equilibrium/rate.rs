//! A rate of a generator, and its mark and its name at the pointer.

use crate::ui::views::painting::*;

/// A rate: the state that is left and the state that is gone to.
pub type Rate = (usize, usize);

/// The rate to mark in a picture: while it is dragged the one that was pressed, else the one under the pointer.
pub fn rate_at_pointer(ui: &Ui, response: &Response, rate_at: impl Fn(Pos2) -> Option<Rate>) -> Option<Rate> {
    let at = if response.dragged() { ui.input(|i| i.pointer.press_origin()) } else { response.hover_pos() };
    at.and_then(rate_at)
}

/// Names a rate with its value at the pointer.
pub fn name_ui(response: &Response, (from, to): Rate, value: f64) {
    let words = format!("{} \u{2192} {}: {}", from + 1, to + 1, number::short(value));
    response.clone().on_hover_ui_at_pointer(|ui| _ = ui.monospace(words));
}
