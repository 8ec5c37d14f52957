//! Every domain of prose in turn.

use super::{
    Generated, Recipe, garden::GARDEN, harbour::HARBOUR, kitchen::KITCHEN, letters::LETTERS, observatory::OBSERVATORY,
};

/// Corpus `mixture`.
pub(in crate::corpus) const MIXTURE: Generated = Generated {
    id: "mixture",
    title: "Mixture",
    about: "All prose domains in turn: harbour, garden, observatory, kitchen and letters.",
    recipe: Recipe::Prose(&[&HARBOUR, &GARDEN, &OBSERVATORY, &KITCHEN, &LETTERS]),
};
