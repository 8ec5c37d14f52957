//! How far every token's state is from its quasi-steady state.

use crate::{analysis::statistics::mean_of, telemetry::measurements::prelude::*};

measurement! {
    /// |x_t - Post(x)_t| / |x_t| of every token t of a text, after some passes of Post, with the slow state fixed.
    pub struct TokenResiduals in "fast_slow.token_residuals" answers TokenResidualsArgs {
        /// Which repetition of pooling, slow path and injection, from 0: the last.
        pub round: usize,
        /// Passes made before the residual was taken: 0, 1, 2, 4, 8.
        pub passes: Vec<usize>,
        /// For each of these, one residual a token, without unit.
        pub residual: Vec<Numbers>,
        /// The relation between the help of the gate and the closeness of the state; nothing where the model has no gate.
        #[serde(default)]
        pub gate: Option<GateBenefit>,
    }

    /// The help of the gate for each next token, beside how close the fast state is there: tokens of held-out windows, without
    /// the first block of each, where the slow path has nothing to say yet.
    pub struct GateBenefit {
        /// s tanh(gamma).
        pub gate: f64,
        /// Held-out windows that were read.
        pub windows: usize,
        /// |x_t - Post(x)_t| / |x_t| after one pass, of the tokens whose next token the training asks for, window after window.
        pub residual: Numbers,
        /// Loss of the next token with the gate shut less the loss as the model is, nats: positive where the
        /// open gate helps.
        pub benefit: Numbers,
        /// Spearman's rank correlation of the two: negative if the gate helps more where the state is close. NaN where the gate
        /// changes nothing.
        pub correlation: f64,
        /// Mean of the correlation when the benefits are rotated against the residuals by a random number of tokens.
        pub null_mean: f64,
        /// Its standard deviation.
        pub null_sd: f64,
        /// Two-sided share of the rotations that are as far from their mean.
        pub p: f64,
    }
}

impl TokenResiduals {
    /// The residual after the passes of this place: of one token, or the geometric mean over all of them.
    pub fn after(&self, place: usize, token: Option<usize>) -> f64 {
        let Some(all) = self.residual.get(place) else { return f64::NAN };
        match token {
            Some(token) => all.get(token).copied().unwrap_or(f64::NAN),
            None => mean_of(all.iter().map(|r| r.ln())).exp(),
        }
    }
}

arguments! {
    /// Measure how far the state of every token is from its quasi-steady state.
    pub struct TokenResidualsArgs asks "token_residuals" {
        /// The sentence that is read, at most 48 tokens; empty for a held-out passage.
        text: String = String::new(),
        /// Number of the held-out passage.
        passage: u64 = 0,
    }
}
