//! The streamed texts, which are the run's own held-out text and generated domains that it was not trained on, and
//! their reading in chunks, which keeps the loss of every token.

use std::ops::Range;

use crate::{
    analysis::student::{CONFIDENCE, mean_interval},
    corpus::generated::domains,
    probe::prelude::*,
};

/// The order in which generated domains are taken: those least like prose come first.
const FOREIGN: [usize; 8] = [1, 5, 4, 3, 7, 2, 6, 0];
/// The seed of the foreign texts; they are the same for every run.
const SEED: u64 = 0x0f0e_1c7e;
/// Numbers of bytes that are tried for each token.
const BYTES: [usize; 3] = [2, 8, 32];
/// The token that stands for whatever a tokeniser cannot say.
const UNKNOWN: &str = "<unk>";
/// A text with a larger share of unknown tokens is left out: its loss says little about the model.
const MAX_UNKNOWN: f64 = 0.05;
/// Tokens of each stream that are read at once.
const CHUNK_TOKENS: usize = 100;

/// Streams of one domain: `rows` texts of `len` tokens.
pub(super) struct StreamText {
    pub name: String,
    /// The ids that the model reads, `(rows, len)`.
    pub inputs: Vec<u32>,
    /// The target of each token, `(rows, len)`.
    pub targets: Vec<u32>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct StreamSizes {
    /// The number of streams of each text.
    pub rows: usize,
    /// The number of tokens of a stream.
    pub len: usize,
    /// The minimum number of tokens of a stream, where the text is short.
    pub min_len: usize,
    /// The number of texts other than the run's own.
    pub foreign: usize,
}

/// Streams of several texts, equally many and equally long for each.
pub(super) struct StreamTexts {
    /// The run's own text first.
    pub texts: Vec<StreamText>,
    pub rows: usize,
    pub len: usize,
    /// Domains that were left out, with the reason.
    pub notes: Vec<String>,
}

impl StreamTexts {
    /// Streams of the run's own text and of others. Where the held-out text is shorter, streams are halved until they fit.
    ///
    /// # Errors
    /// If the corpus is not running text, or shorter still.
    pub fn new(corpus: &Corpus, sizes: StreamSizes) -> Result<Self> {
        let Windows { rows, len, inputs, targets, .. } = own_streams(corpus, sizes)?;
        let name = corpus.name().split(" (").next().unwrap_or_default();
        let mut texts = vec![StreamText { name: format!("own text ({name})"), inputs, targets }];
        let mut notes = vec![];
        for domain in FOREIGN {
            if texts.len() > sizes.foreign {
                break;
            }
            if corpus.source().has_domain(domain) {
                continue;
            }
            match foreign_text(corpus, domain, rows, len) {
                Ok(text) => texts.push(text),
                Err(why) => notes.push(why),
            }
        }
        if texts.len() == 1 && notes.is_empty() {
            notes.push("The run's own text mixes all generated domains, so that none of them is foreign.".to_owned());
        }
        Ok(Self { texts, rows, len, notes })
    }

    /// Cuts every stream to a whole number of windows.
    pub fn cut_to_windows(&mut self, window: usize) {
        let (old, len) = (self.len, self.len - self.len % window);
        for text in &mut self.texts {
            for ids in [&mut text.inputs, &mut text.targets] {
                *ids = ids.chunks(old).flat_map(|row| &row[..len]).copied().collect();
            }
        }
        self.len = len;
    }

    /// A description of the texts that were read.
    pub fn about(&self) -> String {
        format!("{} streams of {} tokens a text", self.rows, self.len)
    }
}

fn own_streams(corpus: &Corpus, StreamSizes { rows, len, min_len, .. }: StreamSizes) -> Result<Windows> {
    ensure!(
        corpus.source().is_running_text(),
        "{} is made window by window and has no running text: choose running text as the corpus.",
        corpus.name()
    );
    let mut len = len.max(min_len);
    loop {
        match corpus.held_out(rows, len) {
            Ok(windows) => return Ok(windows),
            Err(_) if len > min_len => len = (len / 2).max(min_len),
            Err(e) => return Err(Error::Msg(e.to_string())),
        }
    }
}

/// Streams of a generated domain; an error says why there are none.
fn foreign_text(corpus: &Corpus, domain: usize, rows: usize, len: usize) -> std::result::Result<StreamText, String> {
    let name = domains::NAMES[domain].to_owned();
    let needed = rows * len + 1;
    let mut ids = vec![];
    for bytes in BYTES {
        ids = corpus
            .try_encode(&domains::single_domain(SEED, needed * bytes, domain))
            .map_err(|e| format!("{name} left out: {e}"))?;
        if ids.len() >= needed {
            break;
        }
    }
    ensure!(ids.len() >= needed, format!("{name} left out: it has too few tokens"));
    ids.truncate(needed);
    let is_unknown = |id: &u32| *id == 0 && corpus.token_text(0) == UNKNOWN;
    let unknown = ids.iter().filter(|id| is_unknown(id)).count() as f64 / ids.len().max(1) as f64;
    if unknown > MAX_UNKNOWN {
        return Err(format!("{name} left out: the tokeniser does not know {:.0}% of its tokens", 100.0 * unknown));
    }
    Ok(StreamText { name, inputs: ids[..needed - 1].to_vec(), targets: ids[1..].to_vec() })
}

/// The loss of every token of all streams of one text, `(rows, len)`.
pub(super) struct TokenCosts {
    pub len: usize,
    /// The loss of each token, nats.
    pub nats: Vec<f64>,
    /// The uncertainty U of each token; empty without fast weights.
    pub uncertainty: Vec<f64>,
}

impl TokenCosts {
    /// Costs of this many streams that are still to be read.
    pub fn unread(rows: usize, len: usize) -> Self {
        Self { len, nats: vec![0.0; rows * len], uncertainty: vec![] }
    }

