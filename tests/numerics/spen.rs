//! Tests properties of the SPEN family that hold for all weights: the published parameter count, causality, and reading
//! in parts.

use candle_core::{Device, Tensor};
use orrery_lab::{
    models::{
        Model, Trainable,
        capabilities::StreamingModel,
        spen::{Predictor, PredictorValues, Spen, SpenSpec, TraceGate},
    },
    nn::{Batch, Result, Tap, host},
};
use proptest::prelude::*;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::op_checks::apart;

const VOCAB: usize = 19;

const PREDICTORS: [Predictor; 4] =
    [Predictor::Static, Predictor::LinearAttention, Predictor::SoftmaxAttention, Predictor::FullSoftmaxAttention];

/// Every combination of gate, predictor and source of its values.
fn specs() -> Vec<SpenSpec> {
    let mut all = vec![];
    for gate in [TraceGate::Fixed, TraceGate::Learned, TraceGate::InputDependent] {
        for predictor in PREDICTORS {
            for values in [PredictorValues::Traces, PredictorValues::Input] {
                if predictor == Predictor::Static && values == PredictorValues::Input {
                    continue;
                }
                all.push(SpenSpec { d_model: 12, hidden: 20, kept: 4, gate, predictor, values, ..SpenSpec::default() });
            }
        }
    }
    all
}

fn ids(seed: u64, n: usize) -> Vec<u32> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    (0..n).map(|_| rng.random_range(0..VOCAB as u32)).collect()
}

fn row(ids: &[u32]) -> Result<Tensor> {
    Tensor::from_slice(ids, (1, ids.len()), &Device::Cpu)
}

fn logits(model: &Spen, ids: &[u32]) -> Result<Vec<f32>> {
    host::to_f32(&model.logits(&row(ids)?, &mut Tap::off())?)
}

#[test]
fn the_parameter_count_is_the_papers() -> Result<()> {
    assert_eq!(SpenSpec::paper().parameters(50_257), 130_629_888);
    for spec in specs() {
        let model = Spen::new(&spec, VOCAB, 1, &Device::Cpu)?;
        assert_eq!(model.params().count(), spec.parameters(VOCAB), "{spec:?}");
    }
    Ok(())
}

#[test]
fn gates_begin_where_the_fixed_coefficients_are() -> Result<()> {
    let text = ids(2, 30);
    for spec in specs().into_iter().filter(|s| s.gate != TraceGate::Fixed) {
        let gated = Spen::new(&spec, VOCAB, 3, &Device::Cpu)?;
        let fixed = Spen::new(&SpenSpec { gate: TraceGate::Fixed, ..spec }, VOCAB, 3, &Device::Cpu)?;
        for (a, b) in logits(&gated, &text)?.iter().zip(logits(&fixed, &text)?) {
            assert!((a - b).abs() < 1e-5, "{a} is not {b}");
        }
    }
    Ok(())
}

#[test]
fn a_later_token_changes_nothing_before_it() -> Result<()> {
    let (text, at) = (ids(4, 24), 13);
    let mut other = text.clone();
    other[at] = (other[at] + 1) % VOCAB as u32;
    for spec in specs() {
        let model = Spen::new(&spec, VOCAB, 5, &Device::Cpu)?;
        let (a, b) = (logits(&model, &text)?, logits(&model, &other)?);
        assert_eq!(a[..at * VOCAB], b[..at * VOCAB], "{spec:?}");
        assert_ne!(a[at * VOCAB..], b[at * VOCAB..], "{spec:?}");
    }
    Ok(())
}

