//! The form in which a measurement of an unknown channel is shown, by what its JSON is.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{
    telemetry::{Array, Payload, Sample, table},
    ui::table::Table as Csv,
};

/// The most that is shown: rows and columns of a table, lines of a chart, bytes of a text.
const MAX_ROWS: usize = 500;
const MAX_COLUMNS: usize = 32;
const MAX_LINES: usize = 64;
const MAX_TEXT: usize = 64 << 10;

#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// Lines over an axis.
    Curves(Curves),
    /// A matrix, or several of one size.
    Matrix(NamedMatrix),
    Table(Table),
    Text(String),
}

/// Named lines: of a list of values over their places, of a histogram as stairs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Curves {
    pub x_axis: String,
    pub y_axis: String,
    pub lines: Vec<(String, Vec<[f64; 2]>)>,
    /// Each value holds until the next x.
    pub has_stairs: bool,
}

/// Two axes, or three where the first counts matrices, with the names of rows and columns where they are given.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NamedMatrix {
    pub array: Array,
    pub rows: Vec<String>,
    pub columns: Vec<String>,
    /// Words for what rows and columns are; may be empty.
    pub row_axis: String,
    pub column_axis: String,
}

impl NamedMatrix {
    pub fn count(&self) -> usize {
        if self.array.shape().len() == 3 { self.array.rows() } else { 1 }
    }
}

/// The first rows and columns of a table, as texts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Table {
    pub columns: Vec<String>,
    pub rows: Vec<Vec<String>>,
    /// The number of rows, including those that are not shown.
    pub total: usize,
}

impl Content {
    pub fn new(payload: &Payload) -> Self {
        let Payload::Unknown(json) = payload else { return Self::Table(cells(payload)) };
        by_shape(json).unwrap_or_else(|| Self::Table(cells(payload)))
    }

    pub fn csv(&self) -> String {
        let mut csv;
        match self {
            Self::Curves(curves) => {
                csv = Csv::new(["line", "x", "y"]);
                for (name, points) in &curves.lines {
                    points.iter().for_each(|[x, y]| csv.cells(&[name, x, y]));
                }
            }
            Self::Matrix(matrix) => {
                csv = Csv::new(["matrix", "row", "column", "value"]);
                for nth in 0..matrix.count() {
                    let Some(view) = matrix.array.matrix(nth) else { continue };
                    let cols = view.cols.max(1);
                    for (i, value) in view.data.iter().enumerate() {
                        csv.cells(&[&nth, &(i / cols), &(i % cols), value]);
                    }
                }
            }
            Self::Table(table) => {
                csv = Csv::new(&table.columns);
                table.rows.iter().for_each(|row| csv.row(row));
            }
            Self::Text(words) => {
                csv = Csv::new(["text"]);
                csv.row([words]);
            }
        }
        csv.finish()
    }
}

impl From<&Sample> for Content {
    /// A single number, which has no shape, is a row with its step.
    fn from(sample: &Sample) -> Self {
        match &*sample.payload {
            Payload::Unknown(json @ Value::Number(_)) => {
                let (columns, row) = (["step", "value"].map(String::from), [sample.step.to_string(), cell(json)]);
                Self::Table(Table { columns: columns.into(), rows: vec![row.into()], total: 1 })
            }
            payload => Self::new(payload),
        }
    }
}

fn by_shape(json: &Value) -> Option<Content> {
    match json {
        Value::String(words) => Some(text(words)),
        Value::Array(items) => array(json).or_else(|| records(items).map(Content::Table)),
        Value::Object(fields) => from_fields(json, fields),
        _ => None,
    }
}

fn from_fields(json: &Value, fields: &Map<String, Value>) -> Option<Content> {
    if let Some(Value::String(words)) = fields.get("text") {
        return Some(text(words));
    }
    if let Some(encoded) = array(json) {
        return Some(encoded);
    }
    if let Some(curves) = curves(fields).or_else(|| histogram(fields)) {
        return Some(Content::Curves(curves));
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
            let [row_axis, column_axis] = ["row_axis", "column_axis"].map(|key| words_of(fields, key));
            let [rows, columns] = ["rows", "columns"].map(names);
            Some(Content::Matrix(NamedMatrix { rows, columns, row_axis, column_axis, ..matrix }))
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
        1 => {
            let points = array.data().iter().enumerate().map(|(i, v)| [i as f64, f64::from(*v)]).collect();
            let lines = vec![(String::new(), points)];
            Some(Content::Curves(Curves { x_axis: "place".to_owned(), lines, ..Curves::default() }))
        }
        2 | 3 => Some(Content::Matrix(NamedMatrix { array, ..NamedMatrix::default() })),
        _ => None,
    }
}

