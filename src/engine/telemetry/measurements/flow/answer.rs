//! One solve of a flow at a control: where its states are carried, how, and what comes out.

use super::{FlowArgs, FlowMotion, SolverTrace, SolverUse};
use crate::telemetry::measurements::prelude::*;

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
        /// The paths of the states in the plane that they are drawn in.
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

measurement! {
    /// Words at the end of a flow.
    pub struct LanguageOutcome {
        /// The text that was carried, as typed.
        pub prompt: String,
        /// The likeliest next tokens, likeliest first.
        pub next: Vec<NextToken>,
        /// How the text continues, always with the likeliest token.
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

    /// Where each token (or start) is carried, in the directions in which the flow moves the states most.
    pub struct FlowPaths {
        /// tau: depths of the states, S numbers from 0 to 1.
        pub taus: Numbers,
        /// `(N, S, C)`: token, depth, component; units of the hidden state (in the plane: of the plane).
        pub places: Array,
        /// Share of the variance of the displacements along each of the C components, 0 to 1.
        pub explained: Numbers,
    }
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
