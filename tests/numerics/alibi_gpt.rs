//! Tests the transformer that is compared with BDH: its size, causality, gradients, and training on the same batches.

use candle_core::{Device, Tensor};
use orrery_lab::{
    labs,
    models::{
        Carry, Model, ModelSpec, Trainable,
        bdh::BdhSpec,
        gpt::{AlibiGptSpec, Gpt},
    },
    nn::{Batch, Tap, host, optimiser::ClipRule, residual_mixing::ResidualMixing},
    trainer::{Decay, Run},
};

use crate::{
    bdh::{VOCAB, tokens},
    op_checks::{apart, distance},
};

type Outcome = Result<(), Box<dyn std::error::Error>>;

const SPEC: AlibiGptSpec = AlibiGptSpec {
    d_model: 24,
    heads: 3,
    layers: 2,
    residual: ResidualMixing::Fixed,
    window: None,
    carry: None,
    dropout: 0.0,
};

fn model() -> candle_core::Result<Gpt> {
    Gpt::with_alibi(&SPEC, VOCAB, 3, &Device::Cpu)
}

#[test]
fn transformers_match_a_wanted_parameter_count() -> Outcome {
    assert_eq!(model()?.params().count(), SPEC.parameters(VOCAB));
    for residual in [ResidualMixing::Learned, ResidualMixing::Attention] {
        let spec = AlibiGptSpec { residual, ..SPEC };
        let model = Gpt::with_alibi(&spec, VOCAB, 3, &Device::Cpu)?;
        assert_eq!(model.params().count(), spec.parameters(VOCAB), "{residual:?}");
    }
    for (d_model, neurons) in [(64, 2048), (32, 512), (64, 8192), (128, 4096), (256, 32768), (256, 131_072)] {
        let bdh = BdhSpec { d_model, neurons, ..BdhSpec::default() }.parameters(256);
        let like = AlibiGptSpec::with_parameters_near(bdh, 256);
        let off = like.parameters(256) as f64 / bdh as f64 - 1.0;
        assert!(off.abs() < 0.05, "{like:?}: {off:.3} off {bdh}");
        assert!(like.d_model.is_multiple_of(like.heads), "{like:?}");
        assert!((5..=64).contains(&(like.d_model / like.layers)), "{like:?}");
    }
    Ok(())
}

#[test]
fn alibi_attention_is_causal_and_depends_on_distance() -> Outcome {
    let (model, at) = (model()?, 23);
    let first = tokens(1, 1, 40)?;
    let other = Tensor::cat(&[first.narrow(1, 0, at)?, tokens(2, 1, 40 - at)?], 1)?;
    let (a, b) = (model.logits(&first, &mut Tap::off())?, model.logits(&other, &mut Tap::off())?);
    let before = |x: &Tensor| host::to_f32(&x.narrow(1, 0, at)?);
    assert_eq!(before(&a)?, before(&b)?);
    assert_ne!(host::to_f32(&a)?, host::to_f32(&b)?);
    // exchanging two tokens changes the logits, although there are no position embeddings, because ALiBi depends on
    // distance
    let swapped = Tensor::from_slice(&[4u32, 3, 5], (1, 3), &Device::Cpu)?;
    let straight = Tensor::from_slice(&[3u32, 4, 5], (1, 3), &Device::Cpu)?;
    let last = |x: &Tensor| host::to_f32(&model.logits(x, &mut Tap::off())?.narrow(1, 2, 1)?);
    let off = apart(&last(&swapped)?, &last(&straight)?);
    assert!(off > 1e-4, "{off}");
    Ok(())
}

