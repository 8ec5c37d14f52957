//! Cholesky factorisation of a dense symmetric positive matrix in 64 bits, by blocks of columns, so that nearly all of it
//! is products, which `gemm` does at the speed of the processor. It does not know what the equations mean.
//!
//! A linear algebra library would bring the same factorisation with dozens of crates; over the product that is here
//! already it takes a page. Blocks are cut by size alone, and each is computed by one task: the bits of a result do not
//! depend on the number of threads.

use rayon::prelude::*;

use super::dense::{Placed, Update, multiply};

/// Columns of a block.
const BLOCK: usize = 64;
/// Rows of a task.
const TASK: usize = 128;

/// L of A = L L^T into the lower triangle of `a` `(n, n)`; what is above the diagonal is not read. `None` if A is not
/// positive, or holds what is no number.
pub fn factor(a: &mut [f64], n: usize) -> Option<()> {
    debug_assert_eq!(a.len(), n * n);
    for from in (0..n).step_by(BLOCK) {
        let width = BLOCK.min(n - from);
        // rows of the block, to the left of its diagonal: what the columns before have already settled
        let left: Vec<f64> = (from..from + width).flat_map(|r| a[r * n..r * n + from].iter().copied()).collect();
        let (block, below) = a[from * n..].split_at_mut(width * n);
        subtract_settled(block, n, from, &left);
        let diagonal = factor_small(block, n, from, width)?;
        below.par_chunks_mut(TASK * n).for_each(|rows| {
            subtract_settled(rows, n, from, &left);
            for row in rows.chunks_exact_mut(n) {
                substitute(&mut row[from..from + width], &diagonal);
            }
        });
    }
    Some(())
}

/// Of rows of the matrix, the columns of the block less the product of what is left of them with `left` `(width, from)`.
fn subtract_settled(rows: &mut [f64], n: usize, from: usize, left: &[f64]) {
    if from == 0 {
        return;
    }
    let (count, width) = (rows.len() / n, left.len() / from);
    let at = rows.as_mut_ptr();
    // SAFETY: `rows` holds `count` rows of n values. Columns `from..from + width` of them are written, columns `..from`
    // are read, and the two do not overlap; `left` holds `width` rows of `from` values.
    unsafe {
        let (out, settled) = (Placed::rows(at.add(from), n), Placed::rows(at.cast_const(), n));
        let left = Placed::rows(left.as_ptr(), from).transposed();
        multiply(out, settled, left, [count, from, width], Update::Add(-1.0));
    }
}

/// Factors the block on the diagonal, value by value; returns it as rows of `width`.
fn factor_small(block: &mut [f64], n: usize, from: usize, width: usize) -> Option<Vec<f64>> {
    let mut small: Vec<f64> = block.chunks_exact(n).flat_map(|row| row[from..from + width].iter().copied()).collect();
    for i in 0..width {
        let (before, rest) = small.split_at_mut(i * width);
        let row = &mut rest[..width];
        substitute(&mut row[..i], before);
        let left = row[i] - row[..i].iter().map(|v| v * v).sum::<f64>();
        if !(left > 0.0 && left.is_finite()) {
            return None;
        }
        row[i] = left.sqrt();
    }
    for (row, small) in block.chunks_exact_mut(n).zip(small.chunks_exact(width)) {
        row[from..from + width].copy_from_slice(small);
    }
    Some(small)
}

/// x of L x = row in place. L lies in rows that are as long as there are rows in its whole block.
fn substitute(row: &mut [f64], l: &[f64]) {
    let stride = if row.is_empty() { return } else { l.len() / row.len() };
    for i in 0..row.len() {
        let (done, rest) = row.split_at_mut(i);
        let of_l = &l[i * stride..][..i + 1];
        let sum: f64 = done.iter().zip(of_l).map(|(x, l)| x * l).sum();
        rest[0] = (rest[0] - sum) / of_l[i];
    }
}

/// X of L L^T X = B into `b` `(n, columns)`.
pub fn solve(l: &[f64], n: usize, b: &mut [f64], columns: usize) {
    if columns == 0 {
        return;
    }
    for i in 0..n {
        let (done, rest) = b.split_at_mut(i * columns);
        let row = &mut rest[..columns];
        for (other, factor) in done.chunks_exact(columns).zip(&l[i * n..]) {
            row.iter_mut().zip(other).for_each(|(x, y)| *x -= factor * y);
        }
        row.iter_mut().for_each(|x| *x /= l[i * n + i]);
    }
    for i in (0..n).rev() {
        // row i of L is column i of its transpose: once x_i is known, it leaves all rows above
        let (above, rest) = b.split_at_mut(i * columns);
        let row = &mut rest[..columns];
        row.iter_mut().for_each(|x| *x /= l[i * n + i]);
        for (other, factor) in above.chunks_exact_mut(columns).zip(&l[i * n..]) {
            other.iter_mut().zip(&*row).for_each(|(x, y)| *x -= factor * y);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::dense::{product, transposed};

    fn noise(i: usize) -> f64 {
        ((i as f64 * 12.9898).sin() * 43_758.545_3).fract()
    }

    /// M M^T + I of any size is positive.
    fn positive(n: usize) -> Vec<f64> {
        let m: Vec<f64> = (0..n * n).map(noise).collect();
        let mut a = product(&m, &transposed(&m, n, n), [n, n, n]);
        (0..n).for_each(|i| a[i * n + i] += 1.0);
        a
    }

    #[test]
    fn a_system_of_any_size_is_solved() {
        for n in [1, 2, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 5, 2 * TASK + BLOCK + 3] {
            let a = positive(n);
            let x: Vec<f64> = (0..2 * n).map(|i| noise(i + 7)).collect();
            let mut b = product(&a, &x, [n, n, 2]);
            let mut l = a.clone();
            factor(&mut l, n).unwrap();
            solve(&l, n, &mut b, 2);
            let off = x.iter().zip(&b).map(|(x, b)| (x - b).abs()).fold(0.0, f64::max);
            assert!(off < 1e-8, "{n}: {off:e}");
        }
    }

    #[test]
    fn a_matrix_that_is_not_positive_has_no_factor() {
        let mut a = positive(100);
        a[99 * 100 + 99] = -1.0;
        assert_eq!(factor(&mut a, 100), None);
        assert_eq!(factor(&mut [f64::NAN], 1), None);
    }
}
