//! Entropy, effective rank, share of the largest singular value and attention sink of every layer and head, averaged over
//! held-out windows, and the same of uniform attention to compare with.

use rayon::prelude::*;

use super::{attention_maps::rows_of, tapped::AttendingModel};
use crate::{
    analysis::{
        attention_rows::Rows,
        singular_values::{effective_rank, singular_values, top_share},
    },
    probe::prelude::*,
};

impl Probe for AttentionStatisticsArgs {
    type Answer = AttentionStatistics;
    type Subject<'m> = AttendingModel<'m>;
    const IS_SLOW: bool = true;

    fn ask(&self, model: AttendingModel<'_>, cx: &ProbeInputs<'_>) -> Result<Answer<Self::Answer>> {
        let windows = cx.corpus.held_out(self.windows, self.length)?;
        let mut sums: Vec<StatisticsSums> = vec![];
        for (i, window) in cx.batches(&windows, 1).enumerate() {
            let progress = cx.progress.piece(i, windows.rows);
            progress.at(0, 1)?;
            add_window(&model, &window?.tokens, &mut sums, progress)?;
        }
        let layers = sums.into_iter().map(|s| s.mean(windows.rows)).collect();
        let about = format!("{} held-out windows of {} tokens", windows.rows, windows.len);
        let measured = AttentionStatistics { layers, windows: windows.rows, tokens: windows.len };
        Ok(Answer::new(measured, about, vec![]))
    }
}

/// The statistics of one matrix: entropy, effective rank, share of the largest singular value, sink.
type HeadStatistics = [f64; 4];

/// The statistics of a layer, added up over windows.
struct StatisticsSums {
    layer: AttentionLayer,
    heads: Vec<HeadStatistics>,
    uniform: HeadStatistics,
}

impl StatisticsSums {
    fn mean(self, windows: usize) -> LayerStatistics {
        let head_means = |k: usize| self.heads.iter().map(|four| four[k] / windows.max(1) as f64).collect();
        let [entropy, effective_rank, top_share, sink] = self.uniform;
        LayerStatistics {
            entropy: head_means(0),
            effective_rank: head_means(1),
            top_share: head_means(2),
            sink: head_means(3),
            uniform: UniformStatistics { entropy, effective_rank, top_share, sink },
            path: self.layer.path,
            is_differential: self.layer.is_differential,
        }
    }
}

/// tokens `(1, T)`.
fn add_window(
    model: &AttendingModel<'_>,
    tokens: &Tensor,
    sums: &mut Vec<StatisticsSums>,
    progress: Progress<'_>,
) -> Result<()> {
    let found = model.weights(tokens, &model.layers)?;
    for (place, (layer, weights)) in found.iter().enumerate() {
        progress.at(place + 1, found.len() + 1)?;
        let (_, heads, rows, cols) = weights.dims4()?;
        let values = host::to_f32(weights)?;
        if place == sums.len() {
            let known = sums.iter().find(|s| s.layer.shares_uniform_attention(layer));
            let uniform =
                known.map_or_else(|| head_statistics(&layer.uniform_weights(rows), cols, Rows::Shares), |s| s.uniform);
            sums.push(StatisticsSums { layer: (*layer).clone(), heads: vec![[0.0; 4]; heads], uniform });
        }
        let kind = rows_of(layer);
        let of_heads: Vec<HeadStatistics> =
            values.par_chunks((rows * cols).max(1)).map(|head| head_statistics(head, cols, kind)).collect();
        for (sum, found) in sums[place].heads.iter_mut().zip(of_heads) {
            sum.iter_mut().zip(found).for_each(|(s, v)| *s += v);
        }
    }
    Ok(())
}

/// Statistics of one head; NaN if its weights are not numbers.
fn head_statistics(weights: &[f32], cols: usize, kind: Rows) -> HeadStatistics {
    let values = singular_values(weights.len() / cols.max(1), cols, weights);
    let (rank, share) = values.map_or((f64::NAN, f64::NAN), |s| (effective_rank(&s), top_share(&s)));
    [kind.mean_entropy(weights, cols), rank, share, kind.sink(weights, cols)]
}
