//! Ridge regression of one-hot labels on features: which label a linear map of the features names. Features are
//! centred, not standardised, and labels are centred indicators.
//!
//! The normal equations are summed up chunk by chunk, so that the features of a large data set are never in memory at
//! once, and once for all subsets of the features: each subset's equations are rows and columns of the whole.
//! Products of features are 32-bit and their sums over chunks 64-bit; the equations are solved in 64 bits by a Cholesky
//! factorisation in blocks. Work is cut by sizes alone, so that threads do not change any bit.

use std::ops::Range;

use nalgebra::DMatrix;
use rayon::prelude::*;

use super::{
    cholesky,
    dense::{self, Strided, Update, multiply},
};

/// Rows and columns of a tile of the Gram matrix.
const TILE: usize = 256;

/// Sums over rows of features with their labels.
#[derive(Debug, Clone)]
pub struct NormalEquations {
    width: usize,
    classes: usize,
    /// X^T X, the tiles (i, j <= i) of `TILE` rows and columns, each full.
    tiles: Vec<Vec<f64>>,
    /// X^T Y `(width, classes)`.
    cross: Vec<f64>,
    /// Sums of the columns of X.
    sums: Vec<f64>,
    /// Rows of each class.
    counts: Vec<f64>,
}

/// A linear map to scores; the highest names the label.
#[derive(Debug, Clone, PartialEq)]
pub struct LinearMap {
    /// The features that it reads, in their order.
    pub parts: Vec<Range<usize>>,
    /// The number of labels.
    pub classes: usize,
    /// The weights of the map, `(features, classes)` row by row.
    pub weights: Vec<f32>,
    /// The constant term of each score, one for each label.
    pub bias: Vec<f32>,
}

impl NormalEquations {
    /// Creates the equations of no samples for `width` features and `classes` labels.
    pub fn new(width: usize, classes: usize) -> Self {
        let tiles = tile_pairs(width).map(|(i, j)| vec![0.0; tile(width, i).len() * tile(width, j).len()]).collect();
        Self {
            width,
            classes,
            tiles,
            cross: vec![0.0; width * classes],
            sums: vec![0.0; width],
            counts: vec![0.0; classes],
        }
    }

    /// Adds rows of features `(labels, width)`, row by row. Labels are below the number of classes.
    pub fn add(&mut self, features: &[f32], labels: &[u8]) {
        let (n, width) = (labels.len(), self.width);
        debug_assert_eq!(features.len(), n * width);
        let pairs: Vec<(usize, usize)> = tile_pairs(width).collect();
        self.tiles.par_iter_mut().zip(pairs).for_each(|(sum, (i, j))| {
            let (rows, cols) = (tile(width, i), tile(width, j));
            let mut product = vec![0f32; rows.len() * cols.len()];
            // SAFETY: the product holds `rows` rows of `cols` values; the features hold n rows of `width` values, of
            // which both ranges are columns.
            unsafe {
                let sizes = [rows.len(), n, cols.len()];
                let out = Strided::rows(product.as_mut_ptr(), cols.len());
                let left = Strided::rows(features.as_ptr().add(rows.start), width).transposed();
                let right = Strided::rows(features.as_ptr().add(cols.start), width);
                multiply(out, left, right, sizes, Update::Replace);
            }
            sum.iter_mut().zip(product).for_each(|(s, p)| *s += f64::from(p));
        });
        let classes = self.classes;
        for (row, &label) in features.chunks_exact(width).zip(labels) {
            self.counts[usize::from(label)] += 1.0;
            for ((x, sum), cross) in row.iter().zip(&mut self.sums).zip(self.cross.chunks_exact_mut(classes)) {
                *sum += f64::from(*x);
                cross[usize::from(label)] += f64::from(*x);
            }
        }
    }

    /// The number of labels.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// Rows that were added.
    pub fn rows(&self) -> f64 {
        self.counts.iter().sum()
    }

    /// The ridge regression on these features: (Xc^T Xc + lambda I) W = Xc^T Yc. `None` where there are no rows, or a
    /// sum is not finite.
    pub fn solve(&self, parts: &[Range<usize>], lambda: f64) -> Option<LinearMap> {
        let (gram, cross) = self.centred(parts);
        self.map(parts, solve(gram, cross, self.classes, lambda)?)
    }

