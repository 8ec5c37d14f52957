//! Tests if two classes of points are linearly separable: ridge regression on the signs, judged on groups that it was
//! not fitted to.

use nalgebra::DMatrix;

use super::{
    cholesky,
    statistics::{self, dot, mean_of},
};

/// The share of left-out points that fell on the right side.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProbeAccuracy {
    /// The number of left-out points on the right side.
    pub right: usize,
    /// The number of left-out points.
    pub total: usize,
}

/// Leaves out one of `groups` at a time (points that belong together are never on both sides), fits the
/// rest, and counts the left-out points on the right side. `labels` are the sides; `ridge` is the
/// penalty as a share of the mean squared length of the centred points. Solved in the dual, so that
/// many dimensions cost little: points n, dims d, O(groups (n³ / 3)) + O(n² d).
pub fn leave_group_out(points: &[Vec<f64>], labels: &[bool], groups: &[usize], ridge: f64) -> ProbeAccuracy {
    let n = points.len();
    debug_assert!(labels.len() == n && groups.len() == n);
    let gram: Vec<Vec<f64>> = points.iter().map(|a| points.iter().map(|b| dot(a, b)).collect()).collect();
    let mut kinds = groups.to_vec();
    kinds.sort_unstable();
    kinds.dedup();
    let mut accuracy = ProbeAccuracy { right: 0, total: 0 };
    for left_out in kinds {
        let (test, train): (Vec<usize>, Vec<usize>) = (0..n).partition(|&i| groups[i] == left_out);
        let Some(fit) = Fit::new(&gram, &train, labels, ridge) else { continue };
        for i in test {
            accuracy.total += 1;
            // exactly on the cut is on neither side
            let score = fit.score(&gram, &train, i);
            accuracy.right += usize::from(score != 0.0 && (score > 0.0) == labels[i]);
        }
    }
    accuracy
}

struct Fit {
    /// A weight for each fitted point.
    dual: Vec<f64>,
    /// Means of the Gram matrix over the fitted points: of each row, and of all.
    offset: f64,
    bias: f64,
}

impl Fit {
    fn new(gram: &[Vec<f64>], train: &[usize], labels: &[bool], ridge: f64) -> Option<Self> {
        let m = train.len();
        if m < 2 {
            return None;
        }
        let row_mean: Vec<f64> = train.iter().map(|&i| mean(gram, i, train)).collect();
        let all = statistics::mean(&row_mean);
        let sign = |i: usize| if labels[i] { 1.0 } else { -1.0 };
        let bias = mean_of(train.iter().map(|&i| sign(i)));
        // centred Gram matrix: of the points less their mean
        let mut k = DMatrix::from_fn(m, m, |a, b| gram[train[a]][train[b]] - row_mean[a] - row_mean[b] + all);
        let size = k.trace() / m as f64;
        (0..m).for_each(|a| k[(a, a)] += ridge * size + f64::MIN_POSITIVE);
        let wanted = DMatrix::from_fn(m, 1, |a, _| sign(train[a]) - bias);
        // identical points cannot be separated
        let dual = if size > 0.0 { cholesky::solve(k, wanted)?.as_slice().to_vec() } else { vec![0.0; m] };
        let offset = dual.iter().zip(&row_mean).map(|(w, r)| w * (r - all)).sum::<f64>();
        Some(Self { dual, offset, bias })
    }

    fn score(&self, gram: &[Vec<f64>], train: &[usize], i: usize) -> f64 {
        let total: f64 = self.dual.iter().sum();
        let along: f64 = self.dual.iter().zip(train).map(|(w, &j)| w * gram[i][j]).sum();
        along - self.offset - total * mean(gram, i, train) + self.bias
    }
}

fn mean(gram: &[Vec<f64>], i: usize, over: &[usize]) -> f64 {
    mean_of(over.iter().map(|&j| gram[i][j]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(i: usize) -> f64 {
        ((i as f64 * 12.9898).sin() * 43_758.545_3).fract()
    }

    #[test]
    fn linearly_separable_points_are_all_classified_right() {
        let points: Vec<Vec<f64>> = (0..40)
            .map(|i| {
                let side = if i % 2 == 0 { 1.0 } else { -1.0 };
                vec![100.0 + noise(i), side * 0.5 + 0.2 * noise(i + 99), noise(i + 7)]
            })
            .collect();
        let labels: Vec<bool> = (0..40).map(|i| i % 2 == 0).collect();
        let groups: Vec<usize> = (0..40).map(|i| i / 4).collect();
        assert_eq!(leave_group_out(&points, &labels, &groups, 1e-3), ProbeAccuracy { right: 40, total: 40 });
    }

    #[test]
    fn equal_points_with_both_labels_are_not_separated() {
        // each pair is one point with both labels, so that any prediction is right half of the time at most
        let points: Vec<Vec<f64>> = (0..40).map(|i| vec![noise(i / 2), noise(i / 2 + 50)]).collect();
        let labels: Vec<bool> = (0..40).map(|i| i % 2 == 0).collect();
        let groups: Vec<usize> = (0..40).map(|i| i / 2).collect();
        let v = leave_group_out(&points, &labels, &groups, 1e-3);
        assert!(v.total == 40 && v.right <= 20, "{v:?}");
        let same = vec![vec![1.0, 2.0]; 4];
        let v = leave_group_out(&same, &labels[..4], &[0, 0, 1, 1], 1e-3);
        assert!(v.right <= 2, "{v:?}");
    }
}
