//! The values of chosen synapses of a BDH while a text is read.

use crate::telemetry::measurements::prelude::*;

measurement! {
    /// A text read token by token. Every list of values has one entry per token.
    #[serde(rename = "Reading")]
    pub struct SynapseReading in "synapses.reading" answers ReadingArgs {
        /// l: the synapses lead from y of layer l - 1 to x of layer l.
        pub layer: usize,
        /// Neurons N of a head; 0 in runs of earlier versions, which do not say.
        #[serde(default)]
        pub per_head: usize,
        /// How many of the tokens, at the end, the model wrote itself after the text; 0 in runs of earlier versions.
        #[serde(default)]
        pub written: usize,
        /// Temperature at which they were drawn; 0: the likeliest.
        #[serde(default)]
        pub temperature: f64,
        /// The synapse that was asked for comes first, then those of the highest rank.
        pub synapses: Vec<SynapseTrace>,
        /// The neurons of y at which the synapses begin, ascending numbers.
        pub y: Vec<NeuronTrace>,
        /// The neurons of x at which the synapses end, ascending numbers.
        pub x: Vec<NeuronTrace>,
        /// Shares of neurons above zero, one entry per layer.
        pub firing: Vec<LayerFiring>,
        /// -ln p of each token given those before it, nats; NaN at the first, which has none before it.
        pub loss: Numbers,
    }

    /// One synapse along the text.
    pub struct SynapseTrace {
        /// Number of the neuron of y, counted over all heads.
        pub i: usize,
        /// Number of the neuron of x, counted over all heads.
        pub j: usize,
        /// sigma(i, j) after each token, the paper's equation (16) before the last U.
        pub sigma: Numbers,
    }

    /// One neuron along the text.
    pub struct NeuronTrace {
        /// Its number, counted over all heads.
        pub neuron: usize,
        /// Its value at each token, never negative.
        pub values: Numbers,
    }

    /// Shares of one layer's neurons above zero along the tokens, 0 to 1.
    #[derive(Default)]
    pub struct LayerFiring {
        /// Shares of x, the first sparse vector of the layer.
        pub x: Numbers,
        /// Shares of y, the second sparse vector of the layer.
        pub y: Numbers,
    }
}

choices! {
    /// Which synapses of a reading are followed.
    pub enum SynapseRank {
        /// Those with the largest gain at a single token.
        Sudden = "sudden",
        /// Those with the largest raw value at the end.
        Strong = "strong",
    }
}

arguments! {
    /// The state of synapses while a text is read.
    pub struct ReadingArgs asks "reading" {
        /// The text that is read; empty for a held-out passage.
        text: String = String::new(),
        /// Number of the held-out passage.
        passage: u64 = 0,
        /// Tokens of the text at most.
        #[range(2..=100_000)]
        longest: usize = 512,
        /// The layer of x, to which synapses lead from y of the layer before; otherwise the last. A layer that the model lacks is its last.
        #[range(1..=63)]
        layer: Option<usize> = None,
        /// Rotate what was written by its age, as the model's attention does; otherwise gains are added up.
        rotated: bool = true,
        /// Follow the synapses with the largest gain at one token (`sudden`) or the largest value at the end (`strong`).
        rank: SynapseRank = SynapseRank::Sudden,
        /// Neuron of y of a synapse that is followed whatever its rank; `j` is needed too.
        i: Option<usize> = None,
        /// Neuron of x of that synapse.
        j: Option<usize> = None,
        /// Tokens that the model writes after the text; they are read like it.
        #[range(0..=10_000)]
        write: usize = 0,
        /// Temperature at which they are drawn; 0 takes the likeliest.
        #[range(0.0..=5.0)]
        temperature: f64 = 0.0,
    }
}