    /// Same as [`NormalEquations::solve`] on the features' projection x P, P `(features, columns)`, as a map of the
    /// features themselves.
    pub fn solve_projected(&self, parts: &[Range<usize>], projection: &[f32], lambda: f64) -> Option<LinearMap> {
        let (gram, cross) = self.centred(parts);
        let features: usize = parts.iter().map(Range::len).sum();
        let columns = projection.len() / features.max(1);
        let p: Vec<f64> = projection.iter().map(|v| f64::from(*v)).collect();
        let pt = dense::transposed(&p, features, columns);
        let half = dense::product(&pt, &gram, [columns, features, features]);
        let gram = dense::product(&half, &p, [columns, features, columns]);
        let cross = dense::product(&pt, &cross, [columns, features, self.classes]);
        let solved = solve(gram, cross, self.classes, lambda)?;
        self.map(parts, dense::product(&p, &solved, [features, columns, self.classes]))
    }

    /// Gram matrix and cross products of these features about their means, row by row.
    fn centred(&self, parts: &[Range<usize>]) -> (Vec<f64>, Vec<f64>) {
        let n = self.rows();
        let columns: Vec<usize> = parts.iter().cloned().flatten().collect();
        let mut gram = vec![0.0; columns.len() * columns.len()];
        gram.par_chunks_exact_mut(columns.len().max(1)).zip(&columns).for_each(|(row, &a)| {
            for (entry, &b) in row.iter_mut().zip(&columns) {
                *entry = self.entry(a, b) - self.sums[a] * self.sums[b] / n;
            }
        });
        let cross = columns.iter().flat_map(|&a| {
            let sums = self.cross[a * self.classes..][..self.classes].iter().zip(&self.counts);
            sums.map(move |(sum, count)| sum - self.sums[a] * count / n)
        });
        (gram, cross.collect())
    }

    /// X^T X at (a, b).
    fn entry(&self, a: usize, b: usize) -> f64 {
        let (a, b) = if a / TILE >= b / TILE { (a, b) } else { (b, a) };
        let (i, j) = (a / TILE, b / TILE);
        self.tiles[i * (i + 1) / 2 + j][(a % TILE) * tile(self.width, j).len() + b % TILE]
    }

    fn map(&self, parts: &[Range<usize>], weights: Vec<f64>) -> Option<LinearMap> {
        if weights.iter().any(|w| !w.is_finite()) {
            return None;
        }
        let (n, classes) = (self.rows(), self.classes);
        let mut bias: Vec<f64> = self.counts.iter().map(|c| c / n).collect();
        for (feature, row) in parts.iter().cloned().flatten().zip(weights.chunks_exact(classes)) {
            let mean = self.sums[feature] / n;
            bias.iter_mut().zip(row).for_each(|(b, w)| *b -= mean * w);
        }
        let narrow = |values: Vec<f64>| values.into_iter().map(|v| v as f32).collect();
        Some(LinearMap { parts: parts.to_vec(), classes, weights: narrow(weights), bias: narrow(bias) })
    }
}

impl LinearMap {
    /// The label with the highest score of each row of `width` features; of equal scores the first.
    pub fn labels(&self, features: &[f32], width: usize) -> Vec<u8> {
        let rows = features.len() / width.max(1);
        let mut scores: Vec<f32> = self.bias.iter().copied().cycle().take(rows * self.classes).collect();
        let mut from = 0;
        for part in &self.parts {
            // SAFETY: the scores hold `rows` rows of `classes` values, the features as many of `width` values, of which
            // the part is columns, and the weights one row of `classes` values for each column.
            unsafe {
                let weights = &self.weights[from * self.classes..][..part.len() * self.classes];
                let out = Strided::rows(scores.as_mut_ptr(), self.classes);
                let read = Strided::rows(features.as_ptr().add(part.start), width);
                let weights = Strided::rows(weights.as_ptr(), self.classes);
                multiply(out, read, weights, [rows, part.len(), self.classes], Update::Add(1.0));
            }
            from += part.len();
        }
        scores.chunks_exact(self.classes).map(argmax).collect()
    }
}

fn argmax(scores: &[f32]) -> u8 {
    (1..scores.len()).fold(0, |best, i| if scores[i] > scores[best] { i } else { best }) as u8
}

/// Solves (G + lambda I) W = C for W.
fn solve(mut gram: Vec<f64>, cross: Vec<f64>, classes: usize, lambda: f64) -> Option<Vec<f64>> {
    let d = cross.len() / classes.max(1);
    (0..d).for_each(|i| gram[i * d + i] += lambda);
    // nalgebra's matrices lie column by column: the Gram matrix is symmetric, and the others are transposed
    let solved = cholesky::solve(DMatrix::from_vec(d, d, gram), DMatrix::from_row_slice(d, classes, &cross))?;
    Some(solved.transpose().as_slice().to_vec())
}

