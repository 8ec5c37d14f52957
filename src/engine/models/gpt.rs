//! The plain transformers that other families are measured against: pre-LayerNorm blocks with biases, an untied head;
//! with learned positions, or without and with attention that falls with distance (ALiBi, arXiv 2108.12409).

mod spec;

use candle_core::{DType, Device, Result, Tensor};

pub use spec::{AlibiGptSpec, PlainGptSpec};

use super::{
    FamilySpec, Loss, Model, ModelSpec, Trainable,
    capabilities::{AttentionLayer, Capabilities},
    step_memory::{self, BlockSizes, StepMemory, StepSizes},
};
use crate::nn::{
    Batch, Params, Tap,
    block::{self, Block, Gpt2BlockSpec, gpt2_block},
    fused::{GradAccumulator, cross_entropy::head_cross_entropy, embedding::embedding, linear::linear},
    layers::{EMBEDDING_STD, Norm},
};

impl FamilySpec for PlainGptSpec {
    fn build(&self, vocab: usize, seed: u64, device: &Device) -> Result<Box<dyn Trainable>> {
        Ok(Box::new(Gpt::with_learned_positions(self, vocab, seed, device)?))
    }

    fn memory(&self, step: &StepSizes) -> StepMemory {
        memory([self.d_model, self.heads, self.layers, self.positions], step)
    }

    fn tiny() -> Self {
        Self { d_model: 16, heads: 2, layers: 5, positions: 24 }
    }
}

impl FamilySpec for AlibiGptSpec {
    fn build(&self, vocab: usize, seed: u64, device: &Device) -> Result<Box<dyn Trainable>> {
        Ok(Box::new(Gpt::with_alibi(self, vocab, seed, device)?))
    }

    fn memory(&self, step: &StepSizes) -> StepMemory {
        memory([self.d_model, self.heads, self.layers, 0], step)
    }

    fn flops_per_token(&self, vocab: usize, window: usize) -> Option<f64> {
        Some(self.training_flops(vocab, window))
    }

    fn tiny() -> Self {
        Self { d_model: 16, heads: 2, layers: 2 }
    }
}

/// The memory of a net with so many learned positions.
fn memory([d_model, heads, layers, positions]: [usize; 4], step: &StepSizes) -> StepMemory {
    let block = BlockSizes::gpt2(d_model, heads);
    let (d, layers, n) = (d_model as f64, layers as f64, step.positions());
    StepMemory {
        weights: (2.0 * step.vocab + positions as f64 + 2.0) * d + layers * block.weights(),
        shared: layers * block.weights(),
        activations: layers * block.saved(n) + block.backward(n) + step_memory::head(d_model, step),
    }
}

#[derive(Clone)]
struct Net {
    embed: Tensor,             // (V, D)
    positions: Option<Tensor>, // (P, D)
    layers: Vec<Block>,
    ln: Norm,
    head: Tensor, // (V, D)
}

impl Net {
    /// Builds the net with so many learned positions, or with ALiBi where there are none.
    fn new(p: &mut Params, vocab: usize, [d, heads, layers]: [usize; 3], positions: Option<usize>) -> Result<Self> {
        let block = Gpt2BlockSpec { d_model: d, heads, writers: 2 * layers, alibi: positions.is_none() };
        Ok(Self {
            embed: p.normal("embed.weight", (vocab, d), EMBEDDING_STD)?,
            positions: positions.map(|n| p.normal("pos.weight", (n, d), EMBEDDING_STD)).transpose()?,
            layers: (0..layers).map(|i| gpt2_block(p, &format!("layers.{i}"), &block)).collect::<Result<_>>()?,
            ln: Norm::layer(p, "ln", d)?,
            head: p.normal("head.weight", (vocab, d), EMBEDDING_STD)?,
        })
    }

    /// The net for a training step, whose accumulator, if there is one, takes the weights of the blocks.
    fn with_shared_weights(&self, accumulator: Option<&GradAccumulator>) -> Result<Self> {
        Ok(Self { layers: block::with_shared_weights(&self.layers, accumulator)?, ..self.clone() })
    }

