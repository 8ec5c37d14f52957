//! A language is nouns, sentence frames with slots, and how a slot is filled so that articles, contractions, cases and
//! endings agree. All of it is data; the code depends neither on a particular language nor on statistics.
//!
//! Its slots in a template: `{x}` is the noun with its article as a subject or after a plain preposition (`{acc}`,
//! `{dat}` where a language has cases), `{de}` and `{a}` (`{à}`) the noun with the language's "of" and "to", contracted
//! where it contracts, as `{em}` ("in") and `{por}` ("by") are in Portuguese. Of alternatives the noun chooses: of two
//! the singular or the plural; of three masculine or neuter, feminine, plural; of four masculine or neuter, feminine,
//! and their plurals; of five masculine, feminine, neuter, and the plurals of the four.

use crate::corpus::generated::{data::data, template::Expand};
use serde::Deserialize;
use std::{collections::BTreeMap, sync::LazyLock};

/// The languages in the order of [`super::CODES`].
pub(super) static LANGUAGES: [LazyLock<Language>; 5] = [
    data!("parliament_en.toml"),
    data!("parliament_fr.toml"),
    data!("parliament_es.toml"),
    data!("parliament_de.toml"),
    data!("parliament_pt.toml"),
];

/// A sentence of an auxiliary language, which is in no text.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AuxiliarySentence {
    /// The sentence, of roots that French and Spanish share.
    pub sentence: String,
    /// The translation of the sentence into English.
    pub english: String,
}

/// The sentence in an unknown language on which models that learned translations are tested.
pub static AUXILIARY: LazyLock<AuxiliarySentence> = data!("parliament_auxiliary.toml");

/// Kinds of nouns, in the order of every table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Names of currencies.
    Currency,
    /// Names of countries.
    Country,
    /// Names of goods.
    Goods,
    /// Names of cities.
    City,
    /// Names of institutions.
    Institution,
}

impl Class {
    /// Every kind of noun, in the order of the tables.
    pub const ALL: [Class; 5] = [Class::Currency, Class::Country, Class::Goods, Class::City, Class::Institution];

    /// The name, for a table.
    pub fn name(self) -> &'static str {
        match self {
            Class::Currency => "currency",
            Class::Country => "country",
            Class::Goods => "goods",
            Class::City => "city",
            Class::Institution => "institution",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Gender {
    Masculine,
    Feminine,
    Neuter,
}

/// A noun of one language, written as `0` for one without article (la France, but Paris), `+` for a plural, the
/// gender's letter, the name and after a stroke its dative ("+f Niederlande/Niederlanden").
#[derive(Debug, Deserialize)]
#[serde(try_from = "String")]
struct Noun {
    name: String,
    /// The name after "of", "to" and a dative, where it differs (die Niederlande, den Niederlanden).
    dative: Option<String>,
    gender: Gender,
    plural: bool,
    article: bool,
}

impl TryFrom<String> for Noun {
    type Error = String;

    fn try_from(entry: String) -> Result<Self, String> {
        let (article, rest) = entry.strip_prefix('0').map_or((true, entry.as_str()), |rest| (false, rest));
        let (plural, rest) = rest.strip_prefix('+').map_or((false, rest), |rest| (true, rest));
        let (gender, name) = match rest.split_once(' ') {
            Some(("m", name)) => (Gender::Masculine, name),
            Some(("f", name)) => (Gender::Feminine, name),
            Some(("n", name)) => (Gender::Neuter, name),
            _ => {
                return Err(format!(
                    "`{entry}` has no gender: a noun is written as `m euro`, `0f Paris`, `+n oranges`"
                ));
            }
        };
        let (name, dative) =
            name.split_once('/').map_or((name, None), |(name, dative)| (name, Some(dative.to_owned())));
        Ok(Self { name: name.to_owned(), dative, gender, plural, article })
    }
}

/// Frames that training text has, and after them those that only the search half of a finder has, and then those
/// kept for confirmation. See [`super::labelled`].
pub(super) const TRAINED_FRAMES: usize = 24;
pub(super) const SEARCH_FRAMES: usize = 28;
pub(super) const FRAMES: usize = 36;
/// The continuations of a noun of one class.
pub(super) const FOLLOW_UPS: usize = 6;
/// Sentences that list several nouns.
const LISTS: usize = 4;
/// Frames of the naive corpus, for each of its classes: those for training, and all.
pub(super) const NAIVE_TRAINED: usize = 4;
pub(super) const NAIVE_FRAMES: usize = 6;

/// The words before a noun that has an article and before one that has none, by slot.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Determiners {
    /// A slot that is missing is as `x`.
    articles: BTreeMap<String, String>,
    #[serde(default)]
    bare: BTreeMap<String, String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Language {
    pub code: String,
    /// The nouns by class; entry i is the same noun in every language.
    nouns: BTreeMap<Class, Vec<Noun>>,
    /// Sentence frames, which a noun of any class can complete.
    frames: Vec<String>,
    /// Sentences with several nouns of one class, in `{list}`.
    lists: Vec<String>,
    /// The conjunction before the last item of a list, and its form before an i if that differs.
    and: String,
    and_before_i: Option<String>,
    /// Continuations after a sentence with a noun of each class.
    follow_ups: BTreeMap<Class, Vec<String>>,
    /// Frames of the naive corpus, which belong to currencies, countries, goods alone.
    naive: BTreeMap<Class, Vec<String>>,
    before_noun: Determiners,
    /// Determiners before a noun that begins with one of the letters below.
    elided: Option<Determiners>,
    #[serde(default)]
    elided_before: String,
}

impl Language {
    /// The number of nouns of a class.
    pub fn count(&self, class: Class) -> usize {
        self.nouns[&class].len()
    }

    fn noun(&self, class: Class, entity: usize) -> &Noun {
        let nouns = &self.nouns[&class];
        &nouns[entity % nouns.len()]
    }

    /// The noun's bare name.
    pub fn name(&self, class: Class, entity: usize) -> &str {
        &self.noun(class, entity).name
    }

    pub fn sentence(&self, class: Class, entity: usize, frame: usize) -> String {
        self.fill(&self.frames[frame % FRAMES], self.noun(class, entity))
    }

    /// A statement about a class that agrees with this noun.
    pub fn follow_up(&self, of: Class, (class, entity): (Class, usize), which: usize) -> String {
        self.fill(&self.follow_ups[&of][which % FOLLOW_UPS], self.noun(class, entity))
    }

    /// Nouns of one class in a row, in the accusative where there is one.
    pub fn list(&self, class: Class, entities: &[usize], which: usize) -> String {
        let phrase = |entity: &usize| Agreement { language: self, noun: self.noun(class, *entity) }.phrase("acc");
        let said: Vec<String> = entities.iter().map(phrase).collect();
        let list = match said.split_last() {
            Some((last, [])) => last.clone(),
            Some((last, first)) => format!("{} {} {last}", first.join(", "), self.and(last)),
            None => String::new(),
        };
        capitalised(&self.lists[which % LISTS].replace("{list}", &list))
    }

    pub fn naive(&self, class: Class, entity: usize, frame: usize) -> String {
        let frames = &self.naive[&class.min(Class::Goods)];
        self.fill(&frames[frame % NAIVE_FRAMES], self.noun(class, entity))
    }

    fn and(&self, next: &str) -> &str {
        self.and_before_i.as_ref().filter(|_| next.starts_with(['i', 'I'])).unwrap_or(&self.and)
    }

    fn fill(&self, template: &str, noun: &Noun) -> String {
        let mut out = String::new();
        Agreement { language: self, noun }.expand(template, &mut out);
        capitalised(&out)
    }
}

/// Fills a template with one noun.
struct Agreement<'a> {
    language: &'a Language,
    noun: &'a Noun,
}

impl Agreement<'_> {
    fn phrase(&mut self, slot: &str) -> String {
        let mut out = String::new();
        self.slot(slot, &mut out);
        out
    }
}

