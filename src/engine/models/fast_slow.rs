//! The fast-slow hierarchical transformer (arXiv 2606.16730): a fast path at token rate, a slow path over pooled
//! blocks, coupled through one gate.

use std::cell::RefCell;

use candle_core::backprop::GradStore;

use crate::{
    models::prelude::*,
    nn::{
        attention::effective_memory,
        pooling::{causal_pool, inject, upsample},
    },
};

mod approach;
mod net;
mod spec;
mod update_count;

use approach::{RoundState, SolveStatistics};
use net::FastSlowNet;
pub use spec::{Approach, Constraint, FastSlowSpec, Hierarchy, SlowMixer};

use update_count::Cycles;

pub use crate::nn::pooling::Upsample;

/// |x - Post(x)|^2 of the states that leave the rounds, mean over tokens and rounds; reported when it is part of the loss.
pub const FIXED_POINT: &str = "loss/fixed_point";
pub use approach::{DEQ_BACKWARD, DEQ_ITERATIONS};

/// The model.
///
/// Taps: `<pre.i | slow.i.r<round> | post.i.r<round>>.attn.weights` `(B, H, T, T)` (of the first pass
/// of a round), `x.r<round>` (before the injection), `pooled.r<round>` `(B, K, D)`, `y_up.r<round>`,
/// `injected.r<round>` (before Post), `final` (before the last norm), `(B, T, D)` where not said. A slow path that decays
/// offers `slow.i.r<round>.attn.log_decay` in place of weights. A hierarchy by update counts pools nothing; a round is a cycle,
/// and its slow state is the one that is held.
pub struct FastSlow {
    spec: FastSlowSpec,
    params: Params,
    net: FastSlowNet,
    inference_net: FastSlowNet,
    scale: f64,
    gate: Option<f64>,
    solves: SolveStatistics,
    decays: Decays,
}

/// The state that leaves the last round, and the mean of |x - Post(x)|^2 over tokens and rounds where it was requested.
struct Encoded {
    x: Tensor,
    fixed_point: Option<Tensor>,
}

impl FastSlow {
    /// Weights are drawn from `seed`; errors name the size that does not fit.
    pub fn new(spec: &FastSlowSpec, vocab: usize, seed: u64, device: &Device) -> Result<Self> {
        Self::with_dtype(spec, vocab, seed, device, DType::F32)
    }

    /// Builds the model in f64 for tests that need it.
    pub fn with_dtype(spec: &FastSlowSpec, vocab: usize, seed: u64, device: &Device, dtype: DType) -> Result<Self> {
        spec.check()?;
        let mut params = Params::new(seed, device, dtype);
        let (net, inference_net) = params.build_twice(|p| FastSlowNet::new(p, spec, vocab))?;
        if spec.freeze_coupling {
            params.freeze("gamma")?;
        }
        if !spec.gate_weight_decay {
            params.exempt_from_decay("gamma")?;
        }
        let scale = spec.coupling_scale;
        Ok(Self {
            spec: spec.clone(),
            params,
            net,
            inference_net,
            scale,
            gate: None,
            solves: SolveStatistics::default(),
            decays: Decays::default(),
        })
    }

    /// s tanh(gamma), or tanh(gamma) times 0 plus the absolute gate. The factors are tensors:
    /// candle drops the gradient of a product with the number 0, and gamma's is always recorded.
    fn gate_tensor(&self, net: &FastSlowNet) -> Result<Tensor> {
        let (factor, offset) = self.gate.map_or((self.scale, 0.0), |gate| (0.0, gate));
        let number = |v: f64| Tensor::new(v as f32, net.gamma.device())?.to_dtype(net.gamma.dtype());
        net.gamma.tanh()? * number(factor)? + number(offset)?
    }

