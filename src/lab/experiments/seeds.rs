//! The one definition of a mean and a spread over seeds: the mean, the sample standard deviation (n - 1) and the 95%
//! interval of the mean by Student's t, over the seeds that have a value.

use crate::analysis::{
    statistics::mean_sd,
    student::{CONFIDENCE, mean_interval},
};

/// A number over all seeds of a variant.
#[derive(Debug, Clone, PartialEq)]
pub struct SeedSummary {
    pub mean: f64,
    /// Standard deviation over seeds; `None` of one seed, whose spread is not known.
    pub sd: Option<f64>,
    /// The 95% interval of the mean by Student's t; `None` of one seed.
    pub interval: Option<(f64, f64)>,
    pub seeds: usize,
}

impl SeedSummary {
    /// `None` without a value.
    pub fn new(values: &[f64]) -> Option<Self> {
        let (mean, sd) = mean_spread(values);
        let interval = mean_interval(values, CONFIDENCE);
        (!values.is_empty()).then_some(Self { mean, sd, interval, seeds: values.len() })
    }
}

/// The mean, and the standard deviation over seeds: `None` of one seed, whose spread is not known.
pub fn mean_spread(values: &[f64]) -> (f64, Option<f64>) {
    let (mean, sd) = mean_sd(values);
    (mean, (values.len() > 1).then_some(sd))
}

/// The mean and the standard deviation at each step over the seeds that have a value there, as [step, mean, sd]; the standard
/// deviation is NaN where one seed has. The points of each seed must be sorted by step.
pub fn over_seeds(seeds: &[&[(u64, f64)]]) -> Vec<[f64; 3]> {
    let mut at = vec![0usize; seeds.len()];
    let (mut points, mut here) = (vec![], vec![]);
    while let Some(step) = seeds.iter().zip(&at).filter_map(|(s, i)| s.get(*i)).map(|(step, _)| *step).min() {
        here.clear();
        for (seed, i) in seeds.iter().zip(&mut at) {
            if let Some((_, value)) = seed.get(*i).filter(|(found, _)| *found == step) {
                here.push(*value);
                *i += 1;
            }
        }
        let (mean, sd) = mean_spread(&here);
        points.push([step as f64, mean, sd.unwrap_or(f64::NAN)]);
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_counts_the_seeds_that_have_it() {
        let points = over_seeds(&[&[(0, 1.0), (5, 2.0), (9, 3.0)], &[(0, 3.0), (9, 3.0)]]);
        assert_eq!(points.iter().map(|p| [p[0], p[1]]).collect::<Vec<_>>(), [[0.0, 2.0], [5.0, 2.0], [9.0, 3.0]]);
        assert_eq!([points[0][2], points[2][2]], [2f64.sqrt(), 0.0]);
        assert!(points[1][2].is_nan(), "the spread of one seed is not known");
        assert!(over_seeds(&[]).is_empty());
    }

    #[test]
    fn one_seed_has_no_interval_and_none_no_summary() {
        assert_eq!(SeedSummary::new(&[]), None);
        let one = SeedSummary::new(&[2.0]).unwrap();
        assert_eq!((one.mean, one.sd, one.interval, one.seeds), (2.0, None, None, 1));
    }
}
