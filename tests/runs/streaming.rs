//! Tests the probes of streamed texts: their measurements of small models, and their messages if there is nothing to
//! stream.

use std::{
    fs,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
};

use candle_core::Device;
use orrery::{
    config::Value,
    corpus::{self, Corpus, Source, TokenizerSpec},
    models::{
        Trainable,
        gpt::{AlibiGptSpec, Gpt},
        spen::{Predictor, Spen, SpenSpec},
    },
    probe::{self, ProbeInputs, Progress},
    telemetry::{
        Args, Measurement,
        measurements::{Adaptation, FastWeights, Uncertainty, WarmUp},
    },
};

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn open(source: Source, tokenizer: TokenizerSpec) -> Result<Corpus, corpus::CorpusError> {
    Corpus::open(&corpus::CorpusSpec::new(source, tokenizer))
}

fn bytes() -> TokenizerSpec {
    TokenizerSpec::Byte { vocab: 256 }
}

fn prose() -> Result<Corpus, corpus::CorpusError> {
    open(Source::Generated("harbour".into()), bytes())
}

fn model(corpus: &Corpus, predictor: Predictor) -> candle_core::Result<Spen> {
    let spec = SpenSpec { d_model: 16, hidden: 32, kept: 6, predictor, ..SpenSpec::default() };
    Spen::new(&spec, corpus.vocab(), 3, &Device::Cpu)
}

fn args(all: &[(&str, f64)]) -> Args {
    all.iter().map(|(name, value)| ((*name).to_owned(), Value::Float(*value))).collect()
}

fn ask<M: Measurement>(model: &mut dyn Trainable, corpus: &Corpus, args: &Args) -> candle_core::Result<M> {
    let probe = probe::find(M::PROBE).ok_or(candle_core::Error::Msg("no probe".into()))?;
    assert!(probe.is_slow);
    let found = (probe.ask)(model, args, &ProbeInputs::standalone(corpus, &Device::Cpu))?;
    let found = found.first().and_then(|f| M::from_payload(&f.payload)).cloned();
    found.ok_or(candle_core::Error::Msg("no answer".into()))
}

#[test]
fn warm_up_compares_the_same_windows() -> Outcome {
    let corpus = prose()?;
    let sizes = args(&[("tokens", 330.0), ("window", 50.0), ("streams", 3.0)]);
    for predictor in [Predictor::Static, Predictor::LinearAttention, Predictor::SoftmaxAttention] {
        let found: WarmUp = ask(&mut model(&corpus, predictor)?, &corpus, &sizes)?;
        assert_eq!((found.window, found.streams, found.notes.len()), (50, 3, 0));
        let names: Vec<&str> = found.texts.iter().map(|t| t.name.as_str()).collect();
        assert_eq!(names, ["own text (harbour)", "code", "sums"]);
        for text in &found.texts {
            assert_eq!((text.streamed.len(), text.reset.len(), text.reset_by_position.len()), (6, 6, 50));
            assert!((text.streamed[0] / text.reset[0] - 1.0).abs() < 1e-6, "the first window begins with empty traces");
            assert_ne!(text.streamed[1], text.reset[1]);
            assert!(text.streamed.iter().chain(&text.reset).all(|p| (50.0..500.0).contains(p)), "about 256: {text:?}");
            let gap: f64 = text.reset_by_position.iter().zip(&text.streamed_by_position).map(|(r, s)| r - s).sum();
            assert!((gap / 50.0 - text.saved).abs() < 1e-9);
            assert!(text.saved_low <= text.saved && text.saved <= text.saved_high);
        }
        assert!((found.retention[0].share - 0.364).abs() < 1e-3 && (found.retention[1].share - 0.0176).abs() < 1e-3);
    }
    Ok(())
}

