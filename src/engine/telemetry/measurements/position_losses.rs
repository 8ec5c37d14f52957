//! The loss of a model against how much it has read before.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::measurement;
use crate::telemetry::number::Numbers;

/// Over held-out texts that are longer than those of training. Places are gathered into bins that widen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PositionLosses {
    /// Tokens of a training window.
    pub window: usize,
    /// Texts that the means are over.
    pub texts: usize,
    /// First place of every bin, from 0, and after the last bin its end.
    pub edges: Vec<usize>,
    /// By bin: mean cross-entropy, nats a token.
    pub loss: Numbers,
    /// By bin: standard error of that mean over the texts.
    pub error: Numbers,
}

measurement!(PositionLosses, channel: "text.position_losses", probe: "position_losses");
