//! Tests runs of the EMA language model's lab: inconsistent settings are named, every probe works for every variant,
//! and a text that is too short, empty or of one symbol leads to a message or a run, never to a panic.

use std::{fs, path::Path};

use orrery::{
    config::Value,
    labs::spen::LAB,
    models::ModelSpec,
    nn::{self, residual_mixing::ResidualMixing},
    telemetry::{
        Args, Measurement,
        measurements::{Autocorrelation, PositionLosses, TokenBaselines, TraceReading, UnitUsage},
    },
    trainer::{Plan, Run},
};

const SMALL: &[(&str, &str)] = &[
    ("model.d_model", "16"),
    ("model.hidden", "32"),
    ("model.kept", "4"),
    ("train.steps", "3"),
    ("train.batch", "2"),
    ("train.window", "16"),
    ("run.eval_windows", "4"),
    ("run.threads", "1"),
];
const ALL: &[(&str, &str)] = &[
    ("mechanism.learned", "true"),
    ("mechanism.linear", "true"),
    ("predictor.linear_traces", "true"),
    ("predictor.linear_input", "true"),
    ("predictor.softmax_traces", "true"),
    ("predictor.softmax_input", "true"),
    ("predictor.softmax_full", "true"),
    ("compare.as_large", "true"),
];

/// Settings of models with fewer parameters than any transformer with a vocabulary of 65,536 tokens.
const TOO_SMALL: &[(&str, &str)] =
    &[("compare.transformer", "true"), ("model.d_model", "8"), ("model.heads", "2"), ("corpus.vocab", "65536")];

fn plan(more: &[(&str, &str)]) -> Result<Plan, String> {
    let knobs = (LAB.knobs)();
    let mut config = LAB.config(None).unwrap();
    for (key, value) in [SMALL, more].concat() {
        config.set_text(&knobs, key, value).map_err(|e| e.to_string())?;
    }
    (LAB.plan)(&config).map_err(|e| e.to_string())
}

fn ask_all<M: Measurement>(run: &mut Run, variant: usize, args: &Args) -> Vec<M> {
    let samples = run.ask(variant, M::PROBE, args).unwrap();
    samples.iter().filter_map(|s| s.measurement::<M>().cloned()).collect()
}

#[test]
fn every_probe_answers_of_every_variant() {
    let plan = plan(ALL).unwrap();
    let probes = plan.probes.clone();
    let args = |probe: &str| probes.iter().find(|p| p.probe == probe).unwrap().args.clone();
    let mut run = Run::open(plan).unwrap();
    assert_eq!(run.variants.len(), 11);
    for variant in 0..run.variants.len() {
        run.update(variant).unwrap();
        let [usage] = ask_all::<UnitUsage>(&mut run, variant, &args("unit_usage")).try_into().unwrap();
        for block in &usage.blocks {
            let sum: f64 = block.usage.iter().sum();
            assert!((sum - usage.kept as f64).abs() < 1e-9, "{variant}: {sum} units are kept, not {}", usage.kept);
        }
        let [found] = ask_all::<Autocorrelation>(&mut run, variant, &args("autocorrelation")).try_into().unwrap();
        for block in &found.blocks {
            assert!((block.input[0] - 1.0).abs() < 1e-9);
            for (kept, a) in block.retention.iter().zip([0.5, 0.1, 0.02]) {
                assert!((kept[1] - (1.0 - a)).abs() < 0.05, "{variant}: {} of a {a} trace is left", kept[1]);
            }
        }
        let [losses] = ask_all::<PositionLosses>(&mut run, variant, &args("position_losses")).try_into().unwrap();
        assert_eq!(losses.edges.last(), Some(&64));
        assert!(losses.loss.iter().all(|v| (1.0..8.0).contains(v)), "{:?}", losses.loss);
        // 64 windows would be longer, so `longest` limits the text to 200 tokens
        let mut longer = args("position_losses");
        for (key, value) in [("times", 64), ("longest", 200), ("texts", 1)] {
            longer.insert(key.to_owned(), Value::Int(value));
        }
        let [losses] = ask_all::<PositionLosses>(&mut run, variant, &longer).try_into().unwrap();
        assert_eq!((losses.edges.last(), losses.texts), (Some(&200), 1));
        let reading =
            Args::from([("text".to_owned(), Value::Text("The sea.".to_owned())), ("length".to_owned(), Value::Int(5))]);
        let [read] = ask_all::<TraceReading>(&mut run, variant, &reading).try_into().unwrap();
        assert!(read.is_typed && read.prompt == 8 && read.surprise.len() == 13);
        assert!(read.surprise[0].is_nan() && read.surprise[1..].iter().all(|v| *v > 0.0));
        assert!(read.blocks.iter().all(|b| b.traces.iter().all(|t| t.shape() == [13, 16])));
    }
}

