//! Tests training with a recurrent state that is carried from batch to batch: batches continue each other, the carried
//! state equals that of streaming, a resumed run continues bit for bit, and the model learns.

use candle_core::{DType, Device, Tensor, Var};
use orrery::{
    corpus::{Corpus, CorpusSpec, Position, Source, TokenizerSpec},
    models::{
        Carry, Model, Trainable,
        bdh::{Bdh, BdhSpec, Form},
        capabilities::{State, SynapseModel},
        gpt::{AlibiGptSpec, Gpt},
    },
    nn::{Batch, Tap, fused::cross_entropy::cross_entropy, host, residual_mixing::ResidualMixing},
    trainer::{Plan, Run},
};

use crate::config_with::plan_with;

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn corpus(tokenizer: TokenizerSpec) -> Result<Corpus, orrery::corpus::CorpusError> {
    Corpus::open(&CorpusSpec::new(Source::Generated("mixture".into()), tokenizer))
}

#[test]
fn rows_go_on_where_the_batch_before_ended() -> Outcome {
    for tokenizer in
        [TokenizerSpec::Byte { vocab: 256 }, TokenizerSpec::Char { max_vocab: 100 }, TokenizerSpec::Bpe { vocab: 400 }]
    {
        let corpus = corpus(tokenizer)?;
        let (rows, len, every) = (3, 20, 4u64);
        let at = |drawn| corpus.batch_along(&Position { seed: 5, drawn }, rows, len, every);
        let mut joined = 0;
        for drawn in 0..11 {
            let (now, next) = (at(drawn)?, at(drawn + 1)?);
            assert_eq!(now, at(drawn)?, "a pure function of the position");
            for r in 0..rows {
                let row = |w: &[u32]| w[r * len..(r + 1) * len].to_vec();
                assert_eq!(row(&now.inputs)[1..], row(&now.targets)[..len - 1]);
                let goes_on = *row(&now.targets).last().ok_or("an empty row")? == row(&next.inputs)[0];
                if (drawn + 1) % every == 0 {
                    joined += usize::from(goes_on);
                } else {
                    assert!(goes_on, "row {r} of batch {drawn}");
                }
            }
        }
        assert!(joined < 2 * rows, "rows begin elsewhere after {every}");
        // the texts of four successive batches, joined for each row
        let text: Vec<u32> = (0..4).flat_map(|k| at(k).map(|w| w.inputs[..len].to_vec()).unwrap_or_default()).collect();
        let whole = corpus.batch(&Position { seed: 5, drawn: 0 }, rows, len * 4)?;
        assert_eq!(text, whole.inputs[..4 * len]);
    }
    let words = corpus(TokenizerSpec::Byte { vocab: 256 })?
        .batch_along(&Position { seed: 5, drawn: 0 }, 2, 1 << 20, 1 << 20)
        .unwrap_err()
        .to_string();
    assert!(words.contains("too short"), "{words}");
    Ok(())
}

#[test]
fn the_carried_state_equals_that_of_streaming() -> Outcome {
    for form in [Form::Code, Form::Paper, Form::Both, Form::FinalNorm] {
        let (rows, t) = (2, 12);
        let spec = BdhSpec { d_model: 16, heads: 2, neurons: 96, layers: 3, form, ..BdhSpec::default() };
        let mut model =
            Bdh::new(&BdhSpec { carry: Some(Carry { rows, every: 3 }), ..spec.clone() }, 31, 3, &Device::Cpu)?;
        assert_eq!(model.params().count(), spec.parameters(31), "what is carried is not a weight");
        for (name, var) in model.params().iter().filter(|(n, _)| !n.starts_with("carried.")) {
            assert!(!model.params().is_buffer(name));
            var.set(&(var.as_tensor() * 8.0)?.detach())?;
        }
        let ids: Vec<u32> = (0..rows * 6 * t).map(|i| (i * i * 7 % 31) as u32).collect();
        let all = Tensor::from_vec(ids, (rows, 6 * t), &Device::Cpu)?;
        let mut state = State::empty(&spec.shape(), rows, &Device::Cpu)?;
        for k in 0..5 {
            if k == 3 {
                state = State::empty(&spec.shape(), rows, &Device::Cpu)?;
            }
            let part = |from: usize| all.narrow(1, from, t)?.contiguous();
            let batch = Batch { tokens: part(k * t)?, targets: part(k * t + 1)? };
            model.begin_step(k as u64 + 1)?;
            let loss = model.loss(&batch)?;
            let grads = loss.total.backward()?;
            assert!(
                model.params().iter().filter(|(n, _)| !n.starts_with("carried.")).all(|(_, v)| grads.get(v).is_some())
            );
            let logits = model.read(&batch.tokens, &mut state, &mut Tap::off())?;
            let streamed = host::scalar(&cross_entropy(&logits, &batch.targets)?)?;
            let found = host::scalar(&loss.cross_entropy)?;
            assert!((found - streamed).abs() < 1e-5 * streamed, "batch {k}: {found}, streaming {streamed}");
            let alone = host::scalar(&model.evaluate(&batch)?)?;
            assert_eq!(k % 3 == 0, (found - alone).abs() < 1e-5 * alone, "batch {k}: {found}, without a past {alone}");
            for (layer, held) in state.layers.iter().enumerate() {
                let kept = model.params().get(&format!("carried.{layer}")).ok_or("nothing is carried")?.as_tensor();
                let off = host::to_f64(&(kept - held)?.abs()?)?.into_iter().fold(0.0, f64::max);
                assert!(off < 1e-3, "layer {layer} after batch {k}: {off:e}");
            }
        }
        let three = Tensor::zeros((3, t), DType::U32, &Device::Cpu)?;
        let words = model.loss(&Batch { tokens: three.clone(), targets: three }).err().ok_or("it took them")?;
        assert!(words.to_string().contains("`train.batch`"), "{words}");
    }
    Ok(())
}

