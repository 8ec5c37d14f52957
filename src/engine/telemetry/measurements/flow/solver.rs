//! The solver of a flow: what it was asked with and what it did.

use crate::telemetry::measurements::prelude::*;

measurement! {
    /// Method, settings and the facts of the method that explain its cost.
    pub struct SolverUse {
        /// Id of the Runge-Kutta method: "dopri5".
        pub method: String,
        /// The rule of an adaptive method for the end of the span.
        pub policy: StepPolicy,
        /// Tolerated error relative to the state; of adaptive methods.
        pub rtol: f64,
        /// Tolerated error in units of the state; of adaptive methods.
        pub atol: f64,
        /// m: equal steps; of methods that are not adaptive.
        pub steps: usize,
        /// True if the method chooses its steps by its error.
        pub is_adaptive: bool,
        /// p: the method's order, which is also that of its step control.
        pub order: u32,
        /// Evaluations of the field that each attempted step costs.
        pub evaluations_per_step: u32,
    }
}

choices! {
    /// The rule of an adaptive method for the end of the span. Evaluations are comparable within one policy only.
    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum StepPolicy {
        /// The rule of torchdiffeq: the last step may reach over the end, and the result is interpolated.
        Interpolate = "interpolate",
        /// The rule of diffrax: the last step is cut to the end.
        Clip = "clip",
    }
}

measurement! {
    /// Every attempted step of a solve from depth 0 to 1, and what the first one was chosen by.
    pub struct SolverTrace {
        /// Length of the first step, in depth.
        pub h_init: f64,
        /// d0: size of the start over the tolerance; 0 of a fixed step.
        pub d0: f64,
        /// d1: size of the first slope over the tolerance.
        pub d1: f64,
        /// d2: size of the slope's change over the tolerance.
        pub d2: f64,
        /// NFE: evaluations of the field.
        pub nfe: usize,
        /// In the order in which they were tried.
        pub attempts: Vec<SolverAttempt>,
    }
}

impl SolverTrace {
    /// Attempts that became steps.
    pub fn accepted(&self) -> usize {
        self.attempts.iter().filter(|a| a.accepted).count()
    }

    /// Returns the number of rejected steps.
    pub fn rejected(&self) -> usize {
        self.attempts.len() - self.accepted()
    }

    /// Attempts whose successor would have grown more, had it been allowed.
    pub fn growth_capped(&self) -> usize {
        self.attempts.iter().filter(|a| a.growth_capped).count()
    }
}

measurement! {
    /// One attempted step.
    #[derive(Copy)]
    pub struct SolverAttempt {
        /// tau: depth where it starts, 0 to 1.
        pub t: f64,
        /// h: its length, in depth.
        pub h: f64,
        /// E: the estimated error over the tolerated one; a step is accepted at 1 or less; 0 if none is estimated.
        pub error: f64,
        /// True if it became a step.
        pub accepted: bool,
        /// The next step is the longest allowed, ten times this one, and would have been longer.
        pub growth_capped: bool,
    }
}
