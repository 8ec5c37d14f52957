//! Views of an editable generator: its rates and their limits, the relaxation of distributions, its spectrum, and a
//! network that learns it. They share one set of settings, so that one question serves them all.

use crate::{
    labs::equilibrium::settings::{ControlSettings, EquilibriumSettings},
    ui::views::prelude::*,
};

mod canvas;
mod generator;
mod map;
mod rates;
mod relaxation;
mod spectrum;

pub use generator::GeneratorView;
pub use map::StationaryMapView;
pub use relaxation::RelaxationView;
pub use spectrum::SpectrumView;

const GAP: f32 = 6.0;

/// The settings as they are in this frame.
fn settings(cx: &ViewCx<'_>) -> EquilibriumSettings {
    let config: &Config = &cx.config_now();
    EquilibriumSettings::read_or_default(config)
}

/// Asks with the current settings whenever they change, or the network has learned on.
fn keep_fresh<M: Measurement>(cx: &mut ViewCx<'_>, args: impl Fn(&EquilibriumSettings) -> M::Args) {
    let args = args(&settings(cx));
    cx.ask::<M>(None, &args, Freshness::SELDOM);
}

fn subtitle<M: Measurement>(cx: &ViewCx<'_>, what: &str) -> String {
    cx.answered_subtitle::<M>(what, what)
}

fn empty_reason<M: Measurement>(cx: &ViewCx<'_>) -> String {
    cx.empty_reason::<M>("Nothing to show yet. A run of the task map has a generator as soon as it is made; in one of the task block the model’s own slow state controls one.")
}

/// Wider places have both of a view's pictures side by side, points; narrower ones the one that is chosen.
const ARRANGEMENT: Arrangement = Arrangement::HalvesOrOne { wide: 420.0 };

const Y_LABELS: [&str; 4] = ["y\u{2080}", "y\u{2081}", "y\u{2082}", "y\u{2083}"];

/// Sliders for the first numbers of the control.
fn control_ui(ui: &mut Ui, cx: &mut ViewCx<'_>, max: usize) {
    let s = settings(cx);
    let ControlSettings { y0, y1, y2, y3 } = s.control;
    let keys = [ControlSettings::y0, ControlSettings::y1, ControlSettings::y2, ControlSettings::y3];
    for (i, y) in [y0, y1, y2, y3].into_iter().enumerate().take(s.generator.controls.min(max)) {
        ui.spacing_mut().slider_width = 70.0;
        cx.edit_setting_ui(ui, keys[i].name, y, |ui, y| {
            let slider = Slider::new(y, -4.0..=4.0).fixed_decimals(2).text(Y_LABELS[i]);
            ui.add(slider).on_hover_text("The slow control: it tilts every log rate.")
        });
    }
}
