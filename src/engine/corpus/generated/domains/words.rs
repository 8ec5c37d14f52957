//! Word lists of the domains that are not prose.

use crate::corpus::generated::{data::data, template::Lexicon};
use serde::Deserialize;
use std::sync::LazyLock;

pub(super) static WORDS: LazyLock<DomainWords> = data!("domains.toml");

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DomainWords {
    pub catalogue: Lexicon,
    pub code: Lexicon,
    pub log: Lexicon,
    pub tunes: Lexicon,
}
