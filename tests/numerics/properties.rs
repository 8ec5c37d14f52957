//! Tests properties of the fast-slow family that hold for all weights: parameter counts, causality, identities,
//! gradients.

use candle_core::{Device, Tensor};
use orrery_lab::{
    models::{
        Model, ModelSpec, Trainable,
        capabilities::{CouplingModel, CouplingSettings, FixedPointModel},
        dense::DenseSpec,
        fast_slow::{Approach, Constraint, FIXED_POINT, FastSlow, FastSlowSpec, SlowMixer, Upsample},
    },
    nn::{AdamW, Batch, Result, Tap, host, optimiser::AdamWSpec},
    telemetry::channels,
};
use proptest::prelude::*;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::op_checks::{apart, largest};

pub const VOCAB: usize = 23;

fn small() -> FastSlowSpec {
    FastSlowSpec { d_model: 16, heads: 4, kv_heads: 2, ..FastSlowSpec::default() }
}

pub fn ids(seed: u64, n: usize) -> Vec<u32> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    (0..n).map(|_| rng.random_range(0..VOCAB as u32)).collect()
}

pub fn batch(seed: u64, rows: usize, len: usize) -> Result<Batch> {
    let all = ids(seed, rows * len + 1);
    Batch::from_ids(&all[..rows * len], &all[1..], rows, len, &Device::Cpu)
}

fn build(spec: &FastSlowSpec) -> Result<FastSlow> {
    FastSlow::new(spec, VOCAB, 5, &Device::Cpu)
}

fn open_gate(model: &mut FastSlow, effective: f64) -> Result<()> {
    let gamma = 0.7f32;
    model.params().load("gamma", &Tensor::new(gamma, &Device::Cpu)?)?;
    assert!(model.set_runtime_param("coupling_scale", effective / f64::from(gamma.tanh())));
    assert!((model.effective_gate()? - effective).abs() < 1e-6);
    Ok(())
}

/// Returns the largest absolute change of the logits at each position when one token is changed.
pub fn edit(model: &dyn Model, tokens: &[u32], at: usize) -> Result<Vec<f64>> {
    let logits = |ids: &[u32]| -> Result<Vec<f32>> {
        host::to_f32(&model.logits(&Tensor::from_slice(ids, (1, ids.len()), &Device::Cpu)?, &mut Tap::off())?)
    };
    let mut edited = tokens.to_vec();
    edited[at] = (edited[at] + 1) % VOCAB as u32;
    let (a, b) = (logits(tokens)?, logits(&edited)?);
    let rows = a.chunks(VOCAB).zip(b.chunks(VOCAB));
    Ok(rows.map(|(a, b)| apart(a, b)).collect())
}

pub fn before(deltas: &[f64], at: usize) -> f64 {
    largest(deltas[..at].iter().copied())
}

#[test]
fn parameter_counts_are_the_papers() -> Result<()> {
    for (spec, expected) in [
        (ModelSpec::FastSlow(FastSlowSpec::default()), 779_777),
        (ModelSpec::Dense(DenseSpec::default()), 1_025_408),
        (ModelSpec::Dense(DenseSpec::small()), 584_736),
    ] {
        assert_eq!(spec.build(320, 0, &Device::Cpu)?.params().count(), expected);
    }
    Ok(())
}

#[test]
fn a_zero_gate_changes_nothing_bit_for_bit() -> Result<()> {
    let tokens = batch(1, 2, 22)?.tokens;
    let coupled = build(&small())?;
    let frozen = build(&FastSlowSpec { freeze_coupling: true, ..small() })?;
    for ((name, a), (other, b)) in coupled.params().iter().zip(frozen.params().iter()) {
        assert_eq!((name, host::to_f32(a)?), (other, host::to_f32(b)?), "twins start alike");
    }
    let logits_of = |m: &dyn Model| host::to_f32(&m.logits(&tokens, &mut Tap::off())?);
    let expected = logits_of(&frozen)?;
    assert_eq!(logits_of(&coupled)?, expected);
    // with a closed gate, neither the scale nor the slow path's weights have an effect
    let mut coupled = coupled;
    coupled.set_runtime_param("coupling_scale", 1e3);
    assert_eq!(logits_of(&coupled)?, expected);
    let w = coupled.params().get("slow.0.mlp.up.weight").map(|v| v.affine(3.0, 0.5)).transpose()?;
    coupled.params().load("slow.0.mlp.up.weight", &w.ok_or(candle_core::Error::Msg("no weight".into()))?)?;
    assert_eq!(logits_of(&coupled)?, expected);
    Ok(())
}

