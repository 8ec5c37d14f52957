//! The EMA language model (SPEN, arXiv 2604.08556, sections 5 to 7): what can a language model do whose memory is a few
//! moving averages, and which mechanism buys the rest?

mod headlines;
pub mod settings;

use crate::{
    labs::prelude::*,
    models::{
        gpt::AlibiGptSpec,
        spen::{Predictor, PredictorValues, SpenSpec, TraceGate},
    },
    nn::residual_mixing::ResidualMixing,
};
use settings::{CompareSettings, DepthSettings, MechanismSettings, ModelSettings, SpenSettings};

pub static LAB: Lab = Lab {
    id: "spen",
    title: "EMA language model",
    question: "How good is a language model whose only memory is three moving averages, and what closes the gap?",
    source: "EMA is not all you need, arXiv 2604.08556, \u{a7}5\u{2013}7",
    lesson: include_str!("../../../assets/lessons/spen.md"),
    groups: groups! {
        model, mechanism = "Staircase", predictor = "Predictors", compare = "Compare", depth = "Over depth", variants,
        corpus, train, probe, run
    },
    essentials: keys! {
        train.lr, mechanism.fixed, mechanism.gated, mechanism.linear, mechanism.softmax, compare.as_large,
        corpus.source, variants.seeds
    },
    knobs: SpenSettings::schema,
    presets: presets! {
        "spen", "Live",
        "Fixed traces, gated traces and attention race on the same bytes of prose; watch the traces read. A few minutes.";
        "spen_staircase", "The staircase",
        "Five models, each with one mechanism more, a transformer of equal size, and one that is only larger, on prose, over three seeds. About 25 minutes.";
        "spen_repeat", "Repeat after me",
        "The same staircase on random letters that must be repeated: what averages destroy, and who can recall. About a quarter of an hour.";
        "spen_mqar", "Associative recall",
        "The same staircase on pairs of a key and a value that are asked for again. About a quarter of an hour.";
        "spen_predictors", "Predictors",
        "Fixed traces with five predictors repeat after you: attention over traces recalls no more, over the input it does. About a quarter of an hour.";
        "spen_predictors_prose", "Predictors on prose",
        "The same five predictors on prose, where three seeds hardly separate them. About a quarter of an hour.";
        "spen_depth", "Time and depth",
        "Twelve thin layers: a fixed residual stream, learned weights, attention over layers. What is left of layer 1? A few minutes.";
        "spen_paper", "Paper", "The 130M model of the paper with its predictors, for a GPU and a text of your own.";
    },
    plan: |config| plan(config, &SpenSettings::read(config)?),
    drawing: draw,
    panes: panes! {
        0: "mechanisms", "race";
        1: "trace_reading", "next_tokens";
        1: "losses", "accuracy", "position_losses";
        more: "recoverability", "unit_usage", "autocorrelation", "fast_weights", "warm_up", "adaptation", "uncertainty";
    },
    headlines: headlines::ALL,
    large_numbers: headlines::LARGE_NUMBERS,
    opens_with_run: true,
};

/// The model of these sizes that the paper describes.
fn base(m: &ModelSettings) -> SpenSpec {
    let ModelSettings { d_model, hidden, kept, layers, heads } = *m;
    SpenSpec { d_model, hidden, kept, layers, heads, ..SpenSpec::default() }
}

/// The steps of the staircase that are turned on, in order.
fn mechanisms(m: &MechanismSettings, base: &SpenSpec) -> Vec<Variant> {
    let step =
        |gate, predictor| ModelSpec::Spen(SpenSpec { gate, predictor, values: PredictorValues::Input, ..base.clone() });
    let gated = TraceGate::InputDependent;
    Variant::switched_on([
        (m.fixed, "fixed", "fixed traces", ModelSpec::Spen(base.clone())),
        (m.learned, "learned", "+ learned coefficients", step(TraceGate::Learned, Predictor::Static)),
        (m.gated, "gated", "+ input-dependent gate", step(gated, Predictor::Static)),
        (m.linear, "linear", "+ linear attention", step(gated, Predictor::LinearAttention)),
        (m.softmax, "softmax", "softmax attention", step(gated, Predictor::SoftmaxAttention)),
    ])
}

