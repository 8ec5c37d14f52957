//! A grammar of six sentence structures whose words have twenty grammatical roles (arXiv 2604.08556, section 4): which
//! role a word has depends on the words around it, on both sides, and never on the word alone. Two vocabularies share
//! determiners and function words and have no content word in common, so that what is learned on one can be asked on
//! the other.
//!
//! The paper names sizes, roles and structures; how noun phrases are drawn, and the words, are ours.

mod words;

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::{Generated, Recipe, template::fill_to_size};

use words::ROLE_WORDS;
pub use words::{Vocabulary, WordClass, words};

/// Corpus `grammar_roles`: both vocabularies in turn, one sentence per line.
pub(in crate::corpus) const CORPUS: Generated = Generated {
    id: "grammar_roles",
    title: "Grammatical roles",
    about: "Short sentences of 147 words in six structures: the language of the lab Grammar roles, of animals and of vehicles in turn.",
    recipe: Recipe::Text(text),
};

macro_rules! roles {
    ($($role:ident $name:literal $class:ident,)*) => {
        /// The part that a word has in its sentence.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Role {
            $(#[doc = concat!("The role `", $name, "`.")] $role,)*
        }

        impl Role {
            /// The roles in the order of their numbers.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$role),*];

            /// The paper's name.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$role => $name,)*
                }
            }

            /// The words that can have it.
            pub fn class(self) -> WordClass {
                match self {
                    $(Self::$role => WordClass::$class,)*
                }
            }
        }
    };
}

// A role, the paper's name for it, and the class of the words that can have it.
roles! {
    DetAgent "det_agent" Determiner,
    AdjAgent "adj_agent" Adjective,
    NounAgent "noun_agent" Noun,
    Verb "verb" Transitive,
    DetPatient "det_patient" Determiner,
    AdjPatient "adj_patient" Adjective,
    NounPatient "noun_patient" Noun,
    Aux "aux" Auxiliary,
    VerbPassive "verb_passive" Participle,
    By "by" By,
    DetRecipient "det_recipient" Determiner,
    NounRecipient "noun_recipient" Noun,
    VerbDitrans "verb_ditrans" Ditransitive,
    VerbIntrans "verb_intrans" Intransitive,
    RelPron "rel_pron" RelativePronoun,
    VerbRel "verb_rel" Transitive,
    DetRel "det_rel" Determiner,
    NounRel "noun_rel" Noun,
    VerbMain "verb_main" Transitive,
    Adverb "adverb" Adverb,
}

impl Role {
    /// Returns true if it belongs to the relative clause or to the verb after it, so that it can only be named by
    /// reading across the clause.
    pub fn is_deep(self) -> bool {
        matches!(self, Self::RelPron | Self::VerbRel | Self::DetRel | Self::NounRel | Self::VerbMain)
    }
}

/// The structure of a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Structure {
    /// An agent, a transitive verb and a patient.
    Transitive,
    /// A patient, an auxiliary, a participle, and an agent after "by".
    Passive,
    /// An agent, a verb, a recipient and a patient.
    Ditransitive,
    /// A sentence whose agent has a relative clause.
    Relative,
    /// An agent and an intransitive verb.
    Intransitive,
    /// A transitive sentence that ends with an adverb.
    Adverbial,
}

impl Structure {
    /// Every structure, in the order of their numbers.
    pub const ALL: [Self; 6] =
        [Self::Transitive, Self::Passive, Self::Ditransitive, Self::Relative, Self::Intransitive, Self::Adverbial];

    /// The roles of its words in order. An adjective may be left out.
    pub fn roles(self) -> &'static [Role] {
        &ROLE_WORDS.structures[&self]
    }
}

/// Words of the longest sentence.
pub const MAX_SENTENCE: usize = 11;

/// The distribution of sentences.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Grammar {
    /// Share of passive sentences: at a half, the first word is as often the patient's as the agent's.
    pub passive: f64,
    /// Share of transitive sentences. The other four structures share the rest equally.
    pub transitive: f64,
    /// The share of noun phrases with an adjective: how often one that may have an adjective has one.
    pub adjective: f64,
}

impl Default for Grammar {
    fn default() -> Self {
        Self { passive: 0.5, transitive: 0.1, adjective: 0.5 }
    }
}

/// A sentence with the role of each of its words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sentence {
    /// The structure of the sentence.
    pub structure: Structure,
    /// The ids of the words: places in [`words()`].
    pub words: Vec<u32>,
    /// The grammatical role of each word.
    pub roles: Vec<Role>,
}

