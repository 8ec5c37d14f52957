//! The pre-norm block: attention and an MLP, each behind a norm, added to the residual stream. Which
//! attention and which MLP it has is up to its caller; [`llama_block`] and [`gpt2_block`] are two
//! well-known ones. It chooses one operation for the whole block where its parts have such a form.

mod standard;

use std::sync::Arc;

use candle_core::{Result, Tensor, Var, bail};

pub use standard::{Gpt2BlockSpec, LlamaBlockSpec, gpt2_block, llama_block};

use super::{
    Tap,
    attention::{Attention, Evolution, KeyValueCache},
    dropout::Dropout,
    fused::{
        add_row::add_row,
        attention::ScoreBias,
        axpy::axpy,
        grad_accumulator::{GradAccumulator, GradCollector},
        layer::{self, FlatWeights, LayerSpec, flatten, flatten_into, layer, slope, step},
        scaled_add::scaled_add,
    },
    layers::Norm,
    mlp::Mlp,
    vjp::{Vjp, attach},
};

/// norm1, attention, norm2, MLP: one after the other with residuals, or side by side as a vector field.
#[derive(Debug, Clone)]
pub struct Block {
    path: String,
    norm1: Norm,
    attention: Arc<dyn Attention>,
    norm2: Norm,
    mlp: Arc<dyn Mlp>,
    /// The weights as one tensor, which is present if several uses share the weights.
    flat: Option<FlatWeights>,
    /// The masks of what attention and the MLP add, and the place of the first.
    dropout: Option<(Dropout, u64)>,
}

impl Block {
    /// `path`: where the tap finds the block's activations.
    pub fn new(path: &str, norm1: Norm, attention: Arc<dyn Attention>, norm2: Norm, mlp: impl Mlp + 'static) -> Self {
        Self { path: path.to_owned(), norm1, attention, norm2, mlp: Arc::new(mlp), flat: None, dropout: None }
    }

    /// The evolution of queries and keys before they are scored, if there is one.
    pub fn evolution(&self) -> Option<&Evolution> {
        self.attention.evolution()
    }

    /// The block for an update that drops some of what attention and the MLP add to the stream, at this place and the next
    /// of [`Dropout::apply`]. It is several operations.
    pub fn with_dropout(&self, dropout: Dropout, place: u64) -> Self {
        Self { dropout: Some((dropout, place)), ..self.clone() }
    }

    /// Applies dropout to the output of attention (0) or of the MLP (1).
    fn dropped(&self, added: Tensor, part: u64) -> Result<Tensor> {
        match &self.dropout {
            Some((dropout, place)) => dropout.apply(&added, place + part),
            None => Ok(added),
        }
    }

    /// The block with its weights flattened and packed once, for all uses in a training step. The accumulator, if there
    /// is one, takes them out of the graph.
    pub fn with_shared_weights(&self, accumulator: Option<&GradAccumulator>) -> Result<Self> {
        self.sharing(None, accumulator)
    }

    /// Same as [`Block::with_shared_weights`], for slopes that are all of this scale. Weights that are shared already
    /// stay as they are.
    pub fn with_shared_weights_and_scale(&self, scale: &Tensor, accumulator: Option<&GradAccumulator>) -> Result<Self> {
        if self.flat.is_some() { Ok(self.clone()) } else { self.sharing(Some(scale), accumulator) }
    }

    fn sharing(&self, scale: Option<&Tensor>, accumulator: Option<&GradAccumulator>) -> Result<Self> {
        let flat = match self.fused() {
            Some((_, mut weights)) => {
                weights.extend(scale);
                Some(flatten_into(&weights, accumulator)?.with_shared_packing())
            }
            None => None,
        };
        Ok(Self { flat, ..self.clone() })
    }

    /// x += Attn(norm1 x); x += MLP(norm2 x). `(B, T, D)` -> `(B, T, D)`. Offers `<path>.attn.weights`,
    /// `(B, H, T, T)`.
    pub fn forward(&self, x: &Tensor, tap: &mut Tap) -> Result<Tensor> {
        self.forward_in_round(x, tap, None)
    }

    /// The next token of a text whose earlier ones are in the cache, without gradients: x `(B, 1, D)` -> `(B, 1, D)`.
    pub fn read_next(&self, x: &Tensor, cache: &mut KeyValueCache) -> Result<Tensor> {
        let x = (x + self.attention.read_next(&self.norm1.forward(x)?, cache)?)?;
        &x + self.transform(&x)?
    }

    /// Same as [`Block::forward`], for the tokens after those in the cache, which takes them in; gradients end at what it
    /// held. The first block makes the bias of the scores, and those after it share it.
    pub fn forward_after(&self, x: &Tensor, cache: &mut KeyValueCache, bias: &mut Option<ScoreBias>) -> Result<Tensor> {
        let attended = self.attention.forward_after(&self.norm1.forward(x)?, cache, bias)?;
        let x = (x + self.dropped(attended, 0)?)?;
        &x + self.transform(&x)?
    }

    /// Same as [`Block::forward`], of a block that a forward pass uses several times: offers
    /// `<path>.r<round>.attn.weights`.
    fn forward_in_round(&self, x: &Tensor, tap: &mut Tap, round: Option<usize>) -> Result<Tensor> {
        if let Some((spec, weights)) = self.fused_for(x, tap) {
            return layer(x, &self.flat(weights, None)?, spec);
        }
        let x = (x + self.attend(x, tap, round)?)?;
        &x + self.transform(&x)?
    }

