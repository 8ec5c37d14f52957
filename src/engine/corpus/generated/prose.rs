//! The corpora of prose, each of one theme or of all.

use super::{
    Generated, Recipe,
    theme::{GARDEN, HARBOUR, KITCHEN, LETTERS, OBSERVATORY, Plot, Theme},
    writer::{self, RecentUse},
};
use crate::corpus::prelude::*;
use rand::seq::SliceRandom;

/// A corpus of the documents of some themes.
macro_rules! prose {
    ($corpus:ident, $id:literal, $title:literal, [$($theme:ident),+], $about:literal) => {
        pub(in crate::corpus) const $corpus: Generated =
            Generated { id: $id, title: $title, about: $about, recipe: Recipe::Prose(&[$(&$theme),+]) };
    };
}

prose! {
    MIXTURE, "mixture", "Mixture", [HARBOUR, GARDEN, OBSERVATORY, KITCHEN, LETTERS],
    "All prose domains in turn: harbour, garden, observatory, kitchen and letters."
}
prose! {
    HARBOUR_ALONE, "harbour", "Harbour", [HARBOUR],
    "Ships, weather and cargo in a small port; who keeps it, what came in, and what went wrong."
}
prose! {
    GARDEN_ALONE, "garden", "Garden", [GARDEN],
    "A walled garden: old trees, lost wells, and something that eats the beans."
}
prose! {
    OBSERVATORY_ALONE, "observatory", "Observatory", [OBSERVATORY],
    "Night work on a hill: stars that come late, a new light on a plate, visitors with potatoes."
}
prose! {
    KITCHEN_ALONE, "kitchen", "Kitchen", [KITCHEN],
    "The kitchen of an inn: a dish that has lost its taste, a feast, a stranger at the window."
}
prose! {
    LETTERS_ALONE, "letters", "Letters", [LETTERS],
    "Letters home in the first person: neighbours, a case at court, a concert."
}

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
