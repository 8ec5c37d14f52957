//! The corpora of prose, each of one theme or of all.

use super::{
    Generated, Recipe,
    theme::{GARDEN, HARBOUR, KITCHEN, LETTERS, OBSERVATORY, Plot, Theme},
    writer::{self, RecentUse},
};
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use std::sync::LazyLock;

pub(in crate::corpus) const MIXTURE: Generated = Generated {
    id: "mixture",
    title: "Mixture",
    about: "All prose domains in turn: harbour, garden, observatory, kitchen and letters.",
    recipe: Recipe::Prose(&[&HARBOUR, &GARDEN, &OBSERVATORY, &KITCHEN, &LETTERS]),
};

pub(in crate::corpus) const HARBOUR_ALONE: Generated = Generated {
    id: "harbour",
    title: "Harbour",
    about: "Ships, weather and cargo in a small port; who keeps it, what came in, and what went wrong.",
    recipe: Recipe::Prose(&[&HARBOUR]),
};

pub(in crate::corpus) const GARDEN_ALONE: Generated = Generated {
    id: "garden",
    title: "Garden",
    about: "A walled garden: old trees, lost wells, and something that eats the beans.",
    recipe: Recipe::Prose(&[&GARDEN]),
};

pub(in crate::corpus) const OBSERVATORY_ALONE: Generated = Generated {
    id: "observatory",
    title: "Observatory",
    about: "Night work on a hill: stars that come late, a new light on a plate, visitors with potatoes.",
    recipe: Recipe::Prose(&[&OBSERVATORY]),
};

pub(in crate::corpus) const KITCHEN_ALONE: Generated = Generated {
    id: "kitchen",
    title: "Kitchen",
    about: "The kitchen of an inn: a dish that has lost its taste, a feast, a stranger at the window.",
    recipe: Recipe::Prose(&[&KITCHEN]),
};

pub(in crate::corpus) const LETTERS_ALONE: Generated = Generated {
    id: "letters",
    title: "Letters",
    about: "Letters home in the first person: neighbours, a case at court, a concert.",
    recipe: Recipe::Prose(&[&LETTERS]),
};

const DOCUMENT_SEPARATOR: &str = "\n\n* * *\n\n";

/// At least `size` bytes of documents. Plots are dealt like cards, so that none comes twice before the others
/// have come.
pub(super) fn text(rng: &mut ChaCha8Rng, size: usize, themes: &[&'static LazyLock<Theme>]) -> String {
    let mut text = String::with_capacity(size + (8 << 10));
    let mut recent = RecentUse::default();
    let all: Vec<(&Theme, &Plot)> = themes.iter().flat_map(|t| t.plots.iter().map(move |plot| (&***t, plot))).collect();
    let mut deck = vec![];
    while text.len() < size {
        if deck.is_empty() {
            deck.clone_from(&all);
            deck.shuffle(rng);
        }
        let Some((theme, plot)) = deck.pop() else { break };
        if !text.is_empty() {
            text.push_str(DOCUMENT_SEPARATOR);
        }
        text.push_str(&writer::document(theme, plot, rng, &mut recent));
    }
    text.push('\n');
    text
}