    /// scale (Attn(norm1 x') + MLP(norm2 x')) with x' = x + row: the slope of a vector field at x. x `(B, T, D)`, row
    /// `(B or 1, 1, D)`, scale `()` -> `(B, T, D)`. Offers the tap the same activations as [`Block::forward`].
    pub fn slope(&self, x: &Tensor, row: &Tensor, scale: &Tensor, tap: &mut Tap) -> Result<Tensor> {
        if let Some((spec, weights)) = self.fused_for(x, tap) {
            return slope(x, row, &self.flat(weights, Some(scale))?, spec);
        }
        let x = add_row(x, row)?;
        scaled_add(&self.attend(&x, tap, None)?, &self.transform(&x)?, scale)
    }

    /// x + h [`Block::slope`].
    pub fn step(&self, x: &Tensor, row: &Tensor, scale: &Tensor, h: f64) -> Result<Tensor> {
        if let Some((spec, weights)) = self.fused_for(x, &Tap::off()) {
            return step(x, row, &self.flat(weights, Some(scale))?, spec, h);
        }
        axpy(x, &self.slope(x, row, scale, &mut Tap::off())?, h)
    }

    fn attend(&self, x: &Tensor, tap: &mut Tap, round: Option<usize>) -> Result<Tensor> {
        let path = match round {
            _ if !tap.is_on() => String::new(),
            None => format!("{}.attn.weights", self.path),
            Some(r) => format!("{}.r{r}.attn.weights", self.path),
        };
        self.dropped(self.attention.forward(&self.norm1.forward(x)?, tap, &path)?, 0)
    }

    fn transform(&self, x: &Tensor) -> Result<Tensor> {
        self.dropped(self.mlp.forward(&self.norm2.forward(x)?)?, 1)
    }

    /// The sizes and weights of the fused operation, if a gradient will be needed, since it pays only then, and no
    /// activation inside is tapped.
    fn fused_for(&self, x: &Tensor, tap: &Tap) -> Option<(LayerSpec, Vec<&Tensor>)> {
        let learns = x.track_op() || self.norm1.weights()[0].track_op();
        if tap.is_on() || self.dropout.is_some() || !learns || !layer::supports(x) { None } else { self.fused() }
    }

    /// The sizes and weights of the fused operation, if both sublayers have fused forms that go together.
    fn fused(&self) -> Option<(LayerSpec, Vec<&Tensor>)> {
        let (attention, mlp) = (self.attention.fused()?, self.mlp.fused()?);
        let style = self.norm1.style();
        let has_biases = style == layer::LayerStyle::LayerNormBias;
        if self.norm2.style() != style || attention.has_biases != has_biases || mlp.has_biases != has_biases {
            return None;
        }
        let spec = LayerSpec {
            style,
            eps: self.norm1.eps(),
            attention: attention.spec,
            qk_norms: attention.qk_norms,
            evolution: attention.evolution,
            act: mlp.act,
            gated: mlp.gated,
            hidden: mlp.hidden,
        };
        Some((spec, [self.norm1.weights(), attention.weights, self.norm2.weights(), mlp.weights].concat()))
    }

    /// The weights in one tensor, after them the scale of the slopes.
    fn flat<'a>(&self, mut weights: Vec<&'a Tensor>, scale: Option<&'a Tensor>) -> Result<FlatWeights> {
        weights.extend(scale);
        self.flat.clone().map_or_else(|| flatten(&weights), Ok)
    }
}

/// See [`Block::with_shared_weights`].
pub fn with_shared_weights(blocks: &[Block], accumulator: Option<&GradAccumulator>) -> Result<Vec<Block>> {
    blocks.iter().map(|block| block.with_shared_weights(accumulator)).collect()
}

/// Blocks one after another.
pub fn run(blocks: &[Block], x: &Tensor, tap: &mut Tap, round: Option<usize>) -> Result<Tensor> {
    blocks.iter().try_fold(x.clone(), |x, block| block.forward_in_round(&x, tap, round))
}

/// Same as [`run`], with the same gradients, by gradient checkpointing (Chen et al. 2016): of each block only the input and
/// the output are kept, and its activations are computed again in the backward pass:
/// x `(B, T, D)` -> `(B, T, D)`. The accumulator collects the gradients of the `variables` that the blocks read.
///
/// The blocks must drop nothing at random, and x must depend on a variable: without a gradient at x no backward pass runs.
///
/// # Errors
/// Those of the blocks; in the backward pass, if a block's result does not depend on its input.
pub fn run_recomputed(
    blocks: &[Block],
    x: &Tensor,
    variables: &[Tensor],
    accumulator: &GradAccumulator,
) -> Result<Tensor> {
    blocks.iter().try_fold(x.clone(), |x, block| {
        let y = block.forward(&x.detach(), &mut Tap::off())?.detach();
        let (block, variables, collector) = (block.clone(), variables.to_vec(), accumulator.collector());
        attach(&y, &x, &[], Recomputation { block, x: x.detach(), variables, collector })
    })
}

/// A block and its input.
struct Recomputation {
    block: Block,
    x: Tensor, // (B, T, D)
    variables: Vec<Tensor>,
    collector: GradCollector,
}

impl Vjp for Recomputation {
    fn vjp(&self, grad: &Tensor) -> Result<(Tensor, Vec<Tensor>)> {
        let x = Var::from_tensor(&self.x)?;
        let y = self.block.forward(&x, &mut Tap::off())?;
        let mut grads = (y * grad)?.sum_all()?.backward()?;
        for variable in &self.variables {
            if let Some(grad) = grads.remove(variable) {
                self.collector.add(variable, grad);
            }
        }
        let Some(grad) = grads.remove(&x) else { bail!("the block's result does not depend on its input") };
        Ok((grad, vec![]))
    }
}
