//! The one control of smoothing: the weight of the past in a running average, as TensorBoard draws it.

use eframe::egui::{Slider, Ui};

/// Says of a chart that it is smoothed; `about` says which of its lines.
pub fn smoothing_ui(ui: &mut Ui, weight: &mut f64, about: &str) {
    let label = ui.label("smooth").id;
    ui.spacing_mut().slider_width = (ui.available_width() - 68.0).clamp(24.0, 90.0);
    ui.add(Slider::new(weight, 0.0..=0.99).max_decimals(2)).on_hover_text(about).labelled_by(label);
}
