//! The language of the steering preset: short sentences that call a thing good, bad or neither. It has about ninety
//! words, and every sentence is well-formed English.

use super::{
    Generated, Recipe,
    template::{fill_to_size, pick},
};
use crate::corpus::prelude::*;

pub(in crate::corpus) const CORPUS: Generated = Generated {
    id: "steering",
    title: "Good and bad",
    about: "Short sentences that say of a thing that it is good, bad or neither: the language of the steering preset.",
    recipe: Recipe::Text(text),
};

/// The class that u = +1 leads to.
pub const GOOD: [&str; 6] = ["good", "lovely", "wonderful", "fine", "pleasant", "splendid"];
/// The class that u = -1 leads to.
pub const BAD: [&str; 6] = ["bad", "awful", "terrible", "poor", "dreadful", "horrid"];
/// Words of the neutral class.
pub const NEUTRAL: [&str; 6] = ["ordinary", "familiar", "typical", "different", "simple", "average"];

/// Nouns of the steering prompts. Of the first half good things are said more often, of the second half
/// bad ones: the language has a leaning to learn, and steering one to go against.
pub const NOUNS: [&str; 32] = [
    "tea", "bread", "dinner", "apple", "song", "book", "play", "picture", "garden", "house", "bed", "summer", "view",
    "party", "game", "day", "soup", "fish", "story", "lesson", "room", "school", "market", "street", "night",
    "weather", "road", "trip", "boat", "voice", "news", "plan",
];
/// Nouns of the language that no steering prompt of the training has, on which steering is measured. Half of them lean
/// to good and half to bad, like the others.
pub const HELD_OUT_NOUNS: [&str; 8] = ["cake", "coffee", "film", "dance", "letter", "bridge", "winter", "train"];

/// The verbs that join the noun to its adjective.
pub const VERBS: [&str; 2] = ["was", "seemed"];
/// The adverbs that may be before the adjective.
pub const ADVERBS: [&str; 4] = ["really", "quite", "rather", "truly"];
/// The words that may be before "the"; the empty one begins the sentence with "The".
pub const OPENERS: [&str; 10] = [
    "Today",
    "Yesterday",
    "Perhaps",
    "Everyone said",
    "She thought",
    "He wrote that",
    "Last week",
    "This morning",
    "In the end",
    "My friend felt that",
];

/// The probabilities that a sentence has an opener, an adverb.
const OPENER_PROBABILITY: f64 = 0.4;
const WITH_ADVERB: f64 = 0.25;
/// The probabilities that the adjective is (good, bad), for a noun that leans to good, to bad.
const GOOD_NOUN_PROBABILITIES: (f64, f64) = (0.6, 0.15);
const BAD_NOUN_PROBABILITIES: (f64, f64) = (0.15, 0.55);
/// Sentences of a line of running text.
const LINE: usize = 12;

/// One sentence in its parts: `before` ends with the verb, where the class of the next word is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sentence {
    /// The text up to and including the verb.
    pub before: String,
    /// The noun of the sentence.
    pub noun: &'static str,
    /// The adverb before the adjective, if there is one.
    pub adverb: Option<&'static str>,
    /// The adjective, whose class is the class of the sentence.
    pub adjective: &'static str,
}

impl Sentence {
    /// Drawn from the language; with `steering_only` its noun is one of the steering prompts'.
    pub fn draw(rng: &mut ChaCha8Rng, steering_only: bool) -> Self {
        let all = NOUNS.len() + if steering_only { 0 } else { HELD_OUT_NOUNS.len() };
        let which = rng.random_range(0..all);
        let noun = NOUNS.get(which).copied().unwrap_or_else(|| HELD_OUT_NOUNS[which - NOUNS.len()]);
        let opener = rng.random_bool(OPENER_PROBABILITY).then(|| pick(rng, &OPENERS));
        let before = prompt(opener, noun, pick(rng, &VERBS));
        let adverb = rng.random_bool(WITH_ADVERB).then(|| pick(rng, &ADVERBS));
        let (good, bad) = if prefers_good(noun) { GOOD_NOUN_PROBABILITIES } else { BAD_NOUN_PROBABILITIES };
        let class = match rng.random::<f64>() {
            x if x < good => &GOOD,
            x if x < good + bad => &BAD,
            _ => &NEUTRAL,
        };
        Self { before, noun, adverb, adjective: pick(rng, class) }
    }

    /// The whole, with its full stop.
    pub fn text(&self) -> String {
        match self.adverb {
            Some(adverb) => format!("{} {adverb} {}.", self.before, self.adjective),
            None => format!("{} {}.", self.before, self.adjective),
        }
    }
}

/// The class that the language prefers after a noun.
pub fn prefers_good(noun: &str) -> bool {
    NOUNS[..NOUNS.len() / 2].contains(&noun) || HELD_OUT_NOUNS[..HELD_OUT_NOUNS.len() / 2].contains(&noun)
}

/// "Yesterday the tea was": a sentence up to the word that is asked for.
pub fn prompt(opener: Option<&str>, noun: &str, verb: &str) -> String {
    if let Some(opener) = opener { format!("{opener} the {noun} {verb}") } else { format!("The {noun} {verb}") }
}

/// Prompts of these nouns, one of each noun with each verb and an opener in turn (the plain one too).
pub fn prompts(nouns: &[&str]) -> Vec<String> {
    let mut all = vec![];
    for (i, noun) in nouns.iter().enumerate() {
        for (j, verb) in VERBS.iter().enumerate() {
            all.push(prompt(None, noun, verb));
            all.push(prompt(Some(OPENERS[(VERBS.len() * i + j) % OPENERS.len()]), noun, verb));
        }
    }
    all
}

/// At least `size` bytes of running text, a dozen sentences per line.
fn text(rng: &mut ChaCha8Rng, size: usize) -> String {
    fill_to_size(size, |text| {
        let line: Vec<String> = (0..LINE).map(|_| Sentence::draw(rng, false).text()).collect();
        text.push_str(&line.join(" "));
        text.push('\n');
    })
}

/// A text that holds every word of the language, for a tokeniser to learn from. The counts of words differ little, so
/// that no word is rare.
pub(in crate::corpus) fn every_word() -> String {
    let nouns: Vec<&str> = NOUNS.iter().chain(&HELD_OUT_NOUNS).copied().collect();
    let adjectives: Vec<&str> = GOOD.iter().chain(&BAD).chain(&NEUTRAL).copied().collect();
    let mut text = String::new();
    for (i, noun) in nouns.iter().enumerate() {
        let opener = (i % 2 == 0).then(|| OPENERS[i / 2 % OPENERS.len()]);
        let adverb = ADVERBS[i % ADVERBS.len()];
        let before = prompt(opener, noun, VERBS[i % VERBS.len()]);
        text.push_str(&format!("{before} {adverb} {}. ", adjectives[i % adjectives.len()]));
    }
    text
}
