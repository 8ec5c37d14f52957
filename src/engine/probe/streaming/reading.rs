//! Reads streams part by part and keeps what every token cost.

use std::ops::Range;

use super::texts::{StreamText, StreamTexts};
use crate::{
    analysis::student::{CONFIDENCE, mean_interval},
    probe::prelude::*,
};

/// Tokens of each stream that are read at once.
const CHUNK_TOKENS: usize = 100;

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