    /// tokens `(B, T)` -> `(B, T, D)`. `learn`: with gradients.
    fn encode(&self, net: &FastSlowNet, tokens: &Tensor, tap: &mut Tap, learn: bool) -> Result<Encoded> {
        let (_, t) = tokens.dims2()?;
        let mut x = block::run(&net.pre, &embedding(&net.embed, tokens)?, tap, None)?; // (B,T,D)
        if let Hierarchy::UpdateCount { passes, last_cycle_only } = self.spec.hierarchy {
            let from = if learn && last_cycle_only { self.spec.n_rounds - 1 } else { 0 };
            let x = self.cycles(net, &x, Cycles { passes, learned_from: from, learn }, tap)?;
            tap.offer("final", || Ok(x.clone()))?;
            return Ok(Encoded { x, fixed_point: None });
        }
        let gate = self.gate_tensor(net)?;
        let mut misses = Vec::new();
        for round in 0..self.spec.n_rounds {
            tap.offer(&format!("x.r{round}"), || Ok(x.clone()))?;
            let pooled = causal_pool(&x, self.spec.pool)?; // (B,K,D)
            tap.offer(&format!("pooled.r{round}"), || Ok(pooled.clone()))?;
            let y = self.following_decays(learn, round, tap, |tap| self.slow_update(net, &pooled, tap, round))?;
            tap.offer(&format!("y_up.r{round}"), || upsample(&y, self.spec.pool, t, self.spec.upsample))?;
            let push = net.injection(&y)?.broadcast_mul(&gate)?; // (B,K,D)
            x = inject(&x, &push, self.spec.pool, self.spec.upsample)?;
            tap.offer(&format!("injected.r{round}"), || Ok(x.clone()))?;
            x = self.approach(net, RoundState { x: &x, push: &push, round, learn }, tap)?;
            if learn && self.spec.aux_lambda > 0.0 {
                let miss = (&x - net.post(&x, &mut Tap::off(), round)?)?; // (B,T,D)
                misses.push(miss.sqr()?.sum(D::Minus1)?.mean_all()?);
            }
        }
        tap.offer("final", || Ok(x.clone()))?;
        let fixed_point = if misses.is_empty() { None } else { Some(Tensor::stack(&misses, 0)?.mean_all()?) };
        Ok(Encoded { x, fixed_point })
    }

    /// Runs a pass through the slow path, which returns `(B, K, D)`. While the model learns, the decays of a mixer that has
    /// them are kept, to be shown as scalars.
    fn following_decays(
        &self,
        learn: bool,
        round: usize,
        tap: &mut Tap,
        pass: impl FnOnce(&mut Tap) -> Result<Tensor>,
    ) -> Result<Tensor> {
        if learn && self.spec.slow_mixer != SlowMixer::Attention { self.decays.follow(round, pass) } else { pass(tap) }
    }

    /// Slow(y), constrained where asked: `(B, K, D)` -> `(B, K, D)`.
    fn slow_update(&self, net: &FastSlowNet, y: &Tensor, tap: &mut Tap, round: usize) -> Result<Tensor> {
        let y = block::run(&net.slow, y, tap, Some(round))?;
        if self.spec.constraint == Constraint::UnitNorm {
            let norm = (y.sqr()?.sum_keepdim(D::Minus1)? + 1e-12)?.sqrt()?; // (B,K,1)
            return y.broadcast_div(&norm);
        }
        Ok(y)
    }

    /// There is one norm before the head, where the paper writes two in a row (lines 17 and 18 of its Proposition 9): the
    /// second changes nothing until the first has learned a weight, and then the size of a token's state alone.
    fn cross_entropy(&self, net: &FastSlowNet, x: &Tensor, targets: &Tensor) -> Result<Tensor> {
        head_cross_entropy(&rms_norm(x, &net.norm, EPS)?, &net.embed, targets)
    }

    fn attention_layers(&self) -> Vec<AttentionLayer> {
        let s = &self.spec;
        let mut layers = AttentionLayer::stack("pre", s.n_pre, s.fast_window);
        for round in 0..s.n_rounds {
            let path = |name: &str, i: usize| format!("{name}.{i}.r{round}");
            let n_slow = if s.slow_mixer == SlowMixer::Attention { s.n_slow } else { 0 };
            layers.extend((0..n_slow).map(|i| AttentionLayer {
                tokens_per_position: s.tokens_per_slow_position(),
                ..AttentionLayer::at_token_rate(path("slow", i), None)
            }));
            layers.extend((0..s.n_post).map(|i| AttentionLayer::at_token_rate(path("post", i), s.fast_window)));
        }
        layers
    }
}

/// The logarithms of the decays that a slow path with linear attention took in the last training step, of all rounds and
/// slow blocks.
#[derive(Default)]
struct Decays(RefCell<Vec<Tensor>>);

impl Decays {
    /// Keeps the decays that a pass through the slow path offers; round 0 begins again.
    fn follow(&self, round: usize, pass: impl FnOnce(&mut Tap) -> Result<Tensor>) -> Result<Tensor> {
        let mut tap = Tap::on(&["slow."]);
        let y = pass(&mut tap)?;
        let mut kept = self.0.borrow_mut();
        if round == 0 {
            kept.clear();
        }
        kept.extend(
            tap.recorded().iter().filter(|(path, _)| path.ends_with(".log_decay")).map(|(_, decays)| decays.clone()),
        );
        Ok(y)
    }

    /// The effective memory in slow tokens: its first decile, median and last decile. Nothing before the first step.
    fn scalars(&self) -> Result<Vec<(&'static str, f64)>> {
        let mut memory = vec![];
        for decays in self.0.borrow().iter() {
            memory.extend(effective_memory(decays)?);
        }
        let Some(last) = memory.len().checked_sub(1) else { return Ok(vec![]) };
        let deciles = [(channels::MEMORY_LOW, 1), (channels::MEMORY_MEDIAN, 5), (channels::MEMORY_HIGH, 9)];
        Ok(deciles
            .map(|(channel, tenths)| {
                let (_, value, _) = memory.select_nth_unstable_by(last * tenths / 10, f64::total_cmp);
                (channel, *value)
            })
            .to_vec())
    }
}

