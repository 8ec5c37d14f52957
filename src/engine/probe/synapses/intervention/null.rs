//! Random neurons and synapses that are as active on a text as those that are changed: the null of an intervention.

use rand::seq::IndexedRandom;

use super::super::firing;
use crate::probe::prelude::*;

/// The number of neurons or synapses nearest in activity from which a random one is drawn.
const MATCH_CANDIDATES: usize = 32;
/// The number of neurons nearest in activity to each end of a synapse, among which similar synapses are searched.
const ENDPOINT_CANDIDATES: usize = 256;

/// Null model of a change: other neurons or synapses that are as active as its target, with their activity.
pub(in crate::probe) enum MatchedNull {
    Neurons {
        neurons: Vec<usize>,
        ranks: Ranks,
    },
    Synapses {
        synapses: Vec<Synapse>,
        /// The sigma of each synapse.
        sigma: Vec<f64>,
        /// For each synapse, the nearest others with their sigma, nearest first.
        nearest: Vec<Vec<(Synapse, f64)>>,
    },
}

impl MatchedNull {
    /// Reads the texts, each from an empty state, to learn how active everything is.
    pub fn new(model: &dyn SynapseModel, texts: &[&[u32]], change: &Intervention) -> Result<Self> {
        match &change.target {
            Target::Neurons { neurons, .. } => {
                let ranks = Ranks::new(firing_shares(model, texts)?, model.shape());
                Ok(Self::Neurons { neurons: neurons.clone(), ranks })
            }
            Target::Synapses(synapses) => {
                let alike = synapses.iter().map(|synapse| close_matches(model, texts, *synapse));
                let (sigma, nearest) = alike.collect::<Result<(Vec<_>, Vec<_>)>>()?;
                Ok(Self::Synapses { synapses: synapses.clone(), sigma, nearest })
            }
        }
    }

    /// Mean activity of what is changed: the share of tokens and layers where y of the neurons is above 0, or sigma of
    /// the synapses.
    pub fn activity(&self) -> f64 {
        match self {
            Self::Neurons { neurons, ranks } => ranks.mean(neurons),
            Self::Synapses { sigma, .. } => sigma.iter().sum::<f64>() / sigma.len().max(1) as f64,
        }
    }

    /// Draws as many others as `target` has, each of the same heads and about as active, with their mean activity (see
    /// [`Self::activity`]); `None` if there are too few others.
    pub fn draw(&self, target: &Target, rng: &mut ChaCha8Rng) -> Option<(Target, f64)> {
        match (self, target) {
            (Self::Neurons { neurons, ranks }, Target::Neurons { part, layer, .. }) => {
                let neurons = ranks.draw_matched(neurons, rng)?;
                let activity = ranks.mean(&neurons);
                Some((Target::Neurons { neurons, part: *part, layer: *layer }, activity))
            }
            (Self::Synapses { synapses, nearest, .. }, _) => {
                let (mut drawn, mut sum): (Vec<Synapse>, f64) = (vec![], 0.0);
                for others in nearest {
                    let is_free = |(s, _): &&(Synapse, f64)| !synapses.contains(s) && !drawn.contains(s);
                    let free: Vec<&(Synapse, f64)> = others.iter().filter(is_free).take(MATCH_CANDIDATES).collect();
                    let (synapse, sigma) = free.choose(rng)?;
                    sum += sigma;
                    drawn.push(*synapse);
                }
                let activity = sum / drawn.len().max(1) as f64;
                Some((Target::Synapses(drawn), activity))
            }
            _ => None,
        }
    }
}

/// Share of tokens and layers where y of each neuron is above zero, `(n)`.
fn firing_shares(model: &dyn SynapseModel, texts: &[&[u32]]) -> Result<Vec<f64>> {
    let mut counts = vec![0.0; model.shape().neurons];
    for ids in texts {
        firing::read(model, ids, |chunk| {
            for (layer, token) in chunk.layers.iter().flat_map(|l| (0..chunk.tokens).map(move |t| (l, t))) {
                let on = layer.row(NeuronActivation::Y, token).map(|v| f64::from(u8::from(v > 0.0)));
                counts.iter_mut().zip(on).for_each(|(count, on)| *count += on);
            }
            Ok(())
        })?;
    }
    let tokens: usize = texts.iter().map(|ids| ids.len()).sum();
    let all = (tokens * model.shape().layers).max(1) as f64;
    Ok(counts.into_iter().map(|count| count / all).collect())
}

/// The neurons of each head by how often they fire.
pub(in crate::probe) struct Ranks {
    firing: Vec<f64>,
    per_head: usize,
    by_firing: Vec<Vec<usize>>,
    /// The index of each neuron in its head's list.
    rank: Vec<usize>,
}

impl Ranks {
    fn new(firing: Vec<f64>, shape: &SynapseShape) -> Self {
        let per_head = shape.per_head();
        let mut rank = vec![0; firing.len()];
        let mut by_firing = vec![];
        for head in 0..shape.heads {
            let mut all: Vec<usize> = (head * per_head..(head + 1) * per_head).collect();
            all.sort_by(|a, b| firing[*a].total_cmp(&firing[*b]).then(a.cmp(b)));
            all.iter().enumerate().for_each(|(at, neuron)| rank[*neuron] = at);
            by_firing.push(all);
        }
        Self { firing, per_head, by_firing, rank }
    }

    /// The mean firing rate of these neurons.
    fn mean(&self, neurons: &[usize]) -> f64 {
        neurons.iter().map(|i| self.firing[*i]).sum::<f64>() / neurons.len().max(1) as f64
    }

