//! Neurons and synapses of a BDH while a text is read: which fire, what they hold, and what each layer would predict.

use super::{LikelyToken, PowerLawFit};
use crate::telemetry::measurements::prelude::*;

measurement! {
    /// Shares of neurons above zero on held-out text, compared with the same model with random weights, and the sizes
    /// of their values.
    pub struct Activity in "synapses.activity" answers ActivityArgs {
        /// One per layer, from the first.
        pub layers: Vec<LayerActivity>,
    }

    /// The activity of one layer.
    pub struct LayerActivity {
        /// Activity of the model at this step.
        pub trained: FiringShare,
        /// Activity of a model of the same sizes with random weights.
        pub random_weights: FiringShare,
        /// Sizes of the values of the model at this step; records of earlier versions lack them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub size: Option<ActivitySize>,
    }

    /// Root mean square over neurons and tokens. 0 if all values of the layer are zero, NaN if one is not a number.
    #[derive(Copy)]
    pub struct ActivitySize {
        /// Root mean square of x.
        pub x: f64,
        /// Root mean square of y.
        pub y: f64,
    }

    /// Mean share of neurons above zero, 0 to 1.
    #[derive(Copy)]
    pub struct FiringShare {
        /// Share of x, the first sparse vector of a layer.
        pub x: f64,
        /// Share of y, the second sparse vector of a layer.
        pub y: f64,
    }

    /// Sparsity and surprise (the paper's figure 14): means over many new words.
    pub struct Surprise in "synapses.surprise" answers SurpriseArgs {
        /// The trained model.
        pub trained: PeriodCurves,
        /// A model of the same sizes with random weights.
        pub random_weights: PeriodCurves,
        /// Firing of the trained model by the speed of rotary position, one entry per layer.
        pub octaves: Vec<OctaveFiring>,
    }

    /// Curves over the position in a period, in letters: a warm-up, a new word, and its repetitions.
    pub struct PeriodCurves {
        /// One entry per layer.
        pub layers: Vec<PeriodFiring>,
        /// Cross-entropy at each position, nats.
        pub loss: Numbers,
    }

    /// One layer over a period.
    pub struct PeriodFiring {
        /// Shares of neurons above zero, one entry per position.
        pub firing: LayerFiring,
        /// Pearson correlation of y's share with the loss over the word and its repetitions, -1 to 1.
        pub loss_correlation: f64,
    }

    /// Share of y above zero in one layer by octave: eight groups of equally many neurons, 0 turns fastest.
    pub struct OctaveFiring {
        /// The share while the word is new.
        pub memorised: Numbers,
        /// The share at repetitions 5 to 8 of the word.
        pub known: Numbers,
    }

    /// A text read token by token. Every list of values has one entry per token.
    #[derive(Default)]
    #[serde(rename = "Reading")]
    pub struct SynapseReading in "synapses.reading" answers ReadingArgs {
        /// l: the synapses lead from y of layer l - 1 to x of layer l.
        pub layer: usize,
        /// Neurons N of a head; 0 in runs of earlier versions, which do not say.
        #[serde(default)]
        pub per_head: usize,
        /// The number of tokens at the end that the model generated; 0 in runs of earlier versions.
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
        /// The index of the neuron, counted over all heads.
        pub neuron: usize,
        /// The value of the neuron at each token, never negative.
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

    /// The next token's distribution that the head reads off the state v after each layer, and before the first (the logit
    /// lens). Of a model whose layers share their weights, the row after l layers is what the model of l layers says.
    pub struct LogitLens in "synapses.logit_lens" answers LogitLensArgs {
        /// True if the text was typed; otherwise it is a held-out passage.
        pub is_typed: bool,
        /// Layers L of the model; rows of the arrays are 0 layers, 1 layer, .., L layers.
        pub layers: usize,
        /// Probability of the likeliest token, `(L + 1, T)`.
        pub top: Array,
        /// Probability of the token that the text has next, `(L + 1, T)`; NaN at the last.
        pub next: Array,
        /// Entropy of the distribution, nats, `(L + 1, T)`.
        pub entropy: Array,
        /// The likeliest tokens, row by row, `(L + 1) T` lists.
        pub likely: Vec<Vec<LikelyToken>>,
        /// Mean of -ln p of the next token by row, nats, `(L + 1)`.
        pub loss: Numbers,
    }

    /// Products of queries and keys along a text. In BDH both are x; the product of tokens t and s is the weight with which what
    /// token s wrote reaches token t, neither scaled nor normalised.
    pub struct QueryKeyMaps in "synapses.query_key_maps" answers QueryKeyMapsArgs {
        /// True if scores are the model's: rotated or damped by the distance of the tokens. Else they are the bare x
        /// x^T.
        pub is_rotated: bool,
        /// The layers, in the order of a forward pass.
        pub layers: Vec<QueryKeyLayer>,
    }

    /// The heads of one layer.
    pub struct QueryKeyLayer {
        /// `(H, T, T)`: head, query, key; exactly 0 where the key is not before the query.
        pub products: Array,
        /// Greatest magnitude of each head's map, `(H)`.
        pub greatest: Numbers,
    }

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
        /// The probability density: the share of the intervals in the bin divided by the width of the bin in tokens.
        pub density: Numbers,
        /// Mean interval, tokens.
        pub mean: f64,
        /// The longest interval, tokens.
        pub longest: u32,
        /// The likeliest power law of the tail; absent where there are too few intervals.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub power_law: Option<PowerLawFit>,
    }

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
        /// The number of tokens at which the value is above zero.
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
        /// The token's share of the sum of all values, 0 to 1.
        pub share: f64,
        /// The token's share of all tokens that were read, 0 to 1: `share` would equal it for a neuron that responds
        /// equally to all tokens.
        pub frequency: f64,
        /// The share of the token's occurrences at which the value is above zero, 0 to 1.
        pub fires: f64,
    }
}

