//! How far the logits move at each position when one token of a text is changed.

use crate::telemetry::measurements::prelude::*;

measurement! {
    /// A causality test: before the changed token no logit may move.
    pub struct Causality in "fast_slow.causality" answers CausalityArgs {
        /// The text as it was.
        pub original: String,
        /// The text with one token changed.
        pub edited: String,
        /// Position of the changed token, from 0.
        pub position: usize,
        /// max |delta logits| over the vocabulary, one per position.
        pub delta: Numbers,
        /// The largest of `delta` before `position`; 0 in a causal model.
        pub before_max: f64,
        /// s tanh(gamma), or the gate that the question set in its place.
        pub effective_gate: f64,
        /// The same with the upsampling that lets a token read its own unfinished block, where asked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub leaky_upsample: Option<LeakyUpsample>,
        /// The likeliest next tokens after both texts.
        pub predictions: Predictions,
    }

    /// The effect of the upsampling floor(t/P), which leaks the future on purpose.
    pub struct LeakyUpsample {
        /// max |delta logits|, one per position.
        pub delta: Numbers,
        /// The largest of `delta` before the changed token.
        pub before_max: f64,
        /// The gate that this was measured with: the effective gate, or an open one where that is closed.
        #[serde(default)]
        pub gate: f64,
        /// Tokens of a block, P: a leak reaches the tokens of the changed token's own block before it.
        #[serde(default)]
        pub pool: usize,
    }

    /// The likeliest next tokens after the text, likeliest first.
    pub struct Predictions {
        /// After the text as it was.
        pub original: Vec<LikelyToken>,
        /// After the changed text.
        pub edited: Vec<LikelyToken>,
    }

    /// A token with its probability.
    pub struct LikelyToken {
        /// The token as text.
        pub token: String,
        /// 0 to 1.
        pub probability: f64,
    }
}

arguments! {
    /// Change one token of a text.
    pub struct CausalityArgs asks "causality" {
        /// The sentence that is read; empty for a held-out passage.
        text: String = String::new(),
        /// Number of the held-out passage.
        passage: u64 = 0,
        /// The token that is changed, from 0; otherwise the middle one, or with `show_wrong` the last of the middle block, whose change leaks to the whole block.
        position: Option<usize> = None,
        /// The token that takes its place, a text of one token; empty for the next token of the passage that differs.
        replacement: String = String::new(),
        /// Multiplies the gate for this question only; otherwise as the run has it.
        coupling_scale: Option<f64> = None,
        /// A gate in place of s tanh(gamma), for models whose gate is still shut.
        gate: Option<f64> = None,
        /// Also measure the upsampling that leaks the future, through a gate that is open.
        show_wrong: bool = false,
    }
}