impl Trainable for FastSlow {
    params_and_spec!(FastSlow);

    fn loss_into(&self, batch: &Batch, accumulator: Option<&GradAccumulator>) -> Result<Loss> {
        let encoded = self.encode(&self.net.with_shared_weights(accumulator)?, &batch.tokens, &mut Tap::off(), true)?;
        let cross_entropy = self.cross_entropy(&self.net, &encoded.x, &batch.targets)?;
        Ok(match encoded.fixed_point {
            None => cross_entropy.into(),
            Some(miss) => Loss {
                total: (&cross_entropy + (&miss * self.spec.aux_lambda)?)?,
                cross_entropy,
                parts: vec![(FIXED_POINT, miss)],
            },
        })
    }

    fn evaluate(&self, batch: &Batch) -> Result<Tensor> {
        let encoded = self.encode(&self.inference_net, &batch.tokens, &mut Tap::off(), false)?;
        self.cross_entropy(&self.inference_net, &encoded.x, &batch.targets)
    }

    fn scalars(&self, grads: Option<&GradStore>) -> Result<Vec<(&'static str, f64)>> {
        let mut scalars = vec![(channels::GATE, host::scalar(&self.inference_net.gamma)?.tanh())];
        if let Some(grad) = grads.and_then(|g| g.get(&self.net.gamma)) {
            scalars.push((channels::GATE_GRAD, host::scalar(grad)?));
        }
        scalars.extend(self.decays.scalars()?);
        if self.equation().is_some() {
            scalars.extend(self.solves.scalars());
        }
        Ok(scalars)
    }

    /// `coupling_scale`: s. `gate`: an absolute gate in place of s tanh(gamma); NaN restores the latter.
    fn set_runtime_param(&mut self, name: &str, value: f64) -> bool {
        match name {
            "coupling_scale" => self.scale = value,
            "gate" => self.gate = (!value.is_nan()).then_some(value),
            _ => return false,
        }
        true
    }

    fn runtime_params(&self) -> Vec<RuntimeParam> {
        let gate = self.gate.unwrap_or(f64::NAN);
        [("coupling_scale", self.scale), ("gate", gate)].map(|(name, value)| RuntimeParam { name, value }).to_vec()
    }

    fn capabilities(&self) -> Capabilities<'_> {
        let s = &self.spec;
        Capabilities {
            token_model: Some(self),
            attention_layers: self.attention_layers(),
            two_timescales: Some(TwoTimescales {
                pool: s.tokens_per_slow_position(),
                rounds: s.n_rounds,
                width: s.d_model,
            }),
            coupling: Some(self),
            fixed_point: Some(self),
            ..Capabilities::default()
        }
    }

    fn capabilities_mut(&mut self) -> CapabilitiesMut<'_> {
        CapabilitiesMut { coupling: Some(self), ..CapabilitiesMut::default() }
    }
}

impl Model for FastSlow {
    fn logits(&self, tokens: &Tensor, tap: &mut Tap) -> Result<Tensor> {
        let encoded = self.encode(&self.inference_net, tokens, tap, false)?;
        linear(&rms_norm(&encoded.x, &self.inference_net.norm, EPS)?, &self.inference_net.embed)
    }
}

impl CouplingModel for FastSlow {
    fn coupling_settings(&self) -> CouplingSettings {
        CouplingSettings { coupling_scale: self.scale, gate: self.gate, upsample: self.spec.upsample }
    }

    fn set_coupling_settings(&mut self, settings: CouplingSettings) {
        (self.scale, self.gate, self.spec.upsample) = (settings.coupling_scale, settings.gate, settings.upsample);
    }

    fn effective_gate(&self) -> Result<f64> {
        Ok(match self.gate {
            Some(gate) => gate,
            None => self.scale * host::scalar(&self.inference_net.gamma)?.tanh(),
        })
    }
}

impl FixedPointModel for FastSlow {
    fn start_tap(&self) -> &'static str {
        "injected."
    }

    fn refine(&self, x: &Tensor) -> Result<Tensor> {
        self.inference_net.post(x, &mut Tap::off(), 0)
    }

    fn has_learned_projector(&self) -> bool {
        self.spec.projector_hidden.is_some()
    }

    fn before_tap(&self) -> &'static str {
        "x."
    }

    fn equation(&self) -> Option<SolvedEquation> {
        match self.spec.approach {
            Approach::BackwardEuler { .. } => Some(SolvedEquation::BackwardEuler),
            Approach::Deq { .. } => Some(SolvedEquation::Forced),
            _ => None,
        }
    }
}
