//! Eigenvalues of a small dense matrix that need not be symmetric.

use nalgebra::{DMatrix, Schur};

/// The maximum number of sweeps of the QR iteration: far more than a convergent matrix takes.
const MAX_SWEEPS: usize = 10_000;

/// Tolerances that are tried, each four times the one before: an entry below the diagonal counts as zero at one unit of
/// rounding of its neighbours, up to 4e-12 of them. Rounding within a sweep can leave more than one unit, which it does in
/// one sparse matrix of fifty, and then the iteration stands still.
const TOLERANCES: i32 = 8;

/// The n eigenvalues as (real, imaginary), by falling real part, then by falling imaginary part; `data`: n x n, row by
/// row. By the Schur form. `None` where `data` does not fill the matrix, holds a value that is not a number, or the
/// iteration does not converge.
pub fn eigenvalues(n: usize, data: &[f64]) -> Option<Vec<[f64; 2]>> {
    if n == 0 || data.len() != n * n || !data.iter().all(|v| v.is_finite()) {
        return None;
    }
    let matrix = DMatrix::from_row_slice(n, n, data);
    let mut tolerances = (0..TOLERANCES).map(|k| f64::EPSILON * 4f64.powi(k));
    let schur = tolerances.find_map(|zero| Schur::try_new(matrix.clone(), zero, MAX_SWEEPS))?;
    let mut values: Vec<[f64; 2]> = schur.complex_eigenvalues().iter().map(|z| [z.re, z.im]).collect();
    values.sort_by(|a, b| b[0].total_cmp(&a[0]).then(b[1].total_cmp(&a[1])));
    Some(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rotation_has_a_conjugate_pair_and_a_triangle_its_diagonal() {
        let turn = eigenvalues(2, &[0.0, -2.0, 2.0, 0.0]).unwrap();
        assert!((turn[0][1] - 2.0).abs() < 1e-12 && (turn[1][1] + 2.0).abs() < 1e-12, "{turn:?}");
        let triangle = eigenvalues(3, &[1.0, 0.0, 0.0, 5.0, -3.0, 0.0, 2.0, 7.0, 2.0]).unwrap();
        for (found, known) in triangle.iter().zip([2.0, 1.0, -3.0]) {
            assert!((found[0] - known).abs() < 1e-12 && found[1].abs() < 1e-12, "{triangle:?}");
        }
    }

    #[test]
    fn a_circulant_matrix_has_the_transform_of_its_row() {
        // A ring of n states with rate 1 one way: e^{2 pi i k / n} - 1.
        let n = 64;
        let mut ring = vec![0.0; n * n];
        for j in 0..n {
            ring[(j + 1) % n * n + j] = 1.0;
            ring[j * n + j] = -1.0;
        }
        let found = eigenvalues(n, &ring).unwrap();
        for k in 0..n {
            let angle = std::f64::consts::TAU * k as f64 / n as f64;
            let known = [angle.cos() - 1.0, angle.sin()];
            let nearest = found.iter().map(|z| (z[0] - known[0]).hypot(z[1] - known[1])).fold(f64::INFINITY, f64::min);
            assert!(nearest < 1e-10, "{k}: {nearest}");
        }
    }

    #[test]
    fn invalid_matrices_have_no_eigenvalues() {
        assert_eq!(eigenvalues(2, &[1.0, 2.0, 3.0]), None);
        assert_eq!(eigenvalues(1, &[f64::NAN]), None);
        assert_eq!(eigenvalues(0, &[]), None);
    }
}
