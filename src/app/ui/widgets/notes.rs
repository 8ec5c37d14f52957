//! Small notes beside what they explain, and the space of a drawing.

use eframe::egui::{Color32, Label, Painter, Rect, Response, RichText, Sense, Ui, Vec2, WidgetInfo, accesskit::Role};

use super::truncated::text_width;
use crate::ui::{
    plot::note_canvas,
    theme::{self, Theme},
};

pub fn small_text(words: impl Into<String>, colour: Color32) -> RichText {
    RichText::new(words).size(theme::SMALL).color(colour)
}

/// A small line in the secondary colour.
pub fn note_ui(ui: &mut Ui, theme: &Theme, words: impl Into<String>) -> Response {
    ui.label(small_text(words, theme.secondary))
}

/// The height of a note in this much width, points.
pub fn note_height(ui: &Ui, words: &str, width: f32) -> f32 {
    ui.painter().layout(words.to_owned(), theme::small(), Color32::PLACEHOLDER, width).size().y
}

/// The width of a note in one line, points.
pub fn note_width(painter: &Painter, words: &str) -> f32 {
    text_width(painter, words, theme::small())
}

/// Small text that continues in further lines where the room is too narrow.
pub fn wrapped_ui(ui: &mut Ui, words: impl Into<String>, colour: Color32) -> Response {
    ui.add(Label::new(small_text(words, colour)).wrap())
}

/// Small text on one line, cut off where the room is too narrow.
pub fn truncated_ui(ui: &mut Ui, words: impl Into<String>, colour: Color32) -> Response {
    ui.add(Label::new(small_text(words, colour)).truncate())
}

/// Small text in as many lines as it needs. Where it has no room, `short` takes its place, with the text as its
/// tooltip. `hint` is a tooltip in either case.
pub fn caption_ui(ui: &mut Ui, theme: &Theme, words: &str, has_room: bool, short: &str, hint: &str) {
    let text = small_text(if has_room { words } else { short }, theme.secondary);
    let label = ui.add(Label::new(text).wrap().sense(Sense::hover()));
    let tip = if has_room { hint.to_owned() } else { format!("{words}\n\n{hint}") };
    if !tip.is_empty() {
        label.on_hover_text(tip.trim_end());
    }
}

/// Allocates room for a drawing, names it for screen readers, and returns a painter that is clipped to it.
pub fn canvas_ui(ui: &mut Ui, size: Vec2, sense: Sense, name: impl Into<String>) -> (Rect, Response, Painter) {
    let (rect, response) = ui.allocate_exact_size(size, sense);
    let name = name.into();
    response.widget_info(|| WidgetInfo::labeled(Role::Canvas, true, &name));
    note_canvas(ui, &name, rect);
    (rect, response, ui.painter_at(rect))
}

/// Returns the text with its first letter in upper case.
pub fn capitalised(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}
