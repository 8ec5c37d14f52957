//! The form in which a measurement of an unknown channel is shown, by what its JSON is.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::telemetry::{Array, Payload, table};

/// Rows of a table that are shown.
const MAX_ROWS: usize = 500;
/// Columns of a table that are shown.
const MAX_COLUMNS: usize = 32;
/// Bytes of a text that are shown.
const MAX_TEXT: usize = 64 << 10;

/// A measurement as it is shown.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// Values in a row: a curve over their places.
    Values(Vec<f32>),
    /// A matrix, or several of one size.
    Matrix(NamedMatrix),
    Table(Table),
    Text(String),
}

/// Two axes, or three of which the first counts matrices, with the names of rows and columns where they are given.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NamedMatrix {
    pub array: Array,
    pub rows: Vec<String>,
    pub columns: Vec<String>,
}

impl NamedMatrix {
    /// The number of matrices.
    pub fn count(&self) -> usize {
        if self.array.shape().len() == 3 { self.array.rows() } else { 1 }
    }
}

/// The first rows and columns of a table, as texts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Table {
    pub columns: Vec<String>,
    pub rows: Vec<Vec<String>>,
    /// Rows in all.
    pub total: usize,
}

impl Content {
    /// The form of a measurement.
    pub fn new(payload: &Payload) -> Self {
        let Payload::Unknown(json) = payload else { return Self::Table(cells(payload)) };
        by_shape(json).unwrap_or_else(|| Self::Table(cells(payload)))
    }
}

fn by_shape(json: &Value) -> Option<Content> {
    match json {
        Value::String(words) => Some(text(words)),
        Value::Array(items) => array(json).or_else(|| records(items).map(Content::Table)),
        Value::Object(fields) => of_fields(json, fields),
        _ => None,
    }
}

fn of_fields(json: &Value, fields: &Map<String, Value>) -> Option<Content> {
    if let Some(Value::String(words)) = fields.get("text") {
        return Some(text(words));
    }
    if let Some(encoded) = array(json) {
        return Some(encoded);
    }
    if let (Some(columns), Some(Value::Array(rows))) = (names(fields.get("columns")), fields.get("rows"))
        && !columns.is_empty()
        && rows.iter().all(Value::is_array)
    {
        return Some(Content::Table(rows_of(columns, rows)));
    }
    let inner = ["matrix", "values", "data", "array"].iter().find_map(|name| fields.get(*name))?;
    match by_shape(inner)? {
        Content::Matrix(matrix) => {
            let names = |key| names(fields.get(key)).unwrap_or_default();
            Some(Content::Matrix(NamedMatrix { rows: names("rows"), columns: names("columns"), ..matrix }))
        }
        other => Some(other),
    }
}

fn text(words: &str) -> Content {
    let end = words.floor_char_boundary(MAX_TEXT);
    let cut = if end < words.len() { "\n\u{2026}" } else { "" };
    Content::Text(format!("{}{cut}", &words[..end]))
}

/// Numbers with one, two or three axes.
fn array(json: &Value) -> Option<Content> {
    let array = Array::deserialize(json).ok()?;
    match array.shape().len() {
        1 => Some(Content::Values(array.data().to_vec())),
        2 | 3 => Some(Content::Matrix(NamedMatrix { array, ..NamedMatrix::default() })),
        _ => None,
    }
}

fn names(json: Option<&Value>) -> Option<Vec<String>> {
    json?.as_array().map(|all| all.iter().map(cell).collect())
}

