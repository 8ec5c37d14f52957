//! Trajectories of a stiff system: Rodas3, a Rosenbrock method of order 3 that is L-stable and stiffly accurate, with
//! steps chosen by its embedded error estimate (Sandu et al., Atmospheric Environment 31 (1997) 3459; coefficients in
//! the form of Hairer and Wanner, Solving Ordinary Differential Equations II, section IV.7). An explicit method would
//! need steps of the size of eps all along the slow manifold; this one does not. It draws nothing.

use super::system::{Bounds, FastSlowPlane, Point};

const GAMMA: f64 = 0.5;
const MAX_GROWTH: f64 = 5.0;
const MIN_GROWTH: f64 = 0.2;
/// The smallest step as a share of the time span.
const MIN_STEP_SHARE: f64 = 1e-15;

/// The parameters of a trajectory's solve, with the limits where it ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SolveLimits {
    /// The ratio eps of the two timescales.
    pub epsilon: f64,
    /// Error of a step, absolute and relative to the state.
    pub tolerance: f64,
    /// The slow time at which the trajectory ends.
    pub until: f64,
    /// Longest step, in slow time.
    pub longest_step: f64,
    /// The largest number of attempted steps.
    pub max_steps: usize,
    /// The bounds; a trajectory that leaves them ends.
    pub bounds: Bounds,
}

/// The reason why a trajectory ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// The end of the time span was reached.
    EndTime,
    /// The trajectory left its bounds.
    LeftBounds,
    /// The largest number of steps was reached, or even the smallest step is not accurate enough.
    StepLimit,
}

/// Points of a trajectory, one an accepted step.
#[derive(Debug, Clone, PartialEq)]
pub struct Trajectory {
    /// The time of each point.
    pub times: Vec<f64>,
    /// The state (x, y) at each time.
    pub points: Vec<Point>,
    /// The reason why the trajectory ends.
    pub end: StopReason,
}

/// The trajectory through `start`.
pub fn solve(plane: &FastSlowPlane, start: Point, limits: &SolveLimits) -> Trajectory {
    solve_moving(plane, start, limits, [1.0, 1.0])
}

/// Same as [`solve`], with the velocities of x and y times `moves`: 0 holds a variable.
pub(super) fn solve_moving(plane: &FastSlowPlane, start: Point, limits: &SolveLimits, moves: [f64; 2]) -> Trajectory {
    let mut trajectory = Trajectory { times: vec![0.0], points: vec![start], end: StopReason::EndTime };
    let (mut time, mut point) = (0.0, start);
    let mut step = (1e-3 * limits.epsilon).min(limits.longest_step);
    for _ in 0..limits.max_steps {
        if time >= limits.until {
            return trajectory;
        }
        step = step.min(limits.longest_step).min(limits.until - time);
        let (next, error) = rodas3(plane, point, step, limits, moves);
        let growth = if error.is_finite() { 0.9 * error.max(1e-10).powf(-1.0 / 3.0) } else { MIN_GROWTH };
        if error <= 1.0 {
            (time, point) = (time + step, next);
            trajectory.times.push(time);
            trajectory.points.push(point);
            if !limits.bounds.contains(point) {
                trajectory.end = StopReason::LeftBounds;
                return trajectory;
            }
        } else if step < MIN_STEP_SHARE * limits.until {
            break;
        }
        step *= growth.clamp(MIN_GROWTH, MAX_GROWTH);
    }
    if time < limits.until {
        trajectory.end = StopReason::StepLimit;
    }
    trajectory
}

/// One step: the next point, and the estimated error in units of the tolerance (NaN where there is no value).
fn rodas3(plane: &FastSlowPlane, p: Point, step: f64, limits: &SolveLimits, moves: [f64; 2]) -> (Point, f64) {
    let (epsilon, [fast, slow]) = (limits.epsilon, moves);
    // dx/dt and dy/dt in slow time
    let velocity = |p: Point| [fast * plane.f(p) / epsilon, slow * plane.g(p)];
    let j = plane.jacobian(p);
    // I / (step gamma) - J, inverted by Cramer's rule.
    let diagonal = 1.0 / (step * GAMMA);
    let [a, b] = [diagonal - fast * j.f_x / epsilon, -fast * j.f_y / epsilon];
    let [c, d] = [-slow * j.g_x, diagonal - slow * j.g_y];
    let determinant = a * d - b * c;
    let solved = |[u, v]: Point| [(d * u - b * v) / determinant, (a * v - c * u) / determinant];
    let sum = |terms: &[(f64, Point)]| {
        terms.iter().fold([0.0; 2], |[x, y], (weight, [u, v])| [x + weight * u, y + weight * v])
    };
    let slope = velocity(p);
    let k1 = solved(slope);
    let k2 = solved(sum(&[(1.0, slope), (4.0 / step, k1)]));
    let third = sum(&[(1.0, p), (2.0, k1)]);
    let k3 = solved(sum(&[(1.0, velocity(third)), (1.0 / step, k1), (-1.0 / step, k2)]));
    let fourth = sum(&[(1.0, third), (1.0, k3)]);
    let slope = velocity(fourth);
    let k4 = solved(sum(&[(1.0, slope), (1.0 / step, k1), (-1.0 / step, k2), (-8.0 / (3.0 * step), k3)]));
    let next = sum(&[(1.0, fourth), (1.0, k4)]);
    let share = |k: usize| k4[k] / (limits.tolerance * (1.0 + p[k].abs().max(next[k].abs())));
    (next, ((share(0).powi(2) + share(1).powi(2)) / 2.0).sqrt())
}

/// The slow time after which a trajectory is taken to have settled, and over which it is then observed.
const SETTLING_TIME: f64 = 24.0;
const WATCH_TIME: f64 = 24.0;
/// If x varies by less than this while it is observed, the trajectory is at rest.
const REST_RANGE: f64 = 1e-3;

/// The long run.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs, reason = "the docs of the variants name their fields")]
pub enum LongTermBehaviour {
    /// The trajectory comes to rest at this point.
    Rest(Point),
    /// The trajectory follows a limit cycle: its period in slow time, and the difference of the largest and the smallest x.
    Cycle { period: f64, amplitude: f64 },
    /// The trajectory leaves the shown plane.
    Leaves,
    /// The trajectory neither rests nor completes a cycle in the time that is watched.
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
    let settling = solve(plane, start, &limits(SETTLING_TIME));
    let settled = match (settling.end, settling.points.last()) {
        (StopReason::EndTime, Some(settled)) => *settled,
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
