//! The Dragon Hatchling (BDH, arXiv 2509.26507) as a physical system: local rules on neurons and synapses,
//! the state-space equations they are, the low-rank model that is trained, and the oscillators of figure 2.
//!
//! Everything is small and in f64, for systems of up to a few hundred neurons.

mod arrival;
pub mod checks;
mod circuit;
mod dense;
mod drift;
mod equations;
mod number;
pub mod oscillators;
mod rules;

pub use arrival::pulse;
pub use circuit::{Circuit, Edge, circuits, parts};
pub use dense::Dense;
pub use drift::Drift;
pub use equations::{Equations, Layer, Normfree, Unrolled, Weights};
pub use number::{Bounded, Discrepancy, Number, ROUNDOFF};
pub use rules::{Flow, KERNELS, Kernel, Round, State, Synapse, System, TrainedSynapses};

#[cfg(test)]
mod tests;
