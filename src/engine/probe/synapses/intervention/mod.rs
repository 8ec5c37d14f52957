//! Measures the effect on a text of silencing, scaling or holding chosen neurons or synapses, compared with random ones
//! that are as active.

mod changed;
mod effect;
mod null;

pub use effect::{Effect, EffectOptions, effect};

pub use changed::ForwardPass;
pub(in crate::probe) use changed::read_rows;
pub(in crate::probe) use null::MatchedNull;

use crate::{
    probe::prelude::*,
    telemetry::{read_neurons, read_synapses},
};

const LIKELY_TOKENS: usize = 8;

/// Returns no answer if the arguments name no neuron or synapse.
impl Probe for InterventionArgs {
    type Answer = Option<InterventionEffect>;
    type Subject<'m> = &'m dyn SynapseModel;

    fn missing(&self) -> Option<&'static str> {
        missing_names(&self.change)
    }

    fn ask(&self, model: &dyn SynapseModel, cx: &ProbeInputs<'_>) -> Result<Answer<Self::Answer>> {
        let asked = request(&self.change, model.shape())?;
        if asked.is_empty() {
            return Ok(Answer::default());
        }
        let prompt = Prompt::read(cx, &self.text, self.passage, self.longest)?;
        let options = EffectOptions { draws: self.draws, length: self.length, seed: cx.seed };
        let found = effect(model, &prompt.ids, &asked, options, cx.progress)?;
        let [neurons, synapses] = asked.names(model.shape().per_head());
        let measured = InterventionEffect {
            is_typed: !self.text.is_empty(),
            neurons,
            synapses,
            action: asked.description,
            firing: found.firing,
            null_firing: found.null_firing,
            sigma: found.sigma.is_finite().then_some(Number(found.sigma)),
            null_sigma: found.null_sigma.is_finite().then_some(Number(found.null_sigma)),
            divergence: found.divergence.into(),
            null_divergence: found.null_divergence.into(),
            null_draws: found.null_draws.into(),
            before: likely_tokens(&found.before.last, cx.corpus, LIKELY_TOKENS),
            after: likely_tokens(&found.after.last, cx.corpus, LIKELY_TOKENS),
            continuation_before: cx.corpus.decode(&found.before.continuation),
            continuation_after: cx.corpus.decode(&found.after.continuation),
            loss_before: found.before.loss.into(),
            loss_after: found.after.loss.into(),
        };
        Ok(Answer::new(Some(measured), prompt.about, prompt.tokens))
    }
}

/// Says which arguments to give where a change names nothing of its target.
pub(in crate::probe) fn missing_names(args: &ChangeArgs) -> Option<&'static str> {
    let (named, needed) = match args.target {
        TargetKind::Neurons => (
            &args.neurons,
            "name neurons, such as --set neurons=0:3, or synapses, such as --set target=synapses --set synapses=0:3:5",
        ),
        TargetKind::Synapses => (&args.synapses, "name synapses, such as --set synapses=0:3:5"),
    };
    named.trim().is_empty().then_some(needed)
}

/// A change with its description.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// The requested change.
    pub change: Intervention,
    /// "x and y silenced in every layer"
    pub description: String,
}

impl Request {
    /// True if nothing is named.
    pub fn is_empty(&self) -> bool {
        match &self.change.target {
            Target::Neurons { neurons, .. } => neurons.is_empty(),
            Target::Synapses(synapses) => synapses.is_empty(),
        }
    }

    /// The changed neurons as `head:index`, and the changed synapses as `layer y>x`; one of the lists is empty.
    pub fn names(&self, per_head: usize) -> [Vec<String>; 2] {
        match &self.change.target {
            Target::Neurons { neurons, .. } => [neurons.iter().map(|n| neuron_name(*n, per_head)).collect(), vec![]],
            Target::Synapses(synapses) => [vec![], synapses.iter().map(|s| s.name(per_head)).collect()],
        }
    }
}

/// The request in the arguments of the probe.
///
/// # Errors
/// If one of the names is not a neuron or synapse of the model.
pub fn request(args: &ChangeArgs, shape: &SynapseShape) -> Result<Request> {
    let error = candle_core::Error::Msg;
    let amount = args.amount;
    let (action, done) = match args.action {
        ActionKind::Silence => (Action::Scale(0.0), "silenced".to_owned()),
        ActionKind::Scale => (Action::Scale(amount), format!("times {amount}")),
        ActionKind::Clamp => (Action::Clamp(amount), format!("held at {amount}")),
    };
    if args.target == TargetKind::Synapses {
        let found = read_synapses(&args.synapses, shape.layers, shape.heads, shape.per_head()).map_err(error)?;
        let change = Intervention { target: Target::Synapses(found), action };
        return Ok(Request { change, description: format!("\u{3c3} {done}") });
    }
    let neurons = read_neurons(&args.neurons, shape.heads, shape.per_head()).map_err(error)?;
    let (part, named) = match args.part {
        ChangedPart::X => (NeuronActivation::X, "x and y"),
        ChangedPart::Y => (NeuronActivation::Y, "y"),
    };
    let layer = usize::try_from(args.layer).ok();
    let place = layer.map_or("every layer".to_owned(), |l| format!("layer {l}"));
    let change = Intervention { target: Target::Neurons { neurons, part, layer }, action };
    Ok(Request { change, description: format!("{named} {done} in {place}") })
}
