//! The statistics of rules: one value per seed, and over all seeds an effect, its interval, and the p values that the claim
//! stands and that it does not. All are pure functions of numbers.

use super::{
    criterion::{Region, Statistic, Verdict},
    result::{PointNumbers, SeedNumbers},
    rule::Rule,
};
use crate::analysis::{
    rank_correlation::spearman,
    statistics::{correlation, least_squares_slope, mean_sd},
    student::{binomial_tail, mean_above, mean_interval, share_interval, t_exceeded, t_tail},
};

/// An effect and its p values, not yet corrected for the number of claims that are tested.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outcome {
    pub effect: f64,
    /// The confidence interval of the effect, at the rule's confidence.
    pub interval: (f64, f64),
    /// The p value of the claim: small if the effect lies in the region where the claim stands. A region with two ends takes
    /// two one-sided tests, each at half of the error, so that p is below the error exactly if the interval lies inside.
    pub p_inside: f64,
    /// The p value of the opposite: small if the effect lies outside of that region.
    pub p_outside: f64,
}

impl Outcome {
    /// The smaller of both p values, which Holm's correction takes.
    pub fn p(&self) -> f64 {
        self.p_inside.min(self.p_outside)
    }

    /// The verdict, where `p` is the corrected value.
    pub fn verdict(&self, p: f64, confidence: f64) -> Verdict {
        match p <= 1.0 - confidence {
            true if self.p_inside <= self.p_outside => Verdict::Stands,
            true => Verdict::DoesNotStand,
            false => Verdict::CannotBeTold,
        }
    }
}

/// The point of a seed by which it is judged: its first, or that of the largest size.
fn judged_point<'a>(rule: &Rule, seed: &'a SeedNumbers) -> Option<&'a PointNumbers> {
    if rule.sizes.is_none() {
        return seed.points.first();
    }
    let sized = seed.points.iter().filter_map(|point| Some((point.at?, point)));
    sized.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, point)| point)
}

/// The value of one seed on the scale of the effect; `None` where it has none, such as the ratio to 0.
pub fn value(rule: &Rule, seed: &SeedNumbers) -> Option<f64> {
    let (x, y): (Vec<f64>, Vec<f64>) = seed.points.iter().filter_map(|p| Some((p.at?, difference(p)))).unzip();
    let first = judged_point(rule, seed)?;
    // the first number is compared with another of the same run, or with the same number of another run
    let other = match (&rule.over, seed.points.get(1)) {
        (Some(_), second) => second.map(|second| (second.number, first.number)),
        (None, _) => first.beside.map(|beside| (first.number, beside)),
    };
    let value = match rule.statistic {
        // a single run has no spread, so both numbers must be present
        Statistic::SpreadRatio => first.beside.map(|_| first.number)?,
        Statistic::Mean => first.number,
        // of an area both numbers are means over steps, whose difference is the mean of the differences
        Statistic::PairedDifference | Statistic::Area => other.map(|(a, b)| a - b)?,
        Statistic::Ratio => {
            let ratio = other.map(|(a, b)| a / b)?;
            return (ratio.is_finite() && ratio > 0.0).then_some(ratio);
        }
        Statistic::Slope => least_squares_slope(&x, &y),
        // the logarithm of a number below 0 is NaN and that of 0 is infinite: either leaves no finite slope
        Statistic::LogSlope => least_squares_slope(&x, &y.iter().map(|y| y.ln()).collect::<Vec<f64>>()),
        Statistic::RankCorrelation => spearman(&x, &y),
        Statistic::Count => f64::from(u8::from(rule.counted?.contains(difference(first)))),
    };
    value.is_finite().then_some(value)
}

/// A number, minus the other if there is one.
pub(super) fn difference(point: &PointNumbers) -> f64 {
    point.number - point.beside.unwrap_or(0.0)
}

/// The values of all seeds that have one.
pub fn values(rule: &Rule, seeds: &[SeedNumbers]) -> Vec<f64> {
    seeds.iter().filter_map(|seed| value(rule, seed)).collect()
}

/// The numbers that [`values`] are compared with. Only a ratio of spreads has them, since a single seed has no spread.
pub fn beside_values(rule: &Rule, seeds: &[SeedNumbers]) -> Vec<f64> {
    if rule.statistic != Statistic::SpreadRatio {
        return vec![];
    }
    let valued = seeds.iter().filter(|seed| value(rule, seed).is_some());
    valued.filter_map(|seed| judged_point(rule, seed)?.beside).collect()
}

