//! Sparsity and surprise (the paper's figure 14): words that are met for the first time and then again
//! and again, and how much of each layer fires meanwhile.

use super::{
    firing::{self, Chunk},
    read_random,
};
use crate::{
    corpus::generated::repeats::{self, PERIOD, WARM, WORD},
    probe::prelude::*,
};

/// The repetitions that count as known.
const KNOWN: std::ops::Range<usize> = 4..8;

impl Probe for SurpriseArgs {
    type Answer = Surprise;
    type Subject<'m> = &'m dyn SynapseModel;

    fn ask(&self, model: &dyn SynapseModel, cx: &ProbeInputs<'_>) -> Result<Answer<Self::Answer>> {
        let periods = self.periods;
        // Words that no training text of this seed has.
        let text = repeats::fresh(cx.seed, 2 * periods);
        let ids = cx.corpus.encode(&text);
        ensure!(ids.len() == text.len(), "surprise is measured letter by letter; choose the tokeniser byte or char");
        let (trained, octaves) = PeriodMeans::measure(model, &ids)?.into_parts();
        let (random_weights, _) = read_random(model, cx, |random| PeriodMeans::measure(random, &ids))?.into_parts();
        let about = format!(
            "mean over {periods} new words of {WORD} letters, each read 8 times after {WARM} fixed letters and a period of another word"
        );
        Ok(Answer::new(Surprise { trained, random_weights, octaves }, about, vec![]))
    }
}

/// Groups of neurons by the logarithm of their period, equally many in each.
const OCTAVES: usize = 8;

/// Means over periods, by position in the period.
struct PeriodMeans {
    layers: Vec<LayerMeans>,
    loss: Vec<f64>,
}

#[derive(Clone)]
struct LayerMeans {
    /// Shares above zero at each position.
    x: Vec<f64>,
    y: Vec<f64>,
    /// Shares of y above zero by octave, while the word is new and when it is known.
    octaves: [Vec<f64>; 2],
}

impl PeriodMeans {
    fn measure(model: &dyn SynapseModel, ids: &[u32]) -> Result<Self> {
        let n = model.shape().neurons;
        let per_head = model.shape().per_head();
        let groups = speeds(&model.shape().turns_per_token());
        let none = || vec![0.0; PERIOD];
        let zero = LayerMeans { x: none(), y: none(), octaves: [vec![0.0; OCTAVES], vec![0.0; OCTAVES]] };
        let (mut layers, mut loss) = (vec![zero; model.shape().layers], none());
        let counted = (ids.len() / (2 * PERIOD)) as f64;
        let mut take = |chunk: Chunk| {
            for token in 0..chunk.tokens {
                let Some(at) = (chunk.from + token).checked_sub(PERIOD) else { continue };
                loss[at] += chunk.loss[token] / counted;
                let phase = phase(at);
                for (means, layer) in layers.iter_mut().zip(&chunk.layers) {
                    means.x[at] += layer.active(NeuronActivation::X, token) / counted;
                    means.y[at] += layer.active(NeuronActivation::Y, token) / counted;
                    let Some(phase) = phase else { continue };
                    let letters = if phase == 0 { WORD } else { WORD * KNOWN.len() } as f64;
                    let one = OCTAVES as f64 / (n as f64 * letters * counted);
                    for (neuron, _) in layer.row(NeuronActivation::Y, token).enumerate().filter(|(_, v)| *v > 0.0) {
                        // the last of an odd number turns with none
                        let group = groups.get(neuron % per_head / 2).copied().unwrap_or(OCTAVES - 1);
                        means.octaves[phase][group] += one;
                    }
                }
            }
            Ok(())
        };
        for two in ids.as_chunks::<{ 2 * PERIOD }>().0 {
            firing::read(model, two, &mut take)?;
        }
        Ok(Self { layers, loss })
    }

    /// The curves over the period, and the firing by octave.
    fn into_parts(self) -> (PeriodCurves, Vec<OctaveFiring>) {
        let (mut layers, mut octaves) = (vec![], vec![]);
        for LayerMeans { x, y, octaves: [memorised, known] } in self.layers {
            // Over the letters of the word and its repetitions.
            let loss_correlation = statistics::correlation(&y[WARM..], &self.loss[WARM..]);
            layers.push(PeriodFiring { firing: LayerFiring { x: x.into(), y: y.into() }, loss_correlation });
            octaves.push(OctaveFiring { memorised: memorised.into(), known: known.into() });
        }
        (PeriodCurves { layers, loss: self.loss.into() }, octaves)
    }
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
    let repetition = at.checked_sub(WARM)? / WORD;
    match repetition {
        0 => Some(0),
        r if KNOWN.contains(&r) => Some(1),
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