fn tile(width: usize, i: usize) -> Range<usize> {
    i * TILE..((i + 1) * TILE).min(width)
}

/// Tiles of the lower triangle, row by row.
fn tile_pairs(width: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..width.div_ceil(TILE)).flat_map(|i| (0..=i).map(move |j| (i, j)))
}

#[cfg(test)]
mod tests {
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    /// These columns as the only part.
    fn one(part: Range<usize>) -> [Range<usize>; 1] {
        [part]
    }

    /// Rows of 5 features with labels that a linear map of them decides.
    fn rows(n: usize) -> (Vec<f32>, Vec<u8>) {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let mut feature = |i: usize| rng.random_range(-1.0..1.0) + if i % 5 == 3 { 2.0 } else { 0.0 };
        let features: Vec<f32> = (0..5 * n).map(&mut feature).collect();
        let labels = features.chunks(5).map(|x| if x[0] + x[1] > 0.3 { 2 } else { u8::from(x[2] > 0.0) }).collect();
        (features, labels)
    }

    /// Against W = (Xc^T Xc + lambda I)^-1 Xc^T Yc by Gauss-Jordan elimination.
    #[test]
    fn the_map_solves_the_centred_ridge_equations() {
        let (n, lambda) = (200, 0.5);
        let (x, y) = rows(n);
        let mut equations = NormalEquations::new(5, 3);
        equations.add(&x[..5 * 80], &y[..80]);
        equations.add(&x[5 * 80..], &y[80..]);
        for parts in [one(0..5).to_vec(), vec![1..2, 3..5]] {
            let map = equations.solve(&parts, lambda).unwrap();
            let columns: Vec<usize> = parts.iter().cloned().flatten().collect();
            let d = columns.len();
            let mean = |c: usize| (0..n).map(|r| f64::from(x[r * 5 + c])).sum::<f64>() / n as f64;
            let at = |r: usize, c: usize| f64::from(x[r * 5 + c]) - mean(c);
            let share = |k: usize| y.iter().filter(|l| usize::from(**l) == k).count() as f64 / n as f64;
            let target = |r: usize, k: usize| f64::from(u8::from(usize::from(y[r]) == k)) - share(k);
            for k in 0..3 {
                // residual of the normal equations
                for (i, &a) in columns.iter().enumerate() {
                    let mut left = lambda * f64::from(map.weights[i * 3 + k]);
                    for (j, &b) in columns.iter().enumerate() {
                        let g: f64 = (0..n).map(|r| at(r, a) * at(r, b)).sum();
                        left += g * f64::from(map.weights[j * 3 + k]);
                    }
                    let right: f64 = (0..n).map(|r| at(r, a) * target(r, k)).sum();
                    assert!((left - right).abs() < 1e-3, "{left} is not {right}");
                }
                let mean_score: f64 = (0..d).map(|i| mean(columns[i]) * f64::from(map.weights[i * 3 + k])).sum();
                assert!((mean_score + f64::from(map.bias[k]) - share(k)).abs() < 1e-5, "mean scores are shares");
            }
        }
    }

    #[test]
    fn labels_that_a_linear_map_decides_are_named() {
        let (x, _) = rows(400);
        let y: Vec<u8> = x.chunks(5).map(|x| u8::from(x[0] > 0.0)).collect();
        let mut equations = NormalEquations::new(5, 2);
        equations.add(&x, &y);
        let right = |map: &LinearMap| map.labels(&x, 5).iter().zip(&y).filter(|(a, b)| a == b).count();
        assert!(right(&equations.solve(&one(0..5), 1e-3).unwrap()) > 380);
        assert!(right(&equations.solve(&one(1..4), 1e-3).unwrap()) < 300, "the deciding features are left out");
    }

    #[test]
    fn the_identity_projects_to_the_same_map() {
        let (x, y) = rows(300);
        let mut equations = NormalEquations::new(5, 3);
        equations.add(&x, &y);
        let identity: Vec<f32> = (0..9).map(|i| if i % 4 == 0 { 1.0 } else { 0.0 }).collect();
        let (plain, projected) =
            (equations.solve(&one(1..4), 0.1), equations.solve_projected(&one(1..4), &identity, 0.1));
        assert_eq!(plain, projected);
    }

    #[test]
    fn nan_features_give_no_ridge_map() {
        let mut equations = NormalEquations::new(2, 2);
        assert_eq!(equations.solve(&one(0..2), 0.1), None, "no rows");
        equations.add(&[1.0, f32::NAN, 2.0, 1.0], &[0, 1]);
        assert_eq!(equations.solve(&one(0..2), 0.1), None);
    }
}