#[test]
fn one_seed_one_model_and_one_training() -> Result<()> {
    let run = |seed: u64| -> Result<Vec<f32>> {
        let model = FastSlow::new(&small(), VOCAB, seed, &Device::Cpu)?;
        let mut adam = AdamW::new(model.params(), AdamWSpec::default())?;
        for step in 0..3 {
            let grads = model.loss(&batch(step, 2, 13)?)?.total.backward()?;
            adam.step(model.params(), &grads, 1e-2)?;
        }
        host::to_f32(&model.logits(&batch(9, 2, 13)?.tokens, &mut Tap::off())?)
    };
    assert_eq!(run(5)?, run(5)?);
    assert_ne!(run(5)?, run(6)?);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    /// For any length, pooling, position and gate, an edited token does not change the logits before it.
    #[test]
    fn nothing_before_an_edit_changes(
        len in 2usize..40, pool in 1usize..9, place in 0.0f64..1.0, wide in any::<bool>(), seed in 0u64..1000,
        window in prop::option::of(1usize..6), approach in 0usize..3, mixer in 0usize..3,
    ) {
        let approach = [Approach::OnePass, Approach::Passes { passes: 3 }, Approach::Anderson { passes: 3 }][approach];
        let slow_mixer = [SlowMixer::Attention, SlowMixer::GatedLinear, SlowMixer::Decay][mixer];
        let spec = FastSlowSpec { pool, fast_window: window, approach, slow_mixer, ..small() };
        let mut model = build(&spec).unwrap();
        open_gate(&mut model, if wide { 10.0 } else { 1.0 }).unwrap();
        let at = ((len as f64 * place) as usize).min(len - 1);
        let deltas = edit(&model, &ids(seed, len), at).unwrap();
        prop_assert!(before(&deltas, at) < 1e-4, "{:?}", deltas);
        prop_assert!(deltas[at] > 1e-4, "the edited position itself must change: {:?}", deltas);
    }
}

/// The causality check can fail: the wrong upsampling, which reads block floor(t / P), leaks the future at every gate.
#[test]
fn the_wrong_upsample_fails_the_causality_check() -> Result<()> {
    for effective in [1.0, 10.0] {
        let mut model = build(&FastSlowSpec { upsample: Upsample::Leaky, ..small() })?;
        open_gate(&mut model, effective)?;
        // token 10 is the third in its block of four, so it leaks to tokens 8 and 9
        let deltas = edit(&model, &ids(1, 22), 10)?;
        assert!(before(&deltas, 10) > 1e-3, "gate {effective}: {deltas:?}");
        assert!(before(&deltas, 8) == 0.0, "blocks before hear nothing: {deltas:?}");
        model.set_coupling_settings(CouplingSettings { upsample: Upsample::Causal, ..model.coupling_settings() });
        assert!(before(&edit(&model, &ids(1, 22), 10)?, 10) < 1e-4);
    }
    Ok(())
}

/// A solve with a loose tolerance or too few iterations is still causal to the last bit: later tokens and other rows of
/// the batch change neither a position's number of iterations nor its result.
#[test]
fn a_loosely_solved_equilibrium_is_causal() -> Result<()> {
    let (len, at) = (22, 13);
    for tolerance in [0.3, 0.1, 0.03, 0.01] {
        let solved = [Approach::BackwardEuler { tolerance, max_iters: 12 }, Approach::Deq { tolerance, max_iters: 12 }];
        for approach in solved {
            let mut model = build(&FastSlowSpec { approach, ..small() })?;
            open_gate(&mut model, 1.0)?;
            for seed in 0..8 {
                let tokens = ids(seed, len);
                let other = ids(seed + 100, 2 * len);
                let pair = [tokens.clone(), tokens.clone()].concat();
                let changed = [tokens[..at].to_vec(), other[at..].to_vec()].concat();
                let first_row = |ids: &[u32]| -> Result<Vec<f32>> {
                    let ids = Tensor::from_slice(ids, (2, len), &Device::Cpu)?;
                    host::to_f32(&model.logits(&ids, &mut Tap::off())?.narrow(0, 0, 1)?)
                };
                let (a, b) = (first_row(&pair)?, first_row(&changed)?);
                let past = at * VOCAB;
                assert_eq!(a[..past], b[..past], "{approach:?}, seed {seed}");
                assert_ne!(a[past..], b[past..], "{approach:?}, seed {seed}");
            }
        }
    }
    Ok(())
}

