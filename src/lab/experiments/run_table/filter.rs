//! A filter of the rows of the table of runs, in the language of [`query`]: `lr<1e-3 lab:fast_slow !state:killed`.

use super::{
    RowState, RunRow,
    query::{self, Comparison, FilteredRow, QueryTerm, QueryTest},
};
use crate::config::{Value, did_you_mean};

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Filter {
    terms: Vec<QueryTerm>,
    /// Archived runs are asked for by name.
    pub archived: bool,
}

/// Keys that are neither settings nor headline numbers.
const RUN_KEYS: [&str; 15] = [
    "lab", "preset", "state", "name", "note", "tag", "is", "folder", "sweep", "changed", "began", "steps", "seed",
    "size", "loss",
];

const BEGAN_KEY: &str = "began";
/// The keys whose value is a number in every run.
const NUMERIC_KEYS: [&str; 4] = ["steps", "seed", "size", "loss"];

/// True for a key that may be of one variant (`gate:coupled>0.1`): the loss or a headline number.
fn has_variants(key: &str) -> bool {
    key == "loss" || !RUN_KEYS.contains(&key)
}

impl Filter {
    pub fn parse(line: &str) -> Result<Self, String> {
        let read = |term| in_bytes(with_blank_in_date(of_variant(with_one_tag(term))));
        let terms: Vec<QueryTerm> = query::parse(line)?.into_iter().map(read).collect();
        if let Some(words) = terms.iter().find_map(|term| refusal(&term.test)) {
            return Err(words);
        }
        let is_archived =
            |term: &QueryTerm| matches!(&term.test, QueryTest::Has { key, text } if key == "is" && text == "archived");
        let archived = terms.iter().any(is_archived);
        Ok(Self { terms, archived })
    }

    /// True if the filter selects the row. Archived rows are selected only if they are asked for.
    pub fn matches(&self, row: &RunRow) -> bool {
        (self.archived || !row.note.archived) && self.terms.iter().all(|term| term.holds(row))
    }

    /// A key that is asked for and that none of these rows has, in words; a misspelt one would otherwise just find
    /// nothing.
    pub fn unknown_key<'a>(&self, rows: impl Iterator<Item = &'a RunRow> + Clone) -> Option<String> {
        let has = |key: &str| {
            RUN_KEYS.contains(&key)
                || rows.clone().any(|r| RunRow::numbers(r, key).is_some() || r.last_setting(key).is_some())
        };
        let key = self.terms.iter().filter_map(QueryTerm::key).find(|key| !has(key))?;
        let known = rows.clone().flat_map(|r| r.settings.keys().map(String::as_str)).chain(RUN_KEYS);
        Some(format!("no run here has a setting or headline number `{key}`{}", did_you_mean(key, known)))
    }
}

/// Treats `tag=talk` like `tag:talk`, and `tag!=talk` like `!tag:talk`, since a run has several tags and one must
/// be the text; likewise `is`.
fn with_one_tag(term: QueryTerm) -> QueryTerm {
    match term.test {
        QueryTest::Compare { key, by, value } if (key == "tag" || key == "is") && !by.needs_order() => QueryTerm {
            negated: term.negated != (by == Comparison::Unequal),
            test: QueryTest::Has { key, text: value.to_lowercase() },
        },
        test => QueryTerm { test, ..term },
    }
}

/// `accuracy:coupled>0.5` compares the number of one group of variants, by the name of its column in the CSV.
fn of_variant(term: QueryTerm) -> QueryTerm {
    let compared = match &term.test {
        QueryTest::Has { key, text } if has_variants(key) => {
            // a text that begins with a sign names no group
            let compared = query::split_comparison(text).filter(|_| query::leading_sign(text).is_none());
            compared.map(|(group, _, by, value)| (format!("{key}:{group}"), by, value.to_owned()))
        }
        _ => None,
    };
    match compared {
        Some((key, by, value)) => QueryTerm { test: QueryTest::Compare { key, by, value }, ..term },
        None => term,
    }
}

/// `began>2026-01-31T14:25` asks for the time as the table writes it, with a blank between day and hour.
fn with_blank_in_date(mut term: QueryTerm) -> QueryTerm {
    if let QueryTest::Compare { key, value, .. } = &mut term.test
        && key == BEGAN_KEY
    {
        let spaced = value.replacen(['T', 't'], " ", 1);
        if is_date(&spaced) {
            *value = spaced;
        }
    }
    term
}

/// True for a day of the calendar, perhaps with a time, or the beginning of one: `2026`, `2026-01`, `2026-01-31`,
/// `2026-01-31 14:25`.
fn is_date(text: &str) -> bool {
    const EARLIEST_TIME: &str = "0000-01-01 00:00:00";
    const PREFIX_LENGTHS: [usize; 6] = [4, 7, 10, 13, 16, 19];
    let is_like = |(byte, like): (u8, u8)| if like.is_ascii_digit() { byte.is_ascii_digit() } else { byte == like };
    PREFIX_LENGTHS.contains(&text.len())
        && text.bytes().zip(EARLIEST_TIME.bytes()).all(is_like)
        && format!("{text}{}", &EARLIEST_TIME[text.len()..]).parse::<jiff::civil::DateTime>().is_ok()
}