/// A small step of the weights along the gradient changes the loss of a batch that starts with the same state by the
/// gradient's norm. The gradient must therefore not include the state that the batch leaves behind.
#[test]
fn gradients_are_of_the_state_that_was_read() -> Outcome {
    const STEP: f64 = 3e-3;
    let (rows, t) = (2, 12);
    let spec = BdhSpec { d_model: 16, heads: 2, neurons: 96, layers: 3, ..BdhSpec::default() };
    let mut model = Bdh::new(&BdhSpec { carry: Some(Carry { rows, every: 3 }), ..spec.clone() }, 31, 3, &Device::Cpu)?;
    let named = model.params().iter().filter(|(name, _)| !name.starts_with("carried."));
    let weights: Vec<Var> = named.map(|(_, var)| var.clone()).collect();
    weights.iter().try_for_each(|w| w.set(&(w.as_tensor() * 8.0)?.detach()))?;
    let ids: Vec<u32> = (0..rows * 4 * t).map(|i| (i * i * 7 % 31) as u32).collect();
    let all = Tensor::from_vec(ids, (rows, 4 * t), &Device::Cpu)?;
    let mut state = State::empty(&spec.shape(), rows, &Device::Cpu)?;
    for k in 0..3 {
        let part = |from: usize| all.narrow(1, from, t)?.contiguous();
        let batch = Batch { tokens: part(k * t)?, targets: part(k * t + 1)? };
        model.begin_step(k as u64 + 1)?;
        let grads = model.loss(&batch)?.total.backward()?;
        let gradient: Vec<Tensor> =
            weights.iter().map(|w| grads.get(w).cloned().ok_or("no gradient")).collect::<Result<_, _>>()?;
        let squares = gradient.iter().map(|g| host::scalar(&g.sqr()?.sum_all()?)).sum::<candle_core::Result<f64>>()?;
        let length = squares.sqrt();
        let before: Vec<Tensor> = weights.iter().map(|w| w.as_tensor().copy()).collect::<Result<_, _>>()?;
        let loss_at = |step: f64| -> Result<f64, Box<dyn std::error::Error>> {
            for ((w, g), was) in weights.iter().zip(&gradient).zip(&before) {
                w.set(&(was + (g * (step / length))?)?)?;
            }
            let logits = model.read(&batch.tokens, &mut state.clone(), &mut Tap::off())?;
            Ok(host::scalar(&cross_entropy(&logits, &batch.targets)?)?)
        };
        let slope = (loss_at(STEP)? - loss_at(-STEP)?) / (2.0 * STEP);
        loss_at(0.0)?;
        assert!(
            (slope - length).abs() < 0.03 * length,
            "batch {k}: the loss changes by {slope}, the gradient says {length}"
        );
        model.read(&batch.tokens, &mut state, &mut Tap::off())?;
    }
    Ok(())
}

