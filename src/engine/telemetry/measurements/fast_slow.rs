//! A fast and a slow path: what the logits depend on, what the gate does, how far the state is from equilibrium.

use std::fmt;

use crate::{
    analysis::{rank_correlation::ShiftTest, statistics::mean_of},
    telemetry::measurements::prelude::*,
};

measurement! {
    /// Spearman's rank correlation of two quantities by token, with a null model in which one is rotated against the other.
    #[derive(Copy)]
    pub struct RankCorrelation {
        /// Spearman's coefficient, -1 to 1. NaN where either quantity does not vary.
        pub rho: f64,
        /// Mean of the coefficient when the one quantity is rotated against the other by a random number of tokens.
        pub null_mean: f64,
        /// The standard deviation of the null distribution.
        pub null_sd: f64,
        /// Two-sided share of the rotations that are as far from their mean.
        pub p: f64,
    }

    /// A causality test: before the changed token no logit may move.
    pub struct Causality in "fast_slow.causality" answers CausalityArgs {
        /// The text as it was.
        pub original: String,
        /// The text with one token changed.
        pub edited: String,
        /// Position of the changed token, from 0.
        pub position: usize,
        /// The token that was put there, as a token axis shows it; empty in runs of earlier versions, which do not say.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        pub replacement: String,
        /// max |delta logits| over the vocabulary, one per position.
        pub delta: Numbers,
        /// The largest of `delta` before `position`; 0 in a causal model.
        pub before_max: f64,
        /// s tanh(gamma), or the gate that the question set in its place.
        pub effective_gate: f64,
        /// The same with the upsampling that lets a token read its own unfinished block, where asked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub leaky_upsample: Option<LeakyUpsample>,
        /// The likeliest next tokens after both texts.
        pub predictions: Predictions,
    }

    /// The effect of the upsampling floor(t/P), which leaks the future on purpose.
    pub struct LeakyUpsample {
        /// max |delta logits|, one per position.
        pub delta: Numbers,
        /// The largest of `delta` before the changed token.
        pub before_max: f64,
        /// The gate that this was measured with: the effective gate, or an open one where that is closed.
        #[serde(default)]
        pub gate: f64,
        /// Tokens of a block, P: a leak reaches the tokens of the changed token's own block before it.
        #[serde(default)]
        pub pool: usize,
    }

    /// The likeliest next tokens after the text, likeliest first.
    pub struct Predictions {
        /// After the text as it was.
        pub original: Vec<LikelyToken>,
        /// After the changed text.
        pub edited: Vec<LikelyToken>,
    }

    /// A token with its probability.
    pub struct LikelyToken {
        /// The token as text.
        pub token: String,
        /// 0 to 1.
        pub probability: f64,
    }

    /// The entropy of the attention that follows the last injection, by token, with the gate as it is and shut. It is
    /// taken at held-out tokens whose next token has a loss, without the first block of each window, where the slow
    /// path gives no input yet.
    pub struct GateEntropy in "fast_slow.gate_entropy" answers GateEntropyArgs {
        /// The value of the gate, s tanh(gamma).
        pub gate: f64,
        /// The attention layers whose rows were taken: those of the fast path in the last round.
        pub layers: Vec<String>,
        /// Held-out windows that were read.
        pub windows: usize,
        /// Entropy of a token's attention with the gate as it is, nats, mean over layers and heads; window after window.
        pub entropy: Numbers,
        /// The same with the gate shut.
        pub shut: Numbers,
        /// |u_t| / |x_t| of the same tokens: the size of what the gate lets into the last round relative to the state
        /// that it is added to.
        pub push: Numbers,
        /// Loss of the next token with the gate as it is less the loss with the gate shut, nats: negative where the open gate
        /// helps.
        pub loss_change: Numbers,
        /// The correlation of the change of entropy with the size of the gated input: negative if attention is sharper
        /// where more was added.
        pub with_push: RankCorrelation,
        /// The correlation of the change of entropy with that of the loss: positive if the loss falls where attention
        /// is sharper.
        pub with_loss: RankCorrelation,
    }

    /// The Jacobian J `(D, D)` of Post(x) - x at one token, with respect to that token's own state, against generators: no
    /// negative entry off the diagonal, columns that sum to 0 (arXiv 2606.16730, remark 30).
    pub struct GeneratorDistance in "fast_slow.generator_distance" answers GeneratorDistanceArgs {
        /// Position of the token in the text.
        pub position: usize,
        /// The index of the round, a repetition of pooling, slow path and injection, from 0.
        pub round: usize,
        /// Column sums of I + J, the map's one-step matrix, one per channel; 1 for a generator. J^T 1 says the same.
        pub column_sums: Numbers,
        /// Share of the entries off the diagonal that are negative.
        pub negative_share: f64,
        /// |J - A| / |J| in Frobenius's norm, A the generator nearest to J; 0 for a generator, 1 where the nearest is 0.
        pub distance: f64,
        /// |J| in Frobenius's norm.
        pub norm: f64,
        /// The same entries in permuted places.
        pub permuted: NullDistance,
        /// Random maps I + dt W as small as the paper's.
        pub random_map: ColumnSums,
    }

    /// The distances of matrices with the same entries in random places.
    #[derive(Copy)]
    pub struct NullDistance {
        /// The number of draws.
        pub draws: usize,
        /// Mean over draws of |J - A| / |J|, A the nearest generator.
        pub distance: f64,
        /// Standard deviation over draws.
        pub distance_sd: f64,
        /// Mean over draws of the smallest column sum.
        pub smallest: f64,
        /// Mean over draws of the largest column sum.
        pub largest: f64,
    }

    /// Column sums of I + dt W, W `(states, states)` with independent standard normal entries.
    #[derive(Copy)]
    pub struct ColumnSums {
        /// Rows and columns of W.
        pub states: usize,
        /// The step dt.
        pub dt: f64,
        /// The number of draws.
        pub draws: usize,
        /// Mean over draws of the smallest column sum.
        pub smallest: f64,
        /// Mean over draws of the largest column sum.
        pub largest: f64,
    }

    /// The residual of the equation that a method solves, relative to the state, against applications of Post, by
    /// method and round: |x - Post(x)| / |x| of a fixed point.
    pub struct Residual in "fast_slow.residual" answers ResidualArgs {
        /// One entry a method and round.
        pub curves: Vec<ResidualCurve>,
    }

    /// One way towards the equilibrium in one round.
    pub struct ResidualCurve {
        /// The method that approaches the equilibrium.
        pub method: ResidualMethod,
        /// The index of the round, a repetition of pooling, slow path and injection, from 0.
        pub round: usize,
        /// The relative residual after 0, 1, 2, ... passes, without unit.
        pub residual: Numbers,
    }

    /// The staircase of a fast-slow model: the slow state moves in steps of `pool` tokens.
    pub struct Staircase in "fast_slow.staircase" answers StaircaseArgs {
        /// P: tokens in one block of the slow path.
        pub pool: usize,
        /// The index of the round, a repetition of pooling, slow path and injection, from 0.
        pub round: usize,
        /// The part of the D channels that is drawn: "first principal component" or "channel 12".
        pub coordinate: String,
        /// Share of the variance of both states that the coordinate holds, 0 to 1.
        pub explained: f64,
        /// x_t, one per token.
        pub fast: Numbers,
        /// y_up, one per token.
        pub slow: Numbers,
    }

    /// |x_t - Post(x)_t| / |x_t| of every token t of a text, after some passes of Post, with the slow state fixed.
    pub struct TokenResiduals in "fast_slow.token_residuals" answers TokenResidualsArgs {
        /// The index of the last round, a repetition of pooling, slow path and injection, from 0.
        pub round: usize,
        /// Passes made before the residual was taken: 0, 1, 2, 4, 8.
        pub passes: Vec<usize>,
        /// For each of these, one residual a token, without unit.
        pub residual: Vec<Numbers>,
        /// The relation between the help of the gate and the closeness of the state; nothing where the model has no gate.
        #[serde(default)]
        pub gate: Option<GateBenefit>,
    }

    /// The help of the gate for each next token, beside how close the fast state is there: tokens of held-out windows, without
    /// the first block of each, where the slow path has nothing to say yet.
    pub struct GateBenefit {
        /// The value of the gate, s tanh(gamma).
        pub gate: f64,
        /// Held-out windows that were read.
        pub windows: usize,
        /// |x_t - Post(x)_t| / |x_t| after one pass, of the tokens whose next token the training asks for, window after window.
        pub residual: Numbers,
        /// Loss of the next token with the gate shut less the loss as the model is, nats: positive where the
        /// open gate helps.
        pub benefit: Numbers,
        /// Spearman's rank correlation of the two: negative if the gate helps more where the state is close. NaN where the gate
        /// changes nothing.
        pub correlation: f64,
        /// Mean of the correlation when the benefits are rotated against the residuals by a random number of tokens.
        pub null_mean: f64,
        /// The standard deviation of the null distribution.
        pub null_sd: f64,
        /// Two-sided share of the rotations that are as far from their mean.
        pub p: f64,
    }
}

