//! Measurements of a flow over depth: answers at a control, the solver's work, fields, claims; sweeps are in the
//! submodule `sweep`.

mod sweep;

pub use self::sweep::*;
pub use crate::analysis::runge_kutta::Policy as StepPolicy;
use crate::{
    analysis::{planar_field::PlanarField, runge_kutta::Method},
    telemetry::measurements::prelude::*,
};

measurement! {
    /// A flow solved from depth 0 to 1 at one control.
    pub struct FlowAnswer in "flow.answer" answers FlowArgs {
        /// The control that the flow was solved with.
        pub control: FlowControl,
        /// The solver and its settings.
        pub solver: SolverUse,
        /// Index of the token, or of the start in the plane, that is followed.
        pub token: usize,
        /// The object whose states these are, and their meaning at depth 1.
        pub outcome: FlowOutcome,
        /// The paths of the states in the plane in which they are drawn.
        pub paths: FlowPaths,
        /// The solver's work.
        pub trace: SolverTrace,
        /// Speed and curvature of the path by depth.
        pub motion: FlowMotion,
    }

    /// The signal that enters the right-hand side from outside.
    #[derive(Copy)]
    pub struct FlowControl {
        /// u: the control vector, without unit; a field of the plane uses the first two numbers.
        #[serde(with = "number::array")]
        #[schemars(with = "[Number<f64>; 4]")]
        pub u: [f64; 4],
        /// Multiplier of the field's own scale alpha.
        pub alpha: f64,
    }

    /// Words at the end of a flow.
    pub struct LanguageOutcome {
        /// The text that was carried, as typed.
        pub prompt: String,
        /// The likeliest next tokens, likeliest first.
        pub next: Vec<NextToken>,
        /// The continuation of the text, always with the likeliest token.
        pub continuation: Vec<String>,
        /// The target that the control was trained to lead to; absent of a flow that was never steered.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub classes: Option<SteeringClasses>,
    }

    /// A field of the plane.
    pub struct PlanarOutcome {
        /// Id of the field: "van_der_pol".
        pub field: String,
    }

    /// A next token with its probability, steered and not.
    pub struct NextToken {
        /// Its text; a bare space is a middle dot.
        pub token: String,
        /// 0 to 1.
        pub probability: f64,
        /// The same at u = 0.
        pub unsteered: f64,
    }

    /// The classes of tokens that the first control leads to.
    pub struct SteeringClasses {
        /// The target that u0 = +1 was trained to lead to.
        pub plus: SteeringClass,
        /// The target that u0 = -1 was trained to lead to.
        pub minus: SteeringClass,
    }

    /// A class of words that a control leads to, with its probability as the next token.
    pub struct SteeringClass {
        /// The tokens of the class.
        pub tokens: Vec<String>,
        /// Summed probability of the class as the next token, 0 to 1.
        pub probability: f64,
        /// The same at u = 0.
        pub unsteered: f64,
    }

    /// The path of each token (or start), in the directions in which the flow moves the states most.
    pub struct FlowPaths {
        /// tau: depths of the states, S numbers from 0 to 1.
        pub taus: Numbers,
        /// `(N, S, C)`: token, depth, component; units of the hidden state (in the plane: of the plane).
        pub places: Array,
        /// Share of the variance of the displacements along each of the C components, 0 to 1.
        pub explained: Numbers,
    }

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
        /// The attempted steps, in the order in which they were tried.
        pub attempts: Vec<SolverAttempt>,
    }

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

    /// Velocities of the followed token on a grid of places, all other tokens where they are at that depth.
    pub struct FlowField in "flow.field" answers FlowFieldArgs {
        /// tau: the depth, 0 to 1.
        pub tau: f64,
        /// The position of the followed token at that depth, in the two components.
        #[serde(with = "number::array")]
        #[schemars(with = "[Number<f64>; 2]")]
        pub at: [f64; 2],
        /// The part of the plane that the grid covers.
        pub extent: FieldExtent,
        /// `(rows, cols)`: first component of the velocity; a row has one second coordinate, lowest first.
        pub dx: Array,
        /// `(rows, cols)`: second component of the velocity.
        pub dy: Array,
    }

    /// Ends of the grid, in units of the two components. Outermost rows and columns lie on them.
    #[derive(Copy)]
    pub struct FieldExtent {
        /// Lowest first coordinate.
        pub x0: f64,
        /// Highest first coordinate.
        pub x1: f64,
        /// Lowest second coordinate.
        pub y0: f64,
        /// Highest second coordinate.
        pub y1: f64,
    }

    /// The motion along a solved path with the stretch of its field.
    pub struct FlowAlong in "flow.along" answers FlowAlongArgs {
        /// Speed and curvature of the path by depth.
        pub motion: FlowMotion,
        /// Largest singular value of the Jacobian dF/dH at each depth of `motion`.
        pub sigma: Numbers,
    }

    /// Speed and curvature along a solved path.
    pub struct FlowMotion {
        /// tau: depths, 0 to 1; one per point of the lists below.
        pub taus: Numbers,
        /// rms |dH/dtau| over all values of the state, units of the state.
        pub velocity: Numbers,
        /// |d²H/dtau²| / |dH/dtau|² of the whole state, one over units of the state; NaN where nothing moves.
        pub curvature: Numbers,
    }

    /// The measured effect of a steering, in the model's own Euler steps.
    pub struct FlowClaims in "flow.claims" answers FlowClaimsArgs {
        /// The target that the control was trained to lead to.
        pub classes: ClassTokens,
        /// The shares by the measure that the steering was trained on.
        pub own: ClassShares,
        /// By words of either kind after nouns that occur in no steering prompt; absent where no such word is one
        /// token.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub words: Option<ClassShares>,
        /// The prompt and how it continues.
        pub continuations: ClaimedContinuations,
    }

    /// The tokens of both classes that a steering was trained to lead to.
    pub struct ClassTokens {
        /// The target that u0 = +1 was trained to lead to.
        pub plus: Vec<String>,
        /// The target that u0 = -1 was trained to lead to.
        pub minus: Vec<String>,
    }

    /// Mean probabilities of the classes as the next token, 0 to 1.
    #[derive(Copy)]
    pub struct ClassShares {
        /// The number of prompts over which the means are taken.
        pub prompts: usize,
        /// Share of class plus at u0 = +1.
        pub plus: f64,
        /// Share of class minus at u0 = -1.
        pub minus: f64,
        /// Share of class plus at u0 = 0.
        pub plus_unsteered: f64,
        /// Share of class minus at u0 = 0.
        pub minus_unsteered: f64,
    }

    /// The prompt with its continuation.
    pub struct ClaimedContinuations {
        /// The continuation at u0 = +1.
        pub plus: String,
        /// The continuation at u0 = 0.
        pub unsteered: String,
        /// The continuation at u0 = -1.
        pub minus: String,
    }
}

