//! The settling of a network's levels on a sentence: one of the run's own, whose roles are known, or one that the user
//! typed.

use super::prompt::beginning;
use crate::{
    corpus::{SentenceSet, Source, TaggedSentence},
    probe::prelude::*,
};

const MAX_WORDS: usize = 24;
/// Most blocks of feedback weights on a side.
const BLOCKS: usize = 32;

impl Probe for SettlingArgs {
    type Answer = Settling;
    type Subject<'m> = &'m dyn SettlingModel;

    fn ask(&self, model: &dyn SettlingModel, cx: &ProbeInputs<'_>) -> Result<Answer<Self::Answer>> {
        let from_right = self.from_right;
        let (ids, roles, about) = sentence(cx.corpus, self)?;
        let levels = model.settle(&ids, from_right)?;
        let sweeps = levels.first().map_or(0, |l| l.states.len() / (l.units * ids.len()).max(1));
        let levels = levels.into_iter().map(|l| level(l, ids.len(), sweeps)).collect::<Result<_>>()?;
        let tokens = ids.iter().map(|id| cx.corpus.token_text(*id)).collect();
        Ok(Answer::new(Settling { roles, from_right, sweeps, levels }, about, tokens))
    }
}

/// The ids and the known roles of the sentence that is asked for, and its description.
fn sentence(corpus: &Corpus, args: &SettlingArgs) -> Result<(Vec<u32>, Vec<String>, String)> {
    let sets = if let Source::GrammarRoles(sets) = corpus.source() { Some(sets) } else { None };
    if !args.text.trim().is_empty() {
        let lowercase = sets.is_some_and(|sets| sets.lowercase());
        let ids = corpus.try_encode(&if lowercase { args.text.to_lowercase() } else { args.text.clone() })?;
        if ids.is_empty() || ids.len() > MAX_WORDS {
            bail!("a sentence of {} words cannot be settled on: type 1 to {MAX_WORDS}", ids.len());
        }
        return Ok((ids, vec![], format!("typed sentence \u{201c}{}\u{201d}", beginning(&args.text))));
    }
    let Some(sets) = sets else {
        return Ok((corpus.passage(0, MAX_WORDS), vec![], "held-out passage 0".to_owned()));
    };
    let place = args.sentence;
    let (set, what) = match args.set {
        SettlingSet::Own if sets.own.is_some() => {
            return Ok((corpus.passage(place as u64, MAX_WORDS), vec![], format!("sentence {place} of the file")));
        }
        SettlingSet::Train => (SentenceSet::Train, "training sentence"),
        SettlingSet::Transfer => (SentenceSet::TestTransfer, "sentence of the other vocabulary"),
        SettlingSet::Within | SettlingSet::Own => (SentenceSet::TestWithin, "held-out sentence"),
    };
    let place = place.min(sets.count(set).saturating_sub(1));
    let Some(TaggedSentence { words, roles }) = corpus.sentence(set, place) else {
        bail!("a treebank has no sentences of another vocabulary: choose held-out ones");
    };
    let names = sets.roles();
    let roles = roles.into_iter().map(|role| names[usize::from(role)].to_owned()).collect();
    Ok((words, roles, format!("{what} {place}")))
}

fn level(settled: SettledLevel, words: usize, sweeps: usize) -> Result<SettlingLevel> {
    let units = settled.units;
    let array = |rows: usize, values: Vec<f32>| Array::new([rows, units], values).map(Array::half_precision);
    let [fast, slow] = settled.traces;
    Ok(SettlingLevel {
        units,
        states: array(words * sweeps, settled.states)?,
        errors: array(words, settled.errors)?,
        fast: array(words, fast)?,
        slow: array(words, slow)?,
        precision: array(1, settled.precision)?,
        feedback: blocks(&settled.feedback, units)?,
    })
}

/// The root mean square of blocks of W_fb `(above, units)`, of as many blocks as divide each side, at most [`BLOCKS`].
fn blocks(feedback: &[f32], units: usize) -> Result<Array> {
    let above = feedback.len() / units.max(1);
    let count = |side: usize| (1..=side.min(BLOCKS)).rev().find(|n| side.is_multiple_of(*n)).unwrap_or(0);
    let (rows, cols) = (count(above), if above > 0 { count(units) } else { 0 });
    let mut sums = vec![0f32; rows * cols];
    for (i, row) in feedback.chunks_exact(units.max(1)).enumerate() {
        row.iter().enumerate().for_each(|(j, w)| sums[i * rows / above * cols + j * cols / units] += w * w);
    }
    let entries = feedback.len() as f32 / sums.len().max(1) as f32;
    let values = sums.into_iter().map(|s| (s / entries).sqrt()).collect();
    Ok(Array::new([rows, cols], values)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_keep_the_mean_square() {
        let weights: Vec<f32> = (0..64 * 96).map(|i| (i % 7) as f32 - 3.0).collect();
        let found = blocks(&weights, 96).unwrap();
        assert_eq!(found.shape(), [32, 32]);
        let mean = |v: &[f32]| v.iter().map(|w| w * w).sum::<f32>() / v.len() as f32;
        assert!((mean(found.data()) - mean(&weights)).abs() < 1e-3);
        assert_eq!(blocks(&[], 8).unwrap().shape(), [0, 0], "the top has none");
    }
}
