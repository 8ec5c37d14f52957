//! Changes of chosen neurons or synapses, applied while a BDH reads.

use candle_core::{Device, Result, Tensor};

use super::synapse_edit::SynapseEdit;
use crate::models::capabilities::{Action, Intervention, NeuronActivation, SynapseShape, Target};

/// An intervention as a model applies it.
pub(super) enum ActivationEdit {
    Neurons(NeuronEdit),
    Synapses(SynapseEdit),
}

/// A change of activations as tensors: a -> factor a + offset.
pub(super) struct NeuronEdit {
    part: NeuronActivation,
    layer: Option<usize>,
    factor: Tensor, // (nh, 1, N)
    offset: Tensor, // (nh, 1, N)
}

impl Action {
    /// Returns the coefficients (s, c) of the change a -> s a + c of an activation a.
    ///
    /// # Errors
    /// If the amount is not finite.
    pub(super) fn line(self) -> Result<(f64, f64)> {
        let (scale, value) = match self {
            Self::Scale(s) => (s, 0.0),
            Self::Clamp(v) => (0.0, v),
        };
        let is_finite = scale.is_finite() && value.is_finite();
        ensure!(is_finite, "an activation cannot be set to {}: give a finite number", scale + value);
        Ok((scale, value))
    }
}

impl Intervention {
    /// # Errors
    /// If a neuron or the layer is none of the model's, or the amount is not finite.
    pub(super) fn edit(&self, shape: &SynapseShape, device: &Device) -> Result<ActivationEdit> {
        let line = self.action.line()?;
        match &self.target {
            Target::Neurons { neurons, part, layer } => {
                check_neurons(neurons, shape)?;
                check_layer(*layer, shape)?;
                let (mut factor, mut offset) = (vec![1f32; shape.neurons], vec![0f32; shape.neurons]);
                neurons.iter().for_each(|&i| (factor[i], offset[i]) = (line.0 as f32, line.1 as f32));
                let tensor = |values: Vec<f32>| Tensor::from_vec(values, (shape.heads, 1, shape.per_head()), device);
                let (factor, offset) = (tensor(factor)?, tensor(offset)?);
                Ok(ActivationEdit::Neurons(NeuronEdit { part: *part, layer: *layer, factor, offset }))
            }
            Target::Synapses(synapses) => {
                for synapse in synapses {
                    check_neurons(&[synapse.i, synapse.j], shape)?;
                    check_layer(Some(synapse.layer), shape)?;
                    ensure!(synapse.layer > 0, "a synapse ends in layer 1 or above: no y comes before layer 0");
                }
                Ok(ActivationEdit::Synapses(SynapseEdit::new(synapses, line, shape)))
            }
        }
    }
}

fn check_neurons(neurons: &[usize], shape: &SynapseShape) -> Result<()> {
    for i in neurons {
        ensure!(*i < shape.neurons, "there is no neuron {i}; the model has {}, counted from 0", shape.neurons);
    }
    Ok(())
}

fn check_layer(layer: Option<usize>, shape: &SynapseShape) -> Result<()> {
    let (l, layers) = (layer.unwrap_or(0), shape.layers);
    ensure!(layer.is_none() || l < layers, "there is no layer {l}; the model has {layers}, counted from 0");
    Ok(())
}

impl ActivationEdit {
    /// The activation `(B, nh, T, N)` as it is after the change, if it is one of those that are changed.
    pub(super) fn activation(&self, part: NeuronActivation, layer: usize, activation: Tensor) -> Result<Tensor> {
        match self {
            Self::Neurons(edit) if part == edit.part && edit.layer.is_none_or(|l| l == layer) => {
                activation.broadcast_mul(&edit.factor)?.broadcast_add(&edit.offset)
            }
            _ => Ok(activation),
        }
    }
}
