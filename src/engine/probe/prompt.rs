//! The texts that a probe reads: a typed one, a held-out passage, or batches of held-out windows.

use super::ProbeInputs;
use crate::{
    analysis::statistics,
    config::counted,
    corpus::{Corpus, Windows},
    nn::{Device, Result, Tensor, host},
    telemetry::measurements::LikelyToken,
};

pub(super) struct Prompt {
    pub ids: Vec<u32>,
    /// The text of each token, for the token axis.
    pub tokens: Vec<String>,
    /// A description of the prompt.
    pub about: String,
}

impl Prompt {
    /// The usual limit of a prompt, in tokens.
    pub const MAX_TOKENS: usize = 96;
    /// The limit of prompts that are recorded with their attention, in tokens: a token is the same one in all of them, and
    /// maps are the heaviest thing that a run records.
    pub const DEFAULT_TOKENS: usize = 48;

    /// The limit of a typed text, or of the held-out passage where it is empty.
    pub fn limit(text: &str) -> usize {
        if text.is_empty() { Self::DEFAULT_TOKENS } else { Self::MAX_TOKENS }
    }

    /// Reads the text, or the held-out passage of this number if the text is empty; at most `longest` ids. A text is
    /// named by its beginning, because a lab may have set it without the user.
    ///
    /// # Errors
    /// If a text has no tokens, or none that the vocabulary has.
    pub fn read(cx: &ProbeInputs<'_>, text: &str, passage: u64, longest: usize) -> Result<Self> {
        let corpus = cx.corpus;
        let (mut ids, what) = match text {
            "" => (corpus.passage(passage, longest), format!("held-out passage {passage}")),
            text => (corpus.encode_typed(text)?, format!("text \u{201c}{}\u{201d}", beginning(text))),
        };
        ensure!(!ids.is_empty(), "the {what} has no tokens; type a sentence that this corpus's tokeniser can encode");
        let cut = ids.len() > longest;
        ids.truncate(longest);
        let about = format!("{what}, {}{}", if cut { "first " } else { "" }, counted(ids.len(), "token"));
        let tokens = ids.iter().map(|&id| corpus.token_text(id)).collect();
        Ok(Self { ids, tokens, about })
    }

    /// u32 `(1, T)`
    pub fn tensor(&self, device: &Device) -> Result<Tensor> {
        text_batch(&self.ids, device)
    }
}

/// The longest beginning by which a text is named, characters.
const MAX_NAME: usize = 24;

/// The beginning of a text, by which it is named, on one line.
pub(super) fn beginning(text: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match words.char_indices().nth(MAX_NAME) {
        Some((end, _)) => format!("{}\u{2026}", words[..end].trim_end()),
        None => words,
    }
}

/// A batch of one text with these ids, u32 `(1, T)`.
pub(super) fn text_batch(ids: &[u32], device: &Device) -> Result<Tensor> {
    Tensor::from_slice(ids, (1, ids.len()), device)
}

/// The ids of a batch of texts, each padded at its end with 0 to the longest, whose length is returned too. In a causal model
/// the padding changes nothing before it.
pub(super) fn padded<T: AsRef<[u32]>>(texts: &[T]) -> (Vec<u32>, usize) {
    let longest = texts.iter().map(|text| text.as_ref().len()).max().unwrap_or(0);
    let ids = texts.iter().flat_map(|text| {
        let text = text.as_ref();
        text.iter().copied().chain(std::iter::repeat_n(0, longest - text.len()))
    });
    (ids.collect(), longest)
}

/// -ln p of each of these ids, of log-probabilities `(T, V)` by place, nats.
pub(super) fn nats_at(log_probs: &Tensor, ids: &[u32]) -> Result<Vec<f64>> {
    if ids.is_empty() {
        return Ok(vec![]);
    }
    let found = log_probs.gather(&Tensor::from_slice(ids, (ids.len(), 1), log_probs.device())?, 1)?;
    host::to_f64(&found.neg()?)
}

/// -ln p of each id of a text but the first, of log-probabilities `(T, V)` or more by place, nats.
pub(super) fn next_token_losses(log_probs: &Tensor, ids: &[u32]) -> Result<Vec<f64>> {
    match ids {
        [] | [_] => Ok(vec![]),
        [_, next @ ..] => nats_at(&log_probs.narrow(0, 0, next.len())?, next),
    }
}

/// The likeliest tokens after a text, likeliest first. `row`: the logits after its last token.
pub(super) fn likely_tokens(row: &[f32], corpus: &Corpus, count: usize) -> Vec<LikelyToken> {
    let top = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let total: f32 = row.iter().map(|v| (v - top).exp()).sum();
    let likely = |id: usize| LikelyToken {
        token: corpus.token_text(id as u32),
        probability: f64::from((row[id] - top).exp() / total),
    };
    statistics::largest(row, count).into_iter().map(likely).collect()
}

/// A batch of held-out windows on the device.
pub(super) struct WindowBatch<'w> {
    /// Ids, `(B, T)`.
    pub tokens: Tensor,
    /// The id after each of them, `(B T)`; [`IGNORE`](crate::nn::IGNORE) where none is asked for.
    pub targets: &'w [u32],
}

impl<'a> ProbeInputs<'a> {
    /// The windows in order, `rows` in a batch; the last batch may have fewer.
    pub(super) fn batches<'w>(
        &self,
        windows: &'w Windows,
        rows: usize,
    ) -> impl Iterator<Item = Result<WindowBatch<'w>>> + use<'a, 'w> {
        let (len, device) = (windows.len.max(1), self.device);
        let batch = move |(inputs, targets): (&'w [u32], &'w [u32])| -> Result<WindowBatch<'w>> {
            Ok(WindowBatch { tokens: Tensor::from_slice(inputs, (inputs.len() / len, len), device)?, targets })
        };
        windows.inputs.chunks(rows * len).zip(windows.targets.chunks(rows * len)).map(batch)
    }
}

#[cfg(test)]
mod tests {
    use super::{beginning, padded};

    #[test]
    fn a_text_is_named_by_its_beginning() {
        assert_eq!(beginning("the ferry\nleft at dawn"), "the ferry left at dawn");
        assert_eq!(beginning("the old ferry left at dawn and"), "the old ferry left at da\u{2026}");
    }

    #[test]
    fn texts_are_padded_at_their_ends() {
        assert_eq!(padded(&[vec![1, 2, 3], vec![4]]), (vec![1, 2, 3, 4, 0, 0], 3));
        assert_eq!(padded::<Vec<u32>>(&[]), (vec![], 0));
    }
}
