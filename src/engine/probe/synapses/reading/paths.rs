//! The values of neurons with large peaks along a text, and what the synapses between them hold.

use std::collections::{BTreeMap, BTreeSet};

use super::{super::firing, ReadingQuery};
use crate::probe::prelude::*;

/// The number of synapses in the measurement.
const MAX_LISTED_SYNAPSES: usize = 12;

/// The largest values of y of the layer before and of x of the layer, `(n)` each.
type Peaks = [Vec<f32>; 2];

/// The peaks, the firing of each layer at every token, and the loss of each token, nats.
pub(super) fn first_pass(question: &ReadingQuery<'_>, ids: &[u32]) -> Result<(Peaks, Vec<LayerFiring>, Vec<f64>)> {
    let (model, layer) = (question.model, question.layer);
    let (layers, n) = (model.shape().layers, model.shape().neurons);
    let mut peaks = [vec![0f32; n], vec![0f32; n]];
    let (mut firing, mut loss) = (vec![LayerFiring::default(); layers], vec![]);
    firing::read(model, ids, |chunk| {
        for token in 0..chunk.tokens {
            for (firing, activations) in firing.iter_mut().zip(&chunk.layers) {
                firing.x.0.push(activations.active(NeuronActivation::X, token));
                firing.y.0.push(activations.active(NeuronActivation::Y, token));
            }
        }
        chunk.for_each_end(layer, |_, end, neuron, value| peaks[end][neuron] = value.max(peaks[end][neuron]));
        loss.extend(chunk.loss);
        Ok(())
    })?;
    Ok((peaks, firing, loss))
}

/// The indices of the two ends of a synapse in arrays of both.
pub(super) const Y: usize = 0;
pub(super) const X: usize = 1;

/// Values of the followed neurons at every token.
pub(super) struct Paths {
    /// The layer of x.
    layer: usize,
    /// By the number of the neuron: y, and x.
    values: [BTreeMap<usize, Vec<f32>>; 2],
    /// The values of the neuron that rotates together with each neuron of x, by the number of the latter.
    partners: BTreeMap<usize, Vec<f32>>,
}

pub(super) fn second_pass(question: &ReadingQuery<'_>, ids: &[u32], ends: &[Vec<usize>; 2]) -> Result<Paths> {
    let (layer, shape) = (question.layer, question.model.shape());
    let empty = |ends: &Vec<usize>| ends.iter().map(|neuron| (*neuron, Vec::with_capacity(ids.len()))).collect();
    let mut paths = Paths { layer, values: ends.each_ref().map(empty), partners: empty(&ends[X]) };
    firing::read(question.model, ids, |chunk| {
        for token in 0..chunk.tokens {
            let y = |neuron: usize| chunk.layers[layer - 1].at(NeuronActivation::Y, token, neuron);
            let x = |neuron: usize| chunk.layers[layer].at(NeuronActivation::X, token, neuron);
            paths.values[Y].iter_mut().for_each(|(i, values)| values.push(y(*i)));
            paths.values[X].iter_mut().for_each(|(j, values)| values.push(x(*j)));
            paths.partners.iter_mut().for_each(|(j, values)| values.push(x(Rotation::partner(shape, *j))));
        }
        Ok(())
    })?;
    Ok(paths)
}

impl Paths {
    /// The values of some neurons of one end, in ascending order of their numbers, each once.
    pub fn traces(&self, end: usize, neurons: impl Iterator<Item = usize>) -> Vec<NeuronTrace> {
        let values = |neuron: &usize| self.values[end][neuron].iter().map(|v| f64::from(*v)).collect();
        let trace = |neuron: usize| NeuronTrace { values: values(&neuron), neuron };
        neurons.collect::<BTreeSet<usize>>().into_iter().map(trace).collect()
    }

