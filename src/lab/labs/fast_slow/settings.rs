//! The settings of the fast-slow gate lab.

use crate::{
    labs::prelude::*,
    models::fast_slow::{Constraint, Upsample},
};

pub use crate::models::fast_slow::SlowMixer;

settings! {
    pub struct FastSlowSettings {
        model: ModelSettings,
        variants: VariantSettings,
        approach: ApproachSettings,
        ladder: LadderSettings,
        corpus: CorpusSettings,
        train: TrainSettings =
            TrainSettings { steps: 650, lr: 1e-3, batch: 4, window: 256, ..TrainSettings::default() },
        probe: ProbeSettings,
        run: RunSettings = RunSettings { eval_every: 25, checkpoint_every: 100, ..RunSettings::default() },
    }
}

settings! {
    /// Sizes of the model. Where a size may be 0, 0 is "none".
    pub struct ModelSettings in "model" {
        /// Multiplies the gate in every forward pass. 1 is the model itself; the paper's causality test turns it to 10. It acts on training too while training runs.
        #[knob("Coupling scale", range(0.0..=10.0), live, symbol("s"))]
        coupling_scale: f64 = 1.0,
        /// Channels of every token in both paths. Must be a multiple of the heads.
        #[knob("Width", range(8..=1024), symbol("D"), unit("channels"))]
        d_model: usize = 128,
        /// Attention heads. Each has D / H channels, which must be even for the rotary embedding.
        #[knob("Query heads", range(1..=32), symbol("H"))]
        heads: usize = 4,
        /// Heads of keys and values, shared by groups of query heads. Must divide the query heads.
        #[knob("Key-value heads", range(1..=32), symbol("H_kv"))]
        kv_heads: usize = 2,
        /// Tokens averaged into one position of the slow path. Its attention is P² cheaper, its linear maps P times.
        #[knob("Pooling factor", range(1..=64), symbol("P"), unit("tokens"))]
        pool: usize = 4,
        /// Blocks before the paths part, at token rate.
        #[knob("Pre blocks", range(0..=8))]
        n_pre: usize = 1,
        /// Blocks of the fast path after the injection, run every round with the same weights. Behind the last round stands one norm; the paper writes two in a row (Proposition 9), which are one but for the learned weight between them.
        #[knob("Post blocks", range(1..=8))]
        n_post: usize = 1,
        /// Blocks of the slow path over the pooled positions, run every round with the same weights.
        #[knob("Slow blocks", range(1..=8))]
        n_slow: usize = 2,
        /// How slow blocks mix positions: by softmax attention over the whole past, by linear attention whose state decays by a learned gate for each channel, or by one learned decay a head.
        #[knob("Slow mixing")]
        slow_mixer: SlowMixer = SlowMixer::Attention,
        /// Decays γ like every weight at each update. The paper does not say whether its gate was decayed; off, only the gradient moves it.
        #[knob("Weight decay on γ")]
        gate_weight_decay: bool = true,
        /// How often pool, slow path, injection and post are repeated. The weights are shared between rounds.
        #[knob("Rounds", range(1..=8))]
        n_rounds: usize = 2,
        /// Hidden width of a two-layer GELU projector between the paths. 0 is the plain linear map.
        #[knob("Projector hidden", range(0..=4096), symbol("φ"))]
        projector_hidden: usize = 0,
        /// Tokens that the fast path's attention sees, itself included. 0 is the whole past; a short window makes the slow path needed.
        #[knob("Fast window", range(0..=8192), unit("tokens"))]
        fast_window: usize = 0,
        /// Which block a token reads: the last finished one (causal), or its own (leaky), which tells it the future. The second is wrong on purpose; the causality view shows it.
        #[knob("Upsampling")]
        upsample: Upsample = Upsample::Causal,
    }
}

settings! {
    /// The models that are compared, and the number of seeds.
    pub struct VariantSettings in "variants" {
        /// The model itself: gamma learns, from zero.
        #[knob("Coupled")]
        coupled: bool = true,
        /// Its twin: same seed, same batches, gamma held at zero. What the slow path adds is the difference.
        #[knob("Frozen")]
        frozen: bool = true,
        /// The coupled model with gated linear attention in its slow path: a learned decay for each channel, which the paper saw collapse to about two tokens.
        #[knob("Gated linear slow path")]
        gated_linear: bool = false,
        /// The coupled model with linear attention in its slow path and one learned decay a head.
        #[knob("Decaying slow path")]
        decay: bool = false,
        /// The coupled model as a hierarchy by update counts: no pooling, but fast passes with the slow state held, then one slow update; as many cycles as rounds. The paper contrasts itself with this regime. *Approach* and *Residual penalty* act on the other variants alone: its passes are its own.
        #[knob("Update counts")]
        update_count: bool = false,
        /// The same, with gradients of the last cycle alone: what earlier cycles add counts as constant.
        #[knob("Update counts, last cycle")]
        update_count_last: bool = false,
        /// Fast passes before each slow update, for the two variants that are hierarchies by update counts.
        #[knob("Fast passes a cycle", range(1..=64), symbol("k"))]
        cycle_passes: usize = 2,
        /// A dense decoder of the same width with four layers: 1,025,408 parameters at the defaults.
        #[knob("Dense, SwiGLU")]
        dense_swiglu: bool = false,
        /// A smaller dense decoder of three quarters of the width: 584,736 parameters at the defaults.
        #[knob("Dense, GeGLU")]
        dense_geglu: bool = false,
        /// Repeats every variant with further seeds, of weights and batches. Curves then show mean and spread.
        #[knob("Seeds", range(1..=8))]
        seeds: u64 = 1,
    }
}

