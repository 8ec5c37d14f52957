//! Generators as text, which opens no file: a matrix has one row per line, with numbers separated by commas, semicolons,
//! tabs or blanks; changes to single rates are written "3>5=0.4, 5>3=0", where states count from 1.

use crate::config::choices;
use serde::{Deserialize, Serialize};

use super::{Generator, GeneratorError};

choices! {
    /// The meaning of the numbers of a matrix.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum MatrixKind {
        /// Rates from the column's state to the row's; the diagonal is ignored.
        Rates = "rates",
        /// Probabilities of going from the row's state to the column's, as in a map of attention.
        Transitions = "transitions",
    }
}

/// Reads a generator.
///
/// # Errors
/// If a field is not a number, the rows differ in length or number, or the numbers are not of their kind; the message
/// says where.
pub fn read_matrix(text: &str, kind: MatrixKind) -> Result<Generator, GeneratorError> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
    let mut values = vec![];
    let mut rows: Vec<(usize, usize)> = vec![];
    for (at, line) in lines {
        let fields = line.split([',', ';', '\t', ' ']).map(str::trim).filter(|field| !field.is_empty());
        let before = values.len();
        for field in fields {
            let value = field
                .parse::<f64>()
                .map_err(|_| GeneratorError::Text(format!("line {}: `{field}` is not a number", at + 1)))?;
            values.push(value);
        }
        rows.push((at + 1, values.len() - before));
    }
    let n = rows.len();
    if let Some((line, found)) = rows.iter().find(|(_, found)| *found != n) {
        return Err(GeneratorError::Text(format!(
            "line {line} has {found} numbers and there are {n} rows: the matrix must be square, with one row for each \
             state and one number for each pair"
        )));
    }
    match kind {
        MatrixKind::Rates => Generator::from_rates(n, values),
        MatrixKind::Transitions => Generator::from_transitions(n, &values),
    }
}

/// One changed rate; states count from 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateEdit {
    /// The state that the transition leaves, from 0.
    pub from: usize,
    /// The state that the transition enters, from 0.
    pub to: usize,
    /// The new rate, 0 or more.
    pub rate: f64,
}

/// Reads changes, separated by commas or blanks.
///
/// # Errors
/// If a part is none; the message shows it and how it is written.
pub fn read_edits(text: &str) -> Result<Vec<RateEdit>, GeneratorError> {
    let parts = text.split([',', ';', ' ', '\n', '\t']).filter(|part| !part.is_empty());
    parts
        .map(|part| {
            let edit = || {
                let (states, rate) = part.split_once('=')?;
                let (from, to) = states.split_once('>')?;
                let state = |words: &str| words.trim().parse::<usize>().ok()?.checked_sub(1);
                Some(RateEdit { from: state(from)?, to: state(to)?, rate: rate.trim().parse().ok()? })
            };
            edit().ok_or_else(|| {
                GeneratorError::Text(format!(
                    "`{part}` changes no rate: write 3>5=0.4 for a rate of 0.4 from state 3 to state 5"
                ))
            })
        })
        .collect()
}

/// Writes edits as text; of two changes of the same rate, the later one is written.
pub fn write_edits(edits: &[RateEdit]) -> String {
    let is_last = |(k, edit): &(usize, &RateEdit)| {
        !edits[k + 1..].iter().any(|later| (later.from, later.to) == (edit.from, edit.to))
    };
    let kept = edits.iter().enumerate().filter(is_last);
    kept.map(|(_, e)| format!("{}>{}={}", e.from + 1, e.to + 1, e.rate)).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matrix_is_read_and_anything_else_is_refused() {
        let a = read_matrix("# rates\n-1, 2\n1; -2\n\n", MatrixKind::Rates).unwrap();
        assert_eq!((a.rate(0, 1), a.rate(1, 0)), (1.0, 2.0));
        let chain = read_matrix("0.5\t0.5\n0.25 0.75", MatrixKind::Transitions).unwrap();
        assert_eq!((chain.rate(0, 1), chain.rate(1, 0)), (0.5, 0.25));
        for (text, words) in [
            ("1 2 3\n4 5 6", "line 1 has 3 numbers and there are 2 rows"),
            ("0 -1\n1 0", "from state 2 to state 1 is -1"),
            ("0 x\n1 0", "line 1: `x`"),
            ("", "0 states"),
            ("5", "1 states"),
        ] {
            let said = read_matrix(text, MatrixKind::Rates).unwrap_err().to_string();
            assert!(said.contains(words), "{text}: {said}");
        }
        let said = read_matrix("0.5 0.2\n0 1", MatrixKind::Transitions).unwrap_err().to_string();
        assert!(said.contains("row 1 sums to 0.7"), "{said}");
        assert!(read_matrix("1.5 -0.5\n0 1", MatrixKind::Transitions).is_err());
    }

    #[test]
    fn changes_are_read_as_they_were_written() {
        let edits = read_edits("3>5=0.4, 5>3=0;1>2=1e-3").unwrap();
        assert_eq!(edits[0], RateEdit { from: 2, to: 4, rate: 0.4 });
        assert_eq!(read_edits(&write_edits(&edits)).unwrap(), edits);
        assert_eq!(write_edits(&read_edits("1>2=3 1>2=4").unwrap()), "1>2=4");
        assert_eq!(read_edits("  ").unwrap(), []);
        for wrong in ["0>1=2", "1>2", "1=2", "a>b=c", "1>2=x"] {
            assert!(read_edits(wrong).unwrap_err().to_string().contains(wrong), "{wrong}");
        }
    }
}
