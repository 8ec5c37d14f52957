//! The times between two writes of a synapse.

use super::PowerLawFit;
use crate::telemetry::measurements::prelude::*;

measurement! {
    /// Tokens between two writes of one synapse, over many of them (sections 2.4 and 8.2 of the paper). A token writes the
    /// synapse (i, j) where both y(i) of the layer before and x(j) are above zero.
    pub struct WriteIntervals in "synapses.write_intervals" answers WriteIntervalsArgs {
        /// Layer of the x that synapses run to.
        pub layer: usize,
        /// Tokens of the text.
        pub tokens: usize,
        /// Synapses that were drawn.
        pub synapses: usize,
        /// The drawn synapses that were written twice or more.
        pub written_twice: usize,
        /// Share of the tokens at which a synapse is written, mean over all that were drawn, 0 to 1.
        pub write_share: f64,
        /// Intervals of the model.
        pub measured: IntervalDistribution,
        /// Intervals of synapses that are written equally often, at random tokens: the effect of unequal rates alone.
        pub shuffled: IntervalDistribution,
    }

    /// A log-binned distribution of intervals.
    pub struct IntervalDistribution {
        /// Middle of each bin, tokens.
        pub interval: Numbers,
        /// Share of the intervals for each token of length.
        pub density: Numbers,
        /// Mean interval, tokens.
        pub mean: f64,
        /// The longest interval, tokens.
        pub longest: u32,
        /// The likeliest power law of the tail; absent where there are too few intervals.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub power_law: Option<PowerLawFit>,
    }
}

arguments! {
    /// The times between two writes of a synapse while a held-out text is read.
    pub struct WriteIntervalsArgs asks "write_intervals" {
        /// Layer of the x that synapses run to. Absent, or a layer that the model lacks: its last.
        #[range(1..=63)]
        layer: Option<usize> = None,
        /// Tokens of the text.
        #[range(2..=65536)]
        tokens: usize = 1024,
        /// Synapses drawn at random.
        #[range(1..=1_000_000)]
        synapses: usize = 4000,
    }
}
