//! What a generated task asks, in words, beside a passage of it. It does not know what is measured.

use eframe::egui::{Label, RichText, Ui};

use super::ViewCx;
use crate::{labs::corpus::CorpusSettings, ui::theme};

/// Why a passage of the run's text holds a question; `None` where it asks none.
fn words(cx: &ViewCx<'_>) -> Option<&'static str> {
    let config = cx.mirror.info.as_ref().map_or(cx.config, |info| &info.config);
    match config.get(CorpusSettings::source.name)?.to_string().as_str() {
        "facts_symbols" => Some(
            "How to read it: \u{201c}#3\u{201d} states a fact, a digit; letters are filler that tells nothing; after each \
             \u{201c}?\u{201d} the same digit must follow. \u{201c}#3ibib?\u{201d} therefore asks for 3.",
        ),
        "facts" => Some(
            "How to read it: the first sentence gives a name; the questions further on ask for it, far beyond what the \
             fast path sees.",
        ),
        _ => None,
    }
}

/// With less room below the passage, points, the words are one line, and whole under the pointer.
const LOW: f32 = 200.0;

/// A line under a passage of a task: how it is read. `typed`: what a person wrote instead of one.
pub fn task_ui(ui: &mut Ui, cx: &ViewCx<'_>, typed: &str) {
    if let Some(words) = words(cx).filter(|_| typed.trim().is_empty()) {
        let label = Label::new(RichText::new(words).size(theme::SMALL).color(cx.theme.secondary));
        ui.add(if ui.available_height() < LOW { label.truncate() } else { label.wrap() });
    }
}
