//! The lab's result: how few neurons fire, and whether a synapse stands for a concept.

use crate::{analysis::statistics, labs::prelude::*};

const FIRING_SHARE: Headline =
    Headline::new("firing_x", "x that fires", measured!(Activity, |m| mean(m, |l| l.trained, |s| s.x)))
        .decimals(3)
        .about("Share of the neurons of x above zero on held-out text, mean over layers, 0 to 1.")
        .absent("no BDH's activity has been measured yet (`probe.activity_every`)");

const CONCEPT_EFFECT: Headline = Headline::new(
    "concept_effect",
    "concept correlation",
    measured!(ConceptSearch, best_synapse, any_origin),
)
.better(Better::Higher)
.decimals(2)
.about("Largest rank-biserial correlation of the synapses that a search ranked first, on nouns and frames that it never saw.")
.absent("this run has not been searched for a concept (view \u{201c}Concepts\u{201d}, or `orrery study concepts`)");

const LOSS_ON: Headline = Headline::new("loss_on", "loss", measured!(TextLosses, losses))
    .unit("nats")
    .better(Better::Lower)
    .decimals(3)
    .about("Held-out cross-entropy on each text, and on the passages of all of them by language (en), nats per token.")
    .absent("the texts were not measured one by one (`merging.tune` is 0, `variants.no_bptt` is off)");

pub static ALL: &[Headline] = &[
    common::LOSS,
    FIRING_SHARE,
    FIRING_SHARE
        .like("firing_y", "y that fires", measured!(Activity, |m| mean(m, |l| l.trained, |s| s.y)))
        .about("Share of the neurons of y above zero on held-out text, mean over layers, 0 to 1."),
    FIRING_SHARE
        .like("firing_x_random", "x, random weights", measured!(Activity, |m| mean(m, |l| l.random_weights, |s| s.x)))
        .about("The share of x that fires in a model of the same sizes with random weights."),
    FIRING_SHARE
        .like("firing_y_random", "y, random weights", measured!(Activity, |m| mean(m, |l| l.random_weights, |s| s.y)))
        .about("The share of y that fires in a model of the same sizes with random weights."),
    FIRING_SHARE
        .like("firing_change", "y, new less known", measured!(Surprise, octave_changes))
        .about("Share of y above zero while words are new less the share when they are known, mean over layers, by octave of rotary speed: 0 turns fastest, 7 slowest.")
        .absent("new words were not read yet (`probe.surprise_every`)"),
    CONCEPT_EFFECT,
    CONCEPT_EFFECT
        .like("concept_effect_random", "concept, random weights", measured!(ConceptSearch, best_random, any_origin))
        .better(Better::Neither)
        .about("The largest such correlation in any model of random weights."),
    LOSS_ON,
    LOSS_ON
        .like("translation_loss", "translation", measured!(TextLosses, TextLosses::translations))
        .about("Held-out cross-entropy of what follows the marks of a translation, nats per token: into English and out of it over all texts, then by direction (en-fr).")
        .absent("the texts were not measured one by one (`merging.tune` is 0, `variants.no_bptt` is off), or have no \
                 translations"),
];

/// The lab asks for a concept. Its null is the largest of a few random models, which chance may move, so that it is only
/// named, and the verdict of the search precedes it; shares that fire are compared with those of random weights of the
/// same sizes on the same text.
pub static LARGE_NUMBERS: &[LargeNumber] = &[
    LargeNumber::new("concept_effect", "concept correlation", "concepts")
        .given("concept_effect_random", "best of random weights")
        .decided_by(is_confirmed),
    LargeNumber::new("firing_x", "x that fires", "activity").compared_to("firing_x_random", "random weights"),
    LargeNumber::new("firing_y", "y that fires", "activity").compared_to("firing_y_random", "random weights"),
    large::common::LOSS,
];

fn mean(m: &Activity, of: fn(&LayerActivity) -> FiringShare, part: fn(&FiringShare) -> f64) -> Option<f64> {
    let shares: Vec<f64> = m.layers.iter().map(|l| part(&of(l))).collect();
    (!shares.is_empty()).then(|| statistics::mean(&shares))
}

/// The correlation of the best ranked synapse, which the verdict compares with that of random weights.
fn best_synapse(m: &ConceptSearch) -> Option<f64> {
    largest(m.synapses.iter().map(|s| s.correlation.both_new))
}

