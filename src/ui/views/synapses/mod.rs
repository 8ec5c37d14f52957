//! Views of BDH: what fires, what synapses hold, what surprises.

mod activity;
mod concepts;
mod merging;
mod pulse;
mod reading;
mod stages;
mod surprise;

pub use activity::Activity;
pub use concepts::Concepts;
pub use merging::Merging;
pub use reading::Reading;
pub use surprise::Surprise;

use eframe::egui::Color32;

use crate::{
    telemetry::{Payload, Series},
    ui::theme::Theme,
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