/// The state that flowed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FlowOutcome {
    /// Hidden states of a prompt, which are read as words at the end.
    Language(LanguageOutcome),
    /// Points of the plane.
    Plane(PlanarOutcome),
}

impl FlowAnswer {
    /// The words, where words come out.
    pub fn language(&self) -> Option<&LanguageOutcome> {
        if let FlowOutcome::Language(language) = &self.outcome { Some(language) } else { None }
    }

    /// Id of the field, where points of the plane flow.
    pub fn planar_field(&self) -> Option<&str> {
        if let FlowOutcome::Plane(plane) = &self.outcome { Some(&plane.field) } else { None }
    }

    /// The classes, where a control was trained.
    pub fn classes(&self) -> Option<&SteeringClasses> {
        self.language().and_then(|l| l.classes.as_ref())
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

arguments! {
    /// Where a flow carries a prompt, or points of the plane, and how it is solved.
    pub struct FlowArgs asks "flow" {
        /// The first control; otherwise as the run has it.
        u0: Option<f64> = None;
        /// The second control; otherwise as the run has it.
        u1: Option<f64> = None;
        /// The third control; otherwise as the run has it.
        u2: Option<f64> = None;
        /// The fourth control; otherwise as the run has it.
        u3: Option<f64> = None;
        /// Multiplies the field; otherwise as the run has it.
        alpha: Option<f64> = None;
        /// The solver.
        method: Method = Method::DOPRI5;
        /// How an adaptive solver ends: its last step is interpolated or clipped.
        policy: StepPolicy = StepPolicy::Interpolate;
        /// Tolerated error of an adaptive solver, relative to the state.
        rtol: f64 = 1e-3;
        /// Tolerated error of an adaptive solver, in units of the state.
        atol: f64 = 1e-3;
        /// Steps of a solver that is not adaptive.
        steps: usize = 4 => range(1..=4096);
        /// The words that flow; otherwise "The tea was" for a model that is steered, and a held-out passage for others.
        prompt: Option<String> = None;
        /// The token, or start in the plane, whose path is followed: from 0, or from -1 for the last.
        token: i64 = -1;
        /// The field of the plane; otherwise the model's own choice.
        field: Option<PlanarField> = None;
    }

    /// The field around the followed token's state.
    pub struct FlowFieldArgs asks "flow_field" with flow: FlowArgs {
        /// The depth at which the field is evaluated.
        tau: f64 = 0.0 => range(0.0..=1.0);
        /// Cells along each side of the square.
        cells: usize = 16 => range(2..=48);
    }

    /// Speed, curvature and stretch along the depth.
    pub struct FlowAlongArgs asks "flow_along" with flow: FlowArgs {}

    /// The claims of a steering, by the measure that it was trained on and by its effect on words.
    pub struct FlowClaimsArgs asks "flow_claims" with flow: FlowArgs {
        /// The prompt is the one that was steered at, so that the shares are taken there alone.
        published: bool = false;
    }
}
