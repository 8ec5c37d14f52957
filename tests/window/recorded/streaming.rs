//! Made-up measurements of streamed texts, with values of a realistic size.

use orrery::telemetry::{
    Event,
    measurements::{
        Adaptation, AdaptationSetting, Auroc, FastWeightSetting, FastWeights, Retention, ShareWithInterval,
        Uncertainty, UncertaintyText, WarmUp, WarmUpText,
    },
};

use super::{Noise, measured};

const NAMES: [&str; 4] = ["own text (mixture)", "code", "sums", "tunes"];

/// Appends the measurements of the first variant at these steps.
pub fn emit(events: &mut Vec<Event>, steps: &[u64]) {
    for &step in steps {
        measured(events, step, "8 streams of 4000 tokens a text", warm_up(step), "");
        measured(events, step, "8 streams of 1000 tokens a text", fast_weights(step), "");
        measured(events, step, "fine-tuning, 4 streams of 5000 tokens a text of code", adaptation(step), "");
        measured(events, step, "16 streams of 800 tokens a text", uncertainty(step), "");
    }
}

fn warm_up(step: u64) -> WarmUp {
    let learned = step as f64 / super::STEPS as f64;
    let text = |i: usize| {
        let mut noise = Noise::new(step + i as u64 + 11);
        let level = [1.4, 3.6, 4.4][i];
        let cost = |p: f64| 0.02 + [0.2, 0.9, 0.1][i] * learned * (-p / 30.0).exp();
        let windows: Vec<f64> = (0..20).map(|_| level + 0.06 * noise.next()).collect();
        let streamed_by_position: Vec<f64> = (0..200).map(|_| level + 0.05 * noise.next()).collect();
        let dearer = |(p, nats): (usize, &f64)| nats + cost(p as f64) + 0.01 * noise.next();
        let saved = cost(60.0);
        WarmUpText {
            name: NAMES[i].to_owned(),
            streamed: windows.iter().map(|nats| nats.exp()).collect(),
            reset: windows.iter().enumerate().map(|(w, n)| (n + if w == 0 { 0.0 } else { saved }).exp()).collect(),
            reset_by_position: streamed_by_position.iter().enumerate().map(dearer).collect(),
            streamed_by_position: streamed_by_position.into(),
            saved,
            saved_low: saved - 0.015,
            saved_high: saved + 0.015,
        }
    };
    let retention = [(50, 0.364), (200, 0.018)].map(|(tokens, share)| Retention { tokens, share });
    WarmUp { window: 200, streams: 8, texts: (0..3).map(text).collect(), retention: retention.to_vec(), notes: vec![] }
}

fn adaptation(step: u64) -> Adaptation {
    let learned = step as f64 / super::STEPS as f64;
    let share = |mean: f64| ShareWithInterval { mean, low: mean - 0.02, high: mean + 0.03 };
    let setting = |(rate, gain, loss): (f64, f64, f64)| AdaptationSetting {
        rate,
        adaptation: share(gain),
        forgetting: share(loss * learned),
    };
    Adaptation {
        method: "fine-tuning".into(),
        own: NAMES[0].into(),
        foreign: NAMES[1].into(),
        streams: 4,
        own_tokens: 1920,
        foreign_tokens: 4800,
        foreign_perplexity: 62.0,
        own_perplexity: 4.2,
        settings: [(5e-5, 0.12, 0.01), (3e-4, 0.41, 0.09), (1e-3, 0.58, 0.6)].map(setting).into(),
        notes: vec![],
    }
}

fn fast_weights(step: u64) -> FastWeights {
    let (rates, limits) = ([1e-5, 1e-4, 1e-3, 1e-2], [1.0, 10.0, 100.0]);
    let baseline = [4.2, 62.0];
    let setting = |rate: f64, max_precision: f64, changes: [f64; 2]| FastWeightSetting {
        rate,
        max_precision,
        perplexity: changes.iter().zip(baseline).map(|(c, plain)| plain * (1.0 + c)).collect(),
        change: changes.to_vec().into(),
        change_low: changes.iter().map(|c| c - 0.01).collect(),
        change_high: changes.iter().map(|c| c + 0.012).collect(),
    };
    let worse = |rate: f64, limit: f64| {
        let gain = rate * limit * (0.5 + step as f64 / 600.0);
        match gain {
            g if g > 1.5 => [f64::NAN, f64::INFINITY],
            g => [30.0 * g * g + 0.1 * g, 60.0 * g * g - 2.0 * g],
        }
    };
    let grid = rates.iter().flat_map(|rate| limits.iter().map(move |limit| (*rate, *limit)));
    FastWeights {
        texts: NAMES[..2].iter().map(|name| (*name).to_owned()).collect(),
        streams: 8,
        tokens: 1000,
        baseline: baseline.to_vec().into(),
        rates: rates.to_vec().into(),
        limits: limits.to_vec().into(),
        sweep: grid.map(|(rate, limit)| setting(rate, limit, worse(rate, limit))).collect(),
        without_base: vec![setting(0.0, 1.0, [219.0, 3.1]), setting(1e-4, 1.0, [180.0, 2.7])],
        notes: vec![],
    }
}

fn uncertainty(step: u64) -> Uncertainty {
    let auroc = |value: f64| Auroc { value, low: (value - 0.06).max(0.0), high: (value + 0.06).min(1.0) };
    let text = |i: usize| {
        let mut noise = Noise::new(step * 7 + i as u64 + 3);
        let mut around = |level: f64, spread: f64| (0..160).map(|_| level + spread * noise.next()).collect();
        UncertaintyText {
            name: NAMES[i].to_owned(),
            uncertainty: around([0.42, 0.36, 0.45, 0.4][i], 0.02),
            surprise: around([1.4, 3.6, 4.4, 3.0][i], 0.3),
            by_uncertainty: auroc([0.52, 0.03, 0.86, 0.28][i]),
            by_surprise: auroc([0.49, 1.0, 1.0, 0.99][i]),
        }
    };
    Uncertainty {
        window: 50,
        streams: 16,
        skipped: 300,
        rate: 0.0,
        max_precision: 1e6,
        texts: (0..4).map(text).collect(),
        notes: vec![],
    }
}
