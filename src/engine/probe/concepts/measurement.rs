//! Turns a search into the measurement that a run records. It computes no statistics of its own.

use super::{ConceptQuestion, ConceptVerdict, FoundSynapse, SearchResult, SentenceOrigin, Strength};
use crate::{corpus::generated::parliament::labelled::SplitSide, probe::prelude::*};

/// `random`: the same search in models with random weights.
pub(super) fn concept_search(
    question: &ConceptQuestion,
    search: &SearchResult,
    random: &[SearchResult],
) -> ConceptSearch {
    let verdict = ConceptVerdict::new(question, search, random);
    let synapse = |(k, s): (usize, &FoundSynapse)| concept_synapse(question, s, verdict.confirmed.contains(&k));
    let synapses = search.synapses.iter().enumerate().map(synapse).collect();
    let random_search = |r: &SearchResult| RandomSearch {
        search: r.synapses.first().map_or(f64::NAN, |s| s.r(SplitSide::Search)),
        first: r.first_correlation(),
        best: r.best_correlation(),
    };
    let noun = |n: &super::Noun| ConceptNoun { name: n.name.clone(), class: n.class.clone() };
    ConceptSearch {
        concept: question.concept.clone(),
        contrast: question.contrast.clone(),
        is_own: question.origin == SentenceOrigin::Own,
        verdict: verdict.text,
        searched: search.searched,
        per_head: search.per_head,
        synapses,
        random_weights: random.iter().map(random_search).collect(),
        nouns: question.nouns.iter().map(noun).collect(),
    }
}

fn concept_synapse(question: &ConceptQuestion, s: &FoundSynapse, confirmed: bool) -> ConceptSynapse {
    let both_new = s.strength(SplitSide::BothNew);
    let of_both_new = |f: &dyn Fn(&Strength) -> f64| both_new.map_or(f64::NAN, f);
    let language = |(l, code): (usize, &String)| LanguageCorrelation {
        language: code.clone(),
        correlation: of_both_new(&|b| b.by_language[l]),
        p: of_both_new(&|b| b.p_by_language[l]),
    };
    let by_noun: Vec<f32> = s.by_noun.iter().map(|v| *v as f32).collect();
    ConceptSynapse {
        layer: s.synapse.layer,
        i: s.synapse.i,
        j: s.synapse.j,
        correlation: SplitCorrelations {
            search: s.r(SplitSide::Search),
            new_nouns: s.r(SplitSide::NewNouns),
            new_frames: s.r(SplitSide::NewFrames),
            both_new: s.r(SplitSide::BothNew),
        },
        interval: Interval { low: of_both_new(&|b| b.interval.0), high: of_both_new(&|b| b.interval.1) },
        p: of_both_new(&|b| b.p),
        p_holm: s.holm,
        languages: question.languages.iter().enumerate().map(language).collect(),
        significant_languages: s.significant_languages(),
        confirmed,
        by_noun: by_noun.into(),
    }
}
