//! Sizes of the coupled query-key family, and which attention it has.

use crate::config::{choices, defaults};
use serde::{Deserialize, Serialize};

use crate::{
    models::step_memory::BlockSizes,
    nn::{attention::EvolutionSpec, fused::evolution::Scheme},
};

/// Query heads of a key head in grouped-query attention.
const GROUP: usize = 4;

choices! {
    /// The score of attention, in the order of the paper's tables; after them the couplings that it leaves for later.
    #[derive(Default, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum QkVariant {
        /// Softmax attention of scaled dot products.
        #[default]
        Standard = "standard",
        /// Grouped-query: a quarter as many key heads.
        Gqa = "gqa",
        /// Differential attention.
        Diff = "diff",
        /// An MLP moves queries alone.
        Mlp = "mlp",
        /// Queries and keys move together by Euler's method.
        Euler = "euler",
        /// The same by leapfrog.
        Hamiltonian = "hamiltonian",
        /// Euler's method, then differential attention.
        DiffEuler = "diff_euler",
        /// Leapfrog, then differential attention.
        DiffHamiltonian = "diff_hamiltonian",
        /// Queries and keys are added to each other through two linear maps.
        LinearMixing = "linear_mixing",
        /// One MLP moves queries by keys and keys by queries.
        SharedMlp = "shared_mlp",
        /// Queries scaled and shifted by keys, then keys by queries, in turn; it can be undone.
        Invertible = "invertible",
    }
}

impl QkVariant {
    /// The name in a legend.
    pub fn label(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::Gqa => "grouped-query",
            Self::Diff => "differential",
            Self::Mlp => "MLP on queries",
            Self::Euler => "coupled, Euler",
            Self::Hamiltonian => "coupled, leapfrog",
            Self::DiffEuler => "coupled, Euler + differential",
            Self::DiffHamiltonian => "coupled, leapfrog + differential",
            Self::LinearMixing => "linear mixing",
            Self::SharedMlp => "shared MLP",
            Self::Invertible => "invertible coupling",
        }
    }

    /// True if the second half's attention is subtracted from the first's.
    pub fn is_differential(self) -> bool {
        matches!(self, Self::Diff | Self::DiffEuler | Self::DiffHamiltonian)
    }

    /// The integrator of a coupled variant.
    pub fn scheme(self) -> Option<Scheme> {
        match self {
            Self::Euler | Self::DiffEuler => Some(Scheme::Euler),
            Self::Hamiltonian | Self::DiffHamiltonian => Some(Scheme::Leapfrog),
            _ => None,
        }
    }

    /// True if queries and keys move for a number of steps.
    pub fn has_steps(self) -> bool {
        self.scheme().is_some() || self == Self::Invertible
    }

    /// True if queries or keys change before they are scored.
    pub fn evolves(self) -> bool {
        !matches!(self, Self::Standard | Self::Gqa | Self::Diff)
    }
}

/// The layers whose queries and keys evolve. With an odd number of layers, the middle one belongs to the last half.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EvolvedLayers {
    /// Queries and keys evolve in every layer.
    #[default]
    All,
    /// Queries and keys evolve in the first half of the layers.
    FirstHalf,
    /// Queries and keys evolve in the last half of the layers.
    LastHalf,
}

choices! { for EvolvedLayers { All = "all", FirstHalf = "first_half", LastHalf = "last_half" } }

