//! A button that opens a list of which one is chosen.

use eframe::egui::Ui;

/// Chooses one of `choices`, each with its label; returns true if one was clicked. `words` stand on the button.
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
