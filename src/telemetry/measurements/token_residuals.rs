//! How far every token's state is from its quasi-steady state.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::measurement;
use crate::telemetry::number::Numbers;

/// |x_t - Post(x)_t| / |x_t| of every token t of a text, after some passes of Post, the slow state held.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TokenResiduals {
    /// Which repetition of pooling, slow path and injection, from 0: the last.
    pub round: usize,
    /// Passes made before the residual was taken: 0, 1, 2, 4, 8.
    pub passes: Vec<usize>,
    /// For each of these, one residual a token, without unit.
    pub residual: Vec<Numbers>,
}

impl TokenResiduals {
    /// The residual after the passes of this place: of one token, or the geometric mean over all of them.
    pub fn after(&self, place: usize, token: Option<usize>) -> f64 {
        let Some(all) = self.residual.get(place) else { return f64::NAN };
        match token {
            Some(token) => all.get(token).copied().unwrap_or(f64::NAN),
            None => (all.iter().map(|r| r.ln()).sum::<f64>() / all.len() as f64).exp(),
        }
    }
}

measurement!(TokenResiduals, channel: "fast_slow.token_residuals", probe: "token_residuals");
