//! Two well-known blocks: that of LLaMA-like models, with RMSNorm and an MLP without biases around any attention; and that
//! of GPT-2, with LayerNorm, one product for queries, keys and values, a GELU MLP, biases everywhere and no rotation, or
//! with ALiBi for models without positions.

use std::sync::Arc;

use candle_core::Result;

use super::Block;
use crate::nn::{
    Params,
    attention::{Attention, PackedAttention},
    layers::Norm,
    mlp::{BiasedMlp, MlpKind, UnbiasedMlp},
};

/// Sizes of one block, other than those of its attention.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LlamaBlockSpec {
    /// Width D of the states.
    pub d_model: usize,
    /// Hidden units of the MLP.
    pub hidden: usize,
    /// The kind of MLP.
    pub mlp: MlpKind,
    /// The number of times a forward pass adds to the residual stream (two a block).
    pub writers: usize,
}

/// A block around an attention that `attention` builds from its path. Parameters `<path>.norm1.weight`, `<path>.attn.*`,
/// and so on. Errors name the size that does not fit.
pub fn llama_block(
    params: &mut Params,
    path: &str,
    s: &LlamaBlockSpec,
    attention: impl FnOnce(&mut Params, &str) -> Result<Arc<dyn Attention>>,
) -> Result<Block> {
    let norm1 = Norm::rms(params, &format!("{path}.norm1"), s.d_model)?;
    let attention = attention(params, &format!("{path}.attn"))?;
    let norm2 = Norm::rms(params, &format!("{path}.norm2"), s.d_model)?;
    let mlp = UnbiasedMlp::new(params, &format!("{path}.mlp"), (s.d_model, s.hidden), s.mlp, s.writers)?;
    Ok(Block::new(path, norm1, attention, norm2, mlp))
}

/// Sizes of one block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gpt2BlockSpec {
    /// Width D of the states.
    pub d_model: usize,
    /// Number of query heads.
    pub heads: usize,
    /// The number of times a forward pass adds to the residual stream (two a block).
    pub writers: usize,
    /// True if scores fall with distance (ALiBi).
    pub alibi: bool,
    /// Tokens that a token sees, itself among them; `None`: the whole past.
    pub window: Option<usize>,
}

/// Parameters `<path>.ln1.*`, `<path>.attn.{qkv,proj}.*`, `<path>.ln2.*`, `<path>.mlp.{up,down}.*`. Errors
/// name the size that does not fit.
pub fn gpt2_block(params: &mut Params, path: &str, s: &Gpt2BlockSpec) -> Result<Block> {
    let Gpt2BlockSpec { d_model, heads, writers, alibi, window } = *s;
    let norm1 = Norm::layer(params, &format!("{path}.ln1"), d_model)?;
    let attention =
        PackedAttention::new(params, &format!("{path}.attn"), d_model, heads, writers)?.with_window(window)?;
    let attention = if alibi { attention.with_alibi() } else { attention };
    let norm2 = Norm::layer(params, &format!("{path}.ln2"), d_model)?;
    let mlp = BiasedMlp::new(params, &format!("{path}.mlp"), d_model, writers)?;
    Ok(Block::new(path, norm1, Arc::new(attention), norm2, mlp))
}