impl Grammar {
    /// The share of sentences of a structure.
    pub fn share(&self, structure: Structure) -> f64 {
        match structure {
            Structure::Transitive => self.transitive,
            Structure::Passive => self.passive,
            _ => (1.0 - self.transitive - self.passive).max(0.0) / 4.0,
        }
    }

    /// One sentence of this vocabulary; draws are uniform within a class of words.
    pub fn sentence(&self, vocabulary: Vocabulary, rng: &mut ChaCha8Rng) -> Sentence {
        let mut left = rng.random::<f64>();
        let found = Structure::ALL.into_iter().find(|s| {
            left -= self.share(*s);
            left < 0.0
        });
        // rounding may leave a little of the sum
        let structure = found.unwrap_or(Structure::Adverbial);
        let mut sentence = Sentence { structure, words: vec![], roles: vec![] };
        for &role in structure.roles() {
            let class = role.class();
            if class == WordClass::Adjective && rng.random::<f64>() >= self.adjective {
                continue;
            }
            sentence.words.push(rng.random_range(vocabulary.ids(class)));
            sentence.roles.push(role);
        }
        sentence
    }
}

/// At least `size` bytes of sentences, one per line.
fn text(rng: &mut ChaCha8Rng, size: usize) -> String {
    let (all, grammar) = (words(), Grammar::default());
    let mut vocabulary = Vocabulary::Animals;
    fill_to_size(size, |text| {
        let sentence = grammar.sentence(vocabulary, rng);
        let words: Vec<&str> = sentence.words.iter().map(|word| all[*word as usize]).collect();
        text.push_str(&words.join(" "));
        text.push('\n');
        vocabulary = if vocabulary == Vocabulary::Animals { Vocabulary::Vehicles } else { Vocabulary::Animals };
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use rand::SeedableRng;

    use super::*;

    fn draw(count: usize, vocabulary: Vocabulary) -> Vec<Sentence> {
        let mut rng = ChaCha8Rng::seed_from_u64(11);
        (0..count).map(|_| Grammar::default().sentence(vocabulary, &mut rng)).collect()
    }

    #[test]
    fn structures_come_in_their_shares() {
        let n = 20_000;
        let mut counts: HashMap<Structure, usize> = HashMap::new();
        draw(n, Vocabulary::Animals).iter().for_each(|s| *counts.entry(s.structure).or_default() += 1);
        for structure in Structure::ALL {
            let (share, want) = (counts[&structure] as f64 / n as f64, Grammar::default().share(structure));
            // 4 standard deviations of a share of one half are 0.014
            assert!((share - want).abs() < 0.014, "{structure:?}: {share} is not {want}");
        }
        let shares: f64 = Structure::ALL.iter().map(|s| Grammar::default().share(*s)).sum();
        assert!((shares - 1.0).abs() < 1e-12);
    }

    #[test]
    fn words_fit_their_roles_and_adjectives_come_half_of_the_time() {
        for vocabulary in [Vocabulary::Animals, Vocabulary::Vehicles] {
            let all = draw(4_000, vocabulary);
            for sentence in &all {
                assert!(sentence.words.len() <= MAX_SENTENCE && sentence.words.len() == sentence.roles.len());
                for (word, role) in sentence.words.iter().zip(&sentence.roles) {
                    assert!(vocabulary.ids(role.class()).contains(word), "{word} cannot be {role:?}");
                }
                let all = sentence.structure.roles();
                let kept: Vec<Role> = all.iter().copied().filter(|r| sentence.roles.contains(r)).collect();
                assert_eq!(kept, sentence.roles, "in the structure's order");
                let missing = all.iter().filter(|r| !sentence.roles.contains(r));
                assert!(missing.into_iter().all(|r| r.class() == WordClass::Adjective));
            }
            let with = all.iter().filter(|s| s.roles.contains(&Role::AdjAgent)).count() as f64 / all.len() as f64;
            assert!((with - 0.5).abs() < 0.032, "{with}");
        }
    }

    #[test]
    fn roles_are_twenty_and_five_of_them_deep() {
        for (i, role) in Role::ALL.into_iter().enumerate() {
            assert_eq!(role as usize, i);
            assert!(Structure::ALL.iter().any(|s| s.roles().contains(&role)), "{} occurs", role.name());
        }
        let deep: Vec<&str> = Role::ALL.iter().filter(|r| r.is_deep()).map(|r| r.name()).collect();
        assert_eq!(deep, ["rel_pron", "verb_rel", "det_rel", "noun_rel", "verb_main"]);
        assert_eq!(Structure::ALL.iter().map(|s| s.roles().len()).max(), Some(MAX_SENTENCE));
    }
}
