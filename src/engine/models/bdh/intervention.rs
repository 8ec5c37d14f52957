//! What is done to chosen neurons or synapses of a BDH while it reads: an activation, or what a synapse holds, is scaled
//! or held at a value. It does not know why.

use candle_core::{Device, Result, Tensor, bail};

use super::{
    spec::BdhSpec,
    synapse_edit::{Synapse, SynapseEdit},
};

/// Which of a neuron's two activations is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// x, right after its ReLU: the neuron as a key and a query, and with it y, which is a multiple of x. Where x is carried
    /// from layer to layer (forms `paper` and `both`), it is carried as it was before the change.
    X,
    /// y alone: what the neuron writes to the layers above.
    Y,
}

/// What becomes of a value a: an activation, or what a synapse holds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Action {
    /// s a; 0 silences it.
    Scale(f64),
    /// This value, at every token.
    Clamp(f64),
}

/// What is changed.
#[derive(Debug, Clone, PartialEq)]
pub enum Target {
    /// An activation of neurons.
    Neurons {
        /// Numbers in the model: neuron i of head h is h N + i.
        neurons: Vec<usize>,
        part: Part,
        /// The one layer where it is done, counted from 0; in all of them where none is given.
        layer: Option<usize>,
    },
    /// What synapses hold, each in the layer of its x; [`super::synapse_edit`] has the equation.
    Synapses(Vec<Synapse>),
}

/// A change, the same at every token.
#[derive(Debug, Clone, PartialEq)]
pub struct Intervention {
    pub target: Target,
    pub action: Action,
}

/// An intervention as a model applies it.
pub(super) enum Edit {
    Neurons(NeuronEdit),
    Synapses(SynapseEdit),
}

/// A change of activations as tensors: a -> factor a + offset.
pub(super) struct NeuronEdit {
    part: Part,
    layer: Option<usize>,
    factor: Tensor, // (nh, 1, N)
    offset: Tensor, // (nh, 1, N)
}

impl Action {
    /// (s, c) of a -> s a + c.
    ///
    /// # Errors
    /// If the amount is no finite number.
    pub(super) fn line(self) -> Result<(f64, f64)> {
        let (scale, value) = match self {
            Self::Scale(s) => (s, 0.0),
            Self::Clamp(v) => (0.0, v),
        };
        if !(scale.is_finite() && value.is_finite()) {
            bail!("an activation cannot be set to {}: give a finite number", scale + value)
        }
        Ok((scale, value))
    }
}

impl Intervention {
    /// # Errors
    /// If a neuron or the layer is none of the model's, or the amount is no finite number.
    pub(super) fn edit(&self, spec: &BdhSpec, device: &Device) -> Result<Edit> {
        let line = self.action.line()?;
        match &self.target {
            Target::Neurons { neurons, part, layer } => {
                check_neurons(neurons, spec)?;
                check_layer(*layer, spec)?;
                Ok(Edit::Neurons(NeuronEdit::new((*part, *layer), neurons, line, (spec, device))?))
            }
            Target::Synapses(synapses) => {
                for synapse in synapses {
                    check_neurons(&[synapse.i, synapse.j], spec)?;
                    check_layer(Some(synapse.layer), spec)?;
                    if synapse.layer == 0 {
                        bail!("a synapse ends in layer 1 or above: no y comes before layer 0")
                    }
                }
                Ok(Edit::Synapses(SynapseEdit::new(synapses, line, spec)))
            }
        }
    }
}

fn check_neurons(neurons: &[usize], spec: &BdhSpec) -> Result<()> {
    if let Some(stranger) = neurons.iter().find(|i| **i >= spec.neurons) {
        bail!("there is no neuron {stranger}; the model has {}, counted from 0", spec.neurons)
    }
    Ok(())
}

fn check_layer(layer: Option<usize>, spec: &BdhSpec) -> Result<()> {
    if let Some(layer) = layer.filter(|l| *l >= spec.layers) {
        bail!("there is no layer {layer}; the model has {}, counted from 0", spec.layers)
    }
    Ok(())
}

impl NeuronEdit {
    fn new(
        (part, layer): (Part, Option<usize>),
        neurons: &[usize],
        (scale, value): (f64, f64),
        (spec, device): (&BdhSpec, &Device),
    ) -> Result<Self> {
        let (mut factor, mut offset) = (vec![1f32; spec.neurons], vec![0f32; spec.neurons]);
        for &i in neurons {
            (factor[i], offset[i]) = (scale as f32, value as f32);
        }
        let shape = (spec.heads, 1, spec.per_head());
        Ok(Self {
            part,
            layer,
            factor: Tensor::from_vec(factor, shape, device)?,
            offset: Tensor::from_vec(offset, shape, device)?,
        })
    }
}

impl Edit {
    /// The activation `(B, nh, T, N)` as it is after the change, if it is one of those that are changed.
    pub(super) fn activation(&self, part: Part, layer: usize, activation: Tensor) -> Result<Tensor> {
        match self {
            Self::Neurons(edit) if part == edit.part && edit.layer.is_none_or(|l| l == layer) => {
                activation.broadcast_mul(&edit.factor)?.broadcast_add(&edit.offset)
            }
            _ => Ok(activation),
        }
    }
}
