//! Statistics against numbers worked by hand.

use super::*;
use crate::experiments::claims::small_ledger::{self, varied};

fn rule(statistic: Statistic, above: Option<f64>, below: Option<f64>) -> Rule {
    let counted = Some(Region { above: Some(0.0), below: None });
    Rule { statistic, stands: Region { above, below }, counted, ..small_ledger::rule("statistic = \"mean\"") }
}

/// Returns the numbers of one seed at several values of a setting.
fn along<const N: usize>(points: [(f64, f64); N]) -> SeedNumbers {
    let points = points.map(|(at, number)| PointNumbers { at: Some(at), number, beside: None });
    SeedNumbers { seed: 0, points: points.to_vec() }
}

fn seed(number: f64, beside: Option<f64>) -> SeedNumbers {
    SeedNumbers { seed: 0, points: vec![PointNumbers { at: None, number, beside }] }
}

fn pairs(values: &[(f64, f64)]) -> Vec<SeedNumbers> {
    values.iter().map(|(a, b)| seed(*a, Some(*b))).collect()
}

fn near(got: f64, want: f64) {
    assert!((got - want).abs() < 1e-4, "{got} is not {want}");
}

/// Differences 1, 2, 3: mean 2, standard error 1/sqrt(3), t = 3.4641 with 2 degrees of freedom, two-sided p .0742.
#[test]
fn a_paired_difference_is_students() {
    let seeds = pairs(&[(5.0, 4.0), (3.0, 1.0), (9.0, 6.0)]);
    let found = outcome(&rule(Statistic::PairedDifference, Some(0.0), None), &seeds).unwrap();
    near(found.effect, 2.0);
    near(found.interval.0, -0.4841);
    near(found.interval.1, 4.4841);
    near(found.p_inside, 0.0742);
    assert_eq!((found.p_outside, found.verdict(found.p(), 0.95)), (1.0, Verdict::CannotBeTold));
    assert_eq!(found.verdict(found.p(), 0.9), Verdict::Stands);
    let turned = outcome(&rule(Statistic::PairedDifference, None, Some(0.0)), &seeds).unwrap();
    assert_eq!(turned.verdict(turned.p(), 0.9), Verdict::DoesNotStand);
}

/// A difference that is not seen does not prove equality: the interval must lie inside the margin.
#[test]
fn equivalence_needs_two_one_sided_tests() {
    let verdict = |values: &[(f64, f64)]| {
        let found = outcome(&rule(Statistic::PairedDifference, Some(-1.0), Some(1.0)), &pairs(values)).unwrap();
        let is_inside = found.interval.0 > -1.0 && found.interval.1 < 1.0;
        let verdict = found.verdict(found.p(), 0.95);
        assert_eq!(is_inside, verdict == Verdict::Stands, "{found:?}");
        verdict
    };
    assert_eq!(verdict(&[(0.1, 0.0), (-0.1, 0.0), (0.0, 0.0)]), Verdict::Stands);
    assert_eq!(verdict(&[(1.0, 0.0), (-1.0, 0.0), (0.0, 0.0)]), Verdict::CannotBeTold);
    assert_eq!(verdict(&[(9.1, 0.0), (8.9, 0.0), (9.0, 0.0)]), Verdict::DoesNotStand);
    assert_eq!(verdict(&[(-9.1, 0.0), (-8.9, 0.0), (-9.0, 0.0)]), Verdict::DoesNotStand);
}

/// For two runs of a seed that differ by a setting, the number of the first is subtracted from that of the second.
#[test]
fn a_difference_may_be_that_of_two_runs() {
    let rule = Rule { over: Some(varied("model.pool", &[2, 4])), ..rule(Statistic::PairedDifference, Some(0.0), None) };
    let runs = |a: f64, b: f64| along([(2.0, a), (4.0, b)]);
    assert_eq!(value(&rule, &runs(4.0, 5.0)), Some(1.0));
    let found = outcome(&rule, &[runs(4.0, 5.0), runs(1.0, 3.0), runs(6.0, 9.0)]).unwrap();
    near(found.effect, 2.0);
    near(found.p_inside, 0.0742);
    let ratio = Rule { statistic: Statistic::Ratio, ..rule };
    assert_eq!(value(&ratio, &runs(4.0, 5.0)), Some(1.25));
    assert_eq!(value(&ratio, &seed(4.0, None)), None, "a run is missing");
}

/// Both numbers of an area are means over steps: of courses 4, 2, 0 and 1, 1, 1 that of the differences 3, 1, -1.
#[test]
fn an_area_is_the_difference_of_means_over_steps() {
    let mean = |course: [f64; 3]| course.iter().sum::<f64>() / 3.0;
    let area = rule(Statistic::Area, Some(0.0), None);
    let seeds = pairs(&[(mean([4.0, 2.0, 0.0]), 1.0), (3.0, 1.0), (9.0, 6.0)]);
    assert_eq!(value(&area, &seeds[0]), Some(1.0));
    let found = outcome(&area, &seeds).unwrap();
    near(found.effect, 2.0);
    near(found.p_inside, 0.0742);
    assert_eq!(value(&area, &seed(4.0, None)), None, "one course has no area beside another");
}

