//! The arguments that every question about a flow has: its control, and how it is solved.

use crate::{
    analysis::{
        planar_field::PlanarField,
        runge_kutta::{Method, Policy},
    },
    telemetry::measurements::prelude::*,
};

arguments! {
    /// Where a flow carries a prompt, or points of the plane, and how it is solved.
    pub struct FlowArgs asks "flow" {
        /// The first control; otherwise as the run has it.
        u0: Option<f64> = None,
        /// The second control; otherwise as the run has it.
        u1: Option<f64> = None,
        /// The third control; otherwise as the run has it.
        u2: Option<f64> = None,
        /// The fourth control; otherwise as the run has it.
        u3: Option<f64> = None,
        /// Multiplies the field; otherwise as the run has it.
        alpha: Option<f64> = None,
        /// The solver.
        method: Method = Method::DOPRI5,
        /// How an adaptive solver ends: its last step is interpolated or clipped.
        policy: Policy = Policy::Interpolate,
        /// Tolerated error of an adaptive solver, relative to the state.
        rtol: f64 = 1e-3,
        /// Tolerated error of an adaptive solver, in units of the state.
        atol: f64 = 1e-3,
        /// Steps of a solver that is not adaptive.
        #[range(1..=4096)]
        steps: usize = 4,
        /// The words that flow; otherwise "The tea was" for a model that is steered, and a held-out passage for others.
        prompt: Option<String> = None,
        /// The token, or start in the plane, whose path is followed: from 0, or from -1 for the last.
        token: i64 = -1,
        /// The field of the plane; otherwise the model's own choice.
        field: Option<PlanarField> = None,
    }
}
