//! Measures the effect on a text of silencing, scaling or holding chosen neurons or synapses, beside random ones that
//! are as active.

mod changed;
mod effect;
mod null;
mod request;

pub use effect::{Effect, EffectOptions, effect};
pub use request::{Request, request};

pub(in crate::probe) use changed::{continuation, read_rows};
pub(in crate::probe) use null::MatchedNull;

use crate::probe::prelude::*;

const LIKELY_TOKENS: usize = 8;

/// Gives no answer where nothing is named.
impl Probe for InterventionArgs {
    type Answer = Option<InterventionEffect>;
    type Subject<'m> = &'m dyn SynapseModel;

    fn ask(&self, model: &dyn SynapseModel, cx: &ProbeInputs<'_>) -> Result<Answer<Self::Answer>> {
        let asked = request(&self.change, model.shape())?;
        if asked.is_empty() {
            return Ok(Answer::default());
        }
        let prompt = Prompt::read(cx, &self.text, self.passage, self.longest)?;
        let options = EffectOptions { draws: self.draws, length: self.length, seed: cx.seed };
        let found = effect(model, &prompt.ids, &asked, options, cx.device, cx.progress)?;
        let per_head = model.shape().per_head();
        let measured = InterventionEffect {
            is_typed: !self.text.is_empty(),
            neurons: asked.neuron_names(per_head),
            synapses: asked.synapse_names(per_head),
            action: asked.description.clone(),
            firing: found.firing,
            null_firing: found.null_firing,
            sigma: found.sigma.is_finite().then_some(Number(found.sigma)),
            null_sigma: found.null_sigma.is_finite().then_some(Number(found.null_sigma)),
            divergence: found.divergence.into(),
            null_divergence: found.null_divergence.into(),
            null_draws: found.null_draws.into(),
            before: likely_tokens(&found.last_before, cx.corpus, LIKELY_TOKENS),
            after: likely_tokens(&found.last_after, cx.corpus, LIKELY_TOKENS),
            continuation_before: cx.corpus.decode(&found.continuation_before),
            continuation_after: cx.corpus.decode(&found.continuation_after),
            loss_before: found.loss_before.into(),
            loss_after: found.loss_after.into(),
        };
        Ok(Answer::new(Some(measured), prompt.about, prompt.tokens))
    }
}
