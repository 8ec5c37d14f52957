//! Which tokeniser, and how many layers, a checkpoint was trained with, where nobody says: every candidate reads the
//! beginning of the text, and the least loss wins.

use super::{
    Checkpoint, InferenceError, NamedTokenizer, ReadingForm, TextLoss,
    loss::{nats_by_depth, token_losses},
};
use crate::models::bdh::SynapseModel;

/// The most layers that are tried.
pub const MOST_LAYERS: usize = 12;
/// Bytes of the beginning of a text that candidates read; fewer where the model is large, but never fewer than the least.
const PROBED_BYTES: usize = 4 << 10;
const LEAST_PROBED_BYTES: usize = 512;
/// Neurons times bytes that candidates read.
const PROBED_ACTIVATIONS: usize = 1 << 24;

/// A tokeniser and a number of layers, and what the beginning of the text costs with them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Candidate {
    /// Place among the tokenisers.
    pub tokenizer: usize,
    pub layers: usize,
    pub loss: TextLoss,
}

/// Every candidate, and the best.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// By tokeniser, then by layers; empty where there was nothing to choose.
    pub tried: Vec<Candidate>,
    /// Place of the best among the tokenisers.
    pub tokenizer: usize,
    pub layers: usize,
    /// Bytes of the beginning of the text that the candidates read.
    pub bytes: usize,
}

/// The candidate with the fewest bits a byte on the beginning of the text: 4 kB of it, or less for a large model. If `layers` is given, or the
/// file says it, no other number is tried.
///
/// # Errors
/// If no candidate can read the beginning of the text.
pub fn choose(
    checkpoint: &Checkpoint,
    tokenizers: &[NamedTokenizer],
    text: &[u8],
    layers: Option<usize>,
    form: ReadingForm,
) -> Result<Choice, InferenceError> {
    let known = layers.or(checkpoint.layers);
    if let (Some(layers), [_]) = (known, tokenizers) {
        return Ok(Choice { tried: vec![], tokenizer: 0, layers, bytes: 0 });
    }
    let model = checkpoint.model(known.unwrap_or(MOST_LAYERS))?;
    let neurons = model.spec().neurons.max(1);
    let head = beginning(text, (PROBED_ACTIVATIONS / neurons).clamp(LEAST_PROBED_BYTES, PROBED_BYTES));
    let mut tried = vec![];
    let mut refusal = None;
    for (place, one) in tokenizers.iter().enumerate() {
        let ids = match one.tokenizer.encode(head) {
            Ok(ids) => ids,
            Err(e) => {
                refusal.get_or_insert(e);
                continue;
            }
        };
        let depths: Vec<(usize, f64)> = match known {
            Some(layers) => vec![(layers, token_losses(&model, &ids, form, &mut |_| ())?.iter().sum())],
            None => (1..).zip(nats_by_depth(&model, &ids, form)?).collect(),
        };
        let candidates = depths.into_iter().map(|(layers, nats)| {
            let loss = TextLoss::of(one, &ids, head, nats);
            Candidate { tokenizer: place, layers, loss }
        });
        tried.extend(candidates);
    }
    let measured = tried.iter().filter(|c| c.loss.bits_per_byte().is_finite());
    let best = measured.min_by(|a, b| a.loss.bits_per_byte().total_cmp(&b.loss.bits_per_byte()));
    match (best, refusal) {
        (Some(best), _) => Ok(Choice { tokenizer: best.tokenizer, layers: best.layers, tried, bytes: head.len() }),
        (None, Some(refusal)) => Err(refusal.into()),
        (None, None) => Err(InferenceError::Mismatch(
            "the beginning of the text is too short to tell which layers and tokens the model was trained with: give both, or a longer text".to_owned(),
        )),
    }
}

/// So many first bytes, without a part of a character.
fn beginning(text: &[u8], most: usize) -> &[u8] {
    let mut end = text.len().min(most);
    while end < text.len() && end > most - 4 && text[end] & 0xC0 == 0x80 {
        end -= 1;
    }
    &text[..end]
}