/// The predictors over fixed traces that are turned on.
fn predictors(s: &settings::PredictorSettings, base: &SpenSpec) -> Vec<Variant> {
    let over = |predictor, values| ModelSpec::Spen(SpenSpec { predictor, values, ..base.clone() });
    let (traces, input) = (PredictorValues::Traces, PredictorValues::Input);
    let (linear, softmax) = (Predictor::LinearAttention, Predictor::SoftmaxAttention);
    Variant::switched_on([
        (s.linear_traces, "linear_traces", "linear, from traces", over(linear, traces)),
        (s.linear_input, "linear_input", "linear, from input", over(linear, input)),
        (s.softmax_traces, "softmax_traces", "softmax, from traces", over(softmax, traces)),
        (s.softmax_input, "softmax_input", "softmax, from input", over(softmax, input)),
        (s.softmax_full, "softmax_full", "softmax, full causal", over(Predictor::FullSoftmaxAttention, traces)),
    ])
}

/// The base model, widened at the same share of active units until its blocks have as many weights as the largest
/// variant's.
fn widened_to_largest(base: &SpenSpec, variants: &[Variant]) -> SpenSpec {
    let weights = |v: &Variant| if let ModelSpec::Spen(spec) = &v.model { spec.block_weights() } else { 0 };
    let most = variants.iter().map(weights).max().unwrap_or(0);
    let missing = most.saturating_sub(base.block_weights());
    let weights_per_unit = base.layers * 2 * base.d_model;
    let hidden = base.hidden + (missing as f64 / weights_per_unit as f64).round() as usize;
    let kept = (base.kept as f64 * hidden as f64 / base.hidden as f64).round() as usize;
    SpenSpec { hidden, kept: kept.clamp(1, hidden), ..base.clone() }
}

/// The transformers of many thin layers that are turned on; they differ in what a layer reads of those before it.
fn over_depth(s: &DepthSettings) -> Result<Vec<Variant>, ConfigError> {
    let DepthSettings { layers, d_model, heads, .. } = *s;
    let model =
        |residual| ModelSpec::AlibiGpt(AlibiGptSpec { d_model, heads, layers, residual, ..AlibiGptSpec::default() });
    let variants = Variant::switched_on([
        (s.fixed, "depth_fixed", "fixed residual", model(ResidualMixing::Fixed)),
        (s.learned, "depth_learned", "learned residual", model(ResidualMixing::Learned)),
        (s.attention, "depth_attention", "attention residual", model(ResidualMixing::Attention)),
    ]);
    if !variants.is_empty() {
        check_multiple(DepthSettings::d_model.name, d_model, heads, &format!("a multiple of `depth.heads` = {heads}"))?;
    }
    Ok(variants)
}

/// The last step: no traces, and attention in every block, with as many parameters as the largest of these. A token sees
/// `window` tokens, or all where that is 0.
fn transformer(variants: &[Variant], vocab: usize, window: usize) -> Result<Variant, ConfigError> {
    let parameters = |v: &Variant| if let ModelSpec::Spen(spec) = &v.model { spec.parameters(vocab) } else { 0 };
    let most = variants.iter().map(parameters).max().unwrap_or(0);
    let model = transformer_of_size(most, vocab, CompareSettings::transformer.name)?;
    let model = AlibiGptSpec { window: (window > 0).then_some(window), ..model };
    Ok(Variant::new("transformer", "transformer", ModelSpec::AlibiGpt(model)))
}

fn check(m: &ModelSettings, variants: &[Variant]) -> Result<(), ConfigError> {
    let ModelSettings { kept, hidden, .. } = *m;
    let why = format_args!(
        "`model.kept` = {kept} of `model.hidden` = {hidden} units cannot be kept; make it at most {hidden}"
    );
    refuse_if(kept > hidden, ModelSettings::kept.name, why)?;
    let has_heads = |v: &Variant| matches!(&v.model, ModelSpec::Spen(s) if s.predictor.is_softmax());
    if variants.iter().any(has_heads) {
        let what = format!("a multiple of `model.heads` = {} for softmax attention", m.heads);
        check_multiple(ModelSettings::d_model.name, m.d_model, m.heads, &what)?;
    }
    let why = "no variant is turned on; turn on at least one, such as `mechanism.fixed`";
    refuse_if(variants.is_empty(), MechanismSettings::fixed.name, why)
}

