//! The computation graph of the coupled query-key family. It does not know how it is trained.

use candle_core::{Result, Tensor, bail};

use super::CoupledQkSpec;
use crate::{
    models::gpt::with_position,
    nn::{
        Params, Tap,
        attention::{
            DifferentialAttention, DifferentialSpec, Evolution, GroupedQueryAttention, GroupedQuerySpec, KeyValueCache,
        },
        block::{self, Block},
        fused::{GradAccumulator, embedding::embedding, mlp::Act},
        layers::{EMBEDDING_STD, Norm},
        mlp::{MlpKind, UnbiasedMlp},
    },
};

/// Pre-norm blocks with RMSNorm and SwiGLU, a tied head, no biases.
#[derive(Clone)]
pub(super) struct Net {
    pub(super) embed: Tensor,  // (V, D)
    positions: Option<Tensor>, // (P, D)
    most: usize,               // P
    layers: Vec<Block>,
    norm: Norm,
    /// Those of layers whose queries and keys evolve.
    pub(super) evolutions: Vec<Option<Evolution>>,
}

impl Net {
    pub(super) fn new(p: &mut Params, spec: &CoupledQkSpec, vocab: usize) -> Result<Self> {
        if !spec.dt.is_finite() || spec.dt <= 0.0 {
            bail!("dt = {} is no step length; give a number above 0", spec.dt);
        }
        let embed = p.normal("embed.weight", (vocab, spec.d_model), EMBEDDING_STD)?;
        let positions = match spec.rotary {
            true => None,
            false => Some(p.normal("pos.weight", (spec.positions, spec.d_model), EMBEDDING_STD)?),
        };
        let built = (0..spec.layers).map(|layer| block(p, spec, layer)).collect::<Result<Vec<_>>>()?;
        let (layers, evolutions) = built.into_iter().unzip();
        Ok(Self {
            embed,
            positions,
            most: spec.positions,
            layers,
            norm: Norm::rms(p, "norm", spec.d_model)?,
            evolutions,
        })
    }

    /// For a training step, whose accumulator, if there is one, takes the weights of the blocks.
    pub(super) fn with_shared_weights(&self, accumulator: Option<&GradAccumulator>) -> Result<Self> {
        Ok(Self { layers: block::with_shared_weights(&self.layers, accumulator)?, ..self.clone() })
    }

    /// tokens `(B, T)` -> normalised `(B, T, D)`
    pub(super) fn encode(&self, tokens: &Tensor, tap: &mut Tap) -> Result<Tensor> {
        let x = embedding(&self.embed, tokens)?;
        let x = match &self.positions {
            Some(positions) => with_position(&x, positions)?,
            None => x,
        };
        let x = block::run(&self.layers, &x, tap, None)?;
        tap.offer("final", || Ok(x.clone()))?;
        self.norm.forward(&x)
    }

    /// The next token `(B, 1)`, after those that were read into the caches, one a layer -> normalised `(B, 1, D)`.
    pub(super) fn read_next(&self, token: &Tensor, caches: &mut [KeyValueCache]) -> Result<Tensor> {
        let at = caches.first().map_or(0, KeyValueCache::len);
        if at >= self.most {
            bail!("{} tokens were read, and the model has positions for no more", self.most);
        }
        let x = embedding(&self.embed, token)?;
        let x = match &self.positions {
            Some(positions) => x.broadcast_add(&positions.narrow(0, at, 1)?)?,
            None => x,
        };
        let x = self.layers.iter().zip(caches).try_fold(x, |x, (layer, cache)| layer.read_next(&x, cache))?;
        self.norm.forward(&x)
    }
}

/// Block `layer` with the attention of the variant.
fn block(p: &mut Params, spec: &CoupledQkSpec, layer: usize) -> Result<(Block, Option<Evolution>)> {
    let (d_model, heads, writers) = (spec.d_model, spec.heads, 2 * spec.layers);
    let path = format!("layers.{layer}");
    let attn = format!("{path}.attn");
    let norm1 = Norm::rms(p, &format!("{path}.norm1"), d_model)?;
    let evolution = |p: &mut Params| match spec.evolution(layer) {
        Some(evolution) => Evolution::new(p, &attn, (heads, d_model / heads.max(1)), evolution),
        None => Ok(None),
    };
    let rest = |p: &mut Params| -> Result<(Norm, UnbiasedMlp)> {
        let norm2 = Norm::rms(p, &format!("{path}.norm2"), d_model)?;
        let kind = MlpKind::Gated(Act::Silu);
        Ok((norm2, UnbiasedMlp::new(p, &format!("{path}.mlp"), (d_model, spec.hidden), kind, writers)?))
    };
    if spec.variant.is_differential() {
        let sizes = DifferentialSpec { d_model, heads, layer, rotary: spec.rotary, writers };
        let attention = DifferentialAttention::new(p, &attn, &sizes)?;
        let evolution = evolution(p)?;
        let (norm2, mlp) = rest(p)?;
        return Ok((Block::new(&path, norm1, attention.with_evolution(evolution.clone()), norm2, mlp), evolution));
    }
    let kv_heads = spec.kv_heads();
    let sizes =
        GroupedQuerySpec { d_model, heads, kv_heads, window: None, qk_norms: false, rotary: spec.rotary, writers };
    let attention = GroupedQueryAttention::new(p, &attn, &sizes)?;
    let evolution = evolution(p)?;
    let (norm2, mlp) = rest(p)?;
    Ok((Block::new(&path, norm1, attention.with_evolution(evolution.clone())?, norm2, mlp), evolution))
}
