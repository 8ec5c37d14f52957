//! What a sample can hold. Plain numbers and labels; a view decides how to draw them.

use serde::{Deserialize, Serialize};

use super::{Payload, measurements::MEASUREMENTS, number};

/// The untyped forms, which the channels leave one after the other.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Untyped {
    Scalar(#[serde(with = "number::one")] f64),
    Series(Series),
    Matrix(Matrix),
    Points(Points),
    Graph(Graph),
    Text(Vec<String>),
    Bundle(Vec<(String, Payload)>),
}

impl<'de> Deserialize<'de> for Payload {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        Ok(match Untyped::deserialize(d)? {
            Untyped::Scalar(v) => Payload::Scalar(v),
            Untyped::Series(v) => Payload::Series(v),
            Untyped::Matrix(v) => Payload::Matrix(v),
            Untyped::Points(v) => Payload::Points(v),
            Untyped::Graph(v) => Payload::Graph(v),
            Untyped::Text(v) => Payload::Text(v),
            Untyped::Bundle(v) => Payload::Bundle(v),
        })
    }
}

impl Serialize for Payload {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        if self.is_typed() {
            return self.serialize_typed(s);
        }
        match self.clone() {
            Payload::Scalar(v) => Untyped::Scalar(v),
            Payload::Series(v) => Untyped::Series(v),
            Payload::Matrix(v) => Untyped::Matrix(v),
            Payload::Points(v) => Untyped::Points(v),
            Payload::Graph(v) => Untyped::Graph(v),
            Payload::Text(v) => Untyped::Text(v),
            Payload::Bundle(v) => Untyped::Bundle(v),
            _ => return self.serialize_typed(s),
        }
        .serialize(s)
    }
}

impl Payload {
    /// The payload of a channel from its JSON: typed where the channel is known, as it is elsewhere.
    ///
    /// # Errors
    /// If the channel is known and the JSON is not of its shape; the message names the field.
    pub fn decode(channel: &str, json: serde_json::Value) -> serde_json::Result<Self> {
        match MEASUREMENTS.iter().find(|m| m.channel == channel) {
            Some(entry) => entry.decode(json),
            None => Ok(Payload::deserialize(&json).unwrap_or(Payload::Unknown(json))),
        }
    }

    /// The named part of a bundle.
    pub fn part(&self, name: &str) -> Option<&Payload> {
        match self {
            Payload::Bundle(parts) => parts.iter().find(|(n, _)| n == name).map(|(_, p)| p),
            _ => None,
        }
    }

    pub fn as_series(&self) -> Option<&Series> {
        if let Payload::Series(s) = self { Some(s) } else { None }
    }

    pub fn as_matrix(&self) -> Option<&Matrix> {
        if let Payload::Matrix(m) = self { Some(m) } else { None }
    }
}

/// Lines over a common abscissa.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// What x is, with its unit: "position (tokens)".
    pub x_label: String,
    pub y_label: String,
    #[serde(with = "number::list")]
    pub x: Vec<f64>,
    pub lines: Vec<Line>,
}

/// One named line; `y.len()` equals the series' `x.len()`. NaN marks a gap.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Line {
    pub name: String,
    #[serde(with = "number::list")]
    pub y: Vec<f64>,
}

/// A dense matrix, row-major, `data.len() == rows * cols`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Matrix {
    pub rows: usize,
    pub cols: usize,
    #[serde(with = "number::list")]
    pub data: Vec<f32>,
    pub row_label: String,
    pub col_label: String,
}

impl Matrix {
    /// Value at (row, col), if inside.
    pub fn at(&self, row: usize, col: usize) -> Option<f32> {
        (row < self.rows && col < self.cols).then(|| self.data.get(row * self.cols + col).copied()).flatten()
    }
}

/// Points in two or three dimensions: `xyz.len() == dims * n`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Points {
    pub dims: usize,
    #[serde(with = "number::list")]
    pub xyz: Vec<f32>,
    pub labels: Vec<String>,
}

/// A weighted directed graph: edges are (from, to, weight).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Graph {
    pub nodes: usize,
    #[serde(with = "number::edges")]
    pub edges: Vec<(u32, u32, f32)>,
    pub labels: Vec<String>,
}
