//! The query language that filters every list, in one line: `lr<1e-3 lab:fast_slow !state:killed "two words"`. All terms
//! must hold. Each list defines its own keys.

/// One condition.
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

/// The sign of a comparison, or the colon, with which a word begins, so that no key stands before it.
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

    /// True for comparisons that need an order of values.
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
    /// Answers `key:text`.
    fn has(&self, key: &str, text: &str) -> bool {
        self.text(key).is_some_and(|found| found.to_lowercase().contains(text))
    }
}

/// Reads the terms of a line, separated by blanks; names and values with blanks are in quotes.
///
/// # Errors
/// If a term has no value; in words that name the term.
pub fn parse(line: &str) -> Result<Vec<QueryTerm>, String> {
    split_quoted(line).iter().map(|word| QueryTerm::parse(word)).collect()
}

impl QueryTerm {
    fn parse(word: &str) -> Result<Self, String> {
        let (negated, word) = match word.strip_prefix(['!', '-']) {
            Some(rest) if !rest.is_empty() => (true, rest),
            _ => (false, word),
        };
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
            QueryTest::Words(_) => None,
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
            Self::Words(words) => row.mentions(words),
            Self::Has { key, text } => row.has(key, text),
            Self::Compare { key, by, value } => {
                let numbers = row.numbers(key);
                match value.parse::<f64>() {
                    Ok(wanted) if !wanted.is_nan() && !numbers.is_empty() => {
                        numbers.into_iter().any(|number| by.holds(number, wanted))
                    }
                    _ => row.text(key).is_some_and(|text| {
                        // a missing value is neither greater nor less
                        let is_known = !text.is_empty() || !by.needs_order();
                        is_known && by.holds(text.to_lowercase(), value.to_lowercase())
                    }),
                }
            }
        }
    }
}

/// Splits at blanks; words in quotes stay together.
fn split_quoted(line: &str) -> Vec<String> {
    let (mut all, mut inside, mut word) = (vec![], false, String::new());
    for c in line.chars() {
        match c {
            '"' => inside = !inside,
            c if c.is_whitespace() && !inside => all.push(std::mem::take(&mut word)),
            c => word.push(c),
        }
    }
    all.push(word);
    all.retain(|word| !word.is_empty());
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Whale;

    impl FilteredRow for Whale {
        fn mentions(&self, words: &str) -> bool {
            "blue whale".contains(words)
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
        for line in
            ["", "whale", "\"blue whale\" degree>6", "degree==5", "name=\"blue whale\"", "name:whale", "kind!=x"]
        {
            assert_eq!(holds(line), Ok(true), "{line}");
        }
        for line in ["shark", "!whale", "-degree>=7", "degree>7", "kind>a", "kind=x", "name:shark", "mass\u{2260}1"] {
            assert_eq!(holds(line), Ok(false), "{line}");
        }
        assert!(holds("degree>").unwrap_err().contains("what?"));
        assert!(holds("name:").unwrap_err().contains("colon"));
    }
}