    /// tokens `(B, T)` -> normalised `(B, T, D)`
    fn encode(&self, tokens: &Tensor, tap: &mut Tap) -> Result<Tensor> {
        let x = embed_from(tokens, &self.embed, self.positions.as_ref(), 0)?;
        let x = block::run(&self.layers, &x, tap, None)?;
        tap.offer("final", || Ok(x.clone()))?;
        self.ln.forward(&x)
    }

    fn cross_entropy(&self, batch: &Batch) -> Result<Tensor> {
        head_cross_entropy(&self.encode(&batch.tokens, &mut Tap::off())?, &self.head, &batch.targets)
    }
}

/// tokens `(B, T)` at the positions from `first` on -> their embeddings plus, where there are any, the learned positions
/// `(P, D)`: `(B, T, D)`.
pub(super) fn embed_from(tokens: &Tensor, embed: &Tensor, positions: Option<&Tensor>, first: usize) -> Result<Tensor> {
    let x = embedding(embed, tokens)?;
    let Some(positions) = positions else { return Ok(x) };
    let (t, most) = (x.dim(1)?, positions.dim(0)?);
    if first + t > most {
        candle_core::bail!("{} tokens, but the model has learned positions for {most}", first + t);
    }
    x.broadcast_add(&positions.narrow(0, first, t)?)
}

/// A GPT. Taps: `layers.i.attn.weights`, `final`.
pub struct Gpt {
    spec: ModelSpec,
    params: Params,
    net: Net,
    inference_net: Net,
}

impl Gpt {
    /// Weights are drawn from `seed`; errors name the size that does not fit.
    pub fn with_learned_positions(spec: &PlainGptSpec, vocab: usize, seed: u64, device: &Device) -> Result<Self> {
        let sizes = [spec.d_model, spec.heads, spec.layers];
        let net = |p: &mut Params| Net::new(p, vocab, sizes, Some(spec.positions));
        Self::new(ModelSpec::PlainGpt(spec.clone()), Params::new(seed, device, DType::F32), net)
    }

    /// Like [`Gpt::with_learned_positions`], with ALiBi in place of the positions.
    pub fn with_alibi(spec: &AlibiGptSpec, vocab: usize, seed: u64, device: &Device) -> Result<Self> {
        let sizes = [spec.d_model, spec.heads, spec.layers];
        let net = |p: &mut Params| Net::new(p, vocab, sizes, None);
        Self::new(ModelSpec::AlibiGpt(spec.clone()), Params::new(seed, device, DType::F32), net)
    }

    fn new(spec: ModelSpec, mut params: Params, build: impl Fn(&mut Params) -> Result<Net>) -> Result<Self> {
        let (net, inference_net) = params.build_twice(build)?;
        Ok(Self { spec, params, net, inference_net })
    }
}

impl Trainable for Gpt {
    fn params(&self) -> &Params {
        &self.params
    }

    fn spec(&self) -> ModelSpec {
        self.spec.clone()
    }

    fn loss_into(&self, batch: &Batch, accumulator: Option<&GradAccumulator>) -> Result<Loss> {
        let cross_entropy = self.net.with_shared_weights(accumulator)?.cross_entropy(batch)?;
        Ok(Loss { total: cross_entropy.clone(), cross_entropy, parts: vec![] })
    }

    fn evaluate(&self, batch: &Batch) -> Result<Tensor> {
        self.inference_net.cross_entropy(batch)
    }

    fn capabilities(&self) -> Capabilities<'_> {
        let attention_layers = AttentionLayer::stack("layers", self.net.layers.len(), None);
        let positions = self.net.positions.as_ref().and_then(|p| p.dim(0).ok());
        Capabilities { token_model: Some(self), attention_layers, positions, ..Capabilities::default() }
    }
}

impl Model for Gpt {
    fn logits(&self, tokens: &Tensor, tap: &mut Tap) -> Result<Tensor> {
        linear(&self.inference_net.encode(tokens, tap)?, &self.inference_net.head)
    }
}
