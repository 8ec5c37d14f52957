//! The requested change, and its description. It reads no text.

use crate::{
    probe::prelude::*,
    telemetry::{read_neurons, read_synapses},
};

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

    /// `head:index` of the changed neurons.
    pub fn neuron_names(&self, per_head: usize) -> Vec<String> {
        match &self.change.target {
            Target::Neurons { neurons, .. } => neurons.iter().map(|n| neuron_name(*n, per_head)).collect(),
            Target::Synapses(_) => vec![],
        }
    }

    /// `layer y>x` of the changed synapses.
    pub fn synapse_names(&self, per_head: usize) -> Vec<String> {
        match &self.change.target {
            Target::Neurons { .. } => vec![],
            Target::Synapses(synapses) => synapses.iter().map(|s| s.name(per_head)).collect(),
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
