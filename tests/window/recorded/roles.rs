//! Made-up measurements, with values of a realistic size, of grammatical roles: their accuracy with a network and with
//! a tagger, and the settling of a sentence.

use orrery::{
    corpus::generated::grammar_roles::Role,
    telemetry::{
        Array, Event, Measurement, Payload, Sample,
        measurements::{RoleAccuracy, RoleCounts, RoleFeatures, RoleRepresentation, Settling, SettlingLevel},
    },
};

use super::{Noise, bare_sample};

const WORDS: [&str; 7] = ["the", "big", "cat", "chases", "a", "small", "dog"];
const ROLES: [&str; 7] = ["det_agent", "adj_agent", "noun_agent", "verb", "det_patient", "adj_patient", "noun_patient"];
const SWEEPS: usize = 3;

/// Appends the measurements at these steps: features of the first variant, tags of the second.
pub fn emit(events: &mut Vec<Event>, steps: &[u64]) {
    for &step in steps {
        let learned = step as f64 / super::STEPS as f64;
        let features = [RoleFeatures::Activation, RoleFeatures::Traces, RoleFeatures::Both];
        let levels =
            features.into_iter().zip([0.6, 0.86, 0.9]).map(|(f, share)| representation(f, share + 0.08 * learned));
        apply(
            events,
            (0, step),
            "1000 sentences of each test, 2000 to fit",
            &[],
            accuracy(levels.collect()).into_payload(),
        );
        let tags = representation(RoleFeatures::Tags, 0.3 + 0.69 * learned);
        apply(events, (1, step), "1000 sentences of each test", &[], accuracy(vec![tags]).into_payload());
        apply(events, (0, step), "held-out sentence 0", &WORDS, settling(step).into_payload());
    }
}

fn apply(events: &mut Vec<Event>, (variant, step): (usize, u64), about: &str, tokens: &[&str], payload: Payload) {
    let tokens = tokens.iter().map(|t| (*t).to_owned()).collect();
    events.push(Event::Sample(Sample { step, variant, about: about.into(), tokens, ..bare_sample(payload) }));
}

fn accuracy(representations: Vec<RoleRepresentation>) -> RoleAccuracy {
    RoleAccuracy {
        roles: Role::ALL.iter().map(|r| r.name().to_owned()).collect(),
        deep: Role::ALL.iter().map(|r| r.is_deep()).collect(),
        train_sentences: 2000,
        representations,
        ranks: vec![].into(),
    }
    .with_shares()
}

fn representation(features: RoleFeatures, share: f64) -> RoleRepresentation {
    let mut noise = Noise::new((share * 1e4) as u64);
    let mut counts = |share: f64, words: u32| {
        let of: Vec<u32> = (0..20u32).map(|r| words / (1 + r % 5)).collect();
        let right = of.iter().map(|n| (f64::from(*n) * (share + 0.08 * noise.next()).clamp(0.0, 1.0)).round() as u32);
        RoleCounts { right: right.collect(), of }
    };
    RoleRepresentation {
        features,
        level: 0,
        dims: 1024,
        projected: false,
        finite: true,
        within: counts(share, 900),
        within_new: counts(share - 0.02, 700),
        transfer: counts(0.6 * share, 900),
        shares: vec![].into(),
    }
}

fn settling(step: u64) -> Settling {
    let level = |(units, active): (usize, usize)| {
        let mut noise = Noise::new(step + units as u64);
        let mut rows = |count: usize, sparse: bool| {
            let mut values = vec![0f32; count * units];
            for row in values.chunks_mut(units) {
                let places = if sparse { active } else { units };
                for _ in 0..places {
                    let at = ((noise.next().abs() * 7919.0) as usize) % units;
                    row[at] = if sparse { 0.1 + 0.1 * noise.next().abs() as f32 } else { 0.1 * noise.next() as f32 };
                }
            }
            Array::new([count, units], values).unwrap().half_precision()
        };
        let (words, top) = (WORDS.len(), units == 64);
        let (blocks, each) = (if top { 0 } else { 16 }, if top { 0 } else { 32 });
        let feedback = (0..blocks * each).map(|i| 1e-3 * (i % 37) as f32 * (1 + step) as f32 / 650.0).collect();
        SettlingLevel {
            units,
            states: rows(words * SWEEPS, true),
            errors: rows(words, false),
            fast: rows(words, true),
            slow: rows(words, true),
            precision: Array::new([1, units], (0..units).map(|i| 0.1 + (i % 90) as f32 / 9.0).collect()).unwrap(),
            feedback: Array::new([blocks, each], feedback).unwrap(),
        }
    };
    let levels = [(512, 31), (256, 15), (128, 8), (64, 4)].map(level).to_vec();
    Settling { roles: ROLES.map(str::to_owned).to_vec(), from_right: false, sweeps: SWEEPS, levels }
}
