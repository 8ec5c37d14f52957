//! The loss of a language model against the number of tokens that it has read.

use crate::probe::{prelude::*, refuse_beyond_memory};

/// A model that reads texts of any length.
pub struct LongReader<'m> {
    model: &'m dyn Model,
    /// Its attention is made of several operations, with tables over pairs of tokens. That of a transformer is one
    /// operation, which on the CPU works block by block.
    has_tables: bool,
}

impl<'m> FromShared<'m> for LongReader<'m> {
    fn from_shared(model: &'m dyn Trainable) -> Option<Self> {
        let Capabilities { token_model, trace_blocks, residual_layers, positions, .. } = model.capabilities();
        let is_long_transformer = residual_layers.is_some() && positions.is_none();
        let has_tables = trace_blocks.is_some();
        token_model.filter(|_| has_tables || is_long_transformer).map(|model| Self { model, has_tables })
    }
}

/// The ratio of the widths of successive bins.
const BIN_RATIO: f64 = 1.4;

/// Returns no answer if the corpus is a task.
impl Probe for PositionLossesArgs {
    type Answer = Option<PositionLosses>;
    type Subject<'m> = LongReader<'m>;

    fn ask(
        &self,
        LongReader { model, has_tables }: LongReader<'_>,
        cx: &ProbeInputs<'_>,
    ) -> Result<Answer<Self::Answer>> {
        if cx.corpus.chance_accuracy().is_some() {
            return Ok(Answer::default());
        }
        let window = self.window;
        let len = (window * self.times).min(self.longest.max(window));
        // scores, weights and their product with the mask
        let tables = match has_tables || !cx.device.is_cpu() {
            true => 3 * (len as u64).pow(2) * size_of::<f32>() as u64,
            false => 0,
        };
        let what = format!("attention over a text of {len} tokens takes");
        refuse_beyond_memory(tables, &what, "ask with a smaller `longest` or `times`")?;
        let held_out = cx.corpus.held_out(self.texts, len)?;
        let edges = edges(len);
        let mut by_text: Vec<Vec<f64>> = vec![];
        for text in cx.batches(&held_out, 1) {
            cx.progress.at(by_text.len(), held_out.rows)?;
            let WindowBatch { tokens, targets } = text?;
            let losses = token_losses(&model.logits(&tokens, &mut Tap::off())?, targets)?;
            by_text.push(edges.windows(2).map(|bin| mean_sd(&losses[bin[0]..bin[1]]).0).collect());
        }
        let of_bin = |bin: usize| mean_sd(&by_text.iter().map(|text| text[bin]).collect::<Vec<_>>());
        let means: Vec<(f64, f64)> = (0..edges.len() - 1).map(of_bin).collect();
        // a single text gives no estimate of the spread
        let spread_of = if by_text.len() > 1 { by_text.len() as f64 } else { f64::NAN };
        let measured = PositionLosses {
            window,
            texts: by_text.len(),
            edges,
            loss: means.iter().map(|(mean, _)| *mean).collect(),
            error: means.iter().map(|(_, sd)| sd / spread_of.sqrt()).collect(),
        };
        let about = format!("{} held-out texts of {len} tokens", held_out.rows);
        Ok(Answer::new(Some(measured), about, vec![]))
    }
}

/// Edges of bins over 0..len, the first one token wide.
fn edges(len: usize) -> Vec<usize> {
    let mut edges = vec![0];
    let mut width = 1.0f64;
    while let Some(last) = edges.last().copied().filter(|last| *last < len) {
        let next = last + width.round() as usize;
        // A remainder that is less than a bin belongs to the last one.
        let is_last = next as f64 + BIN_RATIO * width > len as f64;
        edges.push(if is_last { len } else { next });
        width *= BIN_RATIO;
    }
    edges
}

/// -ln p of every target `(B T)` from logits `(B, T, V)`, nats.
pub(super) fn token_losses(logits: &Tensor, targets: &[u32]) -> Result<Vec<f64>> {
    let vocab = logits.dim(2)?;
    let logits = host::to_f32(logits)?;
    Ok(logits.chunks(vocab).zip(targets).map(|(row, target)| surprise(row, *target)).collect())
}

/// -ln p of a token whose logits these are, nats.
pub(super) fn surprise(row: &[f32], token: u32) -> f64 {
    let top = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f64 = row.iter().map(|v| f64::from(v - top).exp()).sum();
    sum.ln() - row.get(token as usize).map_or(f64::NAN, |v| f64::from(v - top))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn bins_cover_all_places_once(len in 1usize..5000) {
            let edges = edges(len);
            prop_assert_eq!((edges[0], *edges.last().unwrap()), (0, len));
            prop_assert!(edges.windows(2).all(|bin| bin[0] < bin[1]));
        }
    }

    #[test]
    fn surprise_is_the_logarithm_of_a_share() {
        let row = [0.0f32, 2.0f32.ln(), 1.0f32.ln()];
        assert!((surprise(&row, 1) - 2.0f64.ln()).abs() < 1e-6);
        assert!(surprise(&row, 7).is_nan());
        assert!((surprise(&[1000.0, 0.0], 1) - 1000.0).abs() < 1e-9, "no overflow");
    }
}
