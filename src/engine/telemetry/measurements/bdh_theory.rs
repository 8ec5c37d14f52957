//! Claims of the BDH paper's theory as curves.

use crate::telemetry::measurements::prelude::*;

measurement! {
    /// One claim tried on numbers that are drawn, without a model.
    pub struct BdhTheory in "bdh.theory" answers BdhTheoryArgs {
        /// Id of the claim, as in the question.
        pub claim: String,
        /// Values of the axis: the rank d, the dimension n, a cosine, alpha, tokens, time, spikes, or a drive.
        pub x: Numbers,
        /// The curves over it.
        pub curves: Vec<TheoryCurve>,
    }

    /// One curve.
    pub struct TheoryCurve {
        /// Name for a legend.
        pub name: String,
        /// A value for each of the axis.
        pub y: Numbers,
    }
}

choices! {
    /// A claim of sections 2.1, 5.3, 5.4 and 6.1 or of appendix C of the paper.
    pub enum TheoryClaim {
        /// Claim 5: the ReLU of a low-rank map with a bias follows a sparse Markov chain. Error over the rank d.
        Markov = "markov",
        /// Claim 6: a neuron tells messages of its own block from others. AUROC over the rank d.
        Blocks = "blocks",
        /// Section 5.4: two sources make a common neighbour fire only together. Gain over each alone, over the rank d.
        Supermodular = "supermodular",
        /// Claims 7 and 8: facts that linear attention holds over the dimension n.
        Capacity = "capacity",
        /// Observation 7: affinity of hashed keys over their cosine.
        Hashing = "hashing",
        /// Observation 8: keys that are close in the L1 norm and far apart for attention, over alpha.
        L1 = "l1",
        /// Claim 9: the state on a sparse graph in place of the full one. Error over tokens.
        SparseState = "sparse_state",
        /// Equation (3): rules of non-negative rates are predator and prey up to normalisation. Both over time.
        Replicator = "replicator",
        /// Section 2.1: the four rounds of the graph by spikes and AND gates. Error over spikes per round.
        Spikes = "spikes",
        /// Section 2.5: a neuron that integrates and fires has the rate (e - i)^+. Rate over the drive.
        Fire = "fire",
    }
}

arguments! {
    /// A claim of the theory of BDH, tried on numbers drawn from the run's seed; the model makes no difference.
    pub struct BdhTheoryArgs asks "bdh_theory" {
        /// The claim that is tried.
        claim: TheoryClaim = TheoryClaim::Markov,
        /// Dimension n: neurons, nodes, or buckets. Claims 7 and 8 go from a quarter to four times it; predators and prey move in steps of 2 / n, and a neuron fires for 64 n steps.
        #[range(16..=1024)]
        neurons: usize = 256,
    }
}
