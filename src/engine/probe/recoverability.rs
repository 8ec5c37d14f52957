//! The accuracy of a reader that names the token k steps back, for each k, on held-out windows, compared with the
//! accuracy that is possible without reading.

use crate::probe::{position_losses::surprise, prelude::*};

/// The number of windows that are evaluated together, which bounds the size of the logits.
const BATCH_WINDOWS: usize = 8;

impl Probe for RecoverabilityArgs {
    type Answer = Recoverability;
    type Subject<'m> = &'m dyn RecoveryModel;
    const IS_SLOW: bool = true;

    fn ask(&self, reader: &dyn RecoveryModel, cx: &ProbeInputs<'_>) -> Result<Answer<Self::Answer>> {
        let windows = cx.corpus.held_out(self.windows, self.window)?;
        let tally = RecoveryTally::count(reader, &windows, cx)?;
        let about = format!("{} held-out windows, {} answers a distance", windows.rows, tally.asked);
        Ok(Answer::new(tally.recoverability(reader.distances()), about, vec![]))
    }
}

/// Right answers by distance, and the accuracy of the best guess without reading.
struct RecoveryTally {
    asked: usize,
    right: Vec<usize>,
    /// Cross-entropy of all answers by distance, nats.
    nats: Vec<f64>,
    /// The number of times that each id was the target, over all distances.
    wanted: Vec<usize>,
}

impl RecoveryTally {
    fn count(reader: &dyn RecoveryModel, windows: &Windows, cx: &ProbeInputs<'_>) -> Result<Self> {
        let positions = reader.positions(windows.len, 1)?;
        let k = reader.distances().len();
        let mut tally = Self { asked: 0, right: vec![0; k], nats: vec![0.0; k], wanted: vec![] };
        for (i, batch) in cx.batches(windows, BATCH_WINDOWS).enumerate() {
            cx.progress.at(i * BATCH_WINDOWS, windows.rows)?;
            let tokens = batch?.tokens;
            let logits = reader.answers(&tokens, &positions)?; // (P, B, K, V)
            let v = logits.dim(3)?;
            let (logits, wanted) = (host::to_f32(&logits)?, host::to_u32(&reader.target_ids(&tokens, &positions)?)?);
            tally.wanted.resize(tally.wanted.len().max(v), 0);
            tally.asked += wanted.len() / k;
            for (i, (scores, &id)) in logits.chunks_exact(v).zip(&wanted).enumerate() {
                tally.right[i % k] += usize::from(argmax(scores) == Some(id as usize));
                tally.nats[i % k] += surprise(scores, id);
                tally.wanted[id as usize] += 1;
            }
        }
        Ok(tally)
    }

    /// Accuracy with its 95% Wilson interval, the information that is surely read, the share of the most common token, and one over
    /// the number of tokens that occur.
    fn recoverability(&self, distances: &[usize]) -> Recoverability {
        let n = self.asked as f64;
        let bounds: Vec<(f64, f64)> = self.right.iter().map(|&r| wilson(r as f64, n)).collect();
        let most = self.wanted.iter().max().copied().unwrap_or_default() as f64 / (n * distances.len() as f64).max(1.0);
        let total = self.wanted.iter().sum::<usize>() as f64;
        let entropy = entropy(self.wanted.iter().map(|c| *c as f64 / total));
        let kinds = self.wanted.iter().filter(|c| **c > 0).count().max(1) as f64;
        Recoverability {
            distances: distances.to_vec(),
            accuracy: self.right.iter().map(|&r| r as f64 / n.max(1.0)).collect(),
            low: bounds.iter().map(|b| b.0).collect(),
            high: bounds.iter().map(|b| b.1).collect(),
            information: self.nats.iter().map(|nats| entropy - nats / n.max(1.0)).collect(),
            most_common: most,
            uniform: 1.0 / kinds,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tally_becomes_accuracies_with_bounds_and_levels() {
        let tally =
            RecoveryTally { asked: 100, right: vec![100, 25], nats: vec![0.0, 70.0], wanted: vec![0, 100, 100] };
        let r = tally.recoverability(&[1, 8]);
        assert_eq!(r.distances, [1, 8]);
        assert_eq!(*r.accuracy, [1.0, 0.25]);
        assert!(r.low[1] < 0.25 && r.high[1] > 0.25 && r.high[0] == 1.0);
        assert_eq!((r.most_common, r.uniform), (0.5, 0.5), "two tokens occur");
        let ln_2 = std::f64::consts::LN_2;
        assert!((r.information[0] - ln_2).abs() < 1e-12, "all that two tokens have");
        assert!((r.information[1] - (ln_2 - 0.7)).abs() < 1e-12, "less than a guess by frequencies");
    }
}
