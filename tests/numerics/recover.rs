//! Tests properties of the readers of traces that hold for all weights, and the traces' own coefficients.

use candle_core::{D, DType, Device, Tensor};
use orrery_lab::{
    analysis::ema,
    models::{
        Trainable,
        capabilities::RecoveryModel,
        recover::{ReaderInput, Recover, RecoverSpec},
    },
    nn::{AdamW, Batch, optimiser::AdamWSpec},
};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

const ALPHAS: [f64; 3] = [0.5, 0.1, 0.02];

fn readers() -> Vec<ReaderInput> {
    vec![
        ReaderInput::Single { alpha: 0.1 },
        ReaderInput::Three { alphas: ALPHAS },
        ReaderInput::Attention { alphas: ALPHAS },
        ReaderInput::AttentionPast { alphas: ALPHAS },
        ReaderInput::Raw,
    ]
}

fn spec(reader: ReaderInput, distances: &[usize]) -> RecoverSpec {
    RecoverSpec {
        reader,
        distances: distances.to_vec(),
        code_dim: 32,
        code_active: 4,
        code_seed: 3,
        hidden: 48,
        bits: 0,
    }
}

fn draw(rng: &mut ChaCha8Rng, vocab: u32, rows: usize, len: usize) -> Batch {
    let ids: Vec<u32> = (0..rows * len).map(|_| rng.random_range(0..vocab)).collect();
    Batch::from_ids(&ids, &ids, rows, len, &Device::Cpu).unwrap()
}

fn values(t: &Tensor) -> Vec<f32> {
    t.flatten_all().unwrap().to_vec1().unwrap()
}

