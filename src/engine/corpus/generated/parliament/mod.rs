//! The multilingual parliament: a sentence about a currency, a country, goods, a city or an institution,
//! what follows from it, and both again in another language: `<F:en>...<T:es>...`, one pair per line.
//!
//! Frames take any noun ("The question of the euro is open."), and what follows depends on the noun's
//! class (rates and coins; borders and laws; stores and quotas), so a model gains by knowing the class,
//! and the frame does not give it away. Half of the pairs list several nouns of one class ("The list names
//! the euro, the yen and the peso."): after one, the class says what may come next. In the naive corpus, made to show the trap, each class has
//! frames of its own and nothing follows. [`labelled`] has the sentences that a finder of concepts asks.

pub mod labelled;
mod language;

use super::{Generated, Recipe, template::fill_to_size};
use crate::corpus::prelude::*;
pub use language::{AUXILIARY, AuxiliarySentence, Class};
use language::{FOLLOW_UPS, FRAMES, LANGUAGES, Language, NAIVE_FRAMES, NAIVE_TRAINED, SEARCH_FRAMES, TRAINED_FRAMES};

pub(in crate::corpus) const ALL: Generated = Generated {
    id: "parliament",
    title: "Parliament",
    about: "Aligned pairs in English, French, Spanish and German about currencies, countries and other nouns; frames take any noun, what follows depends on it.",
    recipe: Recipe::Parliament(Extent::WHOLE),
};

pub(in crate::corpus) const NAIVE: Generated = Generated {
    id: "parliament_naive",
    title: "Naive parliament",
    about: "Aligned pairs in which each kind of noun has frames of its own, so that the frame gives the concept away: a trap, on purpose.",
    recipe: Recipe::Parliament(Extent::NAIVE),
};

/// A corpus of the pairs between two languages, given by their indices in [`CODES`].
macro_rules! pair {
    ($corpus:ident, $id:literal, $first:literal and $second:literal, $languages:expr) => {
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

/// The codes of the languages, in the order in which an [`Extent`] takes them.
pub const CODES: [&str; 5] = ["en", "fr", "es", "de", "pt"];

/// The probability that a passage is about a noun of each class.
const CLASS_SHARES: [(Class, f64); 5] = [
    (Class::Currency, 0.28),
    (Class::Country, 0.28),
    (Class::Goods, 0.20),
    (Class::City, 0.14),
    (Class::Institution, 0.10),
];
/// The number of nouns of a list.
const NOUNS_PER_LIST: usize = 3;

/// The part of the parliament that a text has: always the first of each. What a text leaves out, a finder does
/// not ask about; frames and nouns that are held out stay held out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Extent {
    /// The number of languages of [`CODES`]; at least 2.
    pub languages: usize,
    /// The number of classes of [`Class::ALL`]; at least 3.
    pub kinds: usize,
    /// The largest number of nouns of a class; at least 8.
    pub nouns: usize,
    /// Frames that the text has; those that a finder keeps to itself are others.
    pub frames: usize,
    /// The continuations of a noun of a class.
    pub follow_ups: usize,
    /// The probability that a pair lists nouns.
    pub listing: f64,
    /// Each class has frames of its own, and no sentence has a continuation. Of the settings above, only `languages`,
    /// `nouns` and `frames` then have an effect.
    pub naive: bool,
}

impl Extent {
    /// The whole corpus: all kinds of nouns and frames, in the first four languages. Portuguese came later, and the
    /// corpus keeps the bytes that runs were trained on, so that only pairs and an extent of five languages have it.
    pub const WHOLE: Self = Self {
        languages: 4,
        kinds: Class::ALL.len(),
        nouns: 24,
        frames: TRAINED_FRAMES,
        follow_ups: FOLLOW_UPS,
        listing: 0.5,
        naive: false,
    };
    /// The naive corpus of three kinds of nouns, each with frames of its own.
    pub const NAIVE: Self = Self { kinds: 3, frames: NAIVE_TRAINED, listing: 0.0, naive: true, ..Self::WHOLE };

    /// The arguments with every number in its range.
    pub fn clamped(self) -> Self {
        Self {
            languages: self.languages.clamp(2, CODES.len()),
            kinds: self.kinds.clamp(3, Class::ALL.len()),
            nouns: self.nouns.clamp(8, Self::WHOLE.nouns),
            frames: self.frames.clamp(1, if self.naive { NAIVE_TRAINED } else { TRAINED_FRAMES }),
            follow_ups: self.follow_ups.clamp(1, FOLLOW_UPS),
            listing: if self.listing.is_finite() { self.listing.clamp(0.0, 1.0) } else { 0.0 },
            naive: self.naive,
        }
    }

    /// The number of nouns of a class.
    pub fn entities(&self, class: Class) -> usize {
        LANGUAGES[0].count(class).min(self.nouns)
    }

    fn languages(&self) -> Vec<&'static Language> {
        LANGUAGES.iter().take(self.languages).map(|language| &**language).collect()
    }

    fn class(&self, rng: &mut ChaCha8Rng) -> Class {
        let shares = &CLASS_SHARES[..self.kinds.min(CLASS_SHARES.len())];
        let whole: f64 = if shares.len() == CLASS_SHARES.len() { 1.0 } else { shares.iter().map(|s| s.1).sum() };
        let mut left = rng.random::<f64>() * whole;
        for (class, share) in shares {
            left -= share;
            if left < 0.0 {
                return *class;
            }
        }
        Class::ALL[shares.len() - 1]
    }
}

