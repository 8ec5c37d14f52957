//! JSON values as the values of a graph's items, and back: numbers, booleans and texts as such, lists and objects as
//! compact JSON.

use std::fmt::{Formatter, Result as Formatted, Write as _};

use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use crate::analysis::graph_file::{AttributeValue, NamedValue};

/// A value; `None` for null.
pub struct JsonValue(pub Option<AttributeValue>);

impl<'de> Deserialize<'de> for JsonValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut text = String::new();
        let scalar = CompactJson(&mut text).deserialize(deserializer)?;
        Ok(Self(match scalar {
            Scalar::Null => None,
            Scalar::Value(value) => Some(value),
            Scalar::Nested => Some(AttributeValue::Json(text)),
        }))
    }
}

enum Scalar {
    Null,
    Value(AttributeValue),
    /// A list or an object, which was written into the text.
    Nested,
}

/// Writes a list or an object into the text; anything else is returned.
struct CompactJson<'a>(&'a mut String);

impl CompactJson<'_> {
    fn push(out: &mut String, scalar: Scalar) {
        match scalar {
            Scalar::Null => out.push_str("null"),
            Scalar::Value(value) => out.push_str(&json(&value)),
            Scalar::Nested => {}
        }
    }
}

impl<'de> DeserializeSeed<'de> for CompactJson<'_> {
    type Value = Scalar;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Scalar, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for CompactJson<'_> {
    type Value = Scalar;

    fn expecting(&self, f: &mut Formatter<'_>) -> Formatted {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Scalar, E> {
        Ok(Scalar::Null)
    }

    fn visit_bool<E: Error>(self, v: bool) -> Result<Scalar, E> {
        Ok(Scalar::Value(AttributeValue::Boolean(v)))
    }

    fn visit_i64<E: Error>(self, v: i64) -> Result<Scalar, E> {
        Ok(Scalar::Value(AttributeValue::Integer(v)))
    }

    fn visit_u64<E: Error>(self, v: u64) -> Result<Scalar, E> {
        Ok(Scalar::Value(i64::try_from(v).map_or(AttributeValue::Float(v as f64), AttributeValue::Integer)))
    }

    fn visit_f64<E: Error>(self, v: f64) -> Result<Scalar, E> {
        Ok(Scalar::Value(AttributeValue::Float(v)))
    }

    fn visit_str<E: Error>(self, v: &str) -> Result<Scalar, E> {
        Ok(Scalar::Value(AttributeValue::Text(v.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Scalar, A::Error> {
        let out = self.0;
        out.push('[');
        while let Some(scalar) = items.next_element_seed(CompactJson(out))? {
            Self::push(out, scalar);
            out.push(',');
        }
        close(out, ']');
        Ok(Scalar::Nested)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Scalar, A::Error> {
        let out = self.0;
        out.push('{');
        while let Some(key) = map.next_key::<String>()? {
            out.push_str(&quoted(&key));
            out.push(':');
            let scalar = map.next_value_seed(CompactJson(out))?;
            Self::push(out, scalar);
            out.push(',');
        }
        close(out, '}');
        Ok(Scalar::Nested)
    }
}

/// Removes a trailing comma and closes a list or an object.
pub fn close(out: &mut String, with: char) {
    if out.ends_with(',') {
        out.pop();
    }
    out.push(with);
}

pub fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// A value in JSON. A float keeps its decimal point, so that it is read as a float again.
fn json(value: &AttributeValue) -> String {
    match value {
        AttributeValue::Text(text) => quoted(text),
        AttributeValue::Float(v) => serde_json::Number::from_f64(*v).map_or("null".to_owned(), |n| n.to_string()),
        AttributeValue::Integer(_) | AttributeValue::Boolean(_) | AttributeValue::Json(_) => value.to_string(),
    }
}

/// Fields of an object, each before a comma but the last.
pub fn values_json<'a>(out: &mut String, values: impl Iterator<Item = &'a NamedValue>) {
    for (i, (name, value)) in values.enumerate() {
        let _ = write!(out, "{}{}:{}", if i == 0 { "" } else { "," }, quoted(name), json(value));
    }
}
