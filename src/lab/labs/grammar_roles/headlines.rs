//! The lab's result: how many words' roles are named correctly, and where.

use crate::{
    analysis::statistics::mean,
    labs::{
        headline::{MeasuredNumber, large::Reference},
        prelude::*,
    },
};

const WITHIN_ACCURACY: Headline = Headline::new("within", "within", measured!(RoleAccuracy, |m| share(m, 0)))
    .better(Better::Higher)
    .decimals(3)
    .about("Share of words whose role is named correctly, in sentences of the vocabulary or treebank that was learned from, 0 to 1.")
    .absent("roles have not been measured yet (`roles.every`)");

/// The message for a run without a number that only sentences of the grammar have.
const OF_THE_GRAMMAR: &str = "roles have not been measured yet, or they are those of a treebank";

pub static ALL: &[Headline] = &[
    WITHIN_ACCURACY,
    WITHIN_ACCURACY
        .like("transfer", "transfer (new words)", measured!(RoleAccuracy, |m| share(m, 1)))
        .about("The same in sentences of the other vocabulary, whose words were never learned from; of a treebank, at the held-out words outside of its vocabulary.")
        .absent("roles have not been measured yet, or no held-out word of the treebank is outside of its vocabulary"),
    WITHIN_ACCURACY
        .like("deep", "deep", measured!(RoleAccuracy, |m| share(m, 2)))
        .about("The same within the vocabulary, at the roles of relative clauses and of the verb behind them.")
        .absent(OF_THE_GRAMMAR),
    WITHIN_ACCURACY
        .like(
            "majority",
            "most common role",
            measured!(RoleAccuracy, |m| finite(primary_representation(m)?.within.majority())),
        )
        .better(Better::Neither)
        .about("The share of the words within that have the most common role: naming it everywhere gets as many right."),
    WITHIN_ACCURACY
        .like("within_traces", "within, traces alone", measured!(RoleAccuracy, within_traces))
        .about("The share within the vocabulary, read from the traces of a level alone, without the activation, by level from 0.")
        .absent("roles have not been measured yet, or there are no traces"),
    WITHIN_ACCURACY
        .like("within_projected", "within, projected", measured!(RoleAccuracy, within_projected))
        .about("The share within the vocabulary, read from traces projected at random to half of the activation's dimensions, mean over draws.")
        .absent("no projections were read (`roles.project`)"),
    WITHIN_ACCURACY
        .like(
            "within_activation",
            "within, activation alone",
            measured!(RoleAccuracy, |m| within_accuracy(m.by_features(RoleFeatures::Activation)?)),
        )
        .about("The share within the vocabulary, read from the activation of the lowest level alone."),
    WITHIN_ACCURACY
        .like("transfer_at", "transfer, by role", measured!(RoleAccuracy, transfer_by_role))
        .about("The share in the other vocabulary at the roles for which the paper reports it: det_agent, noun_agent, noun_patient, verb_rel.")
        .absent(OF_THE_GRAMMAR),
    WITHIN_ACCURACY
        .like("rank", "effective rank", measured!(RoleAccuracy, |m| m.ranks.first().copied().and_then(finite)))
        .better(Better::Neither)
        .decimals(1)
        .about("exp of the entropy of the singular values of the lowest level's feedforward weights, mean over directions.")
        .absent("roles have not been measured yet, or nothing reads through feedforward weights"),
];

/// A share beside the one that the words alone reach, without a network between them and the traces.
const fn beside_words(key: &'static str, label: &'static str) -> LargeNumber {
    LargeNumber::new(key, label, "role_accuracy")
        .in_words(Meaning::Given { reference: Reference::Variant { group: "words", key }, name: "no network" })
}

/// The lab asks whether it takes a network, so that each share is shown beside the one without.
pub static LARGE_NUMBERS: &[LargeNumber] = &[
    beside_words("within", "roles named, within").measured_on("words", |payload| word_count(payload, 0)),
    beside_words("transfer", "with new words").measured_on("words", |payload| word_count(payload, 1)),
    beside_words("deep", "in relative clauses").measured_on("words", |payload| word_count(payload, 2)),
];

/// The number of words over which one of [`RoleAccuracy::accuracies`] is the mean.
fn word_count(payload: &Payload, which: usize) -> Option<usize> {
    share(RoleAccuracy::from_payload(payload)?, which)?.answers.map(|words| words as usize)
}

