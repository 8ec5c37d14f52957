//! The tasks: a fact is stated at the start of a window and asked for far later, with filler between.
//! Made to order for any length, without end. Knows neither tokens nor models.

use super::{
    Generated, Questions, Recipe,
    writer::{Lexicon, Pool, Writer, pick},
};
use rand::Rng;
use rand_chacha::ChaCha8Rng;

/// Corpus `facts`.
pub(in crate::corpus) const FACTS: Generated = Generated {
    id: "facts",
    title: "Facts in a story",
    about: "A task: a name is given in the first sentence and asked for in the last, far beyond a short attention window.",
    recipe: Recipe::Task(FactStyle::Story),
};

/// Corpus `facts_symbols`.
pub(in crate::corpus) const FACTS_SYMBOLS: Generated = Generated {
    id: "facts_symbols",
    title: "Facts in symbols",
    about: "A task: one of ten facts after a marker, random filler, and question marks that ask for the fact.",
    recipe: Recipe::Task(FactStyle::Symbols),
};

/// Which task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::corpus) enum FactStyle {
    /// Single symbols (the paper's lab in PyTorch): `#7` then letters, then `?7`.
    Symbols,
    /// Readable sentences.
    Story,
}

impl FactStyle {
    /// How many facts there are, each as likely.
    pub(in crate::corpus) fn facts(self) -> usize {
        match self {
            Self::Symbols => usize::from(DIGITS),
            Self::Story => NAMES.len(),
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
        Questions { guess: "guessing", blind: None, how_to_read }
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

/// What a piece is there for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::corpus) enum Role {
    Fact,
    Filler,
    /// Ends right where the answer must follow.
    Question,
    Answer,
}

fn piece(text: impl Into<String>, role: Role) -> Fragment {
    Fragment { text: text.into(), role }
}

/// Facts of the task in symbols: one digit each.
const DIGITS: u8 = 10;

/// The ten facts of the readable task.
pub(in crate::corpus) const NAMES: [&str; 10] =
    ["Anna", "Bruno", "Clara", "David", "Edith", "Felix", "Greta", "Hugo", "Ines", "Jonas"];

struct Scene {
    /// States the name; one sentence.
    fact: Pool,
    /// Asks for it; the answer is the name and a full stop.
    ask: Pool,
    filler: Pool,
}

const LEXICON: Lexicon = &[
    ("wind", &["north", "west", "south", "east"]),
    ("time", &["in the morning", "at noon", "in the evening", "before dawn", "after dark"]),
    ("colour", &["white", "green", "grey", "brown", "blue", "red"]),
    ("number", &["two", "three", "four", "five", "six", "seven"]),
];

const SCENES: [Scene; 3] = [
    Scene {
        fact: &[
            "{name} is the captain of this ship.",
            "{name} is the captain of a small {colour} ship.",
            "{name} is the captain of the ship at the quay.",
        ],
        ask: &["What is the captain of the ship called?", "Who is the captain?", "And who was the captain?"],
        filler: &[
            "The wind blows from the {wind} {time}.",
            "The crew [washes|paints|repairs] the deck {time}.",
            "There are {number} {colour} sails to mend.",
            "The cook bakes bread {time}, and it smells good.",
            "{number} gulls follow the ship as far as the lighthouse.",
            "Rain falls on the water {time}.",
            "The cargo is [salt|wool|timber|tea] from the {wind}.",
            "A {colour} flag [flies|hangs] from the mast.",
            "The sailors sing when the anchor comes up.",
            "The harbour is quiet, and the tide is low.",
            "Below the deck a cat looks for mice.",
            "It takes {number} men to turn the wheel in a storm.",
            "The lamps are lit {time}.",
            "Nobody hurries, because the ship waits for the tide.",
        ],
    },
    Scene {
        fact: &[
            "{name} is the baker in our street.",
            "{name} is the baker in a village of {number} streets.",
            "{name} is the baker who gets up before dawn.",
        ],
        ask: &["What is the baker called?", "Who is the baker?", "And who was the baker?"],
        filler: &[
            "The oven is hot {time}.",
            "On the shelf stand {number} {colour} jars.",
            "The flour comes by cart from the {wind}.",
            "Children buy {number} rolls {time}.",
            "The bread is dark and smells of [rye|smoke|honey].",
            "A {colour} cloth covers the dough.",
            "The dough must rest before it goes into the oven.",
            "An old woman always asks for the smallest loaf.",
            "The bell over the door rings {time}.",
            "There is [plum|apple|cherry] cake on market days.",
            "The {wind} wind carries the smell over the roofs.",
            "The shop closes when the last loaf is sold.",
            "{number} sparrows wait for crumbs at the door.",
            "Nobody leaves the shop without a style word.",
        ],
    },
    Scene {
        fact: &[
            "{name} is the gardener of the old park.",
            "{name} is the gardener of the park by the {wind} gate.",
            "{name} is the gardener who keeps the roses.",
        ],
        ask: &["What is the gardener called?", "Who is the gardener?", "And who was the gardener?"],
        filler: &[
            "The roses are {colour} this year.",
            "Along the {wind} wall grow {number} pear trees.",
            "The paths are swept {time}.",
            "A {colour} bird sings in the hedge {time}.",
            "Water runs from the pond into {number} ditches.",
            "The soil is dark, and it has rained enough.",
            "The greenhouse is warm even in winter.",
            "Visitors sit on the bench by the [pond|gate|wall].",
            "The old mower stands in the shed.",
            "Bees come from the {wind} when the lime trees flower.",
            "The leaves are burnt {time}.",
            "Somebody has left a {colour} hat on the fountain.",
            "The tulips are planted in {number} straight rows.",
            "Nobody may walk on the grass {time}.",
        ],
    },
];

/// The filler of the symbol task.
const LETTERS: &[u8; 16] = b"abcdefghijklmnop";

/// A short sentence: room that is kept free before a question, since fillers do not fit exactly.
const ROOM: &str = " The shop closes at the usual hour.";
/// As long as the longest fact, and the longest question with its answer.
const LONGEST_FACT: &str = "David is the gardener of the park by the north gate.";
const LONGEST_ASK: &str = " What is the captain of the ship called? David.";

/// The fewest tokens of a window that can hold one question.
pub(in crate::corpus) fn least(style: FactStyle, spacing: usize, measure: &dyn Fn(&str) -> usize) -> usize {
    match style {
        FactStyle::Symbols => spacing + 4,
        FactStyle::Story => measure(LONGEST_FACT) + block(spacing, measure),
    }
}

/// Tokens that a question takes with the filler before it.
fn block(spacing: usize, measure: &dyn Fn(&str) -> usize) -> usize {
    spacing + measure(ROOM) + measure(LONGEST_ASK)
}

/// The pieces of one window of at least `len` tokens (at least [`least`]), in which at least `spacing`
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
    let mut pieces = vec![piece("#", Role::Filler), piece(fact.as_str(), Role::Fact)];
    while pieces.len() < len {
        // A question is asked only where its answer is not cut off: pulled in if that saves it.
        let latest = (len - pieces.len()).saturating_sub(2);
        let gap = (spacing + rng.random_range(0..=spacing / 4)).min(latest.max(spacing));
        for _ in 0..gap.min(len - pieces.len()) {
            let letter = LETTERS[rng.random_range(0..LETTERS.len())];
            pieces.push(piece(char::from(letter), Role::Filler));
        }
        if pieces.len() + 2 <= len {
            pieces.push(piece("?", Role::Question));
            pieces.push(piece(fact.as_str(), Role::Answer));
        }
    }
    pieces
}

fn story(rng: &mut ChaCha8Rng, len: usize, spacing: usize, measure: &dyn Fn(&str) -> usize) -> Vec<Fragment> {
    let scene = &SCENES[rng.random_range(0..SCENES.len())];
    let name = pick(rng, &NAMES);
    let opening = pick(rng, scene.fact).replace("{name}", name);
    let asks: Vec<&str> = (0..scene.ask.len()).map(|_| pick(rng, scene.ask)).collect();
    let mut writer = Writer::plain(rng, LEXICON);
    let fact = writer.sentence(&opening);
    let mut told = measure(&fact);
    let mut pieces = vec![piece(fact, Role::Fact)];
    let questions = (len.saturating_sub(told) / block(spacing, measure)).max(1);
    let first = told;
    let mut fill = Fill::new(&mut writer, scene, measure);
    for i in 0..questions {
        let ask = asks[i % asks.len()];
        // The blocks share the window evenly and the last ends with it.
        let end = first + (len.saturating_sub(first)) * (i + 1) / questions;
        let question = measure(&format!(" {ask}")) + measure(&format!(" {name}")) + measure(".");
        while let Some(filler) = fill.sentence(&mut writer, end.saturating_sub(told + question)) {
            told += measure(&filler);
            pieces.push(piece(filler, Role::Filler));
        }
        pieces.push(piece(format!(" {ask}"), Role::Question));
        pieces.push(piece(format!(" {name}"), Role::Answer));
        pieces.push(piece(".", Role::Filler));
        told += question;
    }
    // What no sentence fitted into is the beginning of one more.
    while told < len {
        let filler = format!(" {}", writer.sentence(scene.filler[told % scene.filler.len()]));
        told += measure(&filler);
        pieces.push(piece(filler, Role::Filler));
    }
    pieces
}

/// Chooses filler sentences so that they come out even.
struct Fill<'a> {
    filler: Pool,
    measure: &'a dyn Fn(&str) -> usize,
    /// Whether so many tokens can be filled exactly, as far as one try of each sentence shows.
    even: Vec<bool>,
    recent: Vec<usize>,
}

impl<'a> Fill<'a> {
    fn new(writer: &mut Writer, scene: &Scene, measure: &'a dyn Fn(&str) -> usize) -> Self {
        let tries = scene.filler.iter();
        let lengths: Vec<usize> = tries.map(|f| measure(&format!(" {}", writer.sentence(f)))).collect();
        let mut even = vec![false; 64];
        even[0] = true;
        for n in 1..even.len() {
            even[n] = lengths.iter().any(|&l| l <= n && even[n - l]);
        }
        Self { filler: scene.filler, measure, even, recent: vec![] }
    }

    /// A sentence of at most `room` tokens after which the rest can be filled too; not one of the recent
    /// ones if that can be. None when no sentence is found.
    fn sentence(&mut self, writer: &mut Writer, room: usize) -> Option<String> {
        for attempt in 0..240 {
            let which = writer.number(self.filler.len());
            let repeats = self.recent.last() == Some(&which) && attempt < 200;
            if repeats || (self.recent.contains(&which) && attempt < 120) {
                continue;
            }
            let said = format!(" {}", writer.sentence(self.filler[which]));
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
