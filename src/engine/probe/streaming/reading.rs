//! Reads streams part by part and keeps what every token cost.

use candle_core::D;

use super::texts::StreamTexts;
use crate::{analysis::statistics::mean, models::capabilities::TextStream, probe::prelude::*};

/// Tokens of each stream that are read at once.
const AT_ONCE: usize = 100;

/// The loss of every token of all streams of one text, `(rows, len)`.
pub(super) struct TokenCosts {
    pub len: usize,
    /// The loss of each token, nats.
    pub nats: Vec<f64>,
    /// The uncertainty U of each token; empty without fast weights.
    pub uncertainty: Vec<f64>,
}

impl TokenCosts {
    /// Mean nats of each stream.
    pub fn by_stream(&self) -> Vec<f64> {
        self.nats.chunks(self.len).map(mean).collect()
    }

    /// exp of the mean nats.
    pub fn perplexity(&self) -> f64 {
        mean(&self.nats).exp()
    }
}

/// The texts that are read, and the device.
pub(super) struct StreamReader<'a> {
    pub texts: &'a StreamTexts,
    pub device: &'a Device,
}

impl StreamReader<'_> {
    /// The tokens `from` to `to` of all streams of a text, by a reader that stands at `from`.
    pub fn read(
        &self,
        text: usize,
        (from, to): (usize, usize),
        stream: &mut dyn TextStream,
        progress: Progress<'_>,
    ) -> Result<TokenCosts> {
        let len = to - from;
        let rows = self.texts.rows;
        let mut costs = TokenCosts { len, nats: vec![0.0; rows * len], uncertainty: vec![] };
        for begin in (from..to).step_by(AT_ONCE) {
            progress.at(begin - from, len)?;
            let end = (begin + AT_ONCE).min(to);
            let (inputs, targets) = (self.part(text, begin, end, true), self.part(text, begin, end, false));
            let tokens = Tensor::from_vec(inputs, (rows, end - begin), self.device)?;
            let nats = nats(&stream.read(&tokens)?, &targets)?;
            let uncertainty: Vec<f64> = stream.uncertainty().into_iter().map(f64::from).collect();
            if !uncertainty.is_empty() {
                costs.uncertainty.resize(rows * len, 0.0);
            }
            for (part, all) in [(&nats, &mut costs.nats), (&uncertainty, &mut costs.uncertainty)] {
                for (row, part) in part.chunks(end - begin).enumerate() {
                    all[row * len + begin - from..row * len + end - from].copy_from_slice(part);
                }
            }
        }
        Ok(costs)
    }

    /// A whole text.
    pub fn read_all(&self, text: usize, stream: &mut dyn TextStream, progress: Progress<'_>) -> Result<TokenCosts> {
        self.read(text, (0, self.texts.len), stream, progress)
    }

    /// The same stretch of all streams, row by row.
    pub fn part(&self, text: usize, begin: usize, end: usize, is_input: bool) -> Vec<u32> {
        let text = &self.texts.texts[text];
        let ids = if is_input { &text.inputs } else { &text.targets };
        ids.chunks(self.texts.len).flat_map(|row| &row[begin..end]).copied().collect()
    }
}

/// -log softmax(logits)[target] of every token; logits `(B, T, V)`.
pub(super) fn nats(logits: &Tensor, targets: &[u32]) -> Result<Vec<f64>> {
    let vocab = logits.dim(D::Minus1)?;
    let log_probs = candle_nn::ops::log_softmax(&logits.reshape((targets.len(), vocab))?, D::Minus1)?;
    let at = Tensor::from_slice(targets, (targets.len(), 1), logits.device())?;
    host::to_f64(&log_probs.gather(&at, 1)?.neg()?)
}
