//! What a sample can hold. Plain numbers and labels; a view decides how to draw them.

use serde::{Deserialize, Serialize};

use super::number;

/// Heavy or structured measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Payload {
    Scalar(#[serde(with = "number::one")] f64),
    Series(Series),
    Matrix(Matrix),
    Points(Points),
    Graph(Graph),
    Text(Vec<String>),
    /// Several named parts measured together.
    Bundle(Vec<(String, Payload)>),
}

impl Payload {
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
