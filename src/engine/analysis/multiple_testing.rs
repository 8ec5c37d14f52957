//! Corrections of p-values for how many there are.

/// Holm's step-down: each p as it counts when the chance of any false one is to be held. Same order as
/// given. Scand. J. Stat. 6 (1979) 65.
pub fn holm(p: &[f64]) -> Vec<f64> {
    let order = ascending(p);
    let (mut adjusted, mut least) = (vec![0.0; p.len()], 0.0f64);
    for (rank, &k) in order.iter().enumerate() {
        least = least.max((p.len() - rank) as f64 * p[k]).min(1.0);
        adjusted[k] = least;
    }
    adjusted
}

/// Benjamini and Hochberg's step-up: each p as it counts when the share of false ones is to be held.
/// Same order as given. J. R. Stat. Soc. B 57 (1995) 289.
pub fn benjamini_hochberg(p: &[f64]) -> Vec<f64> {
    let order = ascending(p);
    let (mut adjusted, mut most) = (vec![0.0; p.len()], 1.0f64);
    for (rank, &k) in order.iter().enumerate().rev() {
        most = most.min(p.len() as f64 / (rank as f64 + 1.0) * p[k]);
        adjusted[k] = most;
    }
    adjusted
}

fn ascending(p: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&a, &b| p[a].total_cmp(&p[b]));
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Worked by hand, in no order.
    #[test]
    fn corrections_by_hand() {
        let p = [0.04, 0.01, 0.03, 0.5];
        let near = |got: Vec<f64>, want: [f64; 4]| {
            got.iter().zip(want).for_each(|(g, w)| assert!((g - w).abs() < 1e-12, "{got:?}"));
        };
        near(holm(&p), [0.09, 0.04, 0.09, 0.5]);
        near(benjamini_hochberg(&p), [0.16 / 3.0, 0.04, 0.16 / 3.0, 0.5]);
        assert!(holm(&[]).is_empty());
    }
}
