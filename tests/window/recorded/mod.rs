//! The recorded run that view tests draw: telemetry events with plausible made-up numbers. Only the stored `answers`
//! come from models, because numbers that a model computed during the test would differ between processors, and so
//! would the pictures.

use std::sync::{Arc, OnceLock};

use crate::planted_graph;
use orrery::{
    config::{Applies, Config, Knob, Range, Value},
    telemetry::{
        Array, Channel, Event, Measurement, Payload, RunInfo, RunState, Sample, StepStats, VariantInfo, channels,
        measurements::{
            AttentionLayer, AttentionMaps, AttentionStatistics, BdhTheory, Causality, LayerStatistics,
            LayerStepLengths, LeakyUpsample, LikelyToken, NextTokens, Predictions, Recoverability, Residual,
            ResidualCurve, ResidualMethod, Staircase, StepLengths, TheoryCurve, UniformStatistics,
        },
    },
    ui::mirror::Mirror,
};

mod answers;
mod asked;
pub mod bdh_dynamics;
pub mod chains;
mod concepts;
pub mod flow;
mod generators;
pub mod others;
mod pairs;
pub mod query_keys;
mod roles;
mod streaming;
mod trace_blocks;

pub use answers::written;
pub use concepts::own as own_concept;

/// The settings whose values views use.
pub fn knobs() -> Vec<Knob> {
    let int = |key, label, default, min, max| Knob::new(key, label, Range::Int { min, max }, Value::Int(default));
    let sources = Range::Choice(vec!["facts_symbols", "mixture"]);
    let scale = Range::Float { min: 0.0, max: 10.0, log: false };
    vec![
        int("model.d_model", "Width", 128, 8, 1024),
        int("model.heads", "Heads", 4, 1, 16),
        int("model.kv_heads", "Heads of keys", 2, 1, 16),
        int("train.window", "Window", 256, 4, 8192),
        int("model.n_pre", "Blocks before", 1, 0, 8),
        int("model.n_post", "Blocks after", 1, 0, 8),
        int("model.n_slow", "Slow blocks", 2, 0, 8),
        int("model.n_rounds", "Rounds", 2, 1, 8),
        int("model.pool", "Pooling", 4, 1, 32),
        Knob::new("corpus.source", "Corpus", sources, Value::Text("facts_symbols".into())),
        Knob {
            applies: Applies::Live,
            ..Knob::new("model.coupling_scale", "Coupling scale", scale, Value::Float(1.0))
        },
    ]
}

pub fn config() -> Config {
    Config::defaults("fast_slow", &knobs())
}

/// Reproducible noise, approximately standard normal.
pub struct Noise(u64);

