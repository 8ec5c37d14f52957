//! The plain transformer that the ODE flow is measured against: learned positions, pre-LayerNorm layers
//! with biases, an untied head. It does not know what it is compared with.

use std::any::Any;

use candle_core::{DType, Device, Result, Tensor};
use serde::{Deserialize, Serialize};

use super::{Loss, Model};
use crate::nn::{
    Batch, Params, Tap,
    fused::{cross_entropy::head_cross_entropy, embedding::embedding, linear::linear},
    layers::EMBEDDING_STD,
    prenorm::{Layer, Norm},
};

/// Sizes. At width 256, 50,257 tokens and 128 positions: 30,503,424 parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PlainGptSpec {
    pub d_model: usize,
    pub heads: usize,
    pub layers: usize,
    pub positions: usize,
}

impl Default for PlainGptSpec {
    fn default() -> Self {
        Self { d_model: 128, heads: 4, layers: 6, positions: 128 }
    }
}

struct Net {
    embed: Tensor, // (V, D)
    pos: Tensor,   // (P, D)
    layers: Vec<Layer>,
    ln: Norm,
    head: Tensor, // (V, D)
}

impl Net {
    /// tokens `(B, T)` -> normalised `(B, T, D)`
    fn encode(&self, tokens: &Tensor, tap: &mut Tap) -> Result<Tensor> {
        let x = with_position(&embedding(&self.embed, tokens)?, &self.pos)?;
        let x = self.layers.iter().try_fold(x, |x, layer| layer.forward(&x, tap))?;
        tap.offer("final", || Ok(x.clone()))?;
        self.ln.forward(&x)
    }

    fn cross_entropy(&self, batch: &Batch) -> Result<Tensor> {
        head_cross_entropy(&self.encode(&batch.tokens, &mut Tap::off())?, &self.head, &batch.targets)
    }
}

/// x `(B, T, D)` plus the first T of the learned positions `(P, D)`.
pub(super) fn with_position(x: &Tensor, pos: &Tensor) -> Result<Tensor> {
    let (t, room) = (x.dim(1)?, pos.dim(0)?);
    if t > room {
        candle_core::bail!("{t} tokens, but the model has learned positions for {room}");
    }
    x.broadcast_add(&pos.narrow(0, 0, t)?)
}

/// A GPT. Taps: `layers.i.attn.weights`, `final`.
pub struct PlainGpt {
    spec: PlainGptSpec,
    params: Params,
    net: Net,
    still: Net,
}

impl PlainGpt {
    /// Weights are drawn from `seed`; errors name the size that does not fit.
    pub fn new(spec: &PlainGptSpec, vocab: usize, seed: u64, device: &Device) -> Result<Self> {
        let mut p = Params::new(seed, device, DType::F32);
        let d = spec.d_model;
        let net = Net {
            embed: p.normal("embed.weight", (vocab, d), EMBEDDING_STD)?,
            pos: p.normal("pos.weight", (spec.positions, d), EMBEDDING_STD)?,
            layers: (0..spec.layers)
                .map(|i| Layer::new(&mut p, &format!("layers.{i}"), d, spec.heads, 2 * spec.layers))
                .collect::<Result<_>>()?,
            ln: Norm::new(&mut p, "ln", d)?,
            head: p.normal("head.weight", (vocab, d), EMBEDDING_STD)?,
        };
        let still = Net {
            embed: net.embed.detach(),
            pos: net.pos.detach(),
            layers: net.layers.iter().map(Layer::detach).collect(),
            ln: net.ln.detach(),
            head: net.head.detach(),
        };
        Ok(Self { spec: spec.clone(), params: p, net, still })
    }

    pub fn spec(&self) -> &PlainGptSpec {
        &self.spec
    }
}

impl Model for PlainGpt {
    fn params(&self) -> &Params {
        &self.params
    }

    fn loss(&self, batch: &Batch) -> Result<Loss> {
        let cross_entropy = self.net.cross_entropy(batch)?;
        Ok(Loss { total: cross_entropy.clone(), cross_entropy, parts: vec![] })
    }

    fn evaluate(&self, batch: &Batch) -> Result<Tensor> {
        self.still.cross_entropy(batch)
    }

    fn logits(&self, tokens: &Tensor, tap: &mut Tap) -> Result<Tensor> {
        linear(&self.still.encode(tokens, tap)?, &self.still.head)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
}
