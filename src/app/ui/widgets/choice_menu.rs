//! A button and boxes that open a list to choose from.

use eframe::egui::{
    ComboBox, Id, PopupCloseBehavior, Response, TextStyle, TextWrapMode, Ui, WidgetInfo,
    accesskit::Role,
    containers::menu::{MenuButton, MenuConfig, SubMenuButton, is_in_menu},
};

use super::truncated::text_width;
use crate::ui::theme;

/// A button for each choice, with its label and its tooltip, which may be empty. Returns the one clicked.
pub fn choice_buttons<T: PartialEq>(
    ui: &mut Ui,
    chosen: &T,
    choices: impl IntoIterator<Item = (T, impl Into<String>, &'static str)>,
) -> Option<T> {
    let mut clicked = None;
    for (choice, words, tip) in choices {
        let mut button = ui.selectable_label(choice == *chosen, words.into());
        if !tip.is_empty() {
            button = button.on_hover_text(tip);
        }
        if button.clicked() {
            clicked = Some(choice);
        }
    }
    clicked
}

/// Draws a divider in a wrapped row before a button or a label with the words `next`, unless that begins a further line.
pub fn divider_ui(ui: &mut Ui, next: &str) {
    let words = text_width(ui.painter(), next, TextStyle::Button.resolve(ui.style()));
    let (gap, padding) = (6.0 + ui.spacing().item_spacing.x, 2.0 * ui.spacing().button_padding.x);
    if ui.available_size_before_wrap().x >= gap + words + padding {
        ui.separator();
    }
}

/// A button that opens a place for several controls, which stays open until a click outside. In a menu it opens a menu of
/// that menu: egui has one popup open at a time, so that any other would close the menu that contains its button.
pub fn controls_menu(ui: &mut Ui, words: impl Into<String>, add: impl FnOnce(&mut Ui)) -> Response {
    let words: String = words.into();
    let config = MenuConfig::new().close_behavior(PopupCloseBehavior::CloseOnClickOutside).style(theme::popup_style);
    match is_in_menu(ui) {
        true => SubMenuButton::new(words).config(config).ui(ui, add).0,
        false => MenuButton::new(words).config(config).ui(ui, add).0,
    }
}

/// Draws a menu button with the label `words` that chooses one of `choices`, each a value with its label; true if one was
/// clicked.
pub fn choice_menu<T: PartialEq>(
    ui: &mut Ui,
    words: &str,
    chosen: &mut T,
    choices: impl IntoIterator<Item = (T, impl Into<String>)>,
    tip: &str,
) -> bool {
    let mut is_clicked = false;
    let menu = ui.menu_button(words, |ui| {
        for (choice, label) in choices {
            if ui.selectable_value(chosen, choice, label.into()).clicked() {
                is_clicked = true;
                ui.close();
            }
        }
    });
    menu.response.on_hover_text(tip);
    is_clicked
}

/// A box this many points wide with a label of its own, in which `shown` is cut off, or wrapped if the style of `ui`
/// wraps. Each choice has its label, and true if it is the one. Returns the clicked choice, and the box.
pub fn list_box<T>(
    ui: &mut Ui,
    (salt, label): (&str, Id),
    width: f32,
    shown: &str,
    choices: impl IntoIterator<Item = (T, String, bool)>,
) -> (Option<T>, Response) {
    let mut clicked = None;
    let combo = ComboBox::from_id_salt(salt).selected_text(shown).width(width);
    let wraps = ui.style().wrap_mode == Some(TextWrapMode::Wrap);
    let combo = if wraps { combo.wrap() } else { combo.truncate() };
    let combo = combo.show_ui(ui, |ui| {
        for (choice, words, is_chosen) in choices {
            if ui.selectable_label(is_chosen, words).clicked() {
                clicked = Some(choice);
            }
        }
    });
    (clicked, combo.response.labelled_by(label))
}

/// Chooses one of labelled `choices` from a box this wide (points), or from a submenu; `name` is for screen readers.
pub fn choice_box<T: PartialEq>(
    ui: &mut Ui,
    name: &str,
    width: f32,
    shown: &str,
    chosen: &mut T,
    choices: impl IntoIterator<Item = (T, impl Into<String>)>,
) -> Response {
    let mut is_clicked = false;
    let choices_ui = |ui: &mut Ui| {
        for (choice, label) in choices {
            is_clicked |= ui.selectable_value(chosen, choice, label.into()).clicked();
        }
    };
    let mut response = match is_in_menu(ui) {
        true => SubMenuButton::new(shown).ui(ui, choices_ui).0,
        false => ComboBox::from_id_salt(name).selected_text(shown).width(width).show_ui(ui, choices_ui).response,
    };
    response.widget_info(|| WidgetInfo::labeled(Role::ComboBox, true, name));
    if is_clicked {
        response.mark_changed();
    }
    response
}

#[cfg(test)]
mod tests {
    use eframe::egui::{Context, RawInput, Rect, Shape, pos2, vec2};

    use super::*;

    #[test]
    fn no_divider_ends_a_line() {
        let ctx = Context::default();
        let mut last = false;
        for width in (40..400).step_by(4) {
            let screen_rect = Some(Rect::from_min_size(pos2(0.0, 0.0), vec2(width as f32, 200.0)));
            let mut tops = [0.0; 2];
            let out = ctx.run_ui(RawInput { screen_rect, ..RawInput::default() }, |ui| {
                ui.horizontal_wrapped(|ui| {
                    tops[0] = ui.button("distance").rect.top();
                    divider_ui(ui, "to the canard");
                    tops[1] = ui.button("to the canard").rect.top();
                });
            });
            last = out.shapes.iter().any(|clipped| matches!(clipped.shape, Shape::LineSegment { .. }));
            out.drop_without_applying_deltas();
            assert!(!last || tops[0] == tops[1], "{width} points: {tops:?}");
        }
        assert!(last, "a wide row has it");
    }
}
