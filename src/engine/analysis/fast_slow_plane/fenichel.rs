//! Fenichel's slow manifold to first order, and how far a true trajectory is from it and from the critical manifold, for
//! many eps. It draws nothing.
//!
//! An invariant manifold x = h(y, eps) satisfies eps h_y g(h, y) = f(h, y). With h = h0(y) + eps h1(y) + O(eps^2), where
//! f(h0, y) = 0 and hence h0' = -f_y / f_x, the terms of order eps give h0' g = f_x h1 (Fenichel 1979, theorem 9.1;
//! Kuehn 2015, section 3.1), that is
//!
//! h1 = h0' g / f_x = -f_y g / f_x^2.
//!
//! So a trajectory on the slow manifold is eps |h1| + O(eps^2) from f = 0, slope 1 on log axes, and O(eps^2) from
//! x = h0 + eps h1, slope 2.

use super::{Bounds, CriticalManifold, FastSlowPlane, Point, SolveLimits, solve};
use crate::analysis::statistics::least_squares_slope;

/// h1 at a point of the critical manifold. Not finite at a fold.
pub fn first_order_correction(plane: &FastSlowPlane, p: Point) -> f64 {
    let j = plane.jacobian(p);
    -j.f_y * plane.g(p) / (j.f_x * j.f_x)
}

/// Largest distances along the measured stretch, in units of x.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ManifoldDistance {
    /// The ratio eps of the two timescales.
    pub epsilon: f64,
    /// The distance to f = 0.
    pub to_critical: f64,
    /// The distance to x = h0 + eps h1.
    pub to_first_order: f64,
}

/// Distances for eps from 1e-3 to 1.
#[derive(Debug, Clone, PartialEq)]
pub struct ManifoldDistances {
    /// The distances, one entry for each eps.
    pub points: Vec<ManifoldDistance>,
    /// d log(distance) / d log(eps), fitted to the eps up to [`MAX_FITTED_EPS`]; the theorem's are 1 and 2.
    pub slopes: [f64; 2],
}

/// The largest eps to which slopes are fitted: the theorem is about small ones.
pub const MAX_FITTED_EPS: f64 = 0.02;
const MIN_EPSILON: f64 = 1e-3;
const STEPS_PER_DECADE: i32 = 5;
/// A stretch stays away from folds: f_x is at least this share of its largest on the branch.
const HYPERBOLIC: f64 = 0.35;
/// A stretch takes no longer than this, in slow time.
pub(super) const MAX_TIME: f64 = 1.0;
/// Share of the stretch after which whatever was off the manifold at the start has gone.
const SETTLED_SHARE: f64 = 0.4;

/// Solves a trajectory along a stretch of a stable branch for each eps. `None` where no stable branch has such a stretch.
pub fn manifold_distances(
    plane: &FastSlowPlane,
    bounds: &Bounds,
    manifold: &CriticalManifold,
) -> Option<ManifoldDistances> {
    let stretch = longest_stretch(plane, manifold)?;
    let points: Vec<ManifoldDistance> = epsilons().filter_map(|e| distance_at(plane, bounds, stretch, e)).collect();
    let slope = |of: fn(&ManifoldDistance) -> f64| {
        let fitted = points.iter().filter(|p| p.epsilon <= MAX_FITTED_EPS && of(p) > 0.0);
        let (x, y): (Vec<f64>, Vec<f64>) = fitted.map(|p| (p.epsilon.ln(), of(p).ln())).unzip();
        least_squares_slope(&x, &y)
    };
    let slopes = [slope(|p| p.to_critical), slope(|p| p.to_first_order)];
    (points.len() > 3).then_some(ManifoldDistances { points, slopes })
}

/// The eps at which everything is measured, from 1e-3 to 1.
pub(super) fn epsilons() -> impl Iterator<Item = f64> {
    let steps = (-f64::from(STEPS_PER_DECADE) * MIN_EPSILON.log10()).round() as i32;
    (0..=steps).map(|i| MIN_EPSILON * 10f64.powf(f64::from(i) / f64::from(STEPS_PER_DECADE)))
}

