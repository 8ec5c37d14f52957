//! Attention maps along a text of up to a thousand tokens: all of them small, and those of some layers whole.

use super::{attention_maps::attention_layer, tapped::AttendingModel};
use crate::{probe::prelude::*, telemetry::measurements::AttentionLayer};

/// Positions of a thumbnail, at most.
const THUMBNAIL: usize = 64;
/// Weights of all whole maps together, at most: 16 MB.
const MAX_WEIGHTS: usize = 4 << 20;

impl Probe for LongAttentionMapsArgs {
    type Answer = LongAttentionMaps;
    type Subject<'m> = AttendingModel<'m>;

    fn ask(&self, model: AttendingModel<'_>, cx: &ProbeInputs<'_>) -> Result<Answer<Self::Answer>> {
        let passage = Prompt::read(cx, &self.text, self.passage, self.length)?;
        cx.progress.at(0, model.layers.len() + 1)?;
        let found = model.weights(&passage.tensor(cx.device)?, &model.layers)?;
        let weights: usize = found.iter().map(|(_, weights)| weights.elem_count()).sum();
        let wanted = found.iter().position(|(l, _)| l.path == self.layer).unwrap_or(0);
        let (mut thumbnails, mut layers) = (vec![], vec![]);
        for (i, (layer, weights_of)) in found.iter().enumerate() {
            cx.progress.at(i + 1, model.layers.len() + 1)?;
            let whole = attention_layer(layer, weights_of)?;
            thumbnails.push(thumbnail(&whole)?);
            if weights <= MAX_WEIGHTS || i == wanted {
                layers.push(whole);
            }
        }
        Ok(Answer::new(LongAttentionMaps { thumbnails, layers }, passage.about, passage.tokens))
    }
}

/// Averages over square blocks, as many as fit; the last may be narrower.
fn thumbnail(whole: &AttentionLayer) -> Result<AttentionLayer> {
    let (heads, positions) = (whole.heads(), whole.positions());
    let block = positions.div_ceil(THUMBNAIL).max(1);
    let side = positions.div_ceil(block);
    let mut means = Vec::with_capacity(heads * side * side);
    for head in 0..heads {
        let Some(map) = whole.weights.matrix(head) else { continue };
        for rows in map.data.chunks(block * positions) {
            let high = rows.len() / positions;
            means.extend((0..side).map(|j| {
                let cols = j * block..positions.min((j + 1) * block);
                let sum: f32 = rows.chunks(positions).flat_map(|row| &row[cols.clone()]).sum();
                sum / (high * cols.len()) as f32
            }));
        }
    }
    let weights = Array::new([heads, side, side], means)?.half_precision();
    Ok(AttentionLayer { weights, tokens_per_position: whole.tokens_per_position * block, ..whole.without_weights() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thumbnail_keeps_the_mean_weight() {
        let n = 130;
        let data: Vec<f32> = (0..2 * n * n).map(|i| if i % n > i / n % n { 0.0 } else { 1.0 }).collect();
        let whole = AttentionLayer {
            path: "layers.0".into(),
            tokens_per_position: 1,
            is_differential: false,
            weights: Array::new([2, n, n], data).unwrap(),
            entropy: vec![1.0, 2.0].into(),
            uniform_entropy: vec![3.0; 2].into(),
        };
        let small = thumbnail(&whole).unwrap();
        assert_eq!((small.heads(), small.positions(), small.tokens_per_position), (2, 44, 3));
        assert_eq!(small.entropy, whole.entropy);
        let map = small.weights.matrix(1).unwrap();
        assert_eq!((map.data[44], map.data[1]), (1.0, 0.0));
        assert!((map.data[0] - 2.0 / 3.0).abs() < 1e-3 && map.data[43 * 44 + 43] == 1.0);
    }
}