/// The representation whose answers the headline numbers count: the tags of a tagger itself, or else activation and
/// traces of the lowest level.
fn primary_representation(m: &RoleAccuracy) -> Option<&RoleRepresentation> {
    let primary = m.by_features(RoleFeatures::Tags).or_else(|| m.by_features(RoleFeatures::Both))?;
    primary.finite.then_some(primary)
}

/// One of [`RoleAccuracy::accuracies`].
fn share(m: &RoleAccuracy, which: usize) -> Option<MeasuredNumber> {
    let primary = primary_representation(m)?;
    let counts = if which == 1 { &primary.transfer } else { &primary.within };
    let (right, words) = counts.sum(|role| which < 2 || m.deep[role]);
    MeasuredNumber::share(right, words)
}

/// The share of right answers from these features within the vocabulary.
fn within_accuracy(of: &RoleRepresentation) -> Option<MeasuredNumber> {
    let (right, words) = of.within.sum(|_| true);
    MeasuredNumber::share(right, words).filter(|_| of.finite)
}

fn within_traces(m: &RoleAccuracy) -> Vec<(String, MeasuredNumber)> {
    let traces = m.representations.iter().filter(|r| r.features == RoleFeatures::Traces && !r.projected);
    traces.filter_map(|of| Some((of.level.to_string(), within_accuracy(of)?))).collect()
}

fn within_projected(m: &RoleAccuracy) -> Option<f64> {
    let half = m.by_features(RoleFeatures::Activation)?.dims / 2;
    let is_half = |r: &&RoleRepresentation| r.projected && r.features == RoleFeatures::Traces && r.dims == half;
    let share = |of: &RoleRepresentation| within_accuracy(of).map(|share| share.value);
    let shares: Vec<f64> = m.representations.iter().filter(is_half).map(share).collect::<Option<_>>()?;
    (!shares.is_empty()).then(|| mean(&shares))
}

fn transfer_by_role(m: &RoleAccuracy) -> Vec<(String, MeasuredNumber)> {
    const ROLES: [&str; 4] = ["det_agent", "noun_agent", "noun_patient", "verb_rel"];
    let Some(primary) = primary_representation(m) else { return vec![] };
    let of_role = |name: &str| -> Option<(String, MeasuredNumber)> {
        let role = m.roles.iter().position(|role| role == name)?;
        let (right, words) = primary.transfer.sum(|r| r == role);
        Some((name.to_owned(), MeasuredNumber::share(right, words)?))
    };
    ROLES.into_iter().filter_map(of_role).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::measurements::RoleCounts;

    fn representation(features: RoleFeatures, dims: usize, projected: bool, right: u32) -> RoleRepresentation {
        let counts = || RoleCounts { right: vec![right, 1], of: vec![8, 8] };
        let (within, within_new, transfer) = (counts(), counts(), counts());
        RoleRepresentation {
            features,
            level: 0,
            dims,
            projected,
            finite: true,
            within,
            within_new,
            transfer,
            shares: vec![].into(),
        }
    }

    #[test]
    fn shares_are_those_of_their_features() {
        let m = RoleAccuracy {
            roles: vec!["verb_rel".into(), "adverb".into()],
            deep: vec![true, false],
            train_sentences: 1,
            representations: vec![
                representation(RoleFeatures::Activation, 8, false, 1),
                representation(RoleFeatures::Traces, 16, false, 3),
                representation(RoleFeatures::Both, 24, false, 7),
                representation(RoleFeatures::Traces, 8, true, 2),
                representation(RoleFeatures::Traces, 4, true, 5),
                representation(RoleFeatures::Traces, 4, true, 7),
            ],
            ranks: vec![].into(),
        };
        let of_words = |right: f64, words| MeasuredNumber::share(right, words).unwrap();
        assert_eq!(share(&m, 0), Some(of_words(8.0, 16.0)));
        let payload = m.clone().into_payload();
        assert_eq!([0, 1, 2].map(|which| word_count(&payload, which)), [Some(16), Some(16), Some(8)]);
        assert_eq!(within_traces(&m), [("0".to_owned(), of_words(4.0, 16.0))]);
        assert_eq!(within_projected(&m), Some(0.4375), "half of the activation's dimensions, mean over draws");
        let by_role = [("verb_rel".to_owned(), of_words(7.0, 8.0))];
        assert_eq!(transfer_by_role(&m), by_role, "a role that nobody asks for is left out");
        let of_treebank = RoleAccuracy { deep: vec![false; 2], ..m };
        let shares = [0, 2].map(|which| share(&of_treebank, which));
        assert_eq!(shares, [Some(of_words(8.0, 16.0)), None], "it has no deep roles");
    }
}
