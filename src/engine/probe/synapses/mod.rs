//! Probes of BDH: which neurons fire, and what a synapse holds while a text is read.

mod activity;
mod candidates;
pub(super) mod firing;
mod intervention;
mod logit_lens;
mod merging;
mod query_key_maps;
mod reading;
mod surprise;
mod texts;
mod trained_bdh;

pub use candidates::{CandidateChoice, ChoiceError, ComparedWindows, KnownFacts, choose};
pub use intervention::{Effect, EffectOptions, ForwardPass, Request, effect, request};
pub(super) use intervention::{MatchedNull, missing_names, read_rows};

use crate::{probe::prelude::*, random::hash};

/// Reads a model of the same sizes with random weights, the baseline of every number here.
fn read_random<T>(
    model: &dyn SynapseModel,
    cx: &ProbeInputs<'_>,
    read: impl FnOnce(&dyn SynapseModel) -> Result<T>,
) -> Result<T> {
    // The run's own seed would give the weights that the model began with.
    let random = model.spec().build(cx.corpus.vocab(), cx.seed ^ hash("random weights"), cx.device)?;
    let Some(random) = random.capabilities().synapses else { bail!("this is a question for a model with synapses") };
    read(random)
}
