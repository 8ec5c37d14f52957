//! The two forms of an [`Array`] in JSON.
//!
//! Small arrays are nested lists, which people can read. Larger ones are
//! `{"f32": "<base64>", "shape": [rows, cols]}` or, where half precision is enough, `{"f16": ..}`: the
//! values row by row, little-endian. Both forms are read, whatever the size. A serializer that is not for
//! people gets lists always.

use std::borrow::Cow;

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use half::f16;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, IntoDeserializer, MapAccess, SeqAccess, Visitor},
    ser::SerializeStruct,
};

use super::{Array, Precision, ShapeError};
use crate::telemetry::number::Number;

/// Arrays of at most this many values are written as lists.
const LONGEST_LIST: usize = 64;
/// Lists nest at most this deep.
const MAX_DIMS: usize = 8;
/// Rows of an array that has no columns, or the reverse.
const MAX_EMPTY: usize = 1 << 20;

impl Serialize for Array {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let is_short = self.data.len() <= LONGEST_LIST && self.precision == Precision::Single;
        // base64 is for files of JSON; a list of no rows would lose the other sizes there
        if !s.is_human_readable() || is_short && !self.shape.contains(&0) {
            return Nested { shape: &self.shape, data: &self.data }.serialize(s);
        }
        let (name, bytes): (_, Vec<u8>) = match self.precision {
            Precision::Half => ("f16", self.data.iter().flat_map(|v| f16::from_f32(*v).to_le_bytes()).collect()),
            Precision::Single => ("f32", self.data.iter().flat_map(|v| v.to_le_bytes()).collect()),
        };
        let mut object = s.serialize_struct("Array", 2)?;
        object.serialize_field(name, &BASE64.encode(bytes))?;
        object.serialize_field("shape", &self.shape)?;
        object.end()
    }
}

/// A list of lists, as deep as the shape.
struct Nested<'a> {
    shape: &'a [usize],
    data: &'a [f32],
}

impl Serialize for Nested<'_> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let Some((rows, inner)) = self.shape.split_first() else {
            return Number(self.data.first().copied().unwrap_or(f32::NAN)).serialize(s);
        };
        let len = self.data.len() / rows.max(&1);
        match inner {
            [] => s.collect_seq(self.data.iter().map(|v| Number(*v))),
            inner => s.collect_seq(self.data.chunks(len.max(1)).map(|data| Nested { shape: inner, data })),
        }
    }
}

impl<'de> Deserialize<'de> for Array {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_any(ArrayVisitor)
    }
}

struct ArrayVisitor;

impl<'de> Visitor<'de> for ArrayVisitor {
    type Value = Array;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a list of numbers, lists of one length, or {\"f32\" or \"f16\": base64, \"shape\": [..]}")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Array, A::Error> {
        let mut builder = ListBuilder::default();
        while let Some(item) = seq.next_element::<Item>()? {
            builder.push(item).map_err(de::Error::custom)?;
        }
        builder.finish().map_err(de::Error::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Array, A::Error> {
        let (mut encoded, mut shape) = (None, None);
        while let Some(key) = map.next_key::<Cow<'de, str>>()? {
            match key.as_ref() {
                "f32" => encoded = Some((Precision::Single, map.next_value::<String>()?)),
                "f16" => encoded = Some((Precision::Half, map.next_value::<String>()?)),
                "shape" => shape = Some(map.next_value::<Vec<usize>>()?),
                other => return Err(de::Error::unknown_field(other, &["f32", "f16", "shape"])),
            }
        }
        let (precision, text) = encoded.ok_or_else(|| de::Error::missing_field("f32"))?;
        let shape = shape.ok_or_else(|| de::Error::missing_field("shape"))?;
        // The sides of an array are walked when it is drawn, even if it has no values.
        let is_empty = shape.contains(&0);
        let fits = shape.len() <= MAX_DIMS && (!is_empty || shape.iter().all(|side| *side <= MAX_EMPTY));
        let words = || format!("an array of {} sides cannot have so many rows or columns", shape.len());
        ensure!(fits, de::Error::custom(words()));
        let data = decode(precision, &text).map_err(de::Error::custom)?;
        let array = Array::new(shape, data).map_err(de::Error::custom)?;
        Ok(Array { precision, ..array })
    }
}

fn decode(precision: Precision, text: &str) -> Result<Vec<f32>, String> {
    let bytes = BASE64.decode(text).map_err(|e| format!("an array's base64 cannot be read: {e}"))?;
    let width = if precision == Precision::Half { 2 } else { 4 };
    let count = bytes.len();
    ensure!(count.is_multiple_of(width), format!("an array has {count} bytes, which is not a multiple of {width}"));
    Ok(match precision {
        Precision::Half => bytes.as_chunks().0.iter().map(|&b| f16::from_le_bytes(b).to_f32()).collect(),
        Precision::Single => bytes.as_chunks().0.iter().map(|&b| f32::from_le_bytes(b)).collect(),
    })
}

enum Item {
    Number(Number<f32>),
    List(Array),
}

impl<'de> Deserialize<'de> for Item {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_any(ItemVisitor)
    }
}

struct ItemVisitor;

