//! Attention along a text: its maps and statistics, a map as a Markov chain, the pairs that it finds, queries and keys.

pub use crate::analysis::query_key_flow::Integrator as IntegrationScheme;
use crate::telemetry::measurements::prelude::*;

measurement! {
    /// Attention maps with their entropies.
    pub struct AttentionMaps in "attention.maps" answers AttentionMapsArgs {
        /// The layers, in the order of the forward pass.
        pub layers: Vec<AttentionLayer>,
    }

    /// The heads of one layer.
    pub struct AttentionLayer {
        /// The layer's path among the model's parameters: `post.0`.
        pub path: String,
        /// Tokens in one row or column: 1, or the pooling factor of a slow path.
        pub tokens_per_position: usize,
        /// Weights are differences of two softmaxes: they may be negative, and rows do not sum to 1.
        #[serde(default)]
        pub is_differential: bool,
        /// `(H, T, T)`: head, query, key; each row sums to 1 (but see `is_differential`). A masked key is exactly 0.
        pub weights: Array,
        /// Mean over queries of -sum w ln w, nats; one per head. Of differential attention that of |w| / sum |w|.
        pub entropy: Numbers,
        /// The same of attention spread evenly over the keys that each query may see, nats; one per head.
        pub uniform_entropy: Numbers,
    }

    /// Attention along a text that may be long: all maps small, and those of some layers whole.
    pub struct LongAttentionMaps in "attention.long_maps" answers LongAttentionMapsArgs {
        /// Every layer, its weights averaged over blocks of queries and keys; one such block is a position here.
        pub thumbnails: Vec<AttentionLayer>,
        /// Every layer where that is not too much, else the one that was asked for.
        pub layers: Vec<AttentionLayer>,
    }

    /// Statistics of attention matrices A `(T, T)`, each the mean over several held-out windows.
    ///
    /// In differential attention, whose weights may be negative, entropy and sink are those of |A|, each row divided by its
    /// sum; effective rank and share of the largest singular value are those of A itself.
    pub struct AttentionStatistics in "attention.statistics" answers AttentionStatisticsArgs {
        /// The layers, in the order of the forward pass.
        pub layers: Vec<LayerStatistics>,
        /// Held-out windows that were averaged over.
        pub windows: usize,
        /// T: tokens of a window.
        pub tokens: usize,
    }

    /// The heads of one layer.
    pub struct LayerStatistics {
        /// The layer's path among the model's parameters: `layers.0`.
        pub path: String,
        /// Weights are differences of two softmaxes and may be negative.
        pub is_differential: bool,
        /// Mean over queries of -sum w ln w, nats; one per head.
        pub entropy: Numbers,
        /// (sum s)^2 / sum s^2 of the singular values s; one per head.
        pub effective_rank: Numbers,
        /// s1 / sum s, the share of the largest singular value; one per head.
        pub top_share: Numbers,
        /// Attention sink: mean weight of position 0 over the queries t >= 1; one per head.
        pub sink: Numbers,
        /// The same of attention spread evenly over the keys that each query may see.
        pub uniform: UniformStatistics,
    }

    /// Statistics of attention spread evenly over the keys that each query may see.
    #[derive(Copy)]
    pub struct UniformStatistics {
        /// The entropy in nats.
        pub entropy: f64,
        /// (sum s)^2 / sum s^2 of the singular values s.
        pub effective_rank: f64,
        /// s1 / sum s, the share of the largest singular value.
        pub top_share: f64,
        /// NaN where there is one position only.
        pub sink: f64,
    }

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
        /// The reason why it is not a Markov chain; absent if it is one.
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
        /// Steps until every start is within 1/4 of the stationary distribution in total variation; `None` if there are
        /// several stationary distributions, or a start does not come that close.
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
        /// The quasi-stationary distribution: the long-run distribution of a walk that has not been absorbed yet,
        /// `(T)`; absent if all positions are in closed classes.
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
        /// For each block: the largest difference between the total weights that two of its positions put on one block.
        /// If all are 0, the lumping is exact (Kemeny and Snell).
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
        /// The number of draws.
        pub draws: usize,
    }

    /// Attention from the questions of held-out examples to the pairs that answer them.
    pub struct PairAttention in "attention.pairs" answers PairAttentionArgs {
        /// Questions that the means are over.
        pub questions: usize,
        /// In the order of a forward pass; only layers whose attention has a weight for each token.
        pub layers: Vec<LayerPairAttention>,
    }

    /// The weights in one layer.
    pub struct LayerPairAttention {
        /// Path of the layer, such as `layers.0`.
        pub path: String,
        /// By head: mean attention weight from the question, which is the key's second place, to the pair's value.
        pub to_value: Numbers,
        /// By head: the same to the pair's key.
        pub to_key: Numbers,
        /// The weight of one position under attention that is spread evenly over the positions a question sees: the mean of
        /// 1/(t + 1).
        pub uniform: f64,
    }

    /// The queries and keys of one head along a text, and their coupled evolution dq/dt = k, dk/dt = f(q).
    pub struct QueryKeyPaths in "attention.query_key_paths" answers QueryKeyPathsArgs {
        /// True if the text was typed; otherwise it is a held-out passage. Its tokens are the sample's.
        pub is_typed: bool,
        /// Index of the layer, from 0.
        pub layer: usize,
        /// Index of the head, from 0.
        pub head: usize,
        /// Heads of a layer.
        pub heads: usize,
        /// By layer, whether its queries and keys evolve before they are scored.
        pub evolves: Vec<bool>,
        /// The method that evolves them in this layer; nothing where they do not evolve.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub evolution: Option<QueryKeyEvolution>,
    }

    /// Starts, ends, and all that leads from one to the other.
    pub struct QueryKeyEvolution {
        /// q before the evolution, `(T, d)`: token, coordinate.
        pub start_q: Array,
        /// k before the evolution, `(T, d)`.
        pub start_k: Array,
        /// q as the model evolved it, `(T, d)`.
        pub end_q: Array,
        /// k as the model evolved it, `(T, d)`.
        pub end_k: Array,
        /// First weight of f(q) = second silu(first q), `(d, d)`: output, input. All heads of the layer share it.
        pub first: Array,
        /// Second weight of f, `(d, d)`: output, input.
        pub second: Array,
        /// Step size of this head, exp(tau), without unit.
        pub dt: f64,
        /// n: how many steps.
        pub steps: usize,
        /// The integration scheme of a step.
        pub scheme: IntegrationScheme,
    }

    /// dt = exp(tau) of every head.
    pub struct StepLengths in "coupled_qk.step_lengths" answers StepLengthsArgs {
        /// In the order of a forward pass; only layers whose queries and keys evolve.
        pub layers: Vec<LayerStepLengths>,
        /// Steps n of the evolution.
        pub steps: usize,
    }

    /// The step lengths of one layer.
    pub struct LayerStepLengths {
        /// Place of the layer in the model, from 0.
        pub layer: usize,
        /// dt by head, without unit.
        pub dt: Numbers,
    }
}

