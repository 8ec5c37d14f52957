//! The fast-slow hierarchical transformer (arXiv 2606.16730): a fast path at token rate, a slow path
//! over pooled blocks, coupled through one gate. It does not know how it is trained or drawn.

use std::{
    any::Any,
    cell::Cell,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use candle_core::{D, DType, Device, Result, Tensor, Var, backprop::GradStore};
use serde::{Deserialize, Serialize};

use super::{Loss, Model};
use crate::nn::{
    Batch, Params, Tap,
    fixed_point::{self, Anderson, Goal, Implicit},
    fused::{
        cross_entropy::head_cross_entropy,
        embedding::embedding,
        linear::linear,
        mlp::{Act, mlp},
        norm::rms_norm,
    },
    host,
    layers::{self, Block, BlockSpec, EPS, MlpKind, reader},
    pooling::{causal_pool, upsample},
};

pub use crate::nn::pooling::Upsample;

/// tanh(gamma).
pub const GATE: &str = "gate/tanh";
/// dLoss/dgamma before clipping.
pub const GATE_GRAD: &str = "gate/grad";
/// Mean squared x - Post(x) of the states that leave the rounds; told when it is part of the loss.
pub const FIXED_POINT: &str = "loss/fixed_point";
/// Evaluations of Post in the last equilibrium solve.
pub const DEQ_ITERATIONS: &str = "deq/iterations";
/// |x - G(x)| / |x| where that solve ended.
pub const DEQ_RESIDUAL: &str = "deq/residual";
/// Products with the transposed Jacobian in the last solve of a backward pass.
pub const DEQ_BACKWARD: &str = "deq/backward_iterations";

/// How a round's fast state approaches its equilibrium, with the slow state held.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(tag = "method", rename_all = "snake_case")]
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
    /// (its first iterate is exactly one pass). The anchor x0 is what keeps the solution a function of
    /// the tokens and of y: that of x = Post(x) alone has forgotten both, and gives gamma, the slow path
    /// and Pre no gradient. Gradients by the implicit function theorem.
    Deq { tolerance: f64, max_iters: usize },
}

/// Norm constraints that the paper discusses (its section 5) to show that they change nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Constraint {
    #[default]
    None,
    /// M1: the coupling matrix W_sf is replaced by its Sinkhorn projection, doubly stochastic, so that
    /// |W y| <= |y|. Needs the linear coupling.
    Sinkhorn,
    /// M2: |y| = 1.
    UnitNorm,
}

/// Sizes and switches. The defaults are the paper's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FastSlowSpec {
    pub d_model: usize,
    pub heads: usize,
    pub kv_heads: usize,
    /// P: tokens a block.
    pub pool: usize,
    pub n_pre: usize,
    pub n_post: usize,
    pub n_slow: usize,
    pub n_rounds: usize,
    /// `None`: phi is linear (W_sf); else a two-layer GELU MLP of this width (the learned projector).
    pub projector_hidden: Option<usize>,
    /// Keeps gamma at exactly 0: the ablation. Its gradient is still told.
    pub freeze_coupling: bool,
    /// s in x + s tanh(gamma) RMSNorm(phi(y_up)); also a live dial.
    pub coupling_scale: f64,
    pub approach: Approach,
    /// Weight of the mean of (x - Post(x))^2 in the loss (11.4); 0 for none.
    pub aux_lambda: f64,
    pub constraint: Constraint,
    /// Attention window of the fast path (Pre and Post); the slow path always sees its whole past.
    pub fast_window: Option<usize>,
    pub upsample: Upsample,
}

impl Default for FastSlowSpec {
    fn default() -> Self {
        Self {
            d_model: 128,
            heads: 4,
            kv_heads: 2,
            pool: 4,
            n_pre: 1,
            n_post: 1,
            n_slow: 2,
            n_rounds: 2,
            projector_hidden: None,
            freeze_coupling: false,
            coupling_scale: 1.0,
            approach: Approach::OnePass,
            aux_lambda: 0.0,
            constraint: Constraint::None,
            fast_window: None,
            upsample: Upsample::Causal,
        }
    }
}

