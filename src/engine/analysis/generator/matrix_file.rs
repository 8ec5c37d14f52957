//! A matrix as text: one row per line, numbers separated by commas, semicolons, tabs or blanks. It opens no file.

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matrix_is_read_and_what_is_none_is_told() {
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
}