#[test]
fn models_over_depth_differ_in_their_residual_alone() {
    let depth = [("depth.fixed", "true"), ("depth.learned", "true"), ("depth.attention", "true")];
    let alone = [("mechanism.fixed", "false"), ("mechanism.gated", "false"), ("mechanism.softmax", "false")];
    let made = plan(&[&depth[..], &alone].concat()).unwrap();
    let models: Vec<_> = made.variants.iter().map(|v| (v.id.as_str(), v.model.clone())).collect();
    assert_eq!(
        models.iter().map(|(id, _)| *id).collect::<Vec<_>>(),
        ["depth_fixed", "depth_learned", "depth_attention"]
    );
    for (_, model) in &models {
        let (ModelSpec::AlibiGpt(spec), ModelSpec::AlibiGpt(first)) = (model, &models[0].1) else {
            panic!("{model:?}")
        };
        assert_eq!((spec.d_model, spec.heads, spec.layers), (first.d_model, first.heads, first.layers));
        assert_eq!(first.residual, ResidualMixing::Fixed);
    }
    let is_asked = |plan: &Plan| plan.probes.iter().any(|p| p.probe == "layer_readout");
    assert!(is_asked(&made) && !is_asked(&plan(&[]).unwrap()), "only transformers have layers that can be read");
    let error = plan(&[&depth[..], &[("depth.d_model", "50"), ("depth.heads", "4")]].concat()).map(|_| ()).unwrap_err();
    assert!(error.contains("`depth.d_model` = 50") && error.contains("try 48"), "{error}");
    assert!(plan(&alone).is_err(), "no variant at all");
}

#[test]
fn token_baselines_are_ordered_bigram_unigram_uniform() {
    let plan = plan(&[]).unwrap();
    let args = plan.probes.iter().find(|p| p.probe == "token_baselines").unwrap().args.clone();
    let mut run = Run::open(plan).unwrap();
    let [found] = ask_all::<TokenBaselines>(&mut run, 0, &args).try_into().unwrap();
    assert!((found.uniform - 256f64.ln()).abs() < 1e-12);
    assert!(1.0 < found.bigram && found.bigram < found.unigram && found.unigram < found.uniform, "{found:?}");
    assert_eq!(found.targets, 4 * 16);
}

#[test]
fn the_control_is_as_large_as_the_largest() {
    let plan = plan(ALL).unwrap();
    let parameters: Vec<(String, usize)> = plan
        .variants
        .iter()
        .map(|v| match &v.model {
            ModelSpec::Spen(spec) => (v.id.clone(), spec.parameters(256)),
            other => panic!("{other:?} is not of this lab"),
        })
        .collect();
    let largest = parameters.iter().filter(|(id, _)| id != "as_large").map(|(_, n)| *n).max().unwrap();
    let control = parameters.iter().find(|(id, _)| id == "as_large").unwrap().1;
    assert!(control.abs_diff(largest) < largest / 50, "{control} parameters, the largest has {largest}");
}

#[test]
fn the_transformer_is_the_last_step_and_as_large_as_the_largest() {
    let beside = [("compare.transformer", "true"), ("mechanism.linear", "true")];
    let plan = plan(&beside).unwrap();
    let ids: Vec<&str> = plan.variants.iter().map(|v| v.id.as_str()).collect();
    assert_eq!(ids, ["fixed", "gated", "linear", "softmax", "transformer"]);
    assert!(plan.variants.windows(2).all(|v| v[0].seed == v[1].seed), "equal seeds see the same batches");
    let probes = plan.probes.clone();
    let mut run = Run::open(plan).unwrap();
    let sizes: Vec<f64> = run.variants.iter().map(|v| v.model.params().count() as f64).collect();
    let largest = sizes[..4].iter().copied().fold(0.0, f64::max);
    assert!((sizes[4] / largest - 1.0).abs() < 0.05, "{sizes:?}");
    assert!(run.variants.iter().all(|v| v.model.spec().flops_per_token(256, 16).is_some()));
    for variant in 0..5 {
        run.update(variant).unwrap();
    }
    run.finish_step().unwrap();
    let loss = run.evaluate(4).unwrap().scalars.iter().find(|(c, _)| c.as_str() == "loss/held_out").unwrap().1;
    assert!((1.0..8.0).contains(&loss), "{loss}");
    // the loss by position, on texts four times as long as its windows, is measured like that of the trace models
    let by_position = Args::from([("window".to_owned(), Value::Int(16))]);
    for variant in [0, 4] {
        let [losses] = ask_all::<PositionLosses>(&mut run, variant, &by_position).try_into().unwrap();
        assert_eq!(losses.edges.last(), Some(&64), "{variant}");
        assert!(losses.loss.iter().all(|v| (1.0..8.0).contains(v)), "{variant}: {:?}", losses.loss);
    }
    // probes of traces must not fail for the transformer, which has no traces
    for schedule in probes {
        run.ask(4, &schedule.probe, &schedule.args).map_err(|e| format!("{}: {e}", schedule.probe)).unwrap();
    }
    assert!(run.ask(4, "unit_usage", &Args::new()).unwrap().is_empty());
}