impl FastSlowSpec {
    fn check(&self) -> Result<()> {
        if self.pool == 0 || self.n_rounds == 0 {
            candle_core::bail!("pool {} and n_rounds {} must be at least 1", self.pool, self.n_rounds);
        }
        if self.constraint == Constraint::Sinkhorn && self.projector_hidden.is_some() {
            candle_core::bail!(
                "the Sinkhorn constraint projects the linear coupling W_sf; turn the learned projector off"
            );
        }
        match self.approach {
            Approach::Passes { passes: 0 } | Approach::Anderson { passes: 0 } => {
                candle_core::bail!("passes must be at least 1")
            }
            Approach::Deq { tolerance, .. } if tolerance <= 0.0 => {
                candle_core::bail!("the equilibrium tolerance must be above 0, not {tolerance}")
            }
            _ => Ok(()),
        }
    }
}

/// phi: from the slow state to the direction that is injected.
#[derive(Clone)]
enum Phi {
    Linear(Tensor),
    /// Logits of a doubly stochastic matrix.
    Mixing(Tensor),
    Mlp {
        up: Tensor,
        down: Tensor,
    },
}

/// The weights and the pure forward pass; tracked or detached.
#[derive(Clone)]
struct Net {
    embed: Tensor, // (V, D)
    pre: Vec<Block>,
    slow: Vec<Block>,
    post: Vec<Block>,
    phi: Phi,
    phi_norm: Tensor, // (D)
    gamma: Tensor,    // ()
    norm: Tensor,     // (D)
}

impl Net {
    fn new(p: &mut Params, s: &FastSlowSpec, vocab: usize) -> Result<Self> {
        let d = s.d_model;
        let fast_writers = 2 * (s.n_pre + s.n_rounds * s.n_post);
        let block = |window, writers| BlockSpec {
            d_model: d,
            heads: s.heads,
            kv_heads: s.kv_heads,
            window,
            hidden: 4 * d,
            mlp: MlpKind::Plain(Act::Gelu),
            writers,
        };
        let (fast, slow) = (block(s.fast_window, fast_writers), block(None, 2 * s.n_slow));
        let blocks = |p: &mut Params, name: &str, n: usize, spec: &BlockSpec| -> Result<Vec<Block>> {
            (0..n).map(|i| Block::new(p, &format!("{name}.{i}"), spec)).collect()
        };
        Ok(Self {
            embed: p.normal("embed.weight", (vocab, d), layers::EMBEDDING_STD)?,
            pre: blocks(p, "pre", s.n_pre, &fast)?,
            slow: blocks(p, "slow", s.n_slow, &slow)?,
            post: blocks(p, "post", s.n_post, &fast)?,
            phi: match (s.projector_hidden, s.constraint) {
                (Some(hidden), _) => {
                    let up = reader(p, "phi.0.weight", hidden, d)?;
                    Phi::Mlp { up, down: reader(p, "phi.2.weight", d, hidden)? }
                }
                (None, Constraint::Sinkhorn) => Phi::Mixing(reader(p, "phi.weight", d, d)?),
                (None, _) => Phi::Linear(reader(p, "phi.weight", d, d)?),
            },
            phi_norm: p.ones("phi_norm.weight", d)?,
            gamma: p.zeros("gamma", ())?,
            norm: p.ones("norm.weight", d)?,
        })
    }