impl<'de> Visitor<'de> for ItemVisitor {
    type Value = Item;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a number or a list")
    }

    fn visit_f64<E: de::Error>(self, v: f64) -> Result<Item, E> {
        Ok(Item::Number(Number(v as f32)))
    }

    fn visit_i64<E: de::Error>(self, v: i64) -> Result<Item, E> {
        Ok(Item::Number(Number(v as f32)))
    }

    fn visit_u64<E: de::Error>(self, v: u64) -> Result<Item, E> {
        Ok(Item::Number(Number(v as f32)))
    }

    fn visit_unit<E: de::Error>(self) -> Result<Item, E> {
        Ok(Item::Number(Number(f32::NAN)))
    }

    fn visit_str<E: de::Error>(self, v: &str) -> Result<Item, E> {
        Number::deserialize(v.into_deserializer()).map(Item::Number)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Item, A::Error> {
        ArrayVisitor.visit_seq(seq).map(Item::List)
    }
}

/// Joins the items of a list, which must have one shape.
#[derive(Default)]
struct ListBuilder {
    len: usize,
    inner: Option<Vec<usize>>,
    data: Vec<f32>,
}

impl ListBuilder {
    fn push(&mut self, item: Item) -> Result<(), String> {
        let (shape, values) = match item {
            Item::Number(v) => (vec![], vec![v.0]),
            Item::List(a) => (a.shape, a.data),
        };
        match &self.inner {
            Some(inner) if *inner != shape => {
                return Err(format!("a list mixes items of shapes {inner:?} and {shape:?}"));
            }
            Some(_) => {}
            None if shape.len() >= MAX_DIMS => return Err(format!("a list is nested deeper than {MAX_DIMS} levels")),
            None => self.inner = Some(shape),
        }
        self.len += 1;
        self.data.extend(values);
        Ok(())
    }

    fn finish(self) -> Result<Array, ShapeError> {
        let shape: Vec<usize> = std::iter::once(self.len).chain(self.inner.unwrap_or_default()).collect();
        Array::new(shape, self.data)
    }
}

impl JsonSchema for Array {
    fn schema_name() -> Cow<'static, str> {
        "Array".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let number = generator.subschema_for::<Number<f64>>();
        let nested = generator.subschema_for::<Self>();
        let encoded = |name: &str, bytes: usize| {
            json_schema!({
                "type": "object",
                "properties": {
                    name: {
                        "type": "string",
                        "contentEncoding": "base64",
                        "description": format!("{bytes} bytes per value, little-endian, row by row"),
                    },
                    "shape": { "type": "array", "items": { "type": "integer", "minimum": 0 } },
                },
                "required": [name, "shape"],
                "additionalProperties": false,
            })
        };
        json_schema!({
            "description": "Numbers in nested lists of one length a level, or encoded with their shape.",
            "oneOf": [
                { "type": "array", "items": { "anyOf": [number, nested] } },
                encoded("f32", 4),
                encoded("f16", 2),
            ],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn array(shape: &[usize]) -> Array {
        let n = shape.iter().product();
        Array::new(shape, (0..n).map(|i| i as f32 / 3.0).collect()).unwrap()
    }

    #[test]
    fn both_forms_come_back_as_they_were() {
        for shape in [vec![3], vec![2, 3], vec![2, 2, 2], vec![100], vec![20, 30], vec![0], vec![4, 0]] {
            for array in [array(&shape), array(&shape).half_precision()] {
                let json = serde_json::to_string(&array).unwrap();
                let back: Array = serde_json::from_str(&json).unwrap();
                assert_eq!(back.shape(), array.shape(), "{json}");
                assert_eq!(back.data(), array.data(), "{json}");
            }
        }
    }

    #[test]
    fn small_arrays_are_lists_and_large_ones_are_encoded() {
        assert_eq!(serde_json::to_string(&array(&[1, 2])).unwrap(), "[[0.0,0.33333334]]");
        assert!(serde_json::to_string(&array(&[65])).unwrap().starts_with("{\"f32\":\""));
        assert!(serde_json::to_string(&array(&[2]).half_precision()).unwrap().starts_with("{\"f16\":\""));
    }

    #[test]
    fn values_that_are_not_finite_survive() {
        let array = Array::new([3], vec![f32::NAN, f32::INFINITY, -1.0]).unwrap();
        let back: Array = serde_json::from_str(&serde_json::to_string(&array).unwrap()).unwrap();
        assert!(back.data()[0].is_nan() && back.data()[1..] == [f32::INFINITY, -1.0]);
    }

    #[test]
    fn faulty_arrays_are_refused_with_a_reason() {
        for (json, words) in [
            ("[[1, 2], [3]]", "mixes"),
            ("[1, [2]]", "mixes"),
            (r#"{"f32": "AAAA", "shape": [1]}"#, "multiple of 4"),
            (r#"{"f32": "AAAAAA==", "shape": [2]}"#, "cannot hold"),
            (r#"{"f32": "AAAAAA==", "shape": [4294967296, 4294967296, 4294967296]}"#, "cannot hold"),
            (r#"{"f32": "AAAAAA=="}"#, "shape"),
            (r#"{"f64": "AAAAAA==", "shape": [1]}"#, "unknown field"),
            ("[[[[[[[[[[1]]]]]]]]]]", "deeper"),
        ] {
            let error = serde_json::from_str::<Array>(json).unwrap_err().to_string();
            assert!(error.contains(words), "{json}: {error}");
        }
    }
}
