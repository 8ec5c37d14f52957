//! A line of text to type, and values that count once a hand has left their field.

use eframe::egui::{Response, TextEdit, Ui, WidgetInfo, accesskit::Role};

/// A text field as wide as the space there is, with its accessible name.
pub fn text_line(ui: &mut Ui, text: &mut String, name: &str, hint: &str) -> Response {
    text_field(ui, TextEdit::singleline(text).desired_width(f32::INFINITY).hint_text(hint), name)
}

pub fn text_field(ui: &mut Ui, field: TextEdit<'_>, name: &str) -> Response {
    let response = ui.add(field);
    response.widget_info(|| WidgetInfo::labeled(Role::TextInput, true, name));
    response
}

/// The value of a field once it is no longer dragged or typed in; `meanwhile` holds it until then.
pub fn settled<T>(response: &Response, value: T, meanwhile: &mut Option<T>) -> Option<T> {
    if response.changed() {
        *meanwhile = Some(value);
    }
    let is_busy = response.dragged() || response.has_focus();
    if is_busy { None } else { meanwhile.take() }
}
