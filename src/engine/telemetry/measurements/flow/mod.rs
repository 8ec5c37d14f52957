//! Measurements of a flow over depth: answers at a control, fields, sweeps, claims.

mod along;
mod answer;
mod arguments;
mod claims;
mod field;
mod solver;
mod sweep;

pub use self::{along::*, answer::*, arguments::*, claims::*, field::*, solver::*, sweep::*};
