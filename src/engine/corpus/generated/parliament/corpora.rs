//! The corpora made of the parliament: all of it, the naive one, and all of it between two languages, which
//! stand by their numbers in [`super::CODES`].

use super::{Extent, pairs};
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

/// Corpus `parliament_en_es`.
pub(in crate::corpus) const EN_ES: Generated = Generated {
    id: "parliament_en_es",
    title: "Parliament, English and Spanish",
    about: "The parliament's pairs between English and Spanish alone, either way round.",
    recipe: Recipe::Text(|rng, size| pairs(rng, size, [0, 2])),
};

/// Corpus `parliament_en_fr`.
pub(in crate::corpus) const EN_FR: Generated = Generated {
    id: "parliament_en_fr",
    title: "Parliament, English and French",
    about: "The parliament's pairs between English and French alone, either way round.",
    recipe: Recipe::Text(|rng, size| pairs(rng, size, [0, 1])),
};

/// Corpus `parliament_en_de`.
pub(in crate::corpus) const EN_DE: Generated = Generated {
    id: "parliament_en_de",
    title: "Parliament, English and German",
    about: "The parliament's pairs between English and German alone, either way round.",
    recipe: Recipe::Text(|rng, size| pairs(rng, size, [0, 3])),
};

/// Corpus `parliament_fr_es`.
pub(in crate::corpus) const FR_ES: Generated = Generated {
    id: "parliament_fr_es",
    title: "Parliament, French and Spanish",
    about: "The parliament's pairs between French and Spanish alone, either way round.",
    recipe: Recipe::Text(|rng, size| pairs(rng, size, [1, 2])),
};

/// Corpus `parliament_fr_de`.
pub(in crate::corpus) const FR_DE: Generated = Generated {
    id: "parliament_fr_de",
    title: "Parliament, French and German",
    about: "The parliament's pairs between French and German alone, either way round.",
    recipe: Recipe::Text(|rng, size| pairs(rng, size, [1, 3])),
};

/// Corpus `parliament_es_de`.
pub(in crate::corpus) const ES_DE: Generated = Generated {
    id: "parliament_es_de",
    title: "Parliament, Spanish and German",
    about: "The parliament's pairs between Spanish and German alone, either way round.",
    recipe: Recipe::Text(|rng, size| pairs(rng, size, [2, 3])),
};
