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

use super::Subject;
use crate::{
    models::bdh::Bdh,
    nn::{Result, params::hash},
};

fn model<'a>(subject: &'a Subject<'_>) -> Result<&'a Bdh> {
    match subject.model.as_any().downcast_ref::<Bdh>() {
        Some(model) => Ok(model),
        None => candle_core::bail!("this is a question for a BDH"),
    }
}

/// The same model with random weights: what every number here is held against.
fn random(subject: &Subject<'_>) -> Result<Bdh> {
    let spec = model(subject)?.spec();
    // a seed of its own, so that it is not the model's own beginning
    Bdh::new(spec, subject.corpus.vocab(), subject.seed ^ hash("random weights"), subject.device)
}

/// How a line of one layer is called: `x2`.
fn line_name(part: &str, layer: usize) -> String {
    format!("{part}{layer}")
}
