//! The probes of the model labs: their payloads, what must be true of them, and that a model is left
//! as it was found.

use candle_core::{Device, Tensor};
use orrery::{
    config::Value,
    corpus::{self, Corpus},
    models::{
        Model, Spec,
        dense::DenseSpec,
        fast_slow::{Approach, FastSlowSpec},
    },
    nn::{Tap, host},
    probe::{self, Finding, ProbeContext},
    telemetry::{Args, Payload},
};

type Outcome = Result<(), Box<dyn std::error::Error>>;

struct Bench {
    corpus: Corpus,
    model: Box<dyn Model>,
}

impl Bench {
    fn of(spec: Spec) -> Result<Self, Box<dyn std::error::Error>> {
        let corpus = Corpus::open(&corpus::Spec {
            source: corpus::Source::Generated("harbour".into()),
            tokenizer: corpus::TokenizerSpec::Byte { vocab: 320 },
            held_out: 0.1,
            seed: 1,
        })?;
        let model = spec.build(corpus.vocab(), 3, &Device::Cpu)?;
        Ok(Self { corpus, model })
    }

    fn fast_slow(spec: FastSlowSpec) -> Result<Self, Box<dyn std::error::Error>> {
        let bench = Self::of(Spec::FastSlow(FastSlowSpec { d_model: 32, ..spec }))?;
        bench.model.params().load("gamma", &Tensor::new(0.5f32, &Device::Cpu)?)?;
        Ok(bench)
    }

    fn logits(&self) -> candle_core::Result<Vec<f32>> {
        let ids = self.corpus.passage(1, 30);
        let tokens = Tensor::from_slice(&ids, (1, ids.len()), &Device::Cpu)?;
        host::to_f32(&self.model.logits(&tokens, &mut Tap::off())?)
    }

    /// Asks, and checks that nothing about the model changed.
    fn ask(&mut self, id: &str, args: &[(&str, Value)]) -> candle_core::Result<Finding> {
        let args: Args = args.iter().map(|(k, v)| ((*k).to_owned(), v.clone())).collect();
        let probe = probe::find(id).ok_or(candle_core::Error::Msg(format!("no probe {id}")))?;
        assert!(probe.applies(self.model.as_ref()), "{id} applies");
        let before = self.logits()?;
        let (model, corpus) = (self.model.as_mut(), &self.corpus);
        let answer =
            probe.ask(&mut ProbeContext { model, corpus, texts: &[], device: &Device::Cpu, seed: 0, args: &args });
        assert_eq!(self.logits()?, before, "{id} leaves the model as it found it");
        let mut findings = answer?;
        assert_eq!(findings.len(), 1);
        let finding = findings.remove(0);
        // Plain data: it survives the run folder.
        let text = serde_json::to_string(&finding.payload).map_err(candle_core::Error::wrap)?;
        let again: Payload = serde_json::from_str(&text).map_err(candle_core::Error::wrap)?;
        assert_eq!(again, finding.payload);
        Ok(finding)
    }
}

fn scalar(finding: &Finding, part: &str) -> f64 {
    match finding.payload.part(part) {
        Some(Payload::Scalar(v)) => *v,
        other => panic!("{part} is {other:?}"),
    }
}

fn line<'a>(payload: Option<&'a Payload>, name: &str) -> &'a [f64] {
    let series = payload.and_then(Payload::as_series).expect("a series");
    for line in &series.lines {
        assert_eq!(line.y.len(), series.x.len(), "{}", line.name);
    }
    let names: Vec<&str> = series.lines.iter().map(|l| l.name.as_str()).collect();
    &series.lines.iter().find(|l| l.name == name).unwrap_or_else(|| panic!("no line {name} in {names:?}")).y
}

