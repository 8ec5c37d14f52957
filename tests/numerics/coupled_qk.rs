//! Tests properties of every variant of the coupled query-key model that hold for all weights: published parameter
//! counts, zero steps as the identity, causality, and reading token by token.

use std::collections::BTreeSet;

use candle_core::{DType, Device, Tensor};
use orrery_lab::{
    models::{
        Model, Trainable,
        capabilities::QueryKeyDynamics,
        coupled_qk::{CoupledQk, CoupledQkSpec, EvolvedLayers, QkVariant},
    },
    nn::{
        AdamW, Batch, Params, Result, Tap,
        attention::{Evolution, EvolutionSpec},
        fused::GradAccumulator,
        host,
        optimiser::AdamWSpec,
    },
};
use proptest::prelude::*;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::{
    op_checks::apart,
    properties::{VOCAB, ids},
};

fn small(variant: QkVariant) -> CoupledQkSpec {
    CoupledQkSpec { d_model: 16, hidden: 24, layers: 3, positions: 40, variant, ..CoupledQkSpec::default() }
}

fn build(spec: &CoupledQkSpec) -> Result<CoupledQk> {
    CoupledQk::new(spec, VOCAB, 5, &Device::Cpu)
}

fn row(ids: &[u32]) -> Result<Tensor> {
    Tensor::from_slice(ids, (1, ids.len()), &Device::Cpu)
}

fn logits(model: &CoupledQk, ids: &[u32]) -> Result<Vec<f32>> {
    host::to_f32(&model.logits(&row(ids)?, &mut Tap::off())?)
}

/// Gives random values to the maps of linear mixing and of the invertible coupling, which are zero before training.
fn with_drawn_maps(model: &CoupledQk) -> Result<()> {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    for (name, map) in model.params().iter() {
        if ["a", "b", "s", "t", "u", "w"].iter().any(|map| name.ends_with(&format!(".attn.{map}.weight"))) {
            let drawn: Vec<f32> = (0..map.elem_count()).map(|_| rng.random_range(-0.1..0.1)).collect();
            model.params().load(name, &Tensor::from_vec(drawn, map.shape(), &Device::Cpu)?)?;
        }
    }
    Ok(())
}

/// Gives each head a different step length.
fn with_uneven_steps(model: &CoupledQk) -> Result<()> {
    for layer in 0..model.layers() {
        let name = format!("layers.{layer}.attn.tau");
        if let Some(tau) = model.params().get(&name) {
            let heads = tau.elem_count();
            let uneven: Vec<f32> = (0..heads).map(|h| -1.5 + 0.4 * h as f32).collect();
            model.params().load(&name, &Tensor::new(uneven, &Device::Cpu)?)?;
        }
    }
    Ok(())
}

/// The counts are those of the paper's Table 11. That of the MLP follows from its description, and the simpler
/// couplings add two or four maps of a head's width per layer.
#[test]
fn parameter_counts_are_the_papers() -> Result<()> {
    use QkVariant::*;
    let wanted = [
        (Standard, 60_343_296),
        (Gqa, 57_197_568),
        (Diff, 60_343_360),
        (Mlp, 60_408_832),
        (Euler, 60_408_896),
        (Hamiltonian, 60_408_896),
        (DiffEuler, 60_408_960),
        (DiffHamiltonian, 60_408_960),
        (LinearMixing, 60_408_832),
        (SharedMlp, 60_408_832),
        (Invertible, 60_474_368),
    ];
    assert_eq!(wanted.map(|(variant, _)| variant), QkVariant::ALL);
    for (variant, parameters) in wanted {
        let spec = CoupledQkSpec { variant, ..CoupledQkSpec::paper() };
        assert_eq!(spec.parameters(50_257), parameters, "{variant:?}");
    }
    Ok(())
}

#[test]
fn names_are_unique_and_parsed_back() {
    let labels: BTreeSet<&str> = QkVariant::ALL.iter().map(|variant| variant.label()).collect();
    assert_eq!(labels.len(), QkVariant::ALL.len(), "{labels:?}");
    for variant in QkVariant::ALL {
        assert_eq!(QkVariant::from_id(variant.id()), Some(variant));
        let stored = serde_json::to_value(variant).unwrap();
        assert_eq!(stored, variant.id(), "a run folder has the name of the setting");
        assert_eq!(serde_json::from_value::<QkVariant>(stored).unwrap(), variant);
    }
}

