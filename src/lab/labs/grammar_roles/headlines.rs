//! The lab's result: how many words' roles are named rightly, and where.

use crate::{
    labs::prelude::*,
    telemetry::measurements::{RoleAccuracy, RoleFeatures},
};

const WITHIN: Headline = Headline {
    id: "within",
    name: "within",
    unit: "",
    about: "Share of words whose role is named rightly, in sentences of the vocabulary that was learned from, 0 to 1.",
    better: Better::Higher,
    digits: Digits::Decimals(3),
    absent: "roles were not asked for yet (`roles.every`)",
    source: measured!(RoleAccuracy, |m| share(m, 0)),
};

pub static ALL: &[Headline] = &[
    WITHIN,
    Headline {
        id: "transfer",
        name: "transfer",
        about: "The same in sentences of the other vocabulary, whose words were never learned from.",
        source: measured!(RoleAccuracy, |m| share(m, 1)),
        ..WITHIN
    },
    Headline {
        id: "deep",
        name: "deep",
        about: "The same within the vocabulary, at the roles of relative clauses and of the verb behind them.",
        source: measured!(RoleAccuracy, |m| share(m, 2)),
        ..WITHIN
    },
    Headline {
        id: "rank",
        name: "effective rank",
        about: "exp of the entropy of the singular values of the lowest level's feedforward weights, mean over directions.",
        better: Better::Neither,
        digits: Digits::Decimals(1),
        absent: "roles were not asked for yet, or nothing reads through feedforward weights",
        source: measured!(RoleAccuracy, |m| m.ranks.first().copied().filter(|rank| rank.is_finite())),
        ..WITHIN
    },
];

/// A share by itself has no word: how many words have the most common role depends on the sentences.
pub static LARGE: &[LargeNumber] = &[
    LargeNumber::new("within", "roles named, within", "role_accuracy", Meaning::None),
    LargeNumber::new("transfer", "in the other vocabulary", "role_accuracy", Meaning::None),
    LargeNumber::new("deep", "in relative clauses", "role_accuracy", Meaning::None),
];

/// The share of right answers of a tagger itself, or read from activation and traces of the lowest level.
fn share(m: &RoleAccuracy, which: usize) -> Option<f64> {
    let named = m.by_features(RoleFeatures::Tags, 0).or_else(|| m.by_features(RoleFeatures::Both, 0))?;
    named.finite.then(|| m.shares(named)[which])
}
