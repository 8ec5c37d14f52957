//! The 147 words in the order of their ids: seven that both vocabularies share, then the animals', then the vehicles',
//! each by class.

use std::{collections::BTreeMap, ops::Range};

use super::{Role, Structure};
use crate::corpus::{generated::data::data, prelude::*};

pub(super) static ROLE_WORDS: LazyLock<RoleWords> = data!("grammar_roles.toml");

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RoleWords {
    shared: BTreeMap<WordClass, Vec<String>>,
    animals: BTreeMap<WordClass, Vec<String>>,
    vehicles: BTreeMap<WordClass, Vec<String>>,
    pub(super) structures: BTreeMap<Structure, Vec<Role>>,
}

/// The set of content words in a sentence. The two sets are disjoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Vocabulary {
    /// Vocabulary A: the network learns it, and probes are fitted to it.
    Animals,
    /// Vocabulary B, which is used only to test transfer.
    Vehicles,
}

/// The classes of words, in the order of ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WordClass {
    /// Determiners.
    Determiner,
    /// Relative pronouns.
    RelativePronoun,
    /// Auxiliary verbs of the passive.
    Auxiliary,
    /// The preposition "by" before the agent of a passive.
    By,
    /// Nouns.
    Noun,
    /// Transitive verbs.
    Transitive,
    /// Past participles of transitive verbs.
    Participle,
    /// Verbs with two objects.
    Ditransitive,
    /// Verbs without an object.
    Intransitive,
    /// Adjectives.
    Adjective,
    /// Adverbs.
    Adverb,
}

/// Every class of words with the vocabulary that has it, none where both share it, in the order of ids.
fn classes() -> impl Iterator<Item = (Option<Vocabulary>, WordClass, &'static [String])> {
    let RoleWords { shared, animals, vehicles, .. } = &*ROLE_WORDS;
    let vocabularies = [(None, shared), (Some(Vocabulary::Animals), animals), (Some(Vocabulary::Vehicles), vehicles)];
    let classes = |(vocabulary, lists): (_, &'static BTreeMap<WordClass, Vec<String>>)| {
        lists.iter().map(move |(class, words)| (vocabulary, *class, words.as_slice()))
    };
    vocabularies.into_iter().flat_map(classes)
}

impl Vocabulary {
    /// Ids of a class of words in this vocabulary.
    pub fn ids(self, class: WordClass) -> Range<u32> {
        let mut from = 0;
        for (vocabulary, other, words) in classes() {
            let to = from + words.len() as u32;
            if other == class && vocabulary.is_none_or(|vocabulary| vocabulary == self) {
                return from..to;
            }
            from = to;
        }
        from..from
    }
}

/// All words; a word's id is its place.
pub fn words() -> Vec<&'static str> {
    classes().flat_map(|(.., words)| words).map(String::as_str).collect()
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn no_word_comes_twice() {
        let all = words();
        assert_eq!(all.len(), 147);
        assert_eq!(all.iter().collect::<HashSet<_>>().len(), 147);
    }

    #[test]
    fn a_class_is_a_range_of_ids() {
        let named = |v: Vocabulary, class| words()[v.ids(class).start as usize];
        assert_eq!(named(Vocabulary::Animals, WordClass::Adverb), "quickly");
        assert_eq!(named(Vocabulary::Vehicles, WordClass::Participle), "passed");
        assert_eq!(Vocabulary::Vehicles.ids(WordClass::Adverb).end, 147);
        assert_eq!(Vocabulary::Animals.ids(WordClass::By), Vocabulary::Vehicles.ids(WordClass::By));
    }
}
