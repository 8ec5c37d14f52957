//! Tests the probes of the model labs: the properties that their measurements must have, and that a probe leaves the
//! model unchanged.

use candle_core::{Device, Tensor};
use orrery::{
    config::Value,
    corpus::{Corpus, TokenizerSpec},
    models::{
        ModelSpec, Trainable,
        coupled_qk::{CoupledQkSpec, QkVariant},
        dense::DenseSpec,
        fast_slow::{Approach, FastSlowSpec},
    },
    nn::{Tap, host},
    probe::{self, Answer, ProbeInputs},
    telemetry::{
        Args, Measurement, Payload,
        measurements::{
            AttentionMaps, AttentionStatistics, Causality, LongAttentionMaps, Residual, ResidualMethod, Staircase,
        },
    },
};

use crate::corpus::open_generated;

type Outcome = Result<(), Box<dyn std::error::Error>>;

struct Bench {
    corpus: Corpus,
    model: Box<dyn Trainable>,
}

impl Bench {
    fn new(spec: ModelSpec) -> Result<Self, Box<dyn std::error::Error>> {
        let corpus = open_generated("harbour", TokenizerSpec::Byte { vocab: 320 });
        let model = spec.build(corpus.vocab(), 3, &Device::Cpu)?;
        Ok(Self { corpus, model })
    }

    fn fast_slow(spec: FastSlowSpec) -> Result<Self, Box<dyn std::error::Error>> {
        let bench = Self::new(ModelSpec::FastSlow(FastSlowSpec { d_model: 32, ..spec }))?;
        bench.model.params().load("gamma", &Tensor::new(0.5f32, &Device::Cpu)?)?;
        Ok(bench)
    }

    fn logits(&self) -> candle_core::Result<Vec<f32>> {
        let ids = self.corpus.passage(1, 30);
        let tokens = Tensor::from_slice(&ids, (1, ids.len()), &Device::Cpu)?;
        host::to_f32(&self.model.token_model()?.logits(&tokens, &mut Tap::off())?)
    }

    /// Asks a probe, and checks that the model's logits do not change and that the measurement can be stored and read.
    fn ask(&mut self, id: &str, args: &[(&str, Value)]) -> candle_core::Result<Answer> {
        let args: Args = args.iter().map(|(k, v)| ((*k).to_owned(), v.clone())).collect();
        let probe = probe::find(id).ok_or(candle_core::Error::Msg(format!("no probe {id}")))?;
        let before = self.logits()?;
        let inputs = ProbeInputs::standalone(&self.corpus, &Device::Cpu);
        let answer = (probe.ask)(self.model.as_mut(), &args, &inputs);
        assert_eq!(self.logits()?, before, "{id} leaves the model as it found it");
        let mut findings = answer?;
        assert_eq!(findings.len(), 1);
        let finding = findings.remove(0);
        // the measurement survives encoding and decoding, as in a run folder
        let text = serde_json::to_string(&finding.payload).map_err(candle_core::Error::wrap)?;
        let json = serde_json::from_str(&text).map_err(candle_core::Error::wrap)?;
        let again =
            Payload::decode(finding.payload.channel().unwrap_or_default(), json).map_err(candle_core::Error::wrap)?;
        assert_eq!(again, finding.payload);
        Ok(finding)
    }
}

fn decoded<M: Measurement>(finding: &Answer) -> &M {
    M::from_payload(&finding.payload).unwrap_or_else(|| panic!("{} holds {:?}", M::CHANNEL, finding.payload))
}