fn plan(config: &Config, s: &SpenSettings) -> Result<Plan, ConfigError> {
    let base = base(&s.model);
    let mut variants = mechanisms(&s.mechanism, &base);
    variants.extend(predictors(&s.predictor, &base));
    let has_traces = !variants.is_empty();
    let over_depth = over_depth(&s.depth)?;
    if over_depth.is_empty() || has_traces {
        check(&s.model, &variants)?;
    }
    let (key, window) = (CompareSettings::window.name, s.compare.window);
    let has_transformer = s.compare.transformer && has_traces;
    let why = format_args!(
        "`{key}` = {window} is that of the transformer beside models with traces, and this run has none; switch \
         `compare.transformer` on, or set `{key}` to 0"
    );
    refuse_if(window > 0 && !has_transformer, key, why)?;
    if has_transformer {
        variants.push(transformer(&variants, s.corpus.vocab, window)?);
    }
    if s.compare.as_large && has_traces {
        let spec = widened_to_largest(&base, &variants);
        variants.push(Variant::new("as_large", "fixed, as large", ModelSpec::Spen(spec)));
    }
    variants.extend(over_depth);
    let every = &s.probe;
    let window = s.train.window;
    let held_out = TokenBaselinesArgs { window, windows: s.run.eval_windows };
    let usage = UnitUsageArgs { window, ..UnitUsageArgs::default() };
    let autocorrelation = AutocorrelationArgs { window, ..AutocorrelationArgs::default() };
    let by_position = PositionLossesArgs { window, ..PositionLossesArgs::default() };
    let mut probes = vec![
        // It depends on the text alone, so a measurement at the start stays valid.
        ask_at_ends(&held_out, &s.train),
        every.trace_reading.ask(&TraceReadingArgs::default()),
        every.unit_usage.ask(&usage),
        every.autocorrelation.ask(&autocorrelation),
        every.position_losses.ask(&by_position),
    ];
    if variants.iter().any(|v| matches!(v.model, ModelSpec::AlibiGpt(_))) {
        probes.push(every.layer_readout.ask(&LayerReadoutArgs { window, ..LayerReadoutArgs::default() }));
    }
    let experiment = Experiment { seeds: s.variants.seeds, ..Experiment::new(config, &s.train, &s.run) };
    Ok(experiment.plan(s.corpus.spec()?, &variants, probes))
}

const N_TOKENS: usize = 26;
const COEFFICIENTS: [f32; 3] = [0.5, 0.1, 0.02];

/// The gallery's drawing of the EMA language model: how much of each past token three traces hold, and how much softmax
/// attention would give it, as discs. The scores of the attention are those of a pointer that looks for one place.
fn draw(canvas: &Canvas, drawing: &mut Drawing) {
    let [width, height] = canvas.size;
    let sought = (canvas.pointer_or(0.3) * (N_TOKENS - 1) as f32).round();
    let x = |token: usize| width * (token as f32 + 0.5) / N_TOKENS as f32;
    let y = |row: usize| height * (row as f32 + 0.7) / 4.4;
    let largest = (0.46 * width / N_TOKENS as f32).min(0.1 * height);
    let radius = |share: f32| largest * share.sqrt();
    for (row, a) in COEFFICIENTS.into_iter().enumerate() {
        for token in 0..N_TOKENS {
            let back = (N_TOKENS - 1 - token) as i32;
            drawing.disc([x(token), y(row)], radius((1.0 - a).powi(back)), Ink::Trace(row));
        }
    }
    let weights: Vec<f32> = (0..N_TOKENS).map(|token| (-0.9 * (token as f32 - sought).powi(2)).exp()).collect();
    for (token, weight) in weights.into_iter().enumerate() {
        drawing.disc([x(token), y(3)], radius(weight).max(1.0), Ink::Warm.with_opacity(0.25 + 0.75 * weight));
    }
    drawing.caption = "what is left of each token: traces fade alike, attention chooses".to_owned();
}
