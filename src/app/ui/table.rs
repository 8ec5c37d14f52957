//! Comma-separated values as text (RFC 4180), for exports of views and charts.

use std::fmt::Display;

use csv::Writer;

pub struct Table {
    writer: Writer<Vec<u8>>,
    /// Rows besides the header.
    rows: usize,
}

impl Table {
    pub fn new<F: AsRef<[u8]>>(header: impl IntoIterator<Item = F>) -> Self {
        let mut table = Self { writer: Writer::from_writer(vec![]), rows: 0 };
        table.row(header);
        Self { rows: 0, ..table }
    }

    /// A table with a row per token: its place from 0, its text, and each list's number there, as by [`number_at`].
    pub fn per_token(tokens: impl IntoIterator<Item = String>, lists: &[(&str, &[f64])]) -> Self {
        let mut table = Self::new(["position", "token"].into_iter().chain(lists.iter().map(|(name, _)| *name)));
        for (at, token) in tokens.into_iter().enumerate() {
            let numbers = lists.iter().map(|(_, values)| number_at(values, at));
            table.row([at.to_string(), token].into_iter().chain(numbers));
        }
        table
    }

    /// Adds a row, which must have a field for each column; a row without one is left out.
    pub fn row<F: AsRef<[u8]>>(&mut self, fields: impl IntoIterator<Item = F>) {
        let written = self.writer.write_record(fields);
        debug_assert!(written.is_ok(), "a row has other columns than its table: {written:?}");
        self.rows += 1;
    }

    /// Adds a row of values in their displayed form.
    pub fn cells(&mut self, cells: &[&dyn Display]) {
        self.row(cells.iter().map(|cell| cell.to_string()));
    }

    pub fn non_empty(self) -> Option<Self> {
        (self.rows > 0).then_some(self)
    }

    pub fn finish_if_any(self) -> Option<String> {
        self.non_empty().map(Self::finish)
    }

    pub fn finish(self) -> String {
        // writing into memory does not fail
        String::from_utf8(self.writer.into_inner().unwrap_or_default()).unwrap_or_default()
    }
}

/// A value as a field; empty where there is none.
pub fn optional_field(value: Option<impl Display>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}

/// A number of a list as a field; empty if the list has none there, or NaN.
pub fn number_at(values: &[f64], at: usize) -> String {
    optional_field(values.get(at).filter(|value| !value.is_nan()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_is_missing_is_an_empty_field() {
        let tokens = ["a", "b", "c"].map(str::to_owned);
        let lists = [("loss", &[f64::NAN, 1.5][..]), ("entropy", &[0.25, f64::INFINITY, -0.5][..])];
        let table = Table::per_token(tokens, &lists).finish();
        assert_eq!(table, "position,token,loss,entropy\n0,a,,0.25\n1,b,1.5,inf\n2,c,,-0.5\n");
    }

    #[test]
    fn fields_with_separators_are_quoted() {
        let mut table = Table::new(["step", "a, \"b\""]);
        table.row(["1", "x\ny"]);
        table.row([1.5, f64::NAN].map(|v| v.to_string()));
        assert_eq!(Table::new(["step"]).finish_if_any(), None);
        assert_eq!(table.finish_if_any().unwrap(), "step,\"a, \"\"b\"\"\"\n1,\"x\ny\"\n1.5,NaN\n");
    }
}