    /// Draws as many other neurons, each of the same head as one of these and about as active; `None` if there are too
    /// few others.
    fn draw_matched(&self, neurons: &[usize], rng: &mut ChaCha8Rng) -> Option<Vec<usize>> {
        let mut taken = vec![false; self.rank.len()];
        neurons.iter().for_each(|n| taken[*n] = true);
        let mut drawn = vec![];
        for &neuron in neurons {
            let near = self.nearest(neuron, |other| !taken[other], MATCH_CANDIDATES);
            let chosen = *near.choose(rng)?;
            taken[chosen] = true;
            drawn.push(chosen);
        }
        Some(drawn)
    }

    /// The `count` free neurons of its head that fire most nearly as often, nearest first.
    fn nearest(&self, neuron: usize, is_free: impl Fn(usize) -> bool, count: usize) -> Vec<usize> {
        let list = &self.by_firing[neuron / self.per_head];
        let (mut below, mut above) = (self.rank[neuron], self.rank[neuron] + 1);
        let apart = |other: usize| (self.firing[other] - self.firing[neuron]).abs();
        let mut found = vec![];
        while found.len() < count {
            let (low, high) = (below.checked_sub(1).map(|at| list[at]), list.get(above).copied());
            let takes_low = match (low, high) {
                (None, None) => break,
                (Some(low), Some(high)) => apart(low) <= apart(high),
                (low, _) => low.is_some(),
            };
            let next = if takes_low { low } else { high };
            if takes_low {
                below -= 1
            } else {
                above += 1
            }
            found.extend(next.filter(|n| is_free(*n)));
        }
        found
    }
}

/// sigma of a synapse after the texts, sum over s of y_{s, l-1}(i) x_{s, l}(j) (without rotation), and the synapses between
/// the same heads whose sigma is nearest to it, among those of the neurons that are as active as its ends.
fn close_matches(model: &dyn SynapseModel, texts: &[&[u32]], synapse: Synapse) -> Result<(f64, Vec<(Synapse, f64)>)> {
    let (shape, layer) = (model.shape(), synapse.layer);
    let mut sums = [vec![0f64; shape.neurons], vec![0f64; shape.neurons]];
    for ids in texts {
        firing::read(model, ids, |chunk| {
            chunk.for_each_end(layer, |_, end, neuron, value| sums[end][neuron] += f64::from(value));
            Ok(())
        })?;
    }
    let end = |neuron: usize, sums: Vec<f64>| -> Vec<usize> {
        std::iter::once(neuron).chain(Ranks::new(sums, shape).nearest(neuron, |_| true, ENDPOINT_CANDIDATES)).collect()
    };
    let [y, x] = sums;
    let (ys, xs) = (end(synapse.i, y), end(synapse.j, x));
    let sigma = sigmas(model, texts, layer, &ys, &xs)?;
    let pairs = ys.iter().flat_map(|&i| xs.iter().map(move |&j| Synapse { layer, i, j }));
    let own = sigma[0];
    // the first pair is the synapse itself
    let mut others: Vec<(Synapse, f64)> = pairs.zip(sigma).skip(1).collect();
    others.sort_by(|a, b| (a.1 - own).abs().total_cmp(&(b.1 - own).abs()).then(a.0.cmp(&b.0)));
    // some of them may already be taken by other synapses of the same change
    others.truncate(4 * MATCH_CANDIDATES);
    Ok((own, others))
}

/// sigma of every pair of the given neurons after the texts, row-major.
fn sigmas(model: &dyn SynapseModel, texts: &[&[u32]], layer: usize, ys: &[usize], xs: &[usize]) -> Result<Vec<f64>> {
    let device = model.params().device();
    let mut all = Tensor::zeros((ys.len(), xs.len()), candle_core::DType::F32, device)?;
    for ids in texts {
        firing::read(model, ids, |chunk| {
            let columns = |layer: usize, which: NeuronActivation, of: &[usize]| -> Result<Tensor> {
                let values: Vec<f32> = (0..chunk.tokens)
                    .flat_map(|t| of.iter().map(move |n| (t, *n)))
                    .map(|(t, n)| chunk.layers[layer].at(which, t, n))
                    .collect();
                Tensor::from_vec(values, (chunk.tokens, of.len()), device)
            };
            let (y, x) = (columns(layer - 1, NeuronActivation::Y, ys)?, columns(layer, NeuronActivation::X, xs)?);
            all = (&all + y.t()?.contiguous()?.matmul(&x)?)?;
            Ok(())
        })?;
    }
    host::to_f64(&all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_neurons_are_others_of_the_same_head_and_as_active() {
        let shape = SynapseShape { heads: 2, neurons: 200, ..SynapseShape::default() };
        let firing: Vec<f64> = (0..200).map(|i| f64::from(i * 37 % 100) / 100.0).collect();
        let ranks = Ranks::new(firing, &shape);
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let community: Vec<usize> = (0..30).chain(110..120).collect();
        let drawn = ranks.draw_matched(&community, &mut rng).unwrap();
        assert_eq!(std::collections::BTreeSet::from_iter(&drawn).len(), 40, "each once");
        assert!(drawn.iter().all(|n| !community.contains(n)));
        assert!(drawn.iter().zip(&community).all(|(a, b)| a / 100 == b / 100));
        let off = ranks.mean(&drawn) - ranks.mean(&community);
        assert!(off.abs() < 0.1, "{off}");
        let all: Vec<usize> = (0..60).collect();
        assert!(ranks.draw_matched(&all, &mut rng).is_none(), "forty others are too few");
    }
}
