//! The passages and tokens of a text that drive a neuron or a synapse most.

use crate::telemetry::measurements::prelude::*;

measurement! {
    /// One activation over a text that was read in windows, each from an empty state. Activations are never negative.
    pub struct TopContexts in "synapses.top_contexts" answers TopContextsArgs {
        /// The activity that was followed, in words: "y of neuron 0:12, greatest of all layers".
        pub followed: String,
        /// Its symbol: "x", "y", or "y x" of a synapse, whose value at a token is what the token adds to it, y(i) x(j).
        pub symbol: String,
        /// The neuron's number in the model, if it is one.
        pub neuron: Option<usize>,
        /// Tokens read.
        pub read: usize,
        /// The text has more tokens than were read.
        pub is_cut: bool,
        /// Tokens of a window.
        pub window: usize,
        /// At how many tokens the value is above zero.
        pub fires: usize,
        /// Mean value over all tokens that were read.
        pub mean: f64,
        /// Greatest value; 0 where it never fires.
        pub greatest: f64,
        /// Values at which bins begin and end, ascending; one more than there are bins. Empty where it never fires.
        pub bin_edges: Numbers,
        /// Tokens whose value lies in each bin; values of 0 are in none.
        pub bin_counts: Vec<u64>,
        /// The windows with the greatest values, greatest first; one value of each window counts.
        pub contexts: Vec<TopContext>,
        /// Tokens by their share of the sum of all values, greatest first.
        pub tokens: Vec<DrivingToken>,
    }

    /// A window and the token in it with the greatest value.
    pub struct TopContext {
        /// The value at that token.
        pub value: f64,
        /// The layer of the value; for a synapse the layer of x.
        pub layer: usize,
        /// Place of the token among all that were read, from 0.
        pub position: usize,
        /// Place of the token in the window, from 0.
        pub token: usize,
        /// The window, token by token.
        pub tokens: Vec<String>,
        /// The value at each token of the window.
        pub values: Numbers,
        /// The window as text.
        pub text: String,
        /// The text has the same tokens again: reading it gives these values.
        pub is_exact: bool,
    }

    /// The tokens that one token drives.
    pub struct DrivingToken {
        /// The token as text.
        pub token: String,
        /// Its share of the sum of all values, 0 to 1.
        pub share: f64,
        /// Its share of the tokens that were read, 0 to 1: what `share` would be of a neuron that answers to all alike.
        pub frequency: f64,
        /// At which share of its occurrences the value is above zero, 0 to 1.
        pub fires: f64,
    }
}

choices! {
    /// The activity that is followed through a text.
    pub enum FollowedKind {
        /// The activation y of a neuron.
        Y = "y",
        /// The activation x of a neuron.
        X = "x",
        /// The strength that each token adds to a synapse.
        Synapse = "synapse",
    }
}

choices! {
    /// Part of a text.
    pub enum SpanKind {
        /// The held-out part.
        HeldOut = "held-out",
        /// The training part.
        Training = "training",
        /// The whole text.
        Whole = "whole",
    }
}

arguments! {
    /// The passages of the text that drive a neuron or a synapse most.
    pub struct TopContextsArgs asks "top_contexts" {
        /// Activation of the neuron (y or x), or what each token adds to a synapse.
        of: FollowedKind = FollowedKind::Y,
        /// Neuron as head:index, or its number over all heads.
        neuron: String = String::new(),
        /// Layer of the neuron's activation, counted from 0, or of the synapse; of a neuron the greatest of all layers if below 0.
        layer: i64 = -1,
        /// Number of the synapse's neuron of y, over all heads.
        i: Option<usize> = None,
        /// Number of the synapse's neuron of x, over all heads.
        j: Option<usize> = None,
        /// Part of the text that is read.
        span: SpanKind = SpanKind::HeldOut,
        /// Tokens after which reading stops; 0 reads to the end.
        tokens: usize = 1 << 16,
        /// Tokens of a window; each window is read from an empty state.
        #[range(2..=4096)]
        window: usize = 128,
        /// Passages that are kept, with no more than 65,536 tokens together.
        #[range(1..=200)]
        top: usize = 20,
    }
}
