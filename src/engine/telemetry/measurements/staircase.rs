//! One coordinate of the fast state and of the upsampled slow state along a sentence.

use crate::telemetry::measurements::prelude::*;

measurement! {
    /// The staircase of a fast-slow model: the slow state moves in steps of `pool` tokens.
    pub struct Staircase in "fast_slow.staircase" answers StaircaseArgs {
        /// P: tokens in one block of the slow path.
        pub pool: usize,
        /// Which repetition of pooling, slow path and injection, from 0.
        pub round: usize,
        /// The part of the D channels that is drawn: "first principal component" or "channel 12".
        pub coordinate: String,
        /// Share of the variance of both states that the coordinate holds, 0 to 1.
        pub explained: f64,
        /// x_t, one per token.
        pub fast: Numbers,
        /// y_up, one per token.
        pub slow: Numbers,
    }
}

arguments! {
    /// Follow the fast and the slow state along a sentence.
    pub struct StaircaseArgs asks "staircase" {
        /// The sentence that is read, at most 96 tokens; empty for a held-out passage.
        text: String = String::new(),
        /// Number of the held-out passage.
        passage: u64 = 0,
        /// The repetition of pooling, slow path and injection, from 0; otherwise the last.
        round: Option<usize> = None,
        /// The channel that is drawn, from 0; otherwise the first principal component of both states together.
        coordinate: Option<usize> = None,
    }
}
