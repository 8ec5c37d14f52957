//! What a person asks of the rows, in one line: `lr<1e-3 lab:fast_slow !state:killed wide`. All of it must hold. It knows
//! rows alone.

use super::RunRow;
use crate::config::Value;

/// A line of terms.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Filter {
    terms: Vec<Term>,
    /// Archived runs are asked for by name.
    pub archived: bool,
}

#[derive(Debug, Clone, PartialEq)]
struct Term {
    /// `!term`
    negated: bool,
    test: Test,
}

#[derive(Debug, Clone, PartialEq)]
enum Test {
    /// Anywhere in its words.
    Text(String),
    /// `key:text`
    Has(String, String),
    /// `key<number`
    Number(String, Comparison, f64),
    /// `key=text`
    Is(String, String, bool),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comparison {
    AtMost,
    AtLeast,
    Less,
    More,
    Equal,
    Unequal,
}

/// Longest first, so that `<=` is not read as `<`.
const COMPARISONS: [(&str, Comparison); 6] = [
    ("<=", Comparison::AtMost),
    (">=", Comparison::AtLeast),
    ("!=", Comparison::Unequal),
    ("<", Comparison::Less),
    (">", Comparison::More),
    ("=", Comparison::Equal),
];

/// Keys that are no settings and no headline numbers.
const OWN: [&str; 12] =
    ["lab", "preset", "state", "name", "note", "is", "folder", "changed", "steps", "seed", "size", "loss"];

impl Comparison {
    fn holds(self, a: f64, b: f64) -> bool {
        match self {
            Self::AtMost => a <= b,
            Self::AtLeast => a >= b,
            Self::Less => a < b,
            Self::More => a > b,
            Self::Equal => a == b,
            Self::Unequal => a != b,
        }
    }
}

impl Filter {
    /// Reads a line.
    ///
    /// # Errors
    /// If a comparison has no number, or a term no value; in words that name the term.
    pub fn parse(line: &str) -> Result<Self, String> {
        let terms: Vec<Term> = line.split_whitespace().map(term).collect::<Result<_, _>>()?;
        let archived = terms.iter().any(|t| t.test == Test::Has("is".into(), "archived".into()));
        Ok(Self { terms, archived })
    }

    /// Whether a row is wanted. Archived ones are, if they are asked for.
    pub fn wants(&self, row: &RunRow) -> bool {
        (self.archived || !row.note.archived) && self.terms.iter().all(|t| t.test.holds(row) != t.negated)
    }

    /// A key that is asked for and that none of these rows has, in words; a misspelt one would else just find nothing.
    pub fn unknown<'a>(&self, rows: impl Iterator<Item = &'a RunRow> + Clone) -> Option<String> {
        let has = |key: &str| {
            OWN.contains(&key) || rows.clone().any(|r| r.numbers(key).is_some() || r.setting(key).is_some())
        };
        let key = self.terms.iter().filter_map(|t| t.test.key()).find(|key| !has(key))?;
        let known = rows.clone().flat_map(|r| r.settings.keys().map(String::as_str)).chain(OWN);
        let name = |k: &str| k.rsplit('.').next().map_or(usize::MAX, |name| strsim::levenshtein(key, name));
        let nearest = known.map(|k| (strsim::levenshtein(key, k).min(name(k)), k)).min().filter(|(d, _)| *d <= 2);
        let suggestion = nearest.map_or(String::new(), |(_, k)| format!("; did you mean `{k}`?"));
        Some(format!("no run here has a setting or headline number `{key}`{suggestion}"))
    }
}

fn term(word: &str) -> Result<Term, String> {
    let (negated, word) = match word.strip_prefix(['!', '-']) {
        Some(rest) if !rest.is_empty() => (true, rest),
        _ => (false, word),
    };
    let first = |(sign, _): &(&str, Comparison)| word.find(sign).filter(|i| *i > 0);
    let comparison = COMPARISONS.into_iter().filter_map(|c| first(&c).map(|i| (i, c))).min_by_key(|(i, _)| *i);
    let colon = word.find(':').filter(|i| *i > 0);
    let test = match (colon, comparison) {
        (Some(i), c) if c.is_none_or(|(j, _)| i < j) => {
            let (key, text) = (word[..i].to_lowercase(), word[i + 1..].to_lowercase());
            if text.is_empty() {
                return Err(format!("`{word}` says nothing after the colon: write `{key}:text`"));
            }
            Test::Has(key, text)
        }
        (_, Some((i, (sign, comparison)))) => compared(word, &word[..i], sign, comparison)?,
        _ => Test::Text(word.to_lowercase()),
    };
    Ok(Term { negated, test })
}

fn compared(word: &str, key: &str, sign: &str, comparison: Comparison) -> Result<Test, String> {
    let value = &word[key.len() + sign.len()..];
    match (value.parse::<f64>(), comparison) {
        (Ok(number), _) if !number.is_nan() => Ok(Test::Number(key.to_owned(), comparison, number)),
        (_, Comparison::Equal | Comparison::Unequal) if !value.is_empty() => {
            Ok(Test::Is(key.to_owned(), value.to_lowercase(), comparison == Comparison::Equal))
        }
        _ => Err(format!("`{word}`: `{value}` is no number; write such as `{key}{sign}1e-3`")),
    }
}

impl Test {
    fn key(&self) -> Option<&str> {
        match self {
            Self::Text(_) => None,
            Self::Has(key, _) | Self::Number(key, ..) | Self::Is(key, ..) => Some(key),
        }
    }

    fn holds(&self, row: &RunRow) -> bool {
        match self {
            Self::Text(text) => {
                let words = [&row.folder, &row.note.name, &row.note.note, &row.lab, &row.preset];
                words.into_iter().any(|w| w.to_lowercase().contains(text.as_str()))
            }
            Self::Has(key, text) => match key.as_str() {
                "is" => match text.as_str() {
                    "pinned" => row.note.pinned,
                    "archived" => row.note.archived,
                    state => row.state.id() == state,
                },
                key => text_of(row, key).is_some_and(|w| w.to_lowercase().contains(text.as_str())),
            },
            Self::Number(key, comparison, number) => {
                row.numbers(key).is_some_and(|all| all.into_iter().any(|v| comparison.holds(v, *number)))
            }
            Self::Is(key, text, equal) => text_of(row, key).is_some_and(|w| (w.to_lowercase() == *text) == *equal),
        }
    }
}

fn text_of(row: &RunRow, key: &str) -> Option<String> {
    Some(match key {
        "lab" => row.lab.clone(),
        "preset" => row.preset.clone(),
        "state" => row.state.id().to_owned(),
        "name" => row.note.name.clone(),
        "note" => row.note.note.clone(),
        "folder" => row.folder.clone(),
        "changed" => row.changed_words(),
        "seed" => row.seed.to_string(),
        "steps" => row.steps.to_string(),
        key => row.setting(key).map(Value::to_string)?,
    })
}
