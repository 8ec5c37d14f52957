//! Tests BDH-GPU: parameter counts, strict causality, streaming in comparison with the parallel form, gradients of
//! every variant.

use candle_core::{Device, IndexOp, Tensor};
use orrery_lab::{
    labs,
    models::{
        Model, Trainable,
        bdh::{Bdh, BdhSpec, Form, Position},
        capabilities::{State, SynapseModel},
    },
    nn::{Batch, Tap, host},
    trainer::Run,
};
use proptest::prelude::*;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::op_checks::{distance, largest};

pub(crate) type Outcome = Result<(), Box<dyn std::error::Error>>;

pub(crate) const VOCAB: usize = 31;

pub(crate) fn small() -> BdhSpec {
    BdhSpec { d_model: 16, heads: 2, neurons: 96, layers: 3, ..BdhSpec::default() }
}

pub(crate) fn variants() -> Vec<BdhSpec> {
    let positions = [Position::Rope, Position::Alibi, Position::Both, Position::Nothing];
    let mut all: Vec<_> = positions.into_iter().map(|position| BdhSpec { position, ..small() }).collect();
    all.push(BdhSpec { form: Form::Paper, ..small() });
    all.push(BdhSpec { form: Form::Paper, position: Position::Both, ..small() });
    all.push(BdhSpec { form: Form::Both, ..small() });
    all.push(BdhSpec { form: Form::FinalNorm, ..small() });
    all.push(BdhSpec { through_past: false, ..small() });
    all.push(BdhSpec { gated: true, ..small() });
    all
}

pub(crate) fn model(spec: &BdhSpec) -> candle_core::Result<Bdh> {
    let model = Bdh::new(spec, VOCAB, 3, &Device::Cpu)?;
    // the weights are far from the small initial ones, so that differences become visible
    for (_, var) in model.params().iter() {
        var.set(&(var.as_tensor() * 8.0)?.detach())?;
    }
    Ok(model)
}

pub(crate) fn tokens(seed: u64, rows: usize, t: usize) -> candle_core::Result<Tensor> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let ids: Vec<u32> = (0..rows * t).map(|_| rng.random_range(0..VOCAB as u32)).collect();
    Tensor::from_vec(ids, (rows, t), &Device::Cpu)
}

#[test]
fn counts_are_the_published_ones() -> Outcome {
    let large = BdhSpec { d_model: 256, neurons: 32768, ..BdhSpec::default() };
    assert_eq!(large.parameters(256), 25_296_896);
    for spec in variants().into_iter().chain([BdhSpec::default()]) {
        assert_eq!(Bdh::new(&spec, VOCAB, 0, &Device::Cpu)?.params().count(), spec.parameters(VOCAB), "{spec:?}");
    }
    Ok(())
}

#[test]
fn sizes_that_do_not_fit_are_named() {
    let odd = BdhSpec { neurons: 97, ..small() };
    assert!(Bdh::new(&odd, VOCAB, 0, &Device::Cpu).err().unwrap().to_string().contains("multiple of 2"));
    let odd = BdhSpec { neurons: 98, ..small() };
    assert!(Bdh::new(&odd, VOCAB, 0, &Device::Cpu).err().unwrap().to_string().contains("even"));
    let none = BdhSpec { layers: 0, ..small() };
    assert!(Bdh::new(&none, VOCAB, 0, &Device::Cpu).err().unwrap().to_string().contains("layers 0"));
}

#[test]
fn the_composed_and_the_fused_path_agree() -> Outcome {
    for spec in variants() {
        let (model, tokens) = (model(&spec)?, tokens(1, 2, 70)?);
        let seen = model.logits(&tokens, &mut Tap::on(&["layers."]))?;
        let off = distance(&model.logits(&tokens, &mut Tap::off())?, &seen)?;
        assert!(off < 1e-4, "{spec:?}: {off:e}");
    }
    Ok(())
}

