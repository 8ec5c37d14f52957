//! Small square matrices of f64, with the operations that the Jacobian of a step needs.

use crate::analysis::statistics::dot;

/// `side` x `side` values, row by row.
#[derive(Debug, Clone, PartialEq)]
pub struct Matrix {
    side: usize,
    data: Vec<f64>,
}

impl Matrix {
    /// `data` holds `side` rows of `side` values.
    pub(super) fn new(side: usize, data: Vec<f64>) -> Self {
        debug_assert_eq!(data.len(), side * side);
        Self { side, data }
    }

    /// Returns the identity matrix with `side` rows.
    pub fn identity(side: usize) -> Self {
        let mut data = vec![0.0; side * side];
        (0..side).for_each(|i| data[i * side + i] = 1.0);
        Self { side, data }
    }

    /// A matrix of size 2d from four blocks of size d.
    pub(super) fn from_blocks(blocks: [[&Matrix; 2]; 2]) -> Self {
        let d = blocks[0][0].side;
        let mut data = Vec::with_capacity(4 * d * d);
        for [left, right] in blocks {
            for row in 0..d {
                data.extend_from_slice(left.row(row));
                data.extend_from_slice(right.row(row));
            }
        }
        Self { side: 2 * d, data }
    }

    /// Returns the number of rows, which is the number of columns.
    pub fn side(&self) -> usize {
        self.side
    }

    /// Returns a row of the matrix.
    pub fn row(&self, row: usize) -> &[f64] {
        &self.data[row * self.side..(row + 1) * self.side]
    }

    /// This matrix times a vector.
    pub fn apply(&self, x: &[f64]) -> Vec<f64> {
        (0..self.side).map(|i| dot(self.row(i), x)).collect()
    }

    /// This matrix times another.
    pub fn times(&self, other: &Self) -> Self {
        let n = self.side;
        let mut data = vec![0.0; n * n];
        for (row, out) in data.chunks_mut(n.max(1)).enumerate() {
            for (a, from) in self.row(row).iter().zip(other.data.chunks(n.max(1))) {
                out.iter_mut().zip(from).for_each(|(o, b)| *o += a * b);
            }
        }
        Self { side: n, data }
    }

    /// Returns the sum with another matrix of the same size.
    pub fn plus(&self, other: &Self) -> Self {
        Self { side: self.side, data: self.data.iter().zip(&other.data).map(|(a, b)| a + b).collect() }
    }

    /// Returns the matrix with every entry multiplied by `by`.
    pub fn scaled(&self, by: f64) -> Self {
        Self { side: self.side, data: self.data.iter().map(|a| a * by).collect() }
    }

    /// Row i times `factors[i]`.
    pub fn with_scaled_rows(&self, factors: &[f64]) -> Self {
        let rows = self.data.chunks(self.side.max(1)).zip(factors);
        Self { side: self.side, data: rows.flat_map(|(row, f)| row.iter().map(move |a| a * f)).collect() }
    }

    /// The determinant, by elimination with the largest pivot of each column; NaN where an entry is not finite.
    pub fn determinant(&self) -> f64 {
        let n = self.side;
        if self.data.iter().any(|v| !v.is_finite()) {
            return f64::NAN;
        }
        let mut rows: Vec<Vec<f64>> = self.data.chunks(n.max(1)).map(<[f64]>::to_vec).collect();
        let mut determinant = 1.0;
        for column in 0..n {
            let pivot = (column..n)
                .fold(column, |best, row| if rows[row][column].abs() > rows[best][column].abs() { row } else { best });
            if rows[pivot][column] == 0.0 {
                return 0.0;
            }
            if pivot != column {
                rows.swap(pivot, column);
                determinant = -determinant;
            }
            let (done, rest) = rows.split_at_mut(column + 1);
            let above = &done[column];
            determinant *= above[column];
            for row in rest {
                let factor = row[column] / above[column];
                row[column..].iter_mut().zip(&above[column..]).for_each(|(a, b)| *a -= factor * b);
            }
        }
        determinant
    }
}
