//! Describes a generated task beside a passage of it.

use crate::ui::views::prelude::*;

/// A line for a sentence that is read in place of a held-out passage. Another sentence has other positions, so that its
/// tokens are not selected.
pub fn sentence_ui(ui: &mut Ui, cx: &mut ViewCx<'_>, text: &mut String, name: &str, tip: &str) -> Response {
    let line = text_line(ui, text, name, "a held-out passage; type a sentence of your own").on_hover_text(tip);
    if line.changed() {
        cx.selection.token = None;
    }
    line
}

/// Height below which the description is one line, with the full text in a tooltip, points.
const LOW_HEIGHT: f32 = 200.0;

/// Explains in a line under a passage how to read it. `typed` is the user's own text in its place.
pub fn task_ui(ui: &mut Ui, cx: &ViewCx<'_>, typed: &str) {
    if let Some(asked) = questions(cx.run_config()).filter(|_| typed.trim().is_empty()) {
        let label = Label::new(small_text(asked.how_to_read, cx.theme.secondary));
        ui.add(if ui.available_height() < LOW_HEIGHT { label.truncate() } else { label.wrap() });
    }
}
