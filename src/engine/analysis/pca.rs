//! The first principal components of a cloud of points, by power iteration.

use super::statistics::{dot, norm};

/// The direction of the largest variance and the share of the variance that it explains.
#[derive(Debug, Clone, PartialEq)]
pub struct PrincipalComponent {
    /// Unit vector; its entry of largest size is positive.
    pub direction: Vec<f64>,
    /// Share of the total variance along it, 0..1; 0 when the points do not differ.
    pub explained_variance: f64,
}

/// Column means of `rows`, each of length `dims`.
pub fn mean(rows: &[&[f32]], dims: usize) -> Vec<f64> {
    let mut mean = vec![0.0; dims];
    for row in rows {
        mean.iter_mut().zip(*row).for_each(|(m, &v)| *m += f64::from(v) / rows.len() as f64);
    }
    mean
}

/// The scores of every row on the first components, most explained first, each with unit standard deviation over the
/// rows that are fitted: those from `first` on. 0 if these have fewer directions.
pub fn standard_scores(rows: &[&[f32]], first: usize, components: usize) -> Vec<Vec<f64>> {
    let dims = rows.first().map_or(0, |row| row.len());
    let fitted = rows.get(first..).unwrap_or_default();
    let mean = mean(fitted, dims);
    let centre = |row: &&[f32]| row.iter().zip(&mean).map(|(v, m)| f64::from(*v) - m).collect::<Vec<f64>>();
    let mut left: Vec<Vec<f64>> = rows.iter().map(centre).collect();
    let mut scores = vec![vec![]; rows.len()];
    for _ in 0..components {
        let PrincipalComponent { direction, explained_variance } =
            first_component(left.get(first..).unwrap_or_default(), dims);
        let along: Vec<f64> = left.iter().map(|row| dot(row, &direction)).collect();
        let variance = along.iter().skip(first).map(|v| v * v).sum::<f64>() / fitted.len().max(1) as f64;
        let scale = if explained_variance > 0.0 && variance > 0.0 { variance.sqrt().recip() } else { 0.0 };
        for ((row, scores), along) in left.iter_mut().zip(&mut scores).zip(&along) {
            scores.push(along * scale);
            row.iter_mut().zip(&direction).for_each(|(v, d)| *v -= along * d);
        }
    }
    scores
}

/// The first component of rows that are already centred, each of length `dims`. Starts from the column of largest
/// variance and is deterministic; `explained_variance` is the Rayleigh quotient over the trace.
pub fn first_component(centred: &[Vec<f64>], dims: usize) -> PrincipalComponent {
    const MAX_ITERATIONS: usize = 300;
    let mut variance = vec![0.0; dims];
    for row in centred {
        variance.iter_mut().zip(row).for_each(|(s, v)| *s += v * v);
    }
    let total: f64 = variance.iter().sum();
    let widest = (0..dims).fold(0, |best, i| if variance[i] > variance[best] { i } else { best });
    let mut direction = vec![0.0; dims];
    if dims == 0 || total <= 0.0 || !total.is_finite() {
        direction.iter_mut().take(1).for_each(|v| *v = 1.0);
        return PrincipalComponent { direction, explained_variance: 0.0 };
    }
    direction[widest] = 1.0;
    let mut along = variance[widest];
    for _ in 0..MAX_ITERATIONS {
        let mut next = vec![0.0; dims];
        for row in centred {
            let score = dot(row, &direction);
            next.iter_mut().zip(row).for_each(|(n, v)| *n += score * v);
        }
        let size = norm(&next);
        next.iter_mut().for_each(|v| *v /= size);
        direction = next;
        let now = centred.iter().map(|row| dot(row, &direction).powi(2)).sum::<f64>();
        let settled = (now - along).abs() <= 1e-12 * total;
        along = now;
        if settled {
            break;
        }
    }
    PrincipalComponent { direction: with_positive_largest(direction), explained_variance: (along / total).min(1.0) }
}

/// The first `count` components of rows that are already centred, each of length `dims`, largest first;
/// fewer if the rows do not differ in as many directions. By way of the Gram matrix, so that a few long
/// rows cost little: O(n² d).
pub fn components(centred: &[Vec<f64>], dims: usize, count: usize) -> Vec<PrincipalComponent> {
    let n = centred.len();
    let mut gram: Vec<Vec<f64>> = centred.iter().map(|a| centred.iter().map(|b| dot(a, b)).collect()).collect();
    let total: f64 = gram.iter().enumerate().map(|(i, row)| row[i]).sum();
    let mut found = vec![];
    for _ in 0..count.min(n).min(dims) {
        // an eigenvector of the Gram matrix; its eigenvalue is the variance along the direction
        let (vector, value) = leading(&gram, total);
        if value.is_nan() || value <= 1e-12 * total {
            break;
        }
        let mut direction = vec![0.0; dims];
        for (weight, row) in vector.iter().zip(centred) {
            direction.iter_mut().zip(row).for_each(|(d, v)| *d += weight * v);
        }
        let size = norm(&direction);
        direction.iter_mut().for_each(|v| *v /= size);
        for (row, a) in gram.iter_mut().zip(&vector) {
            row.iter_mut().zip(&vector).for_each(|(g, b)| *g -= value * a * b);
        }
        let direction = with_positive_largest(direction);
        found.push(PrincipalComponent { direction, explained_variance: (value / total).min(1.0) });
    }
    found
}

