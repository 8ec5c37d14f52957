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

/// A corpus of the pairs between two languages.
macro_rules! pair {
    ($corpus:ident, $id:literal, $first:literal and $second:literal, $languages:expr) => {
        #[doc = concat!("Corpus `", $id, "`.")]
        pub(in crate::corpus) const $corpus: Generated = Generated {
            id: $id,
            title: concat!("Parliament, ", $first, " and ", $second),
            about: concat!("The parliament's pairs between ", $first, " and ", $second, " alone, either way round."),
            recipe: Recipe::Pairs($languages),
        };
    };
}

pair!(EN_ES, "parliament_en_es", "English" and "Spanish", [0, 2]);
pair!(EN_FR, "parliament_en_fr", "English" and "French", [0, 1]);
pair!(EN_DE, "parliament_en_de", "English" and "German", [0, 3]);
pair!(FR_ES, "parliament_fr_es", "French" and "Spanish", [1, 2]);
pair!(FR_DE, "parliament_fr_de", "French" and "German", [1, 3]);
pair!(ES_DE, "parliament_es_de", "Spanish" and "German", [2, 3]);
pair!(EN_PT, "parliament_en_pt", "English" and "Portuguese", [0, 4]);
pair!(FR_PT, "parliament_fr_pt", "French" and "Portuguese", [1, 4]);
pair!(ES_PT, "parliament_es_pt", "Spanish" and "Portuguese", [2, 4]);
pair!(DE_PT, "parliament_de_pt", "German" and "Portuguese", [3, 4]);