#[test]
fn a_later_token_changes_nothing_before_it() -> Outcome {
    for spec in variants() {
        let (model, at) = (model(&spec)?, 23);
        let first = tokens(1, 1, 40)?;
        let other = Tensor::cat(&[first.narrow(1, 0, at)?, tokens(2, 1, 40 - at)?], 1)?;
        let (a, b) = (model.logits(&first, &mut Tap::off())?, model.logits(&other, &mut Tap::off())?);
        let before = |x: &Tensor| host::to_f32(&x.narrow(1, 0, at)?);
        assert_eq!(before(&a)?, before(&b)?, "{spec:?}");
        assert!(distance(&a.i((.., at..))?, &b.i((.., at..))?)? > 1e-3, "{spec:?}: the edit does nothing");
    }
    Ok(())
}

#[test]
fn every_weight_of_every_variant_learns() -> Outcome {
    for spec in variants() {
        let model = Bdh::new(&spec, VOCAB, 3, &Device::Cpu)?;
        let batch = Batch { tokens: tokens(1, 2, 20)?, targets: tokens(2, 2, 20)? };
        let grads = model.loss(&batch)?.total.backward()?;
        for (name, var) in model.params().iter() {
            let grad = host::to_f64(grads.get(var).ok_or(format!("{name} of {spec:?} has no gradient"))?)?;
            let size = largest(grad);
            assert!(size > 0.0 && size.is_finite(), "{name} of {spec:?}: {size}");
        }
    }
    Ok(())
}

/// The form without norms, with weights of a size at which the second layer neither vanishes nor explodes.
pub(crate) fn normfree() -> BdhSpec {
    BdhSpec { form: Form::Normfree, init_std: 0.03, layers: 2, ..small() }
}

#[test]
fn without_norms_every_path_is_the_same_function() -> Outcome {
    for position in [Position::Rope, Position::Alibi, Position::Both, Position::Nothing] {
        let spec = BdhSpec { position, ..normfree() };
        streams(&spec, 2, &[1, 7, 1, 20])?;
        let (model, at) = (model(&spec)?, 13);
        let first = tokens(1, 1, 24)?;
        let other = Tensor::cat(&[first.narrow(1, 0, at)?, tokens(2, 1, 24 - at)?], 1)?;
        let (a, b) = (model.logits(&first, &mut Tap::off())?, model.logits(&other, &mut Tap::off())?);
        let before = |x: &Tensor| host::to_f32(&x.narrow(1, 0, at)?);
        assert_eq!(before(&a)?, before(&b)?, "{position:?}");
        assert!(distance(&a.i((.., at..))?, &b.i((.., at..))?)? > 0.0, "{position:?}: the edit does nothing");
    }
    Ok(())
}

/// A layer without norms is a homogeneous function of degree four: twice as large embeddings give a sixteen times
/// larger y E in the first layer.
#[test]
fn without_norms_a_layer_is_homogeneous_of_degree_four() -> Outcome {
    let spec = BdhSpec { layers: 1, ..normfree() };
    let (model, ids) = (model(&spec)?, tokens(3, 1, 20)?);
    let small = host::to_f64(&model.logits(&ids, &mut Tap::off())?)?;
    let embed = model.params().get("embed.weight").ok_or("no embedding")?;
    embed.set(&(embed.as_tensor() * 2.0)?.detach())?;
    let large = host::to_f64(&model.logits(&ids, &mut Tap::off())?)?;
    let most = largest(large.iter().copied());
    assert!(most > 1e-6, "{most}");
    for (small, large) in small.iter().zip(&large) {
        assert!((16.0 * small - large).abs() < 1e-4 * most, "{small} and {large}");
    }
    Ok(())
}

