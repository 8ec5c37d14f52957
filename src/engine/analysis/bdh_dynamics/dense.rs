//! A dense matrix of [`Number`]s, with the operations that the equations of this module need.

use super::number::Number;

/// Row-major, `data.len() == rows * cols`. Indices outside are a programming error.
#[derive(Debug, Clone, PartialEq)]
pub struct Dense<N> {
    /// The number of rows.
    pub rows: usize,
    /// The number of columns.
    pub cols: usize,
    /// The entries, row by row.
    pub data: Vec<N>,
}

impl<N: Number> Dense<N> {
    /// Returns a matrix of `rows` by `cols` zeros.
    pub fn zeros(rows: usize, cols: usize) -> Self {
        Self { rows, cols, data: vec![N::ZERO; rows * cols] }
    }

    /// A matrix of given values, row by row. `None` if there are not `rows * cols` of them.
    pub fn from_rows(rows: usize, cols: usize, values: &[f64]) -> Option<Self> {
        (values.len() == rows * cols).then(|| Self { rows, cols, data: values.iter().map(|v| N::exact(*v)).collect() })
    }

    /// Returns the entry at (`row`, `col`).
    pub fn at(&self, row: usize, col: usize) -> N {
        self.data[row * self.cols + col]
    }

    /// Returns a row, `cols` values.
    pub fn row(&self, row: usize) -> &[N] {
        &self.data[row * self.cols..(row + 1) * self.cols]
    }

    /// Returns a row, `cols` values, to be changed.
    pub fn row_mut(&mut self, row: usize) -> &mut [N] {
        &mut self.data[row * self.cols..(row + 1) * self.cols]
    }

    /// M v: `rows` numbers.
    pub fn times(&self, v: &[N]) -> Vec<N> {
        (0..self.rows).map(|r| dot(self.row(r), v)).collect()
    }

    /// M B: `(rows, b.cols)`
    pub fn product(&self, b: &Self) -> Self {
        let mut out = Self::zeros(self.rows, b.cols);
        for r in 0..self.rows {
            for (k, m) in self.row(r).iter().enumerate() {
                out.row_mut(r).iter_mut().zip(b.row(k)).for_each(|(o, b)| *o += *m * *b);
            }
        }
        out
    }
}

/// Returns the sum of a_k b_k, added in order from the first term, so that its rounding never varies.
pub fn dot<N: Number>(a: &[N], b: &[N]) -> N {
    a.iter().zip(b).fold(N::ZERO, |s, (a, b)| s + *a * *b)
}
