//! The 147 words in the order of their ids: seven that both vocabularies share, then the animals', then the vehicles',
//! each by class. It does not know sentences.

use std::ops::Range;

/// Words that both vocabularies share, ids 0 to 6.
const SHARED: [&str; 7] = ["the", "a", "every", "that", "is", "was", "by"];

/// Content words of one vocabulary, class by class in the order of [`OWN_CLASSES`].
struct ContentWords {
    nouns: [&'static str; 24],
    transitive: [&'static str; 12],
    participles: [&'static str; 12],
    ditransitive: [&'static str; 5],
    intransitive: [&'static str; 6],
    adjectives: [&'static str; 8],
    adverbs: [&'static str; 3],
}

const ANIMALS: ContentWords = ContentWords {
    nouns: [
        "cat", "dog", "bird", "fox", "wolf", "bear", "lion", "tiger", "horse", "mouse", "rabbit", "deer", "goat",
        "sheep", "pig", "cow", "duck", "hen", "frog", "snake", "eagle", "owl", "otter", "monkey",
    ],
    transitive: [
        "chases", "sees", "bites", "follows", "watches", "hunts", "hears", "fears", "licks", "finds", "loves",
        "catches",
    ],
    participles: [
        "chased", "seen", "bitten", "followed", "watched", "hunted", "heard", "feared", "licked", "found", "loved",
        "caught",
    ],
    ditransitive: ["gives", "brings", "shows", "feeds", "offers"],
    intransitive: ["sleeps", "runs", "eats", "hides", "swims", "jumps"],
    adjectives: ["big", "small", "brown", "hungry", "wild", "young", "furry", "clever"],
    adverbs: ["quickly", "quietly", "often"],
};

const VEHICLES: ContentWords = ContentWords {
    nouns: [
        "car", "bus", "bike", "truck", "van", "train", "tram", "boat", "ship", "plane", "jet", "taxi", "scooter",
        "tractor", "lorry", "ferry", "wagon", "cart", "sled", "canoe", "yacht", "rocket", "glider", "kayak",
    ],
    transitive: [
        "passes",
        "tows",
        "hits",
        "blocks",
        "meets",
        "trails",
        "overtakes",
        "rams",
        "leads",
        "circles",
        "signals",
        "pushes",
    ],
    participles: [
        "passed",
        "towed",
        "hit",
        "blocked",
        "met",
        "trailed",
        "overtaken",
        "rammed",
        "led",
        "circled",
        "signalled",
        "pushed",
    ],
    ditransitive: ["lends", "sends", "hands", "sells", "loans"],
    intransitive: ["stops", "turns", "brakes", "drifts", "stalls", "skids"],
    adjectives: ["red", "blue", "fast", "slow", "old", "new", "heavy", "shiny"],
    adverbs: ["smoothly", "loudly", "slowly"],
};

/// Which content words a sentence is made of. The two have none in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Vocabulary {
    /// A, which is learned and probed.
    Animals,
    /// B, which nothing is fitted to.
    Vehicles,
}

/// What a word may stand for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WordClass {
    Determiner,
    RelativePronoun,
    Auxiliary,
    By,
    Noun,
    Transitive,
    Participle,
    Ditransitive,
    Intransitive,
    Adjective,
    Adverb,
}

/// Classes of content words with their sizes, in the order of ids.
const OWN_CLASSES: [(WordClass, u32); 7] = [
    (WordClass::Noun, 24),
    (WordClass::Transitive, 12),
    (WordClass::Participle, 12),
    (WordClass::Ditransitive, 5),
    (WordClass::Intransitive, 6),
    (WordClass::Adjective, 8),
    (WordClass::Adverb, 3),
];

/// Content words of one vocabulary.
const OWN: u32 = 70;

impl Vocabulary {
    /// Ids of a class of words in this vocabulary.
    pub fn ids(self, class: WordClass) -> Range<u32> {
        let shared = SHARED.len() as u32;
        let mut from = shared + if self == Self::Animals { 0 } else { OWN };
        match class {
            WordClass::Determiner => 0..3,
            WordClass::RelativePronoun => 3..4,
            WordClass::Auxiliary => 4..6,
            WordClass::By => 6..7,
            own => {
                for (other, size) in OWN_CLASSES {
                    if other == own {
                        return from..from + size;
                    }
                    from += size;
                }
                from..from
            }
        }
    }
}

/// All words; a word's id is its place.
pub fn words() -> Vec<&'static str> {
    let mut all = SHARED.to_vec();
    for own in [&ANIMALS, &VEHICLES] {
        all.extend(own.nouns);
        all.extend(own.transitive);
        all.extend(own.participles);
        all.extend(own.ditransitive);
        all.extend(own.intransitive);
        all.extend(own.adjectives);
        all.extend(own.adverbs);
    }
    all
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn ids_follow_the_stated_order() {
        let all = words();
        assert_eq!(all.len(), 147);
        assert_eq!(all.len(), SHARED.len() + 2 * OWN as usize);
        assert_eq!(all.iter().collect::<HashSet<_>>().len(), 147, "no word comes twice");
        for (id, word) in [
            (0, "the"),
            (6, "by"),
            (7, "cat"),
            (30, "monkey"),
            (31, "chases"),
            (43, "chased"),
            (55, "gives"),
            (60, "sleeps"),
            (66, "big"),
            (74, "quickly"),
            (76, "often"),
            (77, "car"),
            (100, "kayak"),
            (101, "passes"),
            (113, "passed"),
            (125, "lends"),
            (130, "stops"),
            (136, "red"),
            (144, "smoothly"),
            (146, "slowly"),
        ] {
            assert_eq!(all[id], word);
        }
    }

    #[test]
    fn a_class_is_a_range_of_ids() {
        let named = |v: Vocabulary, class| words()[v.ids(class).start as usize];
        assert_eq!(OWN_CLASSES.iter().map(|(_, n)| n).sum::<u32>(), OWN);
        assert_eq!(named(Vocabulary::Animals, WordClass::Adverb), "quickly");
        assert_eq!(named(Vocabulary::Vehicles, WordClass::Participle), "passed");
        assert_eq!(Vocabulary::Vehicles.ids(WordClass::Adverb).end, 147);
        assert_eq!(Vocabulary::Animals.ids(WordClass::By), Vocabulary::Vehicles.ids(WordClass::By));
    }
}
