//! One solve of a flow at a control: where its states are carried, how, and what comes out.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{FlowMotion, SolverTrace, SolverUse, measurement};
use crate::analysis::{
    planar_field::PlanarField,
    runge_kutta::{Method, Policy},
};
use crate::config::arguments;
use crate::telemetry::{
    Array,
    number::{self, Float, Number, Numbers},
};

/// A flow solved from depth 0 to 1 at one control.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FlowAnswer {
    pub control: FlowControl,
    pub solver: SolverUse,
    /// Index of the token, or of the start in the plane, that is followed.
    pub token: usize,
    /// What the states are of, and what they mean at depth 1.
    pub outcome: FlowOutcome,
    pub paths: FlowPaths,
    /// What the solver did.
    pub trace: SolverTrace,
    pub motion: FlowMotion,
}

/// What enters the right-hand side from outside.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FlowControl {
    /// u: the control vector, without unit; a field of the plane uses the first two numbers.
    #[serde(with = "number::array")]
    #[schemars(with = "[Number<f64>; 4]")]
    pub u: [f64; 4],
    /// Multiplier of the field's own scale alpha.
    #[serde(with = "Float")]
    pub alpha: f64,
}

/// What flowed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FlowOutcome {
    /// Hidden states of a prompt, which are read as words at the end.
    Language(LanguageOutcome),
    /// Points of the plane.
    Plane(PlanarOutcome),
}

/// Words at the end of a flow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LanguageOutcome {
    /// The text that was carried, as typed.
    pub prompt: String,
    /// The likeliest next tokens, likeliest first.
    pub next: Vec<NextToken>,
    /// How the text goes on, always with the likeliest token.
    pub continuation: Vec<String>,
    /// What the control was trained to lead to; absent of a flow that was never steered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub classes: Option<SteeringClasses>,
}

/// A field of the plane.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanarOutcome {
    /// Id of the field: "van_der_pol".
    pub field: String,
}

/// A next token with its probability, steered and not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NextToken {
    /// Its text; a bare space is a middle dot.
    pub token: String,
    /// 0 to 1.
    #[serde(with = "Float")]
    pub probability: f64,
    /// The same at u = 0.
    #[serde(with = "Float")]
    pub unsteered: f64,
}

/// The classes of tokens that the first control leads to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SteeringClasses {
    /// What u0 = +1 was trained to lead to.
    pub plus: SteeringClass,
    /// What u0 = -1 was trained to lead to.
    pub minus: SteeringClass,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SteeringClass {
    /// The tokens of the class.
    pub tokens: Vec<String>,
    /// Summed probability of the class as the next token, 0 to 1.
    #[serde(with = "Float")]
    pub probability: f64,
    /// The same at u = 0.
    #[serde(with = "Float")]
    pub unsteered: f64,
}

/// Where each token (or start) is carried, in the directions in which the flow moves the states most.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FlowPaths {
    /// tau: depths of the states, S numbers from 0 to 1.
    pub taus: Numbers,
    /// `(N, S, C)`: token, depth, component; units of the hidden state (in the plane: of the plane).
    pub places: Array,
    /// Share of the variance of the displacements along each of the C components, 0 to 1.
    pub explained: Numbers,
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

measurement!(FlowAnswer, channel: "flow.answer", asked: FlowArgs);
