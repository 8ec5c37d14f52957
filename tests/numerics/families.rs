//! Tests properties that every family of models must have, at tiny sizes. A new family in the list is tested
//! automatically.

use candle_core::{Device, Tensor};
use orrery_lab::{
    models::ModelSpec,
    nn::{Result, Tap, host},
};

use crate::properties::{VOCAB, batch, before, edit, finite_gradients, ids};

#[test]
fn sizes_are_read_back_as_they_were_stored() {
    for spec in ModelSpec::tiny() {
        let stored = serde_json::to_string(&spec).unwrap();
        assert_eq!(serde_json::from_str::<ModelSpec>(&stored).unwrap(), spec, "{stored}");
    }
}

/// A changed token must not change the logits before it. Taggers are excluded, because they read whole sequences.
#[test]
fn a_later_token_changes_nothing_before_it() -> Result<()> {
    let tokens = ids(7, 19);
    for spec in ModelSpec::tiny() {
        let model = spec.build(VOCAB, 3, &Device::Cpu)?;
        let capabilities = model.capabilities();
        let Some(reader) = capabilities.token_model.filter(|_| capabilities.sequence_tagger.is_none()) else {
            continue;
        };
        for at in [1, 6, 11, 18] {
            let deltas = edit(reader, &tokens, at)?;
            assert!(before(&deltas, at) < 1e-5, "{spec:?} hears of token {at} before it: {deltas:?}");
            assert!(deltas[at..].iter().any(|d| *d > 0.0), "{spec:?} does not hear of token {at}: {deltas:?}");
        }
    }
    Ok(())
}

#[test]
fn every_family_has_finite_gradients() -> Result<()> {
    for spec in ModelSpec::tiny() {
        let mut model = spec.build(VOCAB, 1, &Device::Cpu)?;
        if model.capabilities_mut().local_learning.is_none() {
            finite_gradients(model.as_ref(), &batch(3, 2, 19)?, &format!("{spec:?}"))?;
        }
    }
    Ok(())
}

#[test]
fn attention_layers_are_what_a_forward_pass_offers() -> Result<()> {
    let tokens = batch(1, 2, 19)?.tokens;
    for spec in ModelSpec::tiny() {
        let model = spec.build(VOCAB, 3, &Device::Cpu)?;
        let layers = model.capabilities().attention_layers;
        if let ModelSpec::FastSlow(_)
        | ModelSpec::Dense(_)
        | ModelSpec::PlainGpt(_)
        | ModelSpec::AlibiGpt(_)
        | ModelSpec::OdeFlow(_) = spec
        {
            assert!(!layers.is_empty(), "{spec:?} offers no attention");
        }
        let mut tap = Tap::on(&[""]);
        if let Some(model) = model.capabilities().token_model {
            model.logits(&tokens, &mut tap)?;
        }
        let tapped = tap.recorded().iter().filter(|(path, _)| path.ends_with(".attn.weights"));
        let (paths, maps): (Vec<&str>, Vec<&Tensor>) = tapped.map(|(path, map)| (path.as_str(), map)).unzip();
        assert_eq!(paths, layers.iter().map(|l| l.tap_path()).collect::<Vec<_>>(), "{spec:?}");
        for (layer, weights) in layers.iter().zip(maps) {
            let (_, _, rows, cols) = weights.dims4()?;
            assert_eq!([rows, cols], [19usize.div_ceil(layer.tokens_per_position); 2], "{}", layer.path);
            let values = host::to_f32(weights)?;
            for (row, values) in values.chunks(cols).enumerate() {
                let t = row % rows;
                let first = t + 1 - (t + 1).min(layer.window.unwrap_or(usize::MAX));
                let seen = |at: usize| at >= first && at <= t;
                let outside: f32 = values.iter().enumerate().filter(|(at, _)| !seen(*at)).map(|(_, w)| w).sum();
                assert_eq!(outside, 0.0, "{}: query {t} sees past its window", layer.path);
            }
        }
    }
    Ok(())
}

#[test]
fn a_spec_builds_the_same_model_again() -> Result<()> {
    for spec in ModelSpec::tiny() {
        let model = spec.build(VOCAB, 3, &Device::Cpu)?;
        let again = model.spec().build(VOCAB, 3, &Device::Cpu)?;
        assert_eq!(model.spec(), again.spec());
        for ((name, a), (other, b)) in model.params().iter().zip(again.params().iter()) {
            assert_eq!((name, host::to_f32(a)?), (other, host::to_f32(b)?));
        }
        assert_eq!(model.params().iter().count(), again.params().iter().count());
    }
    Ok(())
}

#[test]
fn runtime_params_are_what_can_be_set() -> Result<()> {
    for spec in ModelSpec::tiny() {
        let mut model = spec.build(VOCAB, 3, &Device::Cpu)?;
        for param in model.runtime_params() {
            assert!(model.set_runtime_param(param.name, 0.25), "{} of {spec:?}", param.name);
        }
        assert!(model.runtime_params().iter().all(|p| p.value == 0.25), "{spec:?}: {:?}", model.runtime_params());
        assert!(!model.set_runtime_param("no such parameter", 1.0));
    }
    Ok(())
}

/// If an evaluation tracked a weight, it would keep every activation in memory for a backward pass.
#[test]
fn evaluating_records_no_graph() -> Result<()> {
    for spec in ModelSpec::tiny() {
        let mut model = spec.build(VOCAB, 3, &Device::Cpu)?;
        let batch = batch(1, 2, 19)?;
        if model.capabilities_mut().local_learning.is_none() {
            assert!(model.loss(&batch)?.total.track_op(), "{spec:?} learns");
        }
        assert!(!model.evaluate(&batch)?.track_op(), "{spec:?} records a graph to evaluate");
        if let Some(model) = model.capabilities().token_model {
            assert!(!model.logits(&batch.tokens, &mut Tap::off())?.track_op(), "{spec:?} records a graph for logits");
        }
    }
    Ok(())
}
