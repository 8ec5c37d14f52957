//! Text made by us: prose of several domains, and the tasks that ask for a fact stated long before. Deterministic by
//! seed.

mod chains;
mod data;
pub mod domains;
pub(super) mod examples;
pub mod grammar_roles;
pub mod opinions;
pub mod parliament;
mod prose;
mod recall;
mod repeat_after_me;
pub mod repeats;
pub mod steering;
pub(super) mod story;
mod symbols;
mod template;
mod theme;
mod writer;

use crate::corpus::prelude::*;
use examples::Examples;
use parliament::Extent;
use story::FactStyle;
use theme::Theme;

/// The approximate number of bytes of a generated corpus of prose.
pub const SIZE: usize = 1_400_000;

/// A generated corpus: an id for configs, words for the reader, and what makes it.
pub struct Generated {
    /// The id that settings and files use.
    pub id: &'static str,
    /// The title on screen.
    pub title: &'static str,
    /// A description in a sentence or two.
    pub about: &'static str,
    recipe: Recipe,
}

/// A description of a task's questions, and the accuracy of a guess.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Questions {
    /// The name of the guesser whose accuracy is [`super::Corpus::chance_accuracy`].
    pub guess: &'static str,
    /// The expected share of right answers without reading the text, where that is less.
    pub blind_accuracy: Option<f64>,
    /// A short instruction for a person who reads a passage.
    pub how_to_read: &'static str,
}

/// The generator of a corpus.
enum Recipe {
    /// Documents of these themes.
    Prose(&'static [&'static LazyLock<Theme>]),
    /// Windows that are generated on demand, with questions and answers.
    Task(FactStyle),
    /// Windows that are generated on demand, each a whole example.
    Recall(&'static dyn Examples),
    /// Running text of at least this many bytes.
    Text(fn(&mut ChaCha8Rng, usize) -> String),
    Parliament(Extent),
    /// The parliament between two languages, by their numbers in [`parliament::CODES`].
    Pairs([usize; 2]),
    /// All domains; fewer are a [`super::Source::Domains`].
    Domains,
}

/// Every generated corpus.
pub const CORPORA: &[&Generated] = &[
    &prose::MIXTURE,
    &prose::HARBOUR_ALONE,
    &prose::GARDEN_ALONE,
    &prose::OBSERVATORY_ALONE,
    &prose::KITCHEN_ALONE,
    &prose::LETTERS_ALONE,
    &domains::CORPUS,
    &story::FACTS,
    &story::FACTS_SYMBOLS,
    &recall::EASY,
    &recall::MEDIUM,
    &recall::HARD,
    &repeat_after_me::CORPUS,
    &chains::CORPUS,
    &symbols::CORPUS,
    &steering::CORPUS,
    &repeats::CORPUS,
    &grammar_roles::CORPUS,
    &parliament::ALL,
    &parliament::NAIVE,
    &parliament::EN_ES,
    &parliament::EN_FR,
    &parliament::EN_DE,
    &parliament::FR_ES,
    &parliament::FR_DE,
    &parliament::ES_DE,
    &parliament::EN_PT,
    &parliament::FR_PT,
    &parliament::ES_PT,
    &parliament::DE_PT,
];

/// A parliament of this extent, at least `size` bytes of it.
pub fn part_of_parliament(seed: u64, size: usize, extent: &Extent) -> String {
    parliament::text(&mut ChaCha8Rng::seed_from_u64(scramble(seed)), size, extent)
}

/// The corpus of this id.
pub fn by_id(id: &str) -> Option<&'static Generated> {
    CORPORA.iter().copied().find(|c| c.id == id)
}

impl Generated {
    /// Returns true if this is a task (windows that are generated on demand, with answers) rather than running text.
    pub fn is_task(&self) -> bool {
        self.questions().is_some()
    }

    /// Returns true if this is running English text.
    pub fn is_prose(&self) -> bool {
        matches!(self.recipe, Recipe::Prose(_))
    }

    /// Returns true if a setting chooses how many domains it mixes.
    pub fn mixes_domains(&self) -> bool {
        matches!(self.recipe, Recipe::Domains)
    }

    /// Returns true if this has some of the domain of this place in [`domains::NAMES`]: all prose counts as stories.
    pub fn has_domain(&self, domain: usize) -> bool {
        match self.recipe {
            Recipe::Domains => true,
            Recipe::Prose(_) => domain == domains::STORIES,
            Recipe::Parliament(_) => Self::has_debates(domain),
            Recipe::Task(_) | Recipe::Recall(_) | Recipe::Text(_) | Recipe::Pairs(_) => false,
        }
    }

    /// Returns true if the domain with this index consists of debates in the parliament's languages.
    pub(super) fn has_debates(domain: usize) -> bool {
        domains::DEBATES.contains(&domain)
    }

    /// The extent of the parliament, if this is one.
    pub fn extent(&self) -> Option<Extent> {
        match self.recipe {
            Recipe::Parliament(extent) => Some(extent),
            _ => None,
        }
    }

    /// The questions, if it is a task.
    pub fn questions(&self) -> Option<Questions> {
        match self.recipe {
            Recipe::Task(style) => Some(style.questions()),
            Recipe::Recall(recall) => Some(recall.questions()),
            Recipe::Prose(_) | Recipe::Text(_) | Recipe::Parliament(_) | Recipe::Pairs(_) | Recipe::Domains => None,
        }
    }

    /// Returns true if a run learns from its answers alone, whatever is set: what follows anything else is chance.
    pub fn has_only_answers(&self) -> bool {
        self.recall().is_some()
    }

    pub(super) fn facts(&self) -> Option<FactStyle> {
        match self.recipe {
            Recipe::Task(style) => Some(style),
            _ => None,
        }
    }

    /// Returns true if this is associative recall: pairs of a key and a value, and then the keys again.
    pub fn asks_for_pairs(&self) -> bool {
        self.recall().is_some_and(Examples::asks_for_pairs)
    }

    /// The maker of the examples of a task of recall.
    pub(super) fn recall(&self) -> Option<&'static dyn Examples> {
        match self.recipe {
            Recipe::Recall(recall) => Some(recall),
            _ => None,
        }
    }

    /// The text of this seed, at least `size` bytes of it; empty for a task.
    pub fn text(&self, seed: u64, size: usize) -> String {
        let mut rng = ChaCha8Rng::seed_from_u64(scramble(seed));
        match self.recipe {
            Recipe::Prose(themes) => prose::text(&mut rng, size, themes),
            Recipe::Task(_) | Recipe::Recall(_) => String::new(),
            Recipe::Text(text) => text(&mut rng, size),
            Recipe::Parliament(extent) => parliament::text(&mut rng, size, &extent),
            Recipe::Pairs(languages) => parliament::pairs(&mut rng, size, languages),
            Recipe::Domains => domains::text(seed, size, domains::MAX_DOMAINS),
        }
    }
}

#[cfg(test)]
mod tests;
