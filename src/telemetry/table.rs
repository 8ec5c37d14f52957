//! Any measurement as one long table, derived from its struct: a row a value, with the field it stands in
//! and its place in the lists around it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Array;

/// One value of a measurement.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// Names of the fields from the outermost inwards: `layers.weights`.
    pub field: String,
    /// Place in each list on the way, the outermost first; of an array, its indices.
    pub index: Vec<usize>,
    /// A number, a text, `true` or `false`.
    pub value: String,
}

/// Every value of a measurement, in the order of its fields. Absent values have no cell.
///
/// # Errors
/// Those of writing the measurement as JSON.
pub fn cells(measurement: &impl Serialize) -> serde_json::Result<Vec<Cell>> {
    let mut walk = Walk { field: vec![], index: vec![], cells: vec![] };
    walk.value(&serde_json::to_value(measurement)?);
    Ok(walk.cells)
}

struct Walk {
    field: Vec<String>,
    index: Vec<usize>,
    cells: Vec<Cell>,
}

impl Walk {
    fn value(&mut self, value: &Value) {
        match value {
            Value::Null => {}
            Value::Bool(b) => self.cell(b.to_string()),
            Value::Number(n) => self.cell(n.to_string()),
            Value::String(s) => self.cell(s.clone()),
            Value::Array(items) => {
                for (i, item) in items.iter().enumerate() {
                    self.index.push(i);
                    self.value(item);
                    self.index.pop();
                }
            }
            Value::Object(fields) => match encoded_array(fields) {
                Some(array) => self.array(&array),
                None => {
                    for (name, item) in fields {
                        self.field.push(name.clone());
                        self.value(item);
                        self.field.pop();
                    }
                }
            },
        }
    }

    fn array(&mut self, array: &Array) {
        let outer = self.index.len();
        for (flat, value) in array.data().iter().enumerate() {
            let mut rest = flat;
            let inner: Vec<usize> = array.shape().iter().rev().map(|n| (rest % n, rest /= n).0).collect();
            self.index.extend(inner.into_iter().rev());
            self.cell(value.to_string());
            self.index.truncate(outer);
        }
    }

    fn cell(&mut self, value: String) {
        self.cells.push(Cell { field: self.field.join("."), index: self.index.clone(), value });
    }
}

/// An array that was written in base64.
fn encoded_array(fields: &serde_json::Map<String, Value>) -> Option<Array> {
    let is_encoded = fields.len() == 2 && fields.contains_key("shape");
    if !is_encoded {
        return None;
    }
    Array::deserialize(Value::Object(fields.clone())).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::measurements::{AttentionLayer, AttentionMaps};

    #[test]
    fn every_value_has_its_field_and_its_place() {
        let weights = Array::new([2, 1, 2], vec![0.5, 0.25, 1.0, 0.0]).unwrap().half_precision();
        let layer = AttentionLayer {
            path: "post.0".into(),
            tokens_per_position: 4,
            weights,
            entropy: vec![0.5, f64::NAN].into(),
            uniform_entropy: vec![1.0, 1.0].into(),
        };
        let all = cells(&AttentionMaps { layers: vec![layer] }).unwrap();
        let found = |field: &str| -> Vec<(Vec<usize>, String)> {
            all.iter().filter(|c| c.field == field).map(|c| (c.index.clone(), c.value.clone())).collect()
        };
        assert_eq!(found("layers.path"), [(vec![0], "post.0".to_owned())]);
        assert_eq!(found("layers.entropy")[1], (vec![0, 1], "NaN".to_owned()));
        let weights = found("layers.weights");
        assert_eq!(weights[1], (vec![0, 0, 0, 1], "0.25".to_owned()));
        assert_eq!(weights[2], (vec![0, 1, 0, 0], "1".to_owned()));
        assert_eq!(all.len(), 1 + 1 + 4 + 2 + 2);
    }
}
