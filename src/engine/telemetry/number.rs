//! Numbers as JSON that keeps what JSON has no word for.
//!
//! JSON has neither NaN nor the infinities, and a masked attention map is full of them. Here a
//! finite number is a JSON number, and the others are the strings `"NaN"`, `"Infinity"` and
//! `"-Infinity"` (Python's names: `float("Infinity")` reads them). `null` reads as NaN, because that
//! is what other writers leave. A finite number comes back with the same bits.

use std::{borrow::Cow, ops::Deref};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A float on its way into or out of JSON.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Number<T>(pub T);

macro_rules! number {
    ($float:ty, $serialize:ident) => {
        impl Serialize for Number<$float> {
            fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                match self.0 {
                    v if v.is_finite() => s.$serialize(v),
                    v if v.is_nan() => s.serialize_str("NaN"),
                    v if v > 0.0 => s.serialize_str("Infinity"),
                    _ => s.serialize_str("-Infinity"),
                }
            }
        }

        impl<'de> Deserialize<'de> for Number<$float> {
            fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                d.deserialize_any(NumberVisitor).map(|v| Number(v as $float))
            }
        }
    };
}
number!(f32, serialize_f32);
number!(f64, serialize_f64);

impl<T> JsonSchema for Number<T> {
    fn schema_name() -> Cow<'static, str> {
        "Number".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A number; NaN and the infinities as text. `null` is read as NaN.",
            "anyOf": [{ "type": "number" }, { "enum": ["NaN", "Infinity", "-Infinity", null] }],
        })
    }
}

/// For `#[serde(with = "number::Float")]` on an `f64` that may be NaN or infinite; its schema is that of [`Number`].
pub struct Float;

impl Float {
    /// Writes a float; NaN and the infinities are written as text.
    pub fn serialize<S: Serializer>(v: &f64, s: S) -> Result<S::Ok, S::Error> {
        Number(*v).serialize(s)
    }

    /// Reads a float or its text.
    pub fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<f64, D::Error> {
        Number::deserialize(d).map(|n| n.0)
    }
}

/// A list of 64-bit floats that keeps NaN and the infinities in JSON. Used as a slice.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Numbers(
    #[serde(with = "list")]
    #[schemars(with = "Vec<Number<f64>>")]
    pub Vec<f64>,
);

impl Deref for Numbers {
    type Target = Vec<f64>;

    fn deref(&self) -> &Vec<f64> {
        &self.0
    }
}

impl From<Vec<f64>> for Numbers {
    fn from(values: Vec<f64>) -> Self {
        Self(values)
    }
}

impl FromIterator<f64> for Numbers {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        Self(values.into_iter().collect())
    }
}

impl<'a> IntoIterator for &'a Numbers {
    type Item = &'a f64;
    type IntoIter = std::slice::Iter<'a, f64>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

struct NumberVisitor;

impl de::Visitor<'_> for NumberVisitor {
    type Value = f64;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a number, \"NaN\", \"Infinity\", \"-Infinity\" or null")
    }

    fn visit_f64<E: de::Error>(self, v: f64) -> Result<f64, E> {
        Ok(v)
    }

    fn visit_i64<E: de::Error>(self, v: i64) -> Result<f64, E> {
        Ok(v as f64)
    }

    fn visit_u64<E: de::Error>(self, v: u64) -> Result<f64, E> {
        Ok(v as f64)
    }

    fn visit_unit<E: de::Error>(self) -> Result<f64, E> {
        Ok(f64::NAN)
    }

    fn visit_str<E: de::Error>(self, v: &str) -> Result<f64, E> {
        match v {
            "NaN" => Ok(f64::NAN),
            "Infinity" => Ok(f64::INFINITY),
            "-Infinity" => Ok(f64::NEG_INFINITY),
            other => Err(E::invalid_value(de::Unexpected::Str(other), &self)),
        }
    }
}

/// For `#[serde(with = "list")]` on a `Vec` of floats.
mod list {
    use super::*;

    pub fn serialize<S: Serializer>(v: &[f64], s: S) -> Result<S::Ok, S::Error> {
        s.collect_seq(v.iter().map(|v| Number(*v)))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<f64>, D::Error> {
        Ok(Vec::<Number<f64>>::deserialize(d)?.into_iter().map(|n| n.0).collect())
    }
}

/// For `#[serde(with = "number::array")]` on an array of floats.
pub mod array {
    use super::*;

    /// Writes an array of floats; NaN and the infinities are written as text.
    pub fn serialize<const N: usize, S: Serializer>(v: &[f64; N], s: S) -> Result<S::Ok, S::Error> {
        list::serialize(v, s)
    }

    /// Reads an array of floats or their texts; a list of another length is an error.
    pub fn deserialize<'de, const N: usize, D: Deserializer<'de>>(d: D) -> Result<[f64; N], D::Error> {
        let all = list::deserialize(d)?;
        let expected = format!("a list of {N} numbers");
        all.try_into().map_err(|all: Vec<f64>| de::Error::invalid_length(all.len(), &expected.as_str()))
    }
}

/// For `#[serde(with = "number::named")]` on scalars by channel.
pub mod named {
    use super::*;
    use crate::telemetry::Channel;

    /// Writes scalars as pairs of channel and value.
    pub fn serialize<S: Serializer>(v: &[(Channel, f64)], s: S) -> Result<S::Ok, S::Error> {
        s.collect_seq(v.iter().map(|(name, v)| (name, Number(*v))))
    }

    /// Reads scalars from pairs of channel and value.
    pub fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<(Channel, f64)>, D::Error> {
        let scalars = Vec::<(Channel, Number<f64>)>::deserialize(d)?;
        Ok(scalars.into_iter().map(|(name, v)| (name, v.0)).collect())
    }
}
