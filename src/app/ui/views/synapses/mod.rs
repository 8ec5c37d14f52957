//! Views of BDH: which neurons fire, what synapses hold, what merging keeps, what stands for a concept.

mod activity;
mod concept_effect;
mod concepts;
mod merging;
mod reading;
mod stages;
mod surprise;

pub use activity::Activity;
pub use concept_effect::ConceptEffectView;
pub use concepts::Concepts;
pub use merging::Merging;
pub use reading::ReadingView;
pub use surprise::SurpriseView;

use crate::ui::views::prelude::*;

impl Slot for Synapse {
    const STEP: Option<&'static str> = Some("synapse");

    fn label(&self) -> String {
        format!("{} to {} of layer {}", self.i, self.j, self.layer)
    }
}
