//! The Traces lab: what must hold of traces, readers, the probe and the views.

use candle_core::{D, DType, Device, Tensor};
use crossbeam::channel::bounded;
use orrery::{
    analysis::ema,
    config::{Config, ConfigError},
    labs::{self, Lab},
    models::{
        Trainable,
        capabilities::RecoveryModel,
        recover::{ReaderInput, Recover, RecoverSpec},
    },
    nn::{AdamW, Batch, optimiser::AdamWSpec},
    telemetry::{Event, RunState, Sink, measurements::Recoverability},
    trainer::{self, DriveOptions},
    ui::{figure::Figure, mirror::Mirror, theme::Theme},
};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::record::Record;

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

/// The data-processing inequality at its plainest: where traces are equal, so are the answers, whatever
/// the reader. Two pasts that differ before the trace's memory (rounded to few bits) ends leave one trace.
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

/// A coefficient of 1 writes the token itself; large ones keep the last few apart: a reader must get them.
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

fn lab() -> &'static Lab {
    labs::find("traces").unwrap()
}

fn config(set: &[(&str, &str)]) -> Config {
    let knobs = (lab().knobs)();
    let mut config = lab().config(None).unwrap();
    for (key, value) in set {
        config.set_text(&knobs, key, value).unwrap();
    }
    config
}

#[test]
fn a_plan_that_cannot_work_is_refused_in_words() {
    for (key, value, word) in [
        ("train.window", "64", "65"),
        ("recoverability.distances", "1, two", "two"),
        ("recoverability.distances", "", "empty"),
        ("traces.code_dim", "8", ""),
        ("traces.code_active", "64", ""),
    ] {
        let outcome = (lab().plan)(&config(&[(key, value)]));
        match outcome {
            Err(e @ (ConfigError::Inconsistent { .. } | ConfigError::WrongType { .. })) => {
                assert!(!word.is_empty() && e.to_string().contains(word), "{e}")
            }
            Err(e) => panic!("{e}"),
            Ok(_) => assert!(word.is_empty(), "{key} = {value} was accepted"),
        }
    }
    let both = (lab().plan)(&config(&[("traces.code_dim", "8"), ("traces.code_active", "9")]));
    assert!(both.unwrap_err().to_string().contains("traces.code_active"));
}

#[test]
fn distances_are_sorted_and_colours_keep_their_order() {
    let plan = (lab().plan)(&config(&[("recoverability.distances", "8 1,4,4")])).unwrap();
    let ids: Vec<&str> = plan.variants.iter().map(|v| v.id.as_str()).collect();
    assert_eq!(ids, ["fast", "medium", "slow", "three", "attention", "raw", "past"]);
    for v in &plan.variants {
        let orrery::models::ModelSpec::Recover(spec) = &v.model else { panic!("{v:?}") };
        assert_eq!(spec.distances, [1, 4, 8]);
    }
}

impl Record {
    fn last(&self, variant: usize) -> Recoverability {
        let of_variant =
            |e: Event| if let Event::Sample(s) = e { Some(s).filter(|s| s.variant == variant) } else { None };
        self.events().into_iter().rev().filter_map(of_variant).find_map(|s| s.measurement().cloned()).unwrap()
    }
}

/// A small run of all readers.
fn trained() -> Record {
    let config = config(&[
        ("train.steps", "260"),
        ("train.window", "40"),
        ("train.batch", "8"),
        ("recoverability.distances", "1, 4, 16"),
        ("recoverability.hidden", "96"),
        ("recoverability.every", "130"),
        ("run.threads", "1"),
        ("run.device", "cpu"),
        ("run.eval_every", "0"),
    ]);
    let record = Record::default();
    let (_keep, commands) = bounded(1);
    let options = DriveOptions { start: true, ..DriveOptions::default() };
    let sinks: Vec<Box<dyn Sink>> = vec![Box::new(record.clone())];
    let outcome = trainer::drive((lab().plan)(&config).unwrap(), options, &commands, sinks);
    assert_eq!(outcome.state, RunState::Finished);
    record
}

/// The picture the lab is for, at small sizes: accuracy falls with distance for every trace, three traces
/// are about as good as the best single one or better, attention over them is bound alike, raw tokens
/// stay readable.
#[test]
fn accuracy_falls_with_distance_for_traces_and_not_for_raw_tokens() {
    let record = trained();
    let accuracy: Vec<Vec<f64>> = (0..7).map(|v| record.last(v).accuracy.0).collect();
    let chance = record.last(0).most_common;
    println!("{accuracy:.2?} chance {chance:.3}");
    assert!((chance - 1.0 / 16.0).abs() < 0.02, "sixteen equally likely symbols: {chance}");
    let [fast, medium, slow, three, attention, raw, past] = &accuracy[..] else { panic!() };
    for trace in [fast, medium, three, attention] {
        assert!(trace[0] > trace[1] + 0.05 && trace[1] > trace[2] - 0.02, "{trace:?}");
    }
    assert!(slow[0] > slow[2] + 0.02 && slow[0] < 0.35, "the slow trace is blurred: {slow:?}");
    assert!(fast[0] > 0.8 && fast[2] < chance + 0.05, "sharp and short: {fast:?}");
    assert!(medium[1] > fast[1] || medium[2] > fast[2], "longer than fast: {medium:?} {fast:?}");
    for at in 0..3 {
        let best = fast[at].max(medium[at]).max(slow[at]);
        assert!(three[at] > best - 0.12, "three traces hold what each holds: {three:?}, best {best} at {at}");
        assert!(raw[at] > 0.9 && past[at] > 0.8, "kept text is readable: {raw:?} {past:?}");
    }
    assert!(attention[2] < 0.4, "attention cannot bring back what three traces lost: {attention:?}");
}

/// The views answer from the settings alone, so a moved slider is on the screen in the same frame.
#[test]
fn a_moved_slider_moves_curves_strips_and_distances_without_a_run() {
    let mirror = Mirror::default();
    let csv = |view: &str, alpha: &str| {
        let (config, knobs, theme) = (config(&[("traces.alpha_slow", alpha)]), (lab().knobs)(), Theme::dark());
        Figure::new(view, &mirror, &config, &knobs, &theme).csv().unwrap().unwrap()
    };
    for view in ["trace_strips", "trace_decay", "word_swap"] {
        assert_eq!(csv(view, "0.02"), csv(view, "0.02"));
        assert_ne!(csv(view, "0.02"), csv(view, "0.03"), "{view}");
    }
    let strips = csv("trace_strips", "0.02");
    let first: Vec<&str> = strips.lines().nth(1).unwrap().split(',').collect();
    let (ago, left): (f64, f64) = (first[2].parse().unwrap(), first[5].parse().unwrap());
    assert!((left - 0.98f64.powf(ago)).abs() < 1e-9, "{first:?}");
}

/// The strips and the readers speak of the same thing: a word's weight in the trace.
#[test]
fn weights_of_a_sentence_sum_to_what_the_trace_holds() {
    for a in ALPHAS {
        let total: f64 = ema::weights(a, 30).iter().sum();
        assert!((total - ema::step_response(a, 30.0)).abs() < 1e-12);
    }
}
