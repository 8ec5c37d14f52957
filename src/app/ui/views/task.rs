//! Describes a generated task beside a passage of it.

use crate::{labs::corpus::questions, ui::views::prelude::*};

/// Explains how to read a passage of the run's text; `None` where the passage asks nothing.
fn description(cx: &ViewCx<'_>) -> Option<&'static str> {
    let config = cx.run_config();
    Some(questions(config)?.how_to_read)
}

/// Height below which the description is one line, with the full text in a tooltip, points.
const LOW: f32 = 200.0;

/// Explains in a line under a passage how to read it. `typed` is the user's own text in its place.
pub fn task_ui(ui: &mut Ui, cx: &ViewCx<'_>, typed: &str) {
    if let Some(words) = description(cx).filter(|_| typed.trim().is_empty()) {
        let label = Label::new(small_text(words, cx.theme.secondary));
        ui.add(if ui.available_height() < LOW { label.truncate() } else { label.wrap() });
    }
}