#[test]
fn staircase() -> Outcome {
    let mut bench = Bench::fast_slow(FastSlowSpec { pool: 5, ..FastSlowSpec::default() })?;
    let pc1 = bench.ask("staircase", &[])?;
    let measured: &Staircase = decoded(&pc1);
    let (x, y_up) = (&measured.fast, &measured.slow);
    assert_eq!(x.len(), y_up.len());
    assert_eq!(pc1.tokens.len(), x.len());
    assert!(x.len() > 40);
    for (t, y) in y_up.iter().enumerate() {
        assert!((y - y_up[t / 5 * 5]).abs() < 1e-9, "a step of five tokens: {y_up:?}");
    }
    assert!(x.windows(2).filter(|w| (w[0] - w[1]).abs() > 1e-6).count() > x.len() / 2, "the fast stream moves");
    assert_eq!(measured.pool, 5);
    let explained = measured.explained;
    assert!(explained > 1.0 / 64.0 && explained <= 1.0, "{explained}");

    // a single coordinate is the raw activation, and the slow path is zero in the first block
    let args = [
        ("text", Value::Text("The harbour was calm.".into())),
        ("coordinate", Value::Int(7)),
        ("round", Value::Int(0)),
    ];
    let channel = bench.ask("staircase", &args)?;
    assert_eq!(channel.tokens.len(), 21);
    let measured: &Staircase = decoded(&channel);
    assert_eq!(measured.slow[..5], [0.0; 5]);
    assert!((0.0..=1.0).contains(&measured.explained));
    let message = bench.ask("staircase", &[("coordinate", Value::Int(32))]).err().map(|e| e.to_string());
    assert!(message.is_some_and(|m| m.contains("coordinate `32`")));
    Ok(())
}

#[test]
fn causality() -> Outcome {
    let mut bench = Bench::fast_slow(FastSlowSpec::default())?;
    let args = [
        ("text", Value::Text("The ship came in at noon.".into())),
        ("position", Value::Int(10)),
        ("replacement", Value::Text("z".into())),
        ("coupling_scale", Value::Float(10.0 / 0.5f64.tanh())),
        ("show_wrong", Value::Switch(true)),
    ];
    let found = bench.ask("causality", &args)?;
    let measured: &Causality = decoded(&found);
    let delta = &measured.delta;
    assert_eq!(delta.len(), 25);
    assert_eq!(&delta[..10], [0.0; 10], "nothing before the change, exactly");
    assert!(delta[10] > 1e-3);
    assert_eq!((measured.before_max, measured.position), (0.0, 10));
    assert!((measured.effective_gate - 10.0).abs() < 1e-4);
    assert_eq!(measured.original, "The ship came in at noon.");
    assert_eq!(measured.edited, "The ship czme in at noon.");
    assert_eq!(measured.edit_label(&found.tokens).as_deref(), Some("token 10: a \u{2192} z"));
    assert!(found.about.ends_with(", token 10: a \u{2192} z"), "{}", found.about);
    let likely = &measured.predictions.edited;
    assert!(likely.len() == 5 && likely.windows(2).all(|w| w[0].probability >= w[1].probability), "{likely:?}");
    let leaky = measured.leaky_upsample.as_ref().ok_or("no leaky upsample")?;
    assert!(leaky.delta[8] > 1e-4 && leaky.before_max > 1e-4, "the leak shows: {leaky:?}");

    // by default, a token in the middle of a passage is changed
    let usual = bench.ask("causality", &[("gate", Value::Float(2.0))])?;
    let measured: &Causality = decoded(&usual);
    assert_eq!((measured.effective_gate, measured.before_max), (2.0, 0.0));
    assert!(measured.delta[measured.position] > 0.0 && measured.leaky_upsample.is_none());
    let here = &usual.tokens[measured.position];
    assert!(!measured.replacement.is_empty() && measured.replacement != *here, "it says what it chose: {measured:?}");
    let outside = bench.ask("causality", &[("position", Value::Int(500))]).err().map(|e| e.to_string());
    assert!(outside.is_some_and(|m| m.contains("position 500")));
    Ok(())
}

