//! The one control of smoothing: the decay factor of an exponential average over points.

use eframe::egui::{DragValue, Slider, Ui};

/// The width of the number beside a slider, and the minimum and the maximum width of the slider itself, points.
const NUMBER_WIDTH: f32 = 68.0;
const MIN_SLIDER: f32 = 48.0;
const MAX_SLIDER: f32 = 90.0;

/// The control that smooths a chart; `about` names its lines. Without room for the slider it shows its number.
pub fn smoothing_ui(ui: &mut Ui, weight: &mut f64, about: &str) {
    let label = ui.label("smooth").id;
    let room = ui.available_width() - NUMBER_WIDTH;
    let response = if room < MIN_SLIDER {
        ui.add(DragValue::new(weight).range(0.0..=0.99).speed(0.01).max_decimals(2))
    } else {
        ui.spacing_mut().slider_width = room.min(MAX_SLIDER);
        ui.add(Slider::new(weight, 0.0..=0.99).max_decimals(2))
    };
    response.on_hover_text(about).labelled_by(label);
}