/// If a variant were not connected to its own computation, its logits would equal another variant's.
#[test]
fn no_variant_computes_what_another_does() -> Result<()> {
    let tokens = ids(9, 17);
    let mut all: Vec<(QkVariant, Vec<f32>)> = vec![];
    for variant in QkVariant::ALL {
        let spec = small(variant);
        assert_eq!(spec.evolution(0).is_some(), variant.evolves(), "{variant:?}");
        let model = build(&spec)?;
        with_uneven_steps(&model)?;
        with_drawn_maps(&model)?;
        let found = logits(&model, &tokens)?;
        let twin = all.iter().find(|(_, other)| *other == found).map(|(other, _)| other);
        assert_eq!(twin, None, "{variant:?} computes the same");
        all.push((variant, found));
    }
    Ok(())
}

/// The parameter count that is computed from the settings equals that of the built model.
#[test]
fn counts_are_those_of_what_is_built() -> Result<()> {
    for variant in QkVariant::ALL {
        for rotary in [false, true] {
            for evolved in [EvolvedLayers::All, EvolvedLayers::FirstHalf, EvolvedLayers::LastHalf] {
                let spec = CoupledQkSpec { rotary, evolved, ..small(variant) };
                assert_eq!(build(&spec)?.params().count(), spec.parameters(VOCAB), "{spec:?}");
            }
        }
    }
    Ok(())
}

/// With zero steps, logits and weights after three updates equal those of standard attention.
#[test]
fn zero_steps_equal_standard_attention_bit_for_bit() -> Result<()> {
    let trained = |spec: &CoupledQkSpec| -> Result<Vec<f32>> {
        let model = build(spec)?;
        let mut adam = AdamW::new(model.params(), AdamWSpec::default())?;
        for step in 0..3 {
            let all = ids(step, 2 * 13 + 1);
            let batch = Batch::from_ids(&all[..26], &all[1..], 2, 13, &Device::Cpu)?;
            let accumulator = GradAccumulator::default();
            let loss = model.accumulated_loss(&batch, &accumulator)?;
            adam.step(model.params(), &accumulator.backward(&loss.total)?, 1e-2)?;
        }
        logits(&model, &ids(9, 17))
    };
    for rotary in [false, true] {
        for (variant, like) in [
            (QkVariant::Euler, QkVariant::Standard),
            (QkVariant::Hamiltonian, QkVariant::Standard),
            (QkVariant::DiffEuler, QkVariant::Diff),
            (QkVariant::DiffHamiltonian, QkVariant::Diff),
            (QkVariant::Invertible, QkVariant::Standard),
        ] {
            let still = CoupledQkSpec { steps: 0, rotary, ..small(variant) };
            assert_eq!(trained(&still)?, trained(&CoupledQkSpec { rotary, ..small(like) })?, "{variant:?}");
            assert_ne!(trained(&CoupledQkSpec { steps: 1, ..still.clone() })?, trained(&still)?, "{variant:?}");
        }
    }
    Ok(())
}

#[test]
fn zero_maps_are_standard_attention_bit_for_bit() -> Result<()> {
    let tokens = ids(9, 17);
    for rotary in [false, true] {
        let standard = logits(&build(&CoupledQkSpec { rotary, ..small(QkVariant::Standard) })?, &tokens)?;
        for variant in [QkVariant::LinearMixing, QkVariant::Invertible] {
            let model = build(&CoupledQkSpec { rotary, ..small(variant) })?;
            assert_eq!(logits(&model, &tokens)?, standard, "{variant:?}");
            with_drawn_maps(&model)?;
            assert_ne!(logits(&model, &tokens)?, standard, "{variant:?}");
        }
    }
    Ok(())
}

