//! A token as a pulse that comes in: the y >= 0 with E y closest to its embedding, by active sets
//! (Lawson and Hanson 1974, chapter 23). At most d neurons fire.

use super::dense::Dense;
use crate::analysis::statistics::{difference, norm};

/// The largest number of rounds for each row of E; the search then ends with the y that it has.
const MAX_ROUNDS_PER_ROW: usize = 10;

/// Returns the y >= 0 (`n` values) that minimises |E y - v|, for E `(d, n)` and v of `d` values.
pub fn pulse(e: &Dense<f64>, v: &[f64]) -> Vec<f64> {
    let n = e.cols;
    let mut y = vec![0.0; n];
    let mut active: Vec<usize> = vec![];
    let size = norm(v);
    let column = |j: usize| (0..e.rows).map(move |r| e.at(r, j));
    'search: for _ in 0..MAX_ROUNDS_PER_ROW * e.rows.max(1) {
        let residual = difference(v, &e.times(&y));
        let gain = |j: usize| column(j).zip(&residual).map(|(e, r)| e * r).sum::<f64>();
        let length = |j: usize| column(j).map(|e| e * e).sum::<f64>().sqrt();
        let best = (0..n)
            .filter(|j| !active.contains(j))
            .map(|j| (gain(j), j))
            .filter(|(g, j)| *g > 1e-12 * size * length(*j))
            .max_by(|a, b| a.0.total_cmp(&b.0));
        let Some((_, j)) = best else { break };
        if active.len() == e.rows {
            break;
        }
        active.push(j);
        // The best fit of the active ones may put some below zero: step there only until the first
        // reaches zero, drop it, and fit again.
        loop {
            // Columns that depend on each other add nothing.
            let Some(fit) = least_squares(e, &active, v) else { break 'search };
            let step = active
                .iter()
                .zip(&fit)
                .filter(|(_, f)| **f <= 0.0)
                .map(|(j, f)| y[*j] / (y[*j] - f))
                .fold(1.0f64, f64::min);
            active.iter().zip(&fit).for_each(|(j, f)| y[*j] += step * (f - y[*j]));
            if step >= 1.0 {
                break;
            }
            active.retain(|j| {
                let stays = y[*j] > 1e-14 * size;
                if !stays {
                    y[*j] = 0.0;
                }
                stays
            });
        }
    }
    y.iter_mut().for_each(|y| *y = y.max(0.0));
    y
}

/// The y at `active` with E y closest to v: normal equations by Gauss with pivots. `None` where columns are
/// dependent.
fn least_squares(e: &Dense<f64>, active: &[usize], v: &[f64]) -> Option<Vec<f64>> {
    let k = active.len();
    let mut m: Vec<Vec<f64>> = active
        .iter()
        .map(|i| {
            let with = |f: &dyn Fn(usize) -> f64| (0..e.rows).map(|r| e.at(r, *i) * f(r)).sum::<f64>();
            active.iter().map(|j| with(&|r| e.at(r, *j))).chain([with(&|r| v[r])]).collect()
        })
        .collect();
    let scale = (0..k).map(|i| m[i][i]).fold(0.0, f64::max);
    for i in 0..k {
        let pivot = (i..k).max_by(|a, b| m[*a][i].abs().total_cmp(&m[*b][i].abs()))?;
        m.swap(i, pivot);
        if m[i][i].abs() <= 1e-13 * scale {
            return None;
        }
        let (above, below) = m.split_at_mut(i + 1);
        for row in below {
            let factor = row[i] / above[i][i];
            row.iter_mut().zip(&above[i]).skip(i).for_each(|(v, pivot)| *v -= factor * pivot);
        }
    }
    let mut out = vec![0.0; k];
    for i in (0..k).rev() {
        let known: f64 = (i + 1..k).map(|c| m[i][c] * out[c]).sum();
        out[i] = (m[i][k] - known) / m[i][i];
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The conditions that make a non-negative fit the best one (Karush, Kuhn and Tucker).
        #[test]
        fn a_pulse_is_the_best_that_fires_only_forwards(
            entries in prop::collection::vec(-1.0..1.0f64, 6 * 24), v in prop::collection::vec(-1.0..1.0f64, 6),
            n in 2usize..24,
        ) {
            let e = Dense::from_rows(6, n, &entries[..6 * n]).unwrap();
            let y = pulse(&e, &v);
            let residual: Vec<f64> = v.iter().zip(e.times(&y)).map(|(v, ey)| v - ey).collect();
            prop_assert!(y.iter().filter(|y| **y > 0.0).count() <= 6);
            for (j, y) in y.iter().enumerate() {
                let gain: f64 = (0..6).map(|r| e.at(r, j) * residual[r]).sum();
                prop_assert!(*y >= 0.0 && gain < 1e-9, "neuron {} would still help: {}", j, gain);
                prop_assert!(*y == 0.0 || gain.abs() < 1e-9, "neuron {} fires wrongly: {}", j, gain);
            }
        }
    }
}