#[test]
fn y_up_is_constant_over_blocks_and_the_first_reads_zero() -> Result<()> {
    let model = build(&small())?;
    let mut tap = Tap::on(&["y_up."]);
    model.logits(&batch(2, 1, 22)?.tokens, &mut tap)?;
    assert_eq!(tap.recorded().len(), 2, "one a round");
    for (path, y) in tap.recorded() {
        let rows: Vec<Vec<f32>> = host::to_f32(y)?.chunks(16).map(<[f32]>::to_vec).collect();
        assert_eq!(rows.len(), 22);
        for (t, row) in rows.iter().enumerate() {
            assert_eq!(row, &rows[t / 4 * 4], "{path}: token {t}");
        }
        assert!(rows[0].iter().all(|v| *v == 0.0));
        assert!(rows[4] != rows[8] && rows[4].iter().any(|v| *v != 0.0));
    }
    Ok(())
}

#[test]
fn taps_have_the_shapes_and_values_of_the_forward_pass() -> Result<()> {
    let model = build(&small())?;
    let tokens = batch(2, 2, 10)?.tokens;
    let mut tap = Tap::on(&["pre.", "slow.", "post.", "pooled.", "x.", "final"]);
    let tapped = host::to_f32(&model.logits(&tokens, &mut tap)?)?;
    let plain = host::to_f32(&model.logits(&tokens, &mut Tap::off())?)?;
    assert!(tapped.iter().zip(&plain).all(|(a, b)| (a - b).abs() < 1e-5), "watching changes nothing that counts");
    for (path, dims) in [
        ("pre.0.attn.weights", vec![2, 4, 10, 10]),
        ("slow.1.r1.attn.weights", vec![2, 4, 3, 3]),
        ("post.0.r0.attn.weights", vec![2, 4, 10, 10]),
        ("pooled.r1", vec![2, 3, 16]),
        ("x.r0", vec![2, 10, 16]),
        ("final", vec![2, 10, 16]),
    ] {
        let found = tap.get(path).ok_or(candle_core::Error::Msg(format!("no tap {path}")))?;
        assert_eq!(found.dims(), dims, "{path}");
        if path.ends_with("weights") {
            for (row, sum) in host::to_f32(&found.sum(3)?)?.into_iter().enumerate() {
                assert!((sum - 1.0).abs() < 1e-5, "{path}: row {row} sums to {sum}");
            }
        }
    }
    Ok(())
}

/// With every option, every weight has a finite gradient, and that of gamma is not zero at the start.
#[test]
fn every_parameter_gets_a_finite_gradient() -> Result<()> {
    let variants = [
        small(),
        FastSlowSpec { projector_hidden: Some(24), ..small() },
        FastSlowSpec { approach: Approach::Passes { passes: 3 }, ..small() },
        FastSlowSpec { approach: Approach::Anderson { passes: 3 }, ..small() },
        FastSlowSpec { approach: Approach::BackwardEuler { tolerance: 1e-4, max_iters: 30 }, ..small() },
        FastSlowSpec { approach: Approach::Deq { tolerance: 1e-4, max_iters: 30 }, ..small() },
        FastSlowSpec { aux_lambda: 0.1, ..small() },
        FastSlowSpec { constraint: Constraint::Sinkhorn, ..small() },
        FastSlowSpec { constraint: Constraint::UnitNorm, ..small() },
        FastSlowSpec { fast_window: Some(3), freeze_coupling: true, ..small() },
        FastSlowSpec { pool: 1, ..small() },
        FastSlowSpec { slow_mixer: SlowMixer::GatedLinear, ..small() },
        FastSlowSpec { slow_mixer: SlowMixer::Decay, pool: 1, ..small() },
        FastSlowSpec { coupling_scale: 3.0, ..small() },
    ];
    for spec in variants {
        let model = build(&spec)?;
        let grads = model.loss(&batch(3, 2, 19)?)?.total.backward()?;
        let told = model.scalars(Some(&grads))?;
        let reading = |name: &str| told.iter().find(|(n, _)| *n == name).map_or(f64::NAN, |(_, v)| *v);
        assert_eq!(reading(channels::GATE), 0.0);
        assert!(reading(channels::GATE_GRAD).abs() > 1e-9, "{spec:?}: gamma's gradient is zero");
        finite_gradients(&model, &batch(3, 2, 19)?, &format!("{spec:?}"))?;
    }
    for spec in [DenseSpec { d_model: 16, layers: 2, hidden: 24, ..DenseSpec::default() }, DenseSpec::small()] {
        let model = ModelSpec::Dense(spec).build(VOCAB, 1, &Device::Cpu)?;
        finite_gradients(model.as_ref(), &batch(3, 2, 19)?, "dense")?;
    }
    Ok(())
}

