//! The parts of a model with a flow: layers, the field, layers.
//!
//! Field (continuous-depth guide, section 7): Hc = H + W_t2 SiLU(W_t1 tau) + W_u u;
//! dH/dtau = alpha (Attn(LN1 Hc) + MLP(LN2 Hc)).

use super::{super::gpt::embed_from, OdeFlowSpec};
use crate::{
    models::prelude::*,
    nn::{
        block::{Gpt2BlockSpec, gpt2_block},
        layers::Affine,
    },
    ode::{self, Field, SolverOptions},
};

/// The initial value of alpha.
const ALPHA: f64 = 0.1;

/// The right-hand side's weights.
#[derive(Clone)]
pub struct FieldNet {
    layer: Block,
    time1: Affine,
    time2: Affine,
    control: Affine,
    pub(super) alpha: Tensor, // scalar
}

impl FieldNet {
    /// Parameters under `prefix`.
    pub fn new(params: &mut Params, prefix: &str, spec: &OdeFlowSpec, writers: usize) -> Result<Self> {
        let d = spec.d_model;
        let block = Gpt2BlockSpec { d_model: d, heads: spec.heads, writers, alibi: false, window: None };
        Ok(Self {
            layer: gpt2_block(params, prefix, &block)?,
            time1: Affine::input_proj(params, &format!("{prefix}.time1"), d, 1)?,
            time2: Affine::input_proj(params, &format!("{prefix}.time2"), d, d)?,
            control: Affine::input_proj(params, &format!("{prefix}.control"), d, CONTROLS)?,
            alpha: params.constant(&format!("{prefix}.alpha"), (), ALPHA)?,
        })
    }

    /// A copy of the field as it was at the end of a stage, under `prefix`: buffers, never trained.
    pub fn buffer(params: &mut Params, prefix: &str, spec: &OdeFlowSpec) -> Result<Self> {
        let (_, copy) = params.build_twice(|p| Self::new(p, prefix, spec, 1))?;
        params.register_buffers(&format!("{prefix}."));
        Ok(copy)
    }

    /// Returns the velocity `(B, T, D)` at (tau, h), for h `(B, T, D)` and the term `control_term`, `(B or 1, 1, D)`, that the control
    /// adds ([`Self::push`]).
    pub fn velocity(&self, tau: f64, h: &Tensor, control_term: &Tensor) -> Result<Tensor> {
        self.layer.slope(h, &self.row(tau, control_term)?, &self.alpha, &mut Tap::off())
    }

    /// h + length velocity.
    fn step(&self, tau: f64, h: &Tensor, control_term: &Tensor, length: f64) -> Result<Tensor> {
        self.layer.step(h, &self.row(tau, control_term)?, &self.alpha, length)
    }

    /// The row that time and control add to the state `(B or 1, 1, D)`.
    fn row(&self, tau: f64, control_term: &Tensor) -> Result<Tensor> {
        let tau = Tensor::full(tau as f32, (1, 1), control_term.device())?.to_dtype(control_term.dtype())?;
        let time = self.time2.forward(&Act::Silu.apply(&self.time1.forward(&tau)?)?)?.unsqueeze(1)?; // (1,1,D)
        control_term.broadcast_add(&time)
    }

    /// u `(B, 4)` -> what it adds to the state `(B, 1, D)`.
    pub fn push(&self, u: &Tensor) -> Result<Tensor> {
        self.control.forward(u)?.unsqueeze(1)
    }

    /// The net for a training step, whose accumulator, if there is one, takes the weights of the block and alpha.
    /// Weights that are shared already stay as they are.
    fn with_shared_weights(&self, accumulator: Option<&GradAccumulator>) -> Result<Self> {
        Ok(Self { layer: self.layer.with_shared_weights_and_scale(&self.alpha, accumulator)?, ..self.clone() })
    }

