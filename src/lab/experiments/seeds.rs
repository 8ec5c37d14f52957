//! The one definition of a mean and a spread over seeds: the mean, the sample standard deviation (n - 1) and the 95%
//! interval of the mean by Student's t, over the seeds that have a value; and the one way in which they are written.

use super::short_number::{short, with_spread};
use crate::{
    analysis::{
        statistics::mean_sd,
        student::{CONFIDENCE, mean_interval},
    },
    labs::headline::Digits,
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
    /// Summarises the values over seeds; `None` without a value.
    pub fn new(values: &[f64]) -> Option<Self> {
        let (mean, sd) = mean_spread(values);
        let interval = mean_interval(values, CONFIDENCE);
        (!values.is_empty()).then_some(Self { mean, sd, interval, seeds: values.len() })
    }

    /// "0.50 ± 0.71", the mean with the standard deviation over seeds; of a paired difference "0.50 [-5.87, 6.87]", with the
    /// interval, which alone says whether the difference is known from 0; of one seed the value. `digits` are those of the
    /// number, which without them is a [`short`] one.
    pub fn label(&self, digits: Option<Digits>, is_paired: bool) -> String {
        let written = |value: f64| digits.map_or_else(|| short(value), |digits| digits.format(value));
        match (self.sd, self.interval) {
            (None, _) => written(self.mean),
            (Some(_), Some((low, high))) if is_paired => {
                format!("{} [{}, {}]", written(self.mean), written(low), written(high))
            }
            (Some(sd), _) => with_spread(self.mean, sd, digits),
        }
    }
}

/// The meaning of the spreads in such labels; `None` where there is none. `are_paired`: of each number with a spread whether
/// it is a paired difference.
pub fn spread_legend(are_paired: impl Iterator<Item = bool>) -> Option<String> {
    let (mut has_sd, mut has_interval) = (false, false);
    for is_paired in are_paired {
        *(if is_paired { &mut has_interval } else { &mut has_sd }) = true;
    }
    let sd = has_sd.then_some("mean ± standard deviation over seeds");
    let interval = has_interval.then_some("a difference with the 95% interval of its mean over seeds [low, high]");
    let known: Vec<&str> = sd.into_iter().chain(interval).collect();
    (!known.is_empty()).then(|| known.join("; "))
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

    #[test]
    fn a_label_has_the_interval_of_a_paired_difference_and_else_the_deviation() {
        let [one, two] = [&[2.0][..], &[0.0, 1.0]].map(|values| SeedSummary::new(values).unwrap());
        let digits = Some(Digits::Decimals(2));
        assert_eq!([one.label(digits, false), one.label(digits, true)], ["2.00", "2.00"]);
        assert_eq!([two.label(digits, false), two.label(digits, true)], ["0.50 ± 0.71", "0.50 [-5.85, 6.85]"]);
        assert_eq!([two.label(None, false), two.label(None, true)], ["0.5 ± 0.7071", "0.5 [-5.853, 6.853]"]);
    }
}