/// `size>30MB` asks in the units of the table.
fn in_bytes(mut term: QueryTerm) -> QueryTerm {
    const SIZE_UNITS: [(&str, &str); 3] = [("kb", "e3"), ("mb", "e6"), ("gb", "e9")];
    if let QueryTest::Compare { key, value, .. } = &mut term.test
        && key == "size"
    {
        let written = value.to_lowercase();
        let unit =
            SIZE_UNITS.iter().find_map(|(unit, power)| Some(format!("{}{power}", written.strip_suffix(*unit)?.trim())));
        if let Some(bytes) = unit {
            *value = bytes;
        }
    }
    term
}

/// The first sign of a comparison before a number where the number alone should be, and that number: `>3` of `lr=>3`. Text
/// may begin with a sign (`<s>`).
fn signed_number(text: &str) -> Option<(char, &str)> {
    let number = text.trim_start_matches(['<', '>', '=']);
    let is_number = number.is_empty() || number.parse::<f64>().is_ok();
    text.chars().next().filter(|_| is_number && number.len() < text.len()).map(|sign| (sign, number))
}

/// The reason why a test is meaningless for every run; `None` if it can be evaluated.
fn refusal(test: &QueryTest) -> Option<String> {
    match test {
        QueryTest::Quoted(_) => None,
        QueryTest::Words(words) => query::leading_sign(words).map(|sign| {
            format!(
                "`{words}` names nothing before `{sign}`: write such as `lr<1e-3` or `lab:fast_slow`, or `\"{words}\"` with its \
                 quotes for a name with that in it"
            )
        }),
        QueryTest::Has { key, text }
            if has_variants(key) && (text.starts_with([':', '!', '\u{2260}']) || signed_number(text).is_some()) =>
        {
            Some(format!("`{key}:{text}` names no variant after the colon: write such as `gate:coupled>0.1`"))
        }
        QueryTest::Compare { key, value, .. } if value.is_empty() => {
            Some(format!("`{key}` is compared with nothing: write such as `{key}<1e-3`"))
        }
        QueryTest::Compare { key, value, .. } if key == BEGAN_KEY => {
            (!is_date(value)).then(|| format!("`{value}` is not a date: write such as `{BEGAN_KEY}>2026-01-31`"))
        }
        QueryTest::Compare { key, value, .. }
            if (has_variants(key) || NUMERIC_KEYS.contains(&key.as_str())) && signed_number(value).is_some() =>
        {
            let (sign, number) = signed_number(value)?;
            let meant = if sign == '=' { "=".to_owned() } else { format!("{sign}=") };
            Some(format!("`{value}` is not a number: write such as `{key}{meant}{number}`"))
        }
        QueryTest::Compare { key, by, value } if by.needs_order() || NUMERIC_KEYS.contains(&key.as_str()) => {
            let is_number = value.parse::<f64>().is_ok_and(|number| !number.is_nan());
            (!is_number).then(|| format!("`{value}` is not a number: write such as `{key}<1e-3`"))
        }
        QueryTest::Has { .. } | QueryTest::Compare { .. } => unknown_state(test),
    }
}

/// A state that no run can be in, in words.
fn unknown_state(test: &QueryTest) -> Option<String> {
    const FLAG_KEYS: [&str; 2] = ["pinned", "archived"];
    let states = RowState::ALL.each_ref().map(RowState::id);
    let (wanted, marks, is_known) = match test {
        QueryTest::Has { key, text } if key == "is" => {
            (text, &FLAG_KEYS[..], states.iter().chain(&FLAG_KEYS).any(|known| known == text))
        }
        QueryTest::Has { key, text } if key == "state" => {
            (text, &FLAG_KEYS[..0], states.iter().any(|id| id.contains(text.as_str())))
        }
        QueryTest::Compare { key, value, .. } if key == "state" => {
            (value, &FLAG_KEYS[..0], states.iter().any(|id| value.eq_ignore_ascii_case(id)))
        }
        _ => return None,
    };
    let known: Vec<&str> = states.iter().chain(marks).copied().collect();
    (!is_known).then(|| format!("no run can be `{wanted}`: there are {}", known.join(", ")))
}

impl FilteredRow for RunRow {
    fn mentions(&self, words: &str) -> bool {
        let texts = [&self.folder, &self.note.name, &self.note.note, &self.lab, &self.preset, &self.sweep];
        texts.into_iter().chain(&self.note.tags).any(|text| text.to_lowercase().contains(words))
    }

    fn numbers(&self, key: &str) -> Vec<f64> {
        RunRow::numbers(self, key).unwrap_or_default()
    }

    fn text(&self, key: &str) -> Option<String> {
        self.texts(key).into_iter().next()
    }

    fn texts(&self, key: &str) -> Vec<String> {
        vec![match key {
            "lab" => self.lab.clone(),
            "preset" => self.preset.clone(),
            "state" => self.state.id().to_owned(),
            "name" => self.note.name.clone(),
            "note" => self.note.note.clone(),
            "tag" => self.note.tags.join(", "),
            "folder" => self.folder.clone(),
            "sweep" => self.sweep.clone(),
            "changed" => self.changed_label(),
            "began" => self.when.clone(),
            "seed" => self.seed.to_string(),
            "steps" => self.steps.to_string(),
            key => return self.set_values(key).into_iter().map(Value::to_string).collect(),
        }]
    }

    fn has(&self, key: &str, text: &str) -> bool {
        match (key, text) {
            ("is", "pinned") => self.note.pinned,
            ("is", "archived") => self.note.archived,
            ("is", state) => self.state.id() == state,
            ("sweep", sweep) => self.sweep.to_lowercase() == sweep,
            ("tag", tag) => self.note.tags.iter().any(|own| own.to_lowercase() == tag),
            _ => self.texts(key).iter().any(|found| found.to_lowercase().contains(text)),
        }
    }
}
