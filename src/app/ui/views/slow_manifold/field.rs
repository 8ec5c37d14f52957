//! A system's manifolds and a trajectory with its pace, computed from settings alone.

use std::sync::Arc;

use crate::{
    analysis::fast_slow_plane::{
        Bounds, CriticalManifold, Equations, FastSlowPlane, Formulas, LongTermBehaviour, ManifoldDistances, PlaneError,
        Point, SolveLimits, Trajectory, first_order_correction, long_term, manifold_distances, solve,
    },
    labs::equilibrium::slow_manifold::{PlanarSystem, SlowManifoldSettings},
};

/// The settings that the manifolds depend on.
#[derive(Debug, Clone, PartialEq)]
pub struct Source {
    pub system: PlanarSystem,
    a: f64,
    /// The formulas of a system that is given by formulas.
    formulas: Option<[String; 2]>,
}

/// The parts of the picture that do not depend on eps.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    pub source: Source,
    pub plane: FastSlowPlane,
    pub bounds: Bounds,
    pub manifold: CriticalManifold,
    /// Equilibria of the slow flow on the manifold: f = g = 0.
    pub equilibria: Vec<Point>,
    pub distances: Option<ManifoldDistances>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    pub epsilon: f64,
    pub trajectory: Trajectory,
    /// True for each segment in which x moves on the fast timescale.
    pub is_fast: Vec<bool>,
    pub long_term: LongTermBehaviour,
    /// Share of the time spent near the repelling branch: large for a canard.
    pub repelling_share: f64,
}

/// Slow time that a drawn trajectory takes.
const TRAJECTORY_TIME: f64 = 10.0;
/// A first-order manifold further from f = 0 than this share of the width is not drawn: eps h1 is too large.
const MAX_CORRECTION: f64 = 0.04;

impl Source {
    pub fn new(settings: &SlowManifoldSettings) -> Self {
        let is_written = settings.system == PlanarSystem::Formulas;
        let formulas = is_written.then(|| [settings.f.clone(), settings.g.clone()]);
        Self { system: settings.system, a: settings.a, formulas }
    }
}

impl Field {
    /// Errors: formulas that cannot be read, or that have no finite value somewhere in the visible range.
    pub fn new(source: &Source) -> Result<Self, PlaneError> {
        let equations = match (source.system, &source.formulas) {
            (PlanarSystem::FitzHughNagumo, _) => Equations::FitzHughNagumo,
            (PlanarSystem::CubicFold, _) => Equations::CubicFold,
            (PlanarSystem::Formulas, Some([f, g])) => Equations::Formulas(Arc::new(Formulas::parse(f, g)?)),
            (PlanarSystem::VanDerPol | PlanarSystem::Formulas, _) => Equations::VanDerPol,
        };
        let plane = FastSlowPlane { equations, a: source.a };
        let bounds = plane.bounds();
        let manifold = CriticalManifold::trace(&plane, &bounds)?;
        let distances = manifold_distances(&plane, &bounds, &manifold);
        let equilibria = equilibria(&plane, &manifold);
        Ok(Self { source: source.clone(), plane, bounds, manifold, equilibria, distances })
    }

    /// The default start of a trajectory, away from the manifold.
    pub fn default_start(&self) -> Point {
        match self.source.system {
            PlanarSystem::CubicFold => self.bounds.at(0.06, 0.9),
            PlanarSystem::VanDerPol | PlanarSystem::FitzHughNagumo | PlanarSystem::Formulas => {
                self.bounds.at(0.42, 0.12)
            }
        }
    }

    /// Lines of x = h0 + eps h1, cut near folds; true marks an attracting line.
    pub fn first_order_manifold(&self, epsilon: f64) -> Vec<(bool, Vec<Point>)> {
        let max = MAX_CORRECTION * self.bounds.width();
        let corrected = |p: &Point| {
            let correction = epsilon * first_order_correction(&self.plane, *p);
            (correction.abs() <= max).then_some([p[0] + correction, p[1]])
        };
        let mut lines = vec![];
        for branch in &self.manifold.branches {
            let points: Vec<Option<Point>> = branch.points.iter().map(corrected).collect();
            let parts = points.split(Option::is_none).filter(|part| part.len() > 1);
            lines.extend(parts.map(|part| (branch.is_stable, part.iter().copied().flatten().collect())));
        }
        lines
    }
}