impl From<ShiftTest> for RankCorrelation {
    fn from(ShiftTest { rho, null: (null_mean, null_sd), p }: ShiftTest) -> Self {
        Self { rho, null_mean, null_sd, p }
    }
}

impl Causality {
    /// The change in short: "token 48: r \u{2192} e"; `None` where it is not said what was put there. `tokens`: those of the sample.
    pub fn edit_label(&self, tokens: &[String]) -> Option<String> {
        let here = tokens.get(self.position).filter(|_| !self.replacement.is_empty())?;
        Some(format!("token {}: {here} \u{2192} {}", self.position, self.replacement))
    }
}

impl GateEntropy {
    /// Mean entropy with the gate as it is less that with the gate shut, nats: negative where the open gate sharpens.
    pub fn change(&self) -> f64 {
        let changes = self.entropy.iter().zip(self.shut.iter()).map(|(open, shut)| open - shut);
        changes.sum::<f64>() / self.entropy.len() as f64
    }
}

/// A method that approaches the equilibrium of Post.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResidualMethod {
    /// Post applied again and again.
    Passes,
    /// Anderson acceleration of depth 1.
    Anderson,
    /// A learned projector in place of any pass.
    LearnedProjector,
    /// The backward Euler step from the injected state x0: |x - x0 - R(x)| / |x|. Records before version 0.4 call it `deq`.
    BackwardEuler,
    /// The balance of the post block's update and the injection u: |R(x) + u| / |x|.
    Deq,
}

