//! BDH (arXiv 2509.26507) as a small physical system with checks of its equivalences, and claims of its theory.

use super::LikelyToken;
use crate::telemetry::measurements::prelude::*;

measurement! {
    /// Weights of a BDH of one head, or of a BDH on a graph, and a text as pulses on its neurons.
    pub struct BdhDynamicsWeights in "bdh_dynamics.weights" answers BdhDynamicsArgs {
        /// E, `(D, n)`; the identity for a graph that was trained edge by edge, so that D_x and D_y are G_x and G_y.
        pub e: Array,
        /// D_x, `(n, D)`.
        pub d_x: Array,
        /// D_y, `(n, D)`.
        pub d_y: Array,
        /// `(T, n)`: the pulse Y with which each token arrives, at least 0.
        pub pulses: Array,
        /// Layers of the model.
        pub layers: usize,
        /// The factor of D_y in place of all LayerNorms; NaN where no number would do.
        pub gain: f64,
        /// The share of a synapse that damping leaves after one token, 0 to 1.
        pub keep: f64,
        /// True if synapses turn (RoPE).
        pub rotates: bool,
        /// Share of the embeddings' length that no pulse reaches, 0 to 1.
        pub unreached: f64,
        /// Tokens after which model and rules agree on the likeliest next one.
        pub agreements: usize,
        /// After each token, the model's likeliest next ones.
        pub model_predictions: Vec<Vec<LikelyToken>>,
        /// After each token, those of the rules: of BDH-GPU without its LayerNorms, of a trained graph with its norms.
        pub rule_predictions: Vec<Vec<LikelyToken>>,
        /// The synapses of a graph that was trained edge by edge; nothing where every pair has one of weight 1.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub graph: Option<GraphSynapses>,
    }

    /// The synapses of a graph.
    pub struct GraphSynapses {
        /// G_s, `(n, n)`: the weight with which the synapse from the row's y to the column's x is written; 0 is not a
        /// synapse.
        pub weights: Array,
        /// Share of neuron i's synapses that is left after a token, besides `keep`.
        pub keep: Numbers,
        /// True if A and Y are divided by their root mean square over neurons, as in the model.
        pub norms: bool,
        /// True if all layers share one state; records of earlier versions lack it.
        #[serde(default)]
        pub single_state: bool,
    }

    /// The difference between the two sides of each equivalence on these weights.
    pub struct BdhDynamicsChecks in "bdh_dynamics.checks" answers BdhDynamicsArgs {
        /// The four rounds of local rules against equation (6).
        pub rules: CheckByToken,
        /// BDH-Normfree (7) against equation (6) with G = DE.
        pub normfree: CheckByToken,
        /// The state that is updated against linear attention over all past tokens.
        pub attention: CheckByToken,
        /// Two steps of the sparse circuits H against one of G.
        pub two_steps: CheckByToken,
        /// Claim 3, H_e^2 - H_i^2 = DE, for the wires G_x.
        pub wires: ConstructionCheck,
        /// The same for the prods G_y.
        pub prods: ConstructionCheck,
    }

    /// One entry per token, each relative to the largest of the compared values.
    pub struct CheckByToken {
        /// The largest difference between the two sides.
        pub error: Numbers,
        /// The largest difference that rounding alone could explain.
        pub bound: Numbers,
        /// Error over bound; at most 1 if the equivalence holds.
        pub share: Numbers,
    }

    /// Claim 3 for one square matrix.
    pub struct ConstructionCheck {
        /// Largest difference over the largest value.
        pub error: f64,
        /// The largest error that rounding alone could explain.
        pub bound: f64,
        /// Error over bound.
        pub share: f64,
        /// Edges of the excitatory circuit.
        pub excitatory_edges: usize,
        /// Edges of the inhibitory circuit.
        pub inhibitory_edges: usize,
        /// The largest number of edges that the claim allows each circuit.
        pub allowed_edges: usize,
        /// The number of entries of the matrix, n^2.
        pub pairs: usize,
    }

    /// One claim tried on numbers that are drawn, without a model.
    pub struct BdhTheory in "bdh.theory" answers BdhTheoryArgs {
        /// Id of the claim, as in the question.
        pub claim: String,
        /// Values of the axis: the rank d, the dimension n, a cosine, alpha, tokens, time, spikes, or a drive.
        pub x: Numbers,
        /// The curves over the axis `x`.
        pub curves: Vec<TheoryCurve>,
    }

    /// A named curve.
    pub struct TheoryCurve {
        /// Name for a legend.
        pub name: String,
        /// The values of the curve, one for each value of the axis.
        pub y: Numbers,
    }
}

choices! {
    /// The effect of a token's time on a synapse.
    pub enum SynapseDrift {
        /// The effect that the model was trained with.
        Trained = "trained",
        /// Synapses neither decay nor rotate.
        Nothing = "nothing",
        /// Synapses decay.
        Damping = "damping",
        /// Pairs of synapses rotate.
        Rotation = "rotation",
        /// Synapses decay and pairs of them rotate.
        Both = "both",
    }

    /// A claim of sections 2.1, 5.3, 5.4 and 6.1 or of appendix C of the paper.
    pub enum TheoryClaim {
        /// Claim 5: the ReLU of a low-rank map with a bias follows a sparse Markov chain. Error over the rank d.
        Markov = "markov",
        /// Claim 6: a neuron distinguishes messages of its own block from others. AUROC over the rank d.
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
    /// The weights and pulses that the rules run on, and the equivalences checked on them.
    pub struct BdhDynamicsArgs asks "bdh_dynamics" {
        /// The text that is read; empty for a held-out passage.
        text: String = String::new();
        /// Number of the held-out passage.
        passage: u64 = 0;
        /// The effect of a token's time on a synapse.
        drift: SynapseDrift = SynapseDrift::Trained;
        /// Share of a synapse's state that damping leaves after a token.
        keep: f64 = 0.9 => range(0.0..=1.0);
    }

    /// A claim of the theory of BDH, tried on numbers drawn from the run's seed; the model makes no difference.
    pub struct BdhTheoryArgs asks "bdh_theory" {
        /// The claim that is tried.
        claim: TheoryClaim = TheoryClaim::Markov;
        /// Dimension n: neurons, nodes, or buckets. Claims 7 and 8 go from a quarter to four times it; predators and prey move in steps of 2 / n, and a neuron fires for 64 n steps.
        neurons: usize = 256 => range(16..=1024);
    }
}