#[test]
fn the_sweep_has_every_setting_and_its_baseline() -> Outcome {
    let corpus = prose()?;
    let mut sizes = args(&[("tokens", 120.0), ("streams", 2.0)]);
    sizes.insert("rates".into(), Value::Text("0.01, 1e-9".into()));
    sizes.insert("limits".into(), Value::Text("1,100".into()));
    let mut model = model(&corpus, Predictor::Static)?;
    let found: FastWeights = ask(&mut model, &corpus, &sizes)?;
    assert_eq!((*found.rates).as_slice(), [1e-9, 0.01]);
    assert_eq!((found.texts.len(), found.sweep.len(), found.without_base.len()), (2, 4, 2));
    for text in 0..2 {
        assert!(found.sweep[0].change[text].abs() < 1e-6, "hardly learns: {:?}", found.sweep[0]);
        assert!(found.sweep[3].change[text].abs() > 1e-6);
        assert_ne!(found.without_base[0].perplexity[text], found.baseline[text]);
        let change = found.sweep[3].perplexity[text] / found.baseline[text] - 1.0;
        assert!((change - found.sweep[3].change[text]).abs() < 1e-9, "equally long streams");
    }
    sizes.insert("rates".into(), Value::Text("fast".into()));
    let refused = ask::<FastWeights>(&mut model, &corpus, &sizes).err().map(|e| e.to_string()).unwrap_or_default();
    assert!(refused.contains("`fast` is not a list of rates"), "{refused}");
    Ok(())
}

#[test]
fn a_sweep_ends_when_nobody_wants_it() -> Outcome {
    let corpus = prose()?;
    let (cancelled, reports) = (AtomicBool::new(false), AtomicUsize::new(0));
    let report = |_: f32| {
        if reports.fetch_add(1, Ordering::Relaxed) == 5 {
            cancelled.store(true, Ordering::Relaxed);
        }
    };
    let mut model = model(&corpus, Predictor::Static)?;
    let progress = Progress::new(&report, &cancelled);
    let inputs = ProbeInputs { progress, ..ProbeInputs::standalone(&corpus, &Device::Cpu) };
    let ended = (probe::find("fast_weights").ok_or("no probe")?.ask)(&mut model, &Args::new(), &inputs);
    assert!(ended.is_err_and(|e| e.to_string().contains("cancelled")));
    assert_eq!(reports.load(Ordering::Relaxed), 6);
    Ok(())
}

#[test]
fn uncertainty_compares_windows_with_those_of_the_own_text() -> Outcome {
    let corpus = prose()?;
    let sizes = args(&[("tokens", 500.0), ("streams", 4.0)]);
    let found: Uncertainty = ask(&mut model(&corpus, Predictor::Static)?, &corpus, &sizes)?;
    assert_eq!((found.window, found.streams, found.skipped, found.texts.len()), (50, 4, 300, 4));
    for text in &found.texts {
        assert_eq!((text.uncertainty.len(), text.surprise.len()), (16, 16));
        for area in [text.by_uncertainty, text.by_surprise] {
            assert!(area.low <= area.value && area.value <= area.high && (0.0..=1.0).contains(&area.value));
        }
    }
    // with a limit of 1, every channel's precision is capped, so the uncertainty is 1 everywhere and separates nothing
    let limited = args(&[("tokens", 500.0), ("streams", 4.0), ("most_precision", 1.0)]);
    let found: Uncertainty = ask(&mut model(&corpus, Predictor::Static)?, &corpus, &limited)?;
    assert!(found.texts.iter().all(|t| t.uncertainty.iter().all(|u| (*u - 1.0).abs() < 1e-5)), "{found:?}");
    assert!(found.texts.iter().all(|t| (t.by_uncertainty.value - 0.5).abs() < 1e-12));
    Ok(())
}

#[test]
fn nan_losses_stay_nan() -> Outcome {
    let corpus = prose()?;
    let mut model = model(&corpus, Predictor::Static)?;
    let weight = model.params().get("embed.weight").ok_or("no embedding")?.as_tensor().affine(f64::NAN, 0.0)?;
    model.params().load("embed.weight", &weight)?;
    let mut sizes = args(&[("tokens", 400.0), ("streams", 2.0), ("window", 50.0)]);
    let found: WarmUp = ask(&mut model, &corpus, &sizes)?;
    assert!(found.texts[0].saved.is_nan() && found.texts[0].streamed[0].is_nan());
    let found: Uncertainty = ask(&mut model, &corpus, &sizes)?;
    assert!(found.texts[1].by_uncertainty.value.is_nan() && found.texts[1].by_surprise.value.is_nan());
    sizes.remove("window");
    let found: FastWeights = ask(&mut model, &corpus, &sizes)?;
    assert!(found.baseline[0].is_nan());
    Ok(())
}

