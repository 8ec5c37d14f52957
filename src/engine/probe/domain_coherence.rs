//! The coherence of the text that a model learns: the gain of a mixture of unigrams across its halves. No model is read.

use std::collections::BTreeSet;

use rand::seq::SliceRandom;

use crate::{
    analysis::unigram_mixture::{Counts, UnigramMixture, counts, loss},
    corpus::Position,
    probe::prelude::*,
};

/// K of the mixtures.
const COMPONENTS: [usize; 4] = [1, 2, 4, 8];
/// Windows of a batch that is drawn, and batches at most for each that is wanted: a short text has few that differ.
const ROWS: usize = 16;
const MAX_BATCH_FACTOR: usize = 4;

impl Probe for DomainCoherenceArgs {
    type Answer = DomainCoherence;
    type Subject<'m> = ();
    const IS_SLOW: bool = true;

    fn subject(model: &mut dyn Trainable) -> Option<()> {
        let capabilities = model.capabilities();
        (capabilities.token_model.is_some() && capabilities.recovery.is_none()).then_some(())
    }

    fn ask(&self, (): (), cx: &ProbeInputs<'_>) -> Result<Answer<Self::Answer>> {
        let windows = windows(cx.corpus, self)?;
        if windows.len() < 2 {
            bail!("the text is too short for two windows of {} tokens; make them shorter", self.window);
        }
        let mut rng = ChaCha8Rng::seed_from_u64(cx.seed);
        let exchanged = shuffled_tokens(&windows, &mut rng);
        let counted = [&windows, &exchanged].map(|all| all.iter().map(|window| counts(window)).collect::<Vec<_>>());
        let mut curves = [vec![], vec![]];
        for (at, components) in COMPONENTS.into_iter().enumerate() {
            cx.progress.at(at, COMPONENTS.len())?;
            for (curve, counted) in curves.iter_mut().zip(&counted) {
                curve.push(cross_validated_loss(counted, cx.corpus.vocab(), components, &mut rng));
            }
        }
        let [loss, exchanged] = curves.map(Into::into);
        let (components, windows) = (COMPONENTS.to_vec(), windows.len());
        let about = format!("{windows} windows of {} tokens of the training text, in two halves", self.window);
        let measured = DomainCoherence { components, loss, exchanged, windows };
        Ok(Answer::new(measured, about, vec![]))
    }
}

/// Windows of the training text that differ.
fn windows(corpus: &Corpus, args: &DomainCoherenceArgs) -> Result<Vec<Vec<u32>>> {
    let (mut seen, mut all) = (BTreeSet::new(), vec![]);
    for drawn in 0..(MAX_BATCH_FACTOR * args.windows.div_ceil(ROWS)) as u64 {
        let batch = corpus.batch(&Position { seed: 0, drawn }, ROWS, args.window)?;
        for window in batch.inputs.chunks(batch.len) {
            if all.len() < args.windows && seen.insert(window.to_vec()) {
                all.push(window.to_vec());
            }
        }
        if all.len() == args.windows {
            break;
        }
    }
    Ok(all)
}

/// Windows of as many tokens, all drawn from all of them.
fn shuffled_tokens(windows: &[Vec<u32>], rng: &mut ChaCha8Rng) -> Vec<Vec<u32>> {
    let mut tokens = windows.concat();
    tokens.shuffle(rng);
    let len = windows.first().map_or(1, Vec::len).max(1);
    tokens.chunks(len).map(<[u32]>::to_vec).collect()
}

/// Mean loss, nats per token, of either half under the mixture of the other. Windows are in an order of chance.
fn cross_validated_loss(windows: &[Counts], vocab: usize, components: usize, rng: &mut ChaCha8Rng) -> f64 {
    let (first, second) = windows.split_at(windows.len() / 2);
    let mut judged =
        |fitted: &[Counts], other: &[Counts]| loss(&UnigramMixture::fit(fitted, vocab, components, rng), other);
    (judged(first, second) + judged(second, first)) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{corpus::Source, models::gpt::AlibiGptSpec};

    fn measured(source: Source) -> Result<DomainCoherence> {
        let corpus = testing::text(source)?;
        let spec = ModelSpec::AlibiGpt(AlibiGptSpec { d_model: 8, heads: 1, layers: 1, ..AlibiGptSpec::default() });
        let mut model = spec.build(corpus.vocab(), 3, &Device::Cpu)?;
        testing::measured(model.as_mut(), &corpus, &[("windows", Value::Int(160))])
    }

    #[test]
    fn a_text_of_eight_domains_is_less_coherent_than_one_of_one() -> Result<()> {
        let [one, eight] = [1, 8].map(|domains| measured(Source::Domains(domains)));
        let (one, eight) = (one?, eight?);
        assert_eq!((one.windows, one.components.as_slice()), (160, COMPONENTS.as_slice()));
        assert!(eight.gain() > 0.1 && eight.gain() > 3.0 * one.gain(), "{} and {}", eight.gain(), one.gain());
        let [of_eight, of_one] = [eight, one].map(|m| DomainCoherence { loss: m.exchanged.clone(), ..m }.gain());
        assert!(of_eight < 0.02 && of_one < 0.02, "without domains nothing is gained: {of_eight} and {of_one}");
        Ok(())
    }
}
