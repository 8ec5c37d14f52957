//! The sizes of a model with a flow, and what its training steers to.

use serde::{Deserialize, Serialize};

use super::super::gpt::PlainGptSpec;
use crate::ode::Method;

/// Controls that enter the field.
pub const CONTROLS: usize = 4;

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
            method: Method::Euler,
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

/// What the second stage teaches.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Steering {
    /// Updates of the first stage: language modelling with u = 0. Update `language_steps + 1` is the
    /// first of the second.
    pub language_steps: u64,
    /// Ids that u0 = +1 is to lead to, and u0 = -1.
    pub plus: Vec<u32>,
    pub minus: Vec<u32>,
    /// Steer at the end of this one prompt, whatever the batches hold.
    #[serde(default)]
    pub prompt: Option<Vec<u32>>,
    /// Take a few steps more or fewer from update to update, so that what is learned is the flow's and not
    /// that of so many steps.
    #[serde(default)]
    pub vary: bool,
}
