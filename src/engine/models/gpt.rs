//! The plain transformers that other families are measured against: pre-LayerNorm blocks with biases, an untied head;
//! with learned positions, or without and with attention that falls with distance (ALiBi, arXiv 2108.12409).

mod spec;

pub use spec::{AlibiGptSpec, PlainGptSpec};

use super::carry::CARRIED_PREFIX;
use crate::{
    models::prelude::*,
    nn::{
        attention::KeyValueCache,
        block::{Gpt2BlockSpec, gpt2_block},
        residual_mixing::{Mixer, ResidualMixing},
    },
};

impl FamilySpec for PlainGptSpec {
    fn memory(&self, step: &StepSizes) -> StepMemory {
        memory([self.d_model, self.heads, self.layers, self.positions], step)
    }

    fn tiny() -> Self {
        Self { d_model: 16, heads: 2, layers: 5, positions: 24 }
    }
}

impl FamilySpec for AlibiGptSpec {
    fn memory(&self, step: &StepSizes) -> StepMemory {
        let plain = memory([self.d_model, self.heads, self.layers, 0], step);
        let plain = self.with_dropped(self.with_carried(plain, step), step);
        if self.residual == ResidualMixing::Fixed {
            return plain;
        }
        // each layer and the last norm hold stacked sources and a weighted form; attention adds squares and products
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

impl AlibiGptSpec {
    /// Adds to `memory` what a net that carries keys and values needs more: two buffers per layer, and blocks of several
    /// operations that save their own inputs. The scores of a batch are those of its tokens with each other and with
    /// the tokens before them, at most those of the batches since the last reset.
    fn with_carried(&self, memory: StepMemory, step: &StepSizes) -> StepMemory {
        let (Some(Carry { rows, every }), Some(window)) = (self.carry, self.window) else { return memory };
        let (d, layers) = (self.d_model as f64, self.layers as f64);
        let carried = 2.0 * layers * rows as f64 * window as f64 * d;
        let past = (window as f64).min(every.saturating_sub(1) as f64 * step.tokens);
        let block = BlockSizes::gpt2(self.d_model, self.heads).saved(step.positions(), step.tokens);
        let scores = step.positions() * self.heads as f64 * (step.tokens + past);
        // each layer keeps its scores; all share their bias, which is that of one row, and their mask, that of one
        // head; the backward pass also holds some scores of one layer
        let bias = scores / step.rows * (1.0 + 1.0 / self.heads as f64);
        let kept = layers * (block + 6.0 * scores) + bias;
        let activations = memory.activations + kept + 4.0 * scores + 2.0 * carried;
        StepMemory { weights: memory.weights + carried, activations, ..memory }
    }

    /// The memory of a net that needs `memory` without dropout. With dropout, blocks consist of several operations,
    /// which save their own inputs and share no weights, and the masks are saved too.
    fn with_dropped(&self, memory: StepMemory, step: &StepSizes) -> StepMemory {
        if self.dropout == 0.0 {
            return memory;
        }
        let masks = 4.0 * self.d_model as f64 * step.positions();
        // what the operations of a block save, and the gradients of it, which live until the backward pass has ended
        let saved = BlockSizes::gpt2(self.d_model, self.heads).saved(step.positions(), step.tokens);
        let own = if self.carry.is_none() { 2.0 * saved } else { 0.0 };
        let activations = memory.activations + self.layers as f64 * (masks + own);
        StepMemory { shared: 0.0, activations, ..memory }
    }
}

/// The memory of a net with this many learned positions.
fn memory([d_model, heads, layers, positions]: [usize; 4], step: &StepSizes) -> StepMemory {
    let block = BlockSizes::gpt2(d_model, heads);
    let (d, layers, n) = (d_model as f64, layers as f64, step.positions());
    StepMemory {
        weights: (2.0 * step.vocab + positions as f64 + 2.0) * d + layers * block.weights(),
        shared: layers * block.weights(),
        activations: layers * block.saved(n, step.tokens) + block.backward(n) + step_memory::head(d_model, step),
    }
}

#[derive(Clone)]
struct GptNet {
    embed: Tensor,             // (V, D)
    positions: Option<Tensor>, // (P, D)
    layers: Vec<Block>,
    /// The mixers of the layers and of the last norm; none where nothing is trained.
    mixers: Vec<Option<Mixer>>,
    ln: Norm,
    head: Tensor, // (V, D)
    /// The masks of an update that drops something.
    dropout: Option<Dropout>,
}

/// The pass of a state `(B, T, D)` through the block of a layer.
type BlockPass<'a> = dyn FnMut(usize, &Tensor, &mut Tap) -> Result<Tensor> + 'a;

impl GptNet {
    /// Builds the net with this many learned positions, or with ALiBi if `None`.
    fn new(p: &mut Params, vocab: usize, spec: &AlibiGptSpec, positions: Option<usize>) -> Result<Self> {
        let AlibiGptSpec { d_model: d, heads, layers, residual, window, .. } = *spec;
        let block = Gpt2BlockSpec { d_model: d, heads, writers: 2 * layers, alibi: positions.is_none(), window };
        Ok(Self {
            embed: p.normal("embed.weight", (vocab, d), EMBEDDING_STD)?,
            positions: positions.map(|n| p.normal("pos.weight", (n, d), EMBEDDING_STD)).transpose()?,
            layers: (0..layers).map(|i| gpt2_block(p, &format!("layers.{i}"), &block)).collect::<Result<_>>()?,
            mixers: (0..=layers)
                .map(|i| Mixer::new(p, &format!("residual.{i}"), residual, i + 1, d))
                .collect::<Result<_>>()?,
            ln: Norm::layer(p, "ln", d)?,
            head: p.normal("head.weight", (vocab, d), EMBEDDING_STD)?,
            dropout: None,
        })
    }

    /// The net for a training step, whose accumulator, if there is one, takes the weights of the blocks.
    fn with_shared_weights(&self, accumulator: Option<&GradAccumulator>) -> Result<Self> {
        Ok(Self { layers: block::with_shared_weights(&self.layers, accumulator)?, ..self.clone() })
    }

    /// The net for an update with these masks.
    fn with_dropout(&self, dropout: Dropout) -> Self {
        let layers = (0u64..).zip(&self.layers).map(|(i, block)| block.with_dropout(dropout, 2 * i)).collect();
        Self { layers, dropout: Some(dropout), ..self.clone() }
    }

    /// tokens `(B, T)` -> normalised `(B, T, D)`
    fn encode(&self, tokens: &Tensor, tap: &mut Tap) -> Result<Tensor> {
        let x = embed_from(tokens, &self.embed, self.positions.as_ref(), 0)?;
        self.normalised(x, &mut |layer, x, tap| self.layers[layer].forward(x, tap), tap)
    }

    /// Same as [`GptNet::encode`], for the tokens after those in the caches, one per layer, without learned positions.
    fn encode_after(&self, tokens: &Tensor, caches: &mut [KeyValueCache]) -> Result<Tensor> {
        let x = embedding(&self.embed, tokens)?;
        let mut bias = None;
        let mut block =
            |layer: usize, x: &Tensor, _: &mut Tap| self.layers[layer].forward_after(x, &mut caches[layer], &mut bias);
        self.normalised(x, &mut block, &mut Tap::off())
    }

    /// The head's input from embedded tokens `(B, T, D)`, where `block` is the pass through the block of a layer.
    fn normalised(&self, x: Tensor, block: &mut BlockPass<'_>, tap: &mut Tap) -> Result<Tensor> {
        let x = if let Some(dropout) = self.dropout { dropout.apply(&x, 2 * self.layers.len() as u64)? } else { x };
        let is_mixed = self.mixers.iter().any(Option::is_some);
        let x = if is_mixed { self.mixed(x, block, tap)? } else { self.stream(x, block, tap)? };
        tap.offer("final", || Ok(x.clone()))?;
        self.ln.forward(&x)
    }

    /// The residual stream after all layers, `(B, T, D)`.
    fn stream(&self, x: Tensor, block: &mut BlockPass<'_>, tap: &mut Tap) -> Result<Tensor> {
        (0..self.layers.len()).try_fold(x, |x, layer| {
            let next = block(layer, &x, tap)?;
            tap.offer(&ResidualLayers::input_tap(layer), || Ok(x.clone()))?;
            tap.offer(&ResidualLayers::added_tap(layer), || &next - &x)?;
            Ok(next)
        })
    }

    /// The last norm's input from the embedding and from what each layer added to its own mix, `(B, T, D)`.
    fn mixed(&self, x: Tensor, block: &mut BlockPass<'_>, tap: &mut Tap) -> Result<Tensor> {
        let mut sources = vec![x];
        let mix = |sources: &[Tensor], mixer: &Option<Mixer>| match mixer {
            Some(mixer) => mixer.mix(sources),
            None => sources.iter().skip(1).try_fold(sources[0].clone(), |sum, source| sum + source),
        };
        for layer in 0..self.layers.len() {
            let x = mix(&sources, &self.mixers[layer])?;
            let added = (block(layer, &x, tap)? - &x)?;
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
    ensure!(first + t <= most, "{} tokens, but the model has learned positions for {most}", first + t);
    x.broadcast_add(&positions.narrow(0, first, t)?)
}

/// A GPT. Taps: `layers.i.attn.weights`, those of [`ResidualLayers`], `final`.
pub struct Gpt {
    spec: ModelSpec,
    params: Params,
    net: GptNet,
    inference_net: GptNet,
    carried: Option<CarriedKeys>,
    /// The seed of dropout.
    seed: u64,
    /// The update that the next loss is for.
    update: u64,
}

/// Keys and values that continue from batch to batch, first in, first out; they are buffers of the parameters.
struct CarriedKeys {
    carry: Carry,
    /// The maximum number of tokens with keys and values.
    window: usize,
    /// The number of updates since the cache was empty.
    since: u64,
}

/// The names of a layer's buffers.
fn carried_names(layer: usize) -> [String; 2] {
    ["k", "v"].map(|part| format!("{CARRIED_PREFIX}{layer}.{part}"))
}

impl Gpt {
    /// Weights are drawn from `seed`; errors name the size that does not fit.
    pub fn with_learned_positions(spec: &PlainGptSpec, vocab: usize, seed: u64, device: &Device) -> Result<Self> {
        let PlainGptSpec { d_model, heads, layers, positions } = *spec;
        let (residual, window) = (ResidualMixing::Fixed, None);
        let sizes = AlibiGptSpec { d_model, heads, layers, residual, window, ..AlibiGptSpec::default() };
        let net = |p: &mut Params| GptNet::new(p, vocab, &sizes, Some(positions));
        Self::new(ModelSpec::PlainGpt(spec.clone()), Params::new(seed, device, DType::F32), net)
    }

    /// Like [`Gpt::with_learned_positions`], with ALiBi in place of the positions.
    pub fn with_alibi(spec: &AlibiGptSpec, vocab: usize, seed: u64, device: &Device) -> Result<Self> {
        let AlibiGptSpec { d_model, heads, layers, window, carry, dropout, .. } = *spec;
        ensure!((0.0..1.0).contains(&dropout), "dropout {dropout} must be at least 0 and less than 1");
        let net = |p: &mut Params| GptNet::new(p, vocab, spec, None);
        let mut model = Self::new(ModelSpec::AlibiGpt(spec.clone()), Params::new(seed, device, DType::F32), net)?;
        model.seed = seed;
        let Some(carry) = carry else { return Ok(model) };
        let Some(window) = window else {
            bail!("keys and values are carried first in, first out, which needs an attention window")
        };
        for name in (0..layers).flat_map(carried_names) {
            model.params.zeros(&name, (carry.rows, heads, window, d_model / heads))?;
        }
        model.params.register_buffers(CARRIED_PREFIX);
        model.carried = Some(CarriedKeys { carry, window, since: 0 });
        Ok(model)
    }

    fn new(spec: ModelSpec, mut params: Params, build: impl Fn(&mut Params) -> Result<GptNet>) -> Result<Self> {
        let (net, inference_net) = params.build_twice(build)?;
        Ok(Self { spec, params, net, inference_net, carried: None, seed: 0, update: 0 })
    }

    /// The net with the masks of the update; `None` where nothing is dropped.
    fn net_with_dropout(&self) -> Option<GptNet> {
        let ModelSpec::AlibiGpt(spec) = &self.spec else { return None };
        Dropout::for_update(spec.dropout, self.seed, self.update).map(|dropout| self.net.with_dropout(dropout))
    }

    /// The loss of a batch whose rows continue where the last batch ended, whose keys and values it reads; those after
    /// it are what the next will read. Gradients end at the batch's beginning.
    fn continued_loss(&self, batch: &Batch, carried: &CarriedKeys) -> Result<Tensor> {
        let CarriedKeys { carry, window, since } = *carried;
        let (rows, t) = batch.tokens.dims2()?;
        carry.check_rows(rows)?;
        let len = (since as usize).saturating_mul(t).min(window);
        let buffer = |name: &String| match self.params.get(name) {
            Some(var) => Ok(var.as_tensor()),
            None => bail!("the model lacks the buffer `{name}`"),
        };
        let cache = |layer: usize| {
            let [k, v] = carried_names(layer);
            KeyValueCache::from_last([buffer(&k)?, buffer(&v)?], len)
        };
        let mut caches = (0..self.net.layers.len()).map(cache).collect::<Result<Vec<_>>>()?;
        let net = self.net_with_dropout().unwrap_or_else(|| self.net.clone());
        let x = net.encode_after(&batch.tokens, &mut caches)?;
        let loss = head_cross_entropy(&x, &net.head, &batch.targets)?;
        for (layer, cache) in caches.iter().enumerate() {
            for (name, value) in carried_names(layer).iter().zip(cache.to_buffers(window)?.iter().flatten()) {
                self.params.load(name, value)?;
            }
        }
        Ok(loss)
    }
}

impl Trainable for Gpt {
    fn params(&self) -> &Params {
        &self.params
    }

    fn spec(&self) -> ModelSpec {
        self.spec.clone()
    }

    fn begin_step(&mut self, step: u64) -> Result<()> {
        self.update = step;
        if let Some(carried) = &mut self.carried {
            carried.since = carried.carry.since(step);
        }
        Ok(())
    }

    fn loss_into(&self, batch: &Batch, accumulator: Option<&GradAccumulator>) -> Result<Loss> {
        if let Some(carried) = &self.carried {
            return Ok(self.continued_loss(batch, carried)?.into());
        }
        let net = match self.net_with_dropout() {
            Some(net) => net,
            None => self.net.with_shared_weights(accumulator)?,
        };
        Ok(net.cross_entropy(batch)?.into())
    }

    fn evaluate(&self, batch: &Batch) -> Result<Tensor> {
        self.inference_net.cross_entropy(batch)
    }

    fn capabilities(&self) -> Capabilities<'_> {
        let window = if let ModelSpec::AlibiGpt(spec) = &self.spec { spec.window } else { None };
        let attention_layers = AttentionLayer::stack("layers", self.net.layers.len(), window);
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