/// For any sizes, the inverse undoes the invertible coupling. Each step multiplies by an exponential, so many steps
/// with large maps would amplify rounding errors; the maps are therefore smaller for more channels.
#[test]
fn the_invertible_coupling_is_undone_by_its_inverse() -> Result<()> {
    for (heads, head_dim, steps) in [(1, 3, 1), (4, 8, 3), (2, 16, 7)] {
        let mut rng = ChaCha8Rng::seed_from_u64(steps as u64);
        let mut params = Params::new(1, &Device::Cpu, DType::F32);
        let spec = EvolutionSpec::Invertible { steps };
        let Some(evolution) = Evolution::new(&mut params, "attn", (heads, head_dim), spec)? else {
            panic!("{steps} steps are not the identity")
        };
        let mut drawn = |n: usize, most: f32| -> Vec<f32> { (0..n).map(|_| rng.random_range(-most..most)).collect() };
        for name in ["s", "t", "u", "w"] {
            let most = 0.3 / head_dim as f32;
            let map = Tensor::from_vec(drawn(head_dim * head_dim, most), (head_dim, head_dim), &Device::Cpu)?;
            params.load(&format!("attn.{name}.weight"), &map)?;
        }
        let shape = (2, 5, 3 * heads * head_dim);
        let qkv = Tensor::from_vec(drawn(shape.0 * shape.1 * shape.2, 1.0), shape, &Device::Cpu)?;
        let (start, moved) = (host::to_f32(&qkv)?, evolution.evolve(&qkv)?);
        let back = host::to_f32(&evolution.invert(&moved)?)?;
        assert!(apart(&host::to_f32(&moved)?, &start) > 1e-2, "the coupling moves");
        let off = apart(&back, &start);
        assert!(off < 1e-5, "{steps} steps: {off:e}");
    }
    let mut params = Params::new(1, &Device::Cpu, DType::F32);
    let mixing = Evolution::new(&mut params, "attn", (1, 2), EvolutionSpec::LinearMixing)?;
    let qkv = Tensor::zeros((1, 1, 6), DType::F32, &Device::Cpu)?;
    assert!(mixing.is_some_and(|m| m.invert(&qkv).is_err()));
    Ok(())
}

#[test]
fn a_half_of_the_layers_evolves() -> Result<()> {
    for (evolved, wanted) in
        [(EvolvedLayers::FirstHalf, [true, false, false]), (EvolvedLayers::LastHalf, [false, true, true])]
    {
        let model = build(&CoupledQkSpec { evolved, ..small(QkVariant::Euler) })?;
        let found = [0, 1, 2].map(|layer| QueryKeyDynamics::layer(&model, layer).unwrap().is_some());
        assert_eq!(found, wanted);
        let mut tap = Tap::on(&["layers."]);
        model.logits(&row(&ids(1, 9))?, &mut tap)?;
        for (layer, wanted) in wanted.into_iter().enumerate() {
            let tapped = |name: &str| host::to_f32(tap.get(&format!("layers.{layer}.attn.{name}")).unwrap());
            assert_eq!(tapped("q0")? != tapped("q")?, wanted, "layer {layer}");
        }
    }
    Ok(())
}

