//! What a text becomes while chosen neurons or synapses are silenced, scaled or held at a value, beside random ones that
//! are as active.

mod changed;
mod effect;
mod null;
mod request;

pub use effect::{Effect, EffectOptions, effect};
pub use request::{Request, request};

pub(in crate::probe) use changed::{continuation, read_rows};
pub(in crate::probe) use null::Null;

use super::{
    super::{
        Finding, ProbeContext, UntypedProbe,
        prompt::{Prompt, likely_tokens},
    },
    model,
};
use crate::{
    models::Trainable,
    nn::Result,
    telemetry::{measurements::InterventionEffect, number::Number},
};

/// Arguments: `target` (`neurons` or `synapses`), `neurons` (`head:index`, parted by commas), `part` (`x` or `y`), `layer`
/// (from 0; every layer where none is given), `synapses` (`layer y>x`, parted by commas), `action` (`silence`, `scale` or
/// `clamp`), `amount` (the factor or the value), `text` (else a held-out passage, `passage` its number), `longest` (128
/// tokens), `draws` of random neurons or synapses (8), `length` of the continuations (24 tokens). Makes an
/// [`InterventionEffect`]; nothing where nothing is named.
pub struct InterventionProbe;

/// Likely tokens listed.
const LIKELY: usize = 8;

impl UntypedProbe for InterventionProbe {
    fn id(&self) -> &'static str {
        "intervention"
    }

    fn applies(&self, model: &dyn Trainable) -> bool {
        model.capabilities().synapses.is_some()
    }

    fn ask(&self, cx: &mut ProbeContext<'_>) -> Result<Vec<Finding>> {
        let longest = cx.count("longest", 128, 2..=65_536);
        let (draws, length) = (cx.count("draws", 8, 0..=1000), cx.count("length", 24, 0..=4096));
        let asked = request(cx.args, model(cx)?.shape())?;
        if asked.is_empty() {
            return Ok(vec![]);
        }
        let prompt = Prompt::of(cx, longest)?;
        let bdh = model(cx)?;
        let options = EffectOptions { draws, length, seed: cx.seed };
        let found = effect(bdh, &prompt.ids, &asked, options, (cx.device, cx.progress))?;
        let per_head = bdh.shape().per_head();
        let measured = InterventionEffect {
            is_typed: cx.is_typed(),
            neurons: asked.neuron_names(per_head),
            synapses: asked.synapse_names(per_head),
            action: asked.words.clone(),
            firing: found.firing,
            null_firing: found.null_firing,
            sigma: found.sigma.is_finite().then_some(Number(found.sigma)),
            null_sigma: found.null_sigma.is_finite().then_some(Number(found.null_sigma)),
            divergence: found.divergence.into(),
            null_divergence: found.null_divergence.into(),
            null_draws: found.null_draws.into(),
            before: likely_tokens(&found.last_before, cx.corpus, LIKELY),
            after: likely_tokens(&found.last_after, cx.corpus, LIKELY),
            continuation_before: cx.corpus.decode(&found.continuation_before),
            continuation_after: cx.corpus.decode(&found.continuation_after),
            loss_before: found.loss_before.into(),
            loss_after: found.loss_after.into(),
        };
        Ok(vec![Finding::new(measured, prompt.about, prompt.tokens)])
    }
}
