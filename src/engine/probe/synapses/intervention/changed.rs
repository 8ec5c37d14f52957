//! Forward passes of texts by a model, unchanged or under an intervention: log-probabilities, losses and continuations.
//! Comparing them is left to the caller.

use crate::probe::prelude::*;

/// Tokens read at once.
const CHUNK: usize = 128;
/// Numbers of a text's log-probabilities that are held at once: half a gigabyte.
const MAX_LOGITS: usize = 1 << 27;
/// Rows of log-probabilities that are compared at once.
const ROWS: usize = 512;

/// Reads tokens `(B, T)` after those of `state`: logits `(B, T, V)`.
fn read(model: &dyn SynapseModel, tokens: &Tensor, state: &mut State, change: Option<&Intervention>) -> Result<Tensor> {
    match change {
        Some(change) => model.read_changed(tokens, state, change),
        None => model.read(tokens, state, &mut Tap::off()),
    }
}

/// The forward pass of a text by a model, unchanged or under an intervention.
pub struct ForwardPass {
    logits: Tensor, // (T, V)
    /// Logits after the last token.
    pub last: Vec<f32>,
    /// -ln p of each token, nats; NaN at the first.
    pub loss: Vec<f64>,
    /// The continuation: the likeliest token at each position.
    pub continuation: Vec<u32>,
}

impl ForwardPass {
    /// `length`: tokens to write after the text.
    ///
    /// # Errors
    /// If the text is empty or too long to be compared, or the change fits no model of this kind.
    pub fn run(
        model: &dyn SynapseModel,
        ids: &[u32],
        change: Option<&Intervention>,
        length: usize,
        progress: Progress<'_>,
    ) -> Result<Self> {
        let device = model.params().device();
        let mut state = State::empty(model.shape(), 1, device)?;
        let mut next = |ids: &[u32]| -> Result<Tensor> {
            read(model, &text_batch(ids, device)?, &mut state, change)?.squeeze(0) // (T, V)
        };
        let (mut parts, mut last) = (vec![], vec![]);
        for (k, part) in ids.chunks(CHUNK).enumerate() {
            progress.at(k * CHUNK, ids.len())?;
            let logits = next(part)?;
            let vocab = logits.dim(1)?;
            if ids.len().saturating_mul(vocab) > MAX_LOGITS {
                let most = MAX_LOGITS / vocab.max(1);
                bail!("a text of {} tokens is too long to be compared token by token: give at most {most}", ids.len())
            }
            last = host::to_f32(&logits.get(part.len() - 1)?)?;
            parts.push(logits);
        }
        ensure!(!parts.is_empty(), "the text has no tokens");
        let logits = Tensor::cat(&parts, 0)?; // (T, V)
        let log_probs = candle_nn::ops::log_softmax(&logits, D::Minus1)?;
        let loss = std::iter::once(f64::NAN).chain(next_token_losses(&log_probs, ids)?).collect();
        let (mut row, mut continuation) = (last.clone(), vec![]);
        while continuation.len() < length {
            progress.at(0, 1)?;
            let Some(id) = argmax(&row).map(|id| id as u32) else { break };
            continuation.push(id);
            if continuation.len() < length {
                row = host::to_f32(&next(&[id])?)?;
            }
        }
        Ok(Self { logits, last, loss, continuation })
    }

    /// KL(self || other) of the next token's distribution at each position, nats. In double precision from the logits on, where
    /// rounding of the logits enters only by its square, so that even a small change stands out from it.
    pub fn divergence(&self, other: &Self) -> Result<Vec<f64>> {
        let (mut all, (tokens, vocab)) = (vec![], self.logits.dims2()?);
        for from in (0..tokens).step_by(ROWS) {
            let rows = |of: &Tensor| host::to_f64(&of.narrow(0, from, ROWS.min(tokens - from))?);
            let (own, other) = (rows(&self.logits)?, rows(&other.logits)?);
            all.extend(own.chunks(vocab).zip(other.chunks(vocab)).map(|(a, b)| relative_entropy(a, b)));
        }
        Ok(all)
    }
}

/// KL(softmax(a) || softmax(b)), nats.
fn relative_entropy(a: &[f64], b: &[f64]) -> f64 {
    let sum = |row: &[f64]| {
        let most = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        (most, row.iter().map(|v| (v - most).exp()).sum::<f64>())
    };
    let ((most, total), (other, other_total)) = (sum(a), sum(b));
    let mean: f64 = a.iter().zip(b).map(|(x, y)| (x - most).exp() / total * ((x - most) - (y - other))).sum();
    (mean - total.ln() + other_total.ln()).max(0.0)
}

/// Log-probabilities `(B, T, V)` of rows that begin again, each padded at its end to the longest.
pub(in crate::probe) fn read_rows(
    model: &dyn SynapseModel,
    rows: &[&[u32]],
    change: Option<&Intervention>,
) -> Result<Tensor> {
    let ((ids, t), device) = (padded(rows), model.params().device());
    let mut state = State::empty(model.shape(), rows.len(), device)?;
    let logits = read(model, &Tensor::from_vec(ids, (rows.len(), t), device)?, &mut state, change)?;
    candle_nn::ops::log_softmax(&logits, D::Minus1)
}

#[cfg(test)]
mod tests {
    use super::relative_entropy;

    #[test]
    fn the_least_of_changes_is_told_from_rounding() {
        let a: Vec<f64> = (0..50).map(|i| f64::from(i * 37 % 11) / 3.0).collect();
        let moved = |by: f64| -> Vec<f64> { a.iter().enumerate().map(|(i, v)| v + by * (i as f64).sin()).collect() };
        assert_eq!(relative_entropy(&a, &a), 0.0);
        // for a small step it is half the variance of the added term under softmax(a)
        let total: f64 = a.iter().map(|v| v.exp()).sum();
        let p = |i: usize| a[i].exp() / total;
        let mean: f64 = (0..50).map(|i| p(i) * (i as f64).sin()).sum();
        let variance: f64 = (0..50).map(|i| p(i) * ((i as f64).sin() - mean).powi(2)).sum();
        for by in [1e-3, 1e-5] {
            let (found, wanted) = (relative_entropy(&a, &moved(by)), by * by * variance / 2.0);
            assert!((found - wanted).abs() < 0.01 * wanted, "{by}: {found:e} and {wanted:e}");
        }
        let (p, q) = ([0.0, 3f64.ln()], [0.0, 0.0]);
        let wanted = 0.25 * (0.25f64 / 0.5).ln() + 0.75 * (0.75f64 / 0.5).ln();
        assert!((relative_entropy(&p, &q) - wanted).abs() < 1e-12);
    }
}
