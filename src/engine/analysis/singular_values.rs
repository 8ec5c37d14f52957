//! Singular values of a dense matrix, and its effective rank.

use nalgebra::{DMatrix, SVD};

use super::statistics::entropy;

/// The maximum number of steps of the QR iteration; a value takes two or three.
const MAX_STEPS_PER_VALUE: usize = 60;

/// Largest first, min(rows, cols) of them; `data`: row by row. The error of each is some units of rounding of the
/// largest. `None` for values that are not numbers, and where `data` does not fill the matrix.
pub fn singular_values<T: Copy + Into<f64>>(rows: usize, cols: usize, data: &[T]) -> Option<Vec<f64>> {
    if data.len() != rows * cols || !data.iter().all(|v| (*v).into().is_finite()) {
        return None;
    }
    if data.is_empty() {
        return Some(vec![]);
    }
    let matrix = DMatrix::from_row_iterator(rows, cols, data.iter().map(|v| (*v).into()));
    let max_steps = MAX_STEPS_PER_VALUE * rows.min(cols);
    let svd = SVD::try_new(matrix, false, false, f64::EPSILON, max_steps)?;
    Some(svd.singular_values.as_slice().to_vec())
}

/// (sum s)^2 / sum s^2: how many equal singular values would make the same; NaN where all are zero.
pub fn effective_rank(values: &[f64]) -> f64 {
    let (sum, squares) = values.iter().fold((0.0, 0.0), |(sum, squares), s| (sum + s, squares + s * s));
    if squares > 0.0 { sum * sum / squares } else { f64::NAN }
}

/// exp of the entropy of s / sum s: the number of equal singular values with the same entropy; NaN if all are zero.
pub fn entropy_rank(values: &[f64]) -> f64 {
    let sum: f64 = values.iter().sum();
    if !(sum > 0.0 && sum.is_finite()) {
        return f64::NAN;
    }
    entropy(values.iter().map(|s| s / sum)).exp()
}

/// s1 / sum s, the share of the largest singular value; NaN where all are zero.
pub fn top_share(values: &[f64]) -> f64 {
    let sum: f64 = values.iter().sum();
    if sum > 0.0 { values.iter().fold(0.0f64, |most, s| most.max(*s)) / sum } else { f64::NAN }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: &[f64], want: &[f64]) {
        assert_eq!(found.len(), want.len());
        let most = want.first().copied().unwrap_or(0.0);
        assert!(found.iter().zip(want).all(|(f, w)| (f - w).abs() <= 1e-13 * most), "{found:?} are not {want:?}");
    }

    #[test]
    fn the_transpose_has_the_same_singular_values() {
        let tall: Vec<f64> = (0..35).map(|i| f64::from((i * i * 7 + 3 * i) % 23) - 11.0).collect();
        let wide: Vec<f64> = (0..35).map(|k| tall[k % 7 * 5 + k / 7]).collect();
        close(&singular_values(5, 7, &wide).unwrap(), &singular_values(7, 5, &tall).unwrap());
    }

    #[test]
    fn matrix_of_ones_has_one() {
        let n = 40;
        let found = singular_values(n, n, &vec![1f32; n * n]).unwrap();
        assert!((found[0] - n as f64).abs() < 1e-11 && found[1..].iter().all(|s| *s < 1e-12), "{found:?}");
        assert!((effective_rank(&found) - 1.0).abs() < 1e-11 && (top_share(&found) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn zero_diagonal_values_add_up() {
        // nilpotent: ones above the diagonal, singular values 1, 1, 1, 0
        let mut shift = [0.0; 16];
        (0..3).for_each(|i| shift[i * 5 + 1] = 1.0);
        close(&singular_values(4, 4, &shift).unwrap(), &[1.0, 1.0, 1.0, 0.0]);
        // the sum of squares is that of the entries
        let n = 61;
        let data: Vec<f64> =
            (0..n * n).map(|i| if i % n > i / n { 0.0 } else { ((i * 31 % 97) as f64).sin() }).collect();
        let squares: f64 = singular_values(n, n, &data).unwrap().iter().map(|s| s * s).sum();
        let entries: f64 = data.iter().map(|v| v * v).sum();
        assert!((squares / entries - 1.0).abs() < 1e-13);
    }

    #[test]
    fn invalid_matrices_have_no_singular_values() {
        assert_eq!(singular_values(2, 2, &[1.0, f64::NAN, 0.0, 1.0]), None);
        assert_eq!(singular_values(2, 2, &[1.0, 0.0, 1.0]), None);
        assert_eq!(singular_values::<f32>(0, 0, &[]), Some(vec![]));
        assert_eq!(singular_values(2, 3, &[0f32; 6]), Some(vec![0.0; 2]));
        assert!(effective_rank(&[0.0]).is_nan() && top_share(&[]).is_nan());
    }
}
