//! Training with a state that outlives its batch: batches continue each other, what is carried is what
//! streaming would hold, a resumed run goes on bit for bit, and it learns.

use candle_core::{DType, Device, Tensor};
use orrery::{
    corpus::{Corpus, CorpusSpec, Position, Source, TokenizerSpec},
    labs,
    models::{
        Trainable,
        bdh::{Bdh, BdhSpec, Carry, Form},
        capabilities::{State, SynapseModel},
    },
    nn::{Batch, Tap, fused::cross_entropy::cross_entropy, host},
    trainer::{Plan, Run},
};

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn corpus(tokenizer: TokenizerSpec) -> Result<Corpus, orrery::corpus::CorpusError> {
    Corpus::open(&CorpusSpec { source: Source::Generated("mixture".into()), tokenizer, held_out: 0.1, seed: 1 })
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
        // the whole text of a row, from its four batches
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
fn what_is_carried_is_what_streaming_holds() -> Outcome {
    for form in [Form::Code, Form::Paper, Form::Both, Form::FinalNorm] {
        let (rows, t) = (2, 12);
        let spec = BdhSpec { d_model: 16, heads: 2, neurons: 96, layers: 3, form, ..BdhSpec::default() };
        let mut model =
            Bdh::new(&BdhSpec { carry: Some(Carry { rows, every: 3 }), ..spec.clone() }, 31, 3, &Device::Cpu)?;
        assert_eq!(model.params().count(), spec.parameters(31), "what is carried is no weight");
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

fn plan(steps: &str) -> Result<Plan, Box<dyn std::error::Error>> {
    let lab = labs::find("synapses").ok_or("the lab is gone")?;
    let (knobs, mut config) = ((lab.knobs)(), lab.config(None)?);
    for (key, value) in [
        ("train.carry", "4"),
        ("train.steps", steps),
        ("train.window", "32"),
        ("train.batch", "4"),
        ("model.neurons", "256"),
        ("model.d_model", "16"),
        ("model.layers", "2"),
        ("run.device", "cpu"),
    ] {
        config.set_text(&knobs, key, value)?;
    }
    Ok((lab.plan)(&config)?)
}

fn losses(run: &mut Run, steps: usize) -> Result<Vec<u64>, Box<dyn std::error::Error>> {
    let mut all = vec![];
    for _ in 0..steps {
        let stats = run.update(0)?;
        run.finish_step()?;
        let loss = stats.scalars.iter().find(|(c, _)| c.to_string() == "loss/train").ok_or("no loss")?.1;
        all.push(loss.to_bits());
    }
    Ok(all)
}

#[test]
fn a_run_resumed_within_a_stretch_goes_on_bit_for_bit() -> Outcome {
    let mut whole = Run::open(plan("12")?)?;
    let first = losses(&mut whole, 6)?;
    let mut kept = whole.checkpoint();
    // its tensors are the live ones, as a file's are not
    for v in &mut kept.variants {
        for (_, t) in v.weights.iter_mut().chain(&mut v.moments) {
            *t = t.copy()?;
        }
    }
    let rest = losses(&mut whole, 6)?;
    // the second of four updates of a stretch
    assert_eq!(kept.step % 4, 2);
    let mut again = Run::open(plan("12")?)?;
    again.restore(&kept)?;
    assert_eq!(losses(&mut again, 6)?, rest);
    let mut forgetful = Run::open(plan("12")?)?;
    let mut emptied = kept.clone();
    for (name, t) in &mut emptied.variants[0].weights {
        if name.starts_with("carried.") {
            *t = t.zeros_like()?;
        }
    }
    forgetful.restore(&emptied)?;
    assert_ne!(losses(&mut forgetful, 1)?[0], rest[0], "the state does not matter");
    let mut anew = Run::open(plan("12")?)?;
    assert_eq!(losses(&mut anew, 6)?, first);
    Ok(())
}

#[test]
fn it_learns() -> Outcome {
    let mut run = Run::open(plan("80")?)?;
    let all: Vec<f64> = losses(&mut run, 80)?.into_iter().map(f64::from_bits).collect();
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
    let (began, ended) = (mean(&all[..8]), mean(&all[72..]));
    assert!(ended < 0.7 * began, "from {began} to {ended}");
    Ok(())
}
