//! How often each unit of a sparse layer is among those that are kept.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::measurement;
use crate::telemetry::number::Numbers;

/// Over held-out text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UnitUsage {
    /// Units that are kept for each token, k.
    pub kept: usize,
    /// Tokens that were read.
    pub tokens: usize,
    /// In the order of a forward pass.
    pub blocks: Vec<BlockUsage>,
}

/// Of one block.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BlockUsage {
    /// Path of the block, such as `blocks.0`.
    pub path: String,
    /// By unit: the share of tokens for which it is kept. Their sum is k.
    pub usage: Numbers,
}

measurement!(UnitUsage, channel: "traces.unit_usage", probe: "unit_usage");
