//! A line that opens and folds what is below it.

use eframe::egui::{Button, Role, Ui, WidgetInfo, vec2};

use super::notes::small_text;
use crate::ui::theme::Theme;

/// Height of the line, points.
pub const HEIGHT: f32 = 20.0;

/// Draws the line; a click on it opens or folds.
pub fn fold_ui(ui: &mut Ui, theme: &Theme, name: &str, is_open: &mut bool) {
    let sign = if *is_open { "\u{25be}" } else { "\u{25b8}" };
    let words = small_text(format!("{sign} {name}"), theme.secondary);
    let button = Button::new(words).frame(false).min_size(vec2(0.0, HEIGHT));
    let button = ui.scope(|ui| {
        ui.spacing_mut().interact_size.y = HEIGHT;
        ui.add(button)
    });
    let button = button.inner;
    button.widget_info(|| WidgetInfo::selected(Role::Button, true, *is_open, name));
    let tip = if *is_open { "Click to collapse it." } else { "Click to see every number." };
    if button.on_hover_text(tip).clicked() {
        *is_open = !*is_open;
        ui.ctx().request_repaint();
    }
}