/// Texts that differ only before the reach of the sliding window have the same last logits. Each layer extends the
/// reach by the window's length minus one.
#[test]
fn the_transformers_window_slides_along_long_texts() {
    let whole = plan(&[("compare.transformer", "true")]).unwrap();
    assert!(matches!(&whole.variants.last().unwrap().model, ModelSpec::AlibiGpt(spec) if spec.window.is_none()));
    let plan = plan(&[("compare.transformer", "true"), ("compare.window", "6")]).unwrap();
    let ModelSpec::AlibiGpt(spec) = plan.variants.last().unwrap().model.clone() else { panic!() };
    assert_eq!((spec.window, spec.carry), (Some(6), None));
    let (last, reach) = (plan.variants.len() - 1, spec.layers * 5);
    let mut run = Run::open(plan).unwrap();
    run.update(last).unwrap();
    let model = run.variants[last].model.capabilities().token_model.unwrap();
    let after = 40 + reach;
    let ends = [97, 98].map(|first| {
        let ids: Vec<u32> = (0..after + 4).map(|i| if i < 40 { first } else { 100 + i as u32 % 7 }).collect();
        let text = candle_core::Tensor::from_vec(ids, (1, after + 4), &nn::Device::Cpu).unwrap();
        let logits = model.logits(&text, &mut nn::Tap::off()).unwrap();
        [40, after - 1, after].map(|at| nn::host::to_f32(&logits.narrow(1, at, 1).unwrap()).unwrap())
    });
    assert_ne!(ends[0][0], ends[1][0], "the window reaches the tokens just before");
    assert_ne!(ends[0][1], ends[1][1], "layer by layer it reaches so far");
    assert_eq!(ends[0][2], ends[1][2], "and no farther");
}

#[test]
fn settings_that_do_not_fit_are_named() {
    let off = ["mechanism.fixed", "mechanism.gated", "mechanism.softmax"].map(|key| (key, "false"));
    for (settings, words) in [
        (&[("model.kept", "33")][..], ["`model.kept` = 33", "at most 32"]),
        (&[("model.heads", "3")], ["`model.heads` = 3", "try 15"]),
        (&off, ["no variant", "`mechanism.fixed`"]),
        (&[("corpus.vocab", "100")], ["corpus.vocab", "at least 256"]),
        (&[("compare.window", "6")], ["`compare.window` = 6", "`compare.transformer`"]),
        (TOO_SMALL, ["`compare.transformer`", "make the models larger"]),
    ] {
        let error = plan(settings).map(|_| ()).unwrap_err();
        assert!(words.iter().all(|word| error.contains(word)), "{error}");
    }
}

#[test]
fn texts_that_are_too_short_are_described_in_words() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    };
    let open = |path: &Path| {
        let plan = plan(&[("corpus.file", path.to_str().unwrap())])?;
        let mut run = Run::open(plan).map_err(|e| e.to_string())?;
        run.update(0).map_err(|e| e.to_string())?;
        Ok::<Run, String>(run)
    };
    let error = open(&write("empty.txt", "")).map(|_| ()).unwrap_err();
    assert!(error.contains("empty"), "{error}");
    let error = open(&write("short.txt", "too short")).map(|_| ()).unwrap_err();
    assert!(error.contains("short.txt is too short"), "{error}");
    let error = open(&write("one.txt", &"a".repeat(4000))).map(|_| ()).unwrap_err();
    assert!(error.contains("one symbol only"), "{error}");
    // in a text of almost only one symbol, features hardly vary, and no probe may divide by their zero variance
    let mut run = open(&write("two.txt", &("a".repeat(2000) + "b" + &"a".repeat(2000)))).unwrap();
    let window = Args::from([("window".to_owned(), Value::Int(16))]);
    for probe in ["unit_usage", "autocorrelation", "position_losses", "trace_reading", "token_baselines"] {
        let args = if probe == "trace_reading" { Args::new() } else { window.clone() };
        let samples = run.ask(0, probe, &args).unwrap();
        assert_eq!(samples.len(), 1, "{probe}");
    }
    assert!(nn::host::scalar(&run.variants[0].model.evaluate(&batch()).unwrap()).unwrap().is_finite());
}

fn batch() -> nn::Batch {
    nn::Batch::from_ids(&[97; 16], &[97; 16], 1, 16, &nn::Device::Cpu).unwrap()
}
