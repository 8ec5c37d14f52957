//! Readouts at the end of a flow: the next word's distribution, the share of each class in it, and the continuation of
//! the text.

use super::{FlowInput, SolveParams, embedded, end_as_trained};
use crate::{corpus::generated::steering::GOOD, probe::prelude::*};

/// Words of a continuation at most; a full stop ends it.
const MAX_WORDS: usize = 8;

/// Probabilities of the next token after the last one of a carried state `(1, T, D)`.
pub fn next(model: &dyn LanguageFlow, end: &Tensor) -> Result<Vec<f64>> {
    Ok(next_of_rows(model, end)?.swap_remove(0))
}

/// Like [`next`] for each row of `(B, T, D)`.
pub fn next_of_rows(model: &dyn LanguageFlow, end: &Tensor) -> Result<Vec<Vec<f64>>> {
    let logits = model.finish(end)?;
    let (_, t, v) = logits.dims3()?;
    let flat = host::to_f64(&logits.narrow(1, t - 1, 1)?)?;
    Ok(flat.chunks(v).map(softmax).collect())
}

/// The probability of any of these ids.
pub fn mass(p: &[f64], ids: &[u32]) -> f64 {
    ids.iter().filter_map(|&id| p.get(id as usize)).sum()
}

/// The token of a space, if the corpus has words and the spaces between them as separate tokens.
pub fn space_token(corpus: &Corpus) -> Option<u32> {
    match (corpus.encode(" ").as_slice(), single_token_ids(corpus, &GOOD[..1]).is_empty()) {
        ([space], false) => Some(*space),
        _ => None,
    }
}

/// The ids of those words that are one known token each.
pub fn single_token_ids(corpus: &Corpus, words: &[&str]) -> Vec<u32> {
    words.iter().map(|w| corpus.encode(w)).filter(|ids| ids.len() == 1 && ids[0] != 0).flatten().collect()
}

/// The ids of highest probability, highest first.
pub fn top(p: &[f64], count: usize) -> Vec<u32> {
    largest(p, count).into_iter().map(|id| id as u32).collect()
}

/// Continues from the prompt, whose next token is likeliest to be `first`, always with the likeliest token. Further
/// tokens are carried as the model was trained: in its own Euler steps, so that a fine tolerance does not multiply the
/// cost.
pub fn continuation(
    input: &FlowInput<'_>,
    model: &dyn LanguageFlow,
    params: &SolveParams,
    cx: &ProbeInputs<'_>,
    first: u32,
) -> Result<Vec<u32>> {
    let mut said = vec![first];
    let mut ids = input.ids.clone();
    while said.len() < MAX_WORDS && ids.len() + 1 < model.positions() {
        let Some(&newest) = said.last() else { break };
        if matches!(cx.corpus.token_text(newest).as_str(), "." | "?" | "!" | "¶") {
            break;
        }
        ids.push(newest);
        let end = end_as_trained(model, params.control, &embedded(model, &ids, cx.device)?)?;
        let p = next(model, &end)?;
        said.extend(top(&p, 1));
    }
    Ok(said)
}