impl Noise {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn unit(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    pub fn next(&mut self) -> f64 {
        (0..12).map(|_| self.unit()).sum::<f64>() - 6.0
    }
}

pub const STEPS: u64 = 650;
/// The steps with most samples.
const SAMPLED: [u64; 3] = [0, 325, STEPS];
const SENTENCE: &str = "The ferry left Harrow quay at dawn, and the baker had not yet lit her oven.";

/// Variants as (id, label, group, seed, params).
fn info(variants: &[(&str, &str, &str, u64, usize)]) -> RunInfo {
    RunInfo {
        lab: "fast_slow".into(),
        config: config(),
        variants: variants
            .iter()
            .map(|v| VariantInfo { id: v.0.into(), label: v.1.into(), group: v.2.into(), seed: v.3, params: v.4 })
            .collect(),
        total_steps: STEPS,
        device: "cpu".into(),
        threads: 1,
        corpus: "mixture (generated), 1.2 MB, bytes".into(),
        vocab: 320,
        tokens_per_step: 1024,
        ..RunInfo::default()
    }
}

/// A model that is known by one name.
pub fn variant(name: &str) -> VariantInfo {
    VariantInfo { id: name.into(), label: name.into(), group: name.into(), seed: 1, params: 9 }
}

/// The description of [`twins`].
pub fn twins_info() -> RunInfo {
    info(&[
        ("coupled", "coupled", "coupled", 7, 779_777),
        ("frozen", "frozen", "frozen", 7, 779_777),
        ("dense", "dense D=128", "dense", 7, 1_025_408),
    ])
}

/// A finished run of a coupled model, a frozen one and a dense baseline with the same seed.
pub fn twins() -> Mirror {
    static EVENTS: OnceLock<Vec<Event>> = OnceLock::new();
    mirror_of(EVENTS.get_or_init(|| {
        let mut events = record(twins_info(), |_| 7);
        events.push(Event::State(RunState::Finished));
        events
    }))
}

/// A run of three seeds of a coupled and of a frozen model.
pub fn seeds() -> Mirror {
    static EVENTS: OnceLock<Vec<Event>> = OnceLock::new();
    mirror_of(EVENTS.get_or_init(|| {
        let of = info(&[
            ("coupled-s1", "coupled, seed 1", "coupled", 1, 779_777),
            ("coupled-s2", "coupled, seed 2", "coupled", 2, 779_777),
            ("coupled-s3", "coupled, seed 3", "coupled", 3, 779_777),
            ("frozen-s1", "frozen, seed 1", "frozen", 1, 779_777),
            ("frozen-s2", "frozen, seed 2", "frozen", 2, 779_777),
            ("frozen-s3", "frozen, seed 3", "frozen", 3, 779_777),
        ]);
        record(of, |variant| (variant % 3) as u64)
    }))
}

/// A mirror to which these events were applied. Callers cache the events, because creating them takes far longer than
/// applying them.
fn mirror_of(events: &[Event]) -> Mirror {
    let mut mirror = Mirror::default();
    events.iter().for_each(|event| mirror.apply(event.clone()));
    mirror
}

/// All events of a run up to its last step; `seed` gives the seed of a variant's noise.
fn record(info: RunInfo, seed: impl Fn(usize) -> u64) -> Vec<Event> {
    let of = info.variants.clone();
    let mut events = vec![Event::Started(Arc::new(info))];
    for (variant, v) in of.iter().enumerate() {
        scalars(&mut events, variant, seed(variant), v.group == "coupled");
    }
    samples(&mut events, of.len());
    events
}

fn scalars(events: &mut Vec<Event>, variant: usize, seed: u64, coupled: bool) {
    // variants with the same seed train on the same batches, so most of the noise in their losses is shared
    let mut shared = Noise::new(seed + 1);
    let mut own = Noise::new(seed * 31 + variant as u64 + 100);
    let mut gate: f64 = 0.0;
    for step in 1..=STEPS {
        let t = step as f64;
        let lag = [1.0, 1.06, 0.97][variant % 3];
        let base = 1.35 + 4.4 * (-t / (90.0 * lag)).exp() + 0.35 * (-t / 400.0).exp();
        let loss = base + 0.07 * shared.next() + 0.008 * own.next() - if coupled { 0.05 * (t / 650.0) } else { 0.0 };
        let mut scalars = vec![
            (Channel::new(channels::LOSS_TRAIN), loss),
            (Channel::new(channels::STEP_MS), [41.0, 40.0, 52.0][variant % 3] + own.next().abs() * 3.0),
        ];
        let grad = 0.02 * own.next() * (-t / 300.0).exp() - 0.002;
        gate = if coupled { gate - 0.4e-3 * grad.signum() * own.next().abs().min(1.0) } else { 0.0 };
        scalars.push((Channel::new(channels::GATE), gate.tanh()));
        scalars.push((Channel::new(channels::GATE_GRAD), if coupled { grad } else { 0.0 }));
        scalars.push((Channel::new(channels::GRAD_NORM), (1.4 - 0.3 * variant as f64) * (-t / 250.0).exp() + 0.3));
        if coupled {
            let slope = (t / 60.0).sin();
            scalars.push((Channel::new("flow/grad_norm"), 4e-3 * (-t / 300.0).exp() * (1.2 + slope)));
            let memory = 2.0 + 20.0 * (-t / 200.0).exp();
            let deciles = [(channels::MEMORY_LOW, 0.5), (channels::MEMORY_MEDIAN, 1.0), (channels::MEMORY_HIGH, 3.0)];
            scalars.extend(deciles.map(|(channel, times)| (Channel::new(channel), times * memory)));
            scalars.push((Channel::new(channels::DEQ_RESIDUAL), 0.3 * (-t / 150.0).exp() + 2e-3));
            scalars.push((Channel::new(channels::DEQ_MISSED), if t < 200.0 { 2.0 } else { 0.0 }));
            scalars.push((Channel::new(channels::DEQ_BACKWARD_MISSED), if t < 100.0 { 2.0 } else { 0.0 }));
            scalars.push((Channel::new("flow/alpha"), 0.02 + 0.05 * (1.0 - (-t / 220.0).exp())));
        }
        if step == 1 {
            scalars.push((Channel::new(channels::GUESS), 0.1));
        }
        if step == 1 || step % 25 == 0 {
            scalars.push((Channel::new(channels::LOSS_HELD_OUT), base + 0.06 + 0.01 * own.next()));
            let rise = 1.0 / (1.0 + (-(t - if coupled { 260.0 } else { 560.0 }) / 50.0).exp());
            scalars.push((Channel::new(channels::ACCURACY), 0.1 + 0.88 * rise + 0.012 * own.next()));
        }
        events.push(Event::Step(StepStats { step, variant, scalars, wall_secs: t * 0.08 }));
    }
}

fn samples(events: &mut Vec<Event>, variants: usize) {
    for step in SAMPLED {
        answers::emit_graph(events, step);
        measured(events, step, "held-out window 3", staircase(step), SENTENCE);
        for variant in 0..variants {
            let maps = bare_sample(attention(step, variant).into_payload());
            let (about, tokens) = ("held-out window 3".into(), characters(SENTENCE));
            events.push(Event::Sample(Sample { step, variant, about, tokens, ..maps }));
            let chain = chains::chain(&attention(step, variant), 0).into_payload();
            sample_of(events, variant, step, chain);
            let statistics = statistics(step, variant).into_payload();
            of_variant(events, variant, step, "4 held-out windows of 128 tokens", statistics);
        }
        measured(events, step, "held-out window 3, 76 tokens", residual(step), "");
        let paths = query_keys::paths(step, query_keys::Steps::default());
        measured(events, step, "held-out passage 0, 35 tokens", paths, query_keys::TEXT);
        let about = "typed text, 24 tokens, 48 neurons, 2 layers, synapses keep 0.900 a token";
        measured(events, step, about, bdh_dynamics::weights(step, 24, false), bdh_dynamics::TEXT);
        measured(events, step, about, bdh_dynamics::checks(24, false), bdh_dynamics::TEXT);
    }
    measured(events, STEPS, "held-out windows", recoverability(), "");
    let asked = flow::Asked { u: [0.8, 0.2, 0.0, 0.0], ..flow::Asked::default() };
    measured(events, STEPS, "five words, computed", flow::answer(&asked), "");
    measured(events, STEPS, "five words, computed", flow::field(&asked, 0.5, 0.0), "");
    measured(events, STEPS, "five words, computed", flow::along(&asked), "");
    measured(events, STEPS, "five words, computed", flow::nfe_sweep(21), "");
    measured(events, STEPS, "made up", flow::claims(true), "");
    measured(events, STEPS, "n = 64, seed 7", theory(), "");
    answers::emit_reading(events, &SAMPLED);
    SAMPLED.iter().for_each(|step| measured(events, *step, concepts::TESTED, concepts::effect(), ""));
    roles::emit(events, &SAMPLED);
    trace_blocks::emit(events, &SAMPLED);
    streaming::emit(events, &SAMPLED);
    generators::emit(events, &SAMPLED);
    for step in (0..=STEPS).step_by(50) {
        for (variant, half) in [(0, 240.0), (1, 420.0)] {
            let payload = pairs::at(step, half).into_payload();
            of_variant(events, variant, step, "64 questions of 16 held-out examples", payload);
        }
    }
    for (step, inside) in [(0, 0.3), (325, 0.6), (STEPS, 0.8)] {
        let graph = planted_graph::measurement(&planted_graph::graph(500, 7, 2600, inside, 3), |i| i * 4);
        measured(events, step, "planted, for a test", graph, "");
    }
    measured(events, STEPS, "currency, computed", concepts::search(), "");
    let spaced = |token: &str, probability: f64| LikelyToken { token: token.to_owned(), probability };
    let next = NextTokens {
        prompt: SENTENCE.into(),
        is_typed: false,
        truth: Some("\u{b7}".to_owned()),
        likely: vec![
            spaced("\u{b7}", 0.61),
            spaced("\u{b6}", 0.2),
            spaced("t", 0.07),
            spaced("a", 0.03),
            spaced("e", 0.02),
        ],
        continuation: " the bell rang and the crew came up.".to_owned(),
    };
    measured(events, STEPS, "held-out passage 0, 74 tokens", next.clone(), SENTENCE);
    let likely =
        vec![spaced("\u{b6}", 0.34), spaced("\u{b7}", 0.31), spaced("s", 0.1), spaced("e", 0.05), spaced("o", 0.02)];
    let of_twin = NextTokens { likely, continuation: " the the there was a".to_owned(), ..next };
    let (about, tokens) = ("held-out passage 0, 74 tokens".into(), characters(SENTENCE));
    let of_twin = bare_sample(of_twin.into_payload());
    events.push(Event::Sample(Sample { step: STEPS, variant: 1, about, tokens, ..of_twin }));
    for step in (0..=STEPS).step_by(50) {
        let about = "token 31 \u{201c}y\u{201d} of a held-out passage 0, 32 tokens";
        measured(events, step, about, chains::generator_distance(step), "");
        measured(events, step, "held-out passage 0, 48 tokens, y held", chains::token_residuals(step), &SENTENCE[..48]);
        measured(events, step, "the model's weights", step_lengths(step), "");
    }
    let causality = causality().into_payload();
    let about = "the sentence as typed, token 30: d \u{2192} x";
    sample(events, STEPS, about, causality, SENTENCE, Some(1));
}

/// The curves of Observation 8 of the BDH paper, which follow from a formula.
fn theory() -> BdhTheory {
    let found = orrery::analysis::bdh_theory::l1_amplification(64);
    let curves = found.curves.into_iter().map(|c| TheoryCurve { name: c.name, y: c.values.into() });
    BdhTheory { claim: "l1".into(), x: found.x.into(), curves: curves.collect() }
}

/// A scheduled sample of the first variant at step 0, without a text.
pub fn bare_sample(payload: Payload) -> Sample {
    Sample {
        step: 0,
        variant: 0,
        channel: payload.channel().unwrap_or_default().into(),
        about: String::new(),
        tokens: vec![],
        request: None,
        payload: Arc::new(payload),
    }
}

/// The characters of a text, each a token.
pub fn characters(text: &str) -> Vec<String> {
    text.chars().map(String::from).collect()
}

/// Appends a scheduled sample of a variant about `SENTENCE`.
fn sample_of(events: &mut Vec<Event>, variant: usize, step: u64, payload: Payload) {
    let (about, tokens) = ("held-out passage 0, 76 tokens".into(), characters(SENTENCE));
    events.push(Event::Sample(Sample { step, variant, about, tokens, ..bare_sample(payload) }));
}

/// Appends a scheduled sample of a variant without a text.
fn of_variant(events: &mut Vec<Event>, variant: usize, step: u64, about: &str, payload: Payload) {
    events.push(Event::Sample(Sample { step, variant, about: about.into(), ..bare_sample(payload) }));
}

/// Appends a scheduled sample of the first variant.
fn measured<M: Measurement>(events: &mut Vec<Event>, step: u64, about: &str, measurement: M, text: &str) {
    sample(events, step, about, measurement.into_payload(), text, None);
}

fn sample(events: &mut Vec<Event>, step: u64, about: &str, payload: Payload, text: &str, request: Option<u64>) {
    let is_flow = payload.channel().is_some_and(|channel| channel.starts_with("flow."));
    let tokens = if is_flow { flow::TOKENS.map(str::to_owned).to_vec() } else { characters(text) };
    events.push(Event::Sample(Sample { step, about: about.into(), tokens, request, ..bare_sample(payload) }));
}

fn staircase(step: u64) -> Staircase {
    let mut noise = Noise::new(step + 5);
    let fast: Vec<f64> = (0..SENTENCE.chars().count()).map(|t| (t as f64 / 7.0).sin() + 0.6 * noise.next()).collect();
    let slow = (0..fast.len())
        .map(|t| match (t / 4).checked_sub(1) {
            None => 0.0,
            Some(block) => fast[block * 4..block * 4 + 4].iter().sum::<f64>() / 4.0,
        })
        .collect();
    let coordinate = "first principal component".to_owned();
    Staircase { pool: 4, round: 1, coordinate, explained: 0.34, fast: fast.into(), slow }
}

/// Attention maps; each further variant attends farther back, so that their pictures differ.
fn attention(step: u64, variant: usize) -> AttentionMaps {
    let sharp = 0.3 + step as f64 / 400.0;
    let reach = 1.0 + 1.5 * (variant % 3) as f64;
    let layer = |(path, size, tokens_per_position): (&str, usize, usize)| {
        let (mut weights, mut entropies) = (vec![], vec![]);
        for head in 0..4 {
            let mut noise = Noise::new(step + size as u64 * 7 + head + 1000 * variant as u64);
            let mut data = vec![0f32; size * size];
            let mut entropy = 0.0;
            for row in 0..size {
                let scores: Vec<f64> = (0..=row)
                    .map(|col| {
                        let near = -((row - col) as f64) / (2.0 + 6.0 * head as f64) / reach;
                        ((near + noise.next()) * sharp).exp()
                    })
                    .collect();
                let sum: f64 = scores.iter().sum();
                for (col, s) in scores.iter().enumerate() {
                    let p = s / sum;
                    data[row * size + col] = p as f32;
                    entropy -= p * p.max(1e-300).ln() / size as f64;
                }
            }
            weights.extend(data);
            entropies.push(entropy);
        }
        let uniform = (1..=size).map(|n| (n as f64).ln()).sum::<f64>() / size as f64;
        AttentionLayer {
            path: path.to_owned(),
            tokens_per_position,
            is_differential: false,
            weights: Array::new([4, size, size], weights).unwrap().half_precision(),
            entropy: entropies.into(),
            uniform_entropy: vec![uniform; 4].into(),
        }
    };
    let layers =
        [("pre.0", 76, 1), ("slow.0.r0", 19, 4), ("slow.1.r0", 19, 4), ("post.0.r0", 76, 1), ("post.0.r1", 76, 1)];
    AttentionMaps { layers: layers.map(layer).to_vec() }
}

/// Step lengths of four heads in each of three layers, which start at 0.1 and drift apart during training.
fn step_lengths(step: u64) -> StepLengths {
    let drift = |layer: usize, head: usize| 2e-5 * step as f64 * (head as f64 - 1.2 + 0.5 * layer as f64);
    let layer = |layer| LayerStepLengths { layer, dt: (0..4).map(|head| 0.1 + drift(layer, head)).collect() };
    StepLengths { layers: (0..3).map(layer).collect(), steps: 3 }
}

/// Returns statistics of a model with uniform attention at step 0; an attention sink forms in the third layer, whose
/// strength differs between variants.
fn statistics(step: u64, variant: usize) -> AttentionStatistics {
    let mut noise = Noise::new(step * 31 + variant as u64 + 3);
    let learned = step as f64 / STEPS as f64;
    let uniform = UniformStatistics { entropy: 3.9, effective_rank: 24.7, top_share: 0.115, sink: 0.035 };
    let mut layer = |place: usize| {
        let depth = place as f64 / 4.0;
        let sink = learned * if place == 2 { 0.45 - 0.07 * (variant % 3) as f64 } else { 0.08 };
        let mut heads = |mean: f64, spread: f64| (0..4).map(|_| mean + spread * noise.next()).collect();
        LayerStatistics {
            path: format!("layers.{place}"),
            is_differential: false,
            entropy: heads(3.9 - learned * (1.1 + depth + 2.0 * sink), 0.08 * learned),
            effective_rank: heads(24.7 + learned * (38.0 - 20.0 * depth - 30.0 * sink), 2.5 * learned),
            top_share: heads(0.115 + learned * (0.12 * sink - 0.03), 0.004 * learned),
            sink: heads(0.035 + sink, 0.012 * learned),
            uniform,
        }
    };
    let layers = (0..4).map(&mut layer).collect();
    AttentionStatistics { layers, windows: 4, tokens: 128 }
}

fn residual(step: u64) -> Residual {
    let fall = |rate: f64, floor: f64| (0..=8).map(|k| 0.6 * (-f64::from(k) * rate).exp() + floor).collect();
    let rate = 0.25 + step as f64 / 2000.0;
    let curve = |method, round, residual| ResidualCurve { method, round, residual };
    let curves = vec![
        curve(ResidualMethod::Passes, 0, fall(rate * 0.8, 3e-3)),
        curve(ResidualMethod::Anderson, 0, fall(rate * 1.9, 4e-4)),
        curve(ResidualMethod::Passes, 1, fall(rate, 2e-3)),
        curve(ResidualMethod::Anderson, 1, fall(rate * 2.1, 3e-4)),
    ];
    Residual { curves }
}

fn recoverability() -> Recoverability {
    let accuracy: Vec<f64> = (1..=24).map(|k| 0.04 + 0.9 * (-f64::from(k) / 6.0).exp()).collect();
    Recoverability {
        distances: (1..=24).collect(),
        low: accuracy.iter().map(|a| a - 0.03).collect(),
        high: accuracy.iter().map(|a| a + 0.03).collect(),
        information: accuracy.iter().map(|a| 2.0 * a).collect(),
        accuracy: accuracy.into(),
        most_common: 0.09,
        uniform: 0.04,
    }
}

fn causality() -> Causality {
    let mut noise = Noise::new(77);
    let position = 30;
    let delta: Vec<f64> = (0..SENTENCE.chars().count())
        .map(|t| match t.checked_sub(position) {
            None => 0.0,
            Some(d) => (0.9 * (-(d as f64) / 6.0).exp() + 0.015) * noise.next().abs().max(0.1),
        })
        .collect();
    let is_leak = |t: usize| (position - position % 4..position).contains(&t);
    let leaky = delta.iter().enumerate().map(|(t, v)| if is_leak(t) { 0.02 } else { *v }).collect();
    let likely = |all: [(&str, f64); 5]| {
        all.map(|(token, probability)| LikelyToken { token: token.to_owned(), probability }).to_vec()
    };
    Causality {
        original: SENTENCE.into(),
        edited: SENTENCE.replacen("dawn", "xawn", 1),
        position,
        replacement: "x".into(),
        delta: delta.into(),
        before_max: 0.0,
        effective_gate: 0.0341,
        leaky_upsample: Some(LeakyUpsample { delta: leaky, before_max: 0.02, gate: 0.5, pool: 4 }),
        predictions: Predictions {
            original: likely([("\" \"", 0.41), ("t", 0.12), ("e", 0.08), ("a", 0.07), ("s", 0.05)]),
            edited: likely([("\" \"", 0.38), ("t", 0.13), ("e", 0.09), ("a", 0.06), ("o", 0.05)]),
        },
    }
}
