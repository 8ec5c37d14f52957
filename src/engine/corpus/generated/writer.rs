//! Writes prose from a [`Theme`]: chooses a plot, two people and lasting facts, then puts sentences together with
//! correct articles, capitals and pronouns.
//!
//! Its slots in a template: `{word}` draws from the theme's word list, `{$word}` draws once and then stays the
//! same for the whole document (`{$word/2}` a second, different one), `{A}` and `{B}` are the two people by name,
//! `{A?}` by name, role or pronoun as fits, `{A.he}`, `{A.him}`, `{A.his}`, `{A.himself}`, `{A.role}`, `{A.full}` as
//! they say. Of what comes out `@` becomes a or an, `^` makes the next letter a capital (sentence starts do so by
//! themselves), and `¶` begins a paragraph.

use super::{
    data::data,
    template::{Expand, Lexicon, pick, pick_str},
    theme::{Beat, Mark, Plot, Theme},
};
use crate::corpus::prelude::*;

static PEOPLE: LazyLock<People> = data!("people.toml");

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct People {
    women: Vec<String>,
    men: Vec<String>,
    surnames: Vec<String>,
}

struct Person<'a> {
    first: &'a str,
    surname: &'a str,
    role: &'a str,
    woman: bool,
}

impl<'a> Person<'a> {
    fn form(&self, form: &str) -> Option<&'a str> {
        Some(match (form, self.woman) {
            ("he", true) => "she",
            ("he", false) => "he",
            ("him", true) => "her",
            ("him", false) => "him",
            ("his", true) => "her",
            ("his", false) => "his",
            ("himself", true) => "herself",
            ("himself", false) => "himself",
            ("role", _) => self.role,
            _ => return None,
        })
    }
}

pub(super) struct Writer<'a> {
    rng: &'a mut ChaCha8Rng,
    lexicon: &'a Lexicon,
    people: Vec<Person<'a>>,
    facts: HashMap<String, &'a str>,
    recent: Vec<&'a str>,
    /// The person that was mentioned last, and the number of pronouns in a row.
    last: Option<usize>,
    pronouns: usize,
    named: [bool; 2],
}

impl<'a> Writer<'a> {
    /// A writer with no people, for sentences without names.
    pub(super) fn plain(rng: &'a mut ChaCha8Rng, lexicon: &'a Lexicon) -> Self {
        let (facts, recent) = (HashMap::new(), vec![]);
        Self { rng, lexicon, people: vec![], facts, recent, last: None, pronouns: 0, named: [false; 2] }
    }

    fn with_two_people(rng: &'a mut ChaCha8Rng, theme: &'a Theme) -> Self {
        let woman_first: bool = rng.random();
        let surnames = &PEOPLE.surnames;
        let surname = rng.random_range(0..surnames.len());
        let other = (surname + rng.random_range(1..surnames.len())) % surnames.len();
        // One woman and one man, so that pronouns are unambiguous.
        let person = |rng: &mut ChaCha8Rng, woman: bool, surname: usize, roles: &'a [String]| Person {
            first: pick_str(rng, if woman { &PEOPLE.women } else { &PEOPLE.men }),
            surname: &surnames[surname],
            role: pick_str(rng, roles),
            woman,
        };
        let people =
            vec![person(rng, woman_first, surname, &theme.roles), person(rng, !woman_first, other, &theme.mates)];
        Self { people, ..Self::plain(rng, &theme.words) }
    }

    /// A number below `n`.
    pub(super) fn number(&mut self, n: usize) -> usize {
        self.rng.random_range(0..n)
    }

    /// One sentence (or a few that belong together), finished.
    pub(super) fn sentence(&mut self, template: &str) -> String {
        let mut raw = String::new();
        self.expand(template, &mut raw);
        finish(&raw)
    }

    /// A word of a list, none of `taken` if that can be.
    fn draw(&mut self, list: &str, taken: &[&str]) -> &'a str {
        let words = self.lexicon.list(list);
        let free: Vec<&'a str> = words.iter().map(String::as_str).filter(|w| !taken.contains(w)).collect();
        if free.is_empty() { pick_str(self.rng, words) } else { pick(self.rng, &free) }
    }

    fn mention(&mut self, who: usize, form: &str) -> String {
        let person = &self.people[who];
        let text = match form.strip_prefix('.') {
            Some("full") => format!("{} {}", person.first, person.surname),
            Some(form) => person.form(form).unwrap_or(person.first).to_owned(),
            None if form == "?" && self.last == Some(who) && self.named[who] && self.pronouns < 2 => {
                self.pronouns += 1;
                return person.form("he").unwrap_or(person.first).to_owned();
            }
            None if form == "?" && self.named[who] && self.rng.random_bool(0.25) => person.role.to_owned(),
            None => person.first.to_owned(),
        };
        if !matches!(form, ".he" | ".him" | ".his" | ".himself") {
            self.named[who] = true;
            self.pronouns = 0;
        }
        self.last = Some(who);
        text
    }

    fn paragraph_starts(&mut self) {
        self.last = None;
        self.named = [false; 2];
    }
}

