//! Queries and keys as a coupled system (arXiv 2604.01683, section 2.1): dq/dt = k, dk/dt = f(q), its two integrators,
//! and what sets them apart: volume, reversibility, energy. In f64, to measure what a model computes in f32.

mod force;
mod matrix;

pub use force::{Force, ForceError};
pub use matrix::Matrix;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The integrator of a step (arXiv 2604.01683, equations 3 and 4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "IntegrationScheme")]
pub enum Integrator {
    /// q' = q + dt k, k' = k + dt f(q), both from the old values.
    Euler,
    /// k += dt/2 f(q), q += dt k, k += dt/2 f(q): Störmer and Verlet's, for any f a composition of three shears.
    Leapfrog,
}

impl Integrator {
    /// Both integrators, in the order of the menus.
    pub const ALL: [Integrator; 2] = [Integrator::Euler, Integrator::Leapfrog];
}

/// A query and a key of one width d: a point of phase space.
#[derive(Debug, Clone, PartialEq)]
pub struct PhasePoint {
    /// The query, d values.
    pub q: Vec<f64>,
    /// The key, d values.
    pub k: Vec<f64>,
}

/// Beyond this a model that computes in f32 has infinities.
const MAX_FINITE: f64 = f32::MAX as f64;

impl PhasePoint {
    /// Creates a point from a query and a key of the same width.
    pub fn new(q: impl Into<Vec<f64>>, k: impl Into<Vec<f64>>) -> Self {
        Self { q: q.into(), k: k.into() }
    }

    /// Coordinates of q, then those of k.
    pub fn coordinates(&self) -> impl Iterator<Item = f64> {
        self.q.iter().chain(&self.k).copied()
    }

    /// The Euclidean distance over queries and keys together.
    pub fn distance(&self, other: &Self) -> f64 {
        self.coordinates().zip(other.coordinates()).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
    }

    /// Returns true if every coordinate is a number that f32 can hold.
    pub fn is_finite(&self) -> bool {
        self.coordinates().all(|v| v.abs() <= MAX_FINITE)
    }
}

/// A flow to integrate: a force, an integrator, and its step dt.
#[derive(Debug, Clone, Copy)]
pub struct Evolution<'a> {
    /// The force f in dk/dt = f(q).
    pub force: &'a Force,
    /// The method that advances both by one step.
    pub integrator: Integrator,
    /// The length of a step.
    pub dt: f64,
}

/// The points of an evolution, the start first.
#[derive(Debug, Clone, PartialEq)]
pub struct Path {
    /// The points in order: the start, then one after each step.
    pub points: Vec<PhasePoint>,
    /// The step, counted from 1, whose result overflows f32. The points end before it.
    pub overflows_at: Option<usize>,
}

impl Path {
    /// The last point, of a path that did not overflow.
    pub fn end(&self) -> Option<&PhasePoint> {
        self.points.last().filter(|_| self.overflows_at.is_none())
    }
}

