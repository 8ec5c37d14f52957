//! A search for a concept, with plausible numbers; no model was searched.

use orrery::telemetry::{
    Array,
    measurements::{
        ConceptNoun, ConceptSearch, ConceptSynapse, Interval, LanguageCorrelation, RandomSearch, SplitCorrelations,
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

/// The same numbers, of sentences of somebody's own.
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