defaults! {
    /// The sizes of a model; the defaults are those of the lab.
    pub struct CoupledQkSpec {
        /// The width of the residual stream.
        pub d_model: usize = 128,
        /// The number of query heads.
        pub heads: usize = 4,
        /// The number of layers.
        pub layers: usize = 4,
        /// Width of the gated MLP.
        pub hidden: usize = 512,
        /// The longest text, in tokens. It also limits texts with rotary embedding, which has no weights for positions.
        pub positions: usize = 128,
        /// Rotary embedding after the evolution in place of learned positions.
        pub rotary: bool = false,
        /// The score of attention.
        pub variant: QkVariant = QkVariant::Standard,
        /// Steps n of a coupled evolution or an invertible coupling.
        pub steps: usize = 3,
        /// Length of a step before training, dt.
        pub dt: f64 = 0.1,
        /// The layers whose queries and keys evolve.
        pub evolved: EvolvedLayers = EvolvedLayers::All,
        /// True if a training step keeps only the input and the output of each block and computes the block again in its
        /// backward pass (gradient checkpointing, Chen et al. 2016): the same gradients in less memory.
        pub gradient_checkpointing: bool = false,
        /// The rows of a classification head without bias, which takes the place of the tied head; `None` predicts tokens.
        pub classes: Option<usize> = None,
    }
}

impl CoupledQkSpec {
    /// The paper's 60M model: 60,343,296 parameters with standard attention at 50,257 tokens.
    pub fn paper() -> Self {
        Self { d_model: 512, heads: 8, layers: 8, hidden: 2048, positions: 2048, ..Self::default() }
    }

    /// Returns the number of key heads.
    pub fn kv_heads(&self) -> usize {
        if self.variant == QkVariant::Gqa { (self.heads / GROUP).max(1) } else { self.heads }
    }

    /// The evolution of a layer's queries and keys, if they evolve.
    pub fn evolution(&self, layer: usize) -> Option<EvolutionSpec> {
        let evolves = match self.evolved {
            EvolvedLayers::All => true,
            EvolvedLayers::FirstHalf => layer < self.layers / 2,
            EvolvedLayers::LastHalf => layer >= self.layers / 2,
        };
        let spec = match self.variant {
            QkVariant::Mlp => Some(EvolutionSpec::QueryMlp),
            QkVariant::LinearMixing => Some(EvolutionSpec::LinearMixing),
            QkVariant::SharedMlp => Some(EvolutionSpec::SharedMlp),
            QkVariant::Invertible => Some(EvolutionSpec::Invertible { steps: self.steps }),
            variant => variant.scheme().map(|scheme| EvolutionSpec::Coupled { scheme, steps: self.steps, dt: self.dt }),
        };
        spec.filter(|_| evolves)
    }

    /// Weights of a block, exactly.
    fn block_weights(&self, layer: usize) -> usize {
        let (d, head) = (self.d_model, self.d_model / self.heads.max(1));
        let maps = 2 * d * d + 2 * d * self.kv_heads() * head + 3 * d * self.hidden + 2 * d;
        let of_evolution = self.evolution(layer).map_or(0, |evolution| evolution.parameters(self.heads, head));
        maps + of_evolution + if self.variant.is_differential() { self.heads } else { 0 }
    }

    /// The number of values that the evolution of a layer saves for backward at each position, in units of the width D.
    fn evolution_saved(&self, layer: usize) -> f64 {
        match self.evolution(layer) {
            None | Some(EvolutionSpec::Coupled { steps: 0, .. } | EvolutionSpec::Invertible { steps: 0 }) => 0.0,
            Some(EvolutionSpec::Coupled { .. }) if self.variant.is_differential() => 3.0,
            Some(EvolutionSpec::Coupled { .. }) => 2.0,
            // queries, keys and values apart, what is added, and all three side by side again
            Some(EvolutionSpec::QueryMlp) => 9.0,
            Some(EvolutionSpec::LinearMixing) => 10.0,
            Some(EvolutionSpec::SharedMlp) => 12.0,
            Some(EvolutionSpec::Invertible { steps }) => 6.0 + 10.0 * steps as f64,
        }
    }

    /// True if a layer's block is one operation in a training step.
    fn is_fused(&self, layer: usize) -> bool {
        let evolution = self.evolution(layer).filter(|evolution| !evolution.is_identity());
        !self.variant.is_differential() && matches!(evolution, None | Some(EvolutionSpec::Coupled { .. }))
    }

    /// Weights of the blocks that are one operation in a training step.
    pub(super) fn fused_weights(&self) -> usize {
        (0..self.layers).filter(|layer| self.is_fused(*layer)).map(|layer| self.block_weights(layer)).sum()
    }