/// The part of a stable branch, away from folds and of one sign of g, over which y changes most.
pub(super) fn longest_stretch(plane: &FastSlowPlane, manifold: &CriticalManifold) -> Option<[Point; 2]> {
    let mut best: Option<[Point; 2]> = None;
    let length = |[from, to]: [Point; 2]| (to[1] - from[1]).abs();
    for branch in manifold.branches.iter().filter(|b| b.is_stable) {
        let most = branch.points.iter().map(|p| -plane.f_x(*p)).fold(0.0, f64::max);
        let sign = |p: &Point| {
            let g = if -plane.f_x(*p) < HYPERBOLIC * most { 0.0 } else { plane.g(*p) };
            i8::from(g > 0.0) - i8::from(g < 0.0)
        };
        let runs = branch.points.chunk_by(|p, q| sign(p) == sign(q));
        for run in runs.filter(|run| run.len() > 4 && sign(&run[0]) != 0) {
            let (first, last) = (run[0], run[run.len() - 1]);
            let goes_up = sign(&first) > 0;
            let stretch = if goes_up == (last[1] > first[1]) {
                [first, point_after_stretch(plane, run.iter())]
            } else {
                [last, point_after_stretch(plane, run.iter().rev())]
            };
            if best.is_none_or(|b| length(stretch) > length(b)) {
                best = Some(stretch);
            }
        }
    }
    best.filter(|b| length(*b) > 0.0)
}

/// The distance that the slow flow covers along these points in the time that a stretch takes.
fn point_after_stretch<'a>(plane: &FastSlowPlane, mut points: impl Iterator<Item = &'a Point>) -> Point {
    let mut at = points.next().copied().unwrap_or_default();
    let mut time = 0.0;
    for p in points {
        time += (p[1] - at[1]).abs() / plane.g(at).abs();
        at = *p;
        if time > MAX_TIME {
            break;
        }
    }
    at
}

/// The limits of a solve whose error is far below what is measured.
pub(super) fn limits(epsilon: f64, until: f64, bounds: &Bounds) -> SolveLimits {
    let bounds = bounds.expanded(1.0);
    SolveLimits { epsilon, tolerance: 1e-9, until, longest_step: f64::INFINITY, max_steps: 20_000, bounds }
}

fn distance_at(plane: &FastSlowPlane, bounds: &Bounds, stretch: [Point; 2], epsilon: f64) -> Option<ManifoldDistance> {
    let [start, end] = stretch;
    let (up, length) = (end[1] > start[1], (end[1] - start[1]).abs());
    let mut limits = limits(epsilon, 8.0 * MAX_TIME, bounds);
    limits.bounds.y = if up { [f64::NEG_INFINITY, end[1]] } else { [end[1], f64::INFINITY] };
    let first = start[0] + epsilon * first_order_correction(plane, start);
    let trajectory = solve(plane, [first, start[1]], &limits);
    let mut found = ManifoldDistance { epsilon, to_critical: 0.0, to_first_order: 0.0 };
    let has_come_through = trajectory.points.last().is_some_and(|p| (p[1] - start[1]).abs() >= 0.99 * length);
    for p in &trajectory.points {
        let way = (p[1] - start[1]).abs() / length;
        if (SETTLED_SHARE..=1.0).contains(&way) {
            let critical = [critical_x(plane, *p)?, p[1]];
            let correction = epsilon * first_order_correction(plane, critical);
            found.to_critical = found.to_critical.max((p[0] - critical[0]).abs());
            found.to_first_order = found.to_first_order.max((p[0] - critical[0] - correction).abs());
        }
    }
    has_come_through.then_some(found).filter(|d| d.to_critical.is_finite() && d.to_first_order.is_finite())
}

/// h0 at the y of a point, from its x on by Newton's method; `None` where it does not converge.
pub(super) fn critical_x(plane: &FastSlowPlane, [mut x, y]: Point) -> Option<f64> {
    for _ in 0..40 {
        let change = plane.f([x, y]) / plane.f_x([x, y]);
        x -= change;
        if change.abs() < 1e-14 * (1.0 + x.abs()) {
            return Some(x);
        }
    }
    None
}