choices! {
    /// The method by which Post approaches its fixed point; the other settings of the section say how far.
    pub enum ApproachMethod {
        OnePass = "one_pass",
        Passes = "passes",
        Anderson = "anderson",
        BackwardEuler = "backward_euler",
        Deq = "deq",
    }
}

settings! {
    /// The approach of Post to its fixed point.
    pub struct ApproachSettings in "approach" {
        /// How Post approaches its fixed point: once, k times with the slow signal held, with Anderson acceleration of depth 1, or solved to a tolerance with implicit gradients. `backward_euler` solves x = x0 + R(x), x0 the injected state and R(x) = Post(x) - x; `deq` is the paper's R(x) + tanh γ RMSNorm(φ(y)) = 0, which knows the tokens through y alone and may have no solution. When a token stops follows from its text up to it, at any tolerance, so that no prediction knows of later tokens; a solve takes as long as its slowest token, and all iterations where one has no solution.
        #[knob("Approach")]
        method: ApproachMethod = ApproachMethod::OnePass,
        /// Applications of Post in one round, for `passes` and `anderson`. One is the paper's model.
        #[knob("Passes", range(1..=64), symbol("k"))]
        passes: usize = 3,
        /// Iterations after which `backward_euler` and `deq` give up. The closest state is then taken; *Equilibrium solves* shows how close it was, and how many solves of a step stopped short.
        #[knob("Most iterations", range(1..=500))]
        max_iters: usize = 30,
        /// Relative residual |x - G(x)| / |x| of a text up to a token, G the map that is solved, at which the token stops in `backward_euler` and `deq`. Smaller is closer to the fixed point and slower.
        #[knob("Tolerance", range(1e-6..=1.0), log)]
        tolerance: f64 = 1e-2,
        /// Adds λ |x - Post(x)|² to the loss, which pulls Post towards its fixed point. The square is summed over channels and averaged over tokens and rounds.
        #[knob("Residual penalty", range(0.0..=10.0), symbol("λ"))]
        aux_lambda: f64 = 0.0,
        /// Constraints that the paper tried and that change nothing: Sinkhorn-projected mixing (M1), slow states of norm 1 (M2).
        #[knob("Constraint")]
        constraint: Constraint = Constraint::None,
    }
}

settings! {
    /// Variants that differ from the coupled one in a single approach to the fixed point. 0 leaves one out.
    pub struct LadderSettings in "ladder" {
        /// Adds a variant that applies Post this many times in each round, with the slow signal held. 0 adds none.
        #[knob("With k passes", range(0..=64), symbol("k"))]
        passes: usize = 0,
        /// Adds a variant that evaluates Post this many times in each round with Anderson acceleration of depth 1. 0 adds none; from 2 it differs from one pass, from 3 from plain passes.
        #[knob("With Anderson", range(0..=64), symbol("k"))]
        anderson: usize = 0,
        /// Adds a variant with λ |x - Post(x)|² in its loss, summed over channels and averaged over tokens and rounds. 0 adds none.
        #[knob("With residual penalty", range(0.0..=10.0), symbol("λ"))]
        aux_lambda: f64 = 0.0,
        /// Adds a variant whose slow state passes through a two-layer GELU projector of this hidden width. 0 adds none.
        #[knob("With projector", range(0..=4096), symbol("φ"))]
        projector_hidden: usize = 0,
        /// Adds a variant that solves R(x) + tanh γ RMSNorm(φ(y)) = 0 for its fast state, the paper's outlook, with the tolerance and the most iterations of *Equilibrium*.
        #[knob("With DEQ")]
        deq: bool = false,
        /// Adds a variant that solves x = x0 + R(x) for its fast state, a backward Euler step, to the same tolerance.
        #[knob("With backward Euler")]
        backward_euler: bool = false,
    }
}

schedules! {
    pub struct ProbeSettings {
        staircase: "Staircase every" = 25,
        attention_maps: "Attention every" = 50,
        residual: "Residual every" = 50,
        generator_distance: "Generator every" = 50,
        next_tokens: "Next tokens every" = 50,
        causality: "Causality every" = 100,
        /// Steps between two measurements of what the open gate does to the entropy of the attention behind it, shown in *Gate*. 0 measures only through `orrery ask`; a gate must open for it to say anything.
        gate_entropy: "Entropy every" = 0,
    }
}
