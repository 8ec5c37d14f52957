//! Attention maps of every layer and head along a sentence, with their entropies and that of uniform
//! attention to compare with.

use super::tapped::AttendingModel;
use crate::{
    analysis::attention_rows::Rows, models::capabilities, probe::prelude::*, telemetry::measurements::AttentionLayer,
};

/// Slow maps are ceil(T / P) wide: their rows and columns are blocks.
impl Probe for AttentionMapsArgs {
    type Answer = AttentionMaps;
    type Subject<'m> = AttendingModel<'m>;

    fn ask(&self, model: AttendingModel<'_>, cx: &ProbeInputs<'_>) -> Result<Answer<Self::Answer>> {
        let passage = Prompt::read(cx, &self.text, self.passage, Prompt::limit(&self.text))?;
        let wanted: Vec<_> = model.layers.iter().filter(|l| l.path.starts_with(&self.layer)).cloned().collect();
        let found = model.weights(&passage.tensor(cx.device)?, &wanted)?;
        let layers =
            found.iter().map(|(layer, weights)| attention_layer(layer, weights)).collect::<Result<Vec<_>>>()?;
        if layers.is_empty() {
            let known: Vec<&str> = model.layers.iter().map(|l| l.path.as_str()).collect();
            bail!("no layer's path begins with `{}`; there are {}", self.layer, known.join(", "));
        }
        Ok(Answer::new(AttentionMaps { layers }, passage.about, passage.tokens))
    }
}

/// weights `(1, H, T, T)` of this layer.
pub(super) fn attention_layer(layer: &capabilities::AttentionLayer, weights: &Tensor) -> Result<AttentionLayer> {
    let (_, heads, rows, cols) = weights.dims4()?;
    let values = host::to_f32(weights)?;
    let kind = rows_of(layer);
    let entropy = values.chunks((rows * cols).max(1)).map(|head| kind.mean_entropy(head, cols)).collect();
    let weights = Array::new([heads, rows, cols], values)?.half_precision();
    Ok(AttentionLayer {
        path: layer.path.clone(),
        tokens_per_position: layer.tokens_per_position,
        is_differential: layer.is_differential,
        weights,
        entropy,
        uniform_entropy: vec![layer.uniform_entropy(rows); heads].into(),
    })
}

/// The unit of the rows of its maps.
pub(super) fn rows_of(layer: &capabilities::AttentionLayer) -> Rows {
    if layer.is_differential { Rows::Differences } else { Rows::Shares }
}