    /// The same weights, shared, with no part in gradients.
    fn detach(&self) -> Self {
        let all = |blocks: &[Block]| blocks.iter().map(Block::detach).collect();
        Self {
            embed: self.embed.detach(),
            pre: all(&self.pre),
            slow: all(&self.slow),
            post: all(&self.post),
            phi: match &self.phi {
                Phi::Linear(w) => Phi::Linear(w.detach()),
                Phi::Mixing(w) => Phi::Mixing(w.detach()),
                Phi::Mlp { up, down } => Phi::Mlp { up: up.detach(), down: down.detach() },
            },
            phi_norm: self.phi_norm.detach(),
            gamma: self.gamma.detach(),
            norm: self.norm.detach(),
        }
    }

    /// RMSNorm(phi(y)), y `(B, K, D)`. Before upsampling: each block once instead of P times, and a
    /// block of zeros would give zeros, so the padding of the first block can come after.
    fn injection(&self, y: &Tensor) -> Result<Tensor> {
        let z = match &self.phi {
            Phi::Linear(w) => linear(y, w)?,
            Phi::Mixing(logits) => linear(y, &sinkhorn(logits)?)?,
            Phi::Mlp { up, down } => mlp(y, up, down, Act::Gelu)?,
        };
        rms_norm(&z, &self.phi_norm, EPS)
    }

    fn post(&self, x: &Tensor, tap: &mut Tap, round: usize) -> Result<Tensor> {
        layers::run(&self.post, x, tap, Some(round))
    }
}

/// Alternate row and column normalisations of exp(logits), `(D, D)`. The diagonal starts with half of
/// each row's mass, so that channels do not all begin as the same mean.
fn sinkhorn(logits: &Tensor) -> Result<Tensor> {
    const ROUNDS: usize = 8;
    let d = logits.dim(0)?;
    let eye = Tensor::eye(d, logits.dtype(), logits.device())?;
    let mut h = (logits + (eye * (d as f64).ln())?)?.exp()?;
    for _ in 0..ROUNDS {
        h = h.broadcast_div(&h.sum_keepdim(1)?)?;
        h = h.broadcast_div(&h.sum_keepdim(0)?)?;
    }
    Ok(h)
}

/// What the last equilibrium solve took.
#[derive(Default)]
struct Solves {
    iterations: Cell<usize>,
    residual: Cell<f64>,
    backward: Arc<AtomicUsize>,
}

/// The model.
///
/// Taps: `<pre.i | slow.i.r<round> | post.i.r<round>>.attn.weights` `(B, H, T, T)` (of the first pass
/// of a round), `x.r<round>` (before the injection), `pooled.r<round>` `(B, K, D)`, `y_up.r<round>`,
/// `injected.r<round>` (before Post), `final` (before the last norm), `(B, T, D)` where not said.
pub struct FastSlow {
    spec: FastSlowSpec,
    params: Params,
    net: Net,
    still: Net,
    scale: f64,
    gate: Option<f64>,
    solves: Solves,
}

/// State that leaves the last round, and the mean of (x - Post(x))^2 where asked for.
struct Encoded {
    x: Tensor,
    fixed_point: Option<Tensor>,
}

impl FastSlow {
    /// Weights are drawn from `seed`; errors name the size that does not fit.
    pub fn new(spec: &FastSlowSpec, vocab: usize, seed: u64, device: &Device) -> Result<Self> {
        Self::with_dtype(spec, vocab, seed, device, DType::F32)
    }

    /// In f64 for tests that need it.
    pub fn with_dtype(spec: &FastSlowSpec, vocab: usize, seed: u64, device: &Device, dtype: DType) -> Result<Self> {
        spec.check()?;
        let mut params = Params::new(seed, device, dtype);
        let net = Net::new(&mut params, spec, vocab)?;
        if spec.freeze_coupling {
            params.freeze("gamma")?;
        }
        let still = net.detach();
        let scale = spec.coupling_scale;
        Ok(Self { spec: spec.clone(), params, net, still, scale, gate: None, solves: Solves::default() })
    }

    pub fn spec(&self) -> &FastSlowSpec {
        &self.spec
    }