impl AttentionLayer {
    /// Returns the number of heads of the layer.
    pub fn heads(&self) -> usize {
        self.weights.rows()
    }

    /// T: positions of the layer's text.
    pub fn positions(&self) -> usize {
        self.weights.cols()
    }

    /// The layer's entry without its weights.
    pub fn without_weights(&self) -> Self {
        Self {
            path: self.path.clone(),
            weights: Array::default(),
            entropy: self.entropy.clone(),
            uniform_entropy: self.uniform_entropy.clone(),
            ..*self
        }
    }

    /// A description of the rows and columns.
    pub fn axis(&self) -> String {
        match self.tokens_per_position {
            1 => "tokens".to_owned(),
            n => format!("blocks of {n} tokens"),
        }
    }
}

arguments! {
    /// Read the attention maps along a sentence.
    pub struct AttentionMapsArgs asks "attention_maps" {
        /// The sentence that is read, at most 96 tokens; empty for a held-out passage.
        text: String = String::new();
        /// Number of the held-out passage.
        passage: u64 = 0;
        /// Only layers whose path begins so are read; empty for all.
        layer: String = String::new();
    }

    /// Read the attention maps along a long text.
    pub struct LongAttentionMapsArgs asks "long_attention_maps" {
        /// The text that is read; empty for a held-out passage.
        text: String = String::new();
        /// Number of the held-out passage.
        passage: u64 = 0;
        /// Tokens that are read at most.
        length: usize = 128 => range(1..=1024);
        /// Path of the layer whose maps are whole where those of all would be too much; empty for the first.
        layer: String = String::new();
    }

    /// Average entropy, rank and sink of the attention over held-out windows.
    pub struct AttentionStatisticsArgs asks "attention_statistics" {
        /// Held-out windows that are read.
        windows: usize = 4 => range(1..=64);
        /// Tokens of a window. Singular values take time with the third power of it.
        length: usize = 128 => range(1..=1024);
    }

    /// Read the attention of one head as a step of a Markov chain.
    pub struct AttentionChainArgs asks "attention_chain" {
        /// The sentence that is read, at most 96 tokens; empty for a held-out passage.
        text: String = String::new();
        /// Number of the held-out passage.
        passage: u64 = 0;
        /// Path of the layer; empty for the first.
        layer: String = String::new();
        /// The head, from 0; the last where there are fewer.
        head: usize = 0;
        /// Positions that are lumped into a block.
        width: usize = 4 => range(1..=96);
    }

    /// Measure the attention from questions to the pairs that answer them.
    pub struct PairAttentionArgs asks "pair_attention" {
        /// Tokens of an example; a run asks for those of its training window.
        window: usize = 64 => range(1..=8192);
        /// Held-out examples that are read.
        examples: usize = 16 => range(1..=1024);
    }

    /// Follow queries and keys of one head as they evolve.
    pub struct QueryKeyPathsArgs asks "query_key_paths" {
        /// The sentence that is read, at most 96 tokens; empty for a held-out passage.
        text: String = String::new();
        /// Number of the held-out passage.
        passage: u64 = 0;
        /// The layer, from 0; the last where there are fewer.
        layer: usize = 0;
        /// The head, from 0; the last where there are fewer.
        head: usize = 0;
    }

    /// Read the step lengths that a coupled model has learned.
    pub struct StepLengthsArgs asks "step_lengths" {}
}
