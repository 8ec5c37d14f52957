//! The query language that filters every list, in one line: `lr<1e-3 lab:fast_slow !state:killed "two words"`. All terms
//! must hold; a term in quotes is words, whatever signs they have. Each list defines its own keys.

#[derive(Debug, Clone, PartialEq)]
pub struct QueryTerm {
    /// True for `!term`, which holds if the test fails.
    pub negated: bool,
    pub test: QueryTest,
}

#[derive(Debug, Clone, PartialEq)]
pub enum QueryTest {
    /// Some text of the row has these words, in lower case.
    Words(String),
    /// The same of words in quotes, `"<s>"`, which no list has to refuse for a sign in them.
    Quoted(String),
    /// `key:text`, the text in lower case.
    Has { key: String, text: String },
    /// `key<number`, `key=text`.
    Compare { key: String, by: Comparison, value: String },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    AtMost,
    AtLeast,
    Less,
    More,
    Equal,
    Unequal,
}

/// Longer ones first, so that `<=` is not read as `<`.
const OPERATORS: [(&str, Comparison); 8] = [
    ("<=", Comparison::AtMost),
    (">=", Comparison::AtLeast),
    ("!=", Comparison::Unequal),
    ("==", Comparison::Equal),
    ("<", Comparison::Less),
    (">", Comparison::More),
    ("=", Comparison::Equal),
    ("\u{2260}", Comparison::Unequal),
];

/// A word at its first comparison: the key, the sign, which comparison it is, and the value.
pub fn split_comparison(word: &str) -> Option<(&str, &'static str, Comparison, &str)> {
    let found = OPERATORS.iter().filter_map(|(sign, by)| Some((word.find(sign).filter(|i| *i > 0)?, *sign, *by)));
    let (at, sign, by) = found.min_by_key(|(at, ..)| *at)?;
    Some((&word[..at], sign, by, &word[at + sign.len()..]))
}

/// The sign of a comparison, or the colon, with which a word begins, so that no key precedes it.
pub fn leading_sign(word: &str) -> Option<&'static str> {
    OPERATORS.iter().map(|(sign, _)| *sign).chain([":"]).find(|sign| word.starts_with(sign))
}

impl Comparison {
    fn holds<T: PartialOrd>(self, a: T, b: T) -> bool {
        match self {
            Self::AtMost => a <= b,
            Self::AtLeast => a >= b,
            Self::Less => a < b,
            Self::More => a > b,
            Self::Equal => a == b,
            Self::Unequal => a != b,
        }
    }

    pub fn needs_order(self) -> bool {
        !matches!(self, Self::Equal | Self::Unequal)
    }
}

/// A row of a list, as a query sees it.
pub trait FilteredRow {
    /// True if some text of the row contains these words.
    fn mentions(&self, words: &str) -> bool;
    /// The numbers under a key; a term holds if one of them fits.
    fn numbers(&self, key: &str) -> Vec<f64>;
    /// The text under a key; `None` where the row has no such key.
    fn text(&self, key: &str) -> Option<String>;
    /// The texts under a key that may have several; a term holds if one of them fits.
    fn texts(&self, key: &str) -> Vec<String> {
        self.text(key).into_iter().collect()
    }
    /// True if the values under the key contain the text; decides terms `key:text`.
    fn has(&self, key: &str, text: &str) -> bool {
        self.texts(key).iter().any(|found| found.to_lowercase().contains(text))
    }
}

/// Reads the terms of a line, separated by blanks; names and values with blanks are in quotes.
pub fn parse(line: &str) -> Result<Vec<QueryTerm>, String> {
    words_with_quotes(line).map(QueryTerm::parse).collect()
}

