//! Eigenvalues of a small dense matrix that need not be symmetric. It does not know what the matrix means.

use nalgebra::{DMatrix, DVector, Schur};

/// Sweeps of the QR iteration before it is given up: far more than a matrix that converges takes.
const MOST_SWEEPS: usize = 10_000;

/// Bases in which the iteration is tried: it stands still on some sparse matrices, such as those of chains in which
/// states lead round in a ring and out of it, and on a reflection of them it does not.
const MOST_BASES: usize = 8;

/// The n eigenvalues as (real, imaginary), by falling real part, then by falling imaginary part; `data`: n x n, row by
/// row. By the Schur form. `None` where `data` does not fill the matrix, holds a value that is no number, or the
/// iteration does not converge.
pub fn eigenvalues(n: usize, data: &[f64]) -> Option<Vec<[f64; 2]>> {
    if n == 0 || data.len() != n * n || !data.iter().all(|v| v.is_finite()) {
        return None;
    }
    let matrix = DMatrix::from_row_slice(n, n, data);
    // each further basis with what counts as zero four times as large: at most 4e-12 of its neighbours
    let smallest = |k: usize| f64::EPSILON * f64::from(1u32 << (2 * k));
    let schur = (0..MOST_BASES).find_map(|k| Schur::try_new(reflected(matrix.clone(), k), smallest(k), MOST_SWEEPS))?;
    let mut values: Vec<[f64; 2]> = schur.complex_eigenvalues().iter().map(|z| [z.re, z.im]).collect();
    values.sort_by(|a, b| b[0].total_cmp(&a[0]).then(b[1].total_cmp(&a[1])));
    Some(values)
}

/// H A H with the reflection H = I - 2 u u^T, which has the eigenvalues of A, for the unit vector u of entries that
/// differ; A itself for `k` = 0.
fn reflected(mut a: DMatrix<f64>, k: usize) -> DMatrix<f64> {
    if k == 0 {
        return a;
    }
    let u = DVector::from_fn(a.nrows(), |i, _| 1.0 + ((i + 1) * k) as f64 % 1.7).normalize();
    let from_left = u.transpose() * &a; // (1, n)
    a -= 2.0 * &u * from_left;
    let from_right = &a * &u; // (n, 1)
    a -= 2.0 * from_right * u.transpose();
    a
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
    fn a_reflection_keeps_eigenvalues() {
        let a = DMatrix::from_row_slice(3, 3, &[1.0, 0.0, 0.0, 5.0, -3.0, 0.0, 2.0, 7.0, 2.0]);
        for k in 1..MOST_BASES {
            let found = eigenvalues(3, reflected(a.clone(), k).transpose().as_slice()).unwrap();
            for (found, known) in found.iter().zip([2.0, 1.0, -3.0]) {
                assert!((found[0] - known).abs() < 1e-12 && found[1].abs() < 1e-6, "{found:?}");
            }
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
    fn what_is_no_matrix_has_none() {
        assert_eq!(eigenvalues(2, &[1.0, 2.0, 3.0]), None);
        assert_eq!(eigenvalues(1, &[f64::NAN]), None);
        assert_eq!(eigenvalues(0, &[]), None);
    }
}