#[test]
fn sizes_that_do_not_fit_are_named() {
    let refused = |spec: CoupledQkSpec| build(&spec).err().expect("no such model").to_string();
    let odd = CoupledQkSpec { d_model: 20, heads: 4, ..small(QkVariant::Diff) };
    assert!(refused(odd).contains("twice the heads"));
    let still = CoupledQkSpec { dt: 0.0, ..small(QkVariant::Euler) };
    assert!(refused(still).contains("dt = 0"));
    let wide = CoupledQkSpec { d_model: 18, ..small(QkVariant::Standard) };
    assert!(refused(wide).contains("multiple of heads"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    /// For any length, position, variant and kind of position encoding, an edited token changes no bit of the logits
    /// before it.
    #[test]
    fn nothing_before_an_edit_changes(
        which in 0..QkVariant::ALL.len(), rotary in any::<bool>(), len in 2usize..40, place in 0.0f64..1.0, seed in 0u64..1000,
    ) {
        let model = build(&CoupledQkSpec { rotary, ..small(QkVariant::ALL[which]) }).unwrap();
        with_uneven_steps(&model).unwrap();
        with_drawn_maps(&model).unwrap();
        let at = ((len as f64 * place) as usize).min(len - 1);
        let tokens = ids(seed, len);
        let mut edited = tokens.clone();
        edited[at] = (edited[at] + 1) % VOCAB as u32;
        let (a, b) = (logits(&model, &tokens).unwrap(), logits(&model, &edited).unwrap());
        prop_assert_eq!(&a[..at * VOCAB], &b[..at * VOCAB]);
        prop_assert_ne!(&a[at * VOCAB..][..VOCAB], &b[at * VOCAB..][..VOCAB]);
    }

    /// Reading token by token with a cache of keys and values gives the same logits as reading the whole text at once.
    #[test]
    fn reading_token_by_token_is_reading_the_whole(
        which in 0..QkVariant::ALL.len(), rotary in any::<bool>(), len in 1usize..40, seed in 0u64..1000,
    ) {
        let model = build(&CoupledQkSpec { rotary, ..small(QkVariant::ALL[which]) }).unwrap();
        with_uneven_steps(&model).unwrap();
        with_drawn_maps(&model).unwrap();
        let tokens = ids(seed, len);
        let whole = logits(&model, &tokens).unwrap();
        let mut stream = model.stream();
        for (token, wanted) in tokens.iter().zip(whole.chunks(VOCAB)) {
            let found = host::to_f32(&stream.read(&row(&[*token]).unwrap()).unwrap()).unwrap();
            let off = apart(&found, wanted);
            prop_assert!(off < 1e-5, "{off}");
        }
    }
}

#[test]
fn a_text_longer_than_the_positions_is_refused() -> Result<()> {
    for rotary in [false, true] {
        let model = build(&CoupledQkSpec { rotary, positions: 2, ..small(QkVariant::Euler) })?;
        let mut stream = model.stream();
        stream.read(&row(&[1])?)?;
        stream.read(&row(&[2])?)?;
        assert!(stream.read(&row(&[3])?).unwrap_err().to_string().contains("2 tokens were read"));
    }
    Ok(())
}

#[test]
fn gradient_checkpointing_changes_no_bit_of_a_loss_or_gradient() -> Result<()> {
    let (tokens, targets) = (ids(1, 24), ids(2, 24));
    let batch = Batch::from_ids(&tokens, &targets, 2, 12, &Device::Cpu)?;
    for (variant, rotary) in QkVariant::ALL.into_iter().flat_map(|variant| [(variant, false), (variant, true)]) {
        // the loss, then the gradient of each parameter
        let step = |gradient_checkpointing| -> Result<Vec<(String, Vec<f32>)>> {
            let model = build(&CoupledQkSpec { gradient_checkpointing, rotary, ..small(variant) })?;
            with_drawn_maps(&model)?;
            let accumulator = GradAccumulator::default();
            let loss = model.accumulated_loss(&batch, &accumulator)?;
            let grads = accumulator.backward(&loss.total)?;
            let mut found = vec![("loss".to_owned(), host::to_f32(&loss.cross_entropy)?)];
            for (name, variable) in model.params().iter() {
                found.push((name.to_owned(), host::to_f32(grads.get(variable).expect("a gradient"))?));
            }
            Ok(found)
        };
        for (kept, recomputed) in step(false)?.iter().zip(&step(true)?) {
            assert_eq!(kept, recomputed, "{variant:?}, rotary {rotary}");
        }
    }
    Ok(())
}

#[test]
fn a_text_is_classified_before_what_fills_its_window() -> Result<()> {
    for variant in QkVariant::ALL {
        let model = build(&CoupledQkSpec { classes: Some(3), ..small(variant) })?;
        with_drawn_maps(&model)?;
        assert!(model.capabilities().token_model.is_none(), "logits of classes are none of tokens");
        let classifier = model.capabilities().text_classifier.unwrap();
        let text = ids(8, 11);
        let filled = |with: u32| -> Vec<u32> { text.iter().copied().chain([with; 6]).collect() };
        let logits = |tokens: &[u32]| host::to_f32(&classifier.class_logits(&row(tokens)?)?);
        let alone = logits(&text)?;
        assert_eq!(alone.len(), 11 * 3);
        for with in [0, 7] {
            let off = apart(&alone, &logits(&filled(with))?[..alone.len()]);
            assert!(off < 1e-5, "{variant:?}: {off:e}");
        }
    }
    let spec = CoupledQkSpec { classes: Some(5), ..small(QkVariant::Euler) };
    assert_eq!(build(&spec)?.params().count(), spec.parameters(VOCAB));
    assert!(
        build(&CoupledQkSpec { classes: Some(1), ..spec }).err().unwrap().to_string().contains("at least 2 classes")
    );
    Ok(())
}
