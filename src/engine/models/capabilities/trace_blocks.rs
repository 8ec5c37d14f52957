//! Blocks whose only view of the past are exponential moving averages of their input, and where they are tapped.

/// A stack of blocks with three traces, a prediction from them, and a sparse feed-forward layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceBlocks {
    /// The number of blocks.
    pub blocks: usize,
    /// The channels of a token's state and of each trace.
    pub channels: usize,
    /// The units of the feed-forward layer.
    pub units: usize,
    /// Units that are kept for a token.
    pub kept: usize,
}

impl TraceBlocks {
    /// The traces, fast to slow, as taps and legends call them.
    pub const TRACES: [&str; 3] = ["fast", "medium", "slow"];

    /// The tap path of a block's part of this name: `input`, `fast`, `medium`, `slow`, `error` `(B, T, D)`; `units`
    /// `(B, T, F)`, of which all but the kept are zero; `rate_fast`, `rate_medium`, `rate_slow`, the coefficients `(D)`
    /// or `(B, T, D)`.
    pub fn tap_path(&self, block: usize, part: &str) -> String {
        format!("{}.{part}", Self::path(block))
    }

    /// The tap path of a block.
    pub fn path(block: usize) -> String {
        format!("blocks.{block}")
    }
}
