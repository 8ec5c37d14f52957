//! Any measurement as one long table, derived from its struct: a row per value, with the field it is in and its index
//! in the lists around it.

mod serializer;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use super::{Array, Payload};

/// One value of a measurement.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// Names of the fields from the outermost inwards: `layers.weights`.
    pub field: String,
    /// The index in each list around it, the outermost first; in an array, its indices.
    pub index: Vec<usize>,
    /// A number, a text, `true` or `false`.
    pub value: String,
}

impl Cell {
    /// Its indices in one word, the outermost first: `0 3 1`; empty for a value that is in no list.
    pub fn place(&self) -> String {
        let index: Vec<String> = self.index.iter().map(ToString::to_string).collect();
        index.join(" ")
    }
}

/// Every value of a sample; the fields of a struct come by name. Absent values have no cell. In a channel that
/// this version has no type for, an object that reads as an [`Array`] is taken for one, since that is how other
/// programs write arrays.
pub fn cells(payload: &Payload) -> serde_json::Result<Vec<Cell>> {
    match payload {
        Payload::Unknown(json) => cells_of(&UntypedJson(json)),
        typed => cells_of(typed),
    }
}

fn cells_of(value: &impl Serialize) -> serde_json::Result<Vec<Cell>> {
    let mut cells = vec![];
    value.serialize(serializer::Cells::new(&mut cells))?;
    Ok(cells)
}

/// JSON without a type.
struct UntypedJson<'a>(&'a Value);

impl Serialize for UntypedJson<'_> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Array(items) => s.collect_seq(items.iter().map(UntypedJson)),
            Value::Object(fields) => match encoded_array(fields) {
                Some(array) => array.serialize(s),
                None => s.collect_map(fields.iter().map(|(name, value)| (name, UntypedJson(value)))),
            },
            plain => plain.serialize(s),
        }
    }
}

fn encoded_array(fields: &serde_json::Map<String, Value>) -> Option<Array> {
    let may_be = fields.len() == 2 && fields.contains_key("shape");
    may_be.then(|| Array::deserialize(Value::Object(fields.clone())).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::{
        Measurement,
        measurements::{AttentionLayer, AttentionMaps},
    };

    fn find(cells: &[Cell], field: &str) -> Vec<(Vec<usize>, String)> {
        cells.iter().filter(|c| c.field == field).map(|c| (c.index.clone(), c.value.clone())).collect()
    }

    #[test]
    fn every_value_has_its_field_and_its_place() {
        let weights = Array::new([2, 1, 2], vec![0.5, 0.25, 1.0, 0.0]).unwrap().half_precision();
        let layer = AttentionLayer {
            is_differential: false,
            path: "post.0".into(),
            tokens_per_position: 4,
            weights,
            entropy: vec![0.5, f64::NAN].into(),
            uniform_entropy: vec![1.0, 1.0].into(),
        };
        let all = cells(&AttentionMaps { layers: vec![layer] }.into_payload()).unwrap();
        assert_eq!(find(&all, "layers.path"), [(vec![0], "post.0".to_owned())]);
        assert_eq!(find(&all, "layers.entropy")[1], (vec![0, 1], "NaN".to_owned()));
        let weights = find(&all, "layers.weights");
        assert_eq!(weights[1], (vec![0, 0, 0, 1], "0.25".to_owned()));
        assert_eq!(weights[2], (vec![0, 1, 0, 0], "1".to_owned()));
        assert_eq!(all.len(), 1 + 1 + 1 + 4 + 2 + 2);
        let fields: Vec<&str> = all.iter().map(|c| c.field.as_str()).collect();
        assert!(fields.is_sorted(), "{fields:?}");
    }

    /// A measurement may call its fields as an encoded array does.
    #[test]
    fn fields_named_as_in_an_array_are_fields() {
        #[derive(Serialize)]
        struct Sizes {
            shape: Vec<usize>,
            f16: String,
            large: Array,
        }
        #[derive(Serialize)]
        struct Formats {
            formats: Vec<Sizes>,
            one: Half,
        }
        #[derive(Serialize)]
        struct Half {
            f16: String,
            shape: Vec<usize>,
        }
        let text = || "AAA=".to_owned();
        let large = Array::from(vec![0.5; 100]).half_precision();
        let sizes = Sizes { shape: vec![1], f16: text(), large };
        let all = cells_of(&Formats { formats: vec![sizes], one: Half { f16: text(), shape: vec![1] } }).unwrap();
        assert_eq!(find(&all, "one.f16"), [(vec![], text())]);
        assert_eq!(find(&all, "one.shape"), [(vec![0], "1".to_owned())]);
        assert_eq!(find(&all, "formats.f16"), [(vec![0], text())]);
        assert_eq!(find(&all, "formats.large")[99], (vec![0, 99], "0.5".to_owned()));
    }

    #[test]
    fn arrays_of_unknown_channels_are_read() {
        let json = serde_json::json!({ "map": { "f32": "AACAPwAAAEA=", "shape": [2] }, "n": 3, "none": null });
        let all = cells(&Payload::Unknown(json)).unwrap();
        assert_eq!(find(&all, "map"), [(vec![0], "1".to_owned()), (vec![1], "2".to_owned())]);
        assert_eq!((find(&all, "n"), all.len()), (vec![(vec![], "3".to_owned())], 3));
    }
}
