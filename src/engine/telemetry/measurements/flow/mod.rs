//! Measurements of a flow over depth: answers at a control, fields, sweeps, claims.

mod along;
mod answer;
mod arguments;
mod claims;
mod field;
mod solver;
mod sweep;

pub use along::*;
pub use answer::*;
pub use arguments::*;
pub use claims::*;
pub use field::*;
pub use solver::*;
pub use sweep::*;