/// Each layer extends the reach into the past by the window's length minus one.
#[test]
fn a_window_hides_what_is_further_back() -> Outcome {
    let (window, at) = (5, 12);
    let model = Gpt::with_alibi(&AlibiGptSpec { window: Some(window), ..SPEC }, VOCAB, 3, &Device::Cpu)?;
    assert!(model.capabilities().attention_layers.iter().all(|layer| layer.window == Some(window)));
    let first = tokens(1, 1, 40)?;
    let others = first.narrow(1, 0, at)?.to_vec2::<u32>()?.concat().into_iter().map(|id| (id + 1) % VOCAB as u32);
    let others = Tensor::from_vec(others.collect::<Vec<_>>(), (1, at), &Device::Cpu)?;
    let changed = Tensor::cat(&[others, first.narrow(1, at, 40 - at)?], 1)?;
    let [a, b] = [&first, &changed].map(|ids| model.logits(ids, &mut Tap::off()));
    let (a, b) = (a?, b?);
    let hidden_from = at + SPEC.layers * (window - 1);
    let part = |x: &Tensor, from: usize, len: usize| host::to_f32(&x.narrow(1, from, len)?);
    assert_eq!(part(&a, hidden_from, 40 - hidden_from)?, part(&b, hidden_from, 40 - hidden_from)?);
    assert_ne!(part(&a, hidden_from - 1, 1)?, part(&b, hidden_from - 1, 1)?);
    let wide = Gpt::with_alibi(&AlibiGptSpec { window: Some(40), ..SPEC }, VOCAB, 3, &Device::Cpu)?;
    assert_eq!(
        host::to_f32(&wide.logits(&first, &mut Tap::off())?)?,
        host::to_f32(&self::model()?.logits(&first, &mut Tap::off())?)?
    );
    let refused = Gpt::with_alibi(&AlibiGptSpec { window: Some(0), ..SPEC }, VOCAB, 3, &Device::Cpu).err();
    assert!(refused.ok_or("it took 0")?.to_string().contains("sees nothing"));
    let carry = Some(Carry { rows: 2, every: 4 });
    let refused = Gpt::with_alibi(&AlibiGptSpec { carry, ..SPEC }, VOCAB, 3, &Device::Cpu).err();
    assert!(refused.ok_or("it took no window")?.to_string().contains("needs an attention window"));
    Ok(())
}

/// Learned mixing weights start as the plain residual stream, and both mixers are causal.
#[test]
fn mixed_residuals_are_causal_and_learned_ones_begin_as_the_stream() -> Outcome {
    let (first, at) = (tokens(1, 1, 40)?, 23);
    let other = Tensor::cat(&[first.narrow(1, 0, at)?, tokens(2, 1, 40 - at)?], 1)?;
    let plain = model()?.logits(&first, &mut Tap::off())?;
    for residual in [ResidualMixing::Learned, ResidualMixing::Attention] {
        let model = Gpt::with_alibi(&AlibiGptSpec { residual, ..SPEC }, VOCAB, 3, &Device::Cpu)?;
        let [a, b] = [&first, &other].map(|ids| model.logits(ids, &mut Tap::off()));
        let (a, b) = (a?, b?);
        let before = |x: &Tensor| host::to_f32(&x.narrow(1, 0, at)?);
        assert_eq!(before(&a)?, before(&b)?, "{residual:?}");
        let off = distance(&a, &plain)?;
        assert!(off.is_finite(), "{residual:?}");
        assert_eq!(off < 1e-4, residual == ResidualMixing::Learned, "{residual:?} is {off:e} from the stream");
    }
    Ok(())
}

#[test]
fn a_tapped_pass_is_the_same_and_every_weight_learns() -> Outcome {
    let model = model()?;
    let ids = tokens(1, 2, 30)?;
    let mut tap = Tap::on(&["layers."]);
    let (seen, free) = (model.logits(&ids, &mut tap)?, model.logits(&ids, &mut Tap::off())?);
    let off = distance(&seen, &free)?;
    assert!(off < 1e-4, "{off:e}");
    let batch = Batch { tokens: ids, targets: tokens(2, 2, 30)? };
    let grads = model.loss(&batch)?.total.backward()?;
    for (name, var) in model.params().iter() {
        let grad = host::to_f64(grads.get(var).ok_or(format!("{name} has no gradient"))?)?;
        // single entries may be zero: softmax cancels what is added to every key, so a key bias has no gradient
        assert!(grad.iter().all(|g| g.is_finite()) && grad.iter().any(|g| *g != 0.0), "{name}");
    }
    Ok(())
}

