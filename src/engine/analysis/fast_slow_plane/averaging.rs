//! Averaging against splitting: two ways to follow a fast-slow system with long steps, and how far each is off.
//!
//! Averaging is the heterogeneous multiscale method of E and Engquist (Commun. Math. Sci. 1 (2003) 87) where the fast
//! variable comes to rest: its average is the rest h0(y) of f(h0, y) = 0, and the slow variable moves by
//!
//! dy/dt = g(h0(y), y).
//!
//! It is off by O(eps), however it is solved (Tikhonov 1952; Pavliotis and Stuart, Multiscale Methods, 2008, chapter 15).
//! Lie splitting moves x alone for a step H with y held, then y alone with x held. It is off by O(H), whatever eps is,
//! and pays for every fast step. Section 2.3 of arXiv 2606.16730 contrasts the two: pooling a block, and counting updates.

use super::{
    critical_manifold::CriticalManifold,
    fenichel::{MAX_FITTED_EPS, MAX_TIME, critical_x, epsilons, limits, longest_stretch},
    system::{Bounds, FastSlowPlane, Point},
    trajectory::{SolveLimits, StopReason, solve, solve_moving},
};
use crate::analysis::statistics::least_squares_slope;

/// The numbers of steps of the two splittings.
pub const SPLITTING_STEPS: [usize; 2] = [8, 64];
/// Steps of the averaged system, whose own error is far below eps.
const AVERAGED_STEPS: usize = 256;

/// Distances from the solution at the end of the time, in the plane.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MultiscaleError {
    /// The ratio eps of the two timescales.
    pub epsilon: f64,
    /// The value for the averaged system, with x at rest.
    pub averaged: f64,
    /// Lie splitting, by the numbers of steps of [`SPLITTING_STEPS`].
    pub splitting: [f64; 2],
}

/// Errors for eps from 1e-3 to 1; each begins at the same point, where x is at rest.
#[derive(Debug, Clone, PartialEq)]
pub struct MultiscaleErrors {
    /// The errors, one entry for each eps.
    pub points: Vec<MultiscaleError>,
    /// The slow time after which they are taken.
    pub time: f64,
    /// d log(error) / d log(eps) of averaging, fitted to the eps up to [`MAX_FITTED_EPS`]; the theorem predicts 1.
    pub averaged_slope: f64,
    /// The order in H of the splitting at the smallest eps that has a solution, from its two numbers of steps; the
    /// theorem predicts 1. Not finite where an error is 0.
    pub splitting_order: f64,
}

/// Solves along the longest stretch of a stable branch for each eps. `None` where no stable branch has such a stretch, or
/// too few eps have a solution there.
pub fn multiscale_errors(
    plane: &FastSlowPlane,
    bounds: &Bounds,
    manifold: &CriticalManifold,
) -> Option<MultiscaleErrors> {
    let [start, end] = longest_stretch(plane, manifold)?;
    let longest = time_along(plane, [start, end])?;
    let path = averaged(plane, start, longest / AVERAGED_STEPS as f64, AVERAGED_STEPS);
    let is_on_stretch = |p: &&Point| (p[1] - start[1]).abs() <= (end[1] - start[1]).abs();
    let steps = path.iter().take_while(is_on_stretch).count().checked_sub(1)?;
    let (time, reached) = (steps as f64 * longest / AVERAGED_STEPS as f64, path[steps]);
    if time <= 0.0 {
        return None;
    }
    let at = |epsilon: f64| -> Option<MultiscaleError> {
        let limits = limits(epsilon, time, bounds);
        let exact = solve(plane, start, &limits);
        let exact = exact.points.last().copied().filter(|_| exact.end == StopReason::EndTime)?;
        let off = |[x, y]: Point| (x - exact[0]).hypot(y - exact[1]);
        let [coarse, fine] = SPLITTING_STEPS.map(|steps| {
            let step = SolveLimits { until: time / steps as f64, tolerance: 1e-8, ..limits };
            lie_splitting(plane, start, &step, steps).map(off)
        });
        let found = MultiscaleError { epsilon, averaged: off(reached), splitting: [coarse?, fine?] };
        [found.averaged, found.splitting[0], found.splitting[1]].iter().all(|e| e.is_finite()).then_some(found)
    };
    let points: Vec<MultiscaleError> = epsilons().filter_map(at).collect();
    let fitted = points.iter().filter(|p| p.epsilon <= MAX_FITTED_EPS && p.averaged > 0.0);
    let (x, y): (Vec<f64>, Vec<f64>) = fitted.map(|p| (p.epsilon.ln(), p.averaged.ln())).unzip();
    let averaged_slope = least_squares_slope(&x, &y);
    let [coarse, fine] = points.first()?.splitting;
    let splitting_order = (coarse / fine).ln() / (SPLITTING_STEPS[1] as f64 / SPLITTING_STEPS[0] as f64).ln();
    (points.len() > 3).then_some(MultiscaleErrors { points, time, averaged_slope, splitting_order })
}

/// The averaged system from a point near f = 0 on, by Runge and Kutta's method of order 4: the start at rest, and the
/// state after each step. It ends early where x has no rest.
pub fn averaged(plane: &FastSlowPlane, start: Point, step: f64, steps: usize) -> Vec<Point> {
    let rest = |x: f64, y: f64| critical_x(plane, [x, y]).map(|x| [x, y]);
    let mut path: Vec<Point> = rest(start[0], start[1]).into_iter().collect();
    let next = |[x, y]: Point| -> Option<Point> {
        let slope = |y: f64| rest(x, y).map(|p| plane.g(p));
        let first = slope(y)?;
        let second = slope(y + step / 2.0 * first)?;
        let third = slope(y + step / 2.0 * second)?;
        let fourth = slope(y + step * third)?;
        rest(x, y + step / 6.0 * (first + 2.0 * second + 2.0 * third + fourth))
    };
    while let Some(p) = path.last().copied().filter(|_| path.len() <= steps).and_then(next) {
        path.push(p);
    }
    path
}

/// Lie splitting: `steps` times x alone and then y alone, each for the time of `step`. `None` if a part has no
/// solution.
pub fn lie_splitting(plane: &FastSlowPlane, start: Point, step: &SolveLimits, steps: usize) -> Option<Point> {
    let alone = |from: Point, moves: [f64; 2]| {
        let part = solve_moving(plane, from, step, moves);
        part.points.last().copied().filter(|_| part.end == StopReason::EndTime)
    };
    (0..steps).try_fold(start, |p, _| alone(alone(p, [1.0, 0.0])?, [0.0, 1.0]))
}

/// The time that the averaged system takes along a stretch, by the midpoint rule, but [`MAX_TIME`] at most.
fn time_along(plane: &FastSlowPlane, [start, end]: [Point; 2]) -> Option<f64> {
    const SUBSTEPS: u32 = 64;
    let (mut x, mut time) = (start[0], 0.0);
    let width = (end[1] - start[1]) / f64::from(SUBSTEPS);
    for part in 0..SUBSTEPS {
        let y = start[1] + (f64::from(part) + 0.5) * width;
        x = critical_x(plane, [x, y])?;
        time += width / plane.g([x, y]);
    }
    Some(time.min(MAX_TIME)).filter(|time| *time > 0.0)
}
