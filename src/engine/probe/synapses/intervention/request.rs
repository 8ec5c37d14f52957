//! What somebody asks to be changed, and it in words. It reads no text.

use candle_core::bail;

use crate::{
    models::capabilities::{Action, Intervention, Part, SynapseShape, Target},
    nn::Result,
    telemetry::{Args, Synapse, neuron_name, read_neurons, read_synapses},
};

/// A change and what is said of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    pub change: Intervention,
    /// "x and y silenced in every layer"
    pub words: String,
}

/// How a synapse of the model is written.
pub(super) fn name_of(synapse: &Synapse, per_head: usize) -> String {
    synapse.name(per_head)
}

impl Request {
    /// Whether nothing is named.
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
            Target::Synapses(synapses) => synapses.iter().map(|s| name_of(s, per_head)).collect(),
        }
    }
}

/// What the arguments of the probe ask for. Neurons where no target is given.
///
/// # Errors
/// If one of the names is no neuron or synapse of the model, or the action is none.
pub fn request(args: &Args, shape: &SynapseShape) -> Result<Request> {
    let text = |name: &str| args.get(name).map(ToString::to_string).unwrap_or_default();
    let words = candle_core::Error::Msg;
    let amount = args.get("amount").and_then(|v| v.as_f64()).unwrap_or(0.0);
    let (action, done) = match text("action").as_str() {
        "" | "silence" => (Action::Scale(0.0), "silenced".to_owned()),
        "scale" => (Action::Scale(amount), format!("times {amount}")),
        "clamp" => (Action::Clamp(amount), format!("held at {amount}")),
        other => bail!("`{other}` is nothing to do to a neuron: silence, scale or clamp"),
    };
    if text("target") == "synapses" {
        let found = read_synapses(&text("synapses"), shape.layers, shape.heads, shape.per_head()).map_err(words)?;
        let change = Intervention { target: Target::Synapses(found), action };
        return Ok(Request { change, words: format!("\u{3c3} {done}") });
    }
    let neurons = read_neurons(&text("neurons"), shape.heads, shape.per_head()).map_err(words)?;
    let part = if text("part") == "y" { Part::Y } else { Part::X };
    let layer = args.get("layer").and_then(|v| v.as_f64()).filter(|l| *l >= 0.0).map(|l| l as usize);
    let named = if part == Part::Y { "y" } else { "x and y" };
    let place = layer.map_or("every layer".to_owned(), |l| format!("layer {l}"));
    let change = Intervention { target: Target::Neurons { neurons, part, layer }, action };
    Ok(Request { change, words: format!("{named} {done} in {place}") })
}
