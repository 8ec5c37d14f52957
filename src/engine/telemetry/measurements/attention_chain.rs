//! One attention matrix, read as a step of a Markov chain.

use crate::telemetry::measurements::prelude::*;

measurement! {
    /// The attention alpha `(T, T)` of one layer and head along a text, read as the transition matrix of a chain over its
    /// positions: from query t to key s with probability alpha_ts.
    pub struct AttentionChain in "attention.chain" answers AttentionChainArgs {
        /// The layer's path among the model's parameters: `post.0.r1`.
        pub path: String,
        /// The head, counted from 0.
        pub head: usize,
        /// Heads of the layer.
        pub heads: usize,
        /// Paths of all layers, in the order of the forward pass.
        pub layers: Vec<String>,
        /// Tokens in one row or column: 1, or the pooling factor of a slow path.
        pub tokens_per_position: usize,
        /// True if the text was typed.
        pub is_typed: bool,
        /// Attention is strictly causal, so that the row of the first position is 0; the chain stays there.
        #[serde(default)]
        pub first_sees_nothing: bool,
        /// alpha `(T, T)`, row-stochastic unless attention is differential; of strictly causal attention from the second row on.
        pub weights: Array,
        /// Largest |row sum - 1|.
        pub row_sum_error: f64,
        /// Smallest entry; negative for differential attention.
        pub smallest: f64,
        /// Why it is no Markov chain; nothing where it is one.
        pub problem: Option<String>,
        /// Measures of the chain, where it is one.
        pub chain: Option<ChainProperties>,
    }

    /// The behaviour of a row-stochastic matrix that is applied repeatedly.
    pub struct ChainProperties {
        /// No position leads to a later one, as in causal attention: the first is absorbing, and the eigenvalues are
        /// the diagonal.
        pub is_causal: bool,
        /// Closed communicating classes: as many independent stationary distributions.
        pub closed_classes: usize,
        /// pi with pi alpha = pi, `(T)`; `None` if there is more than one closed class.
        pub stationary: Option<Numbers>,
        /// |lambda| of all eigenvalues, falling.
        pub moduli: Numbers,
        /// Steps until every start is within 1/4 of the stationary distribution in total variation; nothing where there is no
        /// single one, or none is reached.
        pub mixing_time: Option<u64>,
        /// No chain with this second eigenvalue mixes in fewer steps.
        #[serde(rename = "least_mixing_time")]
        pub min_mixing_time: f64,
        /// -sum alpha ln alpha of each row, nats, `(T)`.
        pub row_entropy: Numbers,
        /// ln of the number of positions that each query may see, nats, `(T)`.
        pub uniform_entropy: Numbers,
        /// Expected steps from each position until a closed class is entered, `(T)`.
        pub steps_to_absorption: Numbers,
        /// Where a walk is that has not been absorbed yet, in the long run, `(T)`; nothing where all positions are in closed
        /// classes.
        pub quasi_stationary: Option<Numbers>,
        /// Probability that one more step does not absorb such a walk; NaN where there is none.
        pub survival: f64,
        /// The error of lumping positions into blocks.
        pub lumping: ChainLumping,
    }

    /// Blocks of P consecutive positions in place of positions, and how far that is from exact.
    pub struct ChainLumping {
        /// P: positions of a block.
        pub width: usize,
        /// For each block: how far its positions' weights on one block differ, for the block where they differ most. All 0
        /// is Kemeny and Snell's condition.
        pub error: Numbers,
        /// Mean of `error` over all blocks.
        pub mean: f64,
        /// Largest value of `error`.
        pub largest: f64,
        /// Mean error with the weights of every row shuffled among the positions that it sees.
        pub shuffled_rows: NullError,
        /// Mean error of blocks of the same sizes with positions drawn at random.
        pub random_blocks: NullError,
        /// The best blocks of the same sizes that a search by swaps found: the block of each position.
        pub best: Vec<usize>,
        /// Mean error of the blocks `best`.
        pub best_mean: f64,
    }

    /// A quantity under a null model.
    #[derive(Copy)]
    pub struct NullError {
        /// Mean over draws.
        pub mean: f64,
        /// Standard deviation over draws.
        pub sd: f64,
        /// How many were drawn.
        pub draws: usize,
    }
}

arguments! {
    /// Read the attention of one head as a step of a Markov chain.
    pub struct AttentionChainArgs asks "attention_chain" {
        /// The sentence that is read, at most 96 tokens; empty for a held-out passage.
        text: String = String::new(),
        /// Number of the held-out passage.
        passage: u64 = 0,
        /// Path of the layer; empty for the first.
        layer: String = String::new(),
        /// The head, from 0; the last where there are fewer.
        head: usize = 0,
        /// Positions that are lumped into a block.
        #[range(1..=96)]
        width: usize = 4,
    }
}
