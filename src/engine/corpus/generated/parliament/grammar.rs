//! What a language is here: nouns, sentence frames with slots, and how a slot is filled so that articles,
//! contractions, cases and endings agree. It knows no particular language and no statistics.
//!
//! The notation of a sentence: `{x}` is the noun with its article as a subject or after a plain
//! preposition (`{acc}`, `{dat}` where a language has cases), `{de}` and `{a}` (`{à}`) the noun with the
//! language's "of" and "to", contracted where it contracts. `(a|b)` agrees in number: singular, plural.
//! `(a|b|c)` is masculine or neuter, feminine, plural; `(a|b|c|d)` masculine, feminine, and their plurals.

/// Kinds of nouns, in the order of every table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    Currency,
    Country,
    Goods,
    City,
    Institution,
}

impl Class {
    pub const ALL: [Class; 5] = [Class::Currency, Class::Country, Class::Goods, Class::City, Class::Institution];

    /// In words, for a table.
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
pub(super) enum Gender {
    Masculine,
    Feminine,
    Neuter,
}

/// A noun of one language.
pub(super) struct Noun {
    pub name: &'static str,
    /// The name after "of", "to" and a dative, where it differs (die Niederlande, den Niederlanden).
    pub dative: &'static str,
    pub gender: Gender,
    pub plural: bool,
    /// Whether it is said with its article (la France, but Paris).
    pub article: bool,
}

impl Noun {
    pub fn is_feminine(&self) -> bool {
        self.gender == Gender::Feminine
    }
}

/// What stands for the noun in a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Slot {
    Plain,
    Accusative,
    Dative,
    Of,
    To,
}

/// Frames that training text has, and after them those that only the search half of a finder has, and then those
/// kept for confirmation. See [`super::labelled`].
pub(super) const TRAINED_FRAMES: usize = 24;
pub(super) const SEARCH_FRAMES: usize = 28;
pub(super) const FRAMES: usize = 36;
/// What may follow a noun of one class.
pub(super) const FOLLOW_UPS: usize = 6;
/// Sentences that list several nouns.
pub(super) const LISTS: usize = 4;
/// The same of the naive corpus, for each of its classes.
pub(super) const NAIVE_TRAINED: usize = 4;
pub(super) const NAIVE_FRAMES: usize = 6;

/// One language.
pub(super) struct Language {
    pub code: &'static str,
    /// By class; entry i of one language is entry i of all.
    pub nouns: [&'static [&'static str]; 5],
    /// Any noun of any class fills them.
    pub frames: &'static [&'static str; FRAMES],
    /// Sentences with several nouns of one class, in `{list}`.
    pub lists: &'static [&'static str; LISTS],
    /// The word before the last of a list, by what follows it.
    pub and: fn(&str) -> &'static str,
    /// By class: what is said after a sentence that named such a noun.
    pub follow_ups: [&'static [&'static str; FOLLOW_UPS]; 5],
    /// Frames of the naive corpus, which belong to currencies, countries, goods alone.
    pub naive: [&'static [&'static str; NAIVE_FRAMES]; 3],
    pub noun: fn(&'static str) -> Noun,
    pub phrase: fn(&Noun, Slot) -> String,
}

impl Language {
    fn of(&self, class: Class, entity: usize) -> Noun {
        let nouns = self.nouns[class as usize];
        (self.noun)(nouns[entity % nouns.len()])
    }

    /// The noun's bare name.
    pub fn name(&self, class: Class, entity: usize) -> &'static str {
        self.of(class, entity).name
    }

    pub fn sentence(&self, class: Class, entity: usize, frame: usize) -> String {
        self.fill(self.frames[frame % FRAMES], &self.of(class, entity))
    }

    /// What is said of a class, agreeing with this noun.
    pub fn follow_up(&self, of: Class, (class, entity): (Class, usize), which: usize) -> String {
        self.fill(self.follow_ups[of as usize][which % FOLLOW_UPS], &self.of(class, entity))
    }

    /// Nouns of one class in a row, in the accusative where there is one.
    pub fn list(&self, class: Class, entities: &[usize], which: usize) -> String {
        let said: Vec<String> = entities.iter().map(|e| (self.phrase)(&self.of(class, *e), Slot::Accusative)).collect();
        let list = match said.split_last() {
            Some((last, [])) => last.clone(),
            Some((last, first)) => format!("{} {} {last}", first.join(", "), (self.and)(last)),
            None => String::new(),
        };
        capitalised(&self.lists[which % LISTS].replace("{list}", &list))
    }

    pub fn naive(&self, class: Class, entity: usize, frame: usize) -> String {
        let frames = self.naive[(class as usize).min(2)];
        self.fill(frames[frame % NAIVE_FRAMES], &self.of(class, entity))
    }

    fn fill(&self, template: &str, noun: &Noun) -> String {
        let (mut out, mut rest) = (String::new(), template);
        while let Some(at) = rest.find(['{', '(']) {
            out.push_str(&rest[..at]);
            let close = if rest.as_bytes()[at] == b'{' { '}' } else { ')' };
            let Some(end) = rest[at..].find(close).map(|end| at + end) else { break };
            let inside = &rest[at + 1..end];
            if close == '}' {
                out.push_str(&(self.phrase)(noun, slot(inside)));
            } else {
                out.push_str(agreeing(inside, noun));
            }
            rest = &rest[end + 1..];
        }
        out.push_str(rest);
        capitalised(&out)
    }
}

fn slot(name: &str) -> Slot {
    match name {
        "acc" => Slot::Accusative,
        "dat" => Slot::Dative,
        "de" => Slot::Of,
        "a" | "à" => Slot::To,
        _ => Slot::Plain,
    }
}

fn agreeing<'t>(forms: &'t str, noun: &Noun) -> &'t str {
    let forms: Vec<&str> = forms.split('|').collect();
    let at = match (forms.len(), noun.plural, noun.is_feminine()) {
        (2, plural, _) => usize::from(plural),
        (3, true, _) => 2,
        (3, false, feminine) => usize::from(feminine),
        (_, plural, feminine) => 2 * usize::from(plural) + usize::from(feminine),
    };
    forms.get(at).copied().unwrap_or_default()
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// A noun from its entry: `0` for one without article, `+` for a plural, the gender's letter, the name and
/// after a stroke its dative ("+f Niederlande/Niederlanden").
pub(super) fn coded(entry: &'static str) -> Noun {
    let (bare, entry) = entry.strip_prefix('0').map_or((false, entry), |e| (true, e));
    let (plural, entry) = entry.strip_prefix('+').map_or((false, entry), |e| (true, e));
    let (letter, name) = entry.split_once(' ').unwrap_or(("n", entry));
    let gender = match letter {
        "m" => Gender::Masculine,
        "f" => Gender::Feminine,
        _ => Gender::Neuter,
    };
    let (name, dative) = name.split_once('/').unwrap_or((name, name));
    Noun { name, dative, gender, plural, article: !bare }
}
