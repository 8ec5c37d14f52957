//! The structure of a BDH model's neuron graph: core, modularity, single neurons, and entries between two heads.

use super::{MAX_EDGES, Matrix, NeuronGraphArgs};
use crate::{analysis::statistics::mean, telemetry::measurements::prelude::*};

measurement! {
    /// The core-periphery structure of the graph. Each number comes with those of rewired graphs, in which every neuron
    /// keeps its edges in and out; one above all of theirs is more of a core than the degrees bring with them.
    pub struct CorePeriphery in "graph.core" answers CorePeripheryArgs {
        /// Edges of the graph.
        pub edges: usize,
        /// Neurons that have an edge.
        pub carrying: usize,
        /// Largest k of a k-core.
        pub core_k: u32,
        /// Neurons in that core.
        pub core_size: usize,
        /// Largest k of a k-core of each rewired graph.
        pub core_k_rewired: Vec<u32>,
        /// Density of edges among the neurons that have most edges, 0 to 1.
        pub rich_club: f64,
        /// The same of each rewired graph.
        pub rich_club_rewired: Numbers,
    }

    /// Modularity Q against the number of edges; every list has one entry a number of edges.
    pub struct GraphModularity in "graph.modularity" answers GraphModularityArgs {
        /// The numbers of strongest entries of G that are edges.
        pub edges: Vec<usize>,
        /// Q of the model's graph.
        pub model: Numbers,
        /// Q of the same graph with its edges rewired, every degree as it was.
        pub degree_preserving: Numbers,
        /// Q of a product of random factors whose rows are as long as the model's.
        pub low_rank_same_norms: Numbers,
        /// Q of a product of random factors.
        pub low_rank: Numbers,
        /// Q of edges drawn uniformly: G(n, m).
        pub uniform: Numbers,
        /// Share of the neurons that have an edge, 0 to 1.
        pub carrying: Numbers,
    }

    /// Modularity at one number of edges, cheap enough to be measured every few steps.
    pub struct ModularityAtStep in "graph.curve" answers GraphCurveArgs {
        /// The number of strongest entries of G that are edges.
        pub edges: usize,
        /// Q of the model's graph.
        pub model: f64,
        /// Q of the same graph with its edges rewired, every degree as it was.
        pub degree_preserving: f64,
        /// Share of the neurons that have an edge, 0 to 1.
        pub carrying: f64,
    }

    /// One neuron, from the weights alone.
    pub struct GraphNeuron in "graph.neuron" answers GraphNeuronArgs {
        /// The index of the neuron in the model, counted over all heads.
        pub neuron: u32,
        /// The attention head of the neuron, from 0.
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
        /// The index of the neuron in the model.
        pub neuron: u32,
        /// The attention head of the neuron, from 0.
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

    /// The distribution of the entries of G between every two heads (section 5.5 of the paper).
    pub struct HeadPairs in "graph.head_pairs" answers HeadPairsArgs {
        /// Attention heads of the model.
        pub heads: usize,
        /// Every pair, by the head that acts and then by the head that is acted on.
        pub pairs: Vec<HeadPair>,
    }

    /// The entries of G from the neurons of one head to those of another.
    pub struct HeadPair {
        /// Head of the neurons that act, from 1.
        pub from_head: usize,
        /// Head of the neurons that are acted on, from 1.
        pub to_head: usize,
        /// Mean of the entries.
        pub mean: f64,
        /// Standard deviation of the entries.
        pub standard_deviation: f64,
        /// Third standardised moment.
        pub skewness: f64,
        /// Fourth standardised moment; a normal distribution has 3.
        pub kurtosis: f64,
        /// Share of the entries above this many standard deviations.
        pub positive_tail: f64,
        /// Share of the entries below as many negative ones.
        pub negative_tail: f64,
        /// The largest such share on either side of random products whose rows are as long as the model's.
        pub random_tail: f64,
        /// The sides whose share is above that of every random product.
        pub heavy_tail: HeavyTail,
    }
}

impl CorePeriphery {
    /// The density among the neurons with most edges over the mean of the rewired graphs.
    pub fn rich_club_ratio(&self) -> f64 {
        self.rich_club / mean(&self.rich_club_rewired)
    }
}

/// The sides of a distribution that are heavier than chance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HeavyTail {
    /// Large positive entries: the one head excites the other.
    Positive,
    /// Large negative entries: the one head inhibits the other.
    Negative,
    /// Both.
    Both,
    /// No more of them than chance has.
    Neither,
}

impl HeavyTail {
    /// The side or sides on which a share exceeds that of chance.
    pub fn new(positive: bool, negative: bool) -> Self {
        match (positive, negative) {
            (true, true) => Self::Both,
            (true, false) => Self::Positive,
            (false, true) => Self::Negative,
            (false, false) => Self::Neither,
        }
    }

    /// True if the positive side is heavy.
    pub fn is_positive(self) -> bool {
        matches!(self, Self::Positive | Self::Both)
    }
}

impl HeadPairs {
    /// Pairs with a heavy positive tail.
    pub fn positive(&self) -> usize {
        self.pairs.iter().filter(|p| p.heavy_tail.is_positive()).count()
    }

    /// Heads whose neurons act on no head with a heavy positive tail.
    pub fn not_exciting(&self) -> usize {
        let excites = |from: usize| self.pairs.iter().any(|p| p.from_head == from && p.heavy_tail.is_positive());
        (1..=self.heads).filter(|from| !excites(*from)).count()
    }
}

arguments! {
    /// The core of the graph at the given number of edges; `weighted` and `restarts` make no difference.
    pub struct CorePeripheryArgs asks "core_periphery" with graph: NeuronGraphArgs {
        /// Rewired graphs of the same degrees.
        rewirings: usize = 10 => range(1..=1000);
        /// Share of the neurons with an edge, those with most of them, whose density is measured.
        share: f64 = 0.1 => range(0.0..=1.0);
    }

    /// Modularity at 1,000, 2,000, 4,000 and so on edges, beside null models; `edges` and `beta` make no difference.
    pub struct GraphModularityArgs asks "graph_modularity" with graph: NeuronGraphArgs {
        /// Largest number of edges that is measured.
        most: usize = 64_000 => range(1..=MAX_EDGES);
        /// Searches for communities in place of `restarts`.
        searches: Option<usize> = None => range(1..=100);
    }

    /// Modularity at the given number of edges, from two searches; `beta` and `restarts` make no difference.
    pub struct GraphCurveArgs asks "graph_curve" with graph: NeuronGraphArgs {}

    /// One neuron in the whole graph; of the graph's arguments only `matrix`, and for sigma `layer` and `tokens`, change the numbers.
    pub struct GraphNeuronArgs asks "graph_neuron" with graph: NeuronGraphArgs {
        /// The neuron as head:index, both counted from 0, such as 0:12, or its number in the model; the one with the longest row of E if not given.
        neuron: Option<String> = None;
    }

    /// How the entries of G are spread between every two heads.
    pub struct HeadPairsArgs asks "head_pairs" {
        /// x is G = E D_x, what a neuron's y does to each neuron's x one layer on; y is G = E D_y, what it does to each neuron's y; sigma are the synapses after a held-out text.
        matrix: Matrix = Matrix::X;
        /// Standard deviations from 0, beyond which an entry belongs to a tail.
        deviations: f64 = 4.0 => range(1.0..=100.0);
        /// Random products with rows of the same lengths.
        draws: usize = 3 => range(1..=100);
    }
}
