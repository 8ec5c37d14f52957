//! The long-term behaviour of a trajectory: rest, or a cycle with its period and amplitude.

use super::{FastSlowPlane, Point, SolveLimits, StopReason, Trajectory, solve};

/// The slow time after which a trajectory is taken to have settled, and over which it is then observed.
const SETTLING: f64 = 24.0;
const WATCH_TIME: f64 = 24.0;
/// If x varies by less than this while it is observed, the trajectory is at rest.
const REST_RANGE: f64 = 1e-3;

/// The long run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LongTermBehaviour {
    /// The trajectory comes to rest at this point.
    Rest(Point),
    /// The trajectory follows a limit cycle.
    Cycle {
        /// The period in slow time.
        period: f64,
        /// The difference of the largest and the smallest x.
        amplitude: f64,
    },
    /// The trajectory leaves the shown plane.
    Leaves,
    /// Neither rest nor a whole cycle in the time that is watched.
    Undecided,
}

/// The a of the canard explosion of [`super::Equations::VanDerPol`]: 1 - eps/8 - 3 eps^2/32 + O(eps^3) (Zvonkin and
/// Shubin, Russ. Math. Surv. 39 (1984) 69; Krupa and Szmolyan 2001). Cycles grow from small to relaxation oscillations
/// in an interval of a that is exponentially short in 1/eps about it.
pub fn canard_value(epsilon: f64) -> f64 {
    1.0 - epsilon / 8.0 - 3.0 * epsilon * epsilon / 32.0
}

/// Follows the trajectory through `start` for a long time.
pub fn long_term(plane: &FastSlowPlane, start: Point, epsilon: f64) -> LongTermBehaviour {
    let limits = |until: f64| SolveLimits {
        epsilon,
        tolerance: 1e-7,
        until,
        longest_step: 0.05,
        max_steps: 60_000,
        bounds: plane.bounds().expanded(2.0),
    };
    let settling = solve(plane, start, &limits(SETTLING));
    let settled = match (settling.end, settling.points.last()) {
        (StopReason::TimeIsUp, Some(settled)) => *settled,
        (StopReason::LeftBounds, _) => return LongTermBehaviour::Leaves,
        _ => return LongTermBehaviour::Undecided,
    };
    let watched = solve(plane, settled, &limits(WATCH_TIME));
    if watched.end == StopReason::LeftBounds { LongTermBehaviour::Leaves } else { cycle(&watched) }
}

fn cycle(watched: &Trajectory) -> LongTermBehaviour {
    let xs = || watched.points.iter().map(|p| p[0]);
    let (lowest, highest) = (xs().fold(f64::INFINITY, f64::min), xs().fold(f64::NEG_INFINITY, f64::max));
    let last = watched.points[watched.points.len() - 1];
    if highest - lowest < REST_RANGE {
        return LongTermBehaviour::Rest(last);
    }
    let middle = f64::midpoint(lowest, highest);
    let mut crossed = vec![];
    for (points, times) in watched.points.windows(2).zip(watched.times.windows(2)) {
        let (before, after) = (points[0][0] - middle, points[1][0] - middle);
        if before < 0.0 && after >= 0.0 {
            crossed.push(times[0] + (times[1] - times[0]) * before / (before - after));
        }
    }
    match crossed[..] {
        [first, .., last] => {
            let period = (last - first) / (crossed.len() - 1) as f64;
            LongTermBehaviour::Cycle { period, amplitude: highest - lowest }
        }
        _ => LongTermBehaviour::Undecided,
    }
}