    /// Writes the losses of a span of every stream, `(rows, tokens)`, from the position `begin` on.
    pub fn write(&mut self, begin: usize, nats: &[f64]) {
        write_span(&mut self.nats, self.len, begin, nats);
    }

    /// Mean nats of each stream.
    pub fn by_stream(&self) -> Vec<f64> {
        self.nats.chunks(self.len).map(mean).collect()
    }

    /// exp of the mean nats.
    pub fn perplexity(&self) -> f64 {
        mean(&self.nats).exp()
    }
}

/// Copies a span of every stream, `(rows, tokens)`, into the streams, `(rows, len)`, from the position `begin` on.
fn write_span(streams: &mut [f64], len: usize, begin: usize, stretch: &[f64]) {
    let rows = (streams.len() / len.max(1)).max(1);
    let tokens = (stretch.len() / rows).max(1);
    for (stream, part) in streams.chunks_mut(len.max(1)).zip(stretch.chunks(tokens)) {
        stream[begin..begin + tokens].copy_from_slice(part);
    }
}

pub(super) struct StreamReader<'a> {
    pub texts: &'a StreamTexts,
    pub device: &'a Device,
}

impl StreamReader<'_> {
    /// The tokens of a span of all streams of a text, by a reader that is at its beginning.
    pub fn read(
        &self,
        text: usize,
        span: Range<usize>,
        stream: &mut dyn TextStream,
        progress: Progress<'_>,
    ) -> Result<TokenCosts> {
        let (rows, len) = (self.texts.rows, span.len());
        let mut costs = TokenCosts::unread(rows, len);
        for begin in span.clone().step_by(CHUNK_TOKENS) {
            let at = begin - span.start;
            progress.at(at, len)?;
            let end = (begin + CHUNK_TOKENS).min(span.end);
            let [inputs, targets] = self.part(text, begin..end);
            let tokens = Tensor::from_vec(inputs, (rows, end - begin), self.device)?;
            costs.write(at, &nats(&stream.read(&tokens)?, &targets)?);
            let uncertainty: Vec<f64> = stream.uncertainty().into_iter().map(f64::from).collect();
            if !uncertainty.is_empty() {
                costs.uncertainty.resize(rows * len, 0.0);
            }
            write_span(&mut costs.uncertainty, len, at, &uncertainty);
        }
        Ok(costs)
    }

    /// A whole text.
    pub fn read_all(&self, text: usize, stream: &mut dyn TextStream, progress: Progress<'_>) -> Result<TokenCosts> {
        self.read(text, 0..self.texts.len, stream, progress)
    }

    /// Returns the inputs and the targets of the same span of all streams, row by row.
    pub fn part(&self, text: usize, span: Range<usize>) -> [Vec<u32>; 2] {
        let StreamText { inputs, targets, .. } = &self.texts.texts[text];
        [inputs, targets].map(|ids| ids.chunks(self.texts.len).flat_map(|row| &row[span.clone()]).copied().collect())
    }
}

/// `-log softmax(logits)[target]` of every token; logits `(B, T, V)`.
pub(super) fn nats(logits: &Tensor, targets: &[u32]) -> Result<Vec<f64>> {
    let vocab = logits.dim(D::Minus1)?;
    let log_probs = candle_nn::ops::log_softmax(&logits.reshape((targets.len(), vocab))?, D::Minus1)?;
    nats_at(&log_probs, targets)
}

/// The share by which perplexity is higher with `changed` than with `plain`.
pub(super) fn perplexity_added(plain: &[f64], changed: &[f64]) -> ShareWithInterval {
    let differences = difference(changed, plain);
    let (low, high) = mean_interval(&differences, CONFIDENCE).unwrap_or((f64::NAN, f64::NAN));
    let share = |nats: f64| nats.exp() - 1.0;
    ShareWithInterval { mean: share(mean(&differences)), low: share(low), high: share(high) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_stand_where_they_begin_in_each_stream() {
        let mut costs = TokenCosts::unread(2, 3);
        costs.write(1, &[1.0, 2.0, 3.0, 4.0]);
        assert_eq!(costs.nats, [0.0, 1.0, 2.0, 0.0, 3.0, 4.0]);
        write_span(&mut costs.uncertainty, 3, 1, &[]);
        assert!(costs.uncertainty.is_empty());
    }
}