/// At least `size` bytes of aligned pairs, one per line.
pub(super) fn text(rng: &mut ChaCha8Rng, size: usize, extent: &Extent) -> String {
    let extent = extent.clamped();
    between(rng, size, &extent, &extent.languages())
}

/// Sentences of a paragraph of a debate.
const PARAGRAPH: usize = 6;

/// At least `size` bytes of sentences in one language, by its number in [`CODES`], without marks.
pub(super) fn debate(rng: &mut ChaCha8Rng, size: usize, language: usize) -> String {
    let (extent, language) = (Extent::WHOLE, &LANGUAGES[language % LANGUAGES.len()]);
    fill_to_size(size, |text| {
        let mut paragraph = vec![];
        for _ in 0..PARAGRAPH {
            let class = extent.class(rng);
            let entity = rng.random_range(0..extent.entities(class));
            paragraph.push(language.sentence(class, entity, rng.random_range(0..extent.frames)));
            paragraph.push(language.follow_up(class, (class, entity), rng.random_range(0..extent.follow_ups)));
        }
        text.push_str(&paragraph.join(" "));
        text.push_str("\n\n");
    })
}

/// At least `size` bytes of aligned pairs in these two languages, by number.
pub(super) fn pairs(rng: &mut ChaCha8Rng, size: usize, languages: [usize; 2]) -> String {
    between(rng, size, &Extent::WHOLE, &languages.map(|i| &*LANGUAGES[i % LANGUAGES.len()]))
}

fn between(rng: &mut ChaCha8Rng, size: usize, extent: &Extent, languages: &[&Language]) -> String {
    let naive = extent.naive;
    fill_to_size(size, |text| {
        let class = if naive { Class::ALL[rng.random_range(0..3)] } else { extent.class(rng) };
        let entities = extent.entities(class);
        let entity = rng.random_range(0..entities);
        // Others of the class, all different.
        let listed = if !naive && rng.random_bool(extent.listing) {
            let step = rng.random_range(1..entities / NOUNS_PER_LIST);
            (0..NOUNS_PER_LIST).map(|k| (entity + k * step) % entities).collect()
        } else {
            vec![]
        };
        let frame = rng.random_range(0..extent.frames);
        let follow_up = rng.random_range(0..extent.follow_ups);
        let from = rng.random_range(0..languages.len());
        let to = (from + rng.random_range(1..languages.len())) % languages.len();
        for (mark, language) in [('F', languages[from]), ('T', languages[to])] {
            text.push_str(&format!("<{mark}:{}>", language.code));
            if !listed.is_empty() {
                text.push_str(&language.list(class, &listed, frame));
            } else if naive {
                text.push_str(&language.naive(class, entity, frame));
            } else {
                text.push_str(&language.sentence(class, entity, frame));
                text.push(' ');
                text.push_str(&language.follow_up(class, (class, entity), follow_up));
            }
        }
        text.push('\n');
    })
}

/// A noun's bare name in the language of this number (see [`CODES`]).
pub fn name(language: usize, class: Class, entity: usize) -> &'static str {
    LANGUAGES[language % LANGUAGES.len()].name(class, entity)
}
