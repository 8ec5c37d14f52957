//! The share of a vector that a linear map of another recovers: ridge regression, judged on rows that it was not fitted to.

use nalgebra::{Cholesky, DMatrix, Dyn, RowDVector};

use super::cholesky;

/// Ridge regression on features: what is the same whatever is to be read from them.
pub struct LinearReadout {
    /// Features `(rows, width)` that a map is fitted to, and those that judge it, about the means of the first.
    fitted: DMatrix<f64>,
    judged: DMatrix<f64>,
    /// The Cholesky factor L of X^T X + lambda I; `None` if it does not exist.
    factor: Option<Cholesky<f64, Dyn>>,
}

impl LinearReadout {
    /// Features `(rows, width)` of the rows that maps are fitted to, and of those that judge them. `ridge` is the penalty as
    /// a share of the features' mean variance.
    pub fn new(fitted: &DMatrix<f64>, judged: &DMatrix<f64>, ridge: f64) -> Self {
        let mean = fitted.row_mean();
        let x = centred(fitted, &mean);
        let mut gram = x.tr_mul(&x);
        let penalty = ridge * gram.trace() / gram.nrows().max(1) as f64;
        (0..gram.nrows()).for_each(|i| gram[(i, i)] += penalty);
        Self { fitted: x, judged: centred(judged, &mean), factor: cholesky::factor(gram) }
    }

    /// R^2 of the map fitted to `fitted`, evaluated on the rows `judged`, over all targets together; targets `(rows,
    /// targets)` of the same rows as the features. 1 if they are recovered exactly, 0 if the map is no better than
    /// their means, below 0 if the fit does not carry over. NaN where nothing varies or a number is not finite.
    pub fn r_squared(&self, fitted: &DMatrix<f64>, judged: &DMatrix<f64>) -> f64 {
        let Some(factor) = &self.factor else { return f64::NAN };
        let mean = fitted.row_mean();
        let mut map = self.fitted.tr_mul(&centred(fitted, &mean));
        factor.solve_mut(&mut map);
        let left = centred(judged, &mean) - &self.judged * map;
        // against the mean of the rows that are judged, as R^2 is defined
        let around = centred(judged, &judged.row_mean()).norm_squared();
        if around > 0.0 { 1.0 - left.norm_squared() / around } else { f64::NAN }
    }
}

fn centred(m: &DMatrix<f64>, mean: &RowDVector<f64>) -> DMatrix<f64> {
    DMatrix::from_fn(m.nrows(), m.ncols(), |row, column| m[(row, column)] - mean[column])
}

#[cfg(test)]
mod tests {
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    fn noise(seed: u64, rows: usize, columns: usize) -> DMatrix<f64> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        DMatrix::from_fn(rows, columns, |_, _| rng.random_range(-1.0..1.0))
    }

    fn r2(x: &DMatrix<f64>, y: &DMatrix<f64>) -> f64 {
        let half = x.nrows() / 2;
        let part = |m: &DMatrix<f64>, from: usize| m.rows(from, half).into_owned();
        let [a, b, c, d] = [part(x, 0), part(y, 0), part(x, half), part(y, half)];
        LinearReadout::new(&a, &c, 1e-6).r_squared(&b, &d)
    }

    #[test]
    fn a_linear_map_is_recovered_whole() {
        let x = noise(1, 200, 6);
        let y = (&x * noise(2, 6, 3)).add_scalar(5.0);
        assert!((r2(&x, &y) - 1.0).abs() < 1e-6);
    }

    /// A sum of two independent vectors of equal variance explains half of the variance of either, and one of n of them
    /// 1 / n.
    #[test]
    fn a_sum_dilutes_what_it_adds() {
        let parts: Vec<DMatrix<f64>> = (0..4).map(|i| noise(i + 10, 4000, 5)).collect();
        for n in [2usize, 4] {
            let sum = parts[1..n].iter().fold(parts[0].clone(), |sum, part| sum + part);
            assert!((r2(&sum, &parts[0]) - 1.0 / n as f64).abs() < 0.03, "{n}: {}", r2(&sum, &parts[0]));
        }
    }

    #[test]
    fn targets_independent_of_the_features_are_not_recovered() {
        assert!(r2(&noise(1, 2000, 5), &noise(2, 2000, 5)).abs() < 0.02);
        assert!(r2(&noise(1, 20, 5), &DMatrix::zeros(20, 2)).is_nan());
    }
}