impl Evolution<'_> {
    /// Makes one step from `point`, in place.
    pub fn step(&self, point: &mut PhasePoint) {
        let dt = self.dt;
        match self.integrator {
            Integrator::Euler => {
                let force = self.force.at(&point.q);
                axpy(&mut point.q, dt, &point.k);
                axpy(&mut point.k, dt, &force);
            }
            Integrator::Leapfrog => {
                axpy(&mut point.k, dt / 2.0, &self.force.at(&point.q));
                axpy(&mut point.q, dt, &point.k);
                axpy(&mut point.k, dt / 2.0, &self.force.at(&point.q));
            }
        }
    }

    /// `steps` steps from `start`, or as many as f32 could hold.
    pub fn path(&self, start: &PhasePoint, steps: usize) -> Path {
        if !start.is_finite() {
            return Path { points: vec![], overflows_at: Some(0) };
        }
        let mut points = vec![start.clone()];
        let mut point = start.clone();
        for step in 1..=steps {
            self.step(&mut point);
            if !point.is_finite() {
                return Path { points, overflows_at: Some(step) };
            }
            points.push(point.clone());
        }
        Path { points, overflows_at: None }
    }

    /// The point after `steps` steps, if f32 can hold it.
    pub fn end(&self, start: &PhasePoint, steps: usize) -> Option<PhasePoint> {
        let mut point = start.clone();
        (0..steps).for_each(|_| self.step(&mut point));
        point.is_finite().then_some(point)
    }

    /// The distance from `start` after `steps` steps and as many steps by -dt; `None` on overflow. A step by -dt is the
    /// exact inverse of leapfrog's, whose three shears it undoes in turn, and off by dt² from that of Euler's.
    pub fn reversibility_error(&self, start: &PhasePoint, steps: usize) -> Option<f64> {
        let end = self.path(start, steps);
        let back = Self { dt: -self.dt, ..*self }.path(end.end()?, steps);
        Some(back.end()?.distance(start))
    }

    /// The Jacobian of one step at `point`, (2d, 2d), queries before keys; exact.
    pub fn step_jacobian(&self, point: &PhasePoint) -> Matrix {
        let (d, dt) = (point.q.len(), self.dt);
        let identity = Matrix::identity(d);
        match self.integrator {
            Integrator::Euler => {
                let kick = self.force.jacobian(&point.q).scaled(dt);
                Matrix::from_blocks([[&identity, &identity.scaled(dt)], [&kick, &identity]])
            }
            Integrator::Leapfrog => {
                // Three shears: (I, 0; A, I), then (I, dt I; 0, I), then (I, 0; B, I).
                let mut middle = point.clone();
                axpy(&mut middle.k, dt / 2.0, &self.force.at(&middle.q));
                axpy(&mut middle.q, dt, &middle.k);
                let a = self.force.jacobian(&point.q).scaled(dt / 2.0);
                let b = self.force.jacobian(&middle.q).scaled(dt / 2.0);
                let q_by_q = identity.plus(&a.scaled(dt));
                let k_by_q = b.times(&q_by_q).plus(&a);
                let k_by_k = identity.plus(&b.scaled(dt));
                Matrix::from_blocks([[&q_by_q, &identity.scaled(dt)], [&k_by_q, &k_by_k]])
            }
        }
    }

    /// The factor by which one step at `point` multiplies a small volume of phase space: |det| with its sign, by elimination
    /// of the whole Jacobian. 1 for leapfrog (equation 9), det(I - dt² f'(q)) for Euler.
    pub fn step_determinant(&self, point: &PhasePoint) -> f64 {
        self.step_jacobian(point).determinant()
    }

    /// The factor by which a path multiplies a small volume around its start: the product over its steps; 1 without any.
    pub fn volume_factor(&self, path: &Path) -> f64 {
        let steps = path.points.len().saturating_sub(1);
        path.points.iter().take(steps).map(|p| self.step_determinant(p)).product()
    }

    /// |k|²/2 + V(q), where the force has a potential.
    pub fn energy(&self, point: &PhasePoint) -> Option<f64> {
        let kinetic = point.k.iter().map(|k| k * k).sum::<f64>() / 2.0;
        Some(kinetic + self.force.potential(&point.q)?)
    }

    /// The largest departure of a path's energy from that of its start, with its sign; `None` without a potential.
    pub fn energy_drift(&self, path: &Path) -> Option<f64> {
        let first = self.energy(path.points.first()?)?;
        let drifts = path.points.iter().filter_map(|p| Some(self.energy(p)? - first));
        drifts.max_by(|a, b| a.abs().total_cmp(&b.abs()))
    }
}

/// The area that a closed polygon of the plane encloses (Gauss's shoelace formula); each winding counts with its sign.
pub fn enclosed_area(corners: &[[f64; 2]]) -> f64 {
    let next = corners.iter().cycle().skip(1);
    corners.iter().zip(next).map(|(a, b)| a[0] * b[1] - b[0] * a[1]).sum::<f64>() / 2.0
}

/// y += a x
fn axpy(y: &mut [f64], a: f64, x: &[f64]) {
    y.iter_mut().zip(x).for_each(|(y, x)| *y += a * x);
}

#[cfg(test)]
mod tests;
