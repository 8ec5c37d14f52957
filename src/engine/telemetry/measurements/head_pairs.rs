//! The submatrices of a BDH model's G by the head that acts and the head that is acted on.

use super::Matrix;
use crate::telemetry::measurements::prelude::*;

measurement! {
    /// How the entries of G are spread between every two heads (section 5.5 of the paper).
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
        /// Share of the entries above so many standard deviations.
        pub positive_tail: f64,
        /// Share of the entries below as many negative ones.
        pub negative_tail: f64,
        /// The largest such share on either side of random products whose rows are as long as the model's.
        pub random_tail: f64,
        /// The sides whose share is above that of every random product.
        pub heavy_tail: HeavyTail,
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

arguments! {
    /// How the entries of G are spread between every two heads.
    pub struct HeadPairsArgs asks "head_pairs" {
        /// x is G = E D_x, what a neuron's y does to each neuron's x one layer on; y is G = E D_y, what it does to each neuron's y; sigma are the synapses after a held-out text.
        matrix: Matrix = Matrix::X,
        /// Standard deviations from 0, beyond which an entry belongs to a tail.
        #[range(1.0..=100.0)]
        deviations: f64 = 4.0,
        /// Random products with rows of the same lengths.
        #[range(1..=100)]
        draws: usize = 3,
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
