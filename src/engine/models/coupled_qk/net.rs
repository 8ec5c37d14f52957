//! The computation graph of the coupled query-key family.

use super::CoupledQkSpec;
use crate::{
    models::{gpt::embed_from, prelude::*},
    nn::{
        attention::{
            Attention, DifferentialAttention, DifferentialSpec, Evolution, GroupedQueryAttention, GroupedQuerySpec,
            KeyValueCache,
        },
        block::{LlamaBlockSpec, llama_block},
        mlp::MlpKind,
    },
};

/// The name of the classification head.
pub(super) const CLASS_HEAD: &str = "class_head.weight";

/// Pre-norm blocks with RMSNorm and SwiGLU, a tied head or a classification head, no biases.
#[derive(Clone)]
pub(super) struct CoupledQkNet {
    embed: Tensor,             // (V, D)
    positions: Option<Tensor>, // (P, D)
    max_positions: usize,      // P
    pub(super) layers: Vec<Block>,
    norm: Norm,
    class_head: Option<Tensor>, // (K, D)
}

impl CoupledQkNet {
    pub(super) fn new(p: &mut Params, spec: &CoupledQkSpec, vocab: usize) -> Result<Self> {
        ensure!(spec.dt.is_finite() && spec.dt > 0.0, "dt = {} is not a step length; give a number above 0", spec.dt);
        let embed = p.normal("embed.weight", (vocab, spec.d_model), EMBEDDING_STD)?;
        let positions = match spec.rotary {
            true => None,
            false => Some(p.normal("pos.weight", (spec.positions, spec.d_model), EMBEDDING_STD)?),
        };
        let layers = (0..spec.layers).map(|layer| block(p, spec, layer)).collect::<Result<_>>()?;
        let norm = Norm::rms(p, "norm", spec.d_model)?;
        let class_head = match spec.classes {
            None => None,
            Some(classes) if classes < 2 => {
                bail!("a classification head distinguishes at least 2 classes, not {classes}")
            }
            Some(classes) => Some(p.normal(CLASS_HEAD, (classes, spec.d_model), EMBEDDING_STD)?),
        };
        Ok(Self { embed, positions, max_positions: spec.positions, layers, norm, class_head })
    }

    /// The map from the normalised state to logits: the classification head, or the tied one, `(V, D)`.
    pub(super) fn head(&self) -> &Tensor {
        self.class_head.as_ref().unwrap_or(&self.embed)
    }

    /// The net for a training step, whose accumulator, if there is one, takes the weights of the blocks.
    pub(super) fn with_shared_weights(&self, accumulator: Option<&GradAccumulator>) -> Result<Self> {
        Ok(Self { layers: block::with_shared_weights(&self.layers, accumulator)?, ..self.clone() })
    }

    /// tokens `(B, T)` -> normalised `(B, T, D)`
    pub(super) fn encode(&self, tokens: &Tensor, tap: &mut Tap) -> Result<Tensor> {
        let x = embed_from(tokens, &self.embed, self.positions.as_ref(), 0)?;
        let x = block::run(&self.layers, &x, tap, None)?;
        tap.offer("final", || Ok(x.clone()))?;
        self.norm.forward(&x)
    }

    /// Same as [`CoupledQkNet::encode`], for a training step that keeps only the input and the output of each block and
    /// computes the block again in its backward pass. `variables` are those of the model.
    pub(super) fn encode_recomputed(
        &self,
        tokens: &Tensor,
        variables: &[Tensor],
        accumulator: &GradAccumulator,
    ) -> Result<Tensor> {
        let x = embed_from(tokens, &self.embed, self.positions.as_ref(), 0)?;
        self.norm.forward(&block::run_recomputed(&self.layers, &x, variables, accumulator)?)
    }

    /// The next token `(B, 1)`, after those that were read into the caches, one per layer -> normalised `(B, 1, D)`.
    pub(super) fn read_next(&self, token: &Tensor, caches: &mut [KeyValueCache]) -> Result<Tensor> {
        let at = caches.first().map_or(0, KeyValueCache::len);
        let most = self.max_positions;
        ensure!(at < most, "{most} tokens were read, and the model has positions for no more");
        let x = embed_from(token, &self.embed, self.positions.as_ref(), at)?;
        let x = self.layers.iter().zip(caches).try_fold(x, |x, (layer, cache)| layer.read_next(&x, cache))?;
        self.norm.forward(&x)
    }
}

impl CoupledQkSpec {
    /// The attention of a layer, with its parameters below `path`. Errors name the size that does not fit.
    pub fn attention(&self, p: &mut Params, path: &str, layer: usize) -> Result<Arc<dyn Attention>> {
        let Self { d_model, heads, rotary, .. } = *self;
        let writers = 2 * self.layers;
        let evolution = |p: &mut Params| match self.evolution(layer) {
            Some(evolution) => Evolution::new(p, path, (heads, d_model / heads.max(1)), evolution),
            None => Ok(None),
        };
        if self.variant.is_differential() {
            let sizes = DifferentialSpec { d_model, heads, layer, rotary, writers };
            return Ok(Arc::new(DifferentialAttention::new(p, path, &sizes)?.with_evolution(evolution(p)?)?));
        }
        let kv_heads = self.kv_heads();
        let sizes = GroupedQuerySpec { d_model, heads, kv_heads, window: None, qk_norms: false, rotary, writers };
        Ok(Arc::new(GroupedQueryAttention::new(p, path, &sizes)?.with_evolution(evolution(p)?)?))
    }
}

/// Block `layer` with the attention of the variant.
fn block(p: &mut Params, spec: &CoupledQkSpec, layer: usize) -> Result<Block> {
    let CoupledQkSpec { d_model, hidden, layers, .. } = *spec;
    let sizes = LlamaBlockSpec { d_model, hidden, mlp: MlpKind::Gated(Act::Silu), writers: 2 * layers };
    llama_block(p, &format!("layers.{layer}"), &sizes, |p, path| spec.attention(p, path, layer))
}