/// Dropout masks differ between updates, are reproducible, and are not used in evaluation.
#[test]
fn dropout_is_in_training_alone_and_every_weight_learns_by_it() -> Outcome {
    for (carry, window) in [(None, None), (Some(Carry { rows: 2, every: 1 }), Some(30))] {
        let build = |dropout| Gpt::with_alibi(&AlibiGptSpec { dropout, carry, window, ..SPEC }, VOCAB, 3, &Device::Cpu);
        let (mut model, mut plain) = (build(0.3)?, build(0.0)?);
        let batch = Batch { tokens: tokens(1, 2, 30)?, targets: tokens(2, 2, 30)? };
        let mut loss_at = |update| -> candle_core::Result<f64> {
            model.begin_step(update)?;
            host::scalar(&model.loss(&batch)?.total)
        };
        let [first, second, again] = [loss_at(1)?, loss_at(2)?, loss_at(1)?];
        assert!(first == again && first != second, "{first}, {second}, {again}");
        assert_eq!(host::scalar(&model.evaluate(&batch)?)?, host::scalar(&plain.evaluate(&batch)?)?);
        let grads = model.loss(&batch)?.total.backward()?;
        for (name, var) in model.params().iter().filter(|(name, _)| !name.starts_with("carried.")) {
            let grad = host::to_f64(grads.get(var).ok_or(format!("{name} has no gradient"))?)?;
            assert!(grad.iter().all(|g| g.is_finite()) && grad.iter().any(|g| *g != 0.0), "{name}");
        }
        // with a tiny dropout rate, the loss equals that of the model without dropout
        let mut hardly = build(1e-9)?;
        hardly.begin_step(1)?;
        plain.begin_step(1)?;
        let [a, b] = [host::scalar(&hardly.loss(&batch)?.total)?, host::scalar(&plain.loss(&batch)?.total)?];
        assert!((a - b).abs() < 1e-5 * b, "{a} is not {b}");
    }
    let refused = Gpt::with_alibi(&AlibiGptSpec { dropout: 1.0, ..SPEC }, VOCAB, 3, &Device::Cpu).err();
    assert!(refused.ok_or("it took 1")?.to_string().contains("less than 1"));
    Ok(())
}

#[test]
fn the_lab_trains_both_on_the_same_batches() -> Outcome {
    let lab = labs::find("synapses").ok_or("the lab is gone")?;
    let (knobs, mut config) = ((lab.knobs)(), lab.config(None)?);
    for (key, value) in [
        ("variants.baseline", "true"),
        ("model.neurons", "256"),
        ("model.d_model", "16"),
        ("train.window", "32"),
        ("run.device", "cpu"),
    ] {
        config.set_text(&knobs, key, value)?;
    }
    let plan = (lab.plan)(&config)?;
    assert!(matches!(plan.variants[1].model, ModelSpec::AlibiGpt(_)));
    assert_eq!(plan.variants[0].seed, plan.variants[1].seed, "equal seeds see the same batches");
    let probes = plan.probes.clone();
    let mut run = Run::open(plan)?;
    let sizes = run.info(1, None).variants.iter().map(|v| v.params as f64).collect::<Vec<_>>();
    assert!((sizes[1] / sizes[0] - 1.0).abs() < 0.05, "{sizes:?}");
    for _ in 0..2 {
        for variant in 0..2 {
            run.update(variant)?;
        }
        run.finish_step().unwrap();
    }
    // the scheduled probes must not fail for the transformer
    for cadence in probes {
        run.ask(1, &cadence.probe, &cadence.args).map_err(|e| format!("{}: {e}", cadence.probe))?;
    }
    config.set_text(&knobs, "model.checkpoint", "some.pt")?;
    assert!((lab.plan)(&config).unwrap_err().to_string().contains("`variants.baseline`"));
    Ok(())
}

#[test]
fn the_transformer_carries_keys_and_values_where_bdh_carries_its_state() -> Outcome {
    let lab = labs::find("synapses").ok_or("the lab is gone")?;
    let (knobs, mut config) = ((lab.knobs)(), lab.config(None)?);
    for (key, value) in [("train.batch", "3"), ("variants.cache", "40")] {
        config.set_text(&knobs, key, value)?;
    }
    let refused = (lab.plan)(&config).map(|_| ()).unwrap_err();
    assert_eq!(refused.key(), Some("variants.cache"));
    assert!(refused.to_string().contains("`variants.baseline`"), "{refused}");
    config.set_text(&knobs, "variants.baseline", "true")?;
    let refused = (lab.plan)(&config).map(|_| ()).unwrap_err();
    assert_eq!(refused.key(), Some("variants.cache"));
    assert!(refused.to_string().contains("`train.carry`"), "{refused}");
    config.set_text(&knobs, "train.carry", "6")?;
    config.set_text(&knobs, "variants.dropout", "0.01")?;
    let plan = (lab.plan)(&config)?;
    let ModelSpec::AlibiGpt(spec) = &plan.variants[1].model else { return Err("no transformer".into()) };
    assert_eq!((spec.window, spec.carry, plan.tbptt_steps), (Some(40), Some(Carry { rows: 3, every: 6 }), 6));
    assert_eq!(spec.dropout, 0.01);
    config.set_text(&knobs, "variants.cache", "0")?;
    let plan = (lab.plan)(&config)?;
    let ModelSpec::AlibiGpt(spec) = &plan.variants[1].model else { return Err("no transformer".into()) };
    assert_eq!((spec.window, spec.carry), (None, None), "off, it is as it was");
    config.set_text(&knobs, "variants.baseline", "false")?;
    let refused = (lab.plan)(&config).map(|_| ()).unwrap_err();
    assert_eq!(refused.key(), Some("variants.dropout"));
    Ok(())
}

