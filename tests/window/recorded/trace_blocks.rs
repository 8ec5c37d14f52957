//! Made-up measurements, with values of a realistic size, of a model of trace blocks that reads a text.

use orrery::telemetry::{
    Array, Event, Measurement, Sample,
    measurements::{
        Autocorrelation, BlockAutocorrelation, BlockReading, BlockUsage, PositionLosses, TokenBaselines, TraceReading,
        UnitUsage,
    },
};

use super::{Noise, bare_sample, characters, of_variant};

const TEXT: &str = "The ferry left at dawn, and the baker";
const WRITTEN: &str = " was not here";
const CHANNELS: usize = 24;
const COEFFICIENTS: [f64; 3] = [0.5, 0.1, 0.02];

/// Appends the measurements of the first two variants at these steps.
pub fn emit(events: &mut Vec<Event>, steps: &[u64]) {
    for &step in steps {
        for variant in 0..2 {
            let learned = step as f64 / super::STEPS as f64;
            let baselines =
                TokenBaselines { uniform: 5.545, unigram: 3.02, bigram: 2.31, counted: 196_608, targets: 2048 };
            of_variant(events, variant, step, "2048 held-out tokens", baselines.into_payload());
            of_variant(events, variant, step, "2048 held-out tokens", usage(learned, variant).into_payload());
            let about = "16 held-out windows of 128 tokens";
            of_variant(events, variant, step, about, autocorrelation().into_payload());
            let about = "16 held-out texts of 512 tokens";
            of_variant(events, variant, step, about, positions(learned, variant).into_payload());
            let about = "held-out passage 0, 37 tokens, then 13 that it wrote";
            let tokens = characters(&format!("{TEXT}{WRITTEN}"));
            let read = bare_sample(reading(learned, variant).into_payload());
            events.push(Event::Sample(Sample { step, variant, about: about.into(), tokens, ..read }));
        }
    }
}

fn usage(learned: f64, variant: usize) -> UnitUsage {
    let block = |place: usize| {
        let decay = 40.0 + 30.0 * learned + 10.0 * variant as f64;
        let raw: Vec<f64> = (0..128).map(|i| (-(((i * 37) % 128) as f64) / decay).exp()).collect();
        let total: f64 = raw.iter().sum();
        BlockUsage { path: format!("blocks.{place}"), usage: raw.iter().map(|v| 8.0 * v / total).collect() }
    };
    UnitUsage { kept: 8, tokens: 2048, blocks: vec![block(0), block(1)] }
}

fn autocorrelation() -> Autocorrelation {
    let mut noise = Noise::new(3);
    let mut block = |place: usize| BlockAutocorrelation {
        path: format!("blocks.{place}"),
        input: (0..=32)
            .map(|k| if k == 0 { 1.0 } else { 0.3 * (-f64::from(k) / 4.0).exp() + 0.01 * noise.next() })
            .collect(),
        retention: COEFFICIENTS.map(|a| (0..=32).map(|k| (1.0 - a).powi(k)).collect()),
    };
    Autocorrelation { noise: 0.043, tokens: 2048, blocks: vec![block(0), block(1)] }
}

fn positions(learned: f64, variant: usize) -> PositionLosses {
    let edges = vec![0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512];
    let level = 3.0 - 1.3 * learned - 0.05 * variant as f64;
    let loss = |bin: usize| level + 1.2 * (-(bin as f64) / 2.0).exp();
    PositionLosses {
        window: 128,
        texts: 16,
        loss: (0..10).map(loss).collect(),
        error: (0..10).map(|bin| 0.3 * (-f64::from(bin) / 2.5).exp()).collect(),
        edges,
    }
}

fn reading(learned: f64, variant: usize) -> TraceReading {
    let tokens = TEXT.len() + WRITTEN.len();
    let mut noise = Noise::new(11 + variant as u64);
    let mut block = |place: usize| {
        let x: Vec<f64> = (0..tokens * CHANNELS).map(|_| noise.next()).collect();
        let trace = |a: f64| -> (Array, Vec<f64>) {
            let mut h = [0.0; CHANNELS];
            let mut all = vec![];
            let mut lengths = vec![];
            for token in x.chunks(CHANNELS) {
                h.iter_mut().zip(token).for_each(|(h, x)| *h = (1.0 - a) * *h + a * x);
                lengths.push(h.iter().map(|v| v * v).sum::<f64>().sqrt());
                all.extend(h.iter().map(|v| *v as f32));
            }
            (Array::new([tokens, CHANNELS], all).unwrap(), lengths)
        };
        let [(fast, a), (medium, b), (slow, c)] = COEFFICIENTS.map(trace);
        BlockReading {
            path: format!("blocks.{place}"),
            error: (0..tokens).map(|t| 1.0 + 0.1 * ((t * 7 % 13) as f64 / 13.0 - 0.5)).collect(),
            traces: [fast, medium, slow],
            norms: [a.into(), b.into(), c.into()],
            channels: CHANNELS,
        }
    };
    let blocks = vec![block(0), block(1)];
    let surprise = |t: usize| if t == 0 { f64::NAN } else { (4.0 - 2.5 * learned) * ((t * 5 % 11) as f64 / 11.0) };
    let surprise = (0..tokens).map(surprise).collect();
    TraceReading { is_typed: false, prompt: TEXT.len(), temperature: 0.8, surprise, blocks }
}
