//! What a model's layers give while they read: attention weights, and the states that a fixed-point map refines. It does not know what is made of them.

use crate::{
    models::{
        Model,
        capabilities::{AttentionLayer, FixedPointModel},
    },
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

/// Reads tokens `(B, T)`; returns the state `(B, T, D)` that each round begins to refine, in order.
pub(super) fn round_starts(model: &dyn Model, map: &dyn FixedPointModel, tokens: &Tensor) -> Result<Vec<Tensor>> {
    let mut tap = Tap::on(&[map.start_tap()]);
    model.logits(tokens, &mut tap)?;
    Ok(tap.found().iter().map(|(_, state)| state.clone()).collect())
}
