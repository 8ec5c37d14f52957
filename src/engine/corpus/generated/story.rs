//! The tasks: a fact is stated at the start of a window and asked for far later, with filler between. Made to order for
//! any length, without end.

use super::{
    Generated, Questions, Recipe,
    data::data,
    symbols::ALPHABET,
    template::{Lexicon, pick_str},
    writer::Writer,
};
use crate::corpus::prelude::*;

pub(super) static DATA: LazyLock<Facts> = data!("facts.toml");

pub(in crate::corpus) const FACTS: Generated = Generated {
    id: "facts",
    title: "Facts in a story",
    about: "A task: a name is given in the first sentence and asked for in the last, far beyond a short attention window.",
    recipe: Recipe::Task(FactStyle::Story),
};

pub(in crate::corpus) const FACTS_SYMBOLS: Generated = Generated {
    id: "facts_symbols",
    title: "Facts in symbols",
    about: "A task: one of ten facts after a marker, random filler, and question marks that ask for the fact.",
    recipe: Recipe::Task(FactStyle::Symbols),
};

/// The form of the fact task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::corpus) enum FactStyle {
    /// Single symbols (the paper's lab in PyTorch): `#7` then letters, then `?7`.
    Symbols,
    /// Readable sentences.
    Story,
}

impl FactStyle {
    /// The number of facts, each equally likely.
    pub(in crate::corpus) fn facts(self) -> usize {
        match self {
            Self::Symbols => usize::from(DIGITS),
            Self::Story => DATA.names.len(),
        }
    }

    pub(super) fn questions(self) -> Questions {
        let how_to_read = match self {
            Self::Symbols => {
                "How to read it: \u{201c}#3\u{201d} states a fact, a digit; letters are filler that tells nothing; after each \
                 \u{201c}?\u{201d} the same digit must follow. \u{201c}#3ibib?\u{201d} therefore asks for 3."
            }
            Self::Story => {
                "How to read it: the first sentence gives a name; the questions further on ask for it, far beyond what the \
                 fast path sees."
            }
        };
        Questions { guess: "guessing", blind_accuracy: None, how_to_read }
    }

    /// Tokens between a fact and its question unless the specification says otherwise. Three passes of
    /// attention over 8 tokens reach 21.
    pub(in crate::corpus) fn spacing(self) -> usize {
        match self {
            Self::Symbols => 32,
            Self::Story => 36,
        }
    }
}

/// A stretch of text of a window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::corpus) struct Fragment {
    pub text: String,
    pub role: Role,
}

/// The purpose of a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::corpus) enum Role {
    Fact,
    Filler,
    /// A question; its end is the position where the answer begins.
    Question,
    Answer,
}

fn fragment(text: impl Into<String>, role: Role) -> Fragment {
    Fragment { text: text.into(), role }
}

/// Facts of the task in symbols: one digit each.
const DIGITS: u8 = 10;

/// The data of the readable task.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Facts {
    names: Vec<String>,
    pub words: Lexicon,
    pub scenes: Vec<Scene>,
    /// A short sentence: room that is kept free before a question, since fillers do not fit exactly.
    room: String,
    /// The lengths of the longest fact, and of the longest question with its answer.
    longest_fact: String,
    longest_ask: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Scene {
    /// Sentences that state the name; one is used.
    pub fact: Vec<String>,
    /// Asks for it; the answer is the name and a full stop.
    pub ask: Vec<String>,
    pub filler: Vec<String>,
}

/// The fewest tokens of a window that can hold one question.
pub(in crate::corpus) fn min_len(style: FactStyle, spacing: usize, measure: &dyn Fn(&str) -> usize) -> usize {
    match style {
        FactStyle::Symbols => spacing + 4,
        FactStyle::Story => measure(&DATA.longest_fact) + block(spacing, measure),
    }
}

/// The number of tokens of a question together with the filler before it.
fn block(spacing: usize, measure: &dyn Fn(&str) -> usize) -> usize {
    spacing + measure(&DATA.room) + measure(&DATA.longest_ask)
}

/// The pieces of one window of at least `len` tokens (at least [`min_len`]), in which at least `spacing`
/// tokens lie between a statement of the fact and the next question. `measure` counts the tokens of a
/// text.
pub(in crate::corpus) fn window(
    style: FactStyle,
    rng: &mut ChaCha8Rng,
    (len, spacing): (usize, usize),
    measure: &dyn Fn(&str) -> usize,
) -> Vec<Fragment> {
    match style {
        FactStyle::Symbols => symbols(rng, len, spacing),
        FactStyle::Story => story(rng, len, spacing, measure),
    }
}

