//! The plain transformers that other families are measured against: pre-LayerNorm blocks with biases, an untied head;
//! with learned positions, or without and with attention that falls with distance (ALiBi, arXiv 2108.12409).

mod spec;

pub use spec::{AlibiGptSpec, PlainGptSpec};

use super::{
    capabilities::{AttentionLayer, ResidualLayers},
    step_memory::{self, BlockSizes},
};
use crate::{
    models::prelude::*,
    nn::{
        block::{self, Block, Gpt2BlockSpec, gpt2_block},
        fused::{cross_entropy::head_cross_entropy, embedding::embedding},
        layers::{EMBEDDING_STD, Norm},
        residual_mixing::{Mixer, ResidualMixing},
    },
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
        let plain = memory([self.d_model, self.heads, self.layers, 0], step);
        if self.residual == ResidualMixing::Fixed {
            return plain;
        }
        // for every layer and the last norm: the sources side by side, weighted, and in attention their squares and products
        let sources = (self.layers * (self.layers + 3) / 2) as f64;
        let copies = if self.residual == ResidualMixing::Attention { 4.0 } else { 2.0 };
        let mixed = copies * sources * self.d_model as f64 * step.positions();
        let weights = plain.weights + self.residual_weights() as f64;
        StepMemory { weights, activations: plain.activations + mixed, ..plain }
    }

    fn flops_per_token(&self, vocab: usize, window: usize) -> Option<f64> {
        Some(self.training_flops(vocab, window))
    }

    fn tiny() -> Self {
        Self { d_model: 16, heads: 2, layers: 2, ..Self::default() }
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
    /// The mixers of the layers and of the last norm; none where nothing is trained.
    mixers: Vec<Option<Mixer>>,
    ln: Norm,
    head: Tensor, // (V, D)
}

/// The sizes that both kinds of net have.
#[derive(Clone, Copy)]
struct Sizes {
    d_model: usize,
    heads: usize,
    layers: usize,
    residual: ResidualMixing,
}

impl Net {
    /// Builds the net with so many learned positions, or with ALiBi where there are none.
    fn new(p: &mut Params, vocab: usize, sizes: Sizes, positions: Option<usize>) -> Result<Self> {
        let Sizes { d_model: d, heads, layers, residual } = sizes;
        let block = Gpt2BlockSpec { d_model: d, heads, writers: 2 * layers, alibi: positions.is_none() };
        Ok(Self {
            embed: p.normal("embed.weight", (vocab, d), EMBEDDING_STD)?,
            positions: positions.map(|n| p.normal("pos.weight", (n, d), EMBEDDING_STD)).transpose()?,
            layers: (0..layers).map(|i| gpt2_block(p, &format!("layers.{i}"), &block)).collect::<Result<_>>()?,
            mixers: (0..=layers)
                .map(|i| Mixer::new(p, &format!("residual.{i}"), residual, i + 1, d))
                .collect::<Result<_>>()?,
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
        let x = if self.mixers.iter().any(Option::is_some) { self.mixed(x, tap)? } else { self.stream(x, tap)? };
        tap.offer("final", || Ok(x.clone()))?;
        self.ln.forward(&x)
    }

    /// The residual stream after all layers, `(B, T, D)`.
    fn stream(&self, x: Tensor, tap: &mut Tap) -> Result<Tensor> {
        self.layers.iter().enumerate().try_fold(x, |x, (layer, block)| {
            let next = block.forward(&x, tap)?;
            tap.offer(&ResidualLayers::input_tap(layer), || Ok(x.clone()))?;
            tap.offer(&ResidualLayers::added_tap(layer), || &next - &x)?;
            Ok(next)
        })
    }

    /// What the last norm reads of the embedding and of what each layer added to its own mix, `(B, T, D)`.
    fn mixed(&self, x: Tensor, tap: &mut Tap) -> Result<Tensor> {
        let mut sources = vec![x];
        let mix = |sources: &[Tensor], mixer: &Option<Mixer>| match mixer {
            Some(mixer) => mixer.mix(sources),
            None => sources.iter().skip(1).try_fold(sources[0].clone(), |sum, source| sum + source),
        };
        for (layer, (block, mixer)) in self.layers.iter().zip(&self.mixers).enumerate() {
            let x = mix(&sources, mixer)?;
            let added = (block.forward(&x, tap)? - &x)?;
            tap.offer(&ResidualLayers::input_tap(layer), || Ok(x))?;
            tap.offer(&ResidualLayers::added_tap(layer), || Ok(added.clone()))?;
            sources.push(added);
        }
        mix(&sources, &self.mixers[self.layers.len()])
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
        bail!("{} tokens, but the model has learned positions for {most}", first + t);
    }
    x.broadcast_add(&positions.narrow(0, first, t)?)
}

/// A GPT. Taps: `layers.i.attn.weights`, those of [`ResidualLayers`], `final`.
pub struct Gpt {
    spec: ModelSpec,
    params: Params,
    net: Net,
    inference_net: Net,
}

impl Gpt {
    /// Weights are drawn from `seed`; errors name the size that does not fit.
    pub fn with_learned_positions(spec: &PlainGptSpec, vocab: usize, seed: u64, device: &Device) -> Result<Self> {
        let PlainGptSpec { d_model, heads, layers, positions } = *spec;
        let sizes = Sizes { d_model, heads, layers, residual: ResidualMixing::Fixed };
        let net = |p: &mut Params| Net::new(p, vocab, sizes, Some(positions));
        Self::new(ModelSpec::PlainGpt(spec.clone()), Params::new(seed, device, DType::F32), net)
    }

    /// Like [`Gpt::with_learned_positions`], with ALiBi in place of the positions.
    pub fn with_alibi(spec: &AlibiGptSpec, vocab: usize, seed: u64, device: &Device) -> Result<Self> {
        let AlibiGptSpec { d_model, heads, layers, residual } = *spec;
        let sizes = Sizes { d_model, heads, layers, residual };
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
        Ok(self.net.with_shared_weights(accumulator)?.cross_entropy(batch)?.into())
    }

    fn evaluate(&self, batch: &Batch) -> Result<Tensor> {
        self.inference_net.cross_entropy(batch)
    }

    fn capabilities(&self) -> Capabilities<'_> {
        let attention_layers = AttentionLayer::stack("layers", self.net.layers.len(), None);
        let residual_layers = Some(ResidualLayers { layers: self.net.layers.len() });
        let positions = self.net.positions.as_ref().and_then(|p| p.dim(0).ok());
        Capabilities {
            token_model: Some(self),
            attention_layers,
            residual_layers,
            positions,
            ..Capabilities::default()
        }
    }
}

impl Model for Gpt {
    fn logits(&self, tokens: &Tensor, tap: &mut Tap) -> Result<Tensor> {
        linear(&self.inference_net.encode(tokens, tap)?, &self.inference_net.head)
    }
}