    /// h at tau = 0 -> at 1, in the training's steps. u `(B, 4)`.
    pub fn transport(&self, h: &Tensor, u: &Tensor, scale: f64, options: &SolverOptions) -> Result<Tensor> {
        let control_term = self.push(u)?;
        // every step uses the weights again
        let learns = h.track_op() || self.alpha.track_op();
        let net = &if learns { self.with_shared_weights(None)? } else { self.clone() };
        Ok(ode::solve(&Flow { net, control_term, scale }, h, ode::Span::UNIT, options)?.end)
    }
}

/// The vector field at a fixed control, which a solver integrates.
pub struct Flow<'a> {
    pub net: &'a FieldNet,
    /// The term that the control adds, `(B or 1, 1, D)`.
    pub control_term: Tensor,
    pub scale: f64,
}

impl Field for Flow<'_> {
    fn at(&self, t: f64, y: &Tensor) -> Result<Tensor> {
        let v = self.net.velocity(t, y, &self.control_term)?;
        if self.scale == 1.0 { Ok(v) } else { v * self.scale }
    }

    fn euler_step(&self, t: f64, y: &Tensor, h: f64) -> Result<Option<Tensor>> {
        self.net.step(t, y, &self.control_term, self.scale * h).map(Some)
    }
}

#[derive(Clone)]
pub struct OdeFlowNet {
    embed: Tensor, // (V, D)
    pos: Tensor,   // (P, D)
    head_layers: Vec<Block>,
    pub field: FieldNet,
    tail_layers: Vec<Block>,
    ln: Norm,
    pub head: Tensor, // (V, D)
}

impl OdeFlowNet {
    pub fn new(p: &mut Params, spec: &OdeFlowSpec, vocab: usize) -> Result<Self> {
        let (d, writers) = (spec.d_model, 2 * (spec.pre + spec.post + 1));
        let block = Gpt2BlockSpec { d_model: d, heads: spec.heads, writers, alibi: false, window: None };
        let layers = |p: &mut Params, name: &str, n: usize| -> Result<Vec<Block>> {
            (0..n).map(|i| gpt2_block(p, &format!("{name}.{i}"), &block)).collect()
        };
        Ok(Self {
            embed: p.normal("embed.weight", (vocab, d), EMBEDDING_STD)?,
            pos: p.normal("pos.weight", (spec.positions, d), EMBEDDING_STD)?,
            head_layers: layers(p, "head_layers", spec.pre)?,
            field: FieldNet::new(p, "field", spec, writers)?,
            tail_layers: layers(p, "tail_layers", spec.post)?,
            ln: Norm::layer(p, "ln", d)?,
            head: p.normal("head.weight", (vocab, d), EMBEDDING_STD)?,
        })
    }

    /// The net for a training step, whose accumulator, if there is one, takes the weights of the blocks and of the
    /// field.
    pub fn with_shared_weights(&self, accumulator: Option<&GradAccumulator>) -> Result<Self> {
        Ok(Self {
            head_layers: block::with_shared_weights(&self.head_layers, accumulator)?,
            field: self.field.with_shared_weights(accumulator)?,
            tail_layers: block::with_shared_weights(&self.tail_layers, accumulator)?,
            ..self.clone()
        })
    }

    /// tokens u32 `(B, T)` -> H at tau = 0, `(B, T, D)`.
    pub fn start(&self, tokens: &Tensor, tap: &mut Tap) -> Result<Tensor> {
        let x = embed_from(tokens, &self.embed, Some(&self.pos), 0)?;
        block::run(&self.head_layers, &x, tap, None)
    }

    /// H at tau = 1 `(B, T, D)` -> what the head reads `(B, T, D)`.
    pub fn read(&self, h: &Tensor, tap: &mut Tap) -> Result<Tensor> {
        let x = block::run(&self.tail_layers, h, tap, None)?;
        self.ln.forward(&x)
    }

    /// The input of the head -> logits `(.., V)`.
    pub fn logits(&self, read: &Tensor) -> Result<Tensor> {
        linear(read, &self.head)
    }
}