/// Finds the sign changes of g along the manifold.
fn equilibria(plane: &FastSlowPlane, manifold: &CriticalManifold) -> Vec<Point> {
    let mut found = vec![];
    for pair in manifold.branches.iter().flat_map(|b| b.points.windows(2)) {
        let (from, to) = (plane.g(pair[0]), plane.g(pair[1]));
        if (from < 0.0) != (to < 0.0) {
            let share = from / (from - to);
            found.push(std::array::from_fn(|k| pair[0][k] + share * (pair[1][k] - pair[0][k])));
        }
    }
    found
}

impl Run {
    pub fn solve(field: &Field, epsilon: f64, start: Point) -> Self {
        let plane = &field.plane;
        let limits = SolveLimits {
            epsilon,
            tolerance: 1e-7,
            until: TRAJECTORY_TIME,
            longest_step: 0.02,
            max_steps: 20_000,
            bounds: field.bounds.expanded(1.0),
        };
        let trajectory = solve(plane, start, &limits);
        let strength: Vec<f64> = trajectory.points.iter().map(|p| plane.f(*p).abs()).collect();
        // On the slow manifold |f| is of order eps and in a jump of order 1; sqrt(eps) lies between.
        let threshold = epsilon.sqrt() * strength.iter().copied().fold(0.0, f64::max);
        let is_fast: Vec<bool> = strength.windows(2).map(|f| f64::midpoint(f[0], f[1]) > threshold).collect();
        let (mut repelling, mut total) = (0.0, 0.0);
        for ((times, points), fast) in trajectory.times.windows(2).zip(trajectory.points.windows(2)).zip(&is_fast) {
            let time = times[1] - times[0];
            total += time;
            repelling += if !fast && plane.f_x(points[0]) > 0.0 { time } else { 0.0 };
        }
        let repelling_share = if total > 0.0 { repelling / total } else { 0.0 };
        Self { epsilon, long_term: long_term(plane, start, epsilon), trajectory, is_fast, repelling_share }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field_and_run(settings: &SlowManifoldSettings) -> (Field, Run) {
        let field = Field::new(&Source::new(settings)).unwrap();
        let run = Run::solve(&field, settings.epsilon, field.default_start());
        (field, run)
    }

    #[test]
    fn most_of_the_time_of_a_relaxation_oscillation_is_slow() {
        let settings = SlowManifoldSettings { epsilon: 0.01, a: 0.0, ..Default::default() };
        let (field, run) = field_and_run(&settings);
        let time = |fast: bool| -> f64 {
            let segments = run.trajectory.times.windows(2).zip(&run.is_fast);
            segments.filter(|(_, f)| **f == fast).map(|(t, _)| t[1] - t[0]).sum()
        };
        assert!(time(false) > 8.0 * time(true) && time(true) > 0.0, "{} {}", time(false), time(true));
        assert!(matches!(run.long_term, LongTermBehaviour::Cycle { .. }), "{:?}", run.long_term);
        assert!(run.repelling_share < 0.1, "{}", run.repelling_share);
        assert_eq!(field.equilibria.len(), 1);
    }

    #[test]
    fn a_canard_stays_long_on_the_repelling_branch() {
        let settings = SlowManifoldSettings { epsilon: 0.05, a: 0.993_5, ..Default::default() };
        assert!(field_and_run(&settings).1.repelling_share > 0.2, "{}", field_and_run(&settings).1.repelling_share);
    }

    #[test]
    fn formulas_are_part_of_the_source_only_where_they_are_used() {
        let written = |f: &str, system| SlowManifoldSettings { f: f.into(), system, ..Default::default() };
        let source = |f, system| Source::new(&written(f, system));
        assert_eq!(source("x(", PlanarSystem::VanDerPol), source("y", PlanarSystem::VanDerPol));
        assert_ne!(source("x", PlanarSystem::Formulas), source("y", PlanarSystem::Formulas));
        assert!(Field::new(&source("x(", PlanarSystem::Formulas)).is_err());
    }
}