/// The outcome of the seeds' values by a rule; `None` for fewer seeds than the rule asks for.
pub fn outcome(rule: &Rule, seeds: &[SeedNumbers]) -> Option<Outcome> {
    let values = values(rule, seeds);
    if values.len() < 2 || (values.len() as u64) < rule.seeds {
        return None;
    }
    outcome_of_values(rule, &values, &beside_values(rule, seeds))
}

/// The outcome of values on the scale of the effect; a ratio of spreads also needs its [`beside_values`]. `None` for
/// fewer than two.
pub fn outcome_of_values(rule: &Rule, values: &[f64], beside: &[f64]) -> Option<Outcome> {
    if values.len() < 2 {
        return None;
    }
    match rule.statistic {
        Statistic::SpreadRatio => spread_outcome(values, beside, rule),
        Statistic::Count => {
            let hits = values.iter().filter(|v| **v > 0.5).count();
            Some(count_outcome(hits, values.len(), rule))
        }
        Statistic::Ratio => {
            let logs: Vec<f64> = values.iter().map(|v| v.ln()).collect();
            // a bound at or below 0 bounds no ratio, and its logarithm is not a number
            let above = rule.stands.above.map(f64::ln).filter(|v| v.is_finite());
            let ends = Region { above, below: rule.stands.below.map(f64::ln) };
            let found = mean_outcome(&logs, &ends, rule.confidence)?;
            let (low, high) = found.interval;
            Some(Outcome { effect: found.effect.exp(), interval: (low.exp(), high.exp()), ..found })
        }
        _ => mean_outcome(values, &rule.stands, rule.confidence),
    }
}

fn mean_outcome(values: &[f64], stands: &Region, confidence: f64) -> Option<Outcome> {
    let negated: Vec<f64> = values.iter().map(|v| -v).collect();
    let (p_inside, p_outside) = region_p_values(stands, |end| (mean_above(values, end), mean_above(&negated, -end)));
    Some(Outcome { effect: mean_sd(values).0, interval: mean_interval(values, confidence)?, p_inside, p_outside })
}

/// Pitman's and Morgan's test of paired spreads, Biometrika 31 (1939) 9 and 13; `None` for fewer than three pairs or a spread
/// of 0.
fn spread_outcome(a: &[f64], b: &[f64], rule: &Rule) -> Option<Outcome> {
    let degrees = a.len().checked_sub(2).filter(|n| *n > 0)? as f64;
    let ratio = mean_sd(a).1 / mean_sd(b).1;
    let rest = 1.0 - correlation(a, b).powi(2);
    if !(ratio.is_finite() && ratio > 0.0 && rest > 0.0) {
        return None;
    }
    let t = t_exceeded((1.0 - rule.confidence) / 2.0, degrees);
    let k = 1.0 + 2.0 * rest * t * t / degrees;
    let width = (k + (k * k - 1.0).sqrt()).sqrt();
    // how far the ratio lies above one that is asked, in t; none lies at or below 0
    let above = |end: f64| match end > 0.0 {
        true => (ratio * ratio - end * end) * degrees.sqrt() / (2.0 * end * ratio * rest.sqrt()),
        false => f64::INFINITY,
    };
    let tails = |end: f64| (t_tail(above(end), degrees), t_tail(-above(end), degrees));
    let (p_inside, p_outside) = region_p_values(&rule.stands, tails);
    Some(Outcome { effect: ratio, interval: (ratio / width, ratio * width), p_inside, p_outside })
}

fn count_outcome(hits: usize, n: usize, rule: &Rule) -> Outcome {
    let more_than = |share: f64| binomial_tail(hits, n, share);
    // misses are counted, because 1 minus the tail of the hits would round to 0 where that tail is nearly 1
    let fewer_than = |share: f64| binomial_tail(n - hits, n, 1.0 - share);
    let (p_inside, p_outside) = region_p_values(&rule.stands, |end| (more_than(end), fewer_than(end)));
    Outcome { effect: hits as f64 / n as f64, interval: share_interval(hits, n, rule.confidence), p_inside, p_outside }
}

/// The p values of lying inside and outside of a region, from those of lying above and below a bound, which `tails` gives: twice
/// the larger of those for inside, twice the smaller of those for outside.
fn region_p_values(stands: &Region, tails: impl Fn(f64) -> (f64, f64)) -> (f64, f64) {
    let above = stands.above.map(&tails);
    let below = stands.below.map(&tails).map(|(above, below)| (below, above));
    let ends = [above, below].into_iter().flatten();
    let (inside, outside) =
        ends.fold((0.0f64, 1.0f64), |(inside, outside), (within, beyond)| (inside.max(within), outside.min(beyond)));
    ((2.0 * inside).min(1.0), (2.0 * outside).min(1.0))
}

#[cfg(test)]
mod tests;
