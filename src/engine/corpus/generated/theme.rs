//! The themes of prose: who and what a document is about, and what happens. All of it is data.

use super::{data::data, template::Lexicon};
use crate::corpus::prelude::*;

pub(super) static HARBOUR: LazyLock<Theme> = data!("harbour.toml");
pub(super) static GARDEN: LazyLock<Theme> = data!("garden.toml");
pub(super) static OBSERVATORY: LazyLock<Theme> = data!("observatory.toml");
pub(super) static KITCHEN: LazyLock<Theme> = data!("kitchen.toml");
pub(super) static LETTERS: LazyLock<Theme> = data!("letters.toml");

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Theme {
    /// The roles that the first person of a document may have, and those of the second.
    pub roles: Vec<String>,
    pub mates: Vec<String>,
    pub words: Lexicon,
    /// Sentences of place and time; two of them open a document.
    pub open: Vec<String>,
    /// Introduces A and what belongs to A; states the lasting facts.
    pub meet: Vec<String>,
    /// Surroundings: sentences that fit anywhere and name no one.
    pub ambient: Vec<String>,
    pub plots: Vec<Plot>,
    /// Ends a document and returns to its beginning.
    pub close: Vec<String>,
    /// The greeting of a letter, if documents are letters; `signature` ends it.
    pub greeting: Option<String>,
    pub signature: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Plot {
    pub beats: Vec<Beat>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Beat {
    Mark(Mark),
    /// Templates to choose from.
    Pool(Vec<String>),
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Mark {
    /// Begins a new paragraph.
    Break,
    /// A sentence of the theme's surroundings, or nothing.
    Ambient,
}
