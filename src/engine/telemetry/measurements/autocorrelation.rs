//! How much a block's input has to do with its own past, beside what its traces keep of that past.

use crate::telemetry::measurements::prelude::*;

measurement! {
    /// By lag of k = 0, 1, 2, … tokens, over held-out text.
    pub struct Autocorrelation in "traces.autocorrelation" answers AutocorrelationArgs {
        /// Half the width of the 95% interval of white noise around zero.
        pub noise: f64,
        /// Tokens that were read.
        pub tokens: usize,
        /// In the order of a forward pass.
        pub blocks: Vec<BlockAutocorrelation>,
    }

    /// The autocorrelation in one block.
    pub struct BlockAutocorrelation {
        /// Path of the block, such as `blocks.0`.
        pub path: String,
        /// By lag: correlation of a channel of the input with itself so many tokens before, mean over channels weighted by
        /// their variance.
        pub input: Numbers,
        /// By trace, fast to slow, and by lag: what is left of a token after so many more, the mean of the product of 1 - a
        /// over channels and places.
        pub retention: [Numbers; 3],
    }
}

arguments! {
    /// Correlate the blocks' input with its own past.
    pub struct AutocorrelationArgs asks "autocorrelation" {
        /// Tokens of a held-out window.
        #[range(2..=8192)]
        window: usize = 128,
        /// Held-out windows that are read.
        #[range(1..=1024)]
        windows: usize = 16,
        /// Lags that are measured, at most half a window.
        #[range(1..=1024)]
        lags: usize = 64,
    }
}
