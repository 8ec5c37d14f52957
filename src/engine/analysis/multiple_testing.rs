//! Corrections of p-values for multiple testing.

/// Holm's step-down: each p as it counts when the chance of any false one is to be held. Same order as
/// given. Scand. J. Stat. 6 (1979) 65.
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&a, &b| p[a].total_cmp(&p[b]));
    let (mut adjusted, mut least) = (vec![0.0; p.len()], 0.0f64);
    for (rank, &k) in order.iter().enumerate() {
        least = least.max((p.len() - rank) as f64 * p[k]).min(1.0);
        adjusted[k] = least;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected values were worked out by hand; the p-values are not sorted.
    #[test]
    fn corrections_by_hand() {
        let p = [0.04, 0.01, 0.03, 0.5];
        let got = holm(&p);
        got.iter().zip([0.09, 0.04, 0.09, 0.5]).for_each(|(g, w)| assert!((g - w).abs() < 1e-12, "{got:?}"));
        assert!(holm(&[]).is_empty());
    }
}
