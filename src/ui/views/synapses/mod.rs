//! Views of BDH: what fires, what synapses hold, what surprises.

mod activity;
mod concepts;
mod merging;
mod pulse;
mod reading;
mod surprise;

pub use activity::Activity;
pub use concepts::Concepts;
pub use merging::Merging;
pub use reading::Reading;
pub use surprise::Surprise;

use eframe::egui::{Color32, Ui, vec2};

use crate::{
    telemetry::{Payload, Series},
    ui::{
        plot::{Chart, ChartState},
        theme::{GRID, Theme},
    },
};

/// A synapse in all views: y of neuron i in the layer before, x of neuron j in this layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Synapse {
    pub layer: usize,
    pub i: usize,
    pub j: usize,
}

/// Layers have the colours of variants.
fn layer_colour(theme: &Theme, layer: usize) -> Color32 {
    theme.variant(layer)
}

/// The named series of a bundle.
fn part<'a>(payload: &'a Payload, name: &str) -> Option<&'a Series> {
    payload.part(name).and_then(Payload::as_series)
}

/// The points of one line of a series.
fn points(series: &Series, name: &str) -> Vec<[f64; 2]> {
    let found = series.lines.iter().find(|l| l.name == name);
    found.map_or(vec![], |l| series.x.iter().zip(&l.y).map(|(x, y)| [*x, *y]).collect())
}

/// Two charts above one another on one x axis, the upper one higher.
fn stacked_ui(ui: &mut Ui, theme: &Theme, upper: Chart<'_>, mut lower: Chart<'_>, states: &mut [ChartState; 2]) {
    let size = ui.available_size();
    let [first, second] = states;
    let high = (size.y - GRID) * 0.56;
    let shown = upper.show(ui, vec2(size.x, high), theme, first);
    second.share_x(first);
    lower.margins = Some(shown.margins);
    lower.show(ui, vec2(size.x, size.y - GRID - high), theme, second);
    first.share_x(second);
}
