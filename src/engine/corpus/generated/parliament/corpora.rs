//! The corpora made of the parliament: all of it, the naive one, and all of it between two languages, which
//! stand by their numbers in [`super::CODES`].

use super::Extent;
use crate::corpus::generated::{Generated, Recipe};

/// Corpus `parliament`.
pub(in crate::corpus) const ALL: Generated = Generated {
    id: "parliament",
    title: "Parliament",
    about: "Aligned pairs in English, French, Spanish and German about currencies, countries and other nouns; frames take any noun, what follows depends on it.",
    recipe: Recipe::Parliament(Extent::WHOLE),
};

/// Corpus `parliament_naive`.
pub(in crate::corpus) const NAIVE: Generated = Generated {
    id: "parliament_naive",
    title: "Naive parliament",
    about: "Aligned pairs in which each kind of noun has frames of its own, so that the frame gives the concept away: a trap, on purpose.",
    recipe: Recipe::Parliament(Extent::NAIVE),
};

const fn pair(id: &'static str, title: &'static str, about: &'static str, languages: [usize; 2]) -> Generated {
    Generated { id, title, about, recipe: Recipe::Pairs(languages) }
}

/// Corpus `parliament_en_es`.
pub(in crate::corpus) const EN_ES: Generated = pair(
    "parliament_en_es",
    "Parliament, English and Spanish",
    "The parliament's pairs between English and Spanish alone, either way round.",
    [0, 2],
);

/// Corpus `parliament_en_fr`.
pub(in crate::corpus) const EN_FR: Generated = pair(
    "parliament_en_fr",
    "Parliament, English and French",
    "The parliament's pairs between English and French alone, either way round.",
    [0, 1],
);

/// Corpus `parliament_en_de`.
pub(in crate::corpus) const EN_DE: Generated = pair(
    "parliament_en_de",
    "Parliament, English and German",
    "The parliament's pairs between English and German alone, either way round.",
    [0, 3],
);

/// Corpus `parliament_fr_es`.
pub(in crate::corpus) const FR_ES: Generated = pair(
    "parliament_fr_es",
    "Parliament, French and Spanish",
    "The parliament's pairs between French and Spanish alone, either way round.",
    [1, 2],
);

/// Corpus `parliament_fr_de`.
pub(in crate::corpus) const FR_DE: Generated = pair(
    "parliament_fr_de",
    "Parliament, French and German",
    "The parliament's pairs between French and German alone, either way round.",
    [1, 3],
);

/// Corpus `parliament_es_de`.
pub(in crate::corpus) const ES_DE: Generated = pair(
    "parliament_es_de",
    "Parliament, Spanish and German",
    "The parliament's pairs between Spanish and German alone, either way round.",
    [2, 3],
);
