//! One neuron of a BDH model: its strongest partners and its tokens.

use super::NeuronGraphArgs;
use crate::telemetry::measurements::prelude::*;

measurement! {
    /// One neuron, from the weights alone.
    pub struct GraphNeuron in "graph.neuron" answers GraphNeuronArgs {
        /// Its number in the model, counted over all heads.
        pub neuron: u32,
        /// Its attention head, from 0.
        pub head: u32,
        /// Heads of the model; 0 in runs of earlier versions, which do not say.
        #[serde(default)]
        pub heads: u32,
        /// Neurons N of a head; 0 in runs of earlier versions.
        #[serde(default)]
        pub per_head: u32,
        /// Octave of its RoPE frequency, 0 the fastest; absent where neurons do not turn.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub octave: Option<u32>,
        /// Largest entries of its row of G, of either sign, by falling value.
        pub acts_on: Vec<Partner>,
        /// Largest entries of its column of G, of either sign, by falling value.
        pub acted_on_by: Vec<Partner>,
        /// Tokens whose embedding gives it most in the first layer.
        pub reads: Vec<TokenScore>,
        /// Tokens whose logit its row of E raises most, norms left out.
        pub writes: Vec<TokenScore>,
    }

    /// Another neuron and the entry of G between the two.
    pub struct Partner {
        /// Its number in the model.
        pub neuron: u32,
        /// Its attention head, from 0.
        pub head: u32,
        /// Positive: excitatory.
        pub entry: f64,
    }

    /// A token with its score.
    pub struct TokenScore {
        /// The token as text.
        pub token: String,
        /// In the unit of a pre-activation (`reads`) or of a logit above the mean (`writes`).
        pub score: f64,
    }
}

arguments! {
    /// One neuron in the whole graph; of the graph's arguments only `matrix`, and for sigma `layer` and `tokens`, change the numbers.
    pub struct GraphNeuronArgs asks "graph_neuron" with graph: NeuronGraphArgs {
        /// Number of the neuron in the model; the one with the longest row of E if not given.
        neuron: Option<usize> = None,
    }
}