fn words_of(fields: &Map<String, Value>, key: &str) -> String {
    fields.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// Values with one axis.
fn values(json: Option<&Value>) -> Option<Vec<f64>> {
    let array = Array::deserialize(json?).ok()?;
    (array.shape().len() == 1).then(|| array.data().iter().map(|v| f64::from(*v)).collect())
}

/// Reads curves from `{"curves": [{"name": .., "x": [..], "y": [..]}]}`; `None` if the JSON has another form.
fn curves(fields: &Map<String, Value>) -> Option<Curves> {
    let line = |curve: &Value| {
        let curve = curve.as_object()?;
        let (x, y) = (values(curve.get("x"))?, values(curve.get("y"))?);
        let mut points: Vec<[f64; 2]> =
            x.into_iter().zip(y).map(|(x, y)| [x, y]).filter(|[x, _]| x.is_finite()).collect();
        points.sort_by(|a, b| a[0].total_cmp(&b[0]));
        Some((words_of(curve, "name"), points))
    };
    let lines = fields.get("curves")?.as_array()?.iter().take(MAX_LINES).map(line).collect::<Option<_>>()?;
    let [x_axis, y_axis] = ["x_axis", "y_axis"].map(|key| words_of(fields, key));
    Some(Curves { x_axis, y_axis, lines, has_stairs: false })
}

/// `{"edges": [n + 1 numbers], "counts": [n numbers]}`
fn histogram(fields: &Map<String, Value>) -> Option<Curves> {
    let (edges, counts) = (values(fields.get("edges"))?, values(fields.get("counts"))?);
    if edges.len() != counts.len() + 1 || edges.iter().any(|x| !x.is_finite()) || !edges.is_sorted() {
        return None;
    }
    // nothing was counted of values that are all not finite, which is not a distribution at 0
    let has_counts = counts.iter().any(|count| count.is_finite() && *count != 0.0);
    let stairs = edges.iter().zip(counts.iter().chain([&0.0])).filter(|_| has_counts);
    let points = stairs.map(|(x, y)| [*x, *y]).collect();
    let lines = vec![(String::new(), points)];
    Some(Curves { x_axis: "value".to_owned(), y_axis: "count".to_owned(), lines, has_stairs: true })
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

/// Converts a list of objects into a table with one row per object and one column per key.
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

/// Every value with its field and its position in it.
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
        assert!(matches!(content(json!([1.0, "NaN"])), Content::Curves(_)));
        let Content::Curves(curves) = content(json!([1, 2])) else { panic!("no curve") };
        assert_eq!(curves.lines, [(String::new(), vec![[0.0, 1.0], [1.0, 2.0]])]);
        let histogram = json!({"kind": "histogram", "edges": [0, 1, 3], "counts": [5, 2]});
        let Content::Curves(curves) = content(histogram) else { panic!("no curve") };
        assert!(curves.has_stairs && curves.lines[0].1 == [[0.0, 5.0], [1.0, 2.0], [3.0, 0.0]]);
        for counts in [json!([0, 0]), json!(["NaN", 0])] {
            let nothing = content(json!({"kind": "histogram", "edges": [0, 1, 3], "counts": counts}));
            assert!(matches!(nothing, Content::Curves(curves) if curves.lines[0].1.is_empty()), "nothing was counted");
        }
        let two = json!({"kind": "curves", "x_axis": "t", "curves": [{"name": "a", "x": [2, 1], "y": [0, 3]}]});
        let Content::Curves(curves) = content(two) else { panic!("no curve") };
        assert_eq!(curves.lines, [("a".to_owned(), vec![[1.0, 3.0], [2.0, 0.0]])]);
        assert!(matches!(content(json!({"edges": [0], "counts": [5, 2]})), Content::Table(_)), "no histogram");
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
    fn shown_rows_and_text_are_bounded() {
        let rows: Vec<Value> = (0..2000).map(|i| json!([i])).collect();
        let Content::Table(table) = content(json!({"columns": ["a"], "rows": rows})) else { panic!("no table") };
        assert_eq!((table.rows.len(), table.total), (MAX_ROWS, 2000));
        let Content::Text(words) = content(json!("\u{e9}".repeat(MAX_TEXT))) else { panic!("no text") };
        assert!(words.len() <= MAX_TEXT + 8 && words.ends_with('\u{2026}'));
    }

    #[test]
    fn only_a_json_number_is_shown_as_a_number() {
        assert_eq!(number(&Payload::Unknown(json!(1.5))), Some(1.5));
        assert_eq!(number(&Payload::Unknown(json!([1.5]))), None);
        assert_eq!(number(&Payload::Unknown(json!("words"))), None);
    }
}
