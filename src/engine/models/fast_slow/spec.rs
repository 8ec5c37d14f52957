//! Sizes and switches of the fast-slow family: plain data.

use crate::{
    models::prelude::*,
    nn::{attention::DecayKind, pooling::Upsample},
};

/// The approach of a round's fast state to its equilibrium, with the slow state held.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(tag = "method", rename_all = "snake_case")]
#[allow(missing_docs, reason = "the docs of the variants name their fields")]
pub enum Approach {
    /// x <- Post(x): one forward Euler step (paper, 11.1).
    #[default]
    OnePass,
    /// Post this many times (11.2).
    Passes { passes: usize },
    /// Anderson(1), with this many evaluations of Post (11.3); one is the same as one pass.
    Anderson { passes: usize },
    /// Solves x = x0 + R(x), R(x) = Post(x) - x, x0 the state after the injection, to
    /// |x - x0 - R(x)| <= tolerance |x|: the backward Euler step where one pass is the forward one
    /// (its first iterate is exactly one pass). The anchor x0 keeps the solution a function of the tokens.
    /// Gradients by the implicit function theorem.
    BackwardEuler { tolerance: f64, max_iters: usize },
    /// Solves R(x) + tanh(gamma) RMSNorm(phi(y)) = 0 with y held, to |R(x) + ..| <= tolerance |x|, from the state after the
    /// injection (section 12: the fast state is a function of the slow one). The solution depends on the tokens only
    /// through y. Post's norms make R nearly independent of the size of x, so that there may be no solution; the iterate with
    /// the smallest residual is then used, and counted. Gradients follow from the implicit function theorem.
    Deq { tolerance: f64, max_iters: usize },
}

/// Norm constraints that the paper discusses (its section 5) to show that they change nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Constraint {
    /// No constraint.
    #[default]
    None,
    /// M1: the coupling matrix W_sf is replaced by its Sinkhorn projection, doubly stochastic, so that
    /// |W y| <= |y|. Needs the linear coupling.
    Sinkhorn,
    /// M2: |y| = 1.
    UnitNorm,
}

choices! { for Constraint { None = "none", Sinkhorn = "sinkhorn", UnitNorm = "unit_norm" } }

/// The part of a slow block that mixes positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SlowMixer {
    /// Softmax attention over all earlier pooled positions, as in the paper.
    #[default]
    Attention,
    /// Linear attention whose state decays by a learned gate for each channel: the variant that the paper reports as a
    /// failure (its 4.2).
    GatedLinear,
    /// Linear attention whose state decays by one learned number a head.
    Decay,
}

choices! { for SlowMixer { Attention = "attention", GatedLinear = "gated_linear", Decay = "decay" } }

impl SlowMixer {
    /// The input from which its decay is computed, if it has one.
    pub fn decay(self) -> Option<DecayKind> {
        match self {
            Self::Attention => None,
            Self::GatedLinear => Some(DecayKind::Gate),
            Self::Decay => Some(DecayKind::Head),
        }
    }
}

/// The reason why the slow path is slow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Hierarchy {
    /// It runs over the means of blocks of tokens, once a round: the paper's aggregation (its 2.3).
    #[default]
    Pooled,
    /// It runs over all tokens, once after `passes` passes of the fast path with the slow state held: the Lie splitting by
    /// update counts with which the paper contrasts its method (its 2.3 and 3.4). A round is a cycle:
    /// passes times x <- Post(x + u(y)), u(y) = s tanh(gamma) RMSNorm(phi(y)), then y <- Slow(y + x), from y = 0; the last
    /// norm reads x + u(y).
    UpdateCount {
        /// The number of fast passes before each slow update.
        passes: usize,
        /// Gradients of the last cycle alone: all that earlier ones added to x and y counts as constant.
        last_cycle_only: bool,
    },
}

defaults! {
    /// Sizes and switches. The defaults are the paper's.
    pub struct FastSlowSpec {
        /// The width of both streams.
        pub d_model: usize = 128,
        /// The number of query heads.
        pub heads: usize = 4,
        /// The number of key and value heads; it divides `heads`.
        pub kv_heads: usize = 2,
        /// P: tokens per block.
        pub pool: usize = 4,
        /// The number of blocks of Pre, the fast layers before the injection.
        pub n_pre: usize = 1,
        /// The number of blocks of Post, the fast layers after the injection.
        pub n_post: usize = 1,
        /// The number of blocks of the slow path.
        pub n_slow: usize = 2,
        /// The mixing of positions in the slow path.
        pub slow_mixer: SlowMixer = SlowMixer::Attention,
        /// The number of rounds of pooling, slow path and injection, or of cycles.
        pub n_rounds: usize = 2,
        /// Pooling, or a count of updates.
        pub hierarchy: Hierarchy = Hierarchy::Pooled,
        /// `None`: phi is linear (W_sf); else a two-layer GELU MLP of this width (the learned projector).
        pub projector_hidden: Option<usize> = None,
        /// Keeps gamma at exactly 0: the ablation. Its gradient is still reported.
        pub freeze_coupling: bool = false,
        /// True if the optimiser's weight decay acts on gamma as on every other weight.
        pub gate_weight_decay: bool = true,
        /// s in x + s tanh(gamma) RMSNorm(phi(y_up)); also a runtime parameter.
        pub coupling_scale: f64 = 1.0,
        /// The approach of the fast state to its equilibrium.
        pub approach: Approach = Approach::OnePass,
        /// Weight of |x - Post(x)|^2, summed over channels, mean over tokens and rounds, in the loss (11.4); 0 for none.
        pub aux_lambda: f64 = 0.0,
        /// The constraint on the norm of the coupling.
        pub constraint: Constraint = Constraint::None,
        /// Attention window of the fast path (Pre and Post); the slow path always sees its whole past.
        pub fast_window: Option<usize> = None,
        /// The method that brings the slow stream to the rate of the fast one.
        pub upsample: Upsample = Upsample::Causal,
    }
}

