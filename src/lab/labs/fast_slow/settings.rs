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
        train: TrainSettings { steps: 650, lr: 1e-3, batch: 4, window: 256 },
        probe: ProbeSettings,
        run: RunSettings { eval_every: 25, checkpoint_every: 100 },
    }

    /// Sizes of the model. Where a size may be 0, 0 is "none".
    pub struct ModelSettings in "model" {
        /// Multiplies the gate in every forward pass. 1 is the model itself; the paper's causality test turns it to 10. It acts on training too while training runs.
        coupling_scale: f64 = 1.0 => "Coupling scale", range(0.0..=10.0), live, symbol("s");
        /// Channels of every token in both paths. Must be a multiple of the heads.
        d_model: usize = 128 => "Width", range(8..=1024), symbol("D"), unit("channels");
        /// Attention heads. Each has D / H channels, which must be even for the rotary embedding.
        heads: usize = 4 => "Query heads", range(1..=32), symbol("H");
        /// Heads of keys and values, shared by groups of query heads. Must divide the query heads.
        kv_heads: usize = 2 => "Key-value heads", range(1..=32), symbol("H_kv");
        /// Tokens averaged into one position of the slow path. Its attention is P² cheaper, its linear maps P times.
        pool: usize = 4 => "Pooling factor", range(1..=64), symbol("P"), unit("tokens");
        /// Blocks before the paths part, at token rate.
        n_pre: usize = 1 => "Pre blocks", range(0..=8);
        /// Blocks of the fast path after the injection, run every round with the same weights. One norm follows the last round; the paper writes two in a row (Proposition 9), which equal one except for the learned weight between them.
        n_post: usize = 1 => "Post blocks", range(1..=8);
        /// Blocks of the slow path over the pooled positions, run every round with the same weights.
        n_slow: usize = 2 => "Slow blocks", range(1..=8);
        /// How slow blocks mix positions: by softmax attention over the whole past, by linear attention whose state decays by a learned gate for each channel, or by one learned decay a head.
        slow_mixer: SlowMixer = SlowMixer::Attention => "Slow mixing";
        /// Decays γ like every weight at each update. The paper does not say whether its gate was decayed; off, only the gradient moves it.
        gate_weight_decay: bool = true => "Weight decay on γ";
        /// How often pool, slow path, injection and post are repeated. The weights are shared between rounds.
        n_rounds: usize = 2 => "Rounds", range(1..=8);
        /// Hidden width of a two-layer GELU projector between the paths. 0 is the plain linear map.
        projector_hidden: usize = 0 => "Projector hidden", range(0..=4096), symbol("φ");
        /// Tokens that the fast path's attention sees, itself included. 0 is the whole past; a short window makes the slow path needed.
        fast_window: usize = 0 => "Fast window", range(0..=8192), unit("tokens");
        /// Which block a token reads: the last finished one (causal), or its own (leaky), which tells it the future. The second is wrong on purpose; the causality view shows it.
        upsample: Upsample = Upsample::Causal => "Upsampling";
    }

    /// The models that are compared, and the number of seeds.
    pub struct VariantSettings in "variants" {
        /// The model itself: gamma learns, from zero.
        coupled: bool = true => "Coupled";
        /// Its twin: same seed, same batches, gamma held at zero. What the slow path adds is the difference.
        frozen: bool = true => "Frozen";
        /// The coupled model with gated linear attention in its slow path: a learned decay for each channel, which the paper saw collapse to about two tokens.
        gated_linear: bool = false => "Gated linear slow path";
        /// The coupled model with linear attention in its slow path and one learned decay a head.
        decay: bool = false => "Decaying slow path";
        /// The coupled model as a hierarchy by update counts: no pooling, but fast passes with the slow state held, then one slow update; as many cycles as rounds. The paper contrasts itself with this regime. *Approach* and *Residual penalty* act on the other variants alone: its passes are its own.
        update_count: bool = false => "Update counts";
        /// The same, with gradients of the last cycle alone: what earlier cycles add counts as constant.
        update_count_last: bool = false => "Update counts, last cycle";
        /// Fast passes before each slow update, for the two variants that are hierarchies by update counts.
        cycle_passes: usize = 2 => "Fast passes a cycle", range(1..=64), symbol("k");
        /// A dense decoder of the same width with four layers: 1,025,408 parameters at the defaults.
        dense_swiglu: bool = false => "Dense, SwiGLU";
        /// A smaller dense decoder of three quarters of the width: 584,736 parameters at the defaults.
        dense_geglu: bool = false => "Dense, GeGLU";
        /// Repeats every variant with further seeds, of weights and batches. Curves then show mean and spread.
        seeds: u64 = 1 => "Seeds", range(1..=8);
    }

    /// The approach of Post to its fixed point.
    pub struct ApproachSettings in "approach" {
        /// How Post approaches its fixed point: once, k times with the slow signal held, with Anderson acceleration of depth 1, or solved to a tolerance with implicit gradients. `backward_euler` solves x = x0 + R(x), x0 the injected state and R(x) = Post(x) - x; `deq` is the paper's R(x) + tanh γ RMSNorm(φ(y)) = 0, which knows the tokens through y alone and may have no solution. When a token stops follows from its text up to it, at any tolerance, so that no prediction knows of later tokens; a solve takes as long as its slowest token, and all iterations where one has no solution.
        method: ApproachMethod = ApproachMethod::OnePass => "Approach";
        /// Applications of Post in one round, for `passes` and `anderson`. One is the paper's model.
        passes: usize = 3 => "Passes", range(1..=64), symbol("k");
        /// Iterations after which `backward_euler` and `deq` give up. The closest state is then taken; *Equilibrium solves* shows how close it was, and how many solves of a step stopped short.
        max_iters: usize = 30 => "Most iterations", range(1..=500);
        /// Relative residual |x - G(x)| / |x| of a text up to a token, G the map that is solved, at which the token stops in `backward_euler` and `deq`. Smaller is closer to the fixed point and slower.
        tolerance: f64 = 1e-2 => "Tolerance", range(1e-6..=1.0), log;
        /// Adds λ |x - Post(x)|² to the loss, which pulls Post towards its fixed point. The square is summed over channels and averaged over tokens and rounds.
        aux_lambda: f64 = 0.0 => "Residual penalty", range(0.0..=10.0), symbol("λ");
        /// Constraints that the paper tried and that change nothing: Sinkhorn-projected mixing (M1), slow states of norm 1 (M2).
        constraint: Constraint = Constraint::None => "Constraint";
    }

    /// Variants that differ from the coupled one in a single approach to the fixed point. 0 leaves one out.
    pub struct LadderSettings in "ladder" {
        /// Adds a variant that applies Post this many times in each round, with the slow signal held. 0 adds none.
        passes: usize = 0 => "With k passes", range(0..=64), symbol("k");
        /// Adds a variant that evaluates Post this many times in each round with Anderson acceleration of depth 1. 0 adds none; from 2 it differs from one pass, from 3 from plain passes.
        anderson: usize = 0 => "With Anderson", range(0..=64), symbol("k");
        /// Adds a variant with λ |x - Post(x)|² in its loss, summed over channels and averaged over tokens and rounds. 0 adds none.
        aux_lambda: f64 = 0.0 => "With residual penalty", range(0.0..=10.0), symbol("λ");
        /// Adds a variant whose slow state passes through a two-layer GELU projector of this hidden width. 0 adds none.
        projector_hidden: usize = 0 => "With projector", range(0..=4096), symbol("φ");
        /// Adds a variant that solves R(x) + tanh γ RMSNorm(φ(y)) = 0 for its fast state, the paper's outlook, with the tolerance and the most iterations of *Equilibrium*.
        deq: bool = false => "With DEQ";
        /// Adds a variant that solves x = x0 + R(x) for its fast state, a backward Euler step, to the same tolerance.
        backward_euler: bool = false => "With backward Euler";
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