    /// Chooses the upsampling; returns the one before.
    pub fn set_upsample(&mut self, how: Upsample) -> Upsample {
        std::mem::replace(&mut self.spec.upsample, how)
    }

    /// The live coupling scale s.
    pub fn coupling_scale(&self) -> f64 {
        self.scale
    }

    /// s tanh(gamma), or what the dial `gate` has put in its place.
    pub fn effective_gate(&self) -> Result<f64> {
        Ok(match self.gate {
            Some(gate) => gate,
            None => self.scale * host::scalar(&self.still.gamma)?.tanh(),
        })
    }

    /// One pass of Post without gradients: `(B, T, D)` -> `(B, T, D)`.
    pub fn post(&self, x: &Tensor) -> Result<Tensor> {
        self.still.post(x, &mut Tap::off(), 0)
    }

    fn gate_tensor(&self, net: &Net) -> Result<Tensor> {
        match self.gate {
            Some(gate) => Tensor::full(gate as f32, (), net.gamma.device())?.to_dtype(net.gamma.dtype()),
            None => net.gamma.tanh()? * self.scale,
        }
    }

    /// tokens `(B, T)` -> `(B, T, D)`. `learn`: with gradients.
    fn encode(&self, net: &Net, tokens: &Tensor, tap: &mut Tap, learn: bool) -> Result<Encoded> {
        let (_, t) = tokens.dims2()?;
        let mut x = layers::run(&net.pre, &embedding(&net.embed, tokens)?, tap, None)?; // (B,T,D)
        let gate = self.gate_tensor(net)?;
        let mut misses = Vec::new();
        for round in 0..self.spec.n_rounds {
            tap.offer(&format!("x.r{round}"), || Ok(x.clone()))?;
            let y = self.slow_state(net, &x, tap, round)?; // (B,K,D)
            tap.offer(&format!("y_up.r{round}"), || upsample(&y, self.spec.pool, t, self.spec.upsample))?;
            let push = net.injection(&y)?.broadcast_mul(&gate)?; // (B,K,D)
            x = (x + upsample(&push, self.spec.pool, t, self.spec.upsample)?)?;
            tap.offer(&format!("injected.r{round}"), || Ok(x.clone()))?;
            x = self.approach(net, &x, tap, round, learn)?;
            if learn && self.spec.aux_lambda > 0.0 {
                misses.push((&x - net.post(&x, &mut Tap::off(), round)?)?.sqr()?.mean_all()?);
            }
        }
        tap.offer("final", || Ok(x.clone()))?;
        let fixed_point = if misses.is_empty() { None } else { Some(Tensor::stack(&misses, 0)?.mean_all()?) };
        Ok(Encoded { x, fixed_point })
    }

    /// Slow(causal_pool(x)), constrained where asked: `(B, T, D)` -> `(B, K, D)`.
    fn slow_state(&self, net: &Net, x: &Tensor, tap: &mut Tap, round: usize) -> Result<Tensor> {
        let pooled = causal_pool(x, self.spec.pool)?;
        tap.offer(&format!("pooled.r{round}"), || Ok(pooled.clone()))?;
        let y = layers::run(&net.slow, &pooled, tap, Some(round))?;
        if self.spec.constraint == Constraint::UnitNorm {
            let norm = (y.sqr()?.sum_keepdim(D::Minus1)? + 1e-12)?.sqrt()?; // (B,K,1)
            return y.broadcast_div(&norm);
        }
        Ok(y)
    }

    /// From the injected state to the one that leaves the round.
    fn approach(&self, net: &Net, x: &Tensor, tap: &mut Tap, round: usize, learn: bool) -> Result<Tensor> {
        let mut first = Some(tap);
        let mut pass = |x: &Tensor| match first.take() {
            Some(tap) => net.post(x, tap, round),
            None => net.post(x, &mut Tap::off(), round),
        };
        match self.spec.approach {
            Approach::OnePass => pass(x),
            Approach::Passes { passes } => (0..passes).try_fold(x.clone(), |x, _| pass(&x)),
            Approach::Anderson { passes } => {
                let mut anderson = Anderson::default();
                (0..passes).try_fold(x.clone(), |x, _| anderson.next(&x, &pass(&x)?))
            }
            Approach::Deq { tolerance, max_iters } => {
                self.equilibrium(x, Goal { tolerance, max_iters }, learn, &mut pass)
            }
        }
    }

