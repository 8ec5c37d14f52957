//! Questions put to BDH: which neurons fire, and what a synapse holds while a text is read.

mod activity;
mod firing;
mod merging;
mod reading;
mod surprise;
mod texts;

pub use activity::Activity;
pub use merging::Merging;
pub use reading::Reading;
pub use surprise::Surprise;
pub use texts::Texts;

use super::ProbeContext;
use crate::{
    models::{Model, capabilities::SynapseModel},
    nn::{Result, params::hash},
};

fn model<'a>(cx: &'a ProbeContext<'_>) -> Result<&'a dyn SynapseModel> {
    synapses_of(&*cx.model)
}

fn synapses_of(model: &dyn Model) -> Result<&dyn SynapseModel> {
    match model.synapses() {
        Some(model) => Ok(model),
        None => candle_core::bail!("this is a question for a model with synapses"),
    }
}

/// The same model with random weights: what every number here is held against.
fn random(cx: &ProbeContext<'_>) -> Result<Box<dyn Model>> {
    // a seed of its own, so that it is not the model's own beginning
    cx.model.to_spec().build(cx.corpus.vocab(), cx.seed ^ hash("random weights"), cx.device)
}

/// How a line of one layer is called: `x2`.
fn line_name(part: &str, layer: usize) -> String {
    format!("{part}{layer}")
}