impl QueryTerm {
    fn parse(word: &str) -> Result<Self, String> {
        let (negated, word) = match word.strip_prefix(['!', '-']) {
            Some(rest) if rest.contains(|c: char| c != '"') => (true, rest),
            _ => (false, word),
        };
        let quoted = word.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        if let Some(words) = quoted.filter(|words| !words.contains('"')) {
            return Ok(Self { negated, test: QueryTest::Quoted(words.to_lowercase()) });
        }
        let word = word.replace('"', "");
        let word = word.as_str();
        let compared = split_comparison(word);
        let colon = word.find(':').filter(|i| *i > 0);
        let test = match (colon, compared) {
            (Some(at), compared) if compared.is_none_or(|(key, ..)| at < key.len()) => {
                let (key, text) = (word[..at].to_lowercase(), word[at + 1..].to_lowercase());
                if text.is_empty() {
                    return Err(format!("`{word}` says nothing after the colon: write `{key}:text`"));
                }
                QueryTest::Has { key, text }
            }
            (_, Some((key, sign, by, value))) => {
                if value.is_empty() {
                    return Err(format!("{key} {sign} what?"));
                }
                QueryTest::Compare { key: key.to_owned(), by, value: value.to_owned() }
            }
            _ => QueryTest::Words(word.to_lowercase()),
        };
        Ok(Self { negated, test })
    }

    /// Returns the key that the term asks for; `None` for plain words.
    pub fn key(&self) -> Option<&str> {
        match &self.test {
            QueryTest::Words(_) | QueryTest::Quoted(_) => None,
            QueryTest::Has { key, .. } | QueryTest::Compare { key, .. } => Some(key),
        }
    }

    pub fn holds(&self, row: &impl FilteredRow) -> bool {
        self.test.holds(row) != self.negated
    }
}

impl QueryTest {
    fn holds(&self, row: &impl FilteredRow) -> bool {
        match self {
            Self::Words(words) | Self::Quoted(words) => row.mentions(words),
            Self::Has { key, text } => row.has(key, text),
            Self::Compare { key, by, value } => {
                let numbers = row.numbers(key);
                match value.parse::<f64>() {
                    Ok(wanted) if !wanted.is_nan() && !numbers.is_empty() => {
                        numbers.into_iter().any(|number| by.holds(number, wanted))
                    }
                    _ => row.texts(key).iter().any(|text| {
                        // a missing value is neither greater nor less
                        let is_known = !text.is_empty() || !by.needs_order();
                        is_known && by.holds(text.to_lowercase(), value.to_lowercase())
                    }),
                }
            }
        }
    }
}

/// Splits at blanks that are not in quotes; the quotes stay.
fn words_with_quotes(line: &str) -> impl Iterator<Item = &str> {
    let mut inside = false;
    let words = line.split(move |c: char| {
        inside ^= c == '"';
        c.is_whitespace() && !inside
    });
    words.filter(|word| word.contains(|c: char| c != '"'))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Whale;

    impl FilteredRow for Whale {
        fn mentions(&self, words: &str) -> bool {
            "blue whale <s>".contains(words)
        }

        fn numbers(&self, key: &str) -> Vec<f64> {
            if key == "degree" { vec![5.0, 7.0] } else { vec![] }
        }

        fn text(&self, key: &str) -> Option<String> {
            match key {
                "name" => Some("Blue Whale".to_owned()),
                "kind" => Some(String::new()),
                _ => None,
            }
        }
    }

    #[test]
    fn terms_are_read_and_hold() {
        let holds = |line: &str| parse(line).map(|terms| terms.iter().all(|term| term.holds(&Whale)));
        for line in [
            "",
            "whale",
            "\"blue whale\" degree>6",
            "degree==5",
            "name=\"blue whale\"",
            "name:whale",
            "kind!=x",
            "\"<s>\"",
        ] {
            assert_eq!(holds(line), Ok(true), "{line}");
        }
        for line in ["shark", "!whale", "-degree>=7", "degree>7", "kind>a", "kind=x", "name:shark", "mass\u{2260}1"] {
            assert_eq!(holds(line), Ok(false), "{line}");
        }
        for (line, expected) in [("\"degree>6\"", false), ("!\"e <s>\"", false), ("!\"=\"", true), ("\"\"", true)] {
            assert_eq!(holds(line), Ok(expected), "words in quotes are not a comparison: {line}");
        }
        assert!(holds("degree>").unwrap_err().contains("what?"));
        assert!(holds("name:").unwrap_err().contains("colon"));
    }
}
