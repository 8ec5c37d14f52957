//! What is done to chosen neurons of a BDH while it reads: their activation is scaled or held at a value. It does not
//! know why.

use candle_core::{Device, Result, Tensor, bail};

use super::spec::BdhSpec;

/// Which of a neuron's two activations is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// x, right after its ReLU: the neuron as a key and a query, and with it y, which is a multiple of x. Where x is carried
    /// from layer to layer (forms `paper` and `both`), it is carried as it was before the change.
    X,
    /// y alone: what the neuron writes to the layers above.
    Y,
}

/// What becomes of an activation a.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Action {
    /// s a; 0 silences the neuron.
    Scale(f64),
    /// This value, at every token.
    Clamp(f64),
}

/// A change to some neurons, the same at every token.
#[derive(Debug, Clone, PartialEq)]
pub struct Intervention {
    /// Numbers in the model: neuron i of head h is h N + i.
    pub neurons: Vec<usize>,
    pub part: Part,
    pub action: Action,
    /// The one layer where it is done, counted from 0; in all of them where none is given.
    pub layer: Option<usize>,
}

/// An intervention as tensors: a -> factor a + offset.
pub(super) struct Edit {
    part: Part,
    layer: Option<usize>,
    factor: Tensor, // (nh, 1, N)
    offset: Tensor, // (nh, 1, N)
}

impl Intervention {
    /// # Errors
    /// If a neuron or the layer is none of the model's, or the amount is no finite number.
    pub(super) fn edit(&self, spec: &BdhSpec, device: &Device) -> Result<Edit> {
        let (n, layers) = (spec.neurons, spec.layers);
        if let Some(stranger) = self.neurons.iter().find(|i| **i >= n) {
            bail!("there is no neuron {stranger}; the model has {n}, counted from 0")
        }
        if let Some(layer) = self.layer.filter(|l| *l >= layers) {
            bail!("there is no layer {layer}; the model has {layers}, counted from 0")
        }
        let (scale, value) = match self.action {
            Action::Scale(s) => (s, 0.0),
            Action::Clamp(v) => (0.0, v),
        };
        if !(scale.is_finite() && value.is_finite()) {
            bail!("an activation cannot be set to {}: give a finite number", scale + value)
        }
        let (mut factor, mut offset) = (vec![1f32; n], vec![0f32; n]);
        for &i in &self.neurons {
            (factor[i], offset[i]) = (scale as f32, value as f32);
        }
        let shape = (spec.heads, 1, spec.per_head());
        Ok(Edit {
            part: self.part,
            layer: self.layer,
            factor: Tensor::from_vec(factor, shape, device)?,
            offset: Tensor::from_vec(offset, shape, device)?,
        })
    }
}

impl Edit {
    /// The activation `(B, nh, T, N)` as it is after the change, if it is one of those that are changed.
    pub(super) fn apply(&self, part: Part, layer: usize, activation: Tensor) -> Result<Tensor> {
        if part != self.part || self.layer.is_some_and(|l| l != layer) {
            return Ok(activation);
        }
        activation.broadcast_mul(&self.factor)?.broadcast_add(&self.offset)
    }
}