/// A transformer with carried keys and values has the same losses on successive batches as on the whole text with a
/// sliding window of the same length.
#[test]
fn a_transformer_goes_on_with_the_keys_and_values_of_the_last_tokens() -> Outcome {
    let (rows, t, every) = (2, 12, 4);
    for residual in [ResidualMixing::Fixed, ResidualMixing::Attention] {
        for window in [5, 12, 30, 100] {
            let spec = AlibiGptSpec { d_model: 16, heads: 2, layers: 3, residual, ..AlibiGptSpec::default() };
            let spec = AlibiGptSpec { window: Some(window), ..spec };
            let carry = Some(Carry { rows, every });
            let mut model = Gpt::with_alibi(&AlibiGptSpec { carry, ..spec.clone() }, 31, 3, &Device::Cpu)?;
            assert_eq!(model.params().count(), spec.parameters(31), "what is carried is not a weight");
            for (_, var) in model.params().iter().filter(|(n, v)| !n.starts_with("carried.") && v.dims().len() == 2) {
                var.set(&(var.as_tensor() * 8.0)?.detach())?;
            }
            let ids: Vec<u32> = (0..rows * (6 * t + 1)).map(|i| (i * i * 7 % 31) as u32).collect();
            let all = Tensor::from_vec(ids, (rows, 6 * t + 1), &Device::Cpu)?;
            for k in 0..6 {
                let first = k / every as usize * every as usize; // the first batch of the stretch
                let part = |from: usize, len: usize| all.narrow(1, from, len)?.contiguous();
                let batch = Batch { tokens: part(k * t, t)?, targets: part(k * t + 1, t)? };
                model.begin_step(k as u64 + 1)?;
                let loss = model.loss(&batch)?;
                let grads = loss.total.backward()?;
                assert!(
                    model.params().iter().all(|(n, v)| n.starts_with("carried.") != grads.get(v).is_some()),
                    "every weight learns, and nothing before the batch"
                );
                let whole = model.logits(&part(first * t, (k + 1 - first) * t)?, &mut Tap::off())?;
                let logits = whole.narrow(1, (k - first) * t, t)?.contiguous()?;
                let wanted = host::scalar(&cross_entropy(&logits, &batch.targets)?)?;
                let found = host::scalar(&loss.cross_entropy)?;
                assert!((found - wanted).abs() < 1e-5 * wanted, "batch {k}, window {window}: {found}, whole {wanted}");
                let alone = host::scalar(&model.evaluate(&batch)?)?;
                assert_eq!(k == first, (found - alone).abs() < 1e-5 * alone, "batch {k}: {found}, alone {alone}");
            }
            let three = Tensor::zeros((3, t), DType::U32, &Device::Cpu)?;
            let words = model.loss(&Batch { tokens: three.clone(), targets: three }).err().ok_or("it took them")?;
            assert!(words.to_string().contains("`train.batch`"), "{words}");
        }
    }
    Ok(())
}

fn plan(steps: &str) -> Result<Plan, Box<dyn std::error::Error>> {
    let settings = [
        ("train.carry", "4"),
        ("variants.baseline", "true"),
        ("variants.cache", "40"),
        ("train.steps", steps),
        ("train.window", "32"),
        ("train.batch", "4"),
        ("model.neurons", "256"),
        ("model.d_model", "16"),
        ("model.layers", "2"),
        ("run.device", "cpu"),
    ];
    Ok(plan_with("synapses", None, &settings)?)
}

/// The bits of the losses of BDH and of the transformer at each step, for exact comparison.
fn losses(run: &mut Run, steps: usize) -> Result<Vec<[u64; 2]>, Box<dyn std::error::Error>> {
    let mut all = vec![];
    for _ in 0..steps {
        let mut both = [0; 2];
        for (variant, loss) in both.iter_mut().enumerate() {
            let stats = run.update(variant)?;
            let found = stats.scalars.iter().find(|(c, _)| c.to_string() == "loss/train").ok_or("no loss")?.1;
            *loss = found.to_bits();
        }
        run.finish_step()?;
        all.push(both);
    }
    Ok(all)
}

#[test]
fn a_run_resumed_within_a_stretch_goes_on_bit_for_bit() -> Outcome {
    let mut whole = Run::open(plan("12")?)?;
    let first = losses(&mut whole, 6)?;
    let mut kept = whole.checkpoint();
    // a checkpoint shares its tensors with the live model; copies are independent of it, like those read from a file
    for v in &mut kept.variants {
        for (_, t) in v.weights.iter_mut().chain(&mut v.moments) {
            *t = t.copy()?;
        }
    }
    let rest = losses(&mut whole, 6)?;
    // the checkpoint is in the middle of a stretch of four updates, so that the carried state matters
    assert_eq!(kept.step % 4, 2);
    let mut again = Run::open(plan("12")?)?;
    again.restore(&kept)?;
    assert_eq!(losses(&mut again, 6)?, rest);
    let mut forgetful = Run::open(plan("12")?)?;
    let mut emptied = kept.clone();
    for (name, t) in emptied.variants.iter_mut().flat_map(|v| &mut v.weights) {
        if name.starts_with("carried.") {
            *t = t.zeros_like()?;
        }
    }
    forgetful.restore(&emptied)?;
    let without = losses(&mut forgetful, 1)?[0];
    assert!(without.iter().zip(&rest[0]).all(|(a, b)| a != b), "the state does not matter");
    let mut anew = Run::open(plan("12")?)?;
    assert_eq!(losses(&mut anew, 6)?, first);
    Ok(())
}

#[test]
fn training_with_carried_state_lowers_the_loss() -> Outcome {
    let mut run = Run::open(plan("80")?)?;
    let all = losses(&mut run, 80)?;
    for (variant, share) in [0.7, 0.8].into_iter().enumerate() {
        let mean = |part: &[[u64; 2]]| part.iter().map(|l| f64::from_bits(l[variant])).sum::<f64>() / part.len() as f64;
        let (began, ended) = (mean(&all[..8]), mean(&all[72..]));
        assert!(ended < share * began, "variant {variant}: from {began} to {ended}");
    }
    Ok(())
}
