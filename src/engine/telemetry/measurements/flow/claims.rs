//! The claim that a control steers a model: its effect by the measure that it was trained on, beside its effect on
//! words.

use super::FlowArgs;
use crate::telemetry::measurements::prelude::*;

measurement! {
    /// The measured effect of a steering, in the model's own Euler steps.
    pub struct FlowClaims in "flow.claims" answers FlowClaimsArgs {
        /// The target that the control was trained to lead to.
        pub classes: ClassTokens,
        /// By the measure that it was trained on.
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
        /// Prompts that the means are over.
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
        /// At u0 = +1.
        pub plus: String,
        /// At u0 = 0.
        pub unsteered: String,
        /// At u0 = -1.
        pub minus: String,
    }
}

arguments! {
    /// The claims of a steering, by the measure that it was trained on and by its effect on words.
    pub struct FlowClaimsArgs asks "flow_claims" with flow: FlowArgs {
        /// The prompt is the one that was steered at, so that the shares are taken there alone.
        published: bool = false,
    }
}