#[test]
fn initial_weights_are_as_large_as_asked() -> Outcome {
    let [one, three] = [0.1, 0.3].map(|init_std| Bdh::new(&BdhSpec { init_std, ..small() }, VOCAB, 3, &Device::Cpu));
    let (one, three) = (one?, three?);
    for (name, var) in one.params().iter() {
        let other = three.params().get(name).ok_or("other weights")?;
        assert!(distance(&(var.as_tensor() * 3.0)?, other.as_tensor())? < 1e-5, "{name}");
    }
    for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let said = Bdh::new(&BdhSpec { init_std: wrong, ..small() }, VOCAB, 3, &Device::Cpu).err().ok_or("taken")?;
        assert!(said.to_string().contains("standard deviation above 0"), "{said}");
    }
    Ok(())
}

/// The forms differ in how the second layer uses x of the first, so with one layer they are equal.
#[test]
fn both_residuals_are_the_public_code_in_the_first_layer_alone() -> Outcome {
    let ids = tokens(1, 2, 20)?;
    let logits = |form, layers| model(&BdhSpec { form, layers, ..small() })?.logits(&ids, &mut Tap::off());
    assert!(distance(&logits(Form::Both, 1)?, &logits(Form::Code, 1)?)? < 1e-4);
    for other in [Form::Code, Form::Paper] {
        assert!(distance(&logits(Form::Both, 2)?, &logits(other, 2)?)? > 0.05, "{other:?}");
    }
    Ok(())
}

/// The bits of the training loss at an update.
fn loss_at(model: &mut Bdh, step: u64, batch: &Batch) -> candle_core::Result<u64> {
    model.begin_step(step)?;
    host::scalar(&model.loss(batch)?.total).map(f64::to_bits)
}

#[test]
fn dropout_draws_anew_each_update_and_the_same_again() -> Outcome {
    let batch = Batch { tokens: tokens(1, 2, 20)?, targets: tokens(2, 2, 20)? };
    for spec in variants() {
        let (mut plain, mut with) = (model(&spec)?, model(&BdhSpec { dropout: 0.3, ..spec.clone() })?);
        let first = loss_at(&mut with, 1, &batch)?;
        assert_ne!(first, loss_at(&mut plain, 1, &batch)?, "{spec:?}");
        assert_ne!(first, loss_at(&mut with, 2, &batch)?, "{spec:?}");
        assert_eq!(first, loss_at(&mut with, 1, &batch)?, "{spec:?}");
        // nothing is dropped in evaluation
        let logits = |m: &Bdh| m.logits(&batch.tokens, &mut Tap::off());
        assert_eq!(distance(&logits(&plain)?, &logits(&with)?)?, 0.0);
        assert_eq!(distance(&plain.evaluate(&batch)?, &with.evaluate(&batch)?)?, 0.0);
    }
    for wrong in [1.0, -0.1, f64::NAN] {
        let words = Bdh::new(&BdhSpec { dropout: wrong, ..small() }, VOCAB, 0, &Device::Cpu).err().ok_or("taken")?;
        assert!(words.to_string().contains("dropout"), "{words}");
    }
    Ok(())
}

/// The gradient must belong to the loss with the dropout mask of this update.
#[test]
fn gradients_go_through_what_dropout_keeps() -> Outcome {
    let batch = Batch { tokens: tokens(1, 2, 20)?, targets: tokens(2, 2, 20)? };
    let mut model = model(&BdhSpec { dropout: 0.4, ..small() })?;
    model.begin_step(7)?;
    let grads = model.loss(&batch)?.total.backward()?;
    for name in ["encoder", "encoder_v", "decoder", "embed.weight"] {
        let var = model.params().get(name).ok_or("no such weight")?;
        let grad = grads.get(var).ok_or("no gradient")?.clone();
        let here = var.as_tensor().copy()?;
        // in the direction of the gradient, the slope equals the gradient's norm
        let length = host::scalar(&grad.sqr()?.sum_all()?)?.sqrt();
        let at = |step: f64| -> candle_core::Result<f64> {
            var.set(&(&here + (&grad * (step / length))?)?)?;
            host::scalar(&model.loss(&batch)?.total)
        };
        let step = 5e-4;
        let slope = (at(step)? - at(-step)?) / (2.0 * step);
        var.set(&here)?;
        assert!((slope - length).abs() < 0.02 * length, "{name}: {slope} along a gradient of {length}");
    }
    Ok(())
}