/// Checks that every weight has a finite gradient and that an optimizer step uses them all.
pub fn finite_gradients(model: &dyn Trainable, batch: &Batch, what: &str) -> Result<()> {
    let grads = model.loss(batch)?.total.backward()?;
    for (name, var) in model.params().iter().filter(|(name, _)| !model.params().is_buffer(name)) {
        let grad = grads.get(var).ok_or(candle_core::Error::Msg(format!("{what}: no gradient of {name}")))?;
        assert!(host::to_f32(grad)?.iter().all(|v| v.is_finite()), "{what}: {name}");
    }
    AdamW::new(model.params(), AdamWSpec::default())?.step(model.params(), &grads, 1e-3)?;
    Ok(())
}

/// Windows shorter than one block, a scale of 0 and a gate set by the user still give every weight a gradient.
#[test]
fn gradients_survive_the_edges() -> Result<()> {
    let mut model = build(&small())?;
    finite_gradients(&model, &batch(3, 2, 3)?, "shorter than a block")?;
    model.set_runtime_param("coupling_scale", 0.0);
    finite_gradients(&model, &batch(3, 2, 9)?, "scale 0")?;
    model.set_runtime_param("gate", 2.0);
    finite_gradients(&model, &batch(3, 2, 9)?, "gate set to 2")?;
    assert_eq!(model.effective_gate()?, 2.0);
    model.set_runtime_param("gate", f64::NAN);
    assert_eq!(model.effective_gate()?, 0.0);
    assert!(!model.set_runtime_param("no such parameter", 1.0));
    Ok(())
}

#[test]
fn a_frozen_gate_stays_exactly_zero() -> Result<()> {
    let train = |freeze_coupling: bool| -> Result<f64> {
        let model = build(&FastSlowSpec { freeze_coupling, ..small() })?;
        let mut adam = AdamW::new(model.params(), AdamWSpec::default())?;
        for step in 0..10 {
            let grads = model.loss(&batch(step, 2, 19)?)?.total.backward()?;
            adam.step(model.params(), &grads, 1e-2)?;
        }
        Ok(model.scalars(None)?[0].1)
    };
    assert_eq!(train(true)?.to_bits(), 0f64.to_bits());
    assert!(train(false)?.abs() > 1e-4, "the coupled twin's gate moves");
    Ok(())
}

/// An update with gradients that are almost zero changes only the weights that decay, so it shows whether the gate
/// does.
#[test]
fn a_gate_without_weight_decay_keeps_its_value() -> Result<()> {
    let after = |gate_weight_decay: bool| -> Result<[f64; 2]> {
        let mut model = build(&FastSlowSpec { gate_weight_decay, ..small() })?;
        open_gate(&mut model, 0.5)?;
        let read = |name: &str| -> Result<f64> {
            let var = model.params().get(name).ok_or(candle_core::Error::Msg(format!("no {name}")))?;
            host::scalar(&var.abs()?.sum_all()?)
        };
        let before = [read("gamma")?, read("norm.weight")?];
        let still = (model.loss(&batch(3, 2, 19)?)?.total * 1e-30)?;
        let mut adam = AdamW::new(model.params(), AdamWSpec { weight_decay: 0.5, ..AdamWSpec::default() })?;
        adam.step(model.params(), &still.backward()?, 0.1)?;
        Ok([read("gamma")? / before[0], read("norm.weight")? / before[1]])
    };
    for (gate_weight_decay, gate) in [(true, 0.95), (false, 1.0)] {
        let [found, other] = after(gate_weight_decay)?;
        assert!((found - gate).abs() < 1e-5 && (other - 0.95).abs() < 1e-5, "{gate_weight_decay}: {found} {other}");
    }
    Ok(())
}

