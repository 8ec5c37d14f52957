//! Numbers as JSON that keeps what JSON has no word for.
//!
//! JSON knows neither NaN nor the infinities, and a masked attention map is full of them. Here a
//! finite number is a JSON number, and the others are the strings `"NaN"`, `"Infinity"` and
//! `"-Infinity"` (Python's names: `float("Infinity")` reads them). `null` reads as NaN, because that
//! is what other writers leave. A finite number comes back with the same bits.

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
                d.deserialize_any(AnyNumber).map(|v| Number(v as $float))
            }
        }
    };
}
number!(f32, serialize_f32);
number!(f64, serialize_f64);

struct AnyNumber;

impl de::Visitor<'_> for AnyNumber {
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

/// For `#[serde(with = "number::one")]`.
pub mod one {
    use super::*;

    pub fn serialize<S: Serializer>(v: &f64, s: S) -> Result<S::Ok, S::Error> {
        Number(*v).serialize(s)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<f64, D::Error> {
        Number::deserialize(d).map(|n| n.0)
    }
}

/// For `#[serde(with = "number::list")]` on a `Vec` of floats.
pub mod list {
    use super::*;

    pub fn serialize<T: Copy, S: Serializer>(v: &[T], s: S) -> Result<S::Ok, S::Error>
    where
        Number<T>: Serialize,
    {
        s.collect_seq(v.iter().map(|v| Number(*v)))
    }

    pub fn deserialize<'de, T, D: Deserializer<'de>>(d: D) -> Result<Vec<T>, D::Error>
    where
        Number<T>: Deserialize<'de>,
    {
        Ok(Vec::<Number<T>>::deserialize(d)?.into_iter().map(|n| n.0).collect())
    }
}

/// For `#[serde(with = "number::edges")]` on a graph's edges.
pub mod edges {
    use super::*;

    pub fn serialize<S: Serializer>(v: &[(u32, u32, f32)], s: S) -> Result<S::Ok, S::Error> {
        s.collect_seq(v.iter().map(|(a, b, w)| (a, b, Number(*w))))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<(u32, u32, f32)>, D::Error> {
        let edges = Vec::<(u32, u32, Number<f32>)>::deserialize(d)?;
        Ok(edges.into_iter().map(|(a, b, w)| (a, b, w.0)).collect())
    }
}

/// For `#[serde(with = "number::named")]` on scalars by channel.
pub mod named {
    use super::*;
    use crate::telemetry::Channel;

    pub fn serialize<S: Serializer>(v: &[(Channel, f64)], s: S) -> Result<S::Ok, S::Error> {
        s.collect_seq(v.iter().map(|(name, v)| (name, Number(*v))))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<(Channel, f64)>, D::Error> {
        let scalars = Vec::<(Channel, Number<f64>)>::deserialize(d)?;
        Ok(scalars.into_iter().map(|(name, v)| (name, v.0)).collect())
    }
}
