//! How often each unit of a sparse layer is among those that are kept.

use crate::telemetry::measurements::prelude::*;

measurement! {
    /// Over held-out text.
    pub struct UnitUsage in "traces.unit_usage" answers UnitUsageArgs {
        /// Units that are kept for each token, k.
        pub kept: usize,
        /// Tokens that were read.
        pub tokens: usize,
        /// In the order of a forward pass.
        pub blocks: Vec<BlockUsage>,
    }

    /// The units of one block.
    pub struct BlockUsage {
        /// Path of the block, such as `blocks.0`.
        pub path: String,
        /// By unit: the share of tokens for which it is kept. Their sum is k.
        pub usage: Numbers,
    }
}

arguments! {
    /// Count how often each unit is kept.
    pub struct UnitUsageArgs asks "unit_usage" {
        /// Tokens of a held-out window.
        #[range(1..=8192)]
        window: usize = 128,
        /// Held-out windows that are read.
        #[range(1..=1024)]
        windows: usize = 16,
    }
}
