//! The exponent of a power law along an axis, with an interval over seeds.

use crate::{analysis::statistics::least_squares_slope, experiments::seeds::SeedSummary};

/// Values of an axis that a fit needs.
const MIN_VALUES: usize = 3;

/// The exponent a of y = c x^a: the slope of ln y over ln x by least squares. `None` where fewer than three values of x
/// differ, or a value is not above 0.
pub fn exponent(points: &[(f64, f64)]) -> Option<f64> {
    if points.iter().any(|(x, y)| !(*x > 0.0 && *y > 0.0 && x.is_finite() && y.is_finite())) {
        return None;
    }
    let mut values: Vec<f64> = points.iter().map(|p| p.0).collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    if values.len() < MIN_VALUES {
        return None;
    }
    let (x, y): (Vec<f64>, Vec<f64>) = points.iter().map(|(x, y)| (x.ln(), y.ln())).unzip();
    Some(least_squares_slope(&x, &y))
}

/// One exponent a seed, with mean and interval over them; seeds that have none are left out.
pub fn over_seeds(seeds: &[Vec<(f64, f64)>]) -> Option<SeedSummary> {
    SeedSummary::new(&seeds.iter().filter_map(|points| exponent(points)).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_power_law_has_its_exponent() {
        let law = |a: f64| [512.0, 1024.0, 2048.0, 8192.0].map(|x: f64| (x, 3.0 * x.powf(a))).to_vec();
        assert!((exponent(&law(-0.12)).unwrap() + 0.12).abs() < 1e-12);
        let both = over_seeds(&[law(-0.1), law(-0.2)]).unwrap();
        assert!((both.mean + 0.15).abs() < 1e-12 && both.seeds == 2);
        let (low, high) = both.interval.unwrap();
        assert!(low < -0.2 && high > -0.1, "two seeds say little: {low} to {high}");
    }

    #[test]
    fn too_few_values_or_none_above_zero_have_no_exponent() {
        assert_eq!(exponent(&[(1.0, 2.0), (2.0, 1.0), (2.0, 1.1)]), None);
        assert_eq!(exponent(&[(1.0, 2.0), (2.0, 1.0), (4.0, 0.0)]), None);
        assert_eq!(exponent(&[(0.0, 2.0), (2.0, 1.0), (4.0, 1.0)]), None);
        assert_eq!(over_seeds(&[vec![]]), None);
    }
}