#[test]
fn attention_maps() -> Outcome {
    let text = ("text", Value::Text("The keeper of the light wrote to the mayor.".into()));
    let mut bench = Bench::fast_slow(FastSlowSpec::default())?;
    let found = bench.ask("attention_maps", std::slice::from_ref(&text))?;
    let n = found.tokens.len();
    assert_eq!(n, 43);
    let maps: &AttentionMaps = decoded(&found);
    for (path, size, tokens) in [("pre.0", n, 1), ("slow.1.r1", n.div_ceil(4), 4), ("post.0.r0", n, 1)] {
        let layer = maps.layers.iter().find(|l| l.path == path).ok_or(path)?;
        assert_eq!(layer.weights.shape(), [4, size, size], "{path}");
        assert_eq!(layer.tokens_per_position, tokens, "{path}");
        for (head, map) in (0..4).filter_map(|head| Some((head, layer.weights.matrix(head)?))) {
            for (row, values) in map.data.chunks(size).enumerate() {
                // the relative error of a half-precision weight is at most 2^-11
                let off = (values.iter().sum::<f32>() - 1.0).abs();
                assert!(off < f32::exp2(-11.0) + 1e-5, "{path} head {head}: row {row} is a distribution");
                assert!(values[row + 1..].iter().all(|w| *w == 0.0), "{path} head {head}: row {row} is causal");
                assert!(values[..=row].iter().all(|w| *w > 0.0), "{path} head {head}: row {row} sees its past");
            }
            let (entropy, uniform) = (layer.entropy[head], layer.uniform_entropy[head]);
            assert!(entropy > 0.0 && entropy <= uniform + 1e-6, "{path} head {head}: {entropy} against {uniform}");
        }
    }
    let only = bench.ask("attention_maps", &[text.clone(), ("layer", Value::Text("slow".into()))])?;
    assert_eq!(decoded::<AttentionMaps>(&only).layers.len(), 2 * 2);

    let mut dense =
        Bench::new(ModelSpec::Dense(DenseSpec { d_model: 32, layers: 2, hidden: 48, ..DenseSpec::default() }))?;
    let found = dense.ask("attention_maps", &[text])?;
    let last = decoded::<AttentionMaps>(&found).layers.last().ok_or("no layer")?;
    assert_eq!((last.path.as_str(), last.heads()), ("layers.1", 4));
    Ok(())
}

fn coupled(variant: QkVariant) -> Result<Bench, Box<dyn std::error::Error>> {
    Bench::new(ModelSpec::CoupledQk(CoupledQkSpec {
        d_model: 32,
        layers: 3,
        hidden: 48,
        variant,
        ..CoupledQkSpec::default()
    }))
}

#[test]
fn statistics_are_those_of_the_maps() -> Outcome {
    let args = [("windows", Value::Int(1)), ("length", Value::Int(40))];
    for variant in [QkVariant::Standard, QkVariant::Diff] {
        let mut bench = coupled(variant)?;
        let found = bench.ask("attention_statistics", &args)?;
        let measured: &AttentionStatistics = decoded(&found);
        assert_eq!((measured.windows, measured.tokens, measured.layers.len()), (1, 40, 3));
        let text = bench.corpus.decode(&bench.corpus.held_out(1, 40)?.inputs);
        let maps = bench.ask("long_attention_maps", &[("text", Value::Text(text))])?;
        for (layer, map) in measured.layers.iter().zip(&decoded::<LongAttentionMaps>(&maps).layers) {
            assert_eq!((&layer.path, layer.is_differential), (&map.path, variant.is_differential()));
            assert_eq!(map.is_differential, layer.is_differential);
            for head in 0..4 {
                assert!((layer.entropy[head] - map.entropy[head]).abs() < 1e-6);
                assert!((0.0..=1.0).contains(&layer.sink[head]) && (0.0..=1.0).contains(&layer.top_share[head]));
                assert!((1.0..=40.0).contains(&layer.effective_rank[head]));
                let weights = map.weights.matrix(head).ok_or("no map")?.data;
                let rows = weights.chunks(40).skip(1);
                let sink = rows.map(|r| r[0].abs() / r.iter().map(|w| w.abs()).sum::<f32>()).sum::<f32>() / 39.0;
                assert!((layer.sink[head] - f64::from(sink)).abs() < 1e-3, "{variant:?}: {sink}");
                let last: f32 = weights[39 * 40..].iter().sum();
                let is_share = (last - 1.0).abs() < 1e-3 && weights.iter().all(|w| *w >= 0.0);
                assert_eq!(is_share, !variant.is_differential(), "{variant:?} {} head {head}: {last}", layer.path);
            }
            assert!((layer.uniform.entropy - map.uniform_entropy[0]).abs() < 1e-6);
            let harmonic: f64 = (2..=40).map(|n| 1.0 / f64::from(n)).sum::<f64>() / 39.0;
            assert!((layer.uniform.sink - harmonic).abs() < 1e-6);
        }
    }
    Ok(())
}

