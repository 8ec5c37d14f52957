//! What a generated task asks, in words, beside a passage of it. It does not know what is measured.

use eframe::egui::{Label, RichText, Ui};

use crate::{
    labs::corpus::questions,
    ui::{theme, view::ViewCx},
};

/// How a passage of the run's text is read; `None` where it asks nothing.
fn description(cx: &ViewCx<'_>) -> Option<&'static str> {
    let config = cx.mirror.info.as_ref().map_or(cx.config, |info| &info.config);
    Some(questions(config)?.how_to_read)
}

/// With less room below the passage, points, the words are one line, and whole under the pointer.
const LOW: f32 = 200.0;

/// A line under a passage of a task: how it is read. `typed`: what a person wrote instead of one.
pub fn task_ui(ui: &mut Ui, cx: &ViewCx<'_>, typed: &str) {
    if let Some(words) = description(cx).filter(|_| typed.trim().is_empty()) {
        let label = Label::new(RichText::new(words).size(theme::SMALL).color(cx.theme.secondary));
        ui.add(if ui.available_height() < LOW { label.truncate() } else { label.wrap() });
    }
}