impl Expand for Writer<'_> {
    fn slot(&mut self, slot: &str, out: &mut String) {
        let who = match slot.as_bytes() {
            [b'A', ..] => Some(0),
            [b'B', ..] => Some(1),
            _ => None,
        };
        if let Some(who) = who.filter(|&w| w < self.people.len()) {
            return out.push_str(&self.mention(who, &slot[1..]));
        }
        if let Some(key) = slot.strip_prefix('$') {
            if let Some(word) = self.facts.get(key).copied() {
                return self.expand(word, out);
            }
            let taken: Vec<&str> = self.facts.values().copied().collect();
            let word = self.draw(key.split('/').next().unwrap_or(key), &taken);
            self.facts.insert(key.to_owned(), word);
            return self.expand(word, out);
        }
        let recent = self.recent.clone();
        let word = self.draw(slot, &recent);
        self.recent.push(word);
        if self.recent.len() > 12 {
            self.recent.remove(0);
        }
        self.expand(word, out);
    }

    fn choose(&mut self, count: usize) -> usize {
        self.number(count)
    }
}

/// Articles and capitals, single spaces.
fn finish(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len() + 8);
    let (mut capital, mut ended, mut forced) = (true, false, false);
    for (at, c) in raw.char_indices() {
        match c {
            '^' => forced = true,
            '¶' => {
                capital = true;
                out.push(c);
            }
            '@' => {
                out.push(if capital || forced { 'A' } else { 'a' });
                (capital, forced, ended) = (false, false, false);
                if begins_with_vowel_sound(raw[at + 1..].trim_start()) {
                    out.push('n');
                }
            }
            ' ' => {
                capital |= ended;
                if !out.ends_with(' ') {
                    out.push(' ');
                }
                ended = false;
            }
            c if c.is_alphanumeric() => {
                if capital || forced {
                    out.extend(c.to_uppercase());
                } else {
                    out.push(c);
                }
                (capital, forced, ended) = (false, false, false);
            }
            c => {
                // A mark inside quotes ends the speech; whether a new sentence follows, `^` says.
                ended = matches!(c, '.' | '?' | '!');
                out.push(c);
            }
        }
    }
    out.trim().to_owned()
}

/// Returns true if the article before this text is "an": by sound, for the words that occur.
fn begins_with_vowel_sound(text: &str) -> bool {
    let word: String = text.chars().take_while(|c| c.is_alphanumeric()).collect::<String>().to_lowercase();
    let silent_h = ["hour", "honest", "honour", "heir"].iter().any(|h| word.starts_with(h));
    let sounds_y = ["uni", "use", "usu", "one", "once", "eur"].iter().any(|y| word.starts_with(y))
        && !word.starts_with("unim")
        && !word.starts_with("unin");
    silent_h || (word.starts_with(['a', 'e', 'i', 'o', 'u']) && !sounds_y)
}

/// The last use of each template of a setting, so that neighbouring documents do not use the same templates.
#[derive(Default)]
pub(super) struct RecentUse<'a> {
    used: HashMap<&'a str, usize>,
    now: usize,
}

