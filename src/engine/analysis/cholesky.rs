//! Linear equations with a dense symmetric positive matrix in 64 bits, by Cholesky's factorisation in blocks of columns: within
//! a block it is `nalgebra`'s, and everything else is products of matrices, which run at the speed of the processor.

use nalgebra::{Cholesky, DMatrix, Dyn};

/// Columns of a block.
const BLOCK: usize = 64;

/// Returns the solution X of A X = B. `None` if A is not positive, or holds a value that is not finite.
pub fn solve(a: DMatrix<f64>, mut b: DMatrix<f64>) -> Option<DMatrix<f64>> {
    factor(a)?.solve_mut(&mut b);
    Some(b)
}

/// Returns the factor L of A = L L^T, with which several systems can be solved. `None` if A is not positive, or holds a value that is not finite.
pub fn factor(mut a: DMatrix<f64>) -> Option<Cholesky<f64, Dyn>> {
    if !a.iter().all(|v| v.is_finite()) {
        return None;
    }
    let n = a.nrows();
    for from in (0..n).step_by(BLOCK) {
        let width = BLOCK.min(n - from);
        let (settled, mut block) = a.columns_range_pair_mut(..from, from..from + width);
        let mut open = block.rows_range_mut(from..);
        if from > 0 {
            open.gemm(-1.0, &settled.rows_range(from..), &settled.rows(from, width).transpose(), 1.0);
        }
        let diagonal = open.rows(0, width).clone_owned().cholesky()?.unpack();
        open.rows_mut(0, width).copy_from(&diagonal);
        // the rows X below solve X L^T = open
        let mut below = open.rows_range_mut(width..);
        let solved = diagonal.solve_lower_triangular(&below.transpose())?;
        below.copy_from(&solved.transpose());
    }
    Some(Cholesky::pack_dirty(a))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(i: usize) -> f64 {
        ((i as f64 * 12.9898).sin() * 43_758.545_3).fract()
    }

    /// M M^T + I of any size is positive.
    fn positive(n: usize) -> DMatrix<f64> {
        let m = DMatrix::from_fn(n, n, |i, j| noise(i * n + j));
        &m * m.transpose() + DMatrix::identity(n, n)
    }

    #[test]
    fn a_system_of_any_size_is_solved() {
        for n in [1, 2, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 5, 5 * BLOCK + 3] {
            let a = positive(n);
            let x = DMatrix::from_fn(n, 2, |i, j| noise(2 * i + j + 7));
            let off = (solve(a.clone(), a * &x).unwrap() - x).amax();
            assert!(off < 1e-13 * n as f64, "{n}: {off:e}");
        }
    }

    #[test]
    fn a_matrix_that_is_not_positive_has_no_factor() {
        let mut a = positive(100);
        a[(99, 99)] = -1.0;
        let solved = |a: DMatrix<f64>| solve(a.clone(), DMatrix::zeros(a.nrows(), 1));
        assert_eq!(solved(a), None);
        for number in [-1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(solved(DMatrix::from_element(1, 1, number)), None);
        }
    }
}