/// Fixed traces with the static predictor are one operation where nothing is tapped or kept, and several elsewhere.
#[test]
fn taps_and_kept_states_change_no_bit() -> Result<()> {
    let (tokens, targets) = (row(&ids(6, 40))?, row(&ids(7, 40))?);
    for spec in specs() {
        let model = Spen::new(&spec, VOCAB, 5, &Device::Cpu)?;
        let whole = logits(&model, &ids(6, 40))?;
        assert_eq!(whole, host::to_f32(&model.logits(&tokens, &mut Tap::on(&["blocks"]))?)?, "{spec:?}");
        assert_eq!(whole, host::to_f32(&model.stream().read(&tokens)?)?, "{spec:?}");
        let batch = Batch { tokens: tokens.clone(), targets: targets.clone() };
        let trained = host::scalar(&model.loss(&batch)?.cross_entropy)?;
        assert!((trained - host::scalar(&model.evaluate(&batch)?)?).abs() < 1e-6, "{spec:?}");
    }
    Ok(())
}

#[test]
fn more_kept_units_than_there_are_is_refused() {
    for kept in [0, 21] {
        let spec = SpenSpec { kept, hidden: 20, ..SpenSpec::default() };
        let error = Spen::new(&spec, VOCAB, 1, &Device::Cpu).err().map(|e| e.to_string()).unwrap_or_default();
        assert!(error.contains("give a number from 1 to 20"), "{error}");
    }
}

#[test]
fn the_balance_is_part_of_what_is_minimised() -> Result<()> {
    let model = Spen::new(&SpenSpec::default(), VOCAB, 1, &Device::Cpu)?;
    let batch = Batch { tokens: row(&ids(1, 20))?, targets: row(&ids(2, 20))? };
    let loss = model.loss(&batch)?;
    let [total, cross_entropy] = [&loss.total, &loss.cross_entropy].map(host::scalar);
    let (name, balance) = &loss.parts[0];
    assert_eq!(*name, "loss/balance");
    assert!((total? - cross_entropy? - 0.01 * host::scalar(balance)?).abs() < 1e-6);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Training reads whole windows and inference reads in parts; both must give the same logits.
    #[test]
    fn parts_equal_the_whole(seed in 0u64..1000, n in 1usize..70, cut in 1usize..12) {
        let text = ids(seed, n);
        for spec in specs() {
            let model = Spen::new(&spec, VOCAB, seed, &Device::Cpu).unwrap();
            let whole = logits(&model, &text).unwrap();
            let mut stream = model.stream();
            let mut parts = vec![];
            for part in text.chunks(cut) {
                parts.extend(host::to_f32(&stream.read(&row(part).unwrap()).unwrap()).unwrap());
            }
            let off = apart(&whole, &parts);
            prop_assert!(off < 1e-4, "{spec:?}: {off:e} off");
        }
    }
}

#[test]
fn softmax_attention_shows_causal_weights() -> Result<()> {
    let text = ids(9, 11);
    for spec in specs() {
        let model = Spen::new(&spec, VOCAB, 5, &Device::Cpu)?;
        let layers = model.capabilities().attention_layers;
        assert_eq!(layers.len(), if spec.predictor.is_softmax() { spec.layers } else { 0 });
        let attends_to_self = spec.predictor == Predictor::FullSoftmaxAttention;
        let paths: Vec<String> = layers.iter().map(|l| l.tap_path()).collect();
        let mut tap = Tap::on(&paths.iter().map(String::as_str).collect::<Vec<_>>());
        model.logits(&row(&text)?, &mut tap)?;
        for (layer, path) in layers.iter().zip(&paths) {
            assert_eq!(layer.attends_to_self, attends_to_self);
            let weights = tap.get(path).expect("offered");
            assert_eq!(weights.dims(), [1, spec.heads, text.len(), text.len()]);
            for (at, row) in host::to_f32(weights)?.chunks(text.len()).enumerate() {
                let (t, sum) = (at % text.len(), row.iter().sum::<f32>());
                assert!(row[layer.seen(t)..].iter().all(|w| *w == 0.0), "token {t} looks where it may not");
                assert!(row[..layer.seen(t)].iter().all(|w| *w > 0.0), "token {t} does not look where it may");
                let expected = if layer.seen(t) == 0 { 0.0 } else { 1.0 };
                assert!((sum - expected).abs() < 1e-5, "row {t} sums to {sum}");
            }
        }
    }
    Ok(())
}
