//! Attention maps of every layer and head along a sentence, with their entropies and that of uniform
//! attention to compare with.

use super::{Finding, Probe, ProbeContext, passage::Passage};
use crate::{
    models::{Model, dense::Dense, fast_slow::FastSlow},
    nn::{Result, Tap, Tensor, host},
    telemetry::{
        Array,
        measurements::{self, AttentionLayer},
    },
};

/// Arguments: `text` (else a held-out passage), `layer` (paths that begin with it; all). Makes
/// [`measurements::AttentionMaps`].
///
/// Slow maps are ceil(T / P) wide: their rows and columns are blocks.
pub struct AttentionMaps;

/// Longest typed text.
const LONGEST: usize = 96;
/// Length of the scheduled passage: maps are the heaviest thing a run records.
const USUAL: usize = 48;
const SUFFIX: &str = ".attn.weights";

impl Probe for AttentionMaps {
    fn id(&self) -> &'static str {
        "attention_maps"
    }

    fn applies(&self, model: &dyn Model) -> bool {
        model.as_any().is::<FastSlow>() || model.as_any().is::<Dense>()
    }

    fn ask(&self, cx: &mut ProbeContext<'_>) -> Result<Vec<Finding>> {
        let longest = if cx.args.contains_key("text") { LONGEST } else { USUAL };
        let passage = Passage::of(cx, longest)?;
        let layer = cx.args.get("layer").map(ToString::to_string).unwrap_or_default();
        let mut tap = Tap::on(&["pre.", "slow.", "post.", "layers."]);
        cx.model.logits(&passage.tensor(cx)?, &mut tap)?;
        let (pool, window) = match cx.model.as_any().downcast_ref::<FastSlow>() {
            Some(model) => (model.spec().pool, model.spec().fast_window),
            None => (1, cx.model.as_any().downcast_ref::<Dense>().and_then(|m| m.spec().window)),
        };
        let mut layers = Vec::new();
        for (path, weights) in tap.found() {
            let Some(path) = path.strip_suffix(SUFFIX).filter(|p| p.starts_with(&layer)) else { continue };
            let (tokens_per_position, window) = if path.starts_with("slow.") { (pool, None) } else { (1, window) };
            layers.push(attention_layer(path, weights, tokens_per_position, window)?);
        }
        if layers.is_empty() {
            candle_core::bail!("no layer's path begins with `{layer}`; try pre, slow, post or layers");
        }
        Ok(vec![Finding::new(measurements::AttentionMaps { layers }, passage.about, passage.tokens)])
    }
}

/// weights `(1, H, T, T)`; `window`: keys that a query sees, itself included.
fn attention_layer(
    path: &str,
    weights: &Tensor,
    tokens_per_position: usize,
    window: Option<usize>,
) -> Result<AttentionLayer> {
    let (_, heads, rows, cols) = weights.dims4()?;
    let values = host::to_f32(weights)?;
    let entropy = values.chunks((rows * cols).max(1)).map(|head| mean_entropy(head, cols)).collect();
    let weights = Array::new([heads, rows, cols], values).map_err(candle_core::Error::wrap)?.half_precision();
    Ok(AttentionLayer {
        path: path.to_owned(),
        tokens_per_position,
        weights,
        entropy,
        uniform_entropy: vec![uniform_entropy(rows, window); heads].into(),
    })
}

/// Mean over rows of -sum w ln w, nats.
fn mean_entropy(data: &[f32], cols: usize) -> f64 {
    let row = |r: &[f32]| -r.iter().map(|&w| f64::from(w)).filter(|w| *w > 0.0).map(|w| w * w.ln()).sum::<f64>();
    let rows = data.len() / cols.max(1);
    data.chunks(cols.max(1)).map(row).sum::<f64>() / rows.max(1) as f64
}

/// That of attention spread evenly over what each of `rows` queries may see.
fn uniform_entropy(rows: usize, window: Option<usize>) -> f64 {
    let seen = |t: usize| (t + 1).min(window.unwrap_or(usize::MAX)) as f64;
    (0..rows).map(|t| seen(t).ln()).sum::<f64>() / rows.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entropies() {
        let uniform = [1.0, 0.0, 0.0, 0.5, 0.5, 0.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0];
        assert!((mean_entropy(&uniform, 3) - uniform_entropy(3, None)).abs() < 1e-6);
        assert_eq!(mean_entropy(&[1.0, 0.0, 0.0, 1.0], 2), 0.0);
        assert!((uniform_entropy(4, Some(2)) - 3.0 * 2f64.ln() / 4.0).abs() < 1e-12);
    }
}