    /// The number of values that all blocks save for backward for each position, beyond those of a plain fused block:
    /// queries and keys before an evolution, the intermediate results of a block that is not fused, and for
    /// differential attention both queries of a head and what they attend to.
    fn extra_saved(&self) -> f64 {
        let d = self.d_model as f64;
        let of_layer = |layer| {
            let apart = match self.is_fused(layer) {
                true => 0.0,
                false if self.variant.is_differential() => 14.0 * d + 2.0 * self.hidden as f64,
                false => 6.0 * d + 2.0 * self.hidden as f64,
            };
            apart + self.evolution_saved(layer) * d
        };
        (0..self.layers).map(of_layer).sum()
    }

    /// The sizes of a plain block as wide as these.
    pub(super) fn block_sizes(&self) -> BlockSizes {
        BlockSizes::llama(self.d_model, self.heads, self.kv_heads(), self.hidden)
    }

    /// The values that a training step over this many positions in texts of `tokens` saves for its backward pass. With
    /// gradient checkpointing those are the input and the result of each block, and the activations of the block that is
    /// computed again.
    pub(super) fn saved_activations(&self, positions: f64, tokens: f64) -> f64 {
        let layers = self.layers as f64;
        let of_blocks = layers * self.block_sizes().saved(positions, tokens) + positions * self.extra_saved();
        match self.gradient_checkpointing {
            true => layers * 2.0 * positions * self.d_model as f64 + of_blocks / layers.max(1.0),
            false => of_blocks,
        }
    }

    /// Weights of all blocks.
    pub fn blocks_weights(&self) -> usize {
        (0..self.layers).map(|layer| self.block_weights(layer)).sum()
    }

    /// All parameters at this vocabulary.
    pub fn parameters(&self, vocab: usize) -> usize {
        let positions = if self.rotary { 0 } else { self.positions };
        (vocab + positions + 1 + self.classes.unwrap_or(0)) * self.d_model + self.blocks_weights()
    }

    /// Floating-point operations of the matrix products of a training step for each token of windows of `window` tokens:
    /// forward, and twice that backward. Of scores, the seen half is counted; of an evolution, one evaluation of f a step
    /// (leapfrog has one more), and once more for its recomputation in the backward pass; of other couplings, their maps.
    /// Gradient checkpointing computes the blocks forward once more, which is not counted: the model's work is the same.
    pub fn training_flops(&self, vocab: usize, window: usize) -> f64 {
        let (d, head) = (self.d_model as f64, self.d_model as f64 / self.heads.max(1) as f64);
        let kv = self.kv_heads() as f64 * head;
        let maps = 2.0 * d * d + 2.0 * d * kv + 3.0 * d * self.hidden as f64;
        // the scores and their product with the values each take half of the window's pairs; two maps need both twice
        let products = if self.variant.is_differential() { 4.0 } else { 2.0 };
        let pairs = products * d * window as f64 / 2.0;
        let evolution = |layer| {
            let f = 2.0 * d * head;
            match self.evolution(layer) {
                None => 0.0,
                Some(EvolutionSpec::QueryMlp | EvolutionSpec::LinearMixing) => 3.0 * f,
                Some(EvolutionSpec::SharedMlp) => 6.0 * f,
                Some(EvolutionSpec::Invertible { steps }) => 6.0 * f * steps as f64,
                Some(EvolutionSpec::Coupled { steps: 0, .. }) => 0.0,
                Some(EvolutionSpec::Coupled { scheme: Scheme::Euler, steps, .. }) => 4.0 * f * steps as f64,
                Some(EvolutionSpec::Coupled { scheme: Scheme::Leapfrog, steps, .. }) => 4.0 * f * (steps + 1) as f64,
            }
        };
        let evolutions: f64 = (0..self.layers).map(evolution).sum();
        let outputs = self.classes.unwrap_or(vocab) as f64;
        2.0 * (3.0 * (self.layers as f64 * (maps + pairs) + outputs * d) + evolutions)
    }
}
