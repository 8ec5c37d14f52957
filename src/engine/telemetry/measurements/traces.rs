//! Blocks that read the past through traces: what is left of a token, who can name it, and which units are used.

use crate::telemetry::measurements::prelude::*;

measurement! {
    /// By lag of k = 0, 1, 2, … tokens, over held-out text.
    pub struct Autocorrelation in "traces.autocorrelation" answers AutocorrelationArgs {
        /// Half the width of the 95% interval of white noise around zero.
        pub noise: f64,
        /// Tokens that were read.
        pub tokens: usize,
        /// The blocks, in the order of a forward pass.
        pub blocks: Vec<BlockAutocorrelation>,
    }

    /// The autocorrelation in one block.
    pub struct BlockAutocorrelation {
        /// Path of the block, such as `blocks.0`.
        pub path: String,
        /// By lag: correlation of a channel of the input with itself this many tokens before, mean over channels
        /// weighted by their variance.
        pub input: Numbers,
        /// By trace, fast to slow, and by lag: what is left of a token after this many more, the mean of the product of
        /// 1 - a over channels and places.
        pub retention: [Numbers; 3],
    }

    /// Accuracy of one trained reader against distance, with what needs no reading.
    pub struct Recoverability in "traces.recoverability" answers RecoverabilityArgs {
        /// k, tokens back; one per point of the lists below.
        pub distances: Vec<usize>,
        /// Share of right answers, 0 to 1.
        pub accuracy: Numbers,
        /// Lower end of the 95% Wilson interval.
        pub low: Numbers,
        /// Upper end of the 95% Wilson interval.
        pub high: Numbers,
        /// Entropy of the tokens less the reader's cross-entropy, nats an answer: a lower bound of the mutual information of the token
        /// with what is read (Barber and Agakov, 2003), below 0 where a reader is worse than the tokens' frequencies. Empty in
        /// records of versions that did not measure it.
        #[serde(default)]
        pub information: Numbers,
        /// Accuracy of always naming the most common token.
        pub most_common: f64,
        /// One over the number of tokens that occur.
        pub uniform: f64,
    }

    /// The sample's tokens are those of the prompt and then those that the model wrote.
    pub struct TraceReading in "traces.reading" answers TraceReadingArgs {
        /// True if the user typed the text.
        pub is_typed: bool,
        /// Tokens of the prompt.
        pub prompt: usize,
        /// Temperature at which the tokens after it were drawn; 0: the likeliest.
        pub temperature: f64,
        /// By token: -ln p of it, given those before, nats. NaN for the first.
        pub surprise: Numbers,
        /// The blocks, in the order of a forward pass.
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

    /// Over held-out text.
    pub struct UnitUsage in "traces.unit_usage" answers UnitUsageArgs {
        /// Units that are kept for each token, k.
        pub kept: usize,
        /// Tokens that were read.
        pub tokens: usize,
        /// The blocks, in the order of a forward pass.
        pub blocks: Vec<BlockUsage>,
    }

    /// The units of one block.
    pub struct BlockUsage {
        /// Path of the block, such as `blocks.0`.
        pub path: String,
        /// By unit: the share of tokens for which it is kept. Their sum is k.
        pub usage: Numbers,
    }

    /// R^2, on held-out tokens, of a linear map from the state that a layer reads to what one earlier layer had added: 1 where that
    /// can be read out whole, 0 where nothing is left of it.
    pub struct LayerReadout in "layers.readout" answers LayerReadoutArgs {
        /// The layer whose contribution is read out, from 1.
        pub layer: usize,
        /// The layers that read from it, counted from 1: those after it, then one more for the last norm.
        pub readers: Vec<usize>,
        /// R^2, one entry per reader.
        pub explained: Numbers,
        /// The same where what the layer added is exchanged between tokens: at most about 0. Mean over permutations.
        pub permuted: Numbers,
        /// Tokens that the map is fitted to; as many others judge it.
        pub tokens: usize,
    }
}

arguments! {
    /// Correlate the blocks' input with its own past.
    pub struct AutocorrelationArgs asks "autocorrelation" {
        /// Tokens of a held-out window.
        window: usize = 128 => range(2..=8192);
        /// Held-out windows that are read.
        windows: usize = 16 => range(1..=1024);
        /// Lags that are measured, at most half a window.
        lags: usize = 64 => range(1..=1024);
    }

    /// Measure how often past tokens are named.
    pub struct RecoverabilityArgs asks "recoverability" {
        /// Held-out windows that are read.
        windows: usize = 24 => range(1..=65536);
        /// Tokens of a held-out window.
        window: usize = 128 => range(1..=65536);
    }

    /// Read a text token by token and continue writing.
    pub struct TraceReadingArgs asks "trace_reading" {
        /// The sentence that is read, at most 256 tokens; empty for a held-out passage.
        text: String = String::new();
        /// Number of the held-out passage.
        passage: u64 = 0;
        /// Tokens that are written after it.
        length: usize = 32 => range(0..=128);
        /// Temperature of the sampling; 0 takes the likeliest token.
        temperature: f64 = 0.8 => range(0.0..=5.0);
    }

    /// Count how often each unit is kept.
    pub struct UnitUsageArgs asks "unit_usage" {
        /// Tokens of a held-out window.
        window: usize = 128 => range(1..=8192);
        /// Held-out windows that are read.
        windows: usize = 16 => range(1..=1024);
    }

    /// Measure what the later layers can still read, by a linear map, of what one layer added.
    pub struct LayerReadoutArgs asks "layer_readout" {
        /// The layer whose contribution is read out, from 1.
        layer: usize = 1 => range(1..=1024);
        /// Held-out windows that are read; the map is fitted to half of them.
        windows: usize = 32 => range(2..=1024);
        /// Tokens of a window.
        window: usize = 64 => range(2..=1024);
    }
}
