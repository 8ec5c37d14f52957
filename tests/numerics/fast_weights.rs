//! Tests reading with fast weights: a learning rate of zero changes nothing, reading is causal, and a divergence
//! results in NaN.

use candle_core::{Device, Tensor};
use orrery_lab::{
    models::{
        Trainable,
        capabilities::FastWeightRule,
        spen::{Predictor, Spen, SpenSpec, TraceGate},
    },
    nn::{Result, host},
};

use crate::properties::{VOCAB, ids};

const TUNED: FastWeightRule = FastWeightRule { rate: 0.05, max_precision: 10.0, has_base: true };

fn model(seed: u64) -> Result<Spen> {
    let spec = SpenSpec { d_model: 16, hidden: 32, kept: 6, layers: 3, ..SpenSpec::default() };
    Spen::new(&spec, VOCAB, seed, &Device::Cpu)
}

/// The logits of rows of equal length that are read in parts of `part` tokens, and the final U.
fn read(model: &Spen, rule: Option<&FastWeightRule>, rows: &[Vec<u32>], part: usize) -> Result<(Vec<f32>, Vec<f32>)> {
    let mut stream = match (rule, model.capabilities().fast_weights, model.capabilities().streaming) {
        (Some(rule), Some(fast), _) => fast.stream_with_fast_weights(rule),
        (None, _, Some(plain)) => plain.stream(),
        _ => candle_core::bail!("the model does not stream"),
    };
    let (n, vocab) = (rows[0].len(), VOCAB);
    let (mut logits, mut uncertainty) = (vec![0.0; rows.len() * n * vocab], vec![0.0; rows.len() * n]);
    for from in (0..n).step_by(part) {
        let to = (from + part).min(n);
        let tokens: Vec<u32> = rows.iter().flat_map(|row| row[from..to].to_vec()).collect();
        let tokens = Tensor::from_vec(tokens, (rows.len(), to - from), &Device::Cpu)?;
        let found = host::to_f32(&stream.read(&tokens)?)?;
        let u = stream.uncertainty();
        for row in 0..rows.len() {
            let len = to - from;
            logits[(row * n + from) * vocab..(row * n + to) * vocab]
                .copy_from_slice(&found[row * len * vocab..(row + 1) * len * vocab]);
            if !u.is_empty() {
                uncertainty[row * n + from..row * n + to].copy_from_slice(&u[row * len..(row + 1) * len]);
            }
        }
    }
    Ok((logits, uncertainty))
}

#[test]
fn fast_weights_with_rate_zero_change_no_logit() -> Result<()> {
    let (model, rows) = (model(1)?, [ids(1, 60), ids(2, 60)]);
    let plain = read(&model, None, &rows, 60)?.0;
    let frozen = read(&model, Some(&FastWeightRule { rate: 0.0, ..TUNED }), &rows, 60)?;
    assert_eq!(plain, frozen.0, "bit for bit");
    assert!(frozen.1.iter().all(|u| *u > 0.0 && u.is_finite()));
    let learning = read(&model, Some(&TUNED), &rows, 60)?.0;
    assert_ne!(plain, learning);
    assert_eq!(plain[..VOCAB], learning[..VOCAB], "before the first token nothing was learned");
    Ok(())
}

#[test]
fn a_prediction_knows_only_what_came_before() -> Result<()> {
    let (model, text, at) = (model(2)?, ids(3, 40), 17);
    let mut other = text.clone();
    other[at] = (other[at] + 1) % VOCAB as u32;
    let (a, b) = (read(&model, Some(&TUNED), &[text], 40)?, read(&model, Some(&TUNED), &[other], 40)?);
    assert_eq!(a.0[..at * VOCAB], b.0[..at * VOCAB]);
    assert_eq!(a.1[..at], b.1[..at]);
    assert_ne!(a.0[at * VOCAB..], b.0[at * VOCAB..]);
    Ok(())
}

#[test]
fn chunks_equal_the_whole_and_rows_learn_independently() -> Result<()> {
    let (model, rows) = (model(3)?, [ids(4, 50), ids(5, 50)]);
    let near = |a: &[f32], b: &[f32]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-4);
    let whole = read(&model, Some(&TUNED), &rows, 50)?;
    for part in [1, 7] {
        let parts = read(&model, Some(&TUNED), &rows, part)?;
        assert!(near(&whole.0, &parts.0) && near(&whole.1, &parts.1), "parts of {part}");
    }
    for (row, text) in rows.iter().enumerate() {
        let alone = read(&model, Some(&TUNED), std::slice::from_ref(text), 50)?;
        assert!(near(&alone.0, &whole.0[row * 50 * VOCAB..(row + 1) * 50 * VOCAB]), "text {row}");
    }
    Ok(())
}

#[test]
fn without_a_base_the_error_is_the_whole_input() -> Result<()> {
    let (model, rows) = (model(4)?, [ids(6, 30)]);
    let none = FastWeightRule { rate: 0.0, has_base: false, ..TUNED };
    let without = read(&model, Some(&none), &rows, 30)?.0;
    assert_ne!(without, read(&model, None, &rows, 30)?.0);
    // without learning, the result is that of a model whose predictors' weights are zero
    for block in 0..3 {
        let path = format!("blocks.{block}.pred.weight");
        model.params().load(&path, &Tensor::zeros((16, 16), candle_core::DType::F32, &Device::Cpu)?)?;
    }
    let zero = read(&model, None, &rows, 30)?.0;
    assert!(without.iter().zip(&zero).all(|(a, b)| (a - b).abs() < 1e-6));
    Ok(())
}

#[test]
fn diverging_fast_weights_give_nan_and_do_not_panic() -> Result<()> {
    let (model, rows) = (model(5)?, [ids(7, 200)]);
    let wild = FastWeightRule { rate: 1e30, max_precision: 1e30, has_base: true };
    let found = read(&model, Some(&wild), &rows, 50)?.0;
    assert!(found.iter().any(|v| !v.is_finite()));
    Ok(())
}

#[test]
fn attention_predictors_have_no_fast_weights() -> Result<()> {
    for predictor in [Predictor::LinearAttention, Predictor::SoftmaxAttention, Predictor::FullSoftmaxAttention] {
        let spec = SpenSpec { d_model: 16, hidden: 32, kept: 6, predictor, ..SpenSpec::default() };
        let model = Spen::new(&spec, VOCAB, 1, &Device::Cpu)?;
        assert!(model.capabilities().fast_weights.is_none());
        let keeps_all = model.capabilities().streaming.is_some_and(|m| m.keeps_all_tokens());
        assert_eq!(keeps_all, predictor.is_softmax());
    }
    let gated = SpenSpec { d_model: 16, hidden: 32, kept: 6, gate: TraceGate::InputDependent, ..SpenSpec::default() };
    let model = Spen::new(&gated, VOCAB, 1, &Device::Cpu)?;
    assert!(
        model.capabilities().fast_weights.is_some()
            && model.capabilities().streaming.is_some_and(|m| m.slowest_rate().is_none())
    );
    Ok(())
}