fn symbols(rng: &mut ChaCha8Rng, len: usize, spacing: usize) -> Vec<Fragment> {
    let fact = rng.random_range(0..DIGITS).to_string();
    let mut pieces = vec![fragment("#", Role::Filler), fragment(fact.as_str(), Role::Fact)];
    while pieces.len() < len {
        // A question is placed only where its answer is not cut off; it is moved forward if that suffices.
        let latest = (len - pieces.len()).saturating_sub(2);
        let gap = (spacing + rng.random_range(0..=spacing / 4)).min(latest.max(spacing));
        for _ in 0..gap.min(len - pieces.len()) {
            let letter = ALPHABET[rng.random_range(0..ALPHABET.len())];
            pieces.push(fragment(char::from(letter), Role::Filler));
        }
        if pieces.len() + 2 <= len {
            pieces.push(fragment("?", Role::Question));
            pieces.push(fragment(fact.as_str(), Role::Answer));
        }
    }
    pieces
}

fn story(rng: &mut ChaCha8Rng, len: usize, spacing: usize, measure: &dyn Fn(&str) -> usize) -> Vec<Fragment> {
    let scene = &DATA.scenes[rng.random_range(0..DATA.scenes.len())];
    let name = pick_str(rng, &DATA.names);
    let opening = pick_str(rng, &scene.fact).replace("{name}", name);
    let asks: Vec<&str> = (0..scene.ask.len()).map(|_| pick_str(rng, &scene.ask)).collect();
    let mut writer = Writer::plain(rng, &DATA.words);
    let fact = writer.sentence(&opening);
    let mut told = measure(&fact);
    let mut pieces = vec![fragment(fact, Role::Fact)];
    let questions = (len.saturating_sub(told) / block(spacing, measure)).max(1);
    let first = told;
    let mut fill = FillerSentences::new(&mut writer, scene, measure);
    for i in 0..questions {
        let ask = asks[i % asks.len()];
        // The blocks share the window evenly and the last ends with it.
        let end = first + (len.saturating_sub(first)) * (i + 1) / questions;
        let question = measure(&format!(" {ask}")) + measure(&format!(" {name}")) + measure(".");
        while let Some(filler) = fill.sentence(&mut writer, end.saturating_sub(told + question)) {
            told += measure(&filler);
            pieces.push(fragment(filler, Role::Filler));
        }
        pieces.push(fragment(format!(" {ask}"), Role::Question));
        pieces.push(fragment(format!(" {name}"), Role::Answer));
        pieces.push(fragment(".", Role::Filler));
        told += question;
    }
    // The rest, too short for a whole sentence, holds the beginning of one.
    while told < len {
        let filler = format!(" {}", writer.sentence(&scene.filler[told % scene.filler.len()]));
        told += measure(&filler);
        pieces.push(fragment(filler, Role::Filler));
    }
    pieces
}

/// Chooses filler sentences that fill a given number of tokens exactly.
struct FillerSentences<'a> {
    filler: &'a [String],
    measure: &'a dyn Fn(&str) -> usize,
    /// True for each number of tokens that sentences can fill exactly, as far as one draw of each sentence shows.
    even: Vec<bool>,
    recent: Vec<usize>,
}

impl<'a> FillerSentences<'a> {
    fn new(writer: &mut Writer, scene: &'a Scene, measure: &'a dyn Fn(&str) -> usize) -> Self {
        let tries = scene.filler.iter();
        let lengths: Vec<usize> = tries.map(|f| measure(&format!(" {}", writer.sentence(f)))).collect();
        let mut even = vec![false; 64];
        even[0] = true;
        for n in 1..even.len() {
            even[n] = lengths.iter().any(|&l| l <= n && even[n - l]);
        }
        Self { filler: &scene.filler, measure, even, recent: vec![] }
    }

    /// Draws a sentence of at most `room` tokens that leaves a rest which other sentences can fill exactly. Recent sentences
    /// are avoided if possible. Returns `None` if no sentence is found.
    fn sentence(&mut self, writer: &mut Writer, room: usize) -> Option<String> {
        for attempt in 0..240 {
            let which = writer.number(self.filler.len());
            let repeats = self.recent.last() == Some(&which) && attempt < 200;
            if repeats || (self.recent.contains(&which) && attempt < 120) {
                continue;
            }
            let said = format!(" {}", writer.sentence(&self.filler[which]));
            let Some(rest) = room.checked_sub((self.measure)(&said)) else { continue };
            if !self.even.get(rest).copied().unwrap_or(true) {
                continue;
            }
            self.recent.push(which);
            if self.recent.len() > self.filler.len() / 2 {
                self.recent.remove(0);
            }
            return Some(said);
        }
        None
    }
}