/// The direction of the same line whose entry of largest size is positive.
fn with_positive_largest(mut direction: Vec<f64>) -> Vec<f64> {
    let largest = direction.iter().fold(0.0f64, |best, v| if v.abs() > best.abs() { *v } else { best });
    if largest < 0.0 {
        direction.iter_mut().for_each(|v| *v = -*v);
    }
    direction
}

/// The leading eigenvector (a unit vector) and eigenvalue of a symmetric positive matrix, by power
/// iteration from its longest row.
fn leading(matrix: &[Vec<f64>], total: f64) -> (Vec<f64>, f64) {
    const MAX_ITERATIONS: usize = 300;
    let n = matrix.len();
    let longest = (0..n).fold(0, |best, i| if matrix[i][i] > matrix[best][best] { i } else { best });
    let mut vector = matrix[longest].clone();
    let mut value = 0.0;
    for _ in 0..MAX_ITERATIONS {
        let size = norm(&vector);
        if !(size > 0.0 && size.is_finite()) {
            return (vec![0.0; n], 0.0);
        }
        vector.iter_mut().for_each(|v| *v /= size);
        let next: Vec<f64> = matrix.iter().map(|row| dot(row, &vector)).collect();
        let now = dot(&next, &vector);
        let settled = (now - value).abs() <= 1e-10 * total;
        value = now;
        if settled {
            break;
        }
        vector = next;
    }
    let size = norm(&vector);
    vector.iter_mut().for_each(|v| *v /= size);
    (vector, value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_are_uncorrelated_and_of_unit_spread() {
        let wave = |t: usize, k: f32| (t as f32 * k).sin();
        let rows: Vec<Vec<f32>> =
            (0..400).map(|t| vec![5.0 + 3.0 * wave(t, 0.37), wave(t, 1.1) - 2.0, 0.1 * wave(t, 2.3)]).collect();
        let mut rows: Vec<&[f32]> = rows.iter().map(Vec::as_slice).collect();
        let outside = [900.0f32, 0.0, 0.0];
        rows[0] = &outside;
        let scores = standard_scores(&rows, 1, 2);
        let product = |a: usize, b: usize| scores[1..].iter().map(|s| s[a] * s[b]).sum::<f64>() / 399.0;
        assert!((product(0, 0) - 1.0).abs() < 1e-9 && (product(1, 1) - 1.0).abs() < 1e-9);
        assert!(product(0, 1).abs() < 1e-3 && scores[0][0] > 100.0, "the first row has a score and is not fitted");
        let still: Vec<&[f32]> = vec![&[1.0, 2.0]; 5];
        assert!(standard_scores(&still, 0, 2).iter().flatten().all(|score| *score == 0.0));
    }

    #[test]
    fn a_known_ellipse() {
        // Along (3, 4) / 5 with spread 2, across it with spread 1, symmetric: shares 4/5 and 1/5.
        let (a, b) = ([0.6, 0.8], [-0.8, 0.6]);
        let rows: Vec<Vec<f64>> = [(2.0, 0.0), (-2.0, 0.0), (0.0, 1.0), (0.0, -1.0)]
            .iter()
            .map(|(s, c)| vec![s * a[0] + c * b[0], s * a[1] + c * b[1]])
            .collect();
        let p = first_component(&rows, 2);
        assert!((p.direction[0] - 0.6).abs() < 1e-5 && (p.direction[1] - 0.8).abs() < 1e-5, "{p:?}");
        assert!((p.explained_variance - 0.8).abs() < 1e-9, "{p:?}");
    }

    #[test]
    fn several_components_are_those_of_the_ellipsoid() {
        // spreads 3, 2 and 1 along three directions at right angles of a space of five
        let axes = [[0.6, 0.8, 0.0, 0.0, 0.0], [-0.8, 0.6, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0, 0.0]];
        let mut rows = vec![];
        for (axis, spread) in axes.iter().zip([3.0, 2.0, 1.0]) {
            for sign in [1.0, -1.0] {
                rows.push(axis.iter().map(|a| a * spread * sign).collect::<Vec<f64>>());
            }
        }
        let found = components(&rows, 5, 4);
        assert_eq!(found.len(), 3, "there is no fourth");
        for ((p, axis), share) in found.iter().zip(axes).zip([9.0, 4.0, 1.0]) {
            assert!((p.explained_variance - share / 14.0).abs() < 1e-6, "{p:?}");
            assert!((dot(&p.direction, &axis).abs() - 1.0).abs() < 1e-4, "{p:?}");
        }
        assert!((found[0].explained_variance - first_component(&rows, 5).explained_variance).abs() < 1e-6);
        assert!(components(&[vec![0.0; 3], vec![0.0; 3]], 3, 2).is_empty());
        assert!(components(&[], 3, 2).is_empty());
    }

    #[test]
    fn the_sign_is_fixed_and_nothing_is_explained_where_nothing_differs() {
        let rows = vec![vec![-1.0, -2.0], vec![1.0, 2.0]];
        let flipped: Vec<Vec<f64>> = rows.iter().map(|r| r.iter().map(|v| -v).collect()).collect();
        assert_eq!(first_component(&rows, 2), first_component(&flipped, 2));
        assert_eq!(first_component(&[vec![0.0, 0.0]], 2).explained_variance, 0.0);
        assert_eq!(mean(&[&[1.0, 2.0], &[3.0, 4.0]], 2), [2.0, 3.0]);
    }
}
