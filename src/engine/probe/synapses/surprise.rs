//! Sparsity and surprise (the paper's figure 14): words that are met for the first time and then again
//! and again, and how much of each layer fires meanwhile.

use super::{
    firing::{self, Chunk},
    read_random,
};
use crate::{
    corpus::generated::repeats::{self, PERIOD, WARM_UP_LETTERS, WORD},
    probe::prelude::*,
};

/// The repetitions of a word at which it counts as known.
const KNOWN_REPETITIONS: std::ops::Range<usize> = 4..8;

impl Probe for SurpriseArgs {
    type Answer = Surprise;
    type Subject<'m> = &'m dyn SynapseModel;

    fn ask(&self, model: &dyn SynapseModel, cx: &ProbeInputs<'_>) -> Result<Answer<Self::Answer>> {
        let periods = self.periods;
        // Words that no training text of this seed has.
        let text = repeats::unseen_periods(cx.seed, 2 * periods);
        let ids = cx.corpus.encode(&text);
        ensure!(ids.len() == text.len(), "surprise is measured letter by letter; choose the tokeniser byte or char");
        let (trained, octaves) = measure(model, &ids)?;
        let (random_weights, _) = read_random(model, cx, |random| measure(random, &ids))?;
        let about = format!(
            "mean over {periods} new words of {WORD} letters, each read 8 times after {WARM_UP_LETTERS} fixed letters and a period of another word"
        );
        Ok(Answer::new(Surprise { trained, random_weights, octaves }, about, vec![]))
    }
}

/// Groups of neurons by the logarithm of their period, equally many in each.
const OCTAVES: usize = 8;

/// Means over periods: the curves by position in the period, and the firing by octave.
fn measure(model: &dyn SynapseModel, ids: &[u32]) -> Result<(PeriodCurves, Vec<OctaveFiring>)> {
    let (n, per_head, layers) = (model.shape().neurons, model.shape().per_head(), model.shape().layers);
    let groups = speeds(&model.shape().turns_per_token());
    let zeros = |len: usize| Numbers::from(vec![0.0; len]);
    let mut firing = vec![LayerFiring { x: zeros(PERIOD), y: zeros(PERIOD) }; layers];
    let mut octaves = vec![OctaveFiring { memorised: zeros(OCTAVES), known: zeros(OCTAVES) }; layers];
    let mut loss = zeros(PERIOD);
    let counted = (ids.len() / (2 * PERIOD)) as f64;
    let mut take = |chunk: Chunk| {
        for token in 0..chunk.tokens {
            let Some(at) = (chunk.from + token).checked_sub(PERIOD) else { continue };
            loss.0[at] += chunk.loss[token] / counted;
            let phase = phase(at);
            for ((firing, octaves), layer) in firing.iter_mut().zip(&mut octaves).zip(&chunk.layers) {
                firing.x.0[at] += layer.active(NeuronActivation::X, token) / counted;
                firing.y.0[at] += layer.active(NeuronActivation::Y, token) / counted;
                let (shares, letters) = match phase {
                    None => continue,
                    Some(0) => (&mut octaves.memorised.0, WORD as f64),
                    Some(_) => (&mut octaves.known.0, (WORD * KNOWN_REPETITIONS.len()) as f64),
                };
                let one = OCTAVES as f64 / (n as f64 * letters * counted);
                for (neuron, _) in layer.row(NeuronActivation::Y, token).enumerate().filter(|(_, v)| *v > 0.0) {
                    // the last of an odd number turns with none
                    let group = groups.get(neuron % per_head / 2).copied().unwrap_or(OCTAVES - 1);
                    shares[group] += one;
                }
            }
        }
        Ok(())
    };
    for two in ids.as_chunks::<{ 2 * PERIOD }>().0 {
        firing::read(model, two, &mut take)?;
    }
    // over the letters of the word and its repetitions
    let correlated = |firing: LayerFiring| PeriodFiring {
        loss_correlation: statistics::correlation(&firing.y[WARM_UP_LETTERS..], &loss[WARM_UP_LETTERS..]),
        firing,
    };
    Ok((PeriodCurves { layers: firing.into_iter().map(correlated).collect(), loss: loss.clone() }, octaves))
}

/// The group of each pair of neurons by how fast it turns, 0 the fastest; equally many in each.
fn speeds(turns: &[f32]) -> Vec<usize> {
    let mut groups = vec![0; turns.len()];
    for (rank, pair) in statistics::largest(turns, turns.len()).into_iter().enumerate() {
        groups[pair] = rank * OCTAVES / turns.len();
    }
    groups
}

/// The phase: 0 while the word is new, 1 while it is known, `None` in between and in the warm-up.
fn phase(at: usize) -> Option<usize> {
    let repetition = at.checked_sub(WARM_UP_LETTERS)? / WORD;
    match repetition {
        0 => Some(0),
        r if KNOWN_REPETITIONS.contains(&r) => Some(1),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_follow_the_speed_whatever_the_order_of_the_neurons() {
        let turns = crate::nn::fused::linear_attention::LinearAttentionSpec::default().pair_frequencies(64);
        let groups = speeds(&turns);
        assert!(groups.iter().enumerate().all(|(pair, g)| *g == pair * OCTAVES / 32), "{groups:?}");
        // Two parents side by side, as merging puts them.
        let merged = speeds(&[turns.clone(), turns].concat());
        assert_eq!(merged[..32], merged[32..]);
    }
}
