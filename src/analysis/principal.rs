//! The first principal component of a cloud of points, by power iteration.

/// Direction of largest variance and what it explains.
#[derive(Debug, Clone, PartialEq)]
pub struct Principal {
    /// Unit vector; its entry of largest size is positive.
    pub direction: Vec<f64>,
    /// Share of the total variance along it, 0..1; 0 when the points do not differ.
    pub explained: f64,
}

/// Column means of `rows`, each of length `dims`.
pub fn mean(rows: &[&[f32]], dims: usize) -> Vec<f64> {
    let mut mean = vec![0.0; dims];
    for row in rows {
        for (m, &v) in mean.iter_mut().zip(*row) {
            *m += f64::from(v) / rows.len() as f64;
        }
    }
    mean
}

/// Of rows that are already centred, each of length `dims`. Starts from the column of largest variance
/// and is deterministic; `explained` is the Rayleigh quotient over the trace.
pub fn first_component(centred: &[Vec<f64>], dims: usize) -> Principal {
    const ROUNDS: usize = 300;
    let mut variance = vec![0.0; dims];
    for row in centred {
        for (s, v) in variance.iter_mut().zip(row) {
            *s += v * v;
        }
    }
    let total: f64 = variance.iter().sum();
    let widest = (0..dims).fold(0, |best, i| if variance[i] > variance[best] { i } else { best });
    let mut direction = vec![0.0; dims];
    if dims == 0 || total <= 0.0 || !total.is_finite() {
        direction.iter_mut().take(1).for_each(|v| *v = 1.0);
        return Principal { direction, explained: 0.0 };
    }
    direction[widest] = 1.0;
    let mut along = variance[widest];
    for _ in 0..ROUNDS {
        let mut next = vec![0.0; dims];
        for row in centred {
            let score = project(row, &direction);
            next.iter_mut().zip(row).for_each(|(n, v)| *n += score * v);
        }
        let size = next.iter().map(|v| v * v).sum::<f64>().sqrt();
        next.iter_mut().for_each(|v| *v /= size);
        direction = next;
        let now = centred.iter().map(|row| project(row, &direction).powi(2)).sum::<f64>();
        let settled = (now - along).abs() <= 1e-12 * total;
        along = now;
        if settled {
            break;
        }
    }
    let largest = direction.iter().fold(0.0f64, |best, v| if v.abs() > best.abs() { *v } else { best });
    if largest < 0.0 {
        direction.iter_mut().for_each(|v| *v = -*v);
    }
    Principal { direction, explained: (along / total).min(1.0) }
}

/// Coordinate of a row along a direction.
pub fn project(row: &[f64], direction: &[f64]) -> f64 {
    row.iter().zip(direction).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert!((p.explained - 0.8).abs() < 1e-9, "{p:?}");
    }

    #[test]
    fn the_sign_is_fixed_and_nothing_is_explained_where_nothing_differs() {
        let rows = vec![vec![-1.0, -2.0], vec![1.0, 2.0]];
        let flipped: Vec<Vec<f64>> = rows.iter().map(|r| r.iter().map(|v| -v).collect()).collect();
        assert_eq!(first_component(&rows, 2), first_component(&flipped, 2));
        assert_eq!(first_component(&[vec![0.0, 0.0]], 2).explained, 0.0);
        assert_eq!(mean(&[&[1.0, 2.0], &[3.0, 4.0]], 2), [2.0, 3.0]);
    }
}
