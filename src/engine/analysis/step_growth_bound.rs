//! The number of steps a solver needs from 0 to 1 for no other reason than that steps grow at most tenfold.

/// The largest factor by which a step may grow.
const GROWTH: f64 = 10.0;

/// The shortest first step from which `steps` steps reach the end: h (1 + 10 + ... + 10^(k-1)) >= 1, that is
/// h >= 9 / (10^k - 1).
pub fn min_first_step(steps: u32) -> f64 {
    (GROWTH - 1.0) / (GROWTH.powi(steps as i32) - 1.0)
}

/// The fewest steps from a first one of `h` on; 0 where there is no such number.
pub fn min_steps(h: f64) -> u32 {
    if !(h > 0.0 && h.is_finite()) {
        return 0;
    }
    let (mut steps, mut reached, mut next) = (0, 0.0, h);
    // summed as a solver does, with a tolerance for the rounding of the last step
    while reached < 1.0 - 1e-12 {
        reached += next;
        next *= GROWTH;
        steps += 1;
    }
    steps
}

/// The numbers of one solve that the bound on growth depends on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepCount {
    /// The length of the first step.
    pub h_init: f64,
    /// The number of accepted steps.
    pub accepted: usize,
    /// The number of rejected steps.
    pub rejected: usize,
}

/// Returns true if the bound on growth alone explains that two solves differ in their steps: their minimum numbers of
/// steps differ by as much as their actual ones, and as many steps were rejected in both.
pub fn explains(before: StepCount, after: StepCount) -> bool {
    let predicted = i64::from(min_steps(after.h_init)) - i64::from(min_steps(before.h_init));
    let taken = after.accepted as i64 - before.accepted as i64;
    taken != 0 && predicted == taken && before.rejected == after.rejected
}

#[cfg(test)]
mod tests {
    use super::*;

    /// y' = c from y = 1 at tolerance 1e-3: dopri5 begins with (0.01 / (500 c))^(1/5).
    fn first_step(c: f64) -> f64 {
        (0.01 / (500.0 * c)).powf(0.2)
    }

    #[test]
    fn a_constant_field_takes_one_step_more_between_3_20_and_3_25() {
        assert_eq!(min_steps(first_step(3.20)), 2);
        assert_eq!(min_steps(first_step(3.25)), 3);
    }

    #[test]
    fn min_first_steps_reach_the_end_by_tenfold_growth() {
        assert_eq!((min_first_step(1), min_first_step(2)), (1.0, 1.0 / 11.0));
        for k in 1..8 {
            let reach = |h: f64| (0..k).map(|i| h * 10f64.powi(i as i32)).sum::<f64>();
            let (above, below) = (min_first_step(k) * 1.000_001, min_first_step(k) * 0.999_999);
            assert!(reach(above) > 1.0 && reach(below) < 1.0);
            assert_eq!((min_steps(above), min_steps(below)), (k, k + 1));
            assert_eq!(min_steps(min_first_step(k) * (1.0 - 1e-13)), k, "short by rounding alone");
        }
    }

    #[test]
    fn only_step_counts_that_differ_by_growth_alone_are_explained() {
        let low = StepCount { h_init: first_step(3.20), accepted: 2, rejected: 0 };
        let high = StepCount { h_init: first_step(3.25), accepted: 3, rejected: 0 };
        assert!(explains(low, high) && explains(high, low));
        assert!(!explains(low, low), "nothing happened");
        assert!(!explains(low, StepCount { accepted: 4, ..high }), "one step more than predicted");
        assert!(!explains(low, StepCount { rejected: 1, ..high }), "a rejection had a part");
        assert!(!explains(low, StepCount { accepted: 3, ..low }), "the same least number of steps");
        assert_eq!([min_steps(0.0), min_steps(f64::NAN)], [0; 2]);
    }
}