/// The verdict of a search: a correlation may be above that of random weights and still not be confirmed.
fn is_confirmed(payload: &Payload) -> Option<&'static str> {
    let search = ConceptSearch::from_payload(payload)?;
    Some(if search.synapses.iter().any(|s| s.confirmed) { "confirmed" } else { "not confirmed" })
}

fn best_random(m: &ConceptSearch) -> Option<f64> {
    largest(m.random_weights.iter().map(|r| r.best))
}

fn largest(correlations: impl Iterator<Item = f64>) -> Option<f64> {
    correlations.filter(|r| r.is_finite()).reduce(f64::max)
}

fn losses(m: &TextLosses) -> Vec<(String, f64)> {
    let texts = m.texts.iter().map(|t| (t.name.clone(), t.loss));
    let languages = m.directions().into_iter().filter(|d| d.to.is_none());
    texts.chain(languages.map(|d| (d.label(), d.loss))).collect()
}

/// The change of the firing share by octave, mean over layers.
fn octave_changes(m: &Surprise) -> Vec<(String, f64)> {
    let octaves = m.octaves.iter().map(|layer| layer.memorised.len().min(layer.known.len())).min().unwrap_or(0);
    let change = |k: usize| m.octaves.iter().map(|layer| layer.memorised[k] - layer.known[k]).sum::<f64>();
    (0..octaves).map(|k| (k.to_string(), change(k) / m.octaves.len() as f64)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        labs::LABS,
        telemetry::measurements::{
            ConceptSynapse, Interval, OctaveFiring, PeriodCurves, RandomSearch, SplitCorrelations,
        },
    };

    #[test]
    fn changes_by_octave_are_means_over_layers() {
        let curves = || PeriodCurves { layers: vec![], loss: vec![].into() };
        let layer = |memorised: [f64; 2], known: [f64; 2]| OctaveFiring {
            memorised: memorised.to_vec().into(),
            known: known.to_vec().into(),
        };
        let octaves = vec![layer([0.5, 0.5], [0.25, 0.5]), layer([0.5, 0.75], [0.25, 0.25])];
        let read = Surprise { trained: curves(), random_weights: curves(), octaves };
        assert_eq!(octave_changes(&read), [("0".to_owned(), 0.25), ("1".to_owned(), 0.25)]);
        assert!(octave_changes(&Surprise { octaves: vec![], ..read }).is_empty());
    }

    /// The first of a ranking beside the first of others would be another baseline than the one of the verdict.
    #[test]
    fn a_concept_is_the_best_of_its_search_beside_the_best_of_random_weights() {
        let synapse = |both_new: f64| ConceptSynapse {
            layer: 1,
            i: 0,
            j: 0,
            correlation: SplitCorrelations { search: 0.9, new_nouns: 0.0, new_frames: 0.0, both_new },
            interval: Interval { low: 0.0, high: 1.0 },
            p: 0.01,
            p_holm: 0.1,
            languages: vec![],
            significant_languages: 0,
            confirmed: false,
            by_noun: vec![0.0].into(),
        };
        let random = |first, best| RandomSearch { search: 0.5, first, best };
        let found = ConceptSearch {
            concept: "currency".into(),
            contrast: vec![],
            is_own: false,
            verdict: String::new(),
            searched: 10,
            per_head: 1,
            synapses: vec![synapse(0.24), synapse(0.4), synapse(f64::NAN)],
            random_weights: vec![random(0.19, 0.26), random(0.1, f64::NAN)],
            nouns: vec![],
        };
        assert_eq!((best_synapse(&found), best_random(&found)), (Some(0.4), Some(0.26)));
        assert_eq!(is_confirmed(&found.clone().into_payload()), Some("not confirmed"), "whatever random weights reach");
        let confirmed = ConceptSynapse { confirmed: true, ..synapse(0.3) };
        let other = ConceptSearch { synapses: vec![synapse(0.24), confirmed], ..found.clone() };
        assert_eq!(is_confirmed(&other.into_payload()), Some("confirmed"));
        let none = ConceptSearch { synapses: vec![], random_weights: vec![], ..found };
        assert_eq!((best_synapse(&none), best_random(&none)), (None, None));
    }

    #[test]
    fn plain_sentences_hold_no_markup() {
        for headline in LABS.iter().flat_map(|lab| lab.headlines.iter()) {
            let words = format!("{} {}", headline.about, headline.absent);
            let is_emphasis =
                |w: &str| w.trim_start_matches('(').strip_prefix('*').is_some_and(|rest| !rest.is_empty());
            assert!(!words.split_whitespace().any(is_emphasis), "{}: {words}", headline.id);
        }
    }
}