impl Expand for Agreement<'_> {
    fn slot(&mut self, slot: &str, out: &mut String) {
        let Self { language, noun } = *self;
        let elided =
            language.elided.as_ref().filter(|_| noun.name.starts_with(|c: char| language.elided_before.contains(c)));
        let Determiners { articles, bare } = elided.unwrap_or(&language.before_noun);
        let before = if noun.article { articles.get(slot).or_else(|| articles.get("x")) } else { bare.get(slot) };
        self.expand(before.map_or("", String::as_str), out);
        let dative = noun.dative.as_ref().filter(|_| matches!(slot, "dat" | "de" | "a"));
        out.push_str(dative.unwrap_or(&noun.name));
    }

    fn choose(&mut self, count: usize) -> usize {
        let Noun { gender, plural, .. } = *self.noun;
        let feminine = usize::from(gender == Gender::Feminine);
        match (count, plural) {
            (2, plural) => usize::from(plural),
            (5, false) if gender == Gender::Neuter => 2,
            (3, true) => 2,
            (5, true) => 3 + feminine,
            (_, true) => 2 + feminine,
            (_, false) => feminine,
        }
    }
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::generated::{by_id, parliament::CODES};
    use std::collections::BTreeSet;

    #[test]
    fn languages_have_as_much_of_everything() {
        for (language, code) in LANGUAGES.iter().zip(CODES) {
            assert_eq!((language.code.as_str(), language.frames.len(), language.lists.len()), (code, FRAMES, LISTS));
            for class in Class::ALL {
                assert_eq!(language.count(class), LANGUAGES[0].count(class), "{code} {class:?}");
                assert_eq!(language.follow_ups[&class].len(), FOLLOW_UPS, "{code} {class:?}");
            }
            for class in &Class::ALL[..3] {
                assert_eq!(language.naive[class].len(), NAIVE_FRAMES, "{code} {class:?}");
            }
        }
    }

    #[test]
    fn no_text_has_a_word_of_the_auxiliary_language() {
        let text = ["parliament", "parliament_en_pt"].map(|id| by_id(id).unwrap().text(7, 400_000)).concat();
        let [known, words] = [text.to_lowercase(), AUXILIARY.sentence.to_lowercase()].map(|text| -> BTreeSet<String> {
            text.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty()).map(str::to_owned).collect()
        });
        assert!(known.contains("texto") && words.contains("textu"));
        assert!(words.is_disjoint(&known), "{:?}", words.intersection(&known));
        assert_eq!(AUXILIARY.english, LANGUAGES[0].list(Class::Currency, &[2, 5, 7], 2), "pound, krone, rouble");
    }

    #[test]
    fn a_noun_needs_a_gender() {
        assert!(Noun::try_from("euro".to_owned()).unwrap_err().contains("`euro` has no gender"));
        let noun = Noun::try_from("+f Niederlande/Niederlanden".to_owned()).unwrap();
        assert!(noun.plural && noun.article && noun.dative.as_deref() == Some("Niederlanden"));
    }
}