fn cell(value: &Value) -> String {
    match value {
        Value::String(words) => words.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

fn rows_of(mut columns: Vec<String>, rows: &[Value]) -> Table {
    columns.truncate(MAX_COLUMNS);
    let of_row = |row: &Value| {
        let mut cells: Vec<String> = row.as_array().into_iter().flatten().take(columns.len()).map(cell).collect();
        cells.resize(columns.len(), String::new());
        cells
    };
    let shown = rows.iter().take(MAX_ROWS).map(of_row).collect();
    Table { columns, rows: shown, total: rows.len() }
}

/// A list of objects: a row each, a column for each name in the order of the names.
fn records(items: &[Value]) -> Option<Table> {
    let objects: Vec<&Map<String, Value>> = items.iter().map(Value::as_object).collect::<Option<_>>()?;
    let mut columns: Vec<String> = vec![];
    for name in objects.iter().take(MAX_ROWS).flat_map(|object| object.keys()) {
        if columns.len() < MAX_COLUMNS && !columns.contains(name) {
            columns.push(name.clone());
        }
    }
    let of_object = |object: &&Map<String, Value>| -> Vec<String> {
        columns.iter().map(|name| object.get(name).map_or(String::new(), cell)).collect()
    };
    let rows = objects.iter().take(MAX_ROWS).map(of_object).collect();
    (!columns.is_empty()).then_some(Table { columns, rows, total: items.len() })
}

/// Every value with the field it stands in.
fn cells(payload: &Payload) -> Table {
    let cells = table::cells(payload).unwrap_or_default();
    let rows = cells.iter().take(MAX_ROWS).map(|c| vec![c.field.clone(), c.place(), c.value.clone()]).collect();
    Table { columns: ["field", "place", "value"].map(String::from).into(), rows, total: cells.len() }
}

/// A number that is a whole measurement.
pub fn number(payload: &Payload) -> Option<f64> {
    let Payload::Unknown(json) = payload else { return None };
    json.as_f64()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn content(json: Value) -> Content {
        Content::new(&Payload::Unknown(json))
    }

    #[test]
    fn a_measurement_is_shown_by_its_shape() {
        assert_eq!(content(json!([1.0, "NaN"])), content(json!({"values": [1, "NaN"]})));
        assert!(matches!(content(json!([1, 2, 3])), Content::Values(values) if values == [1.0, 2.0, 3.0]));
        let Content::Matrix(matrix) = content(json!({"matrix": [[1, 2], [3, 4]], "rows": ["a", "b"], "later": 1}))
        else {
            panic!("no matrix")
        };
        assert_eq!((matrix.array.shape(), matrix.rows.len(), matrix.count()), (&[2, 2][..], 2, 1));
        let encoded = json!({"f32": "AACAPwAAAEAAAEBAAACAQA==", "shape": [2, 1, 2]});
        assert!(matches!(content(encoded), Content::Matrix(matrix) if matrix.count() == 2));
        assert_eq!(content(json!("words")), content(json!({"text": "words"})));
        let Content::Table(table) = content(json!({"columns": ["a", "b"], "rows": [[1, "x"], [2]]})) else {
            panic!("no table")
        };
        assert_eq!(
            (table.rows, table.total),
            (vec![vec!["1".to_owned(), "x".into()], vec!["2".into(), String::new()]], 2)
        );
        let Content::Table(table) = content(json!([{"a": 1}, {"b": true}])) else { panic!("no table") };
        assert_eq!((table.columns, table.rows[1].join("|")), (vec!["a".to_owned(), "b".into()], "|true".to_owned()));
        let Content::Table(table) = content(json!({"deep": {"er": [1, {"x": 2}]}})) else { panic!("no table") };
        assert_eq!(table.rows[0], ["deep.er", "0", "1"]);
    }

    #[test]
    fn what_is_shown_is_bounded() {
        let rows: Vec<Value> = (0..2000).map(|i| json!([i])).collect();
        let Content::Table(table) = content(json!({"columns": ["a"], "rows": rows})) else { panic!("no table") };
        assert_eq!((table.rows.len(), table.total), (MAX_ROWS, 2000));
        let Content::Text(words) = content(json!("\u{e9}".repeat(MAX_TEXT))) else { panic!("no text") };
        assert!(words.len() <= MAX_TEXT + 8 && words.ends_with('\u{2026}'));
    }

    #[test]
    fn a_number_is_one() {
        assert_eq!(number(&Payload::Unknown(json!(1.5))), Some(1.5));
        assert_eq!(number(&Payload::Unknown(json!([1.5]))), None);
        assert_eq!(number(&Payload::Unknown(json!("words"))), None);
    }
}