impl FamilySpec for FastSlowSpec {
    /// Each round saves what it passes through; an equilibrium is solved without a graph, and saves one application of Post
    /// at its solution.
    fn memory(&self, step: &StepSizes) -> StepMemory {
        let sizes = BlockSizes::llama(self.d_model, self.heads, self.kv_heads, 4 * self.d_model);
        let block = BlockSizes { gated: false, ..sizes };
        let pool = self.tokens_per_slow_position().max(1) as f64;
        let (d, slow_tokens) = (self.d_model as f64, (step.tokens / pool).ceil());
        let (fast, slow) = (step.positions(), step.rows * slow_tokens);
        let rounds = match self.hierarchy {
            Hierarchy::UpdateCount { last_cycle_only: true, .. } => 1.0,
            _ => self.n_rounds as f64,
        };
        let passes = match (self.hierarchy, self.approach) {
            (Hierarchy::UpdateCount { passes, .. }, _) => passes as f64,
            (_, Approach::OnePass) => 1.0,
            (_, Approach::Passes { passes } | Approach::Anderson { passes }) => passes as f64,
            (_, Approach::BackwardEuler { .. } | Approach::Deq { .. }) => 2.0,
        } + if self.aux_lambda > 0.0 { 1.0 } else { 0.0 };
        let head = d / self.heads.max(1) as f64;
        let kv = self.kv_heads as f64 * head;
        // weights of the decay and of the norm of what is read, the chunks' sums, and the states between them
        let [decay, decayed] = match self.slow_mixer {
            SlowMixer::Attention => [0.0; 2],
            SlowMixer::GatedLinear => [kv * (d + 1.0) + head, kv * (3.0 * 16.0 + 8.0 + head / 4.0)],
            SlowMixer::Decay => [self.kv_heads as f64 + head, kv * (3.0 * 16.0 + 8.0 + head / 4.0)],
        };
        let blocks = (self.n_pre + self.n_slow + self.n_post) as f64 * block.weights() + self.n_slow as f64 * decay;
        let phi = self.projector_hidden.map_or(d * d, |hidden| 2.0 * d * hidden as f64);
        let saved = (self.n_pre as f64 + rounds * self.n_post as f64 * passes) * block.saved(fast, step.tokens)
            + rounds * self.n_slow as f64 * (block.saved(slow, slow_tokens) + slow * decayed)
            + rounds * d * (3.0 * fast + 4.0 * slow);
        StepMemory {
            weights: step.vocab * d + blocks + phi + 2.0 * d + 1.0,
            shared: blocks,
            activations: saved + block.backward(fast) + step_memory::head(self.d_model, step),
        }
    }

    fn tiny() -> Self {
        Self { d_model: 16, fast_window: Some(5), ..Self::default() }
    }
}

impl FastSlowSpec {
    pub(super) fn tokens_per_slow_position(&self) -> usize {
        if self.hierarchy == Hierarchy::Pooled { self.pool } else { 1 }
    }

    /// Errors name the size that does not fit.
    pub(super) fn check(&self) -> Result<()> {
        let (pool, rounds) = (self.pool, self.n_rounds);
        ensure!(pool > 0 && rounds > 0, "pool {pool} and n_rounds {rounds} must be at least 1");
        let fits = self.constraint != Constraint::Sinkhorn || self.projector_hidden.is_none();
        ensure!(fits, "the Sinkhorn constraint projects the linear coupling W_sf; turn the learned projector off");
        if let Hierarchy::UpdateCount { passes, .. } = self.hierarchy {
            ensure!(passes > 0, "a cycle needs at least 1 fast pass");
            let is_other = self.approach != Approach::OnePass || self.aux_lambda > 0.0;
            let why = "a hierarchy by update counts has passes of its own: choose one pass and no residual penalty";
            ensure!(!is_other, "{why}");
        }
        match self.approach {
            Approach::Passes { passes: 0 } | Approach::Anderson { passes: 0 } => {
                candle_core::bail!("passes must be at least 1")
            }
            Approach::BackwardEuler { tolerance, .. } | Approach::Deq { tolerance, .. } if tolerance <= 0.0 => {
                candle_core::bail!("the equilibrium tolerance must be above 0, not {tolerance}")
            }
            _ => Ok(()),
        }
    }
}