impl fmt::Display for ResidualMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Passes => "passes",
            Self::Anderson => "Anderson(1)",
            Self::LearnedProjector => "learned projector",
            Self::BackwardEuler => "backward Euler",
            Self::Deq => "DEQ",
        })
    }
}

impl TokenResiduals {
    /// The residual after the passes of this place: of one token, or the geometric mean over all of them.
    pub fn after(&self, place: usize, token: Option<usize>) -> f64 {
        let Some(all) = self.residual.get(place) else { return f64::NAN };
        match token {
            Some(token) => all.get(token).copied().unwrap_or(f64::NAN),
            None => mean_of(all.iter().map(|r| r.ln())).exp(),
        }
    }
}

arguments! {
    /// Change one token of a text.
    pub struct CausalityArgs asks "causality" {
        /// The sentence that is read; empty for a held-out passage.
        text: String = String::new();
        /// Number of the held-out passage.
        passage: u64 = 0;
        /// The token that is changed, from 0; otherwise the middle one, or with `show_wrong` the last of the middle block, whose change leaks to the whole block.
        position: Option<usize> = None;
        /// The token that takes its place, a text of one token; empty for the next token of the passage that differs.
        replacement: String = String::new();
        /// Multiplies the gate for this question only; otherwise as the run has it.
        coupling_scale: Option<f64> = None;
        /// A gate in place of s tanh(gamma), for models whose gate is still shut.
        gate: Option<f64> = None;
        /// Also measure the upsampling that leaks the future, through a gate that is open.
        show_wrong: bool = false;
    }

    /// Measure how the open gate changes the entropy of the attention behind it, and for which tokens.
    pub struct GateEntropyArgs asks "gate_entropy" {
        /// Tokens over which the change is measured, at most.
        tokens: usize = 480 => range(16..=4096);
        /// Tokens of a window.
        window: usize = 64 => range(8..=1024);
    }

    /// Compare the Jacobian of the refining map with generators of Markov chains.
    pub struct GeneratorDistanceArgs asks "generator_distance" {
        /// The sentence that is read, at most 32 tokens; empty for a held-out passage.
        text: String = String::new();
        /// Number of the held-out passage.
        passage: u64 = 0;
        /// The token whose Jacobian is taken, from 0; otherwise the last.
        position: Option<usize> = None;
        /// The repetition of pooling, slow path and injection, from 0; the last where there are fewer.
        round: usize = 0;
    }

    /// Measure how far the fast state is from equilibrium, pass by pass.
    pub struct ResidualArgs asks "residual" {
        /// Held-out windows that are read.
        windows: usize = 4 => range(1..=4096);
        /// Tokens of a held-out window.
        window: usize = 128 => range(1..=4096);
    }

    /// Follow the fast and the slow state along a sentence.
    pub struct StaircaseArgs asks "staircase" {
        /// The sentence that is read, at most 96 tokens; empty for a held-out passage.
        text: String = String::new();
        /// Number of the held-out passage.
        passage: u64 = 0;
        /// The repetition of pooling, slow path and injection, from 0; otherwise the last.
        round: Option<usize> = None;
        /// The channel that is drawn, from 0; otherwise the first principal component of both states together.
        coordinate: Option<usize> = None;
    }

    /// Measure how far the state of every token is from its quasi-steady state.
    pub struct TokenResidualsArgs asks "token_residuals" {
        /// The sentence that is read, at most 48 tokens; empty for a held-out passage.
        text: String = String::new();
        /// Number of the held-out passage.
        passage: u64 = 0;
    }
}
