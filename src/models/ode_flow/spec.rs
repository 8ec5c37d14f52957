//! The sizes of a model with a flow.

use serde::{Deserialize, Serialize};

use super::super::{capabilities::Steering, gpt::PlainGptSpec};
use crate::ode::Method;

/// Sizes. At width 256, 50,257 tokens, 128 positions and two layers on each side: 29,781,249 parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct OdeFlowSpec {
    pub d_model: usize,
    pub heads: usize,
    /// Plain layers before the flow, and after it.
    pub pre: usize,
    pub post: usize,
    pub positions: usize,
    /// Equal steps of `method` in training.
    pub steps: usize,
    /// A method of fixed steps.
    pub method: Method,
    /// Two stages: the language, then the field alone towards classes of tokens.
    pub steering: Option<Steering>,
}

impl Default for OdeFlowSpec {
    fn default() -> Self {
        Self {
            d_model: 128,
            heads: 4,
            pre: 2,
            post: 2,
            positions: 128,
            steps: 4,
            method: Method::EULER,
            steering: None,
        }
    }
}

impl OdeFlowSpec {
    /// The plain transformer with two layers in the flow's place.
    pub fn baseline(&self) -> PlainGptSpec {
        PlainGptSpec {
            d_model: self.d_model,
            heads: self.heads,
            layers: self.pre + self.post + 2,
            positions: self.positions,
        }
    }
}
