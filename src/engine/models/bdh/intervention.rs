//! Changes of chosen neurons or synapses, applied while a BDH reads.

use candle_core::{Device, Result, Tensor};

use super::spec::Form;
use crate::{
    analysis::statistics::{mean, mean_of},
    models::capabilities::{Action, Intervention, NeuronActivation, Rotation, SynapseShape, Target},
    nn::host,
    telemetry::Synapse,
};

/// An intervention in the form that the forward pass applies.
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
    /// Returns the coefficients (s, c) of the change a -> s a + c of an activation a; an error if they are not finite.
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
    /// Errors: a neuron or the layer does not exist in the model, or the amount is not finite.
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

/// A change of what synapses hold: sigma -> scale sigma + value.
///
/// **The equation.** In layer l >= 1 attention reads, in head h and at token t,
///
/// a_t = sum_{s<t} (x_t . U^(t-s) x_s) v_s,
///
/// where U is rotary position (and damping), x_s and v_s those of layer l, and v_s is what layer l - 1 wrote:
/// v_s = LN(v'_s + LN(sum_i y_s(i) E_i)), y of layer l - 1, E_i the row of `decoder` of neuron i, v' the state before
/// (left out, with its norm, in the form `paper`; in `final_norm` the norm alone; without norms, `normfree`, v_s is the sum itself
/// and g_s is 1). A norm without weights subtracts a
/// mean and divides by a number that the token fixes, so that, these numbers given, v_s is a sum over neurons i of g_s y_s(i) (E_i - mean E_i) and of what came
/// from v', with g_s = 1 / (sd of E y_s x sd of v'_s + LN(E y_s)). Hence a_t is the sum over all synapses (i, j), j in head h, of
///
/// x_t(j) sigma_t(i, j) (E_i - mean E_i), with sigma_t(i, j) = sum_{s<t} g_s y_s(i) (U^(t-s) x_s)(j),
///
/// and of what came from v'. This is the synapse of the paper's equation (16), each token weighed by its norms. The change
/// replaces sigma_t(i, j) by s sigma_t(i, j) + c (silence: 0; scale: s; clamp: c) in that sum, at every token t, before
/// attention's own norm. Gates of BDH-GPU' multiply g_s.
pub(super) struct SynapseEdit {
    synapses: Vec<(Synapse, Rotation)>,
    scale: f64,
    value: f64,
}

pub(super) struct LayerOutput {
    y: Tensor, // (B, T, n)
    /// g of every token, `(B T)`.
    gain: Vec<f64>,
}

pub(super) struct AttentionInput<'a> {
    pub x: &'a Tensor, // (B, nh, T, N)
    /// Gates `(B, nh, T, 1)` of BDH-GPU'.
    pub open: Option<&'a Tensor>,
    pub decoder: &'a Tensor, // (n, D)
    /// True if a norm subtracts the mean from the output of the layer.
    pub is_centred: bool,
}

/// sd of every row of `(.., D)`, with the norms' epsilon.
fn row_standard_deviations(rows: &Tensor, eps: f64) -> Result<Vec<f64>> {
    let d = rows.dims().last().copied().unwrap_or(1).max(1);
    let deviation = |row: &[f64]| {
        let mean = mean(row);
        (mean_of(row.iter().map(|v| (v - mean).powi(2))) + eps).sqrt()
    };
    Ok(host::to_f64(rows)?.chunks(d).map(deviation).collect())
}

impl LayerOutput {
    /// `read` `(B, T, D)`: E y before its norm; `sum`: what the layer's outer norm is applied to, where it has one.
    pub(super) fn new(y: Tensor, read: &Tensor, sum: &Tensor, form: Form, eps: f64) -> Result<Self> {
        let inner = row_standard_deviations(read, eps)?;
        let gain = match form {
            Form::Normfree => vec![1.0; inner.len()],
            Form::Paper | Form::FinalNorm => inner.into_iter().map(f64::recip).collect(),
            Form::Code | Form::Both => {
                inner.into_iter().zip(row_standard_deviations(sum, eps)?).map(|(a, b)| (a * b).recip()).collect()
            }
        };
        Ok(Self { y, gain })
    }