#[test]
fn statistics_are_means_over_windows() -> Outcome {
    let mut bench = coupled(QkVariant::Standard)?;
    let mut ask = |windows| {
        let found =
            bench.ask("attention_statistics", &[("windows", Value::Int(windows)), ("length", Value::Int(24))])?;
        Ok::<_, Box<dyn std::error::Error>>(decoded::<AttentionStatistics>(&found).clone())
    };
    let (one, three) = (ask(1)?, ask(3)?);
    assert_eq!((one.windows, three.windows), (1, 3));
    assert!(one.layers[1].entropy != three.layers[1].entropy && one.layers[1].uniform == three.layers[1].uniform);
    Ok(())
}

#[test]
fn maps_of_a_long_text_are_whole_for_the_wanted_layer() -> Outcome {
    let mut bench =
        Bench::new(ModelSpec::Dense(DenseSpec { d_model: 32, layers: 4, hidden: 48, ..DenseSpec::default() }))?;
    let long = [("length", Value::Int(600)), ("layer", Value::Text("layers.2".into()))];
    let found = bench.ask("long_attention_maps", &long)?;
    let measured: &LongAttentionMaps = decoded(&found);
    let n = found.tokens.len();
    assert!(n > 500, "{n} tokens");
    assert_eq!(measured.layers.iter().map(|l| l.path.as_str()).collect::<Vec<_>>(), ["layers.2"]);
    assert_eq!(measured.layers[0].weights.shape(), [4, n, n]);
    assert!(measured.thumbnails.len() == 4 && measured.thumbnails.iter().all(|l| l.positions() <= 64));
    let short = bench.ask("long_attention_maps", &[("length", Value::Int(100))])?;
    assert_eq!(decoded::<LongAttentionMaps>(&short).layers.len(), 4);
    Ok(())
}

/// With a closed gate nothing is injected, and a DEQ solves the fixed-point equation of the post block alone.
#[test]
fn residual_of_a_deq_with_its_gate_shut_is_that_of_post() -> Outcome {
    let approach = Approach::Deq { tolerance: 1e-3, max_iters: 5 };
    let mut bench = Bench::fast_slow(FastSlowSpec { approach, ..FastSlowSpec::default() })?;
    bench.model.params().load("gamma", &Tensor::new(0f32, &Device::Cpu)?)?;
    let found = bench.ask("residual", &[("windows", Value::Int(2)), ("window", Value::Int(32))])?;
    let curves = &decoded::<Residual>(&found).curves;
    for round in 0..2 {
        let curve = |method| curves.iter().find(|c| c.method == method && c.round == round).map(|c| c.residual[0]);
        let (deq, passes) = (curve(ResidualMethod::Deq), curve(ResidualMethod::Passes));
        assert!(deq.zip(passes).is_some_and(|(a, b)| a.is_finite() && (a - b).abs() < 1e-5), "{deq:?} {passes:?}");
        assert_eq!(curve(ResidualMethod::BackwardEuler), None);
    }
    Ok(())
}

#[test]
fn residual() -> Outcome {
    let mut bench = Bench::fast_slow(FastSlowSpec {
        approach: Approach::BackwardEuler { tolerance: 1e-3, max_iters: 20 },
        projector_hidden: Some(40),
        ..FastSlowSpec::default()
    })?;
    let args = [("windows", Value::Int(2)), ("window", Value::Int(32))];
    let found = bench.ask("residual", &args)?;
    let curves = &decoded::<Residual>(&found).curves;
    for round in 0..2 {
        let curve = |method| {
            let found = curves.iter().find(|c| c.method == method && c.round == round);
            &found.unwrap_or_else(|| panic!("no curve of {method}, round {round}")).residual
        };
        let passes = curve(ResidualMethod::Passes);
        let anderson = curve(ResidualMethod::Anderson);
        let deq = curve(ResidualMethod::BackwardEuler);
        assert_eq!(passes.len(), 9);
        assert!(passes.iter().chain(anderson).chain(deq).all(|v| v.is_finite() && *v >= 0.0));
        assert_eq!(passes[..2], anderson[..2], "one evaluation of Post is one pass");
        assert_eq!(curve(ResidualMethod::LearnedProjector)[8], passes[0]);
        assert!((deq[0] - passes[0]).abs() < 1e-5 && deq[8] < deq[0], "the solve gets somewhere: {deq:?}");
    }
    Ok(())
}
