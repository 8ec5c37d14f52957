//! The share of tokens for which each unit of the sparse layers is kept.

use super::tapped::TraceModel;
use crate::probe::prelude::*;

const BATCH_WINDOWS: usize = 4;

impl Probe for UnitUsageArgs {
    type Answer = UnitUsage;
    type Subject<'m> = TraceModel<'m>;

    fn ask(&self, subject: TraceModel<'_>, cx: &ProbeInputs<'_>) -> Result<Answer<Self::Answer>> {
        let (model, sizes) = subject;
        let held_out = cx.corpus.held_out(self.windows, self.window)?;
        let paths: Vec<String> = (0..sizes.blocks).map(|block| sizes.tap_path(block, "units")).collect();
        let mut counts = vec![vec![0u64; sizes.units]; sizes.blocks];
        for batch in cx.batches(&held_out, BATCH_WINDOWS) {
            let mut tap = Tap::on(&paths);
            model.logits(&batch?.tokens, &mut tap)?;
            for (path, counts) in paths.iter().zip(&mut counts) {
                let Some(units) = tap.get(path) else { continue };
                count(&host::to_f32(units)?, counts);
            }
        }
        let tokens = held_out.rows * held_out.len;
        let share = |count: u64| count as f64 / tokens as f64;
        let block = |(block, counts): (usize, Vec<u64>)| BlockUsage {
            path: TraceBlocks::path(block),
            usage: counts.into_iter().map(share).collect(),
        };
        let blocks = counts.into_iter().enumerate().map(block).collect();
        let measured = UnitUsage { kept: sizes.kept, tokens, blocks };
        Ok(Answer::new(measured, format!("{tokens} held-out tokens"), vec![]))
    }
}

/// Adds, unit by unit, the tokens for which it is not zero. `units`: `(tokens, units)`.
fn count(units: &[f32], counts: &mut [u64]) {
    for token in units.chunks(counts.len().max(1)) {
        counts.iter_mut().zip(token).for_each(|(count, unit)| *count += u64::from(*unit != 0.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_that_are_not_zero_are_counted() {
        let mut counts = [0; 3];
        count(&[0.0, 1.0, -2.0, 0.0, 3.0, 0.0], &mut counts);
        assert_eq!(counts, [0, 2, 1]);
    }
}
