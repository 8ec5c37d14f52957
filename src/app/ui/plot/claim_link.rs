//! The label of a number that a claim of the ledger states, as a link to the claim.

use eframe::egui::{CursorIcon, Rect, Sense, Stroke, StrokeKind, Ui, WidgetInfo, accesskit::Role};

use crate::ui::theme::Theme;

/// Turns the label `words` in `rect` into a link; true if it was clicked. `chart` distinguishes equal labels in a view.
pub fn claim_link_ui(ui: &Ui, theme: &Theme, rect: Rect, claim: &str, words: &str, chart: &str) -> bool {
    let response = ui.interact(rect, ui.scope_id().with((chart, "claim", claim, words)), Sense::click());
    response.widget_info(|| WidgetInfo::labeled(Role::Link, true, format!("claim {claim}: {words}")));
    if response.has_focus() {
        ui.painter().rect_stroke(rect.expand(2.0), 2.0, Stroke::new(1.0, theme.accent), StrokeKind::Outside);
    }
    let tip = format!("Opens the claim {claim}: its rule, and what runs have found.");
    response.on_hover_cursor(CursorIcon::PointingHand).on_hover_text(tip).clicked()
}