#[test]
fn staircase() -> Outcome {
    let mut bench = Bench::fast_slow(FastSlowSpec { pool: 5, ..FastSlowSpec::default() })?;
    let pc1 = bench.ask("staircase", &[])?;
    let lines = pc1.payload.part("lines");
    let (x, y_up) = (line(lines, "x_t"), line(lines, "y_up"));
    assert_eq!(pc1.tokens.len(), x.len());
    assert!(x.len() > 40);
    for (t, y) in y_up.iter().enumerate() {
        assert!((y - y_up[t / 5 * 5]).abs() < 1e-9, "a step of five tokens: {y_up:?}");
    }
    assert!(x.windows(2).filter(|w| (w[0] - w[1]).abs() > 1e-6).count() > x.len() / 2, "the fast stream moves");
    assert_eq!(scalar(&pc1, "pool"), 5.0);
    let explained = scalar(&pc1, "explained");
    assert!(explained > 1.0 / 64.0 && explained <= 1.0, "{explained}");

    // A single channel is the raw activation, and the first block reads zero.
    let args = [
        ("text", Value::Text("The harbour was calm.".into())),
        ("coordinate", Value::Int(7)),
        ("round", Value::Int(0)),
    ];
    let channel = bench.ask("staircase", &args)?;
    assert_eq!(channel.tokens.len(), 21);
    assert_eq!(&line(channel.payload.part("lines"), "y_up")[..5], [0.0; 5]);
    assert!((0.0..=1.0).contains(&scalar(&channel, "explained")));
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
    let delta = line(found.payload.part("delta"), "max |delta logits|");
    assert_eq!(delta.len(), 25);
    assert_eq!(&delta[..10], [0.0; 10], "nothing before the change, exactly");
    assert!(delta[10] > 1e-3);
    assert_eq!(scalar(&found, "before_max"), 0.0);
    assert!((scalar(&found, "effective_gate") - 10.0).abs() < 1e-4);
    let text = |part: &str| match found.payload.part(part) {
        Some(Payload::Text(lines)) => lines.join(""),
        other => panic!("{part} is {other:?}"),
    };
    assert_eq!(text("original"), "The ship came in at noon.");
    assert_eq!(text("edited"), "The ship czme in at noon.");
    assert!(text("prediction").contains("after:"));
    let wrong = found.payload.part("wrong_upsample").and_then(Payload::as_series).ok_or("no wrong_upsample")?;
    assert!(wrong.lines[0].y[8] > 1e-4 && scalar(&found, "wrong_before_max") > 1e-4, "the leak shows: {wrong:?}");

    // Without arguments: some token in the middle of a passage becomes another.
    let usual = bench.ask("causality", &[("gate", Value::Float(2.0))])?;
    assert_eq!((scalar(&usual, "effective_gate"), scalar(&usual, "before_max")), (2.0, 0.0));
    let at = scalar(&usual, "position") as usize;
    assert!(line(usual.payload.part("delta"), "max |delta logits|")[at] > 0.0);
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
    for (layer, size) in [("pre.0", n), ("slow.1.r1", n.div_ceil(4)), ("post.0.r0", n)] {
        for head in 0..4 {
            let name = format!("{layer}.h{head}");
            let map = found.payload.part(&name).and_then(Payload::as_matrix).ok_or(name.clone())?;
            assert_eq!((map.rows, map.cols, map.data.len()), (size, size, size * size), "{name}");
            for row in 0..size {
                let values = &map.data[row * size..(row + 1) * size];
                assert!((values.iter().sum::<f32>() - 1.0).abs() < 1e-4, "{name}: row {row} is a distribution");
                assert!(values[row + 1..].iter().all(|w| *w == 0.0), "{name}: row {row} is causal");
            }
            let entropy = scalar(&found, &format!("{name}.entropy"));
            let uniform = scalar(&found, &format!("{name}.entropy_uniform"));
            assert!(entropy > 0.0 && entropy <= uniform + 1e-6, "{name}: {entropy} against {uniform}");
        }
    }
    let only = bench.ask("attention_maps", &[text.clone(), ("layer", Value::Text("slow".into()))])?;
    assert!(matches!(&only.payload, Payload::Bundle(parts) if parts.len() == 2 * 2 * 4 * 3));

    let mut dense = Bench::of(Spec::Dense(DenseSpec { d_model: 32, layers: 2, hidden: 48, ..DenseSpec::default() }))?;
    let found = dense.ask("attention_maps", &[text])?;
    assert!(found.payload.part("layers.1.h3").is_some());
    Ok(())
}

#[test]
fn residual() -> Outcome {
    let mut bench = Bench::fast_slow(FastSlowSpec {
        approach: Approach::Deq { tolerance: 1e-3, max_iters: 20 },
        projector_hidden: Some(40),
        ..FastSlowSpec::default()
    })?;
    let args = [("windows", Value::Int(2)), ("window", Value::Int(32))];
    let found = bench.ask("residual", &args)?;
    let series = Some(&found.payload);
    for round in 0..2 {
        let passes = line(series, &format!("passes, round {round}"));
        let anderson = line(series, &format!("Anderson(1), round {round}"));
        let deq = line(series, &format!("DEQ, round {round}"));
        assert_eq!(passes.len(), 9);
        assert!(passes.iter().chain(anderson).chain(deq).all(|v| v.is_finite() && *v >= 0.0));
        assert_eq!(passes[..2], anderson[..2], "one evaluation of Post is one pass");
        assert_eq!(line(series, &format!("learned projector, round {round}"))[8], passes[0]);
        assert!((deq[0] - passes[0]).abs() < 1e-5 && deq[8] < deq[0], "the solve gets somewhere: {deq:?}");
    }
    Ok(())
}