#[test]
fn a_run_with_dropout_goes_on_bit_for_bit() -> Outcome {
    let lab = labs::find("synapses").ok_or("the lab is gone")?;
    let (knobs, mut config) = ((lab.knobs)(), lab.config(None)?);
    let small = [("model.neurons", "128"), ("model.d_model", "16"), ("train.window", "32"), ("train.batch", "2")];
    for (key, value) in small.iter().chain(&[("model.dropout", "0.2"), ("run.device", "cpu"), ("train.steps", "8")]) {
        config.set_text(&knobs, key, value)?;
    }
    let losses = |run: &mut Run| -> Result<Vec<u64>, Box<dyn std::error::Error>> {
        let mut all = vec![];
        for _ in 0..4 {
            let stats = run.update(0)?;
            run.finish_step()?;
            all.push(stats.scalars.iter().find(|(c, _)| c.as_str() == "loss/train").ok_or("no loss")?.1.to_bits());
        }
        Ok(all)
    };
    let mut whole = Run::open((lab.plan)(&config)?)?;
    losses(&mut whole)?;
    let mut kept = whole.checkpoint();
    for v in &mut kept.variants {
        for (_, t) in v.weights.iter_mut().chain(&mut v.moments) {
            *t = t.copy()?;
        }
    }
    let rest = losses(&mut whole)?;
    let mut again = Run::open((lab.plan)(&config)?)?;
    again.restore(&kept)?;
    assert_eq!(losses(&mut again)?, rest);
    Ok(())
}

/// Checks that reading in chunks of any length, including one token, gives the logits of the whole text.
fn streams(spec: &BdhSpec, rows: usize, chunks: &[usize]) -> Outcome {
    let model = model(spec)?;
    let all = tokens(5, rows, chunks.iter().sum())?;
    let whole = model.logits(&all, &mut Tap::off())?;
    let (mut state, mut parts, mut from) = (State::empty(&spec.shape(), rows, &Device::Cpu)?, vec![], 0);
    for &n in chunks {
        parts.push(model.read(&all.narrow(1, from, n)?.contiguous()?, &mut state, &mut Tap::off())?);
        from += n;
    }
    assert_eq!(state.at, from);
    let size = largest(host::to_f64(&whole)?).max(1.0);
    let off = distance(&whole, &Tensor::cat(&parts, 1)?)?;
    assert!(off < 1e-4 * size, "{spec:?} in {chunks:?}: {off:e} of {size}");
    Ok(())
}

#[test]
fn streaming_is_the_parallel_form() -> Outcome {
    for spec in variants() {
        streams(&spec, 2, &[1, 1, 5, 40, 1, 17])?;
        streams(&spec, 1, &[1; 24])?;
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn streaming_in_any_chunks_equals_the_parallel_form(
        chunks in prop::collection::vec(1usize..30, 1..6), which in 0usize..8, rows in 1usize..3,
    ) {
        streams(&variants()[which], rows, &chunks).unwrap();
    }
}

#[test]
fn the_lens_after_some_layers_is_the_model_of_so_many() -> Outcome {
    let spec = small();
    let (three, tokens) = (model(&spec)?, tokens(9, 1, 25)?);
    let mut tap = Tap::on(&["layers."]);
    three.logits(&tokens, &mut tap)?;
    for layers in [1, 2] {
        let fewer = model(&BdhSpec { layers, ..spec.clone() })?;
        let v = tap.get(&format!("layers.{layers}.v")).ok_or("no state")?;
        let off = distance(&three.head(v)?, &fewer.logits(&tokens, &mut Tap::off())?)?;
        assert!(off < 1e-4, "{layers} layers: {off:e}");
    }
    Ok(())
}
