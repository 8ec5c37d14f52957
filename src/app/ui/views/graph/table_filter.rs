//! Filters the rows of a graph's table by words and by conditions on columns, such as `degree>5` or `kind=salt`.

use crate::experiments::run_table::query::{self, FilteredRow, QueryTerm, QueryTest};

/// A row of the table, with its column names, that a filter can test.
pub struct NamedRow<'a> {
    pub names: &'a [&'a str],
    /// The row's number in a column; NaN if it has none there.
    pub number: &'a dyn Fn(usize) -> f64,
    pub text: &'a dyn Fn(usize) -> String,
}

impl NamedRow<'_> {
    fn column(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|column| column.eq_ignore_ascii_case(name))
    }
}

impl FilteredRow for NamedRow<'_> {
    fn mentions(&self, words: &str) -> bool {
        (0..self.names.len()).any(|column| (self.text)(column).to_lowercase().contains(words))
    }

    fn numbers(&self, name: &str) -> Vec<f64> {
        self.column(name).map(self.number).filter(|n| !n.is_nan()).into_iter().collect()
    }

    fn text(&self, name: &str) -> Option<String> {
        self.column(name).map(self.text)
    }
}

/// The terms of a filter, each of a column that there is. A label such as `0:12` is words.
pub fn terms(filter: &str, names: &[&str]) -> Result<Vec<QueryTerm>, String> {
    let mut terms = query::parse(filter)?;
    let is_column = |key: &str| names.iter().any(|name| name.eq_ignore_ascii_case(key));
    for term in &mut terms {
        match &term.test {
            QueryTest::Has { key, text } if !is_column(key) => term.test = QueryTest::Words(format!("{key}:{text}")),
            QueryTest::Compare { key, .. } if !is_column(key) => {
                return Err(format!("there is no column \u{201c}{key}\u{201d}"));
            }
            _ => {}
        }
    }
    Ok(terms)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_read_and_hold() {
        let names = ["name", "degree", "kind"];
        let number = |column: usize| [f64::NAN, 5.0, f64::NAN][column];
        let text = |column: usize| ["Blue Whale", "5", ""][column].to_owned();
        let row = NamedRow { names: &names, number: &number, text: &text };
        let holds = |text: &str| terms(text, &names).map(|all| all.iter().all(|term| term.holds(&row)));
        for text in ["", "whale", "degree>4 degree<=5", "DEGREE=5", "name=\"blue whale\"", "kind!=x", "blue degree>=5"]
        {
            assert_eq!(holds(text), Ok(true), "{text}");
        }
        for text in
            ["shark", "degree>5", "degree!=5", "name=blue", "kind=x", "kind>a", "whale degree<5", "!whale", "0:12"]
        {
            assert_eq!(holds(text), Ok(false), "{text}");
        }
        assert!(holds("size>4").unwrap_err().contains("size"));
        assert!(holds("degree>").unwrap_err().contains("what?"));
    }
}