choices! {
    /// The rule by which the synapses of a reading are selected.
    pub enum SynapseRank {
        /// The synapses with the largest gain at a single token.
        Sudden = "sudden",
        /// The synapses with the largest raw value at the end.
        Strong = "strong",
    }

    /// The activity that is followed through a text.
    pub enum FollowedKind {
        /// The activation y of a neuron.
        Y = "y",
        /// The activation x of a neuron.
        X = "x",
        /// The strength that each token adds to a synapse.
        Synapse = "synapse",
    }

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

impl LogitLens {
    /// The likeliest tokens after `layers` layers at a position; nothing where there is no such place.
    pub fn likely_at(&self, layers: usize, position: usize) -> &[LikelyToken] {
        let tokens = self.likely.len() / (self.layers + 1).max(1);
        if position >= tokens { &[] } else { self.likely.get(layers * tokens + position).map_or(&[], Vec::as_slice) }
    }
}

arguments! {
    /// Which share of the neurons fires.
    pub struct ActivityArgs asks "activity" {
        /// Held-out windows that are read.
        windows: usize = 4 => range(2..=4096);
        /// Tokens of a window.
        window: usize = 128 => range(2..=4096);
    }

    /// How firing falls as a new word becomes known.
    pub struct SurpriseArgs asks "surprise" {
        /// New words that are read, each anew after a period of another word: a model trained on windows of two periods has not learned to read on for ever.
        periods: usize = 16 => range(2..=256);
    }

    /// The state of synapses while a text is read.
    pub struct ReadingArgs asks "reading" {
        /// The text that is read; empty for a held-out passage.
        text: String = String::new();
        /// Number of the held-out passage.
        passage: u64 = 0;
        /// Tokens of the text at most.
        longest: usize = 512 => range(2..=100_000);
        /// The layer of x, to which synapses lead from y of the layer before; otherwise the last. A layer that the model lacks is its last.
        layer: Option<usize> = None => range(1..=63);
        /// Rotate what was written by its age, as the model's attention does; otherwise gains are added up.
        rotated: bool = true;
        /// Follow the synapses with the largest gain at one token (`sudden`) or the largest value at the end (`strong`).
        rank: SynapseRank = SynapseRank::Sudden;
        /// Neuron of y of a synapse that is followed whatever its rank; `j` is needed too.
        i: Option<usize> = None;
        /// Neuron of x of that synapse.
        j: Option<usize> = None;
        /// Tokens that the model writes after the text; they are read like it.
        write: usize = 0 => range(0..=10_000);
        /// Temperature at which they are drawn; 0 takes the likeliest.
        temperature: f64 = 0.0 => range(0.0..=5.0);
    }

    /// The next token that each layer's state would give.
    pub struct LogitLensArgs asks "logit_lens" {
        /// The text that is read; empty for a held-out passage.
        text: String = String::new();
        /// Number of the held-out passage.
        passage: u64 = 0;
        /// Tokens of the text at most.
        longest: usize = 48 => range(2..=256);
        /// Likely tokens that are listed for each layer and position.
        count: usize = 6 => range(1..=32);
    }

    /// The products of queries and keys along a text.
    pub struct QueryKeyMapsArgs asks "query_key_maps" {
        /// The text that is read; empty for a held-out passage.
        text: String = String::new();
        /// Number of the held-out passage.
        passage: u64 = 0;
        /// Tokens of the text at most.
        longest: usize = 96 => range(2..=192);
        /// Take the products as the model sees them, rotated and damped by distance; otherwise the bare x x^T.
        rotated: bool = true;
    }

    /// The times between two writes of a synapse while a held-out text is read.
    pub struct WriteIntervalsArgs asks "write_intervals" {
        /// Layer of the x that synapses run to. Absent, or a layer that the model lacks: its last.
        layer: Option<usize> = None => range(1..=63);
        /// Tokens of the text.
        tokens: usize = 1024 => range(2..=65536);
        /// Synapses drawn at random.
        synapses: usize = 4000 => range(1..=1_000_000);
    }

    /// The passages of the text that drive a neuron or a synapse most.
    pub struct TopContextsArgs asks "top_contexts" {
        /// Activation of the neuron (y or x), or what each token adds to a synapse.
        of: FollowedKind = FollowedKind::Y;
        /// Neuron as head:index, or its number over all heads.
        neuron: String = String::new();
        /// Layer of the neuron's activation, counted from 0, or of the synapse; of a neuron the greatest of all layers if below 0.
        layer: i64 = -1;
        /// Number of the synapse's neuron of y, over all heads.
        i: Option<usize> = None;
        /// Number of the synapse's neuron of x, over all heads.
        j: Option<usize> = None;
        /// Part of the text that is read.
        span: SpanKind = SpanKind::HeldOut;
        /// Tokens after which reading stops; 0 reads to the end.
        tokens: usize = 1 << 16;
        /// Tokens of a window; each window is read from an empty state.
        window: usize = 128 => range(2..=4096);
        /// Passages that are kept, with no more than 65,536 tokens together.
        top: usize = 20 => range(1..=200);
    }
}