#[test]
fn one_pass_equals_every_solver_limited_to_one_pass() -> Result<()> {
    let tokens = batch(4, 1, 12)?.tokens;
    let logits = |approach| -> Result<Vec<f32>> {
        let mut model = build(&FastSlowSpec { approach, ..small() })?;
        open_gate(&mut model, 0.5)?;
        host::to_f32(&model.logits(&tokens, &mut Tap::off())?)
    };
    let one = logits(Approach::OnePass)?;
    assert_eq!(one, logits(Approach::Passes { passes: 1 })?);
    assert_eq!(one, logits(Approach::Anderson { passes: 1 })?);
    let first = logits(Approach::BackwardEuler { tolerance: 1e9, max_iters: 1 })?;
    let off = apart(&one, &first);
    assert!(off < 1e-4, "a solve that stops at once is one pass: {off}");
    assert_ne!(one, logits(Approach::Passes { passes: 2 })?);
    assert_eq!(logits(Approach::Passes { passes: 2 })?, logits(Approach::Passes { passes: 2 })?);
    assert_ne!(logits(Approach::Passes { passes: 2 })?, logits(Approach::Anderson { passes: 2 })?);
    Ok(())
}

/// In the paper's L_fp, the squares are summed over channels, without division by the width, and averaged over tokens.
#[test]
fn the_residual_penalty_is_a_squared_norm() -> Result<()> {
    let model = build(&FastSlowSpec { aux_lambda: 0.1, n_rounds: 1, ..small() })?;
    let batch = batch(3, 2, 19)?;
    let loss = model.loss(&batch)?;
    let mut tap = Tap::on(&["final"]);
    model.logits(&batch.tokens, &mut tap)?;
    let x = tap.get("final").ok_or(candle_core::Error::Msg("no state".into()))?;
    let squares = host::to_f64(&(x - model.refine(x)?)?.sqr()?)?;
    let expected = squares.iter().sum::<f64>() / (2.0 * 19.0);
    let found = loss.parts.iter().find(|p| p.0 == FIXED_POINT).map_or(Ok(f64::NAN), |p| host::scalar(&p.1))?;
    assert!((found / expected - 1.0).abs() < 1e-4, "{found} is not {expected}");
    let added = host::scalar(&loss.total)? - host::scalar(&loss.cross_entropy)?;
    assert!((added / (0.1 * expected) - 1.0).abs() < 1e-3, "{added} is not a tenth of {expected}");
    Ok(())
}

/// The scalars give the memory of the last training step. At the start, the decay 0.5^(1/16) corresponds to 23 slow
/// tokens. With attention there are no such scalars.
#[test]
fn a_slow_path_that_decays_says_its_memory() -> Result<()> {
    let start = 16.0 / 2f64.ln();
    for (slow_mixer, within) in [(SlowMixer::GatedLinear, 12.0), (SlowMixer::Decay, 1e-2)] {
        let model = build(&FastSlowSpec { slow_mixer, ..small() })?;
        let memory = |model: &FastSlow| -> Result<Vec<f64>> {
            let scalars = model.scalars(None)?;
            let names = [channels::MEMORY_LOW, channels::MEMORY_MEDIAN, channels::MEMORY_HIGH];
            Ok(names.iter().filter_map(|name| scalars.iter().find(|s| s.0 == *name).map(|s| s.1)).collect())
        };
        assert!(memory(&model)?.is_empty(), "no step was made");
        model.loss(&batch(3, 2, 19)?)?;
        let deciles = memory(&model)?;
        assert!(deciles.len() == 3 && deciles.is_sorted(), "{deciles:?}");
        assert!((deciles[1] - start).abs() < within, "{slow_mixer:?}: {deciles:?}");
    }
    let model = build(&small())?;
    model.loss(&batch(3, 2, 19)?)?;
    assert!(model.scalars(None)?.iter().all(|(name, _)| !name.starts_with("memory/")));
    Ok(())
}

#[test]
fn sizes_that_do_not_fit_are_named() {
    for (spec, word) in [
        (FastSlowSpec { heads: 3, ..small() }, "heads"),
        (FastSlowSpec { pool: 0, ..small() }, "pool"),
        (FastSlowSpec { fast_window: Some(0), ..small() }, "window"),
        (FastSlowSpec { approach: Approach::Passes { passes: 0 }, ..small() }, "passes"),
        (FastSlowSpec { constraint: Constraint::Sinkhorn, projector_hidden: Some(8), ..small() }, "Sinkhorn"),
    ] {
        let message = build(&spec).err().map(|e| e.to_string()).unwrap_or_default();
        assert!(message.contains(word), "{word}: {message}");
    }
}