#[test]
fn every_parameter_of_every_reader_gets_a_finite_gradient() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    for reader in readers() {
        let model = Recover::new(&spec(reader.clone(), &[1, 3, 7]), 9, 5, &Device::Cpu).unwrap();
        let loss = model.loss(&draw(&mut rng, 9, 3, 16)).unwrap();
        let start: f32 = loss.total.to_scalar().unwrap();
        assert!((start - 9f32.ln()).abs() < 1.0, "{reader:?} starts near chance: {start}");
        let grads = loss.total.backward().unwrap();
        for (name, var) in model.params().iter() {
            let g = values(grads.get(var).unwrap_or_else(|| panic!("{reader:?}: `{name}` has no gradient")));
            assert!(g.iter().all(|v| v.is_finite()), "{reader:?}: `{name}`");
            assert!(g.iter().any(|v| *v != 0.0), "{reader:?}: the gradient of `{name}` is zero everywhere");
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_reader_and_another_does_not() {
    for reader in readers() {
        let batch = draw(&mut ChaCha8Rng::seed_from_u64(2), 9, 2, 16);
        let loss = |seed: u64| {
            let m = Recover::new(&spec(reader.clone(), &[1, 7]), 9, seed, &Device::Cpu).unwrap();
            m.loss(&batch).unwrap().total.to_scalar::<f32>().unwrap()
        };
        assert_eq!(loss(5).to_bits(), loss(5).to_bits());
        assert_ne!(loss(5).to_bits(), loss(6).to_bits(), "{reader:?}");
    }
}

#[test]
fn no_reader_sees_what_comes_later() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let ids: Vec<u32> = (0..20).map(|_| rng.random_range(0..9)).collect();
    let mut later = ids.clone();
    later[13] = (later[13] + 1) % 9;
    for reader in readers() {
        let m = Recover::new(&spec(reader.clone(), &[1, 4]), 9, 5, &Device::Cpu).unwrap();
        let positions: Vec<usize> = (0..20).collect();
        let logits = |ids: &[u32]| {
            let all = m.answers(&Tensor::from_slice(ids, (1, 20), &Device::Cpu).unwrap(), &positions).unwrap();
            assert_eq!(all.dims(), &[20, 1, 2, 9]);
            values(&all.narrow(2, 0, 1).unwrap().contiguous().unwrap())
        };
        let (a, b) = (logits(&ids), logits(&later));
        assert_eq!(a[..13 * 9], b[..13 * 9], "{reader:?}");
        assert_ne!(a[13 * 9..14 * 9], b[13 * 9..14 * 9], "{reader:?} does see the token itself");
    }
}

/// A simple case of the data-processing inequality: equal traces lead to equal answers for every reader. Two texts that
/// differ only before the reach of a trace, which is rounded to a few bits, have equal traces.
#[test]
fn equal_traces_get_equal_answers_and_only_the_past_or_the_text_escapes() {
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    let ids: Vec<u32> = (0..40).map(|_| rng.random_range(0..9)).collect();
    let mut other = ids.clone();
    other[20] = (other[20] + 1) % 9; // 19 tokens before the last one: 0.5^20 is far below one of 16 levels
    for reader in readers() {
        let fast = match reader {
            ReaderInput::Single { .. } => ReaderInput::Single { alpha: 0.5 },
            ReaderInput::Three { .. } => ReaderInput::Three { alphas: [0.5; 3] },
            ReaderInput::Attention { .. } => ReaderInput::Attention { alphas: [0.5; 3] },
            ReaderInput::AttentionPast { .. } => ReaderInput::AttentionPast { alphas: [0.5; 3] },
            ReaderInput::Raw => ReaderInput::Raw,
        };
        let mut spec = spec(fast, &[19]);
        spec.bits = 4;
        let m = Recover::new(&spec, 9, 5, &Device::Cpu).unwrap();
        let answer = |ids: &[u32]| {
            let tokens = Tensor::from_slice(ids, (1, 40), &Device::Cpu).unwrap();
            values(&m.answers(&tokens, &[39]).unwrap())
        };
        let bound = !matches!(reader, ReaderInput::AttentionPast { .. } | ReaderInput::Raw);
        assert_eq!(answer(&ids) == answer(&other), bound, "{reader:?}");
    }
}

/// A trace with a large coefficient distinguishes the last few tokens, so a reader must learn to name them.
#[test]
fn a_reader_of_a_sharp_trace_learns_to_name_the_token_just_before() {
    let mut wide = spec(ReaderInput::Single { alpha: 0.7 }, &[0, 1]);
    wide.hidden = 128;
    let model = Recover::new(&wide, 8, 5, &Device::Cpu).unwrap();
    let mut opt = AdamW::new(model.params(), AdamWSpec { weight_decay: 0.0, ..AdamWSpec::default() }).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    for _ in 0..150 {
        let loss = model.loss(&draw(&mut rng, 8, 8, 24)).unwrap();
        opt.step(model.params(), &loss.total.backward().unwrap(), 0.01).unwrap();
    }
    let batch = draw(&mut rng, 8, 16, 24);
    let at = model.positions(24, 1).unwrap();
    let named = model.answers(&batch.tokens, &at).unwrap().argmax(D::Minus1).unwrap();
    let wanted = model.target_ids(&batch.tokens, &at).unwrap();
    let hits = values(&named.eq(&wanted).unwrap().to_dtype(DType::F32).unwrap().mean((0, 1)).unwrap());
    assert!(hits[0] > 0.95 && hits[1] > 0.9, "{hits:?}");
}

#[test]
fn wanted_tokens_are_those_k_steps_back() {
    let model = Recover::new(&spec(ReaderInput::Raw, &[0, 2, 5]), 40, 5, &Device::Cpu).unwrap();
    let ids: Vec<u32> = (0..20).collect(); // two rows: 0..10 and 10..20
    let tokens = Tensor::from_slice(&ids, (2, 10), &Device::Cpu).unwrap();
    let at = model.positions(10, 2).unwrap();
    assert_eq!(at, [5, 7, 9]);
    let wanted: Vec<u32> = model.target_ids(&tokens, &at).unwrap().flatten_all().unwrap().to_vec1().unwrap();
    assert_eq!(wanted, [5, 3, 0, 15, 13, 10, 7, 5, 2, 17, 15, 12, 9, 7, 4, 19, 17, 14]);
    let error = model.positions(5, 1).unwrap_err().to_string();
    assert!(error.contains("train.window") && error.contains('5'), "{error}");
}

#[test]
fn a_reader_refuses_what_makes_no_sense_in_words() {
    for (change, word) in [
        ((|s: &mut RecoverSpec| s.distances = vec![]) as fn(&mut RecoverSpec), "distances"),
        (|s| s.distances = vec![3, 3], "ascending"),
        (|s| s.code_active = 99, "99"),
        (|s| s.reader = ReaderInput::Single { alpha: 0.0 }, "alpha"),
    ] {
        let mut spec = spec(ReaderInput::Single { alpha: 0.5 }, &[1]);
        change(&mut spec);
        let error = Recover::new(&spec, 9, 1, &Device::Cpu).err().unwrap().to_string();
        assert!(error.contains(word), "{error}");
    }
}

/// The views and the readers use the same weights of words in a trace; these must sum to the trace's step response.
#[test]
fn weights_of_a_sentence_sum_to_what_the_trace_holds() {
    for a in ALPHAS {
        let total: f64 = (0..=30).map(|k| ema::impulse(a, f64::from(k))).sum();
        assert!((total - ema::step_response(a, 30.0)).abs() < 1e-12);
    }
}
