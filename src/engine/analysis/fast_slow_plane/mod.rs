//! Fast-slow systems of the plane: their critical manifold, Fenichel's slow manifold, and their true trajectories.
//!
//! The standard form (Fenichel, J. Differential Equations 31 (1979) 53; Kuehn, Multiple Time Scale Dynamics, 2015,
//! chapter 1) is
//!
//! eps dx/dt = f(x, y), dy/dt = g(x, y), 0 < eps << 1,
//!
//! with x fast and y slow. Equation (1) of arXiv 2606.16730 puts eps before dy/dt, which would make y the fast variable
//! and contradicts the text beside it ("x evolves on the fast timescale"); the standard form is used here throughout.
//!
//! Everything is in f64.

mod averaging;
mod critical_manifold;
mod fenichel;
mod formulas;
mod system;
mod trajectory;

pub use averaging::{MultiscaleError, MultiscaleErrors, SPLITTING_STEPS, averaged, lie_splitting, multiscale_errors};
pub use critical_manifold::{Branch, CriticalManifold};
pub use fenichel::{ManifoldDistance, ManifoldDistances, first_order_correction, manifold_distances};
pub use formulas::{Formulas, Jacobian, PlaneError};
pub use system::{Bounds, Equations, FastSlowPlane, Point};
pub use trajectory::{LongTermBehaviour, SolveLimits, StopReason, Trajectory, canard_value, long_term, solve};

#[cfg(test)]
mod tests;