    /// The synapses to measure: the one that is asked for first, then those of the highest rank.
    pub fn choose(&self, rank: SynapseRank, asked: Option<Synapse>) -> Vec<Synapse> {
        let mut ranked = vec![];
        for (&i, y) in &self.values[Y] {
            for (&j, x) in &self.values[X] {
                let gains = y.iter().zip(x).map(|(y, x)| y * x);
                let score: f32 = match rank {
                    SynapseRank::Strong => gains.sum(),
                    SynapseRank::Sudden => gains.fold(0.0, f32::max),
                };
                let synapse = Synapse { layer: self.layer, i, j };
                if score > 0.0 && asked != Some(synapse) {
                    ranked.push((score, synapse));
                }
            }
        }
        ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        // A neuron takes part in two synapses at most: twelve synapses of one neuron would show only that
        // neuron.
        let mut chosen: Vec<Synapse> = asked.into_iter().collect();
        for (_, synapse) in ranked {
            let sharing = chosen.iter().filter(|s| s.i == synapse.i || s.j == synapse.j).count();
            if sharing < 2 && chosen.len() < MAX_LISTED_SYNAPSES {
                chosen.push(synapse);
            }
        }
        chosen
    }

    /// The synapse after every token.
    pub fn sigma(&self, synapse: Synapse, rotation: Rotation) -> Vec<f64> {
        let Synapse { i, j, .. } = synapse;
        let (mut own, mut partner) = (0f64, 0f64);
        let tokens = self.values[Y][&i].iter().zip(self.values[X][&j].iter().zip(&self.partners[&j]));
        let sigma = tokens.map(|(y, (x, p))| {
            (own, partner) = rotation.step(own, partner);
            own += f64::from(*y) * f64::from(*x);
            partner += f64::from(*y) * f64::from(*p);
            own
        });
        sigma.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::fused::linear_attention::rotate;

    /// The state of linear attention, sum over s of q_t^T k_s, is the rotated trace read at neuron j alone.
    #[test]
    fn a_synapse_turns_as_the_attention_does() -> Result<()> {
        let shape = SynapseShape { heads: 1, neurons: 8, d_model: 4, layers: 2, ..SynapseShape::default() };
        let t = 30;
        let x: Vec<f32> = (0..t * 8).map(|i| ((i * 37 % 11) as f32 - 2.0).max(0.0)).collect();
        let y: Vec<f32> = (0..t).map(|i| ((i * 17 % 7) as f32 - 2.0).max(0.0)).collect();
        let keys = rotate(&Tensor::from_slice(&x, (1, 1, t, 8), &Device::Cpu)?, 0, &shape.attention)?;
        let keys = host::to_f64(&keys)?;
        for j in 0..8 {
            let column = |n: usize| (0..t).map(|s| x[s * 8 + n]).collect::<Vec<_>>();
            let values = [BTreeMap::from([(0, y.clone())]), BTreeMap::from([(j, column(j))])];
            let paths = Paths { layer: 1, values, partners: BTreeMap::from([(j, column(j ^ 1))]) };
            let sigmas = paths.sigma(Synapse { layer: 1, i: 0, j }, Rotation::for_neuron(&shape, j));
            for (now, sigma) in sigmas.iter().enumerate() {
                // A query in which neuron j alone is active, rotated to position `now`.
                let mut one = vec![0f32; 8];
                one[j] = 1.0;
                let query =
                    host::to_f64(&rotate(&Tensor::from_vec(one, (1, 1, 1, 8), &Device::Cpu)?, now, &shape.attention)?)?;
                let dot = |s: usize| (0..8).map(|n| query[n] * keys[s * 8 + n]).sum::<f64>();
                let wanted: f64 = (0..=now).map(|s| f64::from(y[s]) * dot(s)).sum();
                assert!((sigma - wanted).abs() < 1e-3 * wanted.abs().max(1.0), "{j} at {now}: {sigma}, {wanted}");
            }
        }
        Ok(())
    }
}