/// Ratios 1/2, 1, 2: the geometric mean is 1, and the interval is as wide to both sides in logarithms.
#[test]
fn a_ratio_is_taken_in_logarithms() {
    let seeds = pairs(&[(1.0, 2.0), (3.0, 3.0), (4.0, 2.0)]);
    let found = outcome(&rule(Statistic::Ratio, None, Some(1.5)), &seeds).unwrap();
    near(found.effect, 1.0);
    near(found.interval.0 * found.interval.1, 1.0);
    near(found.interval.1.ln(), 4.302_65 * 2f64.ln() / 3f64.sqrt());
    assert_eq!(outcome(&rule(Statistic::Ratio, None, Some(1.0)), &pairs(&[(1.0, 0.0), (1.0, 1.0), (1.0, 1.0)])), None);
}

/// Uncorrelated pairs whose spreads are as 2 to 1: F = 4 with 2 degrees of freedom, t = (4 - 1) sqrt(2) / (2 * 2) = 1.0607, and
/// the ends of the interval are as far from 2, as ratios.
#[test]
fn spreads_are_compared_by_pitman_and_morgan() {
    let seeds = pairs(&[(2.0, 1.0), (-2.0, 1.0), (2.0, -1.0), (-2.0, -1.0)]);
    let found = outcome(&rule(Statistic::SpreadRatio, Some(1.0), None), &seeds).unwrap();
    near(found.effect, 2.0);
    near(found.p_inside, 2.0 * (0.5 - 1.060_66 / (2.0 * (2.0f64 + 1.125).sqrt())));
    near(found.interval.0 * found.interval.1, 4.0);
    let k = 1.0 + 4.302_65f64.powi(2);
    near(found.interval.1, 2.0 * (k + (k * k - 1.0).sqrt()).sqrt());
    let turned = outcome(&rule(Statistic::SpreadRatio, None, Some(1.0)), &seeds).unwrap();
    near(turned.p_outside, found.p_inside);
    assert_eq!(outcome(&rule(Statistic::SpreadRatio, Some(1.0), None), &pairs(&[(1.0, 0.0); 3])), None);
}

/// Five of five: P(X >= 5) at one half is 1/32.
#[test]
fn a_count_is_binomial() {
    let seeds: Vec<SeedNumbers> = (0..5).map(|_| seed(1.0, None)).collect();
    let found = outcome(&rule(Statistic::Count, Some(0.5), None), &seeds).unwrap();
    near(found.effect, 1.0);
    near(found.p_inside, 2.0 / 32.0);
    near(found.interval.0, 0.4782);
    assert_eq!((found.p_outside, found.interval.1), (1.0, 1.0));
    let none: Vec<SeedNumbers> = (0..9).map(|_| seed(-1.0, None)).collect();
    let found = outcome(&rule(Statistic::Count, Some(0.5), None), &none).unwrap();
    assert_eq!(found.verdict(found.p(), 0.95), Verdict::DoesNotStand);
    // none of nine where .999 are asked for: P(X <= 0) is 1e-27, and not 0
    let found = outcome(&rule(Statistic::Count, Some(0.999), None), &none).unwrap();
    assert!((1e-27..1e-26).contains(&found.p_outside), "{found:?}");
}

#[test]
fn a_slope_and_a_rank_correlation_run_along_a_setting() {
    let seeds = [1.0, 2.0, 3.0].map(|slope| along([1.0, 2.0, 4.0].map(|at| (at, slope * at + 7.0))));
    let found = outcome(&rule(Statistic::Slope, Some(0.0), None), &seeds).unwrap();
    near(found.effect, 2.0);
    near(found.p_inside, 0.0742);
    let found = outcome(&rule(Statistic::RankCorrelation, Some(0.5), None), &seeds).unwrap();
    assert_eq!((found.effect, found.interval, found.p_inside), (1.0, (1.0, 1.0), 0.0));
}

/// 8 / 2^k falls by ln 2 a step; what has no logarithm leaves no value, and no flatter slope.
#[test]
fn the_slope_of_a_logarithm_is_an_exponential_rate() {
    let falling = |last: f64| along([(1.0, 4.0), (2.0, 2.0), (4.0, last)]);
    let rule = rule(Statistic::LogSlope, None, Some(0.0));
    near(value(&rule, &falling(0.5)).unwrap(), -std::f64::consts::LN_2);
    assert_eq!((value(&rule, &falling(0.0)), value(&rule, &falling(-0.5))), (None, None));
    let found = outcome(&rule, &[falling(0.5), falling(0.51), falling(0.49)]).unwrap();
    assert_eq!(found.verdict(found.p(), 0.95), Verdict::Stands);
}

/// A failed run leaves fewer seeds, and a rule with fewer seeds than it requires gives no verdict.
#[test]
fn too_few_seeds_tell_nothing() {
    let rule = rule(Statistic::Mean, Some(0.0), None);
    assert_eq!(outcome(&rule, &[seed(1.0, None), seed(1.0, None)]), None);
    assert_eq!(outcome(&rule, &[seed(1.0, None), seed(1.0, None), seed(f64::NAN, None)]), None);
    assert!(outcome(&rule, &[seed(1.0, None), seed(1.5, None), seed(1.25, None)]).is_some());
}
