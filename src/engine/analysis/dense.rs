//! Products of dense matrices by the `gemm` crate, behind a readable call: the locations of the three matrices, their
//! sizes, and whether the result overwrites the old values or is added to them.

use rayon::prelude::*;

/// Rows of a task.
const TASK: usize = 128;

/// The layout of a matrix in memory: its first value, and the distance of its rows and of its columns in values.
#[derive(Debug, Clone, Copy)]
pub struct Strided<P> {
    /// The first value.
    pub at: P,
    /// The distance between two rows, in values.
    pub row: usize,
    /// The distance between two columns, in values.
    pub column: usize,
}

impl<P> Strided<P> {
    /// Rows of this many values, one after another.
    pub fn rows(at: P, length: usize) -> Self {
        Self { at, row: length, column: 1 }
    }

    /// The same values read as the transpose.
    pub fn transposed(self) -> Self {
        Self { row: self.column, column: self.row, ..self }
    }
}

/// The combination of a product with the values that stood in its place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Update<T> {
    /// out <- a b
    Replace,
    /// out <- out + factor a b
    Add(T),
}

/// `out` `(m, n)` from a `(m, k)` times b `(k, n)`, on this thread.
///
/// # Safety
/// Each matrix lies within memory that may be read (a, b) or read and written (`out`) for the whole call, and no value of
/// `out` is one of a or b.
pub unsafe fn multiply<T: Copy + From<u8> + 'static>(
    out: Strided<*mut T>,
    a: Strided<*const T>,
    b: Strided<*const T>,
    [m, k, n]: [usize; 3],
    update: Update<T>,
) {
    let (reads, old, factor) = match update {
        Update::Replace => (false, T::from(0u8), T::from(1u8)),
        Update::Add(factor) => (true, T::from(1u8), factor),
    };
    // SAFETY: the caller's.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            out.at,
            out.column as isize,
            out.row as isize,
            reads,
            a.at,
            a.column as isize,
            a.row as isize,
            b.at,
            b.column as isize,
            b.row as isize,
            old,
            factor,
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}

/// a `(m, k)` times b `(k, n)`, row by row. Each block of rows is one task, so that the bits do not depend on the number
/// of threads.
pub fn product(a: &[f64], b: &[f64], [m, k, n]: [usize; 3]) -> Vec<f64> {
    debug_assert!(a.len() == m * k && b.len() == k * n);
    let mut out = vec![0.0; m * n];
    if out.is_empty() || k == 0 {
        return out;
    }
    out.par_chunks_mut(TASK * n).zip(a.par_chunks(TASK * k)).for_each(|(out, a)| {
        let (sizes, b) = ([out.len() / n, k, n], Strided::rows(b.as_ptr(), n));
        let (out, a) = (Strided::rows(out.as_mut_ptr(), n), Strided::rows(a.as_ptr(), k));
        // SAFETY: `out` holds as many rows of n values as `a` of k, and b holds k rows of n.
        unsafe { multiply(out, a, b, sizes, Update::Replace) };
    });
    out
}

/// The transpose of a `(rows, columns)`.
pub fn transposed(a: &[f64], rows: usize, columns: usize) -> Vec<f64> {
    (0..columns).flat_map(|j| (0..rows).map(move |i| a[i * columns + j])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_is_added_or_takes_the_place() {
        let (a, b) = ([1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]);
        assert_eq!(product(&a, &b, [2, 2, 2]), [19.0, 22.0, 43.0, 50.0]);
        let mut out = [1.0; 4];
        let at = Strided::rows(out.as_mut_ptr(), 2);
        let (a, b) = (Strided::rows(a.as_ptr(), 2), Strided::rows(b.as_ptr(), 2).transposed());
        // SAFETY: three arrays of two rows of two.
        unsafe { multiply(at, a, b, [2, 2, 2], Update::Add(-1.0)) };
        assert_eq!(out, [-16.0, -22.0, -38.0, -52.0]);
        assert_eq!(transposed(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 2, 3), [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    }
}
