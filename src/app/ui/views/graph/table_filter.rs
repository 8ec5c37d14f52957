//! What a table of a graph is filtered by: words, and conditions such as `degree>5` or `kind=salt`. It does not know
//! what the rows are.

/// One condition; a row is shown where all of them hold.
#[derive(Debug, Clone, PartialEq)]
pub enum Condition {
    /// Some text of the row has these words.
    Words(String),
    /// The value under a name, compared with a number or a text.
    Compare { column: usize, by: Comparison, with: String },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    Less,
    AtMost,
    Equal,
    Unequal,
    AtLeast,
    More,
}

/// Signs of comparisons, the longer ones first.
const SIGNS: [(&str, Comparison); 8] = [
    (">=", Comparison::AtLeast),
    ("<=", Comparison::AtMost),
    ("!=", Comparison::Unequal),
    ("==", Comparison::Equal),
    (">", Comparison::More),
    ("<", Comparison::Less),
    ("=", Comparison::Equal),
    ("\u{2260}", Comparison::Unequal),
];

impl Comparison {
    fn holds<T: PartialOrd>(self, a: T, b: T) -> bool {
        match self {
            Self::Less => a < b,
            Self::AtMost => a <= b,
            Self::Equal => a == b,
            Self::Unequal => a != b,
            Self::AtLeast => a >= b,
            Self::More => a > b,
        }
    }
}

/// A row, as conditions see it.
pub trait Row {
    /// The number of a column; NaN where it has none.
    fn number(&self, column: usize) -> f64;
    fn words(&self, column: usize) -> String;
}

impl Condition {
    /// Reads conditions apart by spaces; names and values with spaces stand in quotes.
    ///
    /// # Errors
    /// A sentence that says which column is missing, or what is not finished.
    pub fn read(text: &str, columns: &[&str]) -> Result<Vec<Self>, String> {
        terms(text).iter().map(|term| Self::of(term, columns)).collect()
    }

    fn of(term: &str, columns: &[&str]) -> Result<Self, String> {
        let found = SIGNS.iter().filter_map(|(sign, by)| Some((term.find(sign)?, *sign, *by)));
        let Some((at, sign, by)) = found.min_by_key(|(at, sign, _)| (*at, usize::MAX - sign.len())) else {
            return Ok(Self::Words(term.to_lowercase()));
        };
        let (name, with) = (&term[..at], &term[at + sign.len()..]);
        let column = columns.iter().position(|c| c.eq_ignore_ascii_case(name));
        let column = column.ok_or_else(|| format!("there is no column \u{201c}{name}\u{201d}"))?;
        if with.is_empty() {
            return Err(format!("{name} {sign} what?"));
        }
        Ok(Self::Compare { column, by, with: with.to_owned() })
    }

    pub fn holds(&self, row: &dyn Row, columns: usize) -> bool {
        match self {
            Self::Words(words) => (0..columns).any(|c| row.words(c).to_lowercase().contains(words.as_str())),
            Self::Compare { column, by, with } => {
                let (number, wanted) = (row.number(*column), with.parse::<f64>());
                match wanted {
                    Ok(wanted) if !number.is_nan() => by.holds(number, wanted),
                    _ => {
                        let (words, with) = (row.words(*column).to_lowercase(), with.to_lowercase());
                        // what has no value is neither more nor less
                        let is_known = !words.is_empty() || matches!(by, Comparison::Equal | Comparison::Unequal);
                        is_known && by.holds(words.as_str(), with.as_str())
                    }
                }
            }
        }
    }
}

/// Words apart by spaces, of which those in quotes are one.
fn terms(text: &str) -> Vec<String> {
    let (mut all, mut inside, mut term) = (vec![], false, String::new());
    for c in text.chars() {
        match c {
            '"' => inside = !inside,
            c if c.is_whitespace() && !inside => all.push(std::mem::take(&mut term)),
            c => term.push(c),
        }
    }
    all.push(term);
    all.retain(|term| !term.is_empty());
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixed;

    impl Row for Fixed {
        fn number(&self, column: usize) -> f64 {
            [f64::NAN, 5.0, f64::NAN][column]
        }

        fn words(&self, column: usize) -> String {
            ["Blue Whale", "5", ""][column].to_owned()
        }
    }

    #[test]
    fn conditions_are_read_and_hold() {
        let columns = ["name", "degree", "kind"];
        let holds = |text: &str| Condition::read(text, &columns).map(|all| all.iter().all(|c| c.holds(&Fixed, 3)));
        for text in ["", "whale", "degree>4 degree<=5", "DEGREE=5", "name=\"blue whale\"", "kind!=x", "blue degree>=5"]
        {
            assert_eq!(holds(text), Ok(true), "{text}");
        }
        for text in ["shark", "degree>5", "degree!=5", "name=blue", "kind=x", "kind>a", "whale degree<5"] {
            assert_eq!(holds(text), Ok(false), "{text}");
        }
        assert!(holds("size>4").unwrap_err().contains("size"));
        assert!(holds("degree>").unwrap_err().contains("what?"));
    }
}