impl<'a> RecentUse<'a> {
    /// A template of the half of the pool that has rested longest.
    fn choose(&mut self, rng: &mut ChaCha8Rng, pool: &'a [String]) -> &'a str {
        let mut rested: Vec<&str> = pool.iter().map(String::as_str).collect();
        rested.sort_by_key(|t| self.used.get(t).copied().unwrap_or(0));
        let chosen = pick(rng, &rested[..pool.len().div_ceil(2)]);
        self.now += 1;
        self.used.insert(chosen, self.now);
        chosen
    }
}

struct Page {
    paragraphs: Vec<String>,
    /// True if the next sentence begins a paragraph.
    starts_paragraph: bool,
}

impl Page {
    /// Adds a sentence; `¶` inside it begins a paragraph, as does a new speaker.
    fn add_sentence(&mut self, said: &str) {
        for (number, said) in said.split('¶').enumerate() {
            self.starts_paragraph |= number > 0;
            let answers = said.starts_with('"') && self.paragraphs.last().is_some_and(|p| p.contains('"'));
            match self.paragraphs.last_mut() {
                Some(paragraph) if !self.starts_paragraph && !answers => {
                    paragraph.push(' ');
                    paragraph.push_str(said);
                }
                _ => self.paragraphs.push(said.to_owned()),
            }
            self.starts_paragraph = false;
        }
    }
}

/// One document of this plot: paragraphs separated by empty lines.
pub(super) fn document<'a>(theme: &'a Theme, plot: &Plot, rng: &mut ChaCha8Rng, recent: &mut RecentUse<'a>) -> String {
    let mut writer = Writer::with_two_people(rng, theme);
    let mut page = Page { paragraphs: vec![], starts_paragraph: true };
    if let Some(greeting) = &theme.greeting {
        page.add_sentence(&writer.sentence(greeting));
        page.starts_paragraph = true;
    }
    for (pool, opens) in [(&theme.open, true), (&theme.open, true), (&theme.meet, false)] {
        let template = recent.choose(writer.rng, pool);
        page.add_sentence(&writer.sentence(template));
        // Either the person or what happens begins the second paragraph.
        if page.paragraphs.len() == 1 && opens && page.paragraphs[0].len() > 260 {
            page.starts_paragraph = writer.rng.random_bool(0.5);
        }
    }
    page.starts_paragraph |= page.paragraphs.last().is_some_and(|p| p.len() > 300);
    if page.starts_paragraph {
        writer.paragraph_starts();
    }
    for beat in &plot.beats {
        let template = match beat {
            Beat::Mark(Mark::Break) => {
                writer.paragraph_starts();
                page.starts_paragraph = true;
                continue;
            }
            Beat::Mark(Mark::Ambient) if writer.rng.random_bool(0.3) => continue,
            Beat::Mark(Mark::Ambient) => recent.choose(writer.rng, &theme.ambient),
            Beat::Pool(pool) => pick_str(writer.rng, pool),
        };
        page.add_sentence(&writer.sentence(template));
    }
    let close = recent.choose(writer.rng, &theme.close);
    page.add_sentence(&writer.sentence(close));
    if let Some(signature) = &theme.signature {
        page.starts_paragraph = true;
        page.add_sentence(&writer.sentence(signature));
    }
    page.paragraphs.join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn articles_and_capitals() {
        assert_eq!(
            finish("@ old boat and @ useful oar.  it took @ hour. \"^why?\" he said."),
            "An old boat and a useful oar. It took an hour. \"Why?\" he said."
        );
        assert!(["orange", "honest", "unimportant"].into_iter().all(begins_with_vowel_sound));
        assert!(!["one-eyed", "European", "house"].into_iter().any(begins_with_vowel_sound));
    }

    #[test]
    fn choices_nest_and_facts_stay() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let lexicon = toml::from_str(r#"sea = ["calm", "rough", "grey"]"#).unwrap();
        let mut writer = Writer::plain(&mut rng, &lexicon);
        let said = writer.sentence("{$sea} {$sea} [x|[x|x]] {$sea/2}");
        let words: Vec<String> = said.to_lowercase().split(' ').map(str::to_owned).collect();
        assert_eq!(words[0], words[1]);
        assert_ne!(words[0], words[3]);
        assert_eq!(words[2], "x");
    }
}