    /// g y(i) at every token, `(B T)`.
    fn scaled_y(&self, i: usize) -> Result<Vec<f64>> {
        let y = host::to_f64(&self.y.narrow(2, i, 1)?)?;
        Ok(y.iter().zip(&self.gain).map(|(y, g)| y * g).collect())
    }
}

impl SynapseEdit {
    /// The edit of these synapses; each occurs once.
    pub(super) fn new(synapses: &[Synapse], (scale, value): (f64, f64), shape: &SynapseShape) -> Self {
        let mut all = synapses.to_vec();
        all.sort_unstable();
        all.dedup();
        Self { synapses: all.into_iter().map(|s| (s, Rotation::for_neuron(shape, s.j))).collect(), scale, value }
    }

    /// True if a synapse that ends in this layer is changed.
    pub(super) fn changes_layer(&self, layer: usize) -> bool {
        self.synapses.iter().any(|(s, _)| s.layer == layer)
    }

    /// a `(B, nh, T, D)` of a layer, before its norm, with the change applied. `traces` holds the state of the changed
    /// synapses after everything read before, and is updated.
    pub(super) fn attention(
        &self,
        layer: usize,
        a: Tensor,
        written: &LayerOutput,
        attended: &AttentionInput<'_>,
        traces: &mut Vec<[f64; 2]>,
    ) -> Result<Tensor> {
        let (rows, heads, t, d) = a.dims4()?;
        let per_head = attended.x.dim(3)?;
        if traces.is_empty() {
            traces.resize(self.synapses.len() * rows, [0.0; 2]);
        }
        let is_own = traces.len() == self.synapses.len() * rows;
        ensure!(is_own, "a state that was read under another change cannot be read on under this one");
        let mut added: Vec<Option<Tensor>> = vec![None; heads]; // (B, T, D)
        for (k, (synapse, rotation)) in self.synapses.iter().enumerate().filter(|(_, (s, _))| s.layer == layer) {
            let (head, within) = (synapse.j / per_head, synapse.j % per_head);
            let column = |of: usize| host::to_f64(&attended.x.narrow(1, head, 1)?.narrow(3, of, 1)?); // (B T)
            // the last neuron of a head with an odd number of neurons has no partner and is not rotated
            let (x, partner) = (column(within)?, column((within ^ 1).min(per_head - 1))?);
            let mut wrote = written.scaled_y(synapse.i)?;
            if let Some(open) = attended.open {
                let open = host::to_f64(&open.narrow(1, head, 1)?)?;
                wrote.iter_mut().zip(open).for_each(|(w, o)| *w *= o);
            }
            let mut change = Vec::with_capacity(rows * t);
            for row in 0..rows {
                let trace = &mut traces[k * rows + row];
                for at in row * t..(row + 1) * t {
                    let (own, other) = rotation.step(trace[0], trace[1]);
                    change.push((x[at] * (self.scale * own + self.value - own)) as f32);
                    *trace = [own + wrote[at] * x[at], other + wrote[at] * partner[at]];
                }
            }
            let row = attended.decoder.narrow(0, synapse.i, 1)?; // (1, D)
            let row = if attended.is_centred { row.broadcast_sub(&row.mean_keepdim(1)?)? } else { row };
            let change = Tensor::from_vec(change, (rows * t, 1), a.device())?.matmul(&row)?.reshape((rows, t, d))?;
            added[head] = Some(match added[head].take() {
                Some(sum) => (sum + change)?,
                None => change,
            });
        }
        let none = Tensor::zeros((rows, t, d), a.dtype(), a.device())?;
        let all: Vec<Tensor> = added.into_iter().map(|part| part.unwrap_or_else(|| none.clone())).collect();
        a + Tensor::stack(&all, 1)?
    }
}