    /// See [`Approach::Deq`].
    fn equilibrium(
        &self,
        x0: &Tensor,
        goal: Goal,
        learn: bool,
        post: &mut dyn FnMut(&Tensor) -> Result<Tensor>,
    ) -> Result<Tensor> {
        let anchor = x0.detach();
        let step = |x: &Tensor| (&anchor + self.post(x)?)? - x;
        let solution = fixed_point::solve(&step, &anchor, goal)?;
        self.solves.iterations.set(solution.iterations);
        self.solves.residual.set(solution.residual);
        let value = ((x0 + post(&solution.x)?)? - &solution.x)?;
        if !learn {
            return Ok(value);
        }
        let at = Var::from_tensor(&solution.x)?;
        let image = step(&at)?;
        fixed_point::attach(&value, Implicit { at, image, goal, told: self.solves.backward.clone() })
    }

    fn cross_entropy(&self, net: &Net, x: &Tensor, targets: &Tensor) -> Result<Tensor> {
        head_cross_entropy(&rms_norm(x, &net.norm, EPS)?, &net.embed, targets)
    }
}

impl Model for FastSlow {
    fn params(&self) -> &Params {
        &self.params
    }

    fn loss(&self, batch: &Batch) -> Result<Loss> {
        let encoded = self.encode(&self.net, &batch.tokens, &mut Tap::off(), true)?;
        let cross_entropy = self.cross_entropy(&self.net, &encoded.x, &batch.targets)?;
        Ok(match encoded.fixed_point {
            None => Loss { total: cross_entropy.clone(), cross_entropy, parts: vec![] },
            Some(miss) => Loss {
                total: (&cross_entropy + (&miss * self.spec.aux_lambda)?)?,
                cross_entropy,
                parts: vec![(FIXED_POINT, miss)],
            },
        })
    }

    fn evaluate(&self, batch: &Batch) -> Result<Tensor> {
        let encoded = self.encode(&self.still, &batch.tokens, &mut Tap::off(), false)?;
        self.cross_entropy(&self.still, &encoded.x, &batch.targets)
    }

    fn logits(&self, tokens: &Tensor, tap: &mut Tap) -> Result<Tensor> {
        let encoded = self.encode(&self.still, tokens, tap, false)?;
        linear(&rms_norm(&encoded.x, &self.still.norm, EPS)?, &self.still.embed)
    }

    fn readings(&self, grads: Option<&GradStore>) -> Result<Vec<(&'static str, f64)>> {
        let mut told = vec![(GATE, host::scalar(&self.still.gamma)?.tanh())];
        if let Some(grad) = grads.and_then(|g| g.get(&self.net.gamma)) {
            told.push((GATE_GRAD, host::scalar(grad)?));
        }
        if matches!(self.spec.approach, Approach::Deq { .. }) {
            told.push((DEQ_ITERATIONS, self.solves.iterations.get() as f64));
            told.push((DEQ_RESIDUAL, self.solves.residual.get()));
            told.push((DEQ_BACKWARD, self.solves.backward.load(Ordering::Relaxed) as f64));
        }
        Ok(told)
    }

    /// `coupling_scale`: s. `gate`: an absolute gate in place of s tanh(gamma); NaN gives it back.
    fn set_dial(&mut self, name: &str, value: f64) -> bool {
        match name {
            "coupling_scale" => self.scale = value,
            "gate" => self.gate = (!value.is_nan()).then_some(value),
            _ => return false,
        }
        true
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
}
