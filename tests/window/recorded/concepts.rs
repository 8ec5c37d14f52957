//! Made-up results, with plausible numbers, of a search for a concept synapse and of a test of one.

use orrery::telemetry::{
    Array,
    measurements::{
        ConceptEffect, ConceptNoun, ConceptSearch, ConceptSide, ConceptSynapse, Interval, LanguageCorrelation,
        RandomSearch, SplitCorrelations,
    },
};

const RANKS: usize = 10;
const CODES: [&str; 4] = ["en", "fr", "es", "de"];
const CLASSES: [(&str, usize); 5] = [("currency", 24), ("goods", 8), ("country", 6), ("city", 6), ("institution", 4)];
const NOUNS: [&str; 5] = ["euro", "wheat", "France", "Vienna", "Senate"];

pub fn search() -> ConceptSearch {
    let mut nouns = vec![];
    for ((class, count), noun) in CLASSES.iter().zip(NOUNS) {
        for n in 0..*count {
            let name = if n == 0 { noun.to_owned() } else { format!("{noun} {n}") };
            nouns.push(ConceptNoun { name, class: (*class).to_owned() });
        }
    }
    let random = |search, first, best| RandomSearch { search, first, best };
    let words = "Confirmed: 4 of 10 synapses tell currency. The first, from y 0:31 to x 1:13 in layer 1, has 0.81 on new nouns \
                 in new frames and is told in 4 of 4 languages; the best of 3 random models has 0.30.";
    ConceptSearch {
        concept: "currency".into(),
        contrast: vec![],
        is_own: false,
        verdict: words.into(),
        searched: 12_288,
        per_head: 64,
        synapses: (0..RANKS).map(|rank| synapse(rank, nouns.len())).collect(),
        random_weights: vec![random(0.5, 0.1, 0.22), random(0.55, -0.05, 0.18), random(0.48, 0.2, 0.3)],
        nouns,
    }
}

/// The same numbers for a search with the user's own sentences.
pub fn own() -> ConceptSearch {
    let all = search();
    let label = |class: &str| match class {
        "currency" => "weather",
        "goods" | "country" => "sport",
        _ => "food",
    };
    let nouns = all.nouns.iter().map(|n| ConceptNoun { class: label(&n.class).to_owned(), ..n.clone() }).collect();
    let in_one = |s: &ConceptSynapse| ConceptSynapse { languages: s.languages[..1].to_vec(), ..s.clone() };
    ConceptSearch {
        concept: "weather".into(),
        contrast: vec!["sport".into(), "food".into()],
        is_own: true,
        verdict: "No synapse confirmed for \u{201c}weather\u{201d} against sport, food.".into(),
        synapses: all.synapses.iter().map(in_one).collect(),
        nouns,
        ..all
    }
}

fn synapse(rank: usize, nouns: usize) -> ConceptSynapse {
    let k = rank as f64;
    let new = 0.81 - 0.06 * k;
    let language = |(l, code): (usize, &&str)| LanguageCorrelation {
        language: (*code).to_owned(),
        correlation: new - 0.05 * l as f64,
        p: if rank + l < 7 { 0.01 } else { 0.3 },
    };
    let by_noun = (rank * nouns..(rank + 1) * nouns).map(|n| {
        let base = if n % nouns < 24 { 0.4 } else { 0.08 };
        base + 0.13 * ((n * 37 % 101) as f32 / 101.0)
    });
    ConceptSynapse {
        layer: 1 + rank % 3,
        i: (rank * 617 + 31) % 2048,
        j: (rank * 911 + 77) % 2048,
        correlation: SplitCorrelations {
            search: 0.93 - 0.01 * k,
            new_nouns: new + 0.05,
            new_frames: new + 0.02,
            both_new: new,
        },
        interval: Interval { low: new - 0.14, high: (new + 0.12).min(1.0) },
        p: 1e-4 * (k + 1.0).powi(2),
        p_holm: (1e-3 * (k + 1.0).powi(2)).min(1.0),
        languages: CODES.iter().enumerate().map(language).collect(),
        significant_languages: 4usize.saturating_sub(rank / 2),
        confirmed: rank < 4,
        by_noun: Array::new([nouns], by_noun.collect()).unwrap(),
    }
}

/// The description of the test's sentences.
pub const TESTED: &str = "own sentences, 4 sentences with it and 4 without that took no part in the search";

/// A test in which silencing the synapse has no significant effect.
pub fn effect() -> ConceptEffect {
    let side = |nouns: [&str; 4], change: [f64; 4], spread: f64| ConceptSide {
        sentences: nouns.map(|noun| format!("We spoke of the {noun}. | and so they all did")).to_vec(),
        loss: vec![2.31, 2.44, 2.27, 2.5].into(),
        change: change.to_vec().into(),
        null_draws: (0..39).map(|k| spread * (f64::from(k * 17 % 39) - 15.0)).collect(),
    };
    let verdict = "Nothing found: what follows the concept is told as well without it. Loss of what follows: +1.50e-2 nats a \
                   token with the concept (p 0.325), +2.50e-3 without it (p 0.725); the difference has p 0.250 among 39 \
                   random ones as active.";
    ConceptEffect {
        concept: "own sentences".into(),
        names: vec!["2 0:12>1:6".into()],
        action: "\u{3c3} silenced".into(),
        follows: "the 16 tokens that the model itself says, each the likeliest".into(),
        with: side(["pound", "franc", "krone", "dollar"], [0.002, -0.004, 0.05, 0.012], 1.3e-3),
        without: side(["timber", "butter", "river", "paper"], [0.003, 0.001, -0.002, 0.008], 0.45e-3),
        p_with: 0.325,
        p_without: 0.725,
        p_difference: 0.25,
        verdict: verdict.into(),
        confirmed: false,
    }
}
