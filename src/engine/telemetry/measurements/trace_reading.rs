//! A text read by blocks that see the past through traces, and how the model continues.

use crate::telemetry::measurements::prelude::*;

measurement! {
    /// The sample's tokens are those of the prompt and then those that the model wrote.
    pub struct TraceReading in "traces.reading" answers TraceReadingArgs {
        /// True if somebody typed the text.
        pub is_typed: bool,
        /// Tokens of the prompt.
        pub prompt: usize,
        /// Temperature at which the tokens after it were drawn; 0: the likeliest.
        pub temperature: f64,
        /// By token: -ln p of it, given those before, nats. NaN for the first.
        pub surprise: Numbers,
        /// In the order of a forward pass.
        pub blocks: Vec<BlockReading>,
    }

    /// The traces of one block.
    pub struct BlockReading {
        /// Path of the block, such as `blocks.0`.
        pub path: String,
        /// By token: length of the prediction error over that of the block's input.
        pub error: Numbers,
        /// The traces, fast to slow, `(tokens, channels)` each; at most the first 128 channels.
        pub traces: [Array; 3],
        /// By trace and token: its length, over all channels.
        pub norms: [Numbers; 3],
        /// Channels of each trace.
        pub channels: usize,
    }
}

arguments! {
    /// Read a text token by token and continue writing.
    pub struct TraceReadingArgs asks "trace_reading" {
        /// The sentence that is read, at most 256 tokens; empty for a held-out passage.
        text: String = String::new(),
        /// Number of the held-out passage.
        passage: u64 = 0,
        /// Tokens that are written after it.
        #[range(0..=128)]
        length: usize = 32,
        /// Temperature of the sampling; 0 takes the likeliest token.
        #[range(0.0..=5.0)]
        temperature: f64 = 0.8,
    }
}