#[test]
fn the_preset_races_both_by_the_recipe_of_the_paper() -> Outcome {
    let lab = labs::find("synapses").ok_or("the lab is gone")?;
    let plan = (lab.plan)(&lab.config(Some("bdh_against_gpt"))?)?;
    let ids: Vec<&str> = plan.variants.iter().map(|v| v.id.as_str()).collect();
    assert_eq!(ids, ["bdh-s0", "alibi_gpt-s0", "bdh-s1", "alibi_gpt-s1", "bdh-s2", "alibi_gpt-s2"]);
    assert!(plan.variants.chunks(2).all(|pair| pair[0].seed == pair[1].seed), "equal seeds see the same batches");
    let optimisation = plan.optimisation;
    assert_eq!(optimisation.schedule.decay, Decay::Linear);
    assert_eq!((optimisation.adamw.clip_rule, optimisation.adamw.clip), (ClipRule::ZClip, 0.0));
    let last = optimisation.schedule.at(plan.steps, plan.steps);
    assert!((last / optimisation.schedule.lr - 0.1).abs() < 1e-12, "{last}");
    Ok(())
}

/// The preset `bdh_paper` has what its header states: both models of the paper's size, their dropout, and their carried
/// state.
#[test]
fn the_preset_of_the_papers_size_has_both_models() -> Outcome {
    let lab = labs::find("synapses").ok_or("the lab is gone")?;
    let plan = (lab.plan)(&lab.config(Some("bdh_paper"))?)?;
    let [ModelSpec::Bdh(bdh), ModelSpec::AlibiGpt(gpt)] = [&plan.variants[0].model, &plan.variants[1].model] else {
        return Err("not a BDH and a transformer".into());
    };
    assert_eq!(bdh.parameters(256), 25_296_896);
    assert!((gpt.parameters(256) as f64 / 25_296_896.0 - 1.0).abs() < 0.02, "{gpt:?}");
    assert_eq!((bdh.dropout, gpt.dropout), (0.1, 0.01));
    let carry = Some(Carry { rows: 1, every: 64 });
    assert_eq!((bdh.carry, gpt.carry, gpt.window), (carry, carry, Some(4096)));
    Ok(())
}

#[test]
fn a_transformer_of_too_few_parameters_is_refused() -> Outcome {
    let lab = labs::find("synapses").ok_or("the lab is gone")?;
    let (knobs, mut config) = ((lab.knobs)(), lab.config(None)?);
    for (key, value) in [("variants.baseline", "true"), ("model.neurons", "8"), ("model.d_model", "4")] {
        config.set_text(&knobs, key, value)?;
    }
    let error = (lab.plan)(&config).map(|_| ()).unwrap_err();
    assert_eq!(error.key(), Some("variants.baseline"));
    assert!(error.to_string().contains("make the models larger"), "{error}");
    Ok(())
}

#[test]
fn the_gated_variant_is_added_between_bdh_and_the_transformer() -> Outcome {
    let lab = labs::find("synapses").ok_or("the lab is gone")?;
    let (knobs, mut config) = ((lab.knobs)(), lab.config(Some("bdh_against_gpt"))?);
    config.set_text(&knobs, "variants.seeds", "1")?;
    config.set_text(&knobs, "variants.gated", "true")?;
    let plan = (lab.plan)(&config)?;
    assert_eq!(plan.variants.iter().map(|v| v.id.as_str()).collect::<Vec<_>>(), ["bdh", "gated", "alibi_gpt"]);
    assert!(matches!(&plan.variants[1].model, ModelSpec::Bdh(spec) if spec.gated));
    config.set_text(&knobs, "model.gated", "true")?;
    assert!((lab.plan)(&config).unwrap_err().to_string().contains("`variants.gated`"));
    Ok(())
}
