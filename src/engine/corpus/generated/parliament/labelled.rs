//! Sentences with and without a concept, labelled for a finder: which language, class, noun and frame, and on which
//! side of the split. Plain data.
//!
//! Half of the nouns are searched with and half confirmed with; of the frames, those of the training text
//! and a few more are searched with and the others, which no training text has, confirmed with. Every
//! sentence with the concept has one without it in the same language and frame, so that the frame tells
//! nothing; as many nouns are without the concept as with it, of about the same length.

use super::{Class, Extent, FRAMES, LANGUAGES, Language, NAIVE_FRAMES, NAIVE_TRAINED, SEARCH_FRAMES, TRAINED_FRAMES};

/// Sides of the split.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SplitSide {
    /// Nouns and frames to choose a synapse by.
    Search,
    /// New nouns in frames of the search.
    NewNouns,
    /// Nouns of the search in new frames.
    NewFrames,
    /// New nouns in new frames: the test of generalisation.
    BothNew,
}

impl SplitSide {
    /// Every side, in the order of their numbers.
    pub const ALL: [SplitSide; 4] = [SplitSide::Search, SplitSide::NewNouns, SplitSide::NewFrames, SplitSide::BothNew];

    /// Returns the name of the side.
    pub fn name(self) -> &'static str {
        match self {
            SplitSide::Search => "search",
            SplitSide::NewNouns => "new nouns",
            SplitSide::NewFrames => "new frames",
            SplitSide::BothNew => "both new",
        }
    }
}

/// A sentence in the form that a training text has, without the continuation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sentence {
    /// `<F:en>The question of the euro is open.`
    pub text: String,
    /// Index into [`super::CODES`].
    pub language: usize,
    /// The kind of the noun.
    pub class: Class,
    /// The noun's number in its class, the same in every language.
    pub entity: usize,
    /// The noun's bare name in the sentence's language.
    pub name: &'static str,
    /// The number of the sentence frame.
    pub frame: usize,
    /// True if no training text has the frame.
    pub is_new_frame: bool,
    /// The side of the split that the sentence belongs to.
    pub part: SplitSide,
    /// True if the class is the concept asked for.
    pub has_concept: bool,
}

/// The classes of the sentences without the concept, and how many nouns of each lie on a side of the split.
fn contrast(concept: Class, extent: &Extent) -> Vec<(Class, usize)> {
    let whole: &[(Class, usize)] = match (concept, extent.naive) {
        (_, true) => &[(Class::Goods, 12)],
        // Capital letters and articles on both sides.
        (Class::Country, _) => &[(Class::City, 5), (Class::Institution, 4), (Class::Currency, 2), (Class::Goods, 1)],
        _ => &[(Class::Goods, 4), (Class::Country, 3), (Class::City, 3), (Class::Institution, 2)],
    };
    // A smaller text keeps the proportions; pairing with the nouns of the concept drops a surplus from rounding up.
    let spoken: Vec<(Class, usize)> = whole.iter().filter(|c| (c.0 as usize) < extent.kinds).copied().collect();
    let (sum, wanted) = (spoken.iter().map(|c| c.1).sum::<usize>(), extent.entities(concept).div_ceil(2));
    spoken.iter().map(|&(class, n)| (class, (n * wanted).div_ceil(sum))).collect()
}

/// The number of frames for each noun of the search half, and how many of them are in no training text.
const SEARCHED: (usize, usize) = (6, 2);
/// The number of frames for each noun in a part of the split in which only the noun or only the frame is new.
const HALF_NEW: usize = 4;

/// Returns every sentence of the search for a synapse of `concept`, for a model that was trained on this extent of the
/// parliament.
pub fn sentences(concept: Class, extent: &Extent) -> Vec<Sentence> {
    let extent = extent.clamped();
    let naive = extent.naive;
    let mut all = vec![];
    for part in SplitSide::ALL {
        let confirms = matches!(part, SplitSide::NewNouns | SplitSide::BothNew);
        // Nouns with even numbers serve the search, those with odd numbers the confirming test.
        let side = |class: Class| (0..extent.entities(class)).filter(move |e| e % 2 == usize::from(confirms));
        let with: Vec<(Class, usize)> = side(concept).map(|e| (concept, e)).collect();
        let without: Vec<(Class, usize)> =
            contrast(concept, &extent).iter().flat_map(|&(c, n)| side(c).take(n).map(move |e| (c, e))).collect();
        for (i, (&with, &without)) in with.iter().zip(&without).enumerate() {
            for frame in frames(part, i, &extent) {
                for (language, spoken) in extent.languages().iter().enumerate() {
                    for ((class, entity), is) in [(with, true), (without, false)] {
                        all.push(Sentence {
                            text: sentence_text(spoken, (class, entity), frame, naive),
                            language,
                            class,
                            entity,
                            name: spoken.name(class, entity),
                            frame: if naive { class as usize * NAIVE_FRAMES + frame } else { frame },
                            is_new_frame: frame >= if naive { NAIVE_TRAINED } else { TRAINED_FRAMES },
                            part,
                            has_concept: is,
                        });
                    }
                }
            }
        }
    }
    all
}

fn sentence_text(language: &Language, (class, entity): (Class, usize), frame: usize, naive: bool) -> String {
    let sentence = if naive { language.naive(class, entity, frame) } else { language.sentence(class, entity, frame) };
    format!("<F:{}>{sentence}", language.code)
}

/// The frames that the i-th noun is asked in: consecutive ones that begin where those of the noun before end, so that
/// each frame is met by many nouns.
fn frames(part: SplitSide, i: usize, extent: &Extent) -> Vec<usize> {
    let turn = |from: usize, to: usize, count: usize| {
        (0..count.min(to - from)).map(move |k| from + (i * count + k) % (to - from))
    };
    match (part, extent.naive) {
        (SplitSide::Search | SplitSide::NewNouns, true) => (0..NAIVE_TRAINED).collect(),
        (_, true) => (NAIVE_TRAINED..NAIVE_FRAMES).collect(),
        (SplitSide::Search, _) => turn(0, extent.frames, SEARCHED.0 - SEARCHED.1)
            .chain(turn(TRAINED_FRAMES, SEARCH_FRAMES, SEARCHED.1))
            .collect(),
        (SplitSide::NewNouns, _) => turn(0, extent.frames, HALF_NEW).collect(),
        (SplitSide::NewFrames, _) => turn(SEARCH_FRAMES, FRAMES, HALF_NEW).collect(),
        (SplitSide::BothNew, _) => (SEARCH_FRAMES..FRAMES).collect(),
    }
}

/// The continuations of a sentence, by class, to test if a model expects those of the noun's class. All agree with the
/// noun (its, their), so that only the class distinguishes them.
pub fn follow_ups(sentence: &Sentence, extent: &Extent) -> Vec<(Class, Vec<String>)> {
    let extent = extent.clamped();
    let Some(spoken) = LANGUAGES.get(sentence.language) else { return vec![] };
    let follow_ups_of_class = |class: Class| {
        (0..extent.follow_ups).map(move |k| spoken.follow_up(class, (sentence.class, sentence.entity), k)).collect()
    };
    Class::ALL[..extent.kinds].iter().map(|&class| (class, follow_ups_of_class(class))).collect()
}
