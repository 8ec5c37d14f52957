//! The plain transformer that the ODE flow is measured against: learned positions, pre-LayerNorm layers
//! with biases, an untied head. It does not know what it is compared with.

use candle_core::{DType, Device, Result, Tensor};
use serde::{Deserialize, Serialize};

use super::{Loss, Model, Spec, capabilities::AttentionLayer};
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

/// What two GPTs share; the one with ALiBi has no positions.
pub(super) struct Net {
    embed: Tensor,       // (V, D)
    pos: Option<Tensor>, // (P, D)
    layers: Vec<Layer>,
    ln: Norm,
    head: Tensor, // (V, D)
}

impl Net {
    /// With so many learned positions, or none; `dress` finishes each layer.
    pub(super) fn new(
        p: &mut Params,
        vocab: usize,
        [d, heads, layers]: [usize; 3],
        positions: Option<usize>,
        dress: fn(Layer) -> Layer,
    ) -> Result<Self> {
        Ok(Self {
            embed: p.normal("embed.weight", (vocab, d), EMBEDDING_STD)?,
            pos: positions.map(|n| p.normal("pos.weight", (n, d), EMBEDDING_STD)).transpose()?,
            layers: (0..layers)
                .map(|i| Layer::new(p, &format!("layers.{i}"), d, heads, 2 * layers).map(dress))
                .collect::<Result<_>>()?,
            ln: Norm::new(p, "ln", d)?,
            head: p.normal("head.weight", (vocab, d), EMBEDDING_STD)?,
        })
    }

    /// The same weights (shared, so they follow training) with no part in gradients.
    pub(super) fn detach(&self) -> Self {
        Self {
            embed: self.embed.detach(),
            pos: self.pos.as_ref().map(Tensor::detach),
            layers: self.layers.iter().map(Layer::detach).collect(),
            ln: self.ln.detach(),
            head: self.head.detach(),
        }
    }

    /// tokens `(B, T)` -> normalised `(B, T, D)`
    fn encode(&self, tokens: &Tensor, tap: &mut Tap) -> Result<Tensor> {
        let x = embedding(&self.embed, tokens)?;
        let x = match &self.pos {
            Some(pos) => with_position(&x, pos)?,
            None => x,
        };
        let x = self.layers.iter().try_fold(x, |x, layer| layer.forward(&x, tap))?;
        tap.offer("final", || Ok(x.clone()))?;
        self.ln.forward(&x)
    }

    pub(super) fn cross_entropy(&self, batch: &Batch) -> Result<Tensor> {
        head_cross_entropy(&self.encode(&batch.tokens, &mut Tap::off())?, &self.head, &batch.targets)
    }

    pub(super) fn logits(&self, tokens: &Tensor, tap: &mut Tap) -> Result<Tensor> {
        linear(&self.encode(tokens, tap)?, &self.head)
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
        let sizes = [spec.d_model, spec.heads, spec.layers];
        let net = Net::new(&mut p, vocab, sizes, Some(spec.positions), |layer| layer)?;
        let still = net.detach();
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
        self.still.logits(tokens, tap)
    }

    fn to_spec(&self) -> Spec {
        Spec::PlainGpt(self.spec.clone())
    }

    fn attention_layers(&self) -> Vec<AttentionLayer> {
        AttentionLayer::stack("layers", self.spec.layers, None)
    }
}
