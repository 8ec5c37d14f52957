//! Tests how well a model knows what a noun is: after a sentence, does it expect the follow-ups of that noun's class?
//! It tests behaviour and not synapses: no synapse can stand for missing knowledge.

use super::question::extent;
use crate::{
    corpus::generated::parliament::{
        Class,
        labelled::{Sentence, SplitSide, follow_ups, sentences},
    },
    probe::prelude::*,
};

/// Every seventh sentence is tested; seven is prime to the numbers of frames and languages, so that all take part.
const SENTENCE_STRIDE: usize = 7;

/// The share of sentences (of the confirmation half of the nouns, with the concept and without) in
/// which the follow-ups of the noun's own class are together likelier than those of any other class: in frames of the
/// training text, and in frames that no training text has. Chance is one over the number of classes. NaN
/// for the naive corpus, where nothing follows.
pub fn follow_up_accuracy(model: &dyn Trainable, corpus: &Corpus, concept: Class) -> Result<[f64; 2]> {
    if corpus.source().parliament().is_none_or(|p| p.naive) {
        return Ok([f64::NAN; 2]);
    }
    let share_in = |part| share(model, corpus, concept, part);
    Ok([share_in(SplitSide::NewNouns)?, share_in(SplitSide::BothNew)?])
}

fn share(model: &dyn Trainable, corpus: &Corpus, concept: Class, asked_in: SplitSide) -> Result<f64> {
    let part = extent(corpus, false);
    let (mut right, mut asked) = (0, 0);
    for sentence in sentences(concept, &part).iter().filter(|s| s.part == asked_in).step_by(SENTENCE_STRIDE) {
        let said = follow_ups(sentence, &part);
        let flat: Vec<&str> = said.iter().flat_map(|(_, all)| all.iter().map(String::as_str)).collect();
        let likelihoods = likelihoods(model, corpus, sentence, &flat)?;
        // The probability of a class, summed over its continuations.
        let of_class =
            |k: usize| likelihoods.chunks(part.follow_ups).nth(k).map_or(0.0, |c| c.iter().map(|l| l.exp()).sum());
        let expected = (0..said.len()).max_by(|&a, &b| f64::total_cmp(&of_class(a), &of_class(b)));
        asked += 1;
        right += usize::from(expected.is_some_and(|k| said[k].0 == sentence.class));
    }
    Ok(right as f64 / asked as f64)
}

/// The log-likelihood of each continuation, after the sentence and a space.
fn likelihoods(model: &dyn Trainable, corpus: &Corpus, sentence: &Sentence, said: &[&str]) -> Result<Vec<f64>> {
    let from = corpus.encode(&sentence.text).len().max(1);
    let rows: Vec<Vec<u32>> = said.iter().map(|s| corpus.encode(&format!("{} {s}", sentence.text))).collect();
    let (ids, t) = padded(&rows);
    let ids = Tensor::from_slice(&ids, (rows.len(), t), model.params().device())?;
    let logits = model.token_model()?.logits(&ids, &mut Tap::off())?; // (B,T,V)
    let v = logits.dim(2)?;
    let log_probs = host::to_f32(&candle_nn::ops::log_softmax(&logits, candle_core::D::Minus1)?)?;
    // The output at position s predicts token s + 1.
    let log_likelihood = |(b, row): (usize, &Vec<u32>)| -> f64 {
        (from..row.len()).map(|s| f64::from(log_probs[(b * t + s - 1) * v + row[s] as usize])).sum()
    };
    Ok(rows.iter().enumerate().map(log_likelihood).collect())
}
