//! The attention weights that a model's layers give while they read. It does not know what is made of them.

use crate::{
    models::{Model, capabilities::AttentionLayer},
    nn::{Result, Tap, Tensor},
};

/// Reads tokens `(B, T)`; returns those of the layers that gave their weights `(B, H, T, T)`, with them, in order.
pub(super) fn attention_weights<'a>(
    model: &dyn Model,
    tokens: &Tensor,
    layers: &'a [AttentionLayer],
) -> Result<Vec<(&'a AttentionLayer, Tensor)>> {
    let paths: Vec<String> = layers.iter().map(AttentionLayer::tap_path).collect();
    let mut tap = Tap::on(&paths.iter().map(String::as_str).collect::<Vec<_>>());
    model.logits(tokens, &mut tap)?;
    let found = layers.iter().zip(&paths).filter_map(|(layer, path)| Some((layer, tap.get(path)?.clone())));
    Ok(found.collect())
}