#[test]
fn texts_that_cannot_be_streamed_are_named_in_notes() -> Outcome {
    let sizes = args(&[("tokens", 400.0), ("streams", 2.0)]);
    let all = open(Source::Domains(8), bytes())?;
    let found: WarmUp = ask(&mut model(&all, Predictor::Static)?, &all, &sizes)?;
    assert_eq!(found.texts.len(), 1);
    assert!(found.notes[0].contains("mixes all generated domains"), "{:?}", found.notes);

    let some = open(Source::Domains(6), bytes())?;
    let found: WarmUp = ask(&mut model(&some, Predictor::Static)?, &some, &sizes)?;
    assert_eq!(found.texts[1].name, "a catalogue");

    // a word tokenizer of one domain lacks the words of others
    let words = open(Source::Generated("harbour".into()), TokenizerSpec::Word { max_vocab: 400 })?;
    let found: WarmUp = ask(&mut model(&words, Predictor::Static)?, &words, &sizes)?;
    assert!(found.notes[0].starts_with("code left out: the tokeniser does not know"), "{:?}", found.notes);

    let task = open(Source::Generated("mqar_easy".into()), TokenizerSpec::Word { max_vocab: 400 })?;
    let mut model = model(&task, Predictor::Static)?;
    let refused = ask::<WarmUp>(&mut model, &task, &sizes).err().map(|e| e.to_string()).unwrap_or_default();
    assert!(refused.contains("choose running text"), "{refused}");
    Ok(())
}

#[test]
fn a_short_text_is_read_in_short_streams() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("short.txt");
    fs::write(&path, "the quick brown fox jumps over the lazy dog. ".repeat(120))?;
    let corpus = open(Source::File(path.clone()), bytes())?;
    let mut model = model(&corpus, Predictor::Static)?;
    let found: WarmUp = ask(&mut model, &corpus, &args(&[("window", 50.0)]))?;
    assert!(found.streams >= 1 && found.texts[0].streamed.len() >= 2, "{found:?}");
    // the text is shorter than a window
    let refused = ask::<WarmUp>(&mut model, &corpus, &args(&[("window", 1000.0)]));
    assert!(refused.is_err_and(|e| e.to_string().contains("short.txt")));
    Ok(())
}

#[test]
fn learning_from_a_foreign_text_saves_there_and_leaves_the_model() -> Outcome {
    let corpus = prose()?;
    let mut sizes = args(&[("tokens", 320.0), ("streams", 3.0), ("window", 40.0)]);
    let spec = AlibiGptSpec { d_model: 16, heads: 2, layers: 1, ..AlibiGptSpec::default() };
    let mut gpt = Gpt::with_alibi(&spec, corpus.vocab(), 3, &Device::Cpu)?;
    let weights = |model: &Gpt| -> candle_core::Result<Vec<Vec<f32>>> {
        model.params().iter().map(|(_, var)| orrery::nn::host::to_f32(var)).collect()
    };
    let before = weights(&gpt)?;
    sizes.insert("rates".into(), Value::Text("1e-12, 0.01".into()));
    let tuned: Adaptation = ask(&mut gpt, &corpus, &sizes)?;
    assert_eq!((tuned.method.as_str(), tuned.streams), ("fine-tuning", 3));
    assert_eq!((tuned.own_tokens, tuned.foreign_tokens), (320, 800));
    assert_eq!(before, weights(&gpt)?, "a copy learns");
    let [still, quick] = &tuned.settings[..] else { return Err("two rates were asked for".into()) };
    assert!(still.adaptation.mean.abs() < 1e-3 && still.forgetting.mean.abs() < 1e-3, "{still:?}");
    // an untrained model learns the foreign text and has nothing to forget
    assert!(quick.adaptation.mean > 0.3, "{quick:?}");
    assert!(tuned.own_perplexity > 100.0 && tuned.foreign_perplexity > 100.0);

    sizes.insert("rates".into(), Value::Text("1e-9, 0.001".into()));
    let fast: Adaptation = ask(&mut model(&corpus, Predictor::Static)?, &corpus, &sizes)?;
    assert_eq!((fast.method.as_str(), fast.settings.len()), ("fast weights", 2));
    assert!(fast.settings[0].adaptation.mean.abs() < 1e-3, "{:?}", fast.settings[0]);
    let all = open(Source::Domains(8), bytes())?;
    let refused = ask::<Adaptation>(&mut gpt, &all, &sizes).err().map(|e| e.to_string()).unwrap_or_default();
    assert!(refused.contains("no foreign text to learn from"), "{refused}");
    Ok(())
}
