//! The times between two writes of a synapse, compared with those of writes at random times.

use rand::seq::index;

use super::degrees;
use crate::{
    analysis::graph::null_models,
    probe::{prelude::*, synapses::firing},
};

impl Probe for WriteIntervalsArgs {
    type Answer = WriteIntervals;
    type Subject<'m> = &'m dyn SynapseModel;
    const IS_SLOW: bool = true;

    fn subject(model: &mut dyn Trainable) -> Option<&dyn SynapseModel> {
        model.capabilities().synapses.filter(|m| m.shape().layers > 1)
    }

    fn ask(&self, model: &dyn SynapseModel, cx: &ProbeInputs<'_>) -> Result<Answer<Self::Answer>> {
        let (neurons, last) = (model.shape().neurons, model.shape().layers - 1);
        let layer = self.layer.map_or(last, |l| l.clamp(1, last));
        let passage = Prompt::read(cx, "", 0, self.tokens)?;
        let tokens = passage.ids.len();
        let [y, x] = firing_times(model, &passage.ids, layer, cx)?;
        let mut rng = ChaCha8Rng::seed_from_u64(cx.seed ^ 1);
        let (mut measured, mut shuffled) = (vec![], vec![]);
        let (mut writes, mut written_twice) = (0, 0);
        let drawn = null_models::between(neurons, neurons, self.synapses, cx.seed);
        for (i, j, _) in &drawn {
            let times = intersection(&y[*i as usize], &x[*j as usize]);
            writes += times.len();
            written_twice += usize::from(times.len() > 1);
            measured.extend(intervals(&times));
            let mut random: Vec<u32> = index::sample(&mut rng, tokens, times.len()).iter().map(|t| t as u32).collect();
            random.sort_unstable();
            shuffled.extend(intervals(&random));
        }
        let found = WriteIntervals {
            layer,
            tokens,
            synapses: drawn.len(),
            written_twice,
            write_share: writes as f64 / (drawn.len() * tokens).max(1) as f64,
            measured: distribution(&measured),
            shuffled: distribution(&shuffled),
        };
        let from = layer - 1;
        let about = format!("{}, synapses from y of layer {from} to x of layer {layer}", passage.about);
        Ok(Answer::new(found, about, vec![]))
    }
}

/// Returns, in ascending order, the tokens at which each neuron is active: first for y of the previous layer, then for x of
/// this one.
fn firing_times(
    model: &dyn SynapseModel,
    ids: &[u32],
    layer: usize,
    cx: &ProbeInputs<'_>,
) -> Result<[Vec<Vec<u32>>; 2]> {
    let mut times = [(); 2].map(|()| vec![vec![]; model.shape().neurons]);
    firing::read(model, ids, |chunk| {
        cx.progress.at(chunk.from, ids.len())?;
        chunk.for_each_end(layer, |at, end, neuron, value| {
            if value > 0.0 {
                times[end][neuron].push(at as u32);
            }
        });
        Ok(())
    })?;
    Ok(times)
}

/// The values that are in both rising lists.
fn intersection(a: &[u32], b: &[u32]) -> Vec<u32> {
    a.iter().copied().filter(|t| b.binary_search(t).is_ok()).collect()
}

fn intervals(times: &[u32]) -> impl Iterator<Item = u32> {
    times.windows(2).map(|pair| pair[1] - pair[0])
}

fn distribution(intervals: &[u32]) -> IntervalDistribution {
    let found = degrees::distribution(intervals);
    IntervalDistribution {
        interval: found.degree,
        density: found.density,
        mean: mean_of(intervals.iter().map(|i| f64::from(*i))),
        longest: found.largest,
        power_law: found.power_law,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_needs_both_ends() {
        let times = intersection(&[1, 2, 5, 9, 14], &[0, 2, 3, 9, 10, 14]);
        assert_eq!(times, [2, 9, 14]);
        assert_eq!(intervals(&times).collect::<Vec<_>>(), [7, 5]);
        assert_eq!(intervals(&[3]).count(), 0);
        let found = distribution(&[7, 5]);
        assert_eq!((found.longest, found.mean, found.power_law), (7, 6.0, None));
        assert!(distribution(&[]).mean.is_nan());
    }
}
