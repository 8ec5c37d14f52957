//! Matrices as views of plain slices, and disjoint parts of them for tasks to write.

use std::marker::PhantomData;

/// A row-major matrix, part of one, or the transpose of either.
///
/// # Panics
/// Its methods panic if they are asked for values that it does not have.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    data: &'a [f32],
    rows: usize,
    cols: usize,
    row_stride: usize,
    col_stride: usize,
}

impl<'a> View<'a> {
    /// The first `rows * cols` values of `data`.
    pub fn new(data: &'a [f32], rows: usize, cols: usize) -> Self {
        Self { data: &data[..rows * cols], rows, cols, row_stride: cols, col_stride: 1 }
    }

    /// A view of rows and columns at these strides, beginning with the first value of `data`.
    #[cfg(test)]
    pub fn with_strides(data: &'a [f32], [rows, cols]: [usize; 2], [row_stride, col_stride]: [usize; 2]) -> Self {
        assert!((rows - 1) * row_stride + (cols - 1) * col_stride < data.len(), "({rows}, {cols}) of {}", data.len());
        Self { data, rows, cols, row_stride, col_stride }
    }

    /// The transpose; no value moves.
    pub fn t(self) -> Self {
        Self { rows: self.cols, cols: self.rows, row_stride: self.col_stride, col_stride: self.row_stride, ..self }
    }

    /// Number of rows.
    pub fn rows(self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn cols(self) -> usize {
        self.cols
    }

    /// Distance from one row to the next, and from one column to the next, in values.
    pub fn strides(self) -> [usize; 2] {
        [self.row_stride, self.col_stride]
    }

    /// The slice it lies in, beginning with its first value.
    pub fn values(self) -> &'a [f32] {
        self.data
    }

    /// The value at a row and column.
    pub fn at(self, row: usize, col: usize) -> f32 {
        self.data[row * self.row_stride + col * self.col_stride]
    }

    /// The values of a row whose columns are adjacent in memory.
    pub fn row(self, row: usize) -> &'a [f32] {
        debug_assert_eq!(self.col_stride, 1);
        &self.data[row * self.row_stride..][..self.cols]
    }

    /// The address of a value, which may be read if the value belongs to the view.
    pub fn address(self, row: usize, col: usize) -> *const f32 {
        self.data.as_ptr().wrapping_add(row * self.row_stride + col * self.col_stride)
    }

    /// `rows` rows from `row` on, `cols` columns of them from `col` on.
    pub fn submatrix(self, row: usize, col: usize, rows: usize, cols: usize) -> Self {
        assert!(row + rows <= self.rows && col + cols <= self.cols, "({rows}, {cols}) from ({row}, {col})");
        let from = (row * self.row_stride + col * self.col_stride).min(self.data.len());
        Self { data: &self.data[from..], rows, cols, ..self }
    }
}

/// Some columns of some rows of a matrix, borrowed exclusively: several tasks may each hold a panel of one matrix.
///
/// # Panics
/// Its methods panic if they are asked for rows or columns that it does not have.
pub struct Panel<'a> {
    at: *mut f32,
    rows: usize,
    cols: usize,
    step: usize,
    matrix: PhantomData<&'a mut [f32]>,
}

// SAFETY: `panels` gives no two panels a value in common and borrows the whole matrix for as long as they live, so that
// a panel is the only way to its values, as a `&mut [f32]`, which is `Send`, would be.
unsafe impl Send for Panel<'_> {}

impl Panel<'_> {
    /// The address of `rows` rows of `cols` values from `row` on, and the distance from one row to the next.
    pub(super) fn locate(&mut self, row: usize, rows: usize, cols: usize) -> (*mut f32, usize) {
        assert!(row + rows <= self.rows && cols <= self.cols, "({rows}, {cols}) from row {row} of {}", self.rows);
        (self.at.wrapping_add(row * self.step), self.step)
    }

    /// Sets every value to 0.
    pub fn clear(&mut self) {
        (0..self.rows).for_each(|r| self.row(r).fill(0.0));
    }

    /// The row with index `r`.
    pub fn row(&mut self, r: usize) -> &mut [f32] {
        assert!(r < self.rows, "row {r} of {}", self.rows);
        // SAFETY: `panels` made the panel of rows `step` apart that each have `cols` values within the matrix, and no
        // other panel has these columns; `&mut self` keeps others from the row while the slice lives.
        unsafe { std::slice::from_raw_parts_mut(self.at.add(r * self.step), self.cols) }
    }
}

/// Cuts `data` into matrices of `rows` rows, and each into panels of these widths, which make up a whole
/// row: the panels of the first matrix, those of the second, and so on.
///
/// # Panics
/// If it does not hold whole matrices.
pub fn panels<'a>(data: &'a mut [f32], rows: usize, widths: &[usize]) -> Vec<Panel<'a>> {
    let step = widths.iter().sum::<usize>();
    assert!(data.len().is_multiple_of(rows * step), "{} values are not matrices of {rows} x {step}", data.len());
    let mut panels = Vec::with_capacity(data.len() / (rows * step) * widths.len());
    for matrix in data.chunks_exact_mut(rows * step) {
        let (start, mut from) = (matrix.as_mut_ptr(), 0);
        for &cols in widths {
            panels.push(Panel { at: start.wrapping_add(from), rows, cols, step, matrix: PhantomData });
            from += cols;
        }
    }
    panels
}
