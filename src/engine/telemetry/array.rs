//! Dense arrays of 32-bit floats as measurements carry them; `json` reads and writes them.

mod json;

use half::f16;

/// The number of bits that a file keeps of each value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Precision {
    /// Half precision: 11 bits of mantissa, about three decimal digits; magnitudes up to 65,504.
    Half,
    /// Four bytes per value.
    #[default]
    Single,
}

/// Values in row-major order with their shape; `data().len()` is the product of `shape()`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Array {
    shape: Vec<usize>,
    data: Vec<f32>,
    precision: Precision,
}

/// A matrix inside an array: row-major, `data.len() == rows * cols`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MatrixView<'a> {
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub cols: usize,
    /// The values, row by row.
    pub data: &'a [f32],
}

/// The values do not fill the shape.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("an array of shape {shape:?} cannot hold {values} values")]
pub struct ShapeError {
    shape: Vec<usize>,
    values: usize,
}

impl Array {
    /// # Errors
    /// If the product of `shape` is not the number of values.
    pub fn new(shape: impl Into<Vec<usize>>, data: Vec<f32>) -> Result<Self, ShapeError> {
        let shape = shape.into();
        match shape.iter().try_fold(1usize, |n, d| n.checked_mul(*d)) {
            Some(n) if n == data.len() => Ok(Self { shape, data, precision: Precision::Single }),
            _ => Err(ShapeError { shape, values: data.len() }),
        }
    }

    /// Every value rounded to half precision, now and not first in the file, so that a replay shows
    /// exactly what was seen live. What is not zero does not become zero: a weight of 1e-9 is not a
    /// masked one.
    pub fn half_precision(mut self) -> Self {
        self.data.iter_mut().for_each(|v| *v = to_f16(*v).to_f32());
        self.precision = Precision::Half;
        self
    }

    /// A matrix of rows of one length.
    ///
    /// # Errors
    /// If the rows differ in length.
    pub fn from_rows<R: AsRef<[f32]>>(rows: &[R]) -> Result<Self, ShapeError> {
        let cols = rows.first().map_or(0, |r| r.as_ref().len());
        let data: Vec<f32> = rows.iter().flat_map(|r| r.as_ref().iter().copied()).collect();
        let even = rows.iter().all(|r| r.as_ref().len() == cols);
        if even {
            Self::new([rows.len(), cols], data)
        } else {
            Err(ShapeError { shape: vec![rows.len(), cols], values: data.len() })
        }
    }

    /// The length of each dimension.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// All values, row by row.
    pub fn data(&self) -> &[f32] {
        &self.data
    }

    /// The number of bits that a file keeps.
    pub fn precision(&self) -> Precision {
        self.precision
    }

    /// Length of the first axis; 0 for a scalar.
    pub fn rows(&self) -> usize {
        self.shape.first().copied().unwrap_or(0)
    }

    /// Length of the second axis; 1 where there is none.
    pub fn cols(&self) -> usize {
        self.shape.get(1).copied().unwrap_or(1)
    }

    /// All values at `index` of the first axis, if it is inside.
    pub fn row(&self, index: usize) -> Option<&[f32]> {
        let rows = self.rows();
        let len = self.data.len().checked_div(rows)?;
        (index < rows).then(|| &self.data[index * len..(index + 1) * len])
    }

    /// The matrix at `index` of the first of three axes, or the whole of two axes at index 0.
    pub fn matrix(&self, index: usize) -> Option<MatrixView<'_>> {
        match *self.shape.as_slice() {
            [rows, cols] if index == 0 => Some(MatrixView { rows, cols, data: &self.data }),
            [_, rows, cols] => self.row(index).map(|data| MatrixView { rows, cols, data }),
            _ => None,
        }
    }

    /// The value at an index of as many axes as the shape has, if it is inside.
    pub fn at(&self, index: &[usize]) -> Option<f32> {
        if index.len() != self.shape.len() || index.iter().zip(&self.shape).any(|(i, n)| i >= n) {
            return None;
        }
        let flat = index.iter().zip(&self.shape).fold(0, |flat, (i, n)| flat * n + i);
        self.data.get(flat).copied()
    }
}

fn to_f16(v: f32) -> f16 {
    let rounded = f16::from_f32(v);
    if rounded == f16::ZERO && v != 0.0 { f16::from_bits(1).copysign(rounded) } else { rounded }
}

impl From<Vec<f32>> for Array {
    /// An array with one axis.
    fn from(data: Vec<f32>) -> Self {
        Self { shape: vec![data.len()], data, precision: Precision::Single }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tiny_value_is_not_rounded_to_zero() {
        let array = Array::new([3], vec![1e-12, -1e-12, 0.0]).unwrap().half_precision();
        assert!(array.data()[0] > 0.0 && array.data()[1] < 0.0 && array.data()[2] == 0.0);
    }

    #[test]
    fn an_index_finds_its_value() {
        let array = Array::new([2, 3], (0..6).map(|i| i as f32 / 3.0).collect()).unwrap();
        assert_eq!((array.rows(), array.cols()), (2, 3));
        assert_eq!(array.at(&[1, 2]), Some(5.0 / 3.0));
        assert_eq!(array.at(&[2, 0]), None);
        assert_eq!(array.at(&[1]), None);
        assert_eq!(array.row(1), Some(&[1.0, 4.0 / 3.0, 5.0 / 3.0][..]));
        assert!(Array::new([2, 2], vec![0.0; 3]).is_err());
    }
}
