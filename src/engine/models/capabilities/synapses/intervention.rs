//! A change of chosen neurons or synapses while a text is read: an activation, or what a synapse holds, is scaled or held
//! at a value.

use crate::telemetry::Synapse;

/// The one of a neuron's two activations that is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NeuronActivation {
    /// x, right after its ReLU: the neuron as a key and a query, and with it y, which is a multiple of x. Where x is carried
    /// from layer to layer (forms `paper` and `both`), it is carried as it was before the change.
    X,
    /// y alone: what the neuron writes to the layers above.
    Y,
}

/// An action on a value a: an activation, or the value of a synapse.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Action {
    /// The value is scaled to s a; 0 silences it.
    Scale(f64),
    /// The value is clamped to this one, at every token.
    Clamp(f64),
}

/// The target of a change.
#[derive(Debug, Clone, PartialEq)]
pub enum Target {
    /// An activation of neurons.
    Neurons {
        /// Numbers in the model: neuron i of head h is h N + i.
        neurons: Vec<usize>,
        /// The activation that is changed, x or y.
        part: NeuronActivation,
        /// The layer where the activation is changed, counted from 0; `None` changes it in all layers.
        layer: Option<usize>,
    },
    /// The values of synapses; the layer of a synapse is that of its x.
    Synapses(Vec<Synapse>),
}

/// A change, the same at every token.
#[derive(Debug, Clone, PartialEq)]
pub struct Intervention {
    /// The neurons or synapses that are changed.
    pub target: Target,
    /// The change that is made to them.
    pub action: Action,
}
